"""Releases whose rows were drawn, and releases of a series: what the format's document makes decidable, both verifiers decide alike, on good and on forged files."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.release.certificate import certificate_hash
from tests.verifier.agreement import NODE, OPTIONAL, differences, node_answers, node_verdicts, python_verdicts, write
from tests.verifier.drawn_releases import CHANGES, SERIES_CHANGES, Change, claim, drawn_releases, releases_of_a_series
from tests.verifier.random_releases import OpenRelease

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("drawn")
    return {name: make().save(place / name) / "public" for name, make in drawn_releases().items()}


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
        assert differences(mine, theirs, OPTIONAL) == {}, name
        if mine.get("wording") != "fails":
            assert state == mine_state, name
        found[name] = mine
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in drawn_releases() if "source" not in name])
def test_plans_of_drawn_rows(drawn: dict[str, Path], tmp_path: Path, name: str) -> None:
    found = agree(drawn[name], tmp_path, CHANGES)
    assert found[""]["claim 1"] == "holds"
    assert found[""]["consistency"] == "holds"
    for change in ("k", "noise", "series"):
        assert found[change]["claim 1"] == "fails"
    assert found["unheard"]["claim 1"] == "not re-checked"
    assert "fails" in found["order"].values()
    if name in ("view", "view against links"):
        assert found["tighter"]["claim 1"] == "fails"
    if name.startswith("view"):
        for change in ("beta", "alpha in decimals", "n", "index", "duplicates", "twice", "role"):
            assert found[change]["consistency"] == "fails", change
    if name == "perturbed":
        assert (found["local"]["claim 1"], found["local, less"]["claim 1"]) == ("holds", "fails")


@pytest.mark.slow
def test_a_plan_with_a_source_is_left_to_reticent(drawn: dict[str, Path]) -> None:
    ((state, found),) = node_verdicts([drawn["view with a source"]])
    assert (found["consistency"], found["claim 1"], state) == ("holds", "not re-checked", "not shown")
    assert python_verdicts(drawn["view with a source"])[1]["claim 1"] == "holds"


def test_several_views_bound_only_who_is_bounded_at_every_time(tmp_path: Path) -> None:
    """A claim about any one time, on the plan of a table that changes, is not what its ratios show."""
    plan = rt.randomize.plan(n=4, domain={"c": [*"abcdefgh"]}, d="1/20", gamma="1/2", views=3)
    series = rt.randomize.Series(plan).publish(pl.DataFrame({"c": [*"abcd"]}), "letters", insecure_seed=1)
    folder = series.views[0].given.save(tmp_path / "view") / "public"
    promised = json.loads((folder / "certificate.json").read_bytes())["claims"][0]["parameters"]
    assert promised["over_time"] is True
    without = {name: value for name, value in promised.items() if name != "over_time"}
    found = agree(folder, tmp_path / "forged", {"any time": claim("BoundedBelief", **without)})
    assert (found[""]["claim 1"], found["any time"]["claim 1"]) == ("holds", "fails")


@pytest.fixture(scope="module", params=[None, pytest.param(4, marks=pytest.mark.slow)], ids=["groups", "batches"])
def history(request, tmp_path_factory) -> list[Path]:
    return releases_of_a_series(tmp_path_factory.mktemp("series") / "history", request.param)


@pytest.mark.slow
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


@pytest.mark.slow
def test_releases_of_different_data_sets_are_no_series(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 1, 2, 2]})
    folders = [
        rt.publish(rt.Table(frame, quasi=["a"], dataset=name), rt.KAnonymity(2 - number // 3), again=True).save(
            tmp_path / str(number)
        )
        / "public"
        for number, name in enumerate(("one", "other", None, "one"))
    ]
    assert both_series(folders[:2])["series"] == "fails"
    assert both_series(folders[2:3] * 2)["series"] == "not re-checked"
    assert both_series([folders[0], folders[3]])["series"] == "holds"
    assert both_series([folders[3], folders[0]])["series"] == "fails"
