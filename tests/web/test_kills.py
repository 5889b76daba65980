"""``kill -9`` of the real service under load: no answer is lost, none conflicts with another, and it starts again (issue 14)."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from http.client import HTTPException
from pathlib import Path

import polars as pl
import pytest

from tests.oracles.audit_sessions import determined_by_sums

from .conftest import PROGRAM, Server, free_port, start

PEOPLE = 14
POLICY = """\
dataset = "staff"
ledger = "ledger.sqlite"
newest = "second"
[database]
source = "staff.csv"
key = "id"
public = ["id"]
[sensitive.salary]
bounds = "ignored"
[roles.analyst]
[users]
alice = "analyst"
bob = "analyst"
"""
Told = tuple[frozenset[int], bool, int | None]


def text(people: frozenset[int]) -> str:
    return f"SELECT SUM(salary) FROM staff WHERE id IN ({', '.join(map(str, sorted(people)))})"


def ask_until_killed(server: Server, user: str, seed: int, told: list[Told], faults: list[str]) -> None:
    chance = random.Random(seed)
    while True:
        people = frozenset(chance.sample(range(PEOPLE), chance.randint(1, PEOPLE)))
        try:
            status, reply = server.ask(text(people), user=user)
        except (OSError, HTTPException, json.JSONDecodeError):
            return
        if status != 200:
            faults.append(f"{status} {reply}")
            return
        (answer,) = reply["rows"][0]["answers"]
        told.append((people, answer["answered"], answer["value"]))


def again(folder: Path, tokens: dict[str, str]) -> tuple[subprocess.Popen[bytes], Server]:
    """Start the service on what the killed one left behind."""
    port = free_port()
    process = subprocess.Popen(
        [PROGRAM, "audit", "serve", "audit.toml", "--port", str(port)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "server.log").open("ab"),
    )
    server = Server(f"http://127.0.0.1:{port}", folder, tokens)
    end = time.monotonic() + 120
    while True:
        assert process.poll() is None, (folder / "server.log").read_text()
        assert time.monotonic() < end
        try:
            assert server.call("GET", "/v1/health", user=None)[0] == 200
            return process, server
        except OSError:
            time.sleep(0.05)


def kill_loop(folder: Path, rounds: int, seed: int) -> int:
    """Kill the service at random moments while two users ask; how many replies were received before."""
    salaries = [1000 + 37 * person for person in range(PEOPLE)]
    pl.DataFrame({"id": range(PEOPLE), "salary": salaries}).write_csv(folder / "staff.csv")
    (folder / "audit.toml").write_text(POLICY)
    chance = random.Random(seed)
    told: list[Told] = []
    faults: list[str] = []
    process, server = start(folder, users=("alice", "bob"))
    for turn in range(rounds):
        askers = [
            threading.Thread(target=ask_until_killed, args=(server, user, 1000 * turn + place, told, faults))
            for place, user in enumerate(("alice", "bob", "alice"))
        ]
        for asker in askers:
            asker.start()
        # Some replies, however slow the machine is, and then any moment of the next ones.
        wanted, end = len(told) + chance.randint(1, 20), time.monotonic() + 60
        while len(told) < wanted and not faults and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.05))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for asker in askers:
            asker.join()
        process, server = again(folder, server.tokens)
    try:
        assert faults == []
        known: dict[frozenset[int], tuple[bool, int | None]] = {}
        for people, answered, value in told:
            assert known.setdefault(people, (answered, value)) == (answered, value)
            assert value == (sum(salaries[person] for person in people) if answered else None)
        assert determined_by_sums([people for people, (answered, _) in known.items() if answered]) == set()
        for people, reply in list(known.items())[:: max(1, len(known) // 20)]:
            (answer,) = server.ask(text(people))[1]["rows"][0]["answers"]
            assert (answer["answered"], answer["value"]) == reply
    finally:
        process.terminate()
        process.wait(timeout=60)
    return len(told)


def test_a_service_that_is_killed_under_load_loses_no_answer(tmp_path: Path) -> None:
    assert kill_loop(tmp_path, rounds=1, seed=1) > 0


@pytest.mark.slow
def test_a_service_that_is_killed_again_and_again_loses_no_answer(tmp_path: Path) -> None:
    assert kill_loop(tmp_path, rounds=25, seed=2) > 200
