"""A file as the audited table, in a private in-memory DuckDB. A changed file is reloaded at the next snapshot."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.audit.service.database import (
    KEPT_STATEMENTS,
    AskedRows,
    Total,
    check_keys,
    check_nulls,
    check_rounding,
    check_total,
    first_line,
    floating,
    quoted,
    total_of_parts,
    trimmed,
)
from reticent.audit.service.settings import ProtectedColumn, Settings
from reticent.base.arrow_streams import ArrowStream, whole_frame
from reticent.errors import DataError, did_you_mean

_DUCKDB = (".duckdb", ".ddb")
_WHOLE = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
)
_PUBLIC = (*_WHOLE, "DECIMAL", "FLOAT", "DOUBLE", "VARCHAR", "ENUM", "UUID", "BOOLEAN", "DATE", "TIMESTAMP")
_AS_TEXT = ("ENUM", "UUID")
_FLOATING = ("FLOAT", "DOUBLE")
_FIXED = "DECIMAL"
_KEYS = (*_WHOLE, "VARCHAR", *_AS_TEXT, "DATE")
# Beyond this, not every integer is a floating-point number.
_LARGEST_FLOATING_KEY = 2**53
_WIDE = ("HUGEINT", "UHUGEINT")
_WIDER = ("UBIGINT", *_WIDE)
# Sums are computed in DECIMAL(38): the sum of all absolute values must fit.
_LARGEST = 10**37


class EmbeddedDatabase:
    """A file of people. Mutable: holds a connection and the loaded rows; for one thread at a time."""

    def __init__(self, settings: Settings) -> None:
        """Prepare an in-memory copy of the table; the file is read when a snapshot is opened first, and again whenever
        it changed.
        """
        import duckdb

        self._settings = settings
        self._path = Path(settings.source.location)
        self._connection: Any = duckdb.connect(":memory:")
        self._error = duckdb.Error
        self._state = ""
        self._count = 0
        self._scales: dict[str, int] = {}
        # Inside our table, columns have generated names: DuckDB identifies names that differ only in case.
        self._values = {name: f"value_{number}" for number, name in enumerate(settings.sensitive)}
        self._places = np.empty(0, dtype=np.int32)
        self.statements: deque[str] = deque(maxlen=KEPT_STATEMENTS)

    @contextmanager
    def look(self) -> Iterator[EmbeddedDatabase]:
        """Open a snapshot of the rows as the file has them now. The rows are in memory and do not change meanwhile."""
        if self._file_state() != self._state:
            self._load()
        yield self

    def close(self) -> None:
        """Discard the rows."""
        self._connection.close()

    def state(self) -> str:
        """Return the loaded state of the file."""
        return self._state

    def _file_state(self) -> str:
        """Return the identity, size and modification time of the file, and of the write-ahead files of DuckDB or SQLite."""
        try:
            stats = [os.stat(self._path)]
        except OSError as error:
            raise DataError(f"The table's file {str(self._path)!r} cannot be read: {error.strerror}.") from None
        for suffix in (".wal", "-wal", "-journal"):
            with suppress(OSError):
                stats += [stat for stat in [os.stat(f"{self._path}{suffix}")] if stat.st_size]
        return " ".join(f"{stat.st_dev}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}" for stat in stats)

    def rows(self) -> AskedRows:
        """Return all rows in the order of their numbers."""
        values = ", ".join(
            f"CAST({value_column} AS VARCHAR) AS {value_column}" for value_column in self._values.values()
        )
        frame = self._frame("SELECT * EXCLUDE (row, key) FROM people ORDER BY row")
        texts = self._frame(f"SELECT key, {values} FROM people ORDER BY row")
        return AskedRows(
            self._state,
            texts["key"],
            frame.select(pl.col(f"public_{index}").alias(name) for index, name in enumerate(self._settings.public)),
            {name: trimmed(texts[value_column]) for name, value_column in self._values.items()},
        )

    def total(self, column: str, function: Total, chosen: NDArray[np.int64]) -> Fraction:
        """Return the exact total over rows. ``chosen`` is joined by position, so that no condition is sent."""
        value = self._values[column]
        total, count = self._chosen(f"CAST({function}({value}) AS VARCHAR), count({value})", chosen)
        check_total(count, chosen)
        return Fraction(total)

    def cut_sum(self, column: str, chosen: NDArray[np.int64], low: Fraction, high: Fraction) -> Fraction:
        """Return the exact sum of values clamped to a range; the range is rounded inwards to the column's precision, which clamps alike."""
        value, step = self._values[column], 10 ** self._scales[column]
        first, last = -(-low * step // 1), high * step // 1
        parameters = {"low": _placed(first, step), "high": _placed(last, step)}
        lowest, highest = (f"CAST(${name} AS DECIMAL(38, {self._scales[column]}))" for name in ("low", "high"))
        within = f"FILTER (WHERE {value} BETWEEN {lowest} AND {highest})"
        aggregates = self._chosen(
            f"CAST(sum({value}) {within} AS VARCHAR), count(*) {within}, count(*) FILTER (WHERE {value} < {lowest}), "
            f"count(*) FILTER (WHERE {value} > {highest})",
            chosen,
            parameters,
        )
        return total_of_parts(aggregates, chosen, low, high)

    def _chosen(self, aggregates: str, chosen: NDArray[np.int64], parameters: dict[str, str] | None = None) -> Any:
        """Return aggregates over selected rows. The joined array stays registered, because refilling it is cheaper than registering again."""
        statement = f"SELECT sum(row), {aggregates} FROM people POSITIONAL JOIN chosen WHERE place = row"
        self._places[chosen] = chosen
        try:
            numbers, *totals = self._query(statement, parameters).fetchall()[0]
        finally:
            self._places[chosen] = -1
        if numbers != int(chosen.sum()):
            raise DataError("DuckDB aggregated other rows than those that were decided on. Nothing was answered.")
        return totals

    def _query(self, statement: str, parameters: Any = None) -> Any:
        """Execute a statement, and record it. Raises :class:`DataError` with the message of DuckDB."""
        self.statements.append(statement)
        try:
            return (
                self._connection.execute(statement, parameters) if parameters else self._connection.execute(statement)
            )
        except self._error as error:
            raise DataError(f"The table cannot be read: DuckDB says: {first_line(error)}") from None

    def _frame(self, statement: str) -> pl.DataFrame:
        self.statements.append(statement)
        return whole_frame(self._connection.sql(statement))

    def _load(self) -> None:
        """Read the file into a table of row numbers, keys as text, public columns and exact values."""
        state = self._file_state()
        # Unchecked rows must not be used: after a refused file, a restored one must not find its rows.
        self._state = ""
        self._query("DROP TABLE IF EXISTS people")
        with self._source() as (name, columns):
            types = {row[0]: row[1] for row in self._query(f"DESCRIBE SELECT * FROM {name}").fetchall()}
            self._check_columns(types, columns)
            source_columns = {column: (quoted(inside), types[inside]) for column, inside in columns.items()}
            key = self._key(name, *source_columns[self._settings.key])
            public = [
                f"{_public(column, *source_columns[column])} AS public_{index}"
                for index, column in enumerate(self._settings.public)
            ]
            values = [
                self._value(name, column, *source_columns[column.name]) for column in self._settings.sensitive.values()
            ]
            column_list = ", ".join([f"{key} AS key", *public, *values])
            self._query(
                f"CREATE TABLE people AS SELECT CAST(row_number() OVER (ORDER BY {source_columns[self._settings.key][0]}) - 1 AS INTEGER) AS row, "
                f"{column_list} FROM {name} ORDER BY row"
            )
        if self._file_state() != state:
            raise DataError(f"The table's file {str(self._path)!r} changed while it was read. Try again.")
        self._check_rows()
        self._state = state

    @contextmanager
    def _source(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the name of a relation with the rows of the file, selectable while the block runs, and the name of
        every column in it.
        """
        names = list(dict.fromkeys([self._settings.key, *self._settings.public, *self._settings.sensitive]))
        if self._path.suffix.lower() not in _DUCKDB:
            renamed = {name: f"column_{index}" for index, name in enumerate(names)}
            self._connection.register("file", ArrowStream(self._settings.source.read(names).rename(renamed)))
            try:
                yield "file", renamed
            finally:
                self._connection.unregister("file")
            return
        path = str(self._path).replace("'", "''")
        self._query(f"ATTACH '{path}' AS source (READ_ONLY)")
        try:
            tables = [
                row[0]
                for row in self._query(
                    "SELECT table_name FROM information_schema.tables WHERE table_catalog = 'source'"
                ).fetchall()
            ]
            table = self._settings.source.table or (tables[0] if len(tables) == 1 else "")
            if table.rpartition(".")[2] not in tables:
                raise DataError(
                    f"{self._path.name} has no table {table!r}.{did_you_mean(table, tables)} It has: {', '.join(tables)}."
                )
            schema, _, name = table.rpartition(".")
            yield f"source.{quoted(schema or 'main')}.{quoted(name)}", {name: name for name in names}
        finally:
            self._query("DETACH source")

    def _check_columns(self, types: dict[str, str], columns: dict[str, str]) -> None:
        """Raise for a column that the file does not have."""
        for name, inside in columns.items():
            if inside not in types:
                raise DataError(
                    f"{self._path.name} has no column {name!r}.{did_you_mean(name, types)} The columns are: {', '.join(types)}.",
                    column=name,
                )

    def _key(self, table: str, source: str, kind: str) -> str:
        """Return the key as a text that is independent of its type: a change of type must not change a person's identity."""
        name = self._settings.key
        if kind.startswith(_FIXED):
            return _shortest(source)
        if kind in _FLOATING:
            is_inexact = f"{source} IS NOT NULL AND NOT coalesce(abs({source}) < {_LARGEST_FLOATING_KEY}, false)"
            inexact_count = self._query(f"SELECT count(*) FROM {table} WHERE {is_inexact}").fetchall()[0][0]
            if inexact_count:
                raise DataError(
                    f"{inexact_count} values of the person key {name!r} are floating-point numbers that are not exact. Convert them to whole numbers or text.",
                    column=name,
                )
            return f"CASE WHEN {source} = trunc({source}) THEN CAST(CAST({source} AS BIGINT) AS VARCHAR) ELSE CAST({source} AS VARCHAR) END"
        if not kind.startswith(_KEYS):
            raise DataError(
                f"The person key {name!r} has type {kind}. Convert it to a whole number or text.", column=name
            )
        return f"CAST({source} AS VARCHAR)"

    def _value(self, table: str, column: ProtectedColumn, source: str, kind: str) -> str:
        """Return the exact value of a sensitive column, in 64 bits if its type allows: those are summed fastest."""
        exact, scale = "BIGINT", 0
        if kind == "BOOLEAN":
            source = f"CAST({source} AS TINYINT)"
        elif kind in _FLOATING:
            if column.decimals is None:
                raise floating(column)
            exact, scale = f"DECIMAL(38, {column.decimals})", column.decimals
            self._check_floats(table, column, source, kind)
            source = f"CAST({source} AS VARCHAR)"
        elif kind.startswith(_FIXED):
            digits, scale = map(int, kind.removeprefix("DECIMAL(").rstrip(")").split(","))
            exact = kind if digits <= 18 else f"DECIMAL(38, {scale})"
        elif kind in _WIDER:
            exact = "DECIMAL(38, 0)"
        elif kind not in _WHOLE:
            raise DataError(
                f"The sensitive column {column.name!r} has type {kind}. Only numbers can be added and compared.",
                column=column.name,
            )
        self._scales[column.name] = scale
        return f"CAST({source} AS {exact}) AS {self._values[column.name]}"

    def _check_floats(self, table: str, column: ProtectedColumn, source: str, kind: str) -> None:
        """Refuse values whose shortest decimal text does not have the declared decimals; otherwise that text is the exact value."""
        rounded = f"CAST(TRY_CAST(CAST({source} AS VARCHAR) AS DECIMAL(38, {column.decimals})) AS {kind})"
        changed_count = self._query(
            f"SELECT count(*) FROM {table} WHERE {source} IS NOT NULL AND {rounded} IS DISTINCT FROM {source}"
        )
        check_rounding(changed_count.fetchall()[0][0], column)

    def _check_rows(self) -> None:
        """Check keys, missing values and the size of sums over all rows."""
        self._count = self._query("SELECT count(*) FROM people").fetchall()[0][0]
        self._places = np.full(self._count, -1, dtype=np.int32)
        self._connection.register("chosen", {"place": self._places})
        check_keys(self._frame("SELECT key FROM people ORDER BY row")["key"], self._settings.key)
        for column in self._settings.sensitive.values():
            value = self._values[column.name]
            nulls, lowest, highest = self._query(
                f"SELECT count(*) - count({value}), CAST(min({value}) AS VARCHAR), CAST(max({value}) AS VARCHAR) FROM people"
            ).fetchall()[0]
            check_nulls(nulls, column)
            largest = max(abs(Fraction(lowest or 0)), abs(Fraction(highest or 0)))
            if largest * max(self._count, 1) * 10 ** self._scales[column.name] >= _LARGEST:
                raise DataError(
                    f"The values of column {column.name!r} are too large to be added exactly in 38 digits.",
                    column=column.name,
                )


def _public(name: str, source: str, kind: str) -> str:
    """Return a public column in a type that conditions support."""
    if not kind.startswith(_PUBLIC) or "[" in kind:
        raise DataError(f"The public column {name!r} has type {kind}, which conditions cannot use.", column=name)
    if kind.startswith(_AS_TEXT):
        return f"CAST({source} AS VARCHAR)"
    return f"CAST({source} AS DECIMAL(38, 0))" if kind in _WIDE else source


def _shortest(source: str) -> str:
    """Return a fixed-point number as its shortest text: 7.50 and 7.5 are the same number."""
    text = f"CAST({source} AS VARCHAR)"
    return f"CASE WHEN contains({text}, '.') THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"


def _placed(units: Fraction | int, step: int) -> str:
    """Return an integer in units of the column's last decimal place as a decimal text."""
    sign, size = ("-" if units < 0 else ""), abs(int(units))
    return f"{sign}{size // step}.{str(size % step).rjust(len(str(step)) - 1, '0')}" if step > 1 else f"{sign}{size}"
