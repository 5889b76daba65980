"""Random faults, many runs: no wrong answer, no hang. The fast ones play without clocks; the slow ones go on at length, and in processes."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.noise import BEHAVIOURS, NoiseAborted
from reticent.noise.local_run import run_task
from tests.noise.worlds import counted, joint, small_task

STEPS = (
    "declare",
    "rows/deal",
    "rows/cross",
    "rows/complain",
    "rows/vote",
    "counts",
    "coins",
    "triples",
    "bits",
    "noise",
    "digest",
    "answer",
)


def drawn_world(chance: random.Random, parties: int):
    """A random task without noise, rows, and up to t random faults that begin at random steps."""
    faults = (parties - 1) // 3
    query = chance.choice(["count", "histogram", "sum"])
    task = small_task(parties, faults, query, 3 if query == "histogram" else None, bits=3 if query == "sum" else 1)
    if chance.random() < 0.4:
        # Coins of bias one: 3 - 3 = 0, through the whole circuit.
        task = replace(task, law="exponential", thresholds=(1, 1), precision=1)
    bound = {"count": 2, "histogram": 3, "sum": 8}[query]
    rows = [[chance.randrange(bound) for _ in range(chance.randrange(4))] for _ in range(parties)]
    liars = {}
    for party in chance.sample(range(parties), chance.randint(1, faults)):
        name = chance.choice(list(BEHAVIOURS))
        liars[party] = name if chance.random() < 0.5 else f"{name}@{chance.choice(STEPS)}"
    return task, rows, liars


def assert_right(task, rows, liars, found):
    """All honest parties have the same numbers: those of the rows of whoever was included, every honest party among them."""
    honest = [party for party in range(task.parties) if party not in liars]
    assert not [found[party] for party in honest if not hasattr(found[party], "numbers")], liars
    assert len({(found[party].numbers, found[party].included) for party in honest}) == 1, liars
    included = found[honest[0]].included
    assert set(honest) <= set(included), liars
    assert list(found[honest[0]].numbers) == counted(task, rows, included), liars
    assert all(set(found[party].blamed) <= set(liars) for party in honest), liars


@pytest.mark.parametrize("parties", [4, 7, 10])
def test_a_few_dozen_random_faults_change_no_answer(parties):
    chance = random.Random(parties)
    for _ in range({4: 20, 7: 6, 10: 2}[parties]):
        task, rows, liars = drawn_world(chance, parties)
        assert_right(task, rows, liars, joint(task, rows, liars))


@pytest.mark.slow
@pytest.mark.parametrize(("parties", "runs"), [(4, 600), (7, 250), (10, 120)])
def test_hundreds_of_random_faults_change_no_answer(parties, runs):
    chance = random.Random(1000 + parties)
    for _ in range(runs):
        task, rows, liars = drawn_world(chance, parties)
        assert_right(task, rows, liars, joint(task, rows, liars))


@pytest.mark.slow
@pytest.mark.parametrize("parties", [4, 7])
def test_more_faults_than_promised_give_no_wrong_answer(parties):
    """With t + 1 liars nothing is promised but this: honest parties that end with an answer have the same one, or their number is too small to say so."""
    chance = random.Random(2000 + parties)
    aborted = 0
    for _ in range(60):
        task, rows, liars = drawn_world(chance, parties)
        loud = ["crash", "absent", "garbage", "lie in openings", "lie in shares", "lie in digests", "stall"]
        liars = {party: chance.choice(loud) for party in chance.sample(range(parties), task.threshold + 1)}
        found = joint(task, rows, liars)
        ended = [found[party] for party in range(parties) if party not in liars]
        answers = {each.numbers for each in ended if not isinstance(each, NoiseAborted)}
        aborted += not answers
        for each in ended:
            if not isinstance(each, NoiseAborted):
                assert list(each.numbers) == counted(task, rows, each.included)
        assert len(answers) <= 1
    assert aborted > 20


@pytest.mark.slow
@pytest.mark.parametrize(("parties", "runs"), [(4, 40), (7, 20), (10, 6)])
def test_random_faults_between_processes_change_no_answer_and_nobody_hangs(parties, runs):
    """The same over sockets: every run ends, and with the right answer. A round may take as long as a whole run of honest parties does here, so that stalling costs little and a busy machine is no liar."""
    chance = random.Random(3000 + parties)
    planned = rt.noise.plan(1, "1e-3", parties, (parties - 1) // 3)
    task, rows, _ = drawn_world(chance, parties)
    began = time.monotonic()
    run_task(planned, task, rows, {}, {}, 300.0, Context(), began)
    patience = max(8.0, time.monotonic() - began)
    for _ in range(runs):
        task, rows, liars = drawn_world(chance, parties)
        began = time.monotonic()
        named = {party + 1: name for party, name in liars.items()}
        answer = run_task(planned, task, rows, named, {}, patience, Context(), began)
        # A faulty party may hold every honest one up once, for a round.
        assert time.monotonic() - began < (20 + len(liars) * (parties - len(liars))) * patience
        reports = {each.party - 1: each for each in answer.results}
        honest = [party for party in range(parties) if party not in liars]
        assert len({reports[party].numbers for party in honest}) == 1, liars
        included = [party - 1 for party in answer.included]
        assert set(honest) <= set(included), liars
        assert list(reports[honest[0]].numbers) == counted(task, rows, included), liars
        assert set(answer.blamed) <= {party + 1 for party in liars}
