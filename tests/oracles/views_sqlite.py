"""A fifth oracle: the definition itself, with a real SQL engine. Every instance of a tiny schema is tried in SQLite, or in DuckDB."""

from __future__ import annotations

import random
import sqlite3
from itertools import product
from typing import Any

Row = tuple[str, tuple[Any, ...]]


class World:
    """All instances over a few possible rows. ``critical`` finds the rows that can change a query's answer."""

    def __init__(self, tables: dict[str, list[str]], rows: list[Row], connection: Any = None) -> None:
        assert len(rows) <= 12
        self.rows = rows
        self._connection = connection or sqlite3.connect(":memory:", isolation_level=None)
        for name, columns in tables.items():
            self._connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")

    def critical(self, query: str, *, as_set: bool = False) -> set[Row]:
        """The rows t with Q(I + t) != Q(I) for some instance I; answers are multisets unless ``as_set``."""
        answers = {mask: frozenset(found) if as_set else found for mask, (found,) in self.answers([query]).items()}
        return {
            row
            for index, row in enumerate(self.rows)
            if any(answers[mask] != answers[mask | 1 << index] for mask in answers if not mask >> index & 1)
        }

    def answers(self, queries: list[str]) -> dict[int, tuple[tuple[str, ...], ...]]:
        """For every instance the answers of the queries, each as a multiset."""
        return {
            mask: tuple(tuple(sorted(map(repr, self._connection.execute(query).fetchall()))) for query in queries)
            for mask in self._gray()
        }

    def _gray(self) -> Any:
        """Walk through all instances, one row at a time; ends where it began."""
        self._connection.execute("BEGIN")
        mask = 0
        yield mask
        for step in range(1, 1 << len(self.rows)):
            index = (step & -step).bit_length() - 1
            self._toggle(index, not mask >> index & 1)
            mask ^= 1 << index
            yield mask
        self._connection.execute("ROLLBACK")

    def _toggle(self, index: int, add: bool) -> None:
        name, values = self.rows[index]
        if add:
            marks = ", ".join("?" for _ in values)
            self._connection.execute(f"INSERT INTO {name} VALUES ({marks})", values)
        else:
            condition = " AND ".join(f"{column} IS NOT DISTINCT FROM ?" for column in ("a", "b")[: len(values)])
            self._connection.execute(f"DELETE FROM {name} WHERE {condition}", values)


def possible_rows(nullable: bool) -> list[Row]:
    """The rows of R(a,b) and S(a) over {0,1}, with NULL in R.b if asked for."""
    second = [0, 1, None] if nullable else [0, 1]
    return [("R", pair) for pair in product([0, 1], second)] + [("S", (0,)), ("S", (1,))]


def schema(nullable: bool) -> str:
    """The same as DDL."""
    filled = "" if nullable else " NOT NULL"
    return (
        "CREATE TABLE R (a INT NOT NULL CHECK (a IN (0, 1)), "
        f"b INT{filled} CHECK (b IN (0, 1))); CREATE TABLE S (a INT NOT NULL CHECK (a IN (0, 1)));"
    )


def random_sql(rng: random.Random, depth: int = 0) -> str:
    """A random query over R and S: joins, outer joins, subqueries, unions, aggregates, NULL tests."""
    choice = rng.random()
    if depth == 0 and choice < 0.15:
        word = rng.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
        return f"{_select(rng, depth, width=1)} {word} {_select(rng, depth, width=1)}"
    return _select(rng, depth, width=rng.randint(1, 2))


def _select(rng: random.Random, depth: int, width: int) -> str:
    sources, columns = _from(rng, depth)
    where = f" WHERE {_condition(rng, columns, depth)}" if rng.random() < 0.9 else ""
    shape = rng.random()
    if shape < 0.12 and depth == 0:
        if width == 1:
            return f"SELECT COUNT(*) FROM {sources}{where}"
        return f"SELECT {columns[0]}, COUNT(*) FROM {sources}{where} GROUP BY {columns[0]}"
    if shape < 0.2:
        shown = rng.sample(columns, min(width, len(columns)))
        shown += [shown[0]] * (width - len(shown))
        return f"SELECT {', '.join(shown)} FROM {sources}{where} GROUP BY {', '.join(dict.fromkeys(shown))}"
    shown = [rng.choice([*columns, *columns, "1"]) for _ in range(width)]
    return f"SELECT {'DISTINCT ' if rng.random() < 0.5 else ''}{', '.join(shown)} FROM {sources}{where}"


def _from(rng: random.Random, depth: int) -> tuple[str, list[str]]:
    text, columns = "", []
    for number in range(rng.randint(1, 2 if depth else 3)):
        alias = f"t{depth}{number}"
        table = rng.choice(["R", "R", "S"])
        names = [f"{alias}.a", f"{alias}.b"] if table == "R" else [f"{alias}.a"]
        source = f"{table} AS {alias}"
        if depth == 0 and rng.random() < 0.12:
            source = f"({_select(rng, 2, 1).replace(' FROM', ' AS a FROM', 1)}) AS {alias}"
            names = [f"{alias}.a"]
        if not text:
            text = source
        elif rng.random() < 0.2:
            side = rng.choice(["LEFT", "LEFT", "RIGHT", "FULL"])
            text += f" {side} JOIN {source} ON {_condition(rng, columns + names, 3)}"
        elif rng.random() < 0.5:
            text += f" JOIN {source} ON {_condition(rng, columns + names, 3)}"
        else:
            text += f", {source}" if " JOIN " not in text else f" CROSS JOIN {source}"
        columns += names
    return text, columns


def _condition(rng: random.Random, columns: list[str], depth: int) -> str:
    return " AND ".join(_test(rng, columns, depth) for _ in range(rng.randint(1, 3)))


def _test(rng: random.Random, columns: list[str], depth: int) -> str:
    left = rng.choice(columns)
    right = rng.choice([*columns, "0", "1", "0", "1"])
    kind = rng.random()
    if kind < 0.5:
        return f"{left} = {right}"
    if kind < 0.62:
        return f"{left} {rng.choice(['<>', '<', '<=', '>', '>='])} {right}"
    if kind < 0.7:
        return f"{left} IS {rng.choice(['', 'NOT '])}NULL"
    if kind < 0.74:
        return f"{left} IN (0, {right})"
    if kind < 0.82:
        return f"({_test(rng, columns, 3)} OR {_test(rng, columns, 3)})"
    if kind < 0.86:
        return f"NOT ({_test(rng, columns, 3)})"
    if kind < 0.89:
        return f"{left} IS {rng.choice(['', 'NOT '])}DISTINCT FROM {right}"
    if depth >= 2:
        return f"{left} = {right}"
    word = rng.choice(["", "", "NOT "])
    if rng.random() < 0.5:
        return f"{left} {word}IN ({_select(rng, depth + 1, 1)})"
    inner, names = _from(rng, depth + 1)
    return f"{word}EXISTS (SELECT 1 FROM {inner} WHERE {rng.choice(names)} = {left} AND {_condition(rng, names, depth + 1)})"
