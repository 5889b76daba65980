"""Anatomy and Angelization beside Mondrian (`python -m benchmarks buckets [speed|queries]`): time beside the floor G, and how wrong counts are on Adult.

Questions combine ranges or values of one to three quasi columns with a sensitive value; the error is |estimate - truth| / max(truth, 0.5 % of the rows).
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator

import numpy as np
import polars as pl

from benchmarks.adult import complete_rows, quasi
from benchmarks.measuring import Row, group_by_floor, in_turn, report
from reticent.definitions import (
    DistinctLDiversity,
    GroupDefinition,
    KAnonymity,
    ProbabilisticLDiversity,
    WorstCaseKnowledge,
)
from reticent.methods.anatomy import Anatomy, Angelization
from reticent.methods.mondrian import Mondrian
from reticent.release import Release, publish
from reticent.table import Table

QUESTIONS = 300
ROWS = 1_000_000
COLUMNS = ("age", "sex", "zip", "job")


def main(*wanted: str) -> None:
    """Run what is asked for, or both."""
    if not wanted or "speed" in wanted:
        report("Buckets", "python -m benchmarks buckets speed", list(speed()))
    if not wanted or "queries" in wanted:
        queries()


def people(rows: int) -> pl.DataFrame:
    """People with four quasi columns and fourteen diseases, the commonest of which 12 % have."""
    draw = np.random.default_rng(1)
    disease = np.minimum(draw.geometric(0.12, rows), 14)
    return pl.DataFrame(
        {
            "age": draw.integers(18, 90, rows),
            "sex": draw.integers(0, 2, rows),
            "zip": draw.integers(0, 200, rows),
            "job": draw.integers(0, 15, rows),
            "disease": pl.Series(disease).cast(pl.String),
        }
    )


def speed() -> Iterator[Row]:
    """Drafts of a million rows."""
    frame = people(ROWS)
    jobs: list[tuple[str, GroupDefinition, Anatomy | Angelization]] = [
        ("Anatomy, l = 3", DistinctLDiversity(3), Anatomy()),
        ("Anatomy, (1/2, 1)-safe", WorstCaseKnowledge("1/2", 1), Anatomy()),
        ("Angelization, k = 5, l = 3", KAnonymity(5) & DistinctLDiversity(3), Angelization()),
    ]
    for name, definition, method in jobs:
        floor, ours = in_turn(
            3,
            lambda: group_by_floor(frame, COLUMNS),
            lambda: method.draft(Table(frame, quasi=list(COLUMNS), sensitive="disease"), definition),  # noqa: B023
        )
        yield Row(f"{name}, {ROWS:,} x {len(COLUMNS)}", floor, ours, None)


def queries() -> None:
    """The error of counts on releases of Adult that make promises of the same kind."""
    frame = complete_rows()
    table = Table(frame, quasi=quasi(6), sensitive="occupation")
    asked = list(questions(frame, list(table.quasi), "occupation"))
    print(
        f"| release of Adult ({frame.height:,} x {len(table.quasi)}), {len(asked)} questions | median error | mean error | bounds hold |"
    )
    print("|---|---|---|---|")
    for l in (3, 5, 7):  # noqa: E741 - as definitions call it
        values, both = ProbabilisticLDiversity(l), KAnonymity(10) & ProbabilisticLDiversity(l)
        for name, definition, method in (
            ("Anatomy", values, Anatomy()),
            ("Angelization, k = 10", both, Angelization()),
            ("Mondrian, k = 10", both, Mondrian(values="sets")),
        ):
            release = publish(table, definition, method)
            errors, held = zip(*(_error(release, frame, each) for each in asked), strict=True)
            figures = f"{statistics.median(errors):.1%} | {statistics.mean(errors):.1%}"
            print(f"| {name}, l = {l} | {figures} | {sum(held) / len(held):.0%} |", flush=True)


def questions(frame: pl.DataFrame, columns: list[str], secret: str) -> Iterator[str]:
    """Ranges or values of one to three columns, and a value of the sensitive one."""
    source = random.Random("buckets")
    for _ in range(QUESTIONS):
        parts = [_asked(source, name, frame[name]) for name in source.sample(columns, source.randint(1, 3))]
        yield " and ".join([*parts, _asked(source, secret, frame[secret])])


def _asked(source: random.Random, name: str, values: pl.Series) -> str:
    if values.dtype.is_numeric():
        low, high = sorted(values[source.randrange(len(values))] for _ in range(2))
        return f'"{name}" between {low} and {high}'
    return f"\"{name}\" = '{values[source.randrange(len(values))]}'"


def _error(release: Release, frame: pl.DataFrame, condition: str) -> tuple[float, bool]:
    truth = frame.filter(pl.sql_expr(condition)).height
    answer = release.count(condition)
    low, high = answer.bounds
    return abs(float(answer.value) - truth) / max(truth, 0.005 * frame.height), low <= truth <= high
