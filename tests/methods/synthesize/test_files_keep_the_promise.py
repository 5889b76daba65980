"""An adversary who knows the algorithm and reads nothing but the published files: laws, promises, and traces of the original."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reticent as rt
from tests.oracles import synthesize_files as oracle

VALUES = ["a", "b", "c"]


def world(groups: int, counts: tuple[int, ...], values: list[str] = VALUES) -> pl.DataFrame:
    """Groups that are all alike, in random order."""
    rows = [value for value, count in zip(values, counts, strict=True) for _ in range(count)]
    names = [f"g{number:04}" for number in range(groups)]
    frame = pl.DataFrame({"g": np.repeat(names, len(rows)), "v": rows * groups})
    return frame.sample(fraction=1, shuffle=True, seed=groups)


def publish(frame: pl.DataFrame, folder: Path, epsilon: str, delta: str, **options: object) -> oracle.PublicFiles:
    sizes = frame.group_by("g").len("size")
    method = rt.Synthetic(groups=sizes, public="the test", **{"domain": VALUES, **options})
    table = rt.Table(frame, quasi=["g"], sensitive="v")
    rt.publish(table, rt.ProbabilisticDP(epsilon, delta), method, insecure_seed=7).save(folder)
    return oracle.PublicFiles.read(folder)


@pytest.mark.parametrize("counts", [(3, 1, 0), (0, 0, 4), (2, 1, 1)])
@pytest.mark.parametrize("domain", [VALUES, {"a": 1, "b": 2, "c": 5}], ids=["uniform", "weighted"])
def test_groups_in_the_files_follow_the_law_of_the_published_noise(
    counts: tuple[int, ...], domain: object, tmp_path: Path
) -> None:
    """1,000 groups that are alike are 1,000 draws from one law; chi-square within five sigma."""
    found = publish(world(1000, counts), tmp_path / "release", "1.5", "0.05", domain=domain)
    assert found.values == tuple(VALUES)
    law = oracle.law(counts, found.noise(4), 4)
    assert sum(law.values()) == 1
    seen = dict.fromkeys(law, 0)
    for output in found.drawn.values():
        seen[output] += 1
    square = sum((seen[output] - 1000 * float(chance)) ** 2 / (1000 * float(chance)) for output, chance in law.items())
    free = len(law) - 1
    assert abs(square - free) < 5 * math.sqrt(2 * free)


@pytest.mark.parametrize(
    ("size", "values", "epsilon", "delta"),
    [(5, 3, "1.4", "0.1"), (6, 2, "1.61", "0.05"), (8, 2, "1.26", "0.2"), (4, 3, "0.7", "0.3"), (3, 4, "2", "0.2")],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_no_world_discloses_more_often_than_the_certificate_says(
    size: int, values: int, epsilon: str, delta: str, weighted: bool, tmp_path: Path
) -> None:
    """Every table that the group could have been is tried, with the noise that the manifest shows."""
    names = [f"v{number}" for number in range(values)]
    domain = {name: number + 1 for number, name in enumerate(names)} if weighted else names
    frame = world(1, (size, *[0] * (values - 1)), names)
    found = publish(frame, tmp_path / "release", epsilon, delta, domain=domain)
    assert worst(found, size, lambda world: oracle.law(world, found.noise(size), size)) <= found.delta


def worst(found: oracle.PublicFiles, size: int, drawn_by: oracle.Law) -> Fraction:
    """The largest chance of a disclosing output over every world that the group could be."""
    worlds = oracle.worlds(size, len(found.values))
    return max(oracle.disclosing(each, drawn_by, found.epsilon) for each in worlds)


@pytest.mark.parametrize(("epsilon", "delta"), [("1.6", "0.2"), ("2.3", "0.1"), ("1.2", "0.4")])
@pytest.mark.parametrize(("size", "values"), [(6, 2), (5, 3)])
def test_screened_draws_keep_it_too(epsilon: str, delta: str, size: int, values: int, tmp_path: Path) -> None:
    names = [f"v{number}" for number in range(values)]
    frame = world(1, (size, *[0] * (values - 1)), names)
    found = publish(frame, tmp_path / "release", epsilon, delta, domain=names, screen=True)
    drawn_by = oracle.screened(found.noise(size), found.epsilon, found.delta, size)
    assert worst(found, size, drawn_by) <= found.delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "keep"), [("3", "0.2", "1/2"), ("3.5", "0.3", "3/4"), ("4", "0.1", "1/3")]
)
@pytest.mark.parametrize(("size", "values"), [(5, 3), pytest.param(4, 4, marks=pytest.mark.slow)])
def test_dropped_values_keep_it_too(
    epsilon: str, delta: str, keep: str, size: int, values: int, tmp_path: Path
) -> None:
    names = [f"v{number}" for number in range(values)]
    frame = world(1, (size, *[0] * (values - 1)), names)
    found = publish(frame, tmp_path / "release", epsilon, delta, domain=names, keep=keep)
    assert found.keep == (Fraction(keep),) * values
    assert worst(found, size, oracle.dropped(found.noise(size), found.keep, size)) <= found.delta


@pytest.mark.parametrize(("epsilon", "delta"), [("4", "0.2"), ("5", "0.05")])
def test_values_dropped_with_weights_and_probabilities_of_their_own_keep_it_too(
    epsilon: str, delta: str, tmp_path: Path
) -> None:
    """Noise, weights and probabilities are read from the public files; 300 groups that are alike follow the law that these give."""
    domain, keep, counts = {"a": 1, "b": 2, "c": 5}, {"a": "1/2", "b": "0.9", "c": "1/3"}, (3, 1, 0)
    found = publish(world(300, counts), tmp_path / "release", epsilon, delta, domain=domain, keep=keep)
    assert (found.weights, found.keep) == ((1, 2, 5), (Fraction(1, 2), Fraction(9, 10), Fraction(1, 3)))
    drawn_by = oracle.dropped(found.noise(4), found.keep, 4)
    assert worst(found, 4, drawn_by) <= found.delta
    law = drawn_by(counts)
    assert sum(law.values()) == 1
    common = [output for output, chance in law.items() if chance > Fraction(1, 60)]
    seen = Counter(found.drawn.values())
    expected = [*(300 * float(law[output]) for output in common), 300 * float(1 - sum(law[each] for each in common))]
    shown = [*(seen[output] for output in common), 300 - sum(seen[output] for output in common)]
    square = sum((one - other) ** 2 / other for one, other in zip(shown, expected, strict=True))
    assert abs(square - len(common)) < 5 * math.sqrt(2 * len(common))


def test_files_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    frame = world(20, (3, 2, 1))
    for place, each in enumerate((frame, frame.reverse(), frame.sort("g", "v"))):
        publish(each, tmp_path / str(place), "1.5", "0.05")
    texts = [(tmp_path / str(place) / "public" / "synthetic.csv").read_bytes() for place in range(3)]
    assert texts[0] == texts[1] == texts[2]
    rows = texts[0].decode().splitlines()[1:]
    assert rows == sorted(rows)


def test_everything_public_but_the_drawn_rows_is_the_same_for_every_table(tmp_path: Path) -> None:
    """Tables with the same public facts differ in the drawn rows only, and in what follows from those: hashes and sizes of files."""
    for name, counts in (("one", (6, 0, 0)), ("two", (2, 2, 2))):
        publish(world(10, counts), tmp_path / name, "1.5", "0.05")
    for file in ("manifest.json", "groups.csv", "domain.csv", "STATEMENT.txt"):
        one, two = ((tmp_path / name / "public" / file).read_text() for name in ("one", "two"))
        assert one == two, file


def test_a_second_draw_is_another_release_that_the_ledger_knows(tmp_path: Path) -> None:
    frame = world(3, (3, 2, 1))
    table = rt.Table(frame, quasi=["g"], sensitive="v", dataset="twice")
    sizes = frame.group_by("g").len("size")
    limited = rt.Synthetic(groups=sizes, domain=VALUES, public="the test", budget={"epsilon": 3, "delta": "0.1"})
    promise = rt.ProbabilisticDP("1.5", "0.05")
    given = {"ledger": tmp_path / "ledger.db"}
    rt.publish(table, promise, limited, **given)
    with pytest.raises(rt.LedgerError, match="released already"):
        rt.publish(table, promise, limited, **given)
    rt.publish(table, promise, limited, again=True, **given)
    with pytest.raises(rt.ReticentError, match="its epsilon runs out"):
        rt.publish(table, promise, limited, again=True, **given)


def test_a_budget_without_a_named_data_set_is_refused() -> None:
    """Otherwise nothing would be spent, and draws could be repeated until one pleases."""
    frame = world(3, (3, 2, 1))
    sizes = frame.group_by("g").len("size")
    method = rt.Synthetic(groups=sizes, domain=VALUES, public="the test", budget={"epsilon": 3, "delta": "0.1"})
    with pytest.raises(rt.PolicyError, match="this table has no name"):
        rt.publish(rt.Table(frame, quasi=["g"], sensitive="v"), rt.ProbabilisticDP("1.5", "0.05"), method)


def test_a_draw_cannot_be_looked_at_before_it_is_recorded() -> None:
    frame = world(3, (3, 2, 1))
    table = rt.Table(frame, quasi=["g"], sensitive="v")
    method = rt.Synthetic(groups=frame.group_by("g").len("size"), domain=VALUES, public="the test")
    promise = rt.ProbabilisticDP("1.5", "0.05")
    assert rt.preview(table, promise, method).frame.height == 0
    shown = rt.compare(table, [promise], methods=[method])
    assert shown.previews[0] is not None
    assert shown.previews[0].frame.height == 0
