"""Speed of the auditors (TARGETS "Audited SQL"): decisions on sums and maxima about 100,000 people after 2,000 answers.

Run ``python -m benchmarks audit``. Times are processor times, because other work on the machine must not count. The floor of a
decision is the least that any auditor does: count the members of each trace class once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Row, report
from reticent.audit import AggregateQuery, MaxAuditor
from reticent.audit.null_space import NullSpace

PEOPLE, ANSWERED, FURTHER = 100_000, 2_000, 300
MEDIAN, SLOWEST, STATE = 0.005, 0.050, 2e9
# Public columns and their numbers of values: one table has 20,800 different rows, in the other nearly everybody differs.
TABLES = {"20,800 kinds of people": (80, 26, 10), "everybody different": (100, 500, 2, 16, 1000)}


@dataclass
class Times:
    """Processor seconds of the steps of a session."""

    floor: list[float] = field(default_factory=list)
    decide: list[float] = field(default_factory=list)
    remember: list[float] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)

    @property
    def asked(self) -> list[float]:
        """Decision and, where it was answered, remembering."""
        return [sum(pair) for pair in zip(self.decide, self.remember, strict=True)]


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    start = time.process_time()
    result = work(*arguments)
    return time.process_time() - start, result


def predicates(sizes: tuple[int, ...], seed: int) -> Iterator[NDArray[np.int64]]:
    """The members of random conjunctions of ranges over public columns."""
    generator = np.random.default_rng(seed)
    columns = [generator.integers(0, size, PEOPLE) for size in sizes]
    while True:
        chosen = np.ones(PEOPLE, dtype=bool)
        for column, size in zip(columns, sizes, strict=True):
            if generator.random() < 0.7:
                low, high = sorted(generator.integers(0, size + 1, 2))
                chosen &= (column >= low) & (column < max(high, low + 2))
        if chosen.any():
            yield np.flatnonzero(chosen)


def play(space: NullSpace, questions: Iterator[NDArray[np.int64]], answers: int) -> Times:
    """Ask until so many were answered."""
    times = Times()
    while times.rules["safe"] + times.rules["implied"] < answers:
        members = next(questions)
        floor, _ = timed(lambda asked: np.bincount(space.traces.labels[asked], minlength=space.traces.count), members)
        decide, decision = timed(lambda asked: space.decide(AggregateQuery.of(asked)), members)
        remember = timed(lambda asked: space.remember(AggregateQuery.of(asked)), members)[0] if decision else 0.0
        times.floor.append(floor)
        times.decide.append(decide)
        times.remember.append(remember)
        times.rules[decision.rule] += 1
    return times


def sum_rows(name: str, sizes: tuple[int, ...]) -> list[Row]:
    """Decisions, and remembering, after 2,000 answers."""
    space, questions = NullSpace(PEOPLE), predicates(sizes, seed=5)
    building, whole = timed(lambda: play(space, questions, ANSWERED))
    later = play(space, questions, FURTHER)
    floor = float(np.median(later.floor))
    state = f"{space.traces.count:,} classes, rank {space.rank:,}, state {space.state_bytes / 1e6:.0f} MB of {STATE / 1e9:.0f} GB"
    rules = ", ".join(f"{count} {rule}" for rule, count in sorted(later.rules.items()))
    median, slow = np.percentile(later.decide, [50, 99])
    asked = np.percentile(later.asked, [50, 99])
    over_session = np.percentile(whole.asked, [50, 99])
    return [
        Row(f"sum decision, {name}, p50", floor, float(median), MEDIAN / floor, f"target 5 ms; {state}"),
        Row(
            f"sum decision, {name}, p99",
            floor,
            float(slow),
            SLOWEST / floor,
            f"target 50 ms; {1 / np.mean(later.decide):,.0f} decisions/s; {rules}",
        ),
        Row(f"decided and remembered, {name}, p50", floor, float(asked[0]), None, f"p99 {1e3 * asked[1]:.1f} ms"),
        Row(
            f"the 2,000 before, {name}, p50",
            floor,
            float(over_session[0]),
            None,
            f"p99 {1e3 * over_session[1]:.1f} ms; all of them, as at a restart, {building:.1f} s",
        ),
    ]


def max_row(answers: int) -> Row:
    """A maximum over 50,000 people who are extreme for many answered queries: every query has the same answer."""
    generator, auditor = np.random.default_rng(1), MaxAuditor(PEOPLE)
    auditor.record(np.arange(PEOPLE), 10)
    for _ in range(answers - 1):
        auditor.record(np.flatnonzero(generator.random(PEOPLE) < 0.1), 10)
    members = np.flatnonzero(generator.random(PEOPLE) < 0.5)
    incidences = int(auditor._maxima._incidences(members).sum())  # type: ignore[union-attr]  # values may repeat here
    query = AggregateQuery.of(members, "max")
    ours = min(timed(lambda: auditor.would_answer(query))[0] for _ in range(5))
    met = np.repeat(np.arange(answers), incidences // answers)
    floor = min(timed(lambda: np.bincount(met, minlength=answers))[0] for _ in range(5))
    note = f"{incidences:,} extreme incidences, {1e9 * ours / incidences:.1f} ns each"
    return Row(f"max decision after {answers} answers", floor, ours, None, note)


def main() -> None:
    play(NullSpace(PEOPLE), predicates((4, 4), seed=1), 12)
    rows = [row for name, sizes in TABLES.items() for row in sum_rows(name, sizes)]
    rows += [max_row(answers) for answers in (10, 100, 1000)]
    report("Auditing", "python -m benchmarks audit", rows)


if __name__ == "__main__":
    main()
