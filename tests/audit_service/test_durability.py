"""``kill -9`` under load, and processes that ask at once: no answered query is lost, and everybody agrees on the history."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import signal
import sqlite3
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reticent.audit import MaxAuditor, SumAuditor
from reticent.audit.offline import check_log, parse_log
from reticent.audit.service import AuditService
from reticent.audit.service.export import log_lines
from tests.sampling import campaign

from .asker import PEOPLE, ask_for_ever, ask_some, die_at, policy

POLICY = """\
dataset = "staff"
ledger = "ledger.sqlite"
[database]
source = "staff.csv"
key = "id"
public = ["age"]
[sensitive.salary]
bounds = "ignored"
[sensitive.bonus]
bounds = "ignored"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = range(PEOPLE)
    frame = pl.DataFrame(
        {"id": rows, "age": rows, "salary": [1000 + 37 * row for row in rows], "bonus": [row * row for row in rows]}
    )
    frame.write_csv(tmp_path / "staff.csv")
    (tmp_path / "audit.toml").write_text(POLICY)
    return tmp_path


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.BaseContext:
    """New processes from one that has imported everything and used nothing yet."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [
            "reticent.audit.service",
            "reticent.policy.audit_policy",
            "reticent.audit.sums",
            "reticent.audit.maxima",
            "duckdb",
            "polars",
            "pyarrow",
        ]
    )
    return context


def people_of(text: str) -> np.ndarray:
    return np.array([int(number) for number in re.search(r"\((\d[\d, ]*)\)", text)[1].split(", ")])


def kill_askers(processes, folder: Path, rounds: int, seed: int) -> list[tuple[int, bool, str, str]]:
    """Run pairs of askers, kill them at random moments, and return the replies that they had."""
    chance = random.Random(seed)
    told = []
    for turn in range(rounds):
        files = [folder / f"said-{turn}-{each}" for each in range(2)]
        askers = [
            processes.Process(target=ask_for_ever, args=(folder, 1000 * turn + each, file))
            for each, file in enumerate(files)
        ]
        for asker in askers:
            asker.start()
        end = time.monotonic() + 60
        while not all(file.exists() and file.stat().st_size for file in files):
            assert time.monotonic() < end
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.15))
        for asker in askers:
            os.kill(asker.pid, signal.SIGKILL)
        for asker in askers:
            asker.join()
        for file in files:
            whole = [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n") and "|" in line]
            for line in whole:
                number, answered, value, text = line.rstrip("\n").split("|")
                told.append((int(number), answered == "True", value, text))
    return told


def check_history(folder: Path, told: list[tuple[int, bool, str, str]]) -> None:
    """Every reply that left is in the ledger, and replaying the ledger leads through the same decisions."""
    with sqlite3.connect(folder / "ledger.sqlite") as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with AuditService(policy(folder).settings) as service:
        entries = {entry.number: entry for entry in service.decisions()}
        questions = {
            number: question.text for question in service.history(limit=10**6) for number in question.decisions
        }
        for number, answered, value, _ in told:
            assert (entries[number].answered, str(entries[number].answer)) == (answered, value)
        sums, maxima = SumAuditor(PEOPLE), MaxAuditor(PEOPLE)
        for number, entry in entries.items():
            members = people_of(questions[number])
            decided = (sums if entry.function == "sum" else maxima).would_answer(members)
            assert (decided.answer, decided.rule) == (entry.answered, entry.rule), number
            if entry.answered:
                true = (
                    1000 * len(members) + 37 * int(members.sum()) if entry.function == "sum" else int(members[-1]) ** 2
                )
                assert entry.answer == true
                (sums if entry.function == "sum" else maxima).record(members, true)
        for _, answered, value, text in told[::7]:
            again = service.ask(text).rows[0].answers[0]
            assert (again.answered, str(again.value)) == (answered, value)
        lines = [line.decode() for line in log_lines(entries.values())]
    for column in {entry.column for entry in entries.values() if entry.answered}:
        assert check_log(parse_log(lines, column=column), n=PEOPLE).exposed == {}


def test_no_answered_query_is_lost_when_askers_are_killed(folder, processes):
    rounds = 8 if campaign() else 4
    told = kill_askers(processes, folder, rounds=rounds, seed=1)
    assert len(told) > 2 * rounds
    check_history(folder, told)


@pytest.mark.slow
def test_hundreds_of_kills_lose_nothing(folder, processes):
    told = kill_askers(processes, folder, rounds=120, seed=2)
    assert len(told) > 400
    check_history(folder, told)


@pytest.mark.parametrize("function", ["SUM(salary)", "MAX(bonus)"])
@pytest.mark.parametrize(
    "point", ["before decision", "after decision", "before total", "after total", "before answer", "after answer"]
)
def test_killed_at_any_point_the_query_counts_as_answered_or_was_never_decided(folder, processes, point, function):
    text = f"SELECT {function} FROM staff WHERE age IN (1, 2, 3)"
    asker = processes.Process(target=die_at, args=(folder, text, point))
    asker.start()
    asker.join()
    assert asker.exitcode == -signal.SIGKILL
    with AuditService(policy(folder).settings) as service:
        decided = service.decisions()
        assert len(decided) == (0 if point == "before decision" else 1)
        if decided:
            assert decided[0].answered
            assert decided[0].answer == (1000 * 3 + 37 * 6 if function == "SUM(salary)" else 9)
            part = f"SELECT {function} FROM staff WHERE age IN (1, 2)"
            assert not service.ask(part).ok
    check_history(folder, [])


@pytest.mark.parametrize("function", ["SUM(salary)", "MAX(bonus)"])
def test_an_answer_that_never_left_counts_for_sums_and_is_withdrawn_for_maxima_when_the_values_are_gone(
    folder, processes, function
):
    text = f"SELECT {function} FROM staff WHERE age IN (1, 2, 3)"
    asker = processes.Process(target=die_at, args=(folder, text, "before total"))
    asker.start()
    asker.join()
    frame = pl.read_csv(folder / "staff.csv").with_columns(salary=pl.col("salary") + 1, bonus=pl.col("bonus") + 1)
    frame.write_csv(folder / "staff.csv")
    with AuditService(policy(folder).settings) as service:
        (entry,) = service.decisions()
        assert (entry.answered, entry.answer, entry.rule) == (
            (True, None, "safe") if function == "SUM(salary)" else (False, None, "withdrawn")
        )
        assert service.family(entry.column) == ("linear" if function == "SUM(salary)" else None)
        assert service.ask(text).ok


def test_processes_that_ask_at_once_take_turns_and_agree(folder, processes):
    askers = [processes.Process(target=ask_some, args=(folder, seed, 40)) for seed in range(3)]
    with AuditService(policy(folder).settings) as service:
        for asker in askers:
            asker.start()
        mine = [service.ask(f"SELECT SUM(salary) FROM staff WHERE age < {age}").ok for age in range(4, 24)]
        for asker in askers:
            asker.join()
        assert [asker.exitcode for asker in askers] == [0, 0, 0]
        assert [service.ask(f"SELECT SUM(salary) FROM staff WHERE age < {age}").ok for age in range(4, 24)] == mine
        assert {question.asker for question in service.history(limit=1000)} == {"steward"}
        assert len(service.history(limit=1000)) == 3 * 40 + 2 * 20
        texts = {number: question.text for question in service.history(limit=1000) for number in question.decisions}
        entries = service.decisions()
    sums = SumAuditor(PEOPLE)
    for entry in (entry for entry in entries if entry.function == "sum"):
        text = texts[entry.number]
        limit = re.search(r"< (\d+)", text)
        members = np.arange(int(limit[1])) if limit else people_of(text)
        assert sums.would_answer(members).answer == entry.answered
        if entry.answered:
            sums.record(members)
