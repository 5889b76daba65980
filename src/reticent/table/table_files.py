"""The file formats of published tables, by name: how rows become bytes, and how the same rows are read back.

CSV and Parquet are here. Formats that need an optional package are next to their readers:
:mod:`reticent.io.statistics_files`, :mod:`reticent.io.sheets`.
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, cast

import polars as pl

from reticent.base.exact import one_of
from reticent.base.expansion import check_held
from reticent.base.files import write_whole
from reticent.base.parquet_layout import ParquetLayout
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.registry import TABLE_FILES, load
from reticent.table.blocks import (
    as_parquet,
    csv_blocks,
    csv_header,
    csv_layout,
    has_schema_metadata,
    parquet_blocks,
    refuse_nested,
)
from reticent.table.codebook import TableCodebook
from reticent.table.formula_cells import unescaped

_ROWS_AT_ONCE = 200_000
_WRITER = re.compile(r"(Polars( \(python\))?|parquet-cpp-arrow)( version [\w.+-]{1,30})?( \(build [0-9a-f]{1,64}\))?")


class TableRows(Protocol):
    """Rows as read from a file."""

    def values(self, column: str) -> pl.Series:
        """The values that occur in a column."""

    def frame(self) -> pl.DataFrame:
        """All rows."""


@dataclass(frozen=True)
class TableFile(ABC):
    """One file format. :meth:`read` returns what :meth:`write` was given, value for value; a table that cannot round-trip
    is refused.

    Formats that ``stream`` also take rows in chunks. The ``codebook`` has the labels of codes, for formats that support
    labels.
    """

    codebook: TableCodebook = field(default_factory=TableCodebook)

    name: ClassVar[str]
    streams: ClassVar[bool] = False

    @abstractmethod
    def write(self, frame: pl.DataFrame, schema: pl.Schema) -> Iterator[bytes]:
        """The rows of ``frame`` in columns of ``schema`` (text may be stored as an enum) as the bytes of a file."""

    @abstractmethod
    def read(self, content: bytes, schema: pl.Schema, file: str) -> pl.DataFrame:
        """The rows that :meth:`write` wrote with this ``schema``. Raises :class:`DataError` naming the ``file`` if they do not match it."""

    def beside(self, content: bytes | Path, file: str, rows: TableRows) -> str | None:
        """What a file contains in addition to the ``rows`` read from it (comments, metadata, further sheets); None if nothing."""
        return None

    def blocks(self, schema: pl.Schema, chunks: Iterable[pl.DataFrame]) -> Iterator[bytes]:
        """The same file from rows in chunks."""
        raise PolicyError(f"Files of kind {self.name!r} need all rows in memory.", setting=("files",))

    def check(self) -> None:
        """Raise if the package that writes such files is missing."""
        return


class CsvTable(TableFile):
    """UTF-8 with commas and a header. Text that a spreadsheet would execute as a formula is prefixed with an apostrophe."""

    name = "csv"
    streams = True

    def write(self, frame: pl.DataFrame, schema: pl.Schema) -> Iterator[bytes]:
        return csv_blocks(schema, frame.iter_slices(_ROWS_AT_ONCE))

    def blocks(self, schema: pl.Schema, chunks: Iterable[pl.DataFrame]) -> Iterator[bytes]:
        return csv_blocks(schema, chunks)

    def read(self, content: bytes, schema: pl.Schema, file: str) -> pl.DataFrame:
        check_header(content, schema, file)
        return unescaped(pl.read_csv(io.BytesIO(content), **csv_layout(schema)))


class ParquetTable(TableFile):
    """Parquet, compressed."""

    name = "parquet"
    streams = True

    def write(self, frame: pl.DataFrame, schema: pl.Schema) -> Iterator[bytes]:
        yield as_parquet(frame.cast(schema))

    def blocks(self, schema: pl.Schema, chunks: Iterable[pl.DataFrame]) -> Iterator[bytes]:
        return parquet_blocks(schema, chunks)

    def read(self, content: bytes, schema: pl.Schema, file: str) -> pl.DataFrame:
        check_held(content, file)
        return pl.read_parquet(io.BytesIO(content))

    def beside(self, content: bytes | Path, file: str, rows: TableRows) -> str | None:
        """Return what the file holds besides the table, such as metadata; None if nothing."""
        layout = ParquetLayout.of(content, file)
        if has_schema_metadata(layout):
            return "metadata of its Arrow schema"
        if not _WRITER.fullmatch(layout.created_by):
            return f"a writer name that is not a known program ({layout.created_by[:40]!r})"
        for name, value in layout.statistics:
            if value.decode(errors="replace") not in rows.values(name).cast(pl.String).unique():
                return f"a value of column {name!r} in its statistics that is not in the column"
        return layout.beside()


class LossyTable(TableFile):
    """A format that cannot hold every value unchanged. A column that would change is written as text, and refused if that changes too."""

    def write(self, frame: pl.DataFrame, schema: pl.Schema) -> Iterator[bytes]:
        """Yield the file. It is read back: columns that would change are written as text, and one that still changes raises."""
        typed = frame.cast(schema)
        self.check_size(typed)
        as_text: list[str] = [name for name in typed.columns if not self.holds(typed[name])]
        for _ in range(2):
            content = self.encoded(typed, as_text)
            read_back = self.read(content, schema, f"the {self.name} file")
            if read_back.height != typed.height:
                raise DataError(
                    f"The table ends with rows that have no value at all, which a file of kind {self.name!r} cannot represent. Choose csv or parquet.",
                    setting=("files",),
                )
            changed = _changed(typed, read_back)
            if not changed:
                yield content
                return
            as_text += [name for name in changed if name not in as_text]
        raise DataError(
            f"Column {changed[0]!r} cannot be written as {self.name} without loss: {_reason(typed[changed[0]])}. Choose csv or parquet, or clean the "
            "column.",
            setting=("files",),
            column=changed[0],
        )

    def again(self, rows: TableRows, as_read: pl.DataFrame) -> bytes:
        """The bytes of the rows written again, with those columns as text that a reader ``as_read`` as text."""
        written = rows.frame()
        pairs = zip(written, as_read, strict=True)
        as_text = [
            column.name for column, read_column in pairs if read_column.dtype == pl.String and column.dtype != pl.String
        ]
        return self.encoded(written, as_text)

    @abstractmethod
    def encoded(self, frame: pl.DataFrame, as_text: Sequence[str]) -> bytes:
        """The file's bytes, with some columns written as text."""

    def holds(self, column: pl.Series) -> bool:
        """True if the format has a type for such values."""
        return True

    def check_size(self, frame: pl.DataFrame) -> None:
        """Raise for a table with more rows or columns than such a file can have."""
        return


def table_file(name: str, codebook: TableCodebook | None = None) -> TableFile:
    """A file format by name, imported on first use; ``codebook`` has the labels of codes that it may include."""
    one_of(name, "files", TABLE_FILES)
    return cast(type[TableFile], load("table file", name))(codebook or TableCodebook())


def write_frame(frame: pl.DataFrame, path: str | Path, format: str | None = None) -> None:
    """Write a frame atomically as a file of the format given by ``format`` or the file name's suffix."""
    target = Path(path)
    kind = format if format is not None else target.suffix.lower().lstrip(".")
    if kind not in TABLE_FILES:
        formats = ", ".join(TABLE_FILES)
        raise DataError(f"{target}: cannot write {kind!r}.{did_you_mean(kind, TABLE_FILES)} Choose one of {formats}.")
    if kind != "parquet":
        refuse_nested(frame.schema, kind)
    write_whole(target, table_file(kind).write(frame, frame.schema))


def check_header(content: bytes, schema: pl.Schema, file: str) -> None:
    """Raise unless a CSV file begins with the expected columns."""
    if not content.startswith(csv_header(schema)):
        header = content.split(b"\n", 1)[0].decode(errors="replace")
        raise DataError(f"{file} begins with {header!r}, but the manifest lists the columns {list(schema)}.")


def plain_names(
    columns: Sequence[str], longest: int, *, ascii_only: bool = False, reserved: Sequence[str] = ()
) -> list[str]:
    """Names that statistics packages accept, one per column: letters, digits and ``_``, at most ``longest`` bytes, unique without case."""
    used: set[str] = set(reserved)
    names = []
    for column in columns:
        plain = re.sub(r"\W", "_", column, flags=re.ASCII if ascii_only else re.UNICODE)
        plain = plain if re.match(r"[^\W\d_]", plain) else f"v{plain}"
        name, number = _cut(plain, longest), 1
        while name.lower() in used:
            number += 1
            name = _cut(plain, longest - len(str(number)) - 1) + f"_{number}"
        used.add(name.lower())
        names.append(name)
    return names


def conformed(column: pl.Series, dtype: pl.DataType, file: str) -> pl.Series:
    """A column read from a file, converted to its published type: numbers from floats, dates from texts."""
    try:
        if column.dtype == dtype:
            return column
        if column.dtype == pl.Null:
            return column.cast(dtype)
        if column.dtype == pl.String:
            return _of_text(column, dtype)
        if dtype == pl.String:
            raise pl.exceptions.InvalidOperationError("it has a number where text was published")
        if column.dtype.is_float() and dtype.is_integer() and not (column.drop_nulls() % 1 == 0).all():
            raise pl.exceptions.InvalidOperationError("it has a number that is not an integer")
        return column.cast(dtype)
    except pl.exceptions.PolarsError as error:
        first = str(error).strip().splitlines()[0]
        raise DataError(f"{file}: column {column.name!r} is not of type {dtype} ({first}).") from None


def as_plain_text(column: pl.Series) -> pl.Series:
    """Values as text that :func:`conformed` reads back."""
    return column.dt.to_string("iso:strict") if isinstance(column.dtype, pl.Datetime) else column.cast(pl.String)


def _of_text(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return a column of text in its published type."""
    if dtype == pl.Boolean:
        return column.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    if dtype == pl.Date:
        return column.str.to_date("%Y-%m-%d")
    if isinstance(dtype, pl.Datetime):
        return column.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us")
    return column.cast(dtype)


def _changed(written: pl.DataFrame, read_back: pl.DataFrame) -> list[str]:
    return [name for name in written.columns if not written[name].equals(read_back[name], null_equal=True)]


def _reason(column: pl.Series) -> str:
    if column.dtype == pl.String and (column == "").any():
        return "it has empty texts, which such a file cannot distinguish from missing ones"
    return "its values do not round-trip"


def _cut(name: str, longest: int) -> str:
    return name.encode()[:longest].decode(errors="ignore")
