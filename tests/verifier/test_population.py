"""Claims about a population: both verifiers count the same people in every group, and a population that is of no use is no fault of the release."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

import reticent as rt
from tests.verifier.agreement import NODE, OPTIONAL, differences, node_verdicts, python_verdicts
from tests.verifier.random_releases import FORMATS, OpenRelease, published

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    rows = pl.DataFrame({"age": [20, 21, 25, 26] * 3, "zip": ["130", "131", "148", "149"] * 3, "s": [*"abcdef"] * 2})
    quasi = {
        "age": rt.Hierarchy.intervals(widths=[4, 8], domain=(16, 40)),
        "zip": rt.Hierarchy.masking(digits=3),
    }
    table = rt.Table(rows, quasi=quasi, sensitive="s")
    return rt.publish(table, rt.KAnonymity(6)).save(tmp_path_factory.mktemp("population") / "release") / "public"


def claiming(folder: Path, place: Path, *claims: tuple[str, dict[str, Any]]) -> Path:
    """The release with other claims."""
    made = OpenRelease(folder)
    made.certificate["claims"] = [
        {"definition": name, "parameters": parameters, "covers": "", "does_not_cover": ""}
        for name, parameters in claims
    ]
    place.mkdir(parents=True)
    for name, content in made.certify().items():
        (place / name).write_bytes(content)
    return place


def both(folder: Path, population: Path) -> dict[str, str]:
    ((_, theirs),) = node_verdicts([folder], "--population", str(population))
    _, mine = python_verdicts(folder, population=str(population))
    assert differences(mine, theirs, OPTIONAL) == {}
    return mine


def test_k_map_and_presence_are_decided_to_the_person(release: Path, tmp_path: Path) -> None:
    people = pl.DataFrame(
        {"zip": ["130", "131", "148", "149"] * 5, "name": [*"abcde"] * 4, "age": [20, 21, 25, 26] * 5}
    )
    claims = [("KMap", {"k": 10}), ("KMap", {"k": 11}), ("DeltaPresence", {"low": "3/5", "high": "3/5"})]
    folder = claiming(release, tmp_path / "claims", *claims, ("DeltaPresence", {"low": "0", "high": "0.59"}))
    for name in ("people.csv", "people.parquet"):
        (people.write_csv if name.endswith("csv") else people.write_parquet)(tmp_path / name)
        found = both(folder, tmp_path / name)
        assert [found[f"claim {number}"] for number in (1, 2, 3, 4)] == ["holds", "fails", "holds", "fails"]


def test_a_population_that_is_of_no_use_accuses_nobody(release: Path, tmp_path: Path) -> None:
    folder = claiming(release, tmp_path / "claims", ("KMap", {"k": 1}))
    for number, given in enumerate(("age\n20\n", "age,zip\n20,\n")):
        (tmp_path / f"{number}.csv").write_text(given)
        assert both(folder, tmp_path / f"{number}.csv")["claim 1"] == "not re-checked"
    ((_, found),) = node_verdicts([folder], "--population", __file__)
    assert found["claim 1"] == "not re-checked"


def agree(seeds: range, place: Path) -> None:
    for seed in seeds:
        draw = Random(seed)
        form = [each for each in FORMATS if each not in ("regions", "clusters")][seed % 6]
        try:
            made = published(form, draw)
        except rt.ReticentError:
            continue
        folder = made.save(place / str(seed)) / "public"
        quasi = [column for column in made.manifest.columns if column.role == "quasi"]
        people = pl.DataFrame({column.name: _values(column.name, draw, 60) for column in quasi})
        people.write_parquet(place / f"{seed}.parquet")
        claims = [("KMap", {"k": draw.randrange(1, 8)}), ("DeltaPresence", {"low": "0", "high": draw.choice(["1/2", "1"])})]  # fmt: skip
        both(claiming(folder, place / f"{seed}-claims", *claims), place / f"{seed}.parquet")


def _values(name: str, draw: Random, many: int) -> pl.Series:
    from tests.verifier.random_releases import frame_of

    while True:
        frame, _, _ = frame_of(draw, many)
        if name in frame.columns:
            return frame[name]
        if name == "year":
            return pl.Series(name, [draw.choice([2001, 2002]) for _ in range(many)])


@pytest.mark.slow
def test_both_verifiers_count_the_same_people_in_many_releases(tmp_path: Path) -> None:
    agree(range(1_000, 1_300), tmp_path)
