"""What Spark reads: files and folders, tables of a catalogue, queries, databases by JDBC, and existing frames."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from reticent.base.frames import as_polars
from reticent.engine.spark.session import session_from
from reticent.engine.spark.spark_jobs import performed, told
from reticent.engine.spark.spark_rows import SparkRows
from reticent.errors import DataError, PolicyError
from reticent.io import MISSING_WORDS, RowSource, address_of, chosen_columns, declared_kind
from reticent.table import StreamRows, TableCodebook

_KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".avro": "avro",
}
_DELTA = "_delta_log"
_GLOB = re.compile(r"[*?\[{]")
_CASTS = {"text": "string", "integer": "long", "number": "double", "boolean": "boolean"}
# Spark reads a quoted empty text as null, unless it has another marker.
_EMPTY = "\x02empty\x02"
# Candidate types of a text column, tried in this order; codes with leading zeros stay text.
_SHAPES = {
    "boolean": r"^(?i:true|false)$",
    "long": r"^-?(?:0|[1-9]\d{0,17})$",
    "double": r"^-?(?:(?:0|[1-9]\d{0,14})?\.\d+|(?:0|[1-9]\d{0,14})\.?)(?:[eE][-+]?\d+)?$",
    "date": r"^\d{4}-\d{2}-\d{2}$",
}


def as_frame(source: Any) -> DataFrame:
    """A Spark frame: the given one, or one made from the rows of another frame."""
    if isinstance(source, DataFrame):
        return source
    if isinstance(source, str | Path):
        raise PolicyError(f"Table takes rows. Read {str(source)!r} with rt.read(..., engine='spark').")
    rows = as_polars(source)
    session = session_from(None)
    supported = rows.with_columns(
        pl.col(pl.Categorical, pl.Enum).cast(pl.String), pl.col(pl.UInt64).cast(pl.Decimal(20))
    )
    return performed(session, None, "take the rows", lambda: session.createDataFrame(supported.to_arrow()))


@dataclass(frozen=True, eq=False)
class SparkSource(RowSource):
    """Rows that Spark finds at a ``location``: a path (also of a folder, with a pattern, or on another file system), a
    table of the catalogue, or ``jdbc:...``.

    A ``query`` runs on the catalogue or, if the location is ``jdbc:...``, on that database. Text is read as in other
    engines: with commas unless ``delimiter`` is given, with column names in the first line unless ``header`` is false,
    and a column is a number, a day or a boolean if every value is one.
    """

    location: Any
    session: SparkSession
    table: str | None = None
    query: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    null_values: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    header: bool | None = None

    @property
    def name(self) -> str:
        """The name used in messages; never with a password."""
        text = str(self.location)
        return "the database" if text.startswith(("jdbc:", "env:")) else text

    def columns(self) -> list[str]:
        return list(self.frame.columns)

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        raise PolicyError(
            "A source that Spark reads is not loaded as a whole. Omit engine='spark' to read it into memory."
        )

    def stream(self, columns: Sequence[str]) -> StreamRows:
        raise PolicyError("A source that Spark reads is not streamed. Omit engine='spark' to stream it.")

    def rows(self, columns: Sequence[str] | None) -> SparkRows:
        """Some columns (default: all), in place."""
        chosen = chosen_columns(columns, self.columns(), self.name)
        return SparkRows.of(self._typed(chosen), chosen)

    def codebook(self, columns: Sequence[str] | None = None) -> TableCodebook:
        return TableCodebook()

    @cached_property
    def frame(self) -> DataFrame:
        """The source as a lazy frame."""
        if isinstance(self.location, DataFrame):
            return self.location
        if not isinstance(self.location, str | Path):
            return as_frame(self.location)
        with told(f"open {self.name}"):
            return self._opened(address_of(str(self.location)))

    def _opened(self, location: str) -> DataFrame:
        """Return the Spark frame of a location: a JDBC address, a table or query of the catalogue, or files."""
        reader = self.session.read
        if location.startswith("jdbc:"):
            options = {"query": self.query} if self.query is not None else {"dbtable": self.table}
            if self.query is None and self.table is None:
                raise PolicyError("Name what to read from the database: table= or query=.", setting=("table",))
            return reader.format("jdbc").option("url", location).options(**options).load()
        if self.query is not None or self.table is not None:
            return self._listed(self.table) if self.table is not None else self.session.sql(str(self.query))
        kind = self._kind(location)
        if kind is None:
            return self._listed(location)
        # Relative to this process, not to the driver's JVM.
        absolute = location if "://" in location else str(Path(location).absolute())
        return self._text(absolute) if kind == "csv" else reader.format(kind).load(absolute)

    def _kind(self, location: str) -> str | None:
        """The file format, by suffix or, for a folder, by its content; None if it is not a file."""
        path, suffix = Path(location), Path(location.rstrip("/").removesuffix(".gz")).suffix.lower()
        if path.is_dir():
            if (path / _DELTA).is_dir():
                return "delta"
            inside = {Path(file.name.removesuffix(".gz")).suffix.lower() for file in path.rglob("*") if file.is_file()}
            kinds = {_KINDS[file_suffix] for file_suffix in inside if file_suffix in _KINDS}
            if len(kinds) == 1:
                return kinds.pop()
            raise DataError(
                f"{location}: the folder has {'no files' if not kinds else 'several kinds of files'} that Spark reads ({', '.join(sorted(set(_KINDS.values())))})."
            )
        if suffix in _KINDS and (path.exists() or "://" in location or _GLOB.search(location)):
            return _KINDS[suffix]
        if path.exists() or suffix in _KINDS:
            where = "cannot tell what kind of file this is" if path.exists() else "there is no such file"
            raise DataError(
                f"{location}: {where}. Spark reads folders and files of {', '.join(sorted(set(_KINDS.values())))}."
            )
        return None if "://" not in location else "parquet"

    def _listed(self, location: str) -> DataFrame:
        if not self.session.catalog.tableExists(location):
            raise DataError(f"There is no file and no table {location!r} that this Spark session knows.")
        return self.session.table(location)

    def _text(self, location: str) -> DataFrame:
        """Return the Spark frame of text files, with all columns as text."""
        delimiter = self.delimiter or ("\t" if Path(location.removesuffix(".gz")).suffix == ".tsv" else ",")
        has_names = self.header is not False
        options = {
            "header": str(has_names).lower(),
            "sep": delimiter,
            "escape": '"',
            "encoding": self.encoding or "UTF-8",
        }
        frame = self.session.read.options(**options, emptyValue=_EMPTY, mode="FAILFAST").csv(location)
        names = frame.columns if has_names else [f"column_{number}" for number in range(1, len(frame.columns) + 1)]
        return frame.select(*(self._known(was).alias(name) for was, name in zip(frame.columns, names, strict=True)))

    def _known(self, name: str) -> Column:
        """A text column: an empty field is null, a quoted one is the empty text, and some spellings are null."""
        text = F.when(_named(name) == _EMPTY, F.lit("")).otherwise(_named(name))
        return F.when(~text.isin(list(self.null_values)), text) if self.null_values else text

    def _typed(self, columns: Sequence[str]) -> DataFrame:
        """The columns with their declared types and, in text, those that every value fits."""
        frame = self.frame
        chosen_columns(list(self.types), frame.columns, self.name)
        casts = {name: _cast_of(name, kind) for name, kind in self.types.items() if name in columns}
        if self._is_text:
            casts = {**_narrowest_types(self.session, frame, [name for name in columns if name not in casts]), **casts}
        return frame.select(*(_read_as(name, casts.get(name)) for name in columns))

    @property
    def _is_text(self) -> bool:
        is_location = isinstance(self.location, str | Path) and self.query is None and self.table is None
        location = address_of(str(self.location)) if is_location else ""
        return is_location and not location.startswith("jdbc:") and self._kind(location) == "csv"


def _named(name: str) -> Column:
    """A column by its name, whatever characters that has."""
    return F.col(f"`{name.replace('`', '``')}`")


def _present(name: str) -> Column:
    """A text column without the spellings of missing values."""
    text = F.trim(_named(name).cast("string"))
    return F.when(~text.isin(list(MISSING_WORDS)), text)


def _read_as(name: str, kind: str | None) -> Column:
    return _named(name) if kind in (None, "string") else _present(name).cast(kind).alias(name)


def _cast_of(name: str, said: str) -> str:
    """Return the Spark type to which a column of text is cast by its declared type ``said``."""
    kind = declared_kind(name, said)
    if kind.format is None and kind.name in ("date", "timestamp"):
        return "date" if kind.name == "date" else "timestamp_ntz"
    if kind.name not in _CASTS or kind.format is not None:
        raise PolicyError(
            f"types: column {name!r} is declared as {said!r}, which the engine 'spark' does not read from text. Convert it in a view first.",
            setting=("types", name),
            column=name,
            value=said,
        )
    return _CASTS[kind.name]


def _narrowest_types(session: SparkSession, frame: DataFrame, columns: Sequence[str]) -> dict[str, str]:
    """For each text column the narrowest type that every value fits, in one pass."""
    tests = [F.bool_and(_present(name).rlike(shape)) for name in columns for shape in _SHAPES.values()]
    if not tests:
        return {}
    row = performed(session, None, "infer the types of columns", frame.agg(*tests).collect)[0]
    kinds = len(_SHAPES)
    # A column without values fits no type in particular, and is text.
    fitting = {name: row[index * kinds : (index + 1) * kinds] for index, name in enumerate(columns)}
    return {
        name: next((kind for kind, fits in zip(_SHAPES, results, strict=True) if fits), "string")
        for name, results in fitting.items()
    }
