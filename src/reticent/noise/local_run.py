"""All parties on this machine, one process each: for trials, tests, or several data sets of one owner (``run_local``)."""

from __future__ import annotations

import json
import math
import os
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reticent.base.cards import Card, ShownAsCard
from reticent.base.context import Context
from reticent.base.exact import Number
from reticent.errors import DataError, PolicyError
from reticent.noise.channels import Identity
from reticent.noise.cost_plan import NoisePlan, plan
from reticent.noise.faults import behaviour
from reticent.noise.network import NoiseAborted
from reticent.noise.party import PATIENCE, LifetimeBudget
from reticent.noise.tasks import JointTask

_START = 60.0
_POLL, _ASK = 0.02, 0.5
_LONGEST_PATIENCE = 86_400
_GRACE = 5.0
# Deadlines grow with the rounds; no run has so many that its last deadline is longer.
_LONGEST = 12
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class PartyReport:
    """Report of one process: its numbers, or why it stopped; None for both if it did not report."""

    party: int
    numbers: tuple[int, ...] | None
    aborted: str | None
    coins: int = 0
    included: tuple[int, ...] = ()
    blamed: dict[int, str] = field(default_factory=dict)
    transcript: tuple[dict[str, Any], ...] = ()
    figures: dict[str, float] = field(default_factory=dict)
    opened: bool = False


@dataclass(frozen=True, repr=False)
class JointAnswer(ShownAsCard):
    """A joint answer: ``total`` is the noisy number, or a list with one for each histogram cell.

    ``blamed`` lists faulty parties (from 1) with the reason, as reported by more than ``faults`` parties. ``results``
    are the results of all parties, ``transcript`` is everything broadcast or opened to all, and nothing else. ``coins``
    is the number of coins in each number; the rows of ``included`` parties are in the answer.
    """

    total: int | list[int]
    blamed: dict[int, str]
    transcript: tuple[dict[str, Any], ...]
    results: tuple[PartyReport, ...]
    plan: NoisePlan
    session: str
    coins: int
    included: tuple[int, ...]
    seconds: float

    @property
    def level(self) -> str:
        """The adversary that the answer is protected against."""
        return self.plan.level

    @property
    def faults(self) -> int:
        """Number of parties that may be faulty."""
        return self.plan.faults

    @property
    def standard_error(self) -> float:
        """Standard error of the noise in each number, without the coins of excluded parties."""
        return math.sqrt(self.coins) / 2 if self.coins else self.plan.standard_error

    def describe(self) -> dict[str, Any]:
        """The answer as plain data, without the transcript."""
        return {
            "total": self.total,
            "query": self.plan.query,
            "law": self.plan.law,
            "level": self.level,
            "parties": self.plan.parties,
            "faults": self.faults,
            "epsilon": self.plan.epsilon,
            "delta": self.plan.delta,
            "coins": self.coins,
            "standard_error": self.standard_error,
            "included": list(self.included),
            "blamed": self.blamed,
            "session": self.session,
            "seconds": round(self.seconds, 3),
        }

    def card(self) -> Card:
        """Summarise for display: the answer and its accuracy."""
        return Card(f"Joint {self.plan.query} of {len(self.included)} parties", self.describe(), "good")


def run_local(
    values: Sequence[Sequence[int]],
    epsilon: Number = 1,
    delta: Number = "1e-6",
    faults: int = 1,
    query: str = "count",
    cells: int | None = None,
    bits: int = 1,
    law: str = "binomial",
    level: str = "byzantine",
    behaviours: Mapping[int, str] | None = None,
    *,
    servers: int | None = None,
    most_rows: int | None = None,
    budgets: Mapping[int, LifetimeBudget] | None = None,
    patience: float = PATIENCE,
    context: Context | None = None,
) -> JointAnswer:
    """Compute a noisy count, histogram or sum of the rows of several parties, each in its own process on this machine.

    ``values[i]`` are the rows of party i + 1: 0 or 1 for a count, a cell below ``cells`` for a histogram, a whole
    number of ``bits`` bits for a sum. Parties are numbered from 1 in ``behaviours`` (tests only: a fault by name),
    ``budgets`` and in the result. With ``servers`` the owners of the rows are clients, who share them with that many
    servers and leave. ``most_rows`` is the maximum number of rows a party may declare (default: that of the largest),
    ``patience`` the deadline of the first round in seconds.

    :class:`NoiseAborted` if there is no answer: more than ``faults`` parties were faulty or late.
    """
    began = time.monotonic()
    context = context or Context()
    if not values:
        raise DataError("There are no parties: values must have one list of rows for each party.", setting=("values",))
    for party, rows in enumerate(values):
        if isinstance(rows, str | bytes) or not hasattr(rows, "__len__"):
            raise DataError(
                f"values[{party}] must be the list of rows of party {party + 1}, but it is {rows!r}.",
                setting=("values",),
                value=rows,
            )
    if not (isinstance(patience, int | float) and 0 < patience <= _LONGEST_PATIENCE):
        raise PolicyError(
            f"patience must be a number of seconds up to a day, but it is {patience!r}.",
            setting=("patience",),
            value=patience,
        )
    parties = servers if servers is not None else len(values)
    planned = plan(epsilon, delta, parties, faults, query, law, bits, level)
    if servers is not None and level != "byzantine":
        raise PolicyError("Clients and servers need level='byzantine'.", setting=("servers",), value=servers)
    clients = len(values) if servers is not None else 0
    largest = max(1, *map(len, values)) if most_rows is None else most_rows
    task = JointTask.of(planned, secrets.token_hex(16), cells, clients, largest)
    return run_task(planned, task, values, dict(behaviours or {}), budgets or {}, patience, context, began)


def run_task(
    planned: NoisePlan,
    task: JointTask,
    values: Sequence[Sequence[int]],
    behaviours: Mapping[int, str],
    budgets: Mapping[int, LifetimeBudget],
    patience: float,
    context: Context,
    began: float,
) -> JointAnswer:
    """Start a process for each party, and collect their reports."""
    all_parties = task.parties + task.clients
    owners: list[Sequence[int]] = [() for _ in range(task.parties)] if task.clients else []
    owners += values
    for party, rows in enumerate(owners):
        task.check_rows(rows, f"values[{party - task.parties if task.clients else party}]")
    for party, name in behaviours.items():
        behaviour(name)
        if not 1 <= party <= all_parties:
            raise PolicyError(f"behaviours: there is no party {party}.", setting=("behaviours",), value=party)
    for party, budget in budgets.items():
        if not 1 <= party <= task.parties or not isinstance(budget, LifetimeBudget):
            raise PolicyError(
                f"budgets must map parties, 1 to {task.parties}, to a LifetimeBudget, but it has {party!r}: {budget!r}.",
                setting=("budgets",),
                value=party,
            )
    # A faulty party may delay every other one for a whole deadline, each in a different round.
    total = patience * (_LONGEST + task.threshold * (task.parties - task.threshold))
    identities = [Identity.new() for _ in range(all_parties)]
    keys = [identity.public.hex() for identity in identities]
    processes: list[_Process] = []
    try:
        for party in range(all_parties):
            own_budget = budgets.get(party + 1)
            party_settings = {
                "task": task.to_json(),
                "me": party,
                "key": identities[party].to_bytes().hex(),
                "keys": keys,
                "values": [int(value) for value in owners[party]],
                "patience": patience,
                "gathering": max(_START, patience),
                "total": total,
                "behaviour": behaviours.get(party + 1),
                "budget": [str(own_budget.ledger), own_budget.dataset, own_budget.epsilon, own_budget.delta]
                if own_budget
                else None,
            }
            processes.append(_Process(party_settings))
        enough = task.parties - task.threshold
        ports = _answers(processes, all_parties, _START, _START, context, "starting parties")
        for process in processes:
            process.tell([answer.get("port", 0) for answer in ports[: task.parties]])
        results = _answers(
            processes[: task.parties],
            enough,
            min(patience, _GRACE),
            total + _START,
            context,
            "computing jointly",
        )
        reports = [_report(party, result) for party, result in enumerate(results)]
    finally:
        for process in processes:
            process.end()
    return _answer(planned, task, reports, began)


class _Process:
    """One party's process, and its reports so far."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Start a party in a process of its own and send it its settings."""
        source = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reticent.noise.party"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path, **_ONE_THREAD},
            # Ctrl-C on a terminal is for the caller, who ends its parties.
            process_group=0,
        )
        self._said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._ended = False
        threading.Thread(target=self._listen, daemon=True).start()
        self.tell(settings)

    def _listen(self) -> None:
        """Queue the lines that the process prints, and None when it ends."""
        with suppress(ValueError, OSError):
            for line in self._process.stdout or ():
                self._said.put(line)
        self._said.put(None)

    def tell(self, message: object) -> None:
        """Write a line of JSON to the process; ignored if it has ended."""
        with suppress(BrokenPipeError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """Return its next line; None while there is none, an empty answer once it has ended."""
        if self._ended:
            return {}
        try:
            line = self._said.get_nowait()
        except queue.Empty:
            return None
        self._ended = line is None
        report: dict[str, Any] = json.loads(line) if line is not None else {}
        return report

    def end(self) -> None:
        """End the process and reap it."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()


def _answers(
    processes: Sequence[_Process], enough: int, grace: float, limit: float, context: Context, stage: str
) -> list[dict[str, Any]]:
    """Return one answer of each process, {} for one that gave none in time.

    Waits for all; once ``enough`` have answered, only ``grace`` seconds more; at most ``limit`` seconds after the first
    answer.
    """
    answers: dict[int, dict[str, Any]] = {}
    first = last = None
    last_report = float("-inf")
    while len(answers) < len(processes):
        answered_before = len(answers)
        for party, process in enumerate(processes):
            if party not in answers and (answer := process.answer()) is not None:
                answers[party] = answer
        now = time.monotonic()
        if len(answers) > answered_before or now > last_report + _ASK:
            context.step(stage, len(answers), len(processes))
            last_report = now
        if len(answers) > answered_before:
            first, last = first or now, now
            continue
        if last is not None and len(answers) >= enough and now > last + grace:
            break
        if first is not None and now > first + limit:
            break
        time.sleep(_POLL)
    return [answers.get(party, {}) for party in range(len(processes))]


def _report(party: int, report: Mapping[str, Any]) -> PartyReport:
    """Return the report of a party's process as a value; parties are numbered from 1."""
    numbers = report.get("numbers")
    return PartyReport(
        party + 1,
        numbers=tuple(numbers) if numbers is not None else None,
        aborted=report.get("aborted"),
        coins=report.get("coins", 0),
        included=tuple(party_index + 1 for party_index in report.get("included", ())),
        blamed={int(other) + 1: reason for other, reason in report.get("blamed", {}).items()},
        transcript=tuple(report.get("transcript", ())),
        figures=report.get("figures", {}),
        opened=bool(report.get("opened")),
    )


def _answer(planned: NoisePlan, task: JointTask, reports: Sequence[PartyReport], began: float) -> JointAnswer:
    """Return what more than ``threshold`` parties report alike, so that at least one honest party reports it."""
    blame_counts = Counter(party for report in reports for party in report.blamed)
    words = {party: why for report in reversed(reports) for party, why in report.blamed.items()}
    blamed = {party: words[party] for party in sorted(blame_counts) if blame_counts[party] > task.threshold}
    outcomes = Counter(
        (report.numbers, report.coins, report.included) for report in reports if report.numbers is not None
    )
    if not outcomes or outcomes.most_common(1)[0][1] <= task.threshold:
        reasons = Counter(report.aborted for report in reports if report.aborted)
        why = reasons.most_common(1)[0][0] if reasons else "No party reported a result."
        culprits = "".join(f" Party {party} {reason}." for party, reason in blamed.items())
        raise NoiseAborted(
            f"The parties have no answer. {why}{culprits}", blamed, opened=any(report.opened for report in reports)
        )
    (numbers, coins, included), _ = outcomes.most_common(1)[0]
    assert numbers is not None
    reporter = next(
        report for report in reports if (report.numbers, report.coins, report.included) == (numbers, coins, included)
    )
    total: int | list[int] = list(numbers) if task.query == "histogram" else numbers[0]
    return JointAnswer(
        total,
        blamed,
        transcript=reporter.transcript,
        results=tuple(reports),
        plan=planned,
        session=task.session,
        coins=coins,
        included=included,
        seconds=time.monotonic() - began,
    )
