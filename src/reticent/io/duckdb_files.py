"""Rows of a DuckDB file, opened read-only.

A table declares its number of rows, and the length of its texts is checked before they are unpacked. A view declares
nothing: it is a program by the file's author, and may yield any number of rows. So views and generated columns are not
executed unless the user's own query names them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from reticent.base.arrow_streams import frames_of, whole_frame
from reticent.base.expansion import most_expanded
from reticent.base.memory import budget, rows_at_once
from reticent.errors import DataError, did_you_mean, first_line
from reticent.io.row_source import RowSource
from reticent.io.sql import Selection, plain_stream, plain_types, quoted
from reticent.table import Chunks, StreamRows

# Floats would lose digits of these, so they are transferred as text.
_WIDE_INTEGERS = ("HUGEINT", "UHUGEINT", "UBIGINT", "DECIMAL")
_SEGMENTS = "select column_name, count, stats from pragma_storage_info(?) where segment_type <> 'VALIDITY'"
# The number of values that DuckDB unpacks together, and the memory for it.
_AT_ONCE, _WORKING = 2048, 1 << 28


@dataclass(frozen=True)
class DuckdbSource(RowSource):
    """A table or query of a DuckDB file. DuckDB does the projection, so other columns are never loaded."""

    selection: Selection

    def columns(self) -> list[str]:
        with _opened(self.selection) as connection:
            return list(_relation(connection, self.selection).columns)

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the requested columns. Raises if they exceed the memory for a file of its size."""
        with _opened(self.selection) as connection:
            relation = _relation(connection, self.selection)
            chosen, wide = _projection(self.selection, relation, columns)
            _check_size(connection, self.selection, relation.columns if columns is None else columns)
            projected = relation.project(chosen)
            if self.selection.query is None:
                return plain_types(whole_frame(projected), wide)
            return plain_types(pl.concat(_counted(self.selection, projected)), wide)

    def stream(self, columns: Sequence[str]) -> StreamRows:
        """Return the requested columns as a stream; every pass opens the file again."""
        selection = self.selection
        with _opened(selection) as connection:
            relation = _relation(connection, selection)
            chosen, wide = _projection(selection, relation, columns)
            _check_size(connection, selection, columns)
            schema = whole_frame(relation.project(chosen).limit(0)).schema

        def make(chosen_columns: Sequence[str]) -> Chunks:
            """Yield the chunks of some columns; opens the file again."""
            with _opened(selection) as connection:
                relation = _relation(connection, selection)
                projected = relation.project(_projection(selection, relation, chosen_columns)[0])
                yield from frames_of(projected, rows_at_once(len(chosen_columns)))

        return plain_stream(StreamRows(schema, make), wide)

    def fits(self, columns: int) -> bool:
        with _opened(self.selection) as connection:
            counted = _relation(connection, self.selection).aggregate("count(*)").fetchall()
        return self.selection.may_hold(int(counted[0][0]), columns)


@contextlib.contextmanager
def _opened(selection: Selection) -> Iterator[Any]:
    """Open a DuckDB file read-only, with a memory limit. Raises :class:`DataError` for what DuckDB cannot read."""
    import duckdb

    try:
        with duckdb.connect(selection.source, read_only=True) as connection:
            # Not a setting of connect: all connections to a file must use the same there.
            connection.execute(f"set memory_limit = '{max(budget(), _WORKING)}B'")
            yield connection
    except (duckdb.Error, pl.exceptions.ComputeError) as error:
        raise DataError(f"{selection.name}: DuckDB says: {first_line(error).rstrip('.')}.") from None


def _projection(selection: Selection, relation: Any, columns: Sequence[str] | None) -> tuple[str, list[str]]:
    """The select list, and the columns of long numbers, which are transferred as text."""
    names = selection.check(columns, relation.columns)
    types = _types(relation)
    wide = [name for name in names if types[name].startswith(_WIDE_INTEGERS)]
    chosen = (f"{quoted(name)}::varchar as {quoted(name)}" if name in wide else quoted(name) for name in names)
    return ", ".join(chosen), wide


def _types(relation: Any) -> dict[str, str]:
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


def _relation(connection: Any, selection: Selection) -> Any:
    return connection.sql(selection.query or f"select * from {_place(connection, selection)}")


def _place(connection: Any, selection: Selection) -> str:
    """Return the selected table as a quoted SQL name. Raises for a view, or a table with computed columns."""
    stored = dict(connection.sql("select table_name, sql from duckdb_tables() where not internal").fetchall())
    views = [name for (name,) in connection.sql("select view_name from duckdb_views() where not internal").fetchall()]
    name = selection.the_table(list(stored) or views)
    parts = [name] if name in stored else name.split(".")
    if parts[-1] in stored:
        if "GENERATED ALWAYS AS" in (stored[parts[-1]] or ""):
            raise selection.is_program(name, "a table with generated columns")
        return ".".join(map(quoted, parts))
    if parts[-1] in views:
        raise selection.is_program(name, "a view")
    raise DataError(f"{selection.name} has no table {name!r}.{did_you_mean(name, list(stored))}")


def _check_size(connection: Any, selection: Selection, columns: Sequence[str]) -> None:
    """Raise for a table whose segments declare more values, or more text, than the file may expand to. Reads no values."""
    if selection.query is not None:
        return
    segments = [
        (name, count, stats.get("max_string_length", 0), stats.get("total_string_length"))
        for name, count, stats in connection.execute(_SEGMENTS, [_place(connection, selection)]).fetchall()
        if name in columns
    ]
    text = sum(count * longest if total is None else total for _, count, longest, total in segments)
    untold = sorted({name for name, *_, longest, total in segments if longest and total is None})
    at_once = max((longest * min(count, _AT_ONCE) for _, count, longest, _ in segments), default=0)
    if untold and at_once <= max(_WORKING, most_expanded(selection.packed)):
        # Files of DuckDB 1 declare only the longest text; if that allows too much, all lengths are measured.
        lengths = ", ".join(f"coalesce(sum(strlen({quoted(name)}::varchar)), 0)" for name in untold)
        (measured,) = connection.sql(f"select {lengths} from {_place(connection, selection)}").fetchall()
        text = sum(measured) + sum(total or 0 for *_, total in segments)
    selection.check_size(sum(count for _, count, *_ in segments), text)


def _counted(selection: Selection, projected: Any) -> Iterator[pl.DataFrame]:
    """The result of a query in chunks, within the memory limit."""
    total = 0
    yield whole_frame(projected.limit(0))
    for frame in frames_of(projected, _AT_ONCE):
        total += int(frame.estimated_size())
        selection.check_answer(total)
        yield frame
