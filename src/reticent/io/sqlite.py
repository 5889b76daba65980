"""Rows of a SQLite file, by Python's sqlite3.

A column of SQLite takes values of every type, whatever was declared. So a column's type follows from its values:
integers, floats, texts; a column that mixes numbers with texts, or holds blobs, is rejected by name. Views, virtual
tables and generated columns compute their rows when read, so their size is unknown before: they are not executed unless
the user's own query names them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import polars as pl

from reticent.base.expansion import most_expanded
from reticent.errors import DataError, did_you_mean
from reticent.io.row_source import RowSource
from reticent.io.sql import Selection, quoted
from reticent.table import Chunks, StreamRows

_BATCH, _COLUMNS_AT_ONCE = 50_000, 500
# SQLite's virtual-machine steps for reading a table: some twenty per value, which takes a byte or more.
_STEPS, _STEPS_A_BYTE, _STEPS_AT_ONCE = 10_000_000, 100, 10_000
_LONGEST = 1_000_000_000
_COMPUTED = 2

_KINDS: dict[frozenset[str], pl.DataType] = {
    frozenset(): pl.String(),
    frozenset({"integer"}): pl.Int64(),
    frozenset({"real"}): pl.Float64(),
    frozenset({"integer", "real"}): pl.Float64(),
    frozenset({"text"}): pl.String(),
}


@dataclass(frozen=True)
class SqliteSource(RowSource):
    """A table or query of a SQLite file, read in one consistent transaction."""

    selection: Selection

    def columns(self) -> list[str]:
        with _opened(self.selection) as connection:
            return self.selection.check(None, _names(connection, _relation(connection, self.selection)))

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        with _opened(self.selection) as connection:
            relation, kinds = self._measured(connection, columns)
            return pl.concat([pl.DataFrame(schema=kinds), *self._batches(connection, relation, kinds)])

    def stream(self, columns: Sequence[str]) -> StreamRows:
        """Return the requested columns as a stream; their types are determined in a first pass."""
        with _opened(self.selection) as connection:
            _, kinds = self._measured(connection, columns)

        def make(chosen_columns: Sequence[str]) -> Chunks:
            """Yield the chunks of some columns; opens the file again."""
            with _opened(self.selection) as connection:
                relation = _relation(connection, self.selection)
                yield from self._batches(connection, relation, {name: kinds[name] for name in chosen_columns})

        return StreamRows(pl.Schema(kinds), make)

    def check(self) -> None:
        """Raise for a view, and for a table that takes more memory than its file allows, before another reader opens it."""
        with _opened(self.selection) as connection:
            self._bounded(connection, None)

    def fits(self, columns: int) -> bool:
        """Return whether so many columns of all rows may be loaded into memory."""
        with _opened(self.selection) as connection:
            relation = _relation(connection, self.selection)
            # Not count(*), which SQLite does in one step, however many pages a file declares.
            (rows,) = connection.execute(f"SELECT total(1) FROM {relation}").fetchone()
            return self.selection.may_hold(int(rows), columns)

    def _measured(
        self, connection: sqlite3.Connection, columns: Sequence[str] | None
    ) -> tuple[str, dict[str, pl.DataType]]:
        """The table or query to read from, and the types of its columns, in the transaction that :meth:`_bounded` begins."""
        relation, types = self._bounded(connection, columns)
        return relation, {
            name: _kind(connection, relation, name, kinds, self.selection) for name, kinds in types.items()
        }

    def _bounded(
        self, connection: sqlite3.Connection, columns: Sequence[str] | None
    ) -> tuple[str, dict[str, frozenset[str]]]:
        """The table or query to read from, and SQLite's types of its columns' values.

        Begins the transaction in which the rows are then read, so they are the ones measured here. Raises
        :class:`DataError` if rows and texts take more memory than allowed for the size of the file.
        """
        relation = _relation(connection, self.selection)
        names = self.selection.check(columns, _names(connection, relation))
        self._check_stored(connection, names)
        connection.execute("BEGIN")
        rows, text, types = 0.0, 0.0, {}
        for start in range(0, len(names), _COLUMNS_AT_ONCE):
            chosen = names[start : start + _COLUMNS_AT_ONCE]
            listed = ", ".join(
                f"group_concat(DISTINCT typeof({quoted(name)})), total(length({quoted(name)}))" for name in chosen
            )
            rows, *measured = connection.execute(f"SELECT total(1), {listed} FROM {relation}").fetchone()
            text += sum(measured[1::2])
            for name, type_list in zip(chosen, measured[::2], strict=True):
                types[name] = frozenset((type_list or "").split(",")) - {"", "null"}
        if self.selection.query is None:
            self.selection.check_size(int(rows) * len(names), int(text))
        else:
            self.selection.check_answer(int(8 * rows * len(names) + text))
        return relation, types

    def _check_stored(self, connection: sqlite3.Connection, names: Sequence[str]) -> None:
        """Raise if a requested column is computed: a file must not run expressions."""
        if self.selection.query is None:
            table = self.selection.the_table(_tables(connection, stored=True))
            computed = {
                name
                for _, name, *_, hidden in connection.execute(f"PRAGMA table_xinfo({quoted(table)})")
                if hidden == _COMPUTED
            }
            if computed & set(names):
                raise self.selection.is_program(table, "a table with generated columns")

    def _batches(self, connection: sqlite3.Connection, relation: str, kinds: Mapping[str, pl.DataType]) -> Chunks:
        """Yield the rows of the columns ``kinds`` in batches."""
        listed = ", ".join(map(quoted, kinds))
        rows = connection.execute(f"SELECT {listed} FROM {relation}")
        while batch := rows.fetchmany(_BATCH):
            yield pl.DataFrame(batch, schema=dict(kinds), orient="row", infer_schema_length=None)


@contextmanager
def _opened(selection: Selection) -> Iterator[sqlite3.Connection]:
    """The file, read-only. Corrupt pages may claim an endless value or table: values have a maximum size, and reading has
    a step limit by file size.
    """
    address = f"file:{quote(str(Path(selection.source).resolve()))}?mode=ro"
    steps = iter(range((_STEPS + _STEPS_A_BYTE * selection.packed) // _STEPS_AT_ONCE))
    try:
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(most_expanded(selection.packed), _LONGEST))
            if selection.query is None:
                connection.set_progress_handler(lambda: next(steps, None) is None, _STEPS_AT_ONCE)
            yield connection
    except sqlite3.Error as error:
        if next(steps, None) is None:
            raise DataError(
                f"{selection.name}: its table has more rows than a file of {selection.packed:,} bytes can. It was not read. Is the file complete?"
            ) from None
        raise DataError(f"{selection.name} cannot be read: SQLite says: {error}. Is it a SQLite file?") from None


def _relation(connection: sqlite3.Connection, selection: Selection) -> str:
    """Return what is selected from: the query in parentheses, or the quoted table. Raises for a view, and for a table that does not exist."""
    if selection.query is not None:
        return f"({selection.query.rstrip().rstrip(';')})"
    tables, computed = _tables(connection, stored=True), _tables(connection, stored=False)
    name = selection.the_table(tables or computed)
    if name in computed:
        raise selection.is_program(name, "a view")
    if name not in tables:
        raise DataError(f"{selection.name} has no table {name!r}.{did_you_mean(name, tables)}")
    return quoted(name)


def _tables(connection: sqlite3.Connection, *, stored: bool) -> list[str]:
    """The tables whose rows are stored in the file, or the views and virtual tables, which compute them."""
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND (type = 'table' AND rootpage > 0) = ? "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
        (stored,),
    )
    return [name for (name,) in rows]


def _names(connection: sqlite3.Connection, relation: str) -> list[str]:
    return [column[0] for column in connection.execute(f"SELECT * FROM {relation} LIMIT 0").description]


def _kind(
    connection: sqlite3.Connection, relation: str, name: str, storage_types: frozenset[str], selection: Selection
) -> pl.DataType:
    """Return the polars type of a column whose values have these SQLite types. Raises for a mixture without an exact common type."""
    column = quoted(name)
    if storage_types not in _KINDS:
        raise DataError(
            f"{selection.name}: column {name!r} mixes values of the types {', '.join(sorted(storage_types))}, or holds blobs. Select it with one type (CAST) in a query.",
            column=name,
        )
    if storage_types == {"integer", "real"}:
        (inexact,) = connection.execute(
            f"SELECT count(*) FROM {relation} WHERE typeof({column}) = 'integer' AND abs({column}) > 9007199254740992"
        ).fetchone()
        if inexact:
            raise DataError(
                f"{selection.name}: column {name!r} mixes fractions with {inexact} whole numbers beyond 2^53, which have no exact common type. Cast it in a query.",
                column=name,
            )
    return _KINDS[storage_types]
