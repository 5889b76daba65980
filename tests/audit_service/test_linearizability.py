"""Two services on one ledger: every recorded history of concurrent questions is one that a single service could have given in some order."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from reticent.audit import SumAuditor
from tests.audit_service.conftest import PEOPLE, POLICY

_CLIENT = """
import json, random, sys, time
from reticent.audit.service import AuditService
from reticent.policy.audit_policy import AuditPolicy

number, questions = int(sys.argv[1]), json.loads(sys.argv[2])
with AuditService(AuditPolicy.read("audit.toml").settings) as service:
    print("ready", flush=True)
    sys.stdin.readline()
    for members in questions:
        text = f"SELECT SUM(salary) FROM people WHERE age IN ({', '.join(map(str, members))})"
        called = time.monotonic_ns()
        answer = service.ask(text).rows[0].answers[0]
        print(json.dumps([number, members, called, time.monotonic_ns(), bool(answer.answered)]), flush=True)
"""
Event = tuple[int, frozenset[int], int, int, bool]


def orders(events: list[Event]) -> Iterator[list[Event]]:
    """The orders that real time allows: what ended before another began comes first (Herlihy and Wing, Linearizability, 1990)."""
    if not events:
        yield []
        return
    for event in events:
        if all(event is other or other[3] >= event[2] for other in events):
            for rest in orders([other for other in events if other is not event]):
                yield [event, *rest]


def is_linearizable(events: list[Event], people: int) -> bool:
    """Whether a single auditor takes the recorded decisions in one of these orders; prefixes that already differ are not followed."""

    def follows(done: list[Event], left: list[Event]) -> bool:
        if not left:
            return True
        for event in left:
            if any(other is not event and other[3] < event[2] for other in left):
                continue
            auditor = SumAuditor(n=people)
            if all(auditor.ask(set(each[1])) == each[4] for each in [*done, event]) and follows(
                [*done, event], [other for other in left if other is not event]
            ):
                return True
        return False

    return follows([], events)


def test_the_checker_finds_decisions_that_no_order_explains() -> None:
    both, single = frozenset({0, 1, 2}), frozenset({0, 1})
    assert is_linearizable([(1, both, 0, 10, True), (2, single, 5, 15, False)], 6)
    assert is_linearizable([(1, both, 0, 10, False), (2, single, 5, 15, True)], 6)
    assert not is_linearizable([(1, both, 0, 10, True), (2, single, 5, 15, True)], 6)
    # One after the other: the second was denied although only the first could be.
    assert not is_linearizable([(1, both, 0, 4, False), (2, single, 5, 15, True)], 6)
    assert len(list(orders([(1, both, 0, 10, True), (2, single, 5, 15, False)]))) == len(list(permutations(range(2))))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_histories_of_two_services_are_linearizable(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "audit.toml").write_text(POLICY.format(source="people.parquet", table=""), encoding="utf-8")
    ages = PEOPLE["age"].to_list()
    clients = []
    for number in range(2):
        questions = [sorted(rng.sample(ages, rng.randint(2, 5))) for _ in range(6)]
        clients.append(
            subprocess.Popen(
                [sys.executable, "-c", _CLIENT, str(number), json.dumps(questions)],
                cwd=tmp_path,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    for client in clients:
        assert client.stdout.readline() == "ready\n"
    for client in clients:
        client.stdin.write("go\n")
        client.stdin.flush()
        time.sleep(rng.uniform(0, 0.005))
    lines = [json.loads(line) for client in clients for line in client.communicate(timeout=120)[0].splitlines()]
    assert len(lines) == 12
    places = {age: place for place, age in enumerate(ages)}
    events = [
        (number, frozenset(places[age] for age in members), called, ended, answered)
        for number, members, called, ended, answered in lines
    ]
    assert is_linearizable(events, len(ages)), events
