"""Maxima and minima of tied and rounded values: every way to store the same numbers gets the same decisions, and nobody is determined (issue 14).

The judge enumerates: every table on a grid around the answers that agrees with all of them. A person is determined if all of these tables agree about her.
"""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pytest

from reticent.audit.service import AuditService
from reticent.errors import DataError
from reticent.policy.audit_policy import AuditPolicy

POLICY = """\
dataset = "staff"
ledger = "ledger.sqlite"
[database]
source = "{source}"
{table}
key = "id"
public = ["id"]
[sensitive.pay]
bounds = "ignored"
{decimals}
"""
FOLDERS = ["csv", "parquet", "decimal", "cents", "sqlite", "single"]
PEOPLE = 5


def opened(folder: Path, kind: str, values: list[Decimal], more: str = "") -> AuditService:
    """The values as floats, as decimals, or as whole numbers of cents, in different files."""
    folder.mkdir()
    frame = pl.DataFrame({"id": range(len(values)), "pay": [float(value) for value in values]})
    table, decimals = "", "decimals = 2"
    if kind == "csv":
        source = "staff.csv"
        frame.write_csv(folder / source)
    elif kind == "single":
        source = "staff.parquet"
        frame.with_columns(pl.col("pay").cast(pl.Float32)).write_parquet(folder / source)
    elif kind in ("parquet", "decimal", "cents"):
        source = "staff.parquet"
        if kind == "decimal":
            frame, decimals = frame.with_columns(pay=pl.Series(values, dtype=pl.Decimal(12, 4))), ""
        if kind == "cents":
            frame, decimals = frame.with_columns(pay=pl.Series([int(100 * value) for value in values])), ""
        frame.write_parquet(folder / source)
    elif kind == "duckdb":
        source, table = "staff.duckdb", 'table = "staff"'
        with duckdb.connect(str(folder / source)) as connection:
            connection.execute("CREATE TABLE staff AS SELECT id, CAST(pay AS DECIMAL(18, 3)) AS pay FROM frame")
    else:
        source, table = "staff.sqlite", 'table = "staff"'
        with closing(sqlite3.connect(folder / source)) as connection, connection:
            connection.execute("CREATE TABLE staff (id INTEGER, pay REAL)")
            connection.executemany("INSERT INTO staff VALUES (?, ?)", frame.rows())
    text = POLICY.format(source=source, table=table, decimals="\n".join([decimals, more]))
    return AuditService(AuditPolicy.parse(text, "audit.toml", folder).settings)


def determined(function: str, answered: list[tuple[tuple[int, ...], Decimal]], *, distinct: bool = False) -> set[int]:
    """Whose value is the same in all tables that agree with the answers; values lie on the answers, between them and beyond them."""
    best = max if function == "MAX" else min
    marks = sorted({answer for _, answer in answered})
    steps = PEOPLE + 1 if distinct else 1
    gaps = [
        (low + (high - low) * part / (steps + 1))
        for low, high in itertools.pairwise(marks)
        for part in range(1, steps + 1)
    ]
    beyond = [end + side * part for end, side in ((marks[0], -1), (marks[-1], 1)) for part in range(1, steps + 1)]
    grid = sorted({*marks, *gaps, *beyond})
    seen: list[set[Decimal]] = [set() for _ in range(PEOPLE)]
    for world in itertools.product(grid, repeat=PEOPLE):
        if distinct and len(set(world)) < PEOPLE:
            continue
        if all(best(world[person] for person in people) == answer for people, answer in answered):
            for person, value in enumerate(world):
                seen[person].add(value)
    assert all(seen)
    return {person for person, values in enumerate(seen) if len(values) == 1}


def session(folder: Path, kinds: list[str], seed: int) -> int:
    """One random session of maxima or minima on tied values, in every kind of file; how many were answered."""
    chance = random.Random(seed)
    levels = [Decimal(chance.randint(-300, 300)) / 100 for _ in range(chance.randint(1, 3))]
    values = [chance.choice(levels) for _ in range(PEOPLE)]
    function = chance.choice(["MAX", "MIN"])
    subsets = [people for size in range(1, PEOPLE + 1) for people in itertools.combinations(range(PEOPLE), size)]
    asked = chance.sample(subsets, 12)
    told: dict[str, list[tuple[bool, str, Decimal | None]]] = {}
    for kind in kinds:
        with opened(folder / kind, kind, values) as service:
            told[kind] = []
            for people in asked:
                text = f"SELECT {function}(pay) FROM staff WHERE id IN ({', '.join(map(str, people))})"
                (answer,) = service.ask(text).rows[0].answers
                value = (
                    None
                    if answer.value is None
                    else Decimal(str(float(answer.value / (100 if kind == "cents" else 1))))
                )
                told[kind].append((answer.answered, answer.rule, value))
    first, *others = told.values()
    assert all(other == first for other in others), told
    answered = []
    for people, (given, _, value) in zip(asked, first, strict=True):
        if given:
            assert value == (max if function == "MAX" else min)(values[person] for person in people)
            answered.append((people, value))
            assert determined(function, answered) == set(), (values, answered)
    return len(answered)


def test_tied_and_rounded_values_get_the_same_decisions_in_every_kind_of_file(tmp_path: Path) -> None:
    assert session(tmp_path, FOLDERS, seed=1) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_sessions_on_tied_values_determine_nobody(tmp_path: Path, seed: int) -> None:
    session(tmp_path, [*FOLDERS, "duckdb"], seed)


def test_the_judge_knows_who_is_determined() -> None:
    assert determined("MAX", [((0, 1), Decimal(5)), ((0,), Decimal(3))]) == {0, 1}
    assert determined("MAX", [((0, 1), Decimal(5)), ((1, 2), Decimal(5))]) == set()
    assert determined("MAX", [((0, 1), Decimal(5)), ((1, 2), Decimal(5))], distinct=True) == {1}


@pytest.mark.parametrize("kind", ["csv", "parquet", "sqlite"])
def test_values_that_are_equal_only_after_rounding_are_refused_and_not_tied(tmp_path: Path, kind: str) -> None:
    """0.1 + 0.2 is not 0.3: whoever declares two decimals has to round first."""
    with pytest.raises(DataError, match="more than 2 decimal places"):
        opened(tmp_path / kind, kind, [Decimal(0.1 + 0.2), Decimal("0.3"), Decimal(1), Decimal(2), Decimal(3)])


@pytest.mark.parametrize("kind", FOLDERS)
def test_declared_distinct_values_that_are_tied_are_refused(tmp_path: Path, kind: str) -> None:
    tied = [Decimal("0.30"), Decimal("0.3"), Decimal(1), Decimal(2), Decimal(3)]
    with pytest.raises(DataError, match="people share values"):
        opened(tmp_path / kind, kind, tied, 'duplicates = "distinct"')


def test_numeric_and_floating_columns_of_a_server_are_tied_alike(make_place: Callable) -> None:
    import psycopg

    decided = []
    for kind in ("numeric", "numeric(12, 4)", "double precision", "real"):
        place = make_place("postgres").fill()
        with psycopg.connect(place.url, autocommit=True) as connection:
            connection.execute(
                f"ALTER TABLE {place.table} ALTER COLUMN salary TYPE {kind} USING (salary / 10000.0)::numeric(9, 2)::{kind}"
            )
        service = place.service(POLICY_OF_SALARY)
        decided.append(
            [
                service.ask(f"SELECT MAX(salary) FROM staff WHERE age > {age}").describe()["rows"]
                for age in (20, 30, 40, 42, 50)
            ]
        )
    assert all(each == decided[0] for each in decided)


POLICY_OF_SALARY = """\
dataset = "staff"
ledger = "ledger.sqlite"
[database]
source = "{source}"
{table}
key = "id"
public = ["age"]
[sensitive.salary]
bounds = "ignored"
decimals = 2
"""
