"""Sources of rows: files, frames and databases, all as one polars frame, or as a stream if they are larger than memory.

``read_frame`` reads any of them as a frame of the requested columns. ``Source.open`` returns a stream if the requested
columns do not fit in memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import polars as pl
from polars import selectors

from reticent.base.documents import check_ordinary
from reticent.base.expansion import check_arrow, check_parquet, check_texts, may_be_held
from reticent.base.frames import as_polars
from reticent.base.memory import cell_memory, fits
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.io.csv_files import CsvFile
from reticent.io.duckdb_files import DuckdbSource
from reticent.io.row_source import RowSource, address_of, chosen_columns
from reticent.io.sql import PostgresSource, Selection, cast_declared, declared_stream
from reticent.io.sqlite import SqliteSource
from reticent.registry import FRAMES
from reticent.table import EngineName, Rows, StreamRows, Table, TableCodebook, check_engine, opener

_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".ipc", ".feather")
_DUCKDB = (".duckdb", ".ddb")
_SQLITE = (".sqlite", ".sqlite3", ".db")
_TEXT = (".csv", ".tsv", ".txt", ".tab", ".psv", ".dat", ".data")
_SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_STATISTICS = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
_MOST_SKIPPED = 100_000
_POSTGRES = ("postgresql://", "postgres://")
_SQLITE_ADDRESS = re.compile(r"sqlite(?:\+\w+)?:///(?P<path>[^?]+)(?:\?.*)?")
_OPTIONS = {
    "table": "databases (a .duckdb or .sqlite file, or the address of a server)",
    "query": "databases (a .duckdb or .sqlite file, or the address of a server)",
    "sheet": "spreadsheets (.xlsx, .xls, .ods)",
    "labels": "files of SPSS, Stata and SAS",
    "header": "text files and spreadsheets",
    "skip_rows": "text files and spreadsheets",
    "number_names": "text files and spreadsheets",
}


@dataclass(frozen=True)
class Source:
    """A source of rows, with the options for reading it.

    ``location`` is a path, the address of a database server, ``env:NAME`` (the address is in that environment variable,
    so no password is written down), or a frame. ``table`` and ``query`` are for databases, ``delimiter`` and
    ``encoding`` for text, ``sheet`` for spreadsheets, ``labels`` (``"text"`` or ``"codes"``) for files of statistics
    packages. ``header`` is whether a text file or a sheet has column names, ``skip_rows`` the number of lines above
    them; both are detected unless given, and :meth:`codebook` lists the assumptions. ``number_names`` numbers repeated
    column names (``date``, ``date_2``), which are refused otherwise. An ``engine`` with sources of its
    own (``"spark"``) also reads folders and tables; ``spark`` is its session, or settings for one.
    """

    location: Any
    table: str | None = None
    query: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    null_values: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    sheet: str | None = None
    labels: str | None = None
    header: bool | None = None
    skip_rows: int | None = None
    number_names: bool | None = None
    engine: str | None = None
    spark: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Choose the engine of the frame's package, and refuse options that do not apply to this kind of source."""
        owner = FRAMES.get(type(self.location).__module__.partition(".")[0])
        if self.engine is None and (owner is not None or self.spark is not None):
            object.__setattr__(self, "engine", owner or "spark")
        if not isinstance(self.location, str | Path | pl.LazyFrame) and not self._distant:
            # A stream can be read only once, and columns are requested before rows.
            object.__setattr__(self, "location", as_polars(self.location))
        for option, fitting in self._allowed.items():
            if getattr(self, option) is not None and not fitting:
                raise PolicyError(
                    f"{option}= is for {_OPTIONS[option]}, but the source is {self.name}.", setting=(option,)
                )
        if self.skip_rows is not None and not 0 <= self.skip_rows <= _MOST_SKIPPED:
            raise PolicyError(
                f"skip_rows must be a number of lines from 0 to {_MOST_SKIPPED:,}, but it is {self.skip_rows}.",
                setting=("skip_rows",),
            )

    @classmethod
    def fitting(cls, location: Any, options: Mapping[str, Any]) -> Source:
        """A source with those of the ``options`` that apply to its kind: a policy's options for its own file may not apply to another."""
        plain = cls(location, engine=options.get("engine"), spark=options.get("spark"))
        allowed = plain._allowed
        return replace(plain, **{name: option for name, option in options.items() if allowed.get(name, True)})

    @property
    def reading_options(self) -> tuple[str, ...]:
        """The names of the reading options that a source of its kind has."""
        text_options = ("delimiter", "encoding") if self.is_text else ()
        return (*text_options, *(name for name, has in self._allowed.items() if has))

    @property
    def _allowed(self) -> dict[str, bool]:
        """For each option that only some sources have, whether this one has it."""
        kind = self._kind
        return {
            "table": kind == "database" or self._distant,
            "query": kind == "database" or self._distant,
            "sheet": kind == "sheet",
            "labels": kind == "statistics",
            "header": kind in ("text", "sheet") or self._distant,
            "skip_rows": kind in ("text", "sheet"),
            "number_names": kind in ("text", "sheet"),
        }

    @property
    def name(self) -> str:
        """The name used in messages; never with a password."""
        if not isinstance(self.location, str | Path):
            return f"a {type(self.location).__name__}"
        if self._is_address:
            return "the PostgreSQL database" if self.is_postgres else "the database"
        return str(self.location)

    @property
    def address(self) -> str:
        """The location as text, looked up in the environment if it is ``env:NAME``."""
        return address_of(str(self.location))

    @property
    def is_postgres(self) -> bool:
        """True if the rows are on a PostgreSQL server."""
        if not isinstance(self.location, str):
            return False
        named = self.location.removeprefix("env:")
        # An unresolved address is assumed to be PostgreSQL, as most are.
        return (
            os.environ.get(named, _POSTGRES[0]).startswith(_POSTGRES)
            if named != self.location
            else named.startswith(_POSTGRES)
        )

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The requested columns (all if none are named)."""
        frame = self._rows.read(columns)
        return frame if isinstance(self._rows, CsvFile) else self._with_declarations(frame, columns)

    def open(self, columns: Sequence[str] | None = None, engine: EngineName | None = None) -> pl.DataFrame | Rows:
        """The requested columns in memory or, on request or if they do not fit, as a stream; sources with their own engine are opened in place."""
        check_engine(engine)
        if self._distant:
            rows: Rows = self._rows.rows(columns)
            return rows
        if engine == "local" or not isinstance(self.location, str | Path):
            return self.read(columns)
        names = list(dict.fromkeys(columns)) if columns is not None else self.columns()
        return self.stream(names) if engine == "streaming" or not self._rows.fits(len(names)) else self.read(columns)

    def stream(self, columns: Sequence[str]) -> StreamRows:
        """The requested columns in chunks of rows."""
        stream = self._rows.stream(columns)
        if isinstance(self._rows, CsvFile):
            return stream
        if self.null_values:
            stream = stream.mapped(stream.schema, self._without_nulls)
        return declared_stream(stream, self.types)

    def columns(self) -> list[str]:
        """The names of all columns, without reading rows if possible."""
        return self._rows.columns()

    @property
    def is_text(self) -> bool:
        """True if the rows are in a text file, without types."""
        return self._kind == "text"

    def found(self) -> Mapping[str, Any]:
        """Reading options that were detected, as in ``[data]`` of a policy: ``header``, ``skip_rows``."""
        return self._rows.found()

    def layout_found(self) -> Mapping[str, Any]:
        """The layout, given or detected: for a text file ``encoding``, ``delimiter``, ``header`` and ``skip_rows``."""
        return self._rows.layout_found()

    def codebook(self, columns: Sequence[str] | None = None) -> TableCodebook:
        """The metadata of columns: titles, labels, codes for missing values."""
        return self._rows.codebook(columns)

    @property
    def _distant(self) -> bool:
        return self.engine in FRAMES.values()

    @property
    def _is_address(self) -> bool:
        return isinstance(self.location, str) and ("://" in self.location or self.location.startswith("env:"))

    @property
    def _kind(self) -> str:
        """Return what the location is: a frame, database, text, sheet, statistics or another file."""
        if not isinstance(self.location, str | Path):
            return "frame"
        suffix = _suffix(Path(self.location))
        if self._is_address or suffix in (*_DUCKDB, *_SQLITE):
            return "database"
        kinds = {"text": _TEXT, "sheet": _SHEETS, "statistics": _STATISTICS}
        return next((kind for kind, endings in kinds.items() if suffix in endings), "file")

    @cached_property
    def _rows(self) -> RowSource:
        """The reader of the rows, by kind of location."""
        if self._distant:
            types = ("table", "query", "delimiter", "encoding", "null_values", "types", "header")
            reading = {name: getattr(self, name) for name in types}
            return cast(RowSource, opener(str(self.engine)).source(self.location, self.spark, reading))
        if not isinstance(self.location, str | Path):
            return _LazyRows(self.location.lazy, self.name)
        if self._is_address:
            return self._served(self.address)
        path = _existing(self.location)
        suffix = _suffix(path)
        if suffix in _DUCKDB:
            return DuckdbSource(self._selection(str(path)))
        if suffix in _SQLITE:
            return SqliteSource(self._selection(str(path)))
        if suffix in _SHEETS:
            from reticent.io.sheets import Workbook

            return Workbook(
                path, self.sheet, header=self.header, skip_rows=self.skip_rows, number_names=self.number_names
            )
        if suffix in _STATISTICS:
            from reticent.io.statistics_files import StatisticsFile

            return StatisticsFile(path, self.encoding, cast(Any, self.labels or "text"))
        if suffix in (*_PARQUET, *_ARROW):
            return _LazyRows(partial(_parquet if suffix in _PARQUET else _arrow, path), self.name, path)
        delimiter = self.delimiter or ("\t" if suffix in (".tsv", ".tab") else None)
        return CsvFile(
            path,
            delimiter,
            encoding=self.encoding,
            null_values=tuple(self.null_values),
            types=dict(self.types),
            header=self.header,
            skip_rows=self.skip_rows,
            number_names=self.number_names,
        )

    def _served(self, address: str) -> RowSource:
        """Return the source of rows for the address of a database."""
        if address.startswith(_POSTGRES):
            return PostgresSource(self._selection(address))
        from reticent.io.databases import DatabaseSource

        in_a_file = _SQLITE_ADDRESS.fullmatch(address)
        if in_a_file is not None and self.query is None:
            # SQLAlchemy has no limits: it would execute the views of a file.
            SqliteSource(self._selection(in_a_file["path"])).check()
        return DatabaseSource(self._selection(address))

    def _selection(self, address: str) -> Selection:
        return Selection(address, self.table, self.query, self.name)

    def _with_declarations(self, rows: pl.DataFrame, columns: Sequence[str] | None) -> pl.DataFrame:
        """The rows with the declared missing-value spellings and types applied."""
        if self.types:
            chosen_columns(list(self.types), rows.columns if columns is None else self.columns(), self.name)
        return cast_declared(self._without_nulls(rows), self.types)

    def _without_nulls(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with null for the texts that are declared as missing."""
        if not self.null_values:
            return rows
        # Column by column: polars takes some names for patterns.
        spelled = list(self.null_values)
        texts = (pl.String, pl.Categorical, pl.Enum)
        return pl.DataFrame([_without(column, spelled) if column.dtype in texts else column for column in rows])


def _without(column: pl.Series, spelled: list[str]) -> pl.Series:
    """Return texts or categories with null for those that are ``spelled`` as missing."""
    fixed_name = column.alias("text")
    missing = fixed_name.cast(pl.String).is_in(spelled).fill_null(False)
    if not missing.any():
        return column
    kept = pl.when(~missing).then(pl.col("text"))
    return fixed_name.to_frame().select(kept.alias("text")).to_series().alias(column.name)


@dataclass(frozen=True, eq=False)
class _LazyRows(RowSource):
    """Rows of a frame, or of a Parquet or Arrow file. A file is scanned anew each time: a cached scan would keep the footer of a replaced file."""

    scan: Callable[[], pl.LazyFrame]
    name: str
    path: Path | None = None

    def columns(self) -> list[str]:
        with whole_file(self.name):
            return self.scan().collect_schema().names()

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        chosen = self._chosen(columns)
        with whole_file(self.name):
            return self._bounded(chosen.collect(engine="streaming"))

    def stream(self, columns: Sequence[str]) -> StreamRows:
        stream = StreamRows.of_lazy(self._chosen(columns))
        return stream.mapped(stream.schema, self._bounded)

    def _bounded(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame if self.path is None else check_texts(frame, self.path.stat().st_size, self.name)

    def _chosen(self, columns: Sequence[str] | None) -> pl.LazyFrame:
        """Some columns by literal name: polars takes "*" and "^a.*$" for patterns."""
        names = chosen_columns(columns, self.columns(), self.name)
        return self.scan().select(selectors.by_name(name) for name in names)

    def fits(self, columns: int) -> bool:
        """Return whether so many columns of all rows may be loaded into memory."""
        self.columns()
        with whole_file(self.name):
            rows = int(self.scan().select(pl.len()).collect(engine="streaming").item())
        if self.path is None:
            return fits(rows, columns)
        return may_be_held(cell_memory(rows, columns), self.path.stat().st_size)


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
    sheet: str | None = None,
    labels: str | None = None,
    header: bool | None = None,
    skip_rows: int | None = None,
    number_names: bool | None = None,
) -> pl.DataFrame:
    """Rows from a file, a database, or a frame of any kind, as a polars frame.

    ``types`` overrides the inferred type of a column: text, integer, number, date (or ``date:%d/%m/%Y``),
    timestamp, boolean. ``null_values`` are spellings of a missing value, such as ``["?"]``. The other options are those of :class:`Source`.
    """
    declarations = null_values, types or {}, sheet, labels, header, skip_rows, number_names
    return Source(source, table, query, delimiter, encoding, *declarations).read(columns)


def people_of(population: Any) -> pl.DataFrame:
    """A population as a frame, from a frame, a table, or the path of a file."""
    if isinstance(population, Table):
        return population.frame
    if isinstance(population, str | Path):
        return Source(str(population)).read()
    return as_polars(population)


def _existing(location: str | Path) -> Path:
    """Return the path of a file of rows. Raises if it does not exist, is not an ordinary file, or has a suffix of another kind."""
    path = Path(location)
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a file of rows.")
    if not path.exists():
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise DataError(f"There is no file {str(path)!r}.{did_you_mean(path.name, near)}")
    check_ordinary(path)
    if path.name.lower().endswith(".gz") and _suffix(path) not in _TEXT:
        raise DataError(f"{path}: only text files are read packed. Unpack it first: gunzip {path.name}")
    if _suffix(path) not in (*_TEXT, *_PARQUET, *_ARROW, *_DUCKDB, *_SQLITE, *_SHEETS, *_STATISTICS):
        raise DataError(
            f"{path}: cannot tell what kind of file this is. Name it .csv, .tsv, .txt (any of these also .gz), .parquet, .arrow, .duckdb, .sqlite, .xlsx, "
            ".sav, .dta, .sas7bdat or .xpt."
        )
    return path


def _parquet(path: Path) -> pl.LazyFrame:
    check_parquet(path, str(path))
    return pl.scan_parquet(path)


def _arrow(path: Path) -> pl.LazyFrame:
    check_arrow(path, str(path))
    return pl.scan_ipc(path)


def _suffix(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


@contextmanager
def whole_file(name: object) -> Iterator[None]:
    """Convert what polars raises for a damaged file to an error that names the file."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
        first = str(error).strip().split("\n")[0].rstrip(".")
        raise DataError(f"{name} cannot be read: {first}. Is the file complete?") from None
