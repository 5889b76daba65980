"""The ledger under load, under kill -9, and between processes that race."""

import multiprocessing
import random
import signal
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from reticent.errors import LedgerError
from reticent.ledger import Ledger

WRITER = Path(__file__).with_name("writer.py")


def kill_writers(path: Path, rounds: int, seed: int) -> dict[str, list[tuple[str, str]]]:
    """Run pairs of writers, kill them at random moments, and return what they had been told is recorded."""
    chance = random.Random(seed)
    said: dict[str, list[tuple[str, str]]] = {"release": [], "answer": [], "spend": []}
    for turn in range(rounds):
        writers = [
            subprocess.Popen(
                [sys.executable, str(WRITER), str(path), f"{turn}-{each}"], stdout=subprocess.PIPE, text=True
            )
            for each in range(2)
        ]
        for writer in writers:
            said["release"].append(tuple(writer.stdout.readline().split()[1:]))
        time.sleep(chance.uniform(0, 0.05))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            rest, _ = writer.communicate()
            for line in rest.splitlines(keepends=True):
                if line.endswith("\n"):
                    kind, content, number = line.split()
                    said[kind].append((content, number))
    return said


def check_replay(path: Path, said: dict[str, list[tuple[str, str]]]) -> None:
    with Ledger(path) as ledger:
        releases = ledger.entries("people")
        answers = ledger.answers.of("people", "sum")
        budget = ledger.budgets.of("people", "epsilon", column="age")
    assert {(content, int(number)) for content, number in said["release"]} <= {
        (entry.content, entry.number) for entry in releases
    }
    assert [entry.number for entry in releases] == list(range(1, len(releases) + 1))
    assert all(each.certificate == f"certificate of {each.number}" for each in releases if each.kind == "release")
    assert {(content, number) for content, number in said["answer"]} <= {(a.question, a.answer) for a in answers}
    with sqlite3.connect(path) as raw:
        spendings = raw.execute("SELECT amount, purpose FROM spendings").fetchall()
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert {content for content, _ in said["spend"]} <= {purpose for _, purpose in spendings}
    assert budget.spent == sum(Fraction(amount) for amount, _ in spendings)


def test_nothing_recorded_is_lost_and_nothing_is_half_written_when_writers_are_killed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.budgets.open("people", "epsilon", 10**6, column="age")
    check_replay(path, kill_writers(path, rounds=3, seed=1))


@pytest.mark.slow
def test_hundreds_of_kills_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.budgets.open("people", "epsilon", 10**6, column="age")
    check_replay(path, kill_writers(path, rounds=100, seed=2))


def race(path: Path, name: str, barrier, outcomes) -> None:
    barrier.wait()
    try:
        with Ledger(path) as ledger:
            entry = ledger.record("people", f"content of {name}", lambda entry: "certificate")
        outcomes.put(("won", entry.content))
    except LedgerError as error:
        outcomes.put(("refused", str(error)))


def run_together(target, arguments: list[tuple]) -> list:
    spawn = multiprocessing.get_context("spawn")
    barrier, outcomes = spawn.Barrier(len(arguments)), spawn.Queue()
    processes = [spawn.Process(target=target, args=(*each, barrier, outcomes)) for each in arguments]
    for process in processes:
        process.start()
    results = [outcomes.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(timeout=60)
    return results


def test_of_several_processes_that_race_to_publish_exactly_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ledger.sqlite"
    results = run_together(race, [(path, str(each)) for each in range(6)])
    won = [content for outcome, content in results if outcome == "won"]
    assert len(won) == 1
    refusals = [text for outcome, text in results if outcome == "refused"]
    assert [text for text in refusals if "was released already: release 1" not in text] == []
    with Ledger(path) as ledger:
        assert [entry.content for entry in ledger.entries("people")] == won


def spend(path: Path, barrier, outcomes) -> None:
    barrier.wait()
    count = 0
    with Ledger(path) as ledger:
        for _ in range(30):
            try:
                ledger.spend("people", "epsilon", "0.1")
                count += 1
            except LedgerError:
                break
    outcomes.put(count)


def test_a_budget_cannot_be_overrun_by_processes_that_spend_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.budgets.open("people", "epsilon", 5)
    counts = run_together(spend, [(path,)] * 4)
    assert sum(counts) == 50
    with Ledger(path) as ledger:
        assert ledger.budgets.of("people", "epsilon").left == 0


def open_new(folder: Path, barrier, outcomes) -> None:
    complaints = []
    for number in range(80):
        barrier.wait()
        try:
            Ledger(folder / f"{number}.sqlite").close()
        except LedgerError as error:
            complaints.append(str(error))
    outcomes.put(complaints)


def test_processes_that_set_a_new_ledger_up_at_once_do_not_take_it_for_something_else(tmp_path: Path) -> None:
    assert [text for complaints in run_together(open_new, [(tmp_path,)] * 6) for text in complaints] == []
