"""Selections from databases, tables and queries of a PostgreSQL server, and type inference from texts. Servers are opened read-only."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from reticent.base.expansion import check_declared_size, may_be_held
from reticent.base.extras import needed
from reticent.base.memory import budget, cell_memory, fits
from reticent.errors import DataError, PolicyError, did_you_mean, first_line
from reticent.io.row_source import RowSource, chosen_columns
from reticent.io.text_types import TEXT, TextKind, declared_kind
from reticent.table import Chunks, StreamRows

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

_BATCH = 50_000
_NUMERIC = 1700


@dataclass(frozen=True)
class Selection:
    """What to select from a database: a table, or the result of a query."""

    source: str
    table: str | None = None
    query: str | None = None
    name: str = "the database"

    def __post_init__(self) -> None:
        if self.table is not None and self.query is not None:
            raise PolicyError(f"{self.name}: pass a table or a query, not both.")

    def check(self, wanted: Sequence[str] | None, available: Sequence[str]) -> list[str]:
        """The requested columns. Raises for a missing one."""
        for number, name in enumerate(available):
            if name in available[:number]:
                raise DataError(f"{self.name}: two columns are called {name!r}. Rename one of them in the query.")
        return chosen_columns(wanted, available, self.name)

    def the_table(self, known: Sequence[str]) -> str:
        """The named table, or the only one there is."""
        if self.table is None and len(known) == 1:
            return known[0]
        if self.table is None:
            listed = ", ".join(map(repr, known[:20])) or "none"
            raise PolicyError(f"{self.name}: choose one with table=, or pass query=. The tables are: {listed}.")
        return self.table

    @property
    def packed(self) -> int:
        """The size of a database file in bytes, including its write-ahead log."""
        files = (Path(f"{self.source}{ending}") for ending in ("", "-wal", ".wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def may_hold(self, rows: int, columns: int) -> bool:
        """True if that many rows of a database file may be loaded into memory."""
        memory = cell_memory(rows, columns)
        return memory <= budget() if self.query is not None else may_be_held(memory, self.packed)

    def check_size(self, values: int, text: int) -> None:
        """Raise for a table with more values, or more text, than its database file may expand to."""
        check_declared_size(self.packed, values, 8 * values + text, self.name)

    def check_answer(self, size: int) -> None:
        """Raise for a query result that exceeds the memory."""
        if size > budget():
            raise DataError(
                f"{self.name}: the answer to the query takes more than {budget():,} bytes of memory. It was not read. Select fewer rows or columns, or set RETICENT_MEMORY to what it may take."
            )

    def is_program(self, table: str, kind: str) -> DataError:
        """The error for a table or view that computes its rows when read, so its size is unknown before."""
        return DataError(
            f"{self.name}: {table!r} is {kind}, which computes its rows when they are read, so their number is not known before. It was not read. If the file is yours, "
            f"pass query={f'select * from {quoted(table)}'!r} in Python (query = under [data] in a policy), or store its rows in a table."
        )


@dataclass(frozen=True)
class PostgresSource(RowSource):
    """Rows of a PostgreSQL table or query, fetched in batches by a server-side cursor."""

    selection: Selection

    def columns(self) -> list[str]:
        with _connect(self.selection) as connection:
            return _postgres_columns(connection, _postgres_statement(connection, self.selection))

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the requested columns, or all."""
        with _connect(self.selection) as connection:
            statement = _postgres_statement(connection, self.selection)
            names = self.selection.check(columns, _postgres_columns(connection, statement))
            return fetch_postgres(connection, _projected(statement, names), names)

    def stream(self, columns: Sequence[str]) -> StreamRows:
        """Stream the rows; one snapshot transaction returns the same rows in every pass, regardless of concurrent writes."""
        with contextlib.ExitStack() as opened:
            connection = opened.enter_context(_connect(self.selection, snapshot=True))
            statement = _postgres_statement(connection, self.selection)
            names = self.selection.check(columns, _postgres_columns(connection, statement))
            codes = _postgres_types(connection, _projected(statement, names))
            snapshot = opened.pop_all()

        def make(chosen: Sequence[str]) -> Chunks:
            with _told():
                yield from _batches(connection, _projected(statement, chosen), chosen)

        # The rows, in any form, keep a reference to this function.
        weakref.finalize(make, snapshot.close)
        stream = StreamRows(_postgres_schema(codes), make)
        return plain_stream(stream, [name for name, code in codes.items() if code == _NUMERIC])

    def fits(self, columns: int) -> bool:
        """Return whether so many columns of all rows may be loaded into memory."""
        from psycopg import sql

        with _connect(self.selection) as connection:
            statement = _postgres_statement(connection, self.selection)
            count = connection.execute(sql.SQL("select count(*) from {}").format(statement)).fetchone()
        return fits(int(count[0]) if count else 0, columns)


def fetch_postgres(connection: psycopg.Connection[Any], statement: sql.Composed, names: Sequence[str]) -> pl.DataFrame:
    """The rows of a statement on an open connection, within its transaction; ``names`` are the statement's columns."""
    frames, wide = _fetch(connection, statement, names)
    return plain_types(pl.concat(frames), wide)


@contextlib.contextmanager
def _connect(selection: Selection, snapshot: bool = False) -> Iterator[psycopg.Connection[Any]]:
    """A read-only connection; with ``snapshot`` it is isolated from concurrent writes."""
    psycopg = needed("psycopg", "postgres", "Reading from PostgreSQL")
    with _told(), psycopg.connect(selection.source) as connection:
        connection.read_only = True
        if snapshot:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        yield connection


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Convert database errors to messages without the address, which may contain a password."""
    import psycopg

    try:
        yield
    except psycopg.OperationalError as error:
        raise DataError(f"PostgreSQL cannot be reached: {first_line(error).rstrip('.')}.") from None
    except psycopg.Error as error:
        raise DataError(f"PostgreSQL says: {first_line(error).rstrip('.')}.") from None


def _postgres_statement(connection: psycopg.Connection[Any], selection: Selection) -> sql.Composed:
    """Return what is selected from, as SQL: the query in parentheses, or the quoted table. Raises for a table that does not exist."""
    from psycopg import sql

    if selection.query is not None:
        # The query is the steward's own text, and the connection is read-only.
        return sql.SQL("({}) as chosen").format(sql.SQL(selection.query.strip().rstrip(";")))
    rows = connection.execute(
        "select table_schema, table_name from information_schema.tables "
        "where table_schema not in ('pg_catalog', 'information_schema') order by 1, 2"
    ).fetchall()
    tables = [name if schema == "public" else f"{schema}.{name}" for schema, name in rows]
    name = selection.the_table(tables)
    if name not in tables and name.removeprefix("public.") not in tables:
        raise DataError(f"The database has no table {name!r}.{did_you_mean(name, tables)}")
    return sql.SQL("{}").format(sql.Identifier(*name.split(".", 1)))


def _postgres_columns(connection: psycopg.Connection[Any], statement: sql.Composed) -> list[str]:
    """Return the names of the columns of a query or table."""
    from psycopg import sql

    cursor = connection.execute(sql.SQL("select * from {} limit 0").format(statement))
    return [column.name for column in cursor.description or ()]


def _projected(statement: sql.Composed, names: Sequence[str]) -> sql.Composed:
    """Return a statement that selects these columns of a query or table."""
    from psycopg import sql

    listed = sql.SQL(", ").join(sql.Identifier(name) for name in names)
    return sql.SQL("select {} from {}").format(listed, statement)


def _fetch(
    connection: psycopg.Connection[Any], statement: sql.Composed, names: Sequence[str]
) -> tuple[list[pl.DataFrame], list[str]]:
    """The rows in batches, and the columns of fixed-point numbers, which are transferred as text."""
    codes = _postgres_types(connection, statement)
    frames = [pl.DataFrame(schema=_postgres_schema(codes)), *_batches(connection, statement, names)]
    return frames, [name for name, code in codes.items() if code == _NUMERIC]


def _batches(connection: psycopg.Connection[Any], statement: sql.Composed, names: Sequence[str]) -> Chunks:
    """The rows, fetched by a server-side cursor."""
    with connection.cursor(name="reticent") as cursor:
        cursor.execute(statement)
        schema = _postgres_schema({column.name: column.type_code for column in cursor.description or ()})
        while rows := cursor.fetchmany(_BATCH):
            columns = zip(names, zip(*rows, strict=True), strict=True)
            yield pl.DataFrame([_column(name, values, schema[name]) for name, values in columns])


def _postgres_types(connection: psycopg.Connection[Any], statement: sql.Composed) -> dict[str, int]:
    """Return the type code (OID) of each column of a query."""
    from psycopg import sql

    cursor = connection.execute(sql.SQL("select * from ({}) as chosen limit 0").format(statement))
    return {column.name: column.type_code for column in cursor.description or ()}


def _postgres_schema(codes: Mapping[str, int]) -> pl.Schema:
    return pl.Schema({name: _POSTGRES_TYPES.get(code, pl.String) for name, code in codes.items()})


def _column(name: str, values: Sequence[Any], dtype: Any) -> pl.Series:
    if dtype == pl.String:
        return pl.Series(name, [None if value is None else _text(value) for value in values], dtype=dtype)
    return pl.Series(name, values, dtype=dtype)


def _text(value: Any) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


# PostgreSQL's type OIDs; other types are read as text.
_POSTGRES_TYPES: dict[int, Any] = {
    16: pl.Boolean,
    20: pl.Int64,
    21: pl.Int64,
    23: pl.Int64,
    700: pl.Float64,
    701: pl.Float64,
    1082: pl.Date,
    1114: pl.Datetime("us"),
    1184: pl.Datetime("us", "UTC"),
}


def plain_types(frame: pl.DataFrame, wide: Sequence[str]) -> pl.DataFrame:
    """Numbers received as text: 64-bit integers if all fit, text if an integer is too long, otherwise floats."""
    return frame.with_columns(number_from_text(frame[name]) for name in wide)


def number_from_text(text: pl.Series) -> pl.Series:
    """Numbers received as text, in the type that keeps every digit of integers."""
    return _as_number(text, _number_type([text]))


def plain_stream(stream: StreamRows, wide: Sequence[str]) -> StreamRows:
    """Return a stream with numbers that were received as text (``wide``) as numbers, of the types that :func:`plain_types` chooses; these need a pass over all rows."""
    if not wide:
        return stream
    types = {name: _number_type(chunk[name] for chunk in stream.chunks([name])) for name in wide}

    def make(columns: Sequence[str]) -> Chunks:
        """Yield the chunks of some columns, with the ``wide`` ones as numbers."""
        chosen = [name for name in wide if name in columns]
        return (
            chunk.with_columns(_as_number(chunk[name], types[name]) for name in chosen)
            for chunk in stream.chunks(columns)
        )

    return StreamRows(pl.Schema({**stream.schema, **types}), make)


def _number_type(texts: Iterable[pl.Series]) -> pl.DataType:
    """The type that keeps every digit of integers, or a float if some are fractional."""
    integers, fractions = True, False
    for text in texts:
        integral_text = text.str.replace(r"\.0+$", "")
        integers &= integral_text.cast(pl.Int64, strict=False).null_count() == text.null_count()
        fractions |= bool(integral_text.str.contains(r"[^\d-]").drop_nulls().any())
    return pl.Int64() if integers else pl.Float64() if fractions else pl.String()


def _as_number(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    return text if dtype == pl.String else (text.str.replace(r"\.0+$", "") if dtype == pl.Int64 else text).cast(dtype)


def cast_declared(frame: pl.DataFrame, types: Mapping[str, str], first_row: int = 0) -> pl.DataFrame:
    """The frame with some columns converted to their declared types."""
    casts = {name: declared_kind(name, declaration) for name, declaration in types.items() if name in frame.columns}
    return frame.with_columns(_as_kind(frame, name, kind, first_row) for name, kind in casts.items())


def declared_stream(stream: StreamRows, types: Mapping[str, str]) -> StreamRows:
    """Return a stream with some columns converted to their declared types, chunk by chunk."""
    if not types:
        return stream

    def make(columns: Sequence[str]) -> Chunks:
        """Yield the chunks of some columns, converted."""
        first = 0
        for chunk in stream.chunks(columns):
            yield cast_declared(chunk, types, first)
            first += chunk.height

    return StreamRows(cast_declared(pl.DataFrame(schema=stream.schema), types).schema, make)


def _as_kind(frame: pl.DataFrame, name: str, kind: TextKind, first_row: int) -> pl.Series:
    """Return a column converted to a kind. Raises for the first value that cannot be; rows are numbered from ``first_row``."""
    values = frame[name].fill_nan(None) if frame[name].dtype.is_float() else frame[name]
    text = values.cast(pl.String)
    if values.dtype.is_float():
        # Codes stored as 1.0 are written 1.
        is_integral = (values == values.floor()) & (values.abs() < 2.0**53)
        codes = values.cast(pl.Int64, strict=False).cast(pl.String)
        text = pl.select(pl.when(is_integral).then(codes).otherwise(text)).to_series().alias(name)
    if kind == TEXT:
        return text
    # Under a fixed name: polars takes some names for patterns.
    read = text.to_frame("text").select(kind.read(pl.col("text"))).to_series().alias(name)
    if read.null_count() > text.null_count():
        row = (read.is_null() & text.is_not_null()).arg_max() or 0
        raise DataError(f"Column {name!r}, row {first_row + row + 1}: {text[row]!r} cannot be read as {kind}.")
    return read


def quoted(name: str) -> str:
    """A quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
