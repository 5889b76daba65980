"""Where rows come from: files, frames and databases, all as one polars frame, or as a stream where they are larger than memory.

``read_frame`` takes whatever there is and gives a frame of the wanted columns; only these are kept. ``Source.open`` gives
a stream instead where the wanted columns do not fit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from reticent.data.frames import as_polars
from reticent.data.memory import fits, text_fits
from reticent.data.readers_csv import CsvFile
from reticent.data.readers_sql import (
    Selection,
    cast_declared,
    declared_stream,
    duckdb_columns,
    duckdb_rows,
    postgres_columns,
    postgres_rows,
    read_duckdb,
    read_postgres,
    stream_duckdb,
    stream_postgres,
)
from reticent.data.readers_sqlite import read_sqlite, sqlite_columns, sqlite_rows
from reticent.data.rows import StreamRows
from reticent.data.table import EngineName, Table, check_engine
from reticent.documents import check_ordinary
from reticent.errors import DataError, PolicyError, did_you_mean

_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".ipc", ".feather")
_DUCKDB = (".duckdb", ".ddb")
_SQLITE = (".sqlite", ".sqlite3", ".db")
_TEXT = (".csv", ".tsv", ".txt", ".tab", ".psv")
_POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Source:
    """Where rows come from, and what must be said about it to read them.

    ``location`` is a path, a PostgreSQL address, ``env:NAME`` (the address stands in that environment variable, so that no
    password is written down), or a frame.
    """

    location: Any
    table: str | None = None
    query: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    null_values: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.table or self.query) and not self._is_database:
            raise PolicyError(
                f"table= and query= are for databases (a .duckdb or .sqlite file, or a postgresql:// address), but the source is {self.name}.",
                setting=("table" if self.table else "query",),
            )

    @property
    def name(self) -> str:
        """How messages call it; never with a password."""
        if not isinstance(self.location, str | Path):
            return f"a {type(self.location).__name__}"
        return "the PostgreSQL database" if self.is_postgres else str(self.location)

    @property
    def address(self) -> str:
        """The location as text, looked up in the environment if it says so."""
        text = str(self.location)
        if not text.startswith("env:"):
            return text
        name = text.removeprefix("env:")
        if name not in os.environ:
            raise PolicyError(f"The source is {text!r}, but the environment variable {name} is not set.")
        return os.environ[name]

    @property
    def is_postgres(self) -> bool:
        """Whether the rows are on a PostgreSQL server."""
        return isinstance(self.location, str) and self.location.startswith((*_POSTGRES, "env:"))

    @property
    def _is_database(self) -> bool:
        return self.is_postgres or (
            isinstance(self.location, str | Path) and Path(self.location).suffix.lower() in (*_DUCKDB, *_SQLITE)
        )

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The wanted columns (all if none are named)."""
        if not isinstance(self.location, str | Path):
            return self._of(as_polars(self.location), columns)
        if self.is_postgres:
            return read_postgres(self._selection(self.address), columns, self.types)
        path = _existing(self.location)
        suffix = _suffix(path)
        if suffix in _DUCKDB:
            return cast_declared(read_duckdb(self._selection(str(path)), columns), self.types)
        if suffix in _SQLITE:
            return cast_declared(read_sqlite(self._selection(str(path)), columns), self.types)
        if suffix in (*_PARQUET, *_ARROW):
            return self._of(_scan(path, suffix), columns)
        return self._csv.read(columns)

    def open(self, columns: Sequence[str] | None = None, engine: EngineName | None = None) -> pl.DataFrame | StreamRows:
        """The wanted columns in memory or, where that was said or they do not fit, as a stream."""
        check_engine(engine)
        if engine == "local" or not isinstance(self.location, str | Path):
            return self.read(columns)
        wanted = list(dict.fromkeys(columns)) if columns is not None else self.columns()
        return self.stream(wanted) if engine == "streaming" or not self._fits(len(wanted)) else self.read(columns)

    def stream(self, columns: Sequence[str]) -> StreamRows:
        """The wanted columns, a chunk of rows at a time."""
        if not isinstance(self.location, str | Path):
            return StreamRows.of_frame(self.read(columns))
        if self.is_postgres:
            return stream_postgres(self._selection(self.address), columns, self.types)
        path = _existing(self.location)
        suffix = _suffix(path)
        if suffix in _DUCKDB:
            return stream_duckdb(self._selection(str(path)), columns, self.types)
        if suffix in _SQLITE:
            return StreamRows.of_frame(self.read(columns))
        if suffix in (*_PARQUET, *_ARROW):
            return declared_stream(StreamRows.of_lazy(self._chosen(_scan(path, suffix), columns)), self.types)
        return self._csv.stream(columns)

    def _fits(self, columns: int) -> bool:
        """Whether the rows can be worked with in memory, as far as that can be told without reading them."""
        if self.is_postgres:
            return fits(postgres_rows(self._selection(self.address)), columns)
        path = _existing(self.location)
        suffix = _suffix(path)
        if suffix in _DUCKDB:
            return fits(duckdb_rows(self._selection(str(path))), columns)
        if suffix in _SQLITE:
            return fits(sqlite_rows(self._selection(str(path))), columns)
        if suffix in (*_PARQUET, *_ARROW):
            _names(rows := _scan(path, suffix), path)
            with whole_file(path):
                return fits(int(rows.select(pl.len()).collect(engine="streaming").item()), columns)
        return text_fits(path)

    def columns(self) -> list[str]:
        """The names of all columns, without reading the rows."""
        if not isinstance(self.location, str | Path):
            return as_polars(self.location).columns
        if self.is_postgres:
            return postgres_columns(self._selection(self.address))
        path = _existing(self.location)
        suffix = _suffix(path)
        if suffix in _DUCKDB:
            return duckdb_columns(self._selection(str(path)))
        if suffix in _SQLITE:
            return sqlite_columns(self._selection(str(path)))
        if suffix in (*_PARQUET, *_ARROW):
            return _names(_scan(path, suffix), path)
        return list(self._csv.layout.names)

    def _selection(self, address: str) -> Selection:
        return Selection(address, self.table, self.query, self.name)

    @cached_property
    def _csv(self) -> CsvFile:
        path = Path(self.location)
        delimiter = self.delimiter or ("\t" if _suffix(path) in (".tsv", ".tab") else None)
        return CsvFile(path, delimiter, self.encoding, tuple(self.null_values), dict(self.types))

    def _of(self, rows: pl.DataFrame | pl.LazyFrame, columns: Sequence[str] | None) -> pl.DataFrame:
        chosen = self._chosen(rows.lazy(), columns)
        with whole_file(self.name):
            found = chosen.collect(engine="streaming")
        return cast_declared(found, self.types)

    def _chosen(self, rows: pl.LazyFrame, columns: Sequence[str] | None) -> pl.LazyFrame:
        available = _names(rows, self.name)
        for name in [*(columns or ()), *self.types]:
            if name not in available:
                raise DataError(
                    f"{self.name} has no column {name!r}.{did_you_mean(name, available)} "
                    f"The columns are: {', '.join(map(repr, available))}."
                )
        chosen = rows if columns is None else rows.select(list(dict.fromkeys(columns)))
        if not self.null_values:
            return chosen
        texts = [name for name, dtype in chosen.collect_schema().items() if dtype == pl.String]
        return chosen.with_columns(
            pl.when(~pl.col(name).is_in(list(self.null_values))).then(pl.col(name)).alias(name) for name in texts
        )


def read_frame(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    table: str | None = None,
    query: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    null_values: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Rows from a CSV, Parquet, Arrow or DuckDB file, a PostgreSQL address, or a frame of any kind, as a polars frame.

    ``types`` says what a column is where the guess would be wrong: text, integer, number, date (or ``date:%d/%m/%Y``),
    timestamp, boolean. ``null_values`` are spellings of a missing value, such as ``["?"]``.
    """
    return Source(source, table, query, delimiter, encoding, null_values, types or {}).read(columns)


def people_of(population: Any) -> pl.DataFrame:
    """A population as a frame: given as one, as a table, or as the path of a file."""
    if isinstance(population, Table):
        return population.frame
    if isinstance(population, str | Path):
        return Source(str(population)).read()
    return as_polars(population)


def _existing(location: str | Path) -> Path:
    path = Path(location)
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a file of rows.")
    if not path.exists():
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise DataError(f"There is no file {str(path)!r}.{did_you_mean(path.name, near)}")
    check_ordinary(path)
    if _suffix(path) not in (*_TEXT, *_PARQUET, *_ARROW, *_DUCKDB, *_SQLITE):
        raise DataError(
            f"{path}: cannot tell what kind of file this is. Name it .csv, .tsv, .txt (any of these also .gz), .parquet, .arrow, .duckdb or .sqlite."
        )
    return path


def _suffix(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def _scan(path: Path, suffix: str) -> pl.LazyFrame:
    return pl.scan_parquet(path) if suffix in _PARQUET else pl.scan_ipc(path)


def _names(rows: pl.LazyFrame, name: object) -> list[str]:
    with whole_file(name):
        return rows.collect_schema().names()


@contextmanager
def whole_file(name: object) -> Iterator[None]:
    """Let what polars says of a damaged file be an error that names the file."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
        first = str(error).strip().split("\n")[0].rstrip(".")
        raise DataError(f"{name} cannot be read: {first}. Is the file whole?") from None
