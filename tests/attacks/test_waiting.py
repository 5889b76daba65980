"""People who wait because their value is too frequent, and an adversary who knows who waited."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.methods.series import EventKind, History
from reticent.release import open_public
from tests.methods.series.examples import unsafe_series

DOMAIN = [f"v{number}" for number in range(6)]


def table(values: list[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"p{number}" for number in range(len(values))],
            "age": range(20, 20 + len(values)),
            "job": [DOMAIN[each] for each in values],
        }
    )


def published(folder, values: list[int], seed: int, **options: str) -> History:
    """Four people, then two newcomers, then two more, with the given values."""
    settings = {"m": 2, "key": "id", "sensitive": "job", "quasi": ["age"], "domain": DOMAIN}
    history = History.open(folder, **settings, ledger=folder / "ledger.sqlite", **options)
    for count in (4, 6, 8):
        history.publish(table(values[:count]), insecure_seed=seed)
    return history


MODES = [{}, {"choice": "random", "balance": "blind"}]


@pytest.mark.parametrize("options", MODES, ids=["default", "random and blind"])
def test_newcomers_who_waited_are_certain_with_those_they_enter_with(tmp_path, options):
    history = published(tmp_path / "h", [0, 1, 2, 3, 4, 4, 1, 2], 1, **options)
    assert [each.to_list() for each in history.waiting()] == [[], ["p4", "p5"], []]
    found = rt.attack(history)
    assert found.highest == Fraction(1, 2)
    assert sorted(found.waiting.disclosed) == ["p4", "p5", "p6", "p7"]
    assert found.waiting.chances["p4"] == {"v4": 1}
    assert (found.waiting.highest, found.waiting.waited) == (1, {2: 2})
    risks = open_public(history.folders[0]).certificate["residual_risks"]
    assert any("all four people of the next groups were certain in 57 of 57 reruns" in each for each in risks)
    told = json.loads(CliRunner().invoke(app, ["attack", "--history", str(history.path), "--json"]).output)
    assert told["waiting"] == {
        "waited": {"2": 2},
        "people": 4,
        "disclosed": 4,
        "above": 4,
        "highest": "1",
        "unmeasured": [],
    }


def test_nobody_waits_where_signatures_are_blocks(tmp_path):
    history = published(tmp_path / "h", [0, 1, 2, 3, 4, 4, 1, 2], 1, choice="random", balance="blocks")
    found = rt.attack(history)
    assert (found.highest, found.waiting.highest, found.waiting.waited) == (Fraction(1, 2), 0, {})
    risks = open_public(history.folders[0]).certificate["residual_risks"]
    assert not any("57 of 57" in each for each in risks)
    assert any("New people never wait" in each for each in risks)


def test_chances_are_those_of_all_worlds_in_which_they_would_have_waited(tmp_path):
    """The twin: every assignment of values to the groups of the last release, by hand."""
    history = published(tmp_path / "h", [0, 1, 2, 3, 4, 4, 1, 1], 3, choice="random", balance="blind")
    last = history.series[2]
    members = {}
    for person, group in zip(last.people.to_list(), last.group_of.tolist(), strict=True):
        members.setdefault(group, []).append(person)
    mine = [group for group, people in members.items() if {"p4", "p5"} & set(people)]
    assert len(mine) == 2
    signatures = [sorted(last.signature(group)) for group in mine]
    worlds = []
    for chosen in product(*([signature, signature[::-1]] for signature in signatures)):
        world = {
            person: value
            for group, values in zip(mine, chosen, strict=True)
            for person, value in zip(members[group], values, strict=True)
        }
        if world["p4"] == world["p5"]:
            worlds.append(world)
    found = rt.attacks.waiting(history).chances
    for person in worlds[0]:
        for value in {world[person] for world in worlds}:
            assert found[person][DOMAIN[value]] == Fraction(
                sum(world[person] == value for world in worlds), len(worlds)
            )


@pytest.mark.slow
@pytest.mark.parametrize("options", MODES, ids=["default", "random and blind"])
def test_all_four_are_certain_in_every_rerun(tmp_path, options):
    """The figure of the certificate: two people of one value wait, and enter with two others of different values."""
    rng, certain = np.random.default_rng(30), 0
    for run in range(57):
        shared, *others = rng.permutation(6)[:3].tolist()
        history = published(tmp_path / str(run), [0, 1, 2, 3, shared, shared, *others], run, **options)
        certain += set(rt.attacks.waiting(history).disclosed) == {"p4", "p5", "p6", "p7"}
    print(options, certain)
    assert certain == 57


def test_a_key_that_was_forgotten_is_still_that_person():
    """Said to be new, and seen before: an adversary who knows that values do not change while people are away links both (scenario III of the thesis)."""
    series = unsafe_series()
    first, second, third = series
    same = np.full(len(second.people), EventKind.UNCHANGED, dtype=np.uint8)
    between = replace(second, number=3, events=same, left=second.left.clear())
    events = third.events.copy()
    events[third.people.to_list().index("p4")] = EventKind.INSERTED
    back = replace(series, retention=1, releases=[first, second, between, replace(third, number=4, events=events)])
    found = rt.attacks.series(back, returns="unchanged", releases=[1, 4])
    assert found["p4"] == {1: {"glaucoma": 1}, 4: {"glaucoma": 1}}
