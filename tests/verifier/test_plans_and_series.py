"""Releases whose rows were drawn, and releases of a series: what the format's document makes decidable, both verifiers decide alike, on good and on forged files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.release.certificate import certificate_hash
from tests.methods.series.drafts import random_months
from tests.verifier.agreement import NODE, differences, node_answers, node_verdicts, python_verdicts, write
from tests.verifier.random_releases import OpenRelease

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
Change = Callable[[OpenRelease], None]


def view_of(adversary: str = "independent", **method: Any) -> rt.Release:
    frame = pl.DataFrame({"age": [20, 30, 40, 21], "c": ["a", "b", "a", "c"]})
    domain = {"age": range(20, 60), "c": ["a", "b", "c", "none"]}
    table = rt.Table(frame, quasi=["age", "c"])
    return rt.publish(table, rt.BoundedBelief("1/20", "1/2", adversary), rt.AlphaBeta(domain=domain, **method), insecure_seed=3)  # fmt: skip


def drawn_releases() -> dict[str, Callable[[], rt.Release]]:
    rows = pl.DataFrame({"age": [31, 33, 52, 58], "ill": ["flu", "cold", "flu", "cold"]})
    table = rt.Table(rows, quasi=["age"], sensitive="ill", declared={})
    values = ["flu", "cold", "none"]
    return {
        "view": view_of,
        "view against links": lambda: view_of("both"),
        "view with a source": lambda: view_of(source={"c": [1, 1, 1, 2]}),
        "view that counts": lambda: view_of("exclusive", count=3, duplicates="count"),
        "records": lambda: rt.publish(rt.Table(rows, quasi=["age", "ill"]), rt.BoundedBelief("1/10", "1/2", "record"), rt.Frapp(domain={"age": range(30, 60), "ill": values}), insecure_seed=1),
        "perturbed": lambda: rt.publish(table, rt.LocalDP(2), rt.Perturbation(values=values), insecure_seed=1),
        "perturbed for beliefs": lambda: rt.publish(table, rt.BoundedBelief("1/3", "1/2", "record"), rt.Perturbation(values=values), insecure_seed=1),
    }  # fmt: skip


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("drawn")
    return {name: make().save(place / name) / "public" for name, make in drawn_releases().items()}


def claim(name: str, **parameters: Any) -> Change:
    """Claim something else."""

    def change(made: OpenRelease) -> None:
        made.certificate["claims"] = [
            {"definition": name, "parameters": parameters, "covers": "", "does_not_cover": ""}
        ]

    return change


def details(*path: str, value: Any) -> Change:
    """Another value somewhere in the details."""

    def change(made: OpenRelease) -> None:
        place = made.manifest["details"]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


def last_row_first(made: OpenRelease) -> None:
    name = made.tables[0]
    lines = made.lines(name)
    made.set_lines(name, [lines[-1], *lines[:-1]])


def twice(made: OpenRelease) -> None:
    name = made.tables[0]
    made.set_lines(name, [made.lines(name)[0], *made.lines(name)])


def other_role(made: OpenRelease) -> None:
    made.manifest["columns"][-1]["role"] = "declared"
    made.manifest["columns"][-1]["reason"] = "x"


CHANGES: dict[str, Change] = {
    "tighter": claim("BoundedBelief", d="1/20", gamma="1/3"),
    "looser": claim("BoundedBelief", d="1/30", gamma="2/3"),
    "against links": claim("BoundedBelief", d="1/20", gamma="1/2", adversary="both"),
    "about records": claim("BoundedBelief", d="1/50", gamma="1/2", adversary="record"),
    "local": claim("LocalDP", epsilon="2"),
    "local, less": claim("LocalDP", epsilon="1.99"),
    "k": claim("KAnonymity", k=2),
    "noise": claim("NoisyCounts", epsilon="1"),
    "series": claim("TauSafety", m=2),
    "unheard": claim("Unheard"),
    "no belief": claim("BoundedBelief", d="1/2", gamma="1/3"),
    "beta": details("plan", "beta", value="1/1000"),
    "alpha in decimals": details("plan", "alpha", value="0.5"),
    "n": details("plan", "n", value=10**6),
    "index": details("index", value=2),
    "duplicates": details("duplicates", value="maybe"),
    "kept": details("kept", value="99/100"),
    "rows": details("n", value=77),
    "domain": details("domain", "ill", value={"type": "text", "values": ["flu", "none"]}),
    "order": last_row_first,
    "twice": twice,
    "role": other_role,
}


def agree(folder: Path, place: Path, changes: dict[str, Change]) -> dict[str, dict[str, str]]:
    """Both verifiers on a release and all that a forger made of it; the verdicts."""
    made = {"": folder}
    for name, change in changes.items():
        opened = OpenRelease(folder)
        try:
            change(opened)
        except KeyError:
            continue
        made[name] = write(opened.certify(), place / name.replace(" ", "-").replace(",", "") / "public")
    found = {}
    for (name, where), (state, theirs) in zip(made.items(), node_verdicts(list(made.values())), strict=True):
        mine_state, mine = python_verdicts(where)
        assert differences(mine, theirs) == {}, name
        if mine.get("wording") != "fails":
            assert state == mine_state, name
        found[name] = mine
    return found


@pytest.mark.parametrize("name", [name for name in drawn_releases() if "source" not in name])
def test_plans_of_drawn_rows(drawn: dict[str, Path], tmp_path: Path, name: str) -> None:
    found = agree(drawn[name], tmp_path, CHANGES)
    assert found[""]["claim 1"] == "holds"
    assert found[""]["consistency"] == "holds"
    for change in ("k", "noise", "series"):
        assert found[change]["claim 1"] == "fails"
    assert found["unheard"]["claim 1"] == "not re-checked"
    assert "fails" in found["order"].values()
    if name.startswith("view"):
        assert found["tighter"]["claim 1"] == "fails"
        for change in ("beta", "alpha in decimals", "n", "index", "duplicates", "twice", "role"):
            assert found[change]["consistency"] == "fails", change
    if name == "perturbed":
        assert (found["local"]["claim 1"], found["local, less"]["claim 1"]) == ("holds", "fails")


def test_a_plan_with_a_source_is_left_to_reticent(drawn: dict[str, Path]) -> None:
    ((state, found),) = node_verdicts([drawn["view with a source"]])
    assert (found["consistency"], found["claim 1"], state) == ("holds", "not re-checked", "not shown")
    assert python_verdicts(drawn["view with a source"])[1]["claim 1"] == "holds"


def test_several_views_bound_only_who_is_bounded_at_every_time(tmp_path: Path) -> None:
    """A claim about any one time, on the plan of a table that changes, is not what its ratios show."""
    plan = rt.randomize.plan(n=4, domain={"c": [*"abcdefgh"]}, d="1/20", gamma="1/2", views=3)
    first = rt.randomize.Series(plan).publish(pl.DataFrame({"c": [*"abcd"]}), insecure_seed=1)
    folder = first.save(tmp_path / "view") / "public"
    promised = json.loads((folder / "certificate.json").read_bytes())["claims"][0]["parameters"]
    assert promised["over_time"] is True
    without = {name: value for name, value in promised.items() if name != "over_time"}
    found = agree(folder, tmp_path / "forged", {"any time": claim("BoundedBelief", **without)})
    assert (found[""]["claim 1"], found["any time"]["claim 1"]) == ("holds", "fails")


@pytest.fixture(scope="module", params=[None, 4], ids=["groups", "batches"])
def history(request, tmp_path_factory) -> list[Path]:
    domain, frames = random_months(2, 40, 3, 6)
    place = tmp_path_factory.mktemp("series") / "history"
    settings = {"m": 2, "key": "id", "sensitive": "job", "quasi": {"age": None, "town": None}, "domain": domain}
    more = {} if request.param is None else {"k": request.param}
    opened = rt.republish.History.open(place, **settings, **more, ledger=place / "ledger.sqlite")
    return [opened.publish(frame, insecure_seed=number).folder / "public" for number, frame in enumerate(frames[:3])]


def repeated_value(made: OpenRelease) -> None:
    """A group shows one value twice."""
    name = next(each for each in made.tables if each.startswith(("data", "batches")))
    lines = made.lines(name)
    lines[1] = lines[0]
    made.set_lines(name, lines)


def more_counterfeits(made: OpenRelease) -> None:
    made.set_lines("counterfeits.csv", [*made.lines("counterfeits.csv"), "1,9"])


SERIES_CHANGES: dict[str, Change] = {
    "three": claim("TauSafety", m=3),
    "as printed": claim("TauSafety", m=2, hardened=False),
    "m-invariance": claim("MInvariance", m=2),
    "one": claim("MInvariance", m=1),
    "k": claim("KAnonymity", k=4),
    "too many": claim("KAnonymity", k=40),
    "l": claim("DistinctLDiversity", l=2),
    "belief": claim("BoundedBelief", d="1/20", gamma="1/2"),
    "repeated": repeated_value,
    "counterfeits": more_counterfeits,
    "number": details("number", value=0),
    "k of boxes": details("k", value=1),
}


def test_a_release_of_a_series(history: list[Path], tmp_path: Path) -> None:
    found = agree(history[0], tmp_path, SERIES_CHANGES)
    assert (found[""]["claim 1"], found[""]["claim 1, all of it"]) == ("holds", "not re-checked")
    assert found["three"]["claim 1"] == "fails"
    assert found["l"]["claim 1"] == "fails"
    assert "fails" in found["repeated"].values()


def both_series(folders: list[Path]) -> dict[str, str]:
    (answer,) = node_answers(folders, "--series")
    theirs = {check["id"]: check["status"] for check in answer["checks"]}
    found = rt.verify(folders)
    mine = {check.name.split("claim ")[0] + "claim" if "claim " in check.name else check.name: check.status for check in found.checks}  # fmt: skip
    same = {name.split("claim ")[0] + "claim" if "claim " in name else name: status for name, status in theirs.items()}
    assert {name: status for name, status in mine.items() if "wording" not in name} == {
        name: status for name, status in same.items() if "wording" not in name
    }
    if "fails" not in {status for name, status in mine.items() if "wording" in name}:
        assert answer["headline"]["state"] == found.headline.state
    return theirs


def test_releases_of_a_series_are_one_chain(history: list[Path], tmp_path: Path) -> None:
    good = both_series(history)
    assert (good["series"], good["release 3, claim 1"]) == ("holds", "holds")
    assert both_series([history[0], history[2]])["release 2, claim 1"] == "fails"
    assert both_series([history[1], history[0]])["release 2, claim 1"] == "fails"
    # The second release was exchanged after the third was made.
    opened = OpenRelease(history[1])
    opened.certificate["created"] = "2020-01-01T00:00:00Z"
    other = write(opened.certify(), tmp_path / "other" / "public")
    assert certificate_hash(opened.certificate) != json.loads((history[2] / "manifest.json").read_bytes())["details"]["follows"]  # fmt: skip
    assert both_series([history[0], other, history[2]])["release 3, claim 1"] == "fails"


def test_releases_of_different_data_sets_are_no_series(drawn: dict[str, Path], tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 1, 2, 2]})
    folders = [
        rt.publish(rt.Table(frame, quasi=["a"], dataset=name), rt.KAnonymity(2), again=True).save(
            tmp_path / str(number)
        )
        / "public"
        for number, name in enumerate(("one", "other", None, "one"))
    ]
    assert both_series(folders[:2])["series"] == "fails"
    assert both_series(folders[2:3] * 2)["series"] == "not re-checked"
    assert both_series([folders[0], folders[3]])["series"] == "holds"
    assert both_series([folders[3], folders[0]])["series"] == "fails"
