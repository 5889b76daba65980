"""A file as the audited table, in a DuckDB of our own in memory. A file that changed is loaded again at the next look."""

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
    Rows,
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
from reticent.audit.service.settings import SensitiveColumn, Settings
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
_WIDE = ("HUGEINT", "UHUGEINT")
_WIDER = ("UBIGINT", *_WIDE)
# Sums are made in DECIMAL(38): the sum of all sizes must leave room.
_LARGEST = 10**37


class EmbeddedDatabase:
    """A file of people. Mutable because it holds a connection and what was loaded; one thread uses it at a time."""

    def __init__(self, settings: Settings) -> None:
        import duckdb

        self._settings = settings
        self._path = Path(settings.source.location)
        self._connection: Any = duckdb.connect(":memory:")
        self._error = duckdb.Error
        self._state = ""
        self._count = 0
        self._scales: dict[str, int] = {}
        self._places = np.empty(0, dtype=np.int32)
        self.statements: deque[str] = deque(maxlen=KEPT_STATEMENTS)

    @contextmanager
    def look(self) -> Iterator[EmbeddedDatabase]:
        """The rows as the file has them now. While they are looked at, they are in memory and nobody changes them."""
        if self._file_state() != self._state:
            self._load()
        yield self

    def close(self) -> None:
        """Let go of the rows."""
        self._connection.close()

    def state(self) -> str:
        """Which state of the file was loaded."""
        return self._state

    def _file_state(self) -> str:
        """Which file it is, how long, and when it was written last; also of what DuckDB has not put into it yet."""
        try:
            found = [os.stat(self._path)]
        except OSError as error:
            raise DataError(f"The table's file {str(self._path)!r} cannot be read: {error.strerror}.") from None
        with suppress(OSError):
            found.append(os.stat(f"{self._path}.wal"))
        return " ".join(f"{each.st_dev}:{each.st_ino}:{each.st_size}:{each.st_mtime_ns}" for each in found)

    def rows(self) -> Rows:
        """All rows in the order of their numbers."""
        public = ", ".join(map(quoted, self._settings.public)) or "1 AS nothing"
        values = ", ".join(
            f"CAST({quoted(_value(name))} AS VARCHAR) AS {quoted(name)}" for name in self._settings.sensitive
        )
        frame = self._frame(f"SELECT {public} FROM people ORDER BY row")
        texts = self._frame(f"SELECT key, {values} FROM people ORDER BY row")
        return Rows(
            self._state,
            texts["key"],
            frame.select(self._settings.public),
            {name: trimmed(texts[name]) for name in self._settings.sensitive},
        )

    def total(self, column: str, function: Total, chosen: NDArray[np.int64]) -> Fraction:
        """The exact total over rows. ``chosen`` is laid beside the table, so that no condition is sent."""
        value = quoted(_value(column))
        total, count = self._chosen(f"CAST({function}({value}) AS VARCHAR), count({value})", chosen)
        check_total(count, chosen)
        return Fraction(total)

    def cut_sum(self, column: str, chosen: NDArray[np.int64], low: Fraction, high: Fraction) -> Fraction:
        """The exact sum of values cut to a range; the range is rounded inwards to what the column can hold, which cuts alike."""
        value, step = quoted(_value(column)), 10 ** self._scales[column]
        first, last = -(-low * step // 1), high * step // 1
        parameters = {"low": _placed(first, step), "high": _placed(last, step)}
        lowest, highest = (f"CAST(${name} AS DECIMAL(38, {self._scales[column]}))" for name in ("low", "high"))
        within = f"FILTER (WHERE {value} BETWEEN {lowest} AND {highest})"
        parts = self._chosen(
            f"CAST(sum({value}) {within} AS VARCHAR), count(*) {within}, count(*) FILTER (WHERE {value} < {lowest}), "
            f"count(*) FILTER (WHERE {value} > {highest})",
            chosen,
            parameters,
        )
        return total_of_parts(parts, chosen, low, high)

    def _chosen(self, listed: str, chosen: NDArray[np.int64], parameters: dict[str, str] | None = None) -> Any:
        """Aggregates over chosen rows. The array laid beside the table stays registered, which saves more than it costs to refill."""
        statement = f"SELECT sum(row), {listed} FROM people POSITIONAL JOIN chosen WHERE place = row"
        self._places[chosen] = chosen
        try:
            numbers, *found = self._query(statement, parameters).fetchall()[0]
        finally:
            self._places[chosen] = -1
        if numbers != int(chosen.sum()):
            raise DataError("DuckDB added up other rows than those that were decided on. Nothing was answered.")
        return found

    def _query(self, statement: str, parameters: Any = None) -> Any:
        self.statements.append(statement)
        try:
            return (
                self._connection.execute(statement, parameters) if parameters else self._connection.execute(statement)
            )
        except self._error as error:
            raise DataError(f"The table cannot be read: DuckDB says: {first_line(error)}") from None

    def _frame(self, statement: str) -> pl.DataFrame:
        self.statements.append(statement)
        frame: pl.DataFrame = self._connection.sql(statement).pl()
        return frame

    def _load(self) -> None:
        """Read the file into a table of row numbers, keys as text, public columns and exact values."""
        before = self._file_state()
        self._query("DROP TABLE IF EXISTS people")
        with self._source() as name:
            types = {row[0]: row[1] for row in self._query(f"DESCRIBE SELECT * FROM {name}").fetchall()}
            self._check_columns(types)
            public = [self._public(column, types[column]) for column in self._settings.public]
            values = [self._value(column, types[column.name]) for column in self._settings.sensitive.values()]
            for column in self._settings.sensitive.values():
                self._check_floats(name, column, types[column.name])
            key = quoted(self._settings.key)
            listed = ", ".join([f"CAST({key} AS VARCHAR) AS key", *public, *values])
            self._query(
                f"CREATE TABLE people AS SELECT CAST(row_number() OVER (ORDER BY {key}) - 1 AS INTEGER) AS row, {listed} FROM {name} ORDER BY row"
            )
        if self._file_state() != before:
            raise DataError(f"The table's file {str(self._path)!r} changed while it was read. Try again.")
        self._check_rows()
        self._state = before

    @contextmanager
    def _source(self) -> Iterator[str]:
        """The name under which the file can be selected from, while the block runs."""
        if self._path.suffix.lower() not in _DUCKDB:
            wanted = dict.fromkeys([self._settings.key, *self._settings.public, *self._settings.sensitive])
            frame = self._settings.source.read(list(wanted))
            self._connection.register("file", frame.to_arrow())
            try:
                yield "file"
            finally:
                self._connection.unregister("file")
            return
        path = str(self._path).replace("'", "''")
        self._query(f"ATTACH '{path}' AS source (READ_ONLY)")
        try:
            known = [
                row[0]
                for row in self._query(
                    "SELECT table_name FROM information_schema.tables WHERE table_catalog = 'source'"
                ).fetchall()
            ]
            table = self._settings.source.table or (known[0] if len(known) == 1 else "")
            if table.rpartition(".")[2] not in known:
                raise DataError(
                    f"{self._path.name} has no table {table!r}.{did_you_mean(table, known)} It has: {', '.join(known)}."
                )
            schema, _, name = table.rpartition(".")
            yield f"source.{quoted(schema or 'main')}.{quoted(name)}"
        finally:
            self._query("DETACH source")

    def _check_columns(self, types: dict[str, str]) -> None:
        for name in (self._settings.key, *self._settings.public, *self._settings.sensitive):
            if name not in types:
                raise DataError(
                    f"{self._path.name} has no column {name!r}.{did_you_mean(name, types)} The columns are: {', '.join(types)}."
                )

    def _public(self, name: str, kind: str) -> str:
        if not kind.startswith(_PUBLIC) or "[" in kind:
            raise DataError(f"The public column {name!r} has type {kind}, which conditions cannot speak about.")
        if kind.startswith(_AS_TEXT):
            return f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}"
        if kind in _WIDE:
            return f"CAST({quoted(name)} AS DECIMAL(38, 0)) AS {quoted(name)}"
        return quoted(name)

    def _value(self, column: SensitiveColumn, kind: str) -> str:
        """The exact value of a sensitive column, in 64 bits where its type says that they suffice: those are added fastest."""
        source, exact, scale = quoted(column.name), "BIGINT", 0
        if kind == "BOOLEAN":
            source = f"CAST({source} AS TINYINT)"
        elif kind in ("FLOAT", "DOUBLE"):
            if column.decimals is None:
                raise DataError(floating(column))
            exact, scale = f"DECIMAL(38, {column.decimals})", column.decimals
        elif kind.startswith("DECIMAL"):
            digits, scale = map(int, kind.removeprefix("DECIMAL(").rstrip(")").split(","))
            exact = kind if digits <= 18 else f"DECIMAL(38, {scale})"
        elif kind in _WIDER:
            exact = "DECIMAL(38, 0)"
        elif kind not in _WHOLE:
            raise DataError(
                f"The sensitive column {column.name!r} has type {kind}. Only numbers can be added and compared."
            )
        self._scales[column.name] = scale
        return f"CAST({source} AS {exact}) AS {quoted(_value(column.name))}"

    def _check_floats(self, name: str, column: SensitiveColumn, kind: str) -> None:
        if kind not in ("FLOAT", "DOUBLE"):
            return
        source = quoted(column.name)
        rounded = f"CAST(TRY_CAST({source} AS DECIMAL(38, {column.decimals})) AS {kind})"
        found = self._query(
            f"SELECT count(*) FROM {name} WHERE {source} IS NOT NULL AND {rounded} IS DISTINCT FROM {source}"
        )
        check_rounding(found.fetchall()[0][0], column)

    def _check_rows(self) -> None:
        self._count = self._query("SELECT count(*) FROM people").fetchall()[0][0]
        self._places = np.full(self._count, -1, dtype=np.int32)
        self._connection.register("chosen", {"place": self._places})
        check_keys(self._frame("SELECT key FROM people ORDER BY row")["key"], self._settings.key)
        for column in self._settings.sensitive.values():
            value = quoted(_value(column.name))
            nulls, least, most = self._query(
                f"SELECT count(*) - count({value}), CAST(min({value}) AS VARCHAR), CAST(max({value}) AS VARCHAR) FROM people"
            ).fetchall()[0]
            check_nulls(nulls, column)
            largest = max(abs(Fraction(least or 0)), abs(Fraction(most or 0)))
            if largest * max(self._count, 1) * 10 ** self._scales[column.name] >= _LARGEST:
                raise DataError(f"The values of column {column.name!r} are too large to be added exactly in 38 digits.")


def _value(name: str) -> str:
    """The name of a sensitive column inside our own table, where a public one may have any other."""
    return f"value of {name}"


def _placed(units: Fraction | int, step: int) -> str:
    """A whole number of the column's last places as a decimal text."""
    sign, size = ("-" if units < 0 else ""), abs(int(units))
    return f"{sign}{size // step}.{str(size % step).rjust(len(str(step)) - 1, '0')}" if step > 1 else f"{sign}{size}"
