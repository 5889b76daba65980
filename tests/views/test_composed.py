"""Views over views, and sets of views that are granted together: every small database is tried in a real engine, and PRIVATE must mean independent."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pytest

from reticent import views
from reticent.errors import PolicyError
from reticent.views.verdict import jointly
from tests.oracles import views_sqlite

_CASES = {
    "sqlite": [15, pytest.param(4000, marks=pytest.mark.slow)],
    "duckdb": [2, pytest.param(400, marks=pytest.mark.slow)],
}
_TABLES = {"R": ["a INT", "b INT"], "S": ["a INT"]}


@contextmanager
def _world(engine: str, nullable: bool) -> Iterator[tuple[views_sqlite.World, Any]]:
    rows = views_sqlite.possible_rows(nullable)
    if engine == "sqlite":
        connection: Any = sqlite3.connect(":memory:", isolation_level=None)
    else:
        import duckdb

        connection = duckdb.connect(":memory:", config={"threads": 1})
    try:
        yield views_sqlite.World(_TABLES, rows, connection), connection
    finally:
        connection.close()


def _over(rng: random.Random, text: str, made: list[tuple[str, int]]) -> str:
    """A query in which some tables are views that were made before."""
    for table, width in (("R AS", 2), ("S AS", 1)):
        fitting = [name for name, columns in made if columns == width]
        parts = text.split(f" {table} ")
        text = parts[0]
        for part in parts[1:]:
            taken = f"{rng.choice(fitting)} AS" if fitting and rng.random() < 0.6 else table
            text += f" {taken} {part}"
    return text


def _stack(rng: random.Random) -> list[tuple[str, int, str]]:
    """Up to three views, each over tables and the views before it: name, number of columns, statement."""
    made: list[tuple[str, int, str]] = []
    for number in range(rng.randint(1, 3)):
        width = rng.randint(1, 2)
        text = _over(rng, views_sqlite._select(rng, 1, width), [(name, columns) for name, columns, _ in made])
        names = "a, b" if width == 2 else "a"
        made.append((f"v{number}", width, f"CREATE VIEW v{number} ({names}) AS {text}"))
    return made


def _dependent(answers: dict[int, tuple[tuple[str, ...], ...]], chances: list[Fraction], allowed: list[int]) -> bool:
    """Whether the first answer depends on the others together, rows being there independently of each other (and keys being kept)."""
    joint: Counter[Any] = Counter()
    first: Counter[Any] = Counter()
    rest: Counter[Any] = Counter()
    for mask in allowed:
        weight = Fraction(1)
        for index, chance in enumerate(chances):
            weight *= chance if mask >> index & 1 else 1 - chance
        secret, *shown = answers[mask]
        joint[secret, tuple(shown)] += weight
        first[secret] += weight
        rest[tuple(shown)] += weight
    whole = sum(first.values())
    return any(joint[one, other] * whole != first[one] * rest[other] for one in first for other in rest)


def _key_kept(mask: int, rows: list[views_sqlite.Row]) -> bool:
    keys = [values[0] for index, (table, values) in enumerate(rows) if table == "R" and mask >> index & 1]
    return len(keys) == len(set(keys))


def _compare(engine: str, seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        nullable, keyed = rng.random() < 0.3 and engine == "sqlite", rng.random() < 0.3
        with _world(engine, nullable) as (world, connection):
            made = _stack(rng)
            for _, _, statement in made:
                connection.execute(statement)
            named = [(name, width) for name, width, _ in made]
            texts = [_over(rng, views_sqlite.random_sql(rng), named) for _ in range(rng.randint(2, 4))]
            if rng.random() < 0.5:
                texts[-1] = f"SELECT * FROM {rng.choice(named)[0]}"
            ddl = "; ".join([views_sqlite.schema(nullable).rstrip("; "), *(statement for _, _, statement in made)])
            schema = views.load_schema(ddl, engine)
            keys = {"R": [["a"]]} if keyed else None
            try:
                schema, (secret, *shown) = views.prepare(texts, schema, keys=keys, dialect=engine)
            except PolicyError:
                seen["refused"] += 1
                continue
            checker = views.Checker(schema, replay="definition")
            verdict = jointly(tuple(checker.check(secret, view) for view in shown))
            seen[verdict.status] += 1
            if verdict.status == "UNKNOWN":
                continue
            answers = world.answers(texts)
            allowed = [mask for mask in answers if not keyed or _key_kept(mask, world.rows)]
            chances = [Fraction(rng.randint(1, 6), 7) for _ in world.rows]
            dependent = _dependent(answers, chances, allowed)
            assert not (verdict.private and dependent), f"{engine}, seed {seed}: {ddl}: {texts}: keys {keys}"
            seen["disclosed and dependent"] += verdict.status == "DISCLOSES" and dependent
    return seen


@pytest.mark.parametrize("cases", _CASES["sqlite"])
def test_private_sets_of_composed_views_are_independent_of_the_secret_in_sqlite(cases: int) -> None:
    seen = _compare("sqlite", range(cases))
    assert seen["PRIVATE"] > cases / 20
    assert seen["disclosed and dependent"] >= 0.9 * seen["DISCLOSES"] > 0


@pytest.mark.parametrize("cases", _CASES["duckdb"])
def test_private_sets_of_composed_views_are_independent_of_the_secret_in_duckdb(cases: int) -> None:
    seen = _compare("duckdb", range(50_000, 50_000 + cases))
    assert seen["PRIVATE"] > 0
