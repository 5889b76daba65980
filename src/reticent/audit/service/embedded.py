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
# Beyond it not every whole number is one of floating point.
_LARGEST_FLOATING_KEY = 2**53
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
        # Inside our own table columns have names of our own: DuckDB takes names that differ in case only for the same.
        self._values = {name: f"value_{place}" for place, name in enumerate(settings.sensitive)}
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
        """Which file it is, how long, and when it was written last; also of what DuckDB or SQLite has not put into it yet."""
        try:
            found = [os.stat(self._path)]
        except OSError as error:
            raise DataError(f"The table's file {str(self._path)!r} cannot be read: {error.strerror}.") from None
        for beside in (".wal", "-wal", "-journal"):
            with suppress(OSError):
                found += [each for each in [os.stat(f"{self._path}{beside}")] if each.st_size]
        return " ".join(f"{each.st_dev}:{each.st_ino}:{each.st_size}:{each.st_mtime_ns}" for each in found)

    def rows(self) -> AskedRows:
        """All rows in the order of their numbers."""
        values = ", ".join(f"CAST({each} AS VARCHAR) AS {each}" for each in self._values.values())
        frame = self._frame("SELECT * EXCLUDE (row, key) FROM people ORDER BY row")
        texts = self._frame(f"SELECT key, {values} FROM people ORDER BY row")
        return AskedRows(
            self._state,
            texts["key"],
            frame.select(pl.col(f"public_{place}").alias(name) for place, name in enumerate(self._settings.public)),
            {name: trimmed(texts[each]) for name, each in self._values.items()},
        )

    def total(self, column: str, function: Total, chosen: NDArray[np.int64]) -> Fraction:
        """The exact total over rows. ``chosen`` is laid beside the table, so that no condition is sent."""
        value = self._values[column]
        total, count = self._chosen(f"CAST({function}({value}) AS VARCHAR), count({value})", chosen)
        check_total(count, chosen)
        return Fraction(total)

    def cut_sum(self, column: str, chosen: NDArray[np.int64], low: Fraction, high: Fraction) -> Fraction:
        """The exact sum of values cut to a range; the range is rounded inwards to what the column can hold, which cuts alike."""
        value, step = self._values[column], 10 ** self._scales[column]
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
        # Until the rows are checked there are none: a file that is put back must not find those of the one that was refused.
        self._state = ""
        self._query("DROP TABLE IF EXISTS people")
        with self._source() as (name, columns):
            types = {row[0]: row[1] for row in self._query(f"DESCRIBE SELECT * FROM {name}").fetchall()}
            self._check_columns(types, columns)
            held = {column: (quoted(inside), types[inside]) for column, inside in columns.items()}
            key = self._key(name, *held[self._settings.key])
            public = [
                f"{_public(column, *held[column])} AS public_{place}"
                for place, column in enumerate(self._settings.public)
            ]
            values = [self._value(name, column, *held[column.name]) for column in self._settings.sensitive.values()]
            listed = ", ".join([f"{key} AS key", *public, *values])
            self._query(
                f"CREATE TABLE people AS SELECT CAST(row_number() OVER (ORDER BY {held[self._settings.key][0]}) - 1 AS INTEGER) AS row, "
                f"{listed} FROM {name} ORDER BY row"
            )
        if self._file_state() != before:
            raise DataError(f"The table's file {str(self._path)!r} changed while it was read. Try again.")
        self._check_rows()
        self._state = before

    @contextmanager
    def _source(self) -> Iterator[tuple[str, dict[str, str]]]:
        """What can be selected from while the block runs, and under which name it has every column."""
        wanted = list(dict.fromkeys([self._settings.key, *self._settings.public, *self._settings.sensitive]))
        if self._path.suffix.lower() not in _DUCKDB:
            inside = {name: f"column_{place}" for place, name in enumerate(wanted)}
            self._connection.register("file", self._settings.source.read(wanted).rename(inside).to_arrow())
            try:
                yield "file", inside
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
            yield f"source.{quoted(schema or 'main')}.{quoted(name)}", {name: name for name in wanted}
        finally:
            self._query("DETACH source")

    def _check_columns(self, types: dict[str, str], columns: dict[str, str]) -> None:
        for name, inside in columns.items():
            if inside not in types:
                raise DataError(
                    f"{self._path.name} has no column {name!r}.{did_you_mean(name, types)} The columns are: {', '.join(types)}.",
                    column=name,
                )

    def _key(self, table: str, source: str, kind: str) -> str:
        """The key as a text that is the same in every type that can hold it: after a change of type nobody is somebody else."""
        name = self._settings.key
        if kind.startswith(_FIXED):
            return _shortest(source)
        if kind in _FLOATING:
            odd = f"{source} IS NOT NULL AND NOT coalesce(abs({source}) < {_LARGEST_FLOATING_KEY}, false)"
            found = self._query(f"SELECT count(*) FROM {table} WHERE {odd}").fetchall()[0][0]
            if found:
                raise DataError(
                    f"{found} values of the person key {name!r} are floating-point numbers that are not exact. Make them whole numbers or texts.",
                    column=name,
                )
            return f"CASE WHEN {source} = trunc({source}) THEN CAST(CAST({source} AS BIGINT) AS VARCHAR) ELSE CAST({source} AS VARCHAR) END"
        if not kind.startswith(_KEYS):
            raise DataError(f"The person key {name!r} has type {kind}. Make it a whole number or a text.", column=name)
        return f"CAST({source} AS VARCHAR)"

    def _value(self, table: str, column: ProtectedColumn, source: str, kind: str) -> str:
        """The exact value of a sensitive column, in 64 bits where its type says that they suffice: those are added fastest."""
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
        """Whether the decimals say the shortest text of every value, which then is its exact value."""
        rounded = f"CAST(TRY_CAST(CAST({source} AS VARCHAR) AS DECIMAL(38, {column.decimals})) AS {kind})"
        found = self._query(
            f"SELECT count(*) FROM {table} WHERE {source} IS NOT NULL AND {rounded} IS DISTINCT FROM {source}"
        )
        check_rounding(found.fetchall()[0][0], column)

    def _check_rows(self) -> None:
        self._count = self._query("SELECT count(*) FROM people").fetchall()[0][0]
        self._places = np.full(self._count, -1, dtype=np.int32)
        self._connection.register("chosen", {"place": self._places})
        check_keys(self._frame("SELECT key FROM people ORDER BY row")["key"], self._settings.key)
        for column in self._settings.sensitive.values():
            value = self._values[column.name]
            nulls, least, most = self._query(
                f"SELECT count(*) - count({value}), CAST(min({value}) AS VARCHAR), CAST(max({value}) AS VARCHAR) FROM people"
            ).fetchall()[0]
            check_nulls(nulls, column)
            largest = max(abs(Fraction(least or 0)), abs(Fraction(most or 0)))
            if largest * max(self._count, 1) * 10 ** self._scales[column.name] >= _LARGEST:
                raise DataError(
                    f"The values of column {column.name!r} are too large to be added exactly in 38 digits.",
                    column=column.name,
                )


def _public(name: str, source: str, kind: str) -> str:
    """A public column in a type that conditions can speak about."""
    if not kind.startswith(_PUBLIC) or "[" in kind:
        raise DataError(f"The public column {name!r} has type {kind}, which conditions cannot use.", column=name)
    if kind.startswith(_AS_TEXT):
        return f"CAST({source} AS VARCHAR)"
    return f"CAST({source} AS DECIMAL(38, 0))" if kind in _WIDE else source


def _shortest(source: str) -> str:
    """A fixed-point number as its shortest text: 7.50 and 7.5 are one number."""
    text = f"CAST({source} AS VARCHAR)"
    return f"CASE WHEN contains({text}, '.') THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"


def _placed(units: Fraction | int, step: int) -> str:
    """A whole number of the column's last places as a decimal text."""
    sign, size = ("-" if units < 0 else ""), abs(int(units))
    return f"{sign}{size // step}.{str(size % step).rjust(len(str(step)) - 1, '0')}" if step > 1 else f"{sign}{size}"
