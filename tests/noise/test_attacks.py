"""Attacks on the joint protocol by an adversary who rushes: honest parties end with the right answer whatever t parties do together."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from reticent.noise.protocol import PartyResult
from tests.noise.rushing import Adversary, play
from tests.noise.worlds import counted, small_task


def judge(task, rows, adversary, ended) -> PartyResult:
    """All honest parties end with one answer; it counts all honest rows, and of corrupt parties at most what they declared."""
    told = adversary.done[:20]
    results = list(ended.values())
    assert all(isinstance(each, PartyResult) for each in results), (results, told)
    first = results[0]
    for each in results:
        assert (each.numbers, each.coins, each.included) == (first.numbers, first.coins, first.included), told
        assert json.dumps(each.transcript, sort_keys=True) == json.dumps(first.transcript, sort_keys=True), told
        assert set(each.blamed) <= adversary.corrupt, (each.blamed, told)
    honest = sorted(set(range(task.parties)) - adversary.corrupt)
    assert set(honest) <= set(first.included), told
    exact = counted(task, rows, honest)
    # Without coins the numbers are exact: what is beyond the honest rows is what corrupt parties put in, never less than nothing.
    extra = [number - true for number, true in zip(first.numbers, exact, strict=True)]
    assert all(each >= 0 for each in extra), (extra, told)
    if not set(first.included) & adversary.corrupt:
        assert extra == [0] * len(extra), told
    return first


def campaign(parties: int, faults: int, runs: int, seed: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number in range(runs):
        draw = random.Random(seed * 100_003 + number)
        query = draw.choice(["count", "histogram", "sum"])
        cells = 3 if query == "histogram" else None
        task = small_task(parties, faults, query, cells, bits=2 if query == "sum" else 1)
        bound = {"count": 2, "histogram": 3, "sum": 4}[query]
        rows = [[draw.randrange(bound) for _ in range(draw.randint(0, 4))] for _ in range(parties)]
        adversary = Adversary(draw.sample(range(parties), faults), draw.randrange(2**32))
        found = judge(task, rows, adversary, play(task, rows, adversary))
        seen["changed" if adversary.done else "unchanged"] += 1
        seen["excluded"] += len(found.included) < parties
    return seen


@pytest.mark.parametrize(("parties", "faults", "runs"), [(4, 1, 40), (7, 2, 8)])
def test_whatever_a_rushing_adversary_sends_the_honest_end_with_the_right_answer(parties, faults, runs):
    seen = campaign(parties, faults, runs, seed=1)
    assert seen["changed"] > runs // 3
    assert seen["excluded"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("parties", "faults", "runs"), [(4, 1, 2000), (7, 2, 300), (10, 3, 80)])
def test_whatever_a_rushing_adversary_sends_in_thousands_of_runs(parties, faults, runs):
    campaign(parties, faults, runs, seed=2)


class Declaring(Adversary):
    """Declares a number of rows that it does not have, to everybody the same."""

    def __init__(self, corrupt, count):
        super().__init__(corrupt, 0)
        self.count = count

    def choose(self, me, item, outgoing, seen):
        if item != "declare/send":
            return dict(outgoing)
        return {to: json.dumps([json.loads(raw)[0], self.count]).encode() for to, raw in outgoing.items()}


@pytest.mark.parametrize("count", [-1, 3, 10**6, 2**29, 2**30, 2**31, 2**62, 10**30, 1.0, True, None, "2", [2]])
@pytest.mark.parametrize("query", ["histogram", "sum"])
def test_no_number_of_rows_that_one_party_declares_stops_the_others(query, count):
    task = small_task(4, 1, query, 3 if query == "histogram" else None, bits=2 if query == "sum" else 1)
    rows, adversary = [[0, 1], [2, 2], [1, 1], [0, 2]], Declaring([1], count)
    found = judge(task, rows, adversary, play(task, rows, adversary))
    assert found.included == (0, 2, 3)
    assert set(found.blamed) == {1}


class Shouting(Adversary):
    """Broadcasts megabytes, which everybody would have to pass on."""

    def choose(self, me, item, outgoing, seen):
        if not item.endswith("/send"):
            return dict(outgoing)
        return {to: raw if to == me else raw + b" " * 5_000_000 for to, raw in outgoing.items()}


def test_a_long_broadcast_is_not_passed_on():
    task = small_task(4, 1, "histogram", 3)
    rows, adversary = [[0, 1], [2, 2], [1, 1], [0, 2]], Shouting([1], 0)
    found = judge(task, rows, adversary, play(task, rows, adversary))
    assert found.included == (0, 2, 3)
    assert all(len(json.dumps(each)) < 10_000 for each in found.transcript)
