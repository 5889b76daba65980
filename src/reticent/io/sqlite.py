"""Rows of a SQLite file, by Python's own sqlite3.

A column of SQLite takes values of every type, whatever was declared. So a column's type follows from its values: whole numbers, numbers, texts; a column that mixes
numbers with texts, or holds blobs, is refused by name.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from reticent.base.memory import fits
from reticent.errors import DataError, did_you_mean
from reticent.io.row_source import RowSource
from reticent.io.sql import Selection, quoted

_KINDS: dict[frozenset[str], pl.DataType] = {
    frozenset(): pl.String(),
    frozenset({"integer"}): pl.Int64(),
    frozenset({"real"}): pl.Float64(),
    frozenset({"integer", "real"}): pl.Float64(),
    frozenset({"text"}): pl.String(),
}


@dataclass(frozen=True)
class SqliteSource(RowSource):
    """A table or query of a SQLite file, read in one consistent look."""

    selection: Selection

    def columns(self) -> list[str]:
        with _opened(self.selection) as connection:
            return self.selection.check(None, _names(connection, _relation(connection, self.selection)))

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        with _opened(self.selection) as connection:
            relation = _relation(connection, self.selection)
            names = self.selection.check(columns, _names(connection, relation))
            connection.execute("BEGIN")
            kinds = {name: _kind(connection, relation, name, self.selection.name) for name in names}
            listed = ", ".join(map(quoted, names))
            rows = connection.execute(f"SELECT {listed} FROM {relation}").fetchall()
            return pl.DataFrame(rows, schema=kinds, orient="row", infer_schema_length=None)

    def fits(self, columns: int) -> bool:
        with _opened(self.selection) as connection:
            relation = _relation(connection, self.selection)
            return fits(int(connection.execute(f"SELECT count(*) FROM {relation}").fetchone()[0]), columns)


@contextmanager
def _opened(selection: Selection) -> Iterator[sqlite3.Connection]:
    """The file, for reading only."""
    place = f"file:{quote(str(Path(selection.source).resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(place, uri=True, isolation_level=None)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise DataError(f"{selection.name} cannot be read: SQLite says: {error}. Is it a SQLite file?") from None


def _relation(connection: sqlite3.Connection, selection: Selection) -> str:
    if selection.query is not None:
        return f"({selection.query.rstrip().rstrip(';')})"
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    known = sorted(name for (name,) in rows)
    name = selection.the_table(known)
    if name not in known:
        raise DataError(f"{selection.name} has no table {name!r}.{did_you_mean(name, known)}")
    return quoted(name)


def _names(connection: sqlite3.Connection, relation: str) -> list[str]:
    return [each[0] for each in connection.execute(f"SELECT * FROM {relation} LIMIT 0").description]


def _kind(connection: sqlite3.Connection, relation: str, name: str, source: str) -> Any:
    column = quoted(name)
    found = frozenset(
        kind for (kind,) in connection.execute(f"SELECT DISTINCT typeof({column}) FROM {relation}") if kind != "null"
    )
    if found not in _KINDS:
        raise DataError(
            f"{source}: column {name!r} mixes values of the types {', '.join(sorted(found))}, or holds blobs. Select it in a view with one type (CAST).",
            column=name,
        )
    if found == {"integer", "real"}:
        (odd,) = connection.execute(
            f"SELECT count(*) FROM {relation} WHERE typeof({column}) = 'integer' AND abs({column}) > 9007199254740992"
        ).fetchone()
        if odd:
            raise DataError(
                f"{source}: column {name!r} mixes fractions with {odd} whole numbers beyond 2^53, which have no exact common type. Cast it in a view.",
                column=name,
            )
    return _KINDS[found]
