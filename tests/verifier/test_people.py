"""People with several rows: both verifiers say of what a promise is, and neither takes back a headline of an older release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reticent as rt
from tests.definitions.test_ever_values import visits
from tests.verifier.agreement import NODE, OPTIONAL, differences, node_answers, node_verdicts, python_verdicts
from tests.verifier.random_releases import OpenRelease

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


def saved(place: Path, share: str) -> Path:
    table = rt.Table(visits(80, 2), quasi=["age"], sensitive="diagnosis", key="patient")
    promise = rt.KAnonymity(5) & rt.ProbabilisticLDiversity(share)
    return rt.publish(table, promise, rt.Mondrian()).save(place) / "public"


@pytest.mark.parametrize(("share", "changing"), [("4", ["diagnosis"]), ("5/4", [])])
def test_both_say_that_a_promise_is_of_each_record(tmp_path: Path, share: str, changing: list[str]) -> None:
    folder = saved(tmp_path / "release", share)
    known = json.loads((folder / "manifest.json").read_text())["known_rows"]
    assert known.get("each_row", []) == changing
    state, mine = python_verdicts(folder)
    ((other, theirs),) = node_verdicts([folder])
    assert state == other == ("holds, but" if changing else "holds")
    assert differences(mine, theirs, OPTIONAL) == {}
    (answer,) = node_answers([folder])
    assert ("about each record" in json.dumps(answer["headline"])) == bool(changing)


def test_a_headline_that_hides_it_fails_in_both(tmp_path: Path) -> None:
    made = OpenRelease(saved(tmp_path / "release", "4"))
    made.certificate["headline"] = {"state": "holds", "reasons": []}
    place = tmp_path / "forged"
    place.mkdir()
    for name, content in made.certify().items():
        (place / name).write_bytes(content)
    _, mine = python_verdicts(place)
    ((_, theirs),) = node_verdicts([place])
    assert mine["wording"] == theirs["wording"] == "fails"
