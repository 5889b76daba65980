"""Files of statistics packages: SPSS, Stata and SAS, read and written by pyreadstat (extra ``formats``).

A column of codes that all have labels is read as its labels, and written as codes with labels again. Codes that the
file declares as missing become null, and the codebook lists which and how many. Integers, which these programs store as
floats, become integers again.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Literal

import polars as pl

from reticent.base.expansion import WAY_OUT, most_expanded
from reticent.base.extras import needed
from reticent.base.memory import fits
from reticent.errors import DataError, PolicyError, first_line
from reticent.io.confined import confined
from reticent.io.row_source import RowSource, chosen_columns
from reticent.table import Code, LossyTable, TableCodebook, TableRows, as_plain_text, conformed, plain_names

Labels = Literal["text", "codes"]
SUFFIXES = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_PROGRAMS = {".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS", ".dta": "Stata", ".sas7bdat": "SAS", ".xpt": "SAS"}
_WHOLE = 2**53
_MOST_LABELS = 1000
# The offset of the time of writing in a SAS transport file.
_HEADER = 800


@dataclass(frozen=True)
class StatisticsFile(RowSource):
    """A file of SPSS, Stata or SAS. ``labels="codes"`` keeps codes where ``"text"`` reads the labels of fully labelled columns."""

    path: Path
    encoding: str | None = None
    labels: Labels = "text"
    # Rows and codebook come from one reading.
    _found: dict[tuple[str, ...] | None, tuple[pl.DataFrame, TableCodebook]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.labels not in ("text", "codes"):
            raise PolicyError(f"labels must be 'text' or 'codes', but it is {self.labels!r}.", setting=("labels",))

    def columns(self) -> list[str]:
        return list(self._parsed(metadataonly=True)[1].column_names)

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        return self._decoded_columns(columns)[0]

    def codebook(self, columns: Sequence[str] | None = None) -> TableCodebook:
        return self._decoded_columns(columns)[1]

    def fits(self, columns: int) -> bool:
        rows = self._parsed(metadataonly=True)[1].number_rows
        return rows is None or fits(rows, columns)

    def _decoded_columns(self, columns: Sequence[str] | None) -> tuple[pl.DataFrame, TableCodebook]:
        """Return the requested columns with values and labels decoded, and the codebook; cached."""
        key = None if columns is None else tuple(dict.fromkeys(columns))
        if key not in self._found:
            names = chosen_columns(key, self.columns(), str(self.path))
            declared, packed = self._parsed(metadataonly=True)[1], self.path.stat().st_size
            reader = partial(self._parsed, usecols=names, user_missing=True)
            frame, metadata = _read_within(reader, declared, packed, str(self.path))
            self._found[key] = _decoded(frame.select(names), metadata, self.labels)
        return self._found[key]

    def _parsed(self, **options: Any) -> tuple[pl.DataFrame, Any]:
        """Return a frame and the metadata as pyreadstat reads them, with its ``options``."""
        suffix = self.path.suffix.lower()
        package = needed("pyreadstat", "formats", f"Reading {_PROGRAMS[suffix]} files")
        if self.encoding is not None:
            options["encoding"] = self.encoding
        catalog = _catalog(self.path) if suffix == ".sas7bdat" else None
        if catalog is not None:
            options["catalog_file"] = str(catalog)
        if suffix in (".por", ".xpt"):
            options.pop("user_missing", None)
        with _named_errors(
            package, f"{self.path} cannot be read as a file of {_PROGRAMS[suffix]}", "Is the file complete?"
        ):
            frame, metadata = getattr(package, _READERS[suffix])(str(self.path), output_format="polars", **options)
        return frame, metadata


def _read_within(
    parsed: Callable[..., tuple[pl.DataFrame, Any]], declared: Any, packed: int, file: str
) -> tuple[pl.DataFrame, Any]:
    """The result of ``parsed`` on a file of ``packed`` bytes. Raises if it declares more or wider values than that may
    expand to, or has more rows than declared.
    """
    widths = declared.variable_storage_width.values()
    allowed = most_expanded(packed) // max(sum(max(int(width or 0), 8) for width in widths), 1)
    if (declared.number_rows or 0) > allowed:
        raise _too_large(f"declares {declared.number_rows:,} rows", len(widths), packed, file)
    if not all(widths):
        # Stata stores long texts once for all rows that share them, so the row size does not bound the memory.
        return confined(parsed, packed=packed, file=file)
    frame, metadata = parsed(row_limit=allowed + 1)
    if frame.height > allowed:
        raise _too_large(f"has more than {allowed:,} rows", len(widths), packed, file)
    return frame, metadata


def _too_large(claim: str, columns: int, packed: int, file: str) -> DataError:
    return DataError(
        f"{file} {claim} of {columns:,} columns in {packed:,} bytes; at most {most_expanded(packed):,} bytes are unpacked. It was not read. {WAY_OUT}."
    )


def _catalog(path: Path) -> Path | None:
    """The file with the value labels of a SAS data set, which are stored separately: under its own name, or SAS's default one."""
    candidates = (path.with_suffix(".sas7bcat"), path.with_name("formats.sas7bcat"))
    return next((path for path in candidates if path.is_file()), None)


def _decoded(frame: pl.DataFrame, metadata: Any, labels: Labels) -> tuple[pl.DataFrame, TableCodebook]:
    """Columns of values, with missing-value codes replaced by null, and the file's metadata."""
    columns: list[pl.Series] = []
    labels_by_column: dict[str, Mapping[Code, str]] = {}
    missing: dict[str, dict[str, int]] = {}
    for series in frame:
        name = series.name
        value_labels: Mapping[Code, str] = metadata.variable_value_labels.get(name, {})
        column, missing_counts = _without_missing(series, metadata.missing_ranges.get(name, ()))
        column = _natural_type(column)
        if missing_counts:
            missing[name] = {_named(code, value_labels): count for code, count in missing_counts.items()}
        column_labels = _labels_of(column.dtype, value_labels)
        if column_labels:
            labels_by_column[name] = column_labels
            if labels == "text" and set(column.drop_nulls().unique()) <= set(column_labels):
                column = column.replace_strict(column_labels, return_dtype=pl.String)
        columns.append(column)
    titles = {name: title for name, title in metadata.column_names_to_labels.items() if title and name in frame.columns}
    return pl.DataFrame(columns), TableCodebook(titles, labels_by_column, missing)


def _without_missing(series: pl.Series, ranges: Sequence[Mapping[str, Any]]) -> tuple[pl.Series, dict[Code, int]]:
    """The column with null for missing-value codes, and how many rows had each."""
    if series.dtype == pl.Object:
        # Letters among numbers: the special missing values of Stata and SAS.
        values = series.to_list()
        letters = [value for value in values if isinstance(value, str)]
        numbers = pl.Series(series.name, [None if isinstance(value, str) else value for value in values], strict=False)
        return numbers, {f".{letter}": letters.count(letter) for letter in sorted(set(letters))}
    if not ranges:
        return series, {}
    is_missing = pl.any_horizontal(
        pl.col(series.name).is_between(pl.lit(bounds["lo"]), pl.lit(bounds["hi"])) for bounds in ranges
    )
    coded = series.to_frame().with_columns(is_missing.fill_null(False).alias("is missing"))
    counted = coded.filter(pl.col("is missing"))[series.name].value_counts().sort(series.name)
    present = coded.select(pl.when(~pl.col("is missing")).then(pl.col(series.name)).alias(series.name))
    return present.to_series(), dict(counted.iter_rows())


def _natural_type(column: pl.Series) -> pl.Series:
    """A column in the type of its values: integral floats are integers, empty texts are null (these programs have no other way)."""
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype == pl.String:
        return column.set(column == "", None)
    if column.dtype.is_float():
        values = column.drop_nulls()
        is_integral = (
            bool(values.is_finite().all()) and bool((values % 1 == 0).all()) and bool((values.abs() < _WHOLE).all())
        )
        return column.cast(pl.Int64) if is_integral else column
    return column.cast(pl.Int64) if column.dtype.is_integer() else column


def _labels_of(dtype: pl.DataType, value_labels: Mapping[Code, str]) -> dict[Code, str]:
    """The labels of a column's own codes, made unique: codes that share a label include their code in it."""
    is_text = dtype == pl.String
    labels_of_type = {code: label for code, label in value_labels.items() if isinstance(code, str) == is_text}
    texts = list(labels_of_type.values())
    return {
        _code(code, dtype): f"{label} ({_written(code)})" if texts.count(label) > 1 else label
        for code, label in sorted(labels_of_type.items())
    }


def _code(code: Code, dtype: pl.DataType) -> Code:
    return int(code) if dtype.is_integer() and not isinstance(code, str) and code == int(code) else code


def _written(code: Code) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def _named(code: Code, labels: Mapping[Code, str]) -> str:
    label = labels.get(code.removeprefix(".") if isinstance(code, str) and code.startswith(".") else code)
    return f"{_written(code)} ({label})" if label else _written(code)


@contextmanager
def _named_errors(package: Any, failure: str, hint: str) -> Iterator[None]:
    """Convert an error of pyreadstat to one that names the file."""
    try:
        yield
    except (package.ReadstatError, package.PyreadstatError, OverflowError, UnicodeDecodeError, ValueError) as error:
        raise DataError(f"{failure}: {first_line(error).rstrip('.')}. {hint}") from None
    except TypeError:
        raise DataError(f"{failure}: a column has no name that can be read. {hint}") from None


def _parsed_bytes(suffix: str, content: bytes, **options: Any) -> tuple[pl.DataFrame, Any]:
    """Parse the bytes of a file of SPSS, Stata or SAS: its rows and its metadata."""
    import pyreadstat

    frame, metadata = getattr(pyreadstat, _READERS[suffix])(io.BytesIO(content), output_format="polars", **options)
    return frame, metadata


class _StatisticsTable(LossyTable):
    """A table as such a file: names that the program accepts, and text with few distinct values as codes with labels if supported."""

    program: str
    writer: str
    longest_name: int
    longest_title: int
    longest_label = 0
    ascii_only = False
    largest = inf  # numbers of this size and above cannot be written
    reserved: tuple[str, ...] = ()
    options: Mapping[str, Any] = {}

    def check(self) -> None:
        needed("pyreadstat", "formats", f"Writing {self.program} files")

    def holds(self, column: pl.Series) -> bool:
        if column.dtype.is_integer():
            return bool((column.drop_nulls().cast(pl.Int128).abs() <= _WHOLE).all())
        return not column.dtype.is_float() or bool((column.drop_nulls().fill_nan(inf).abs() < self.largest).all())

    def encoded(self, frame: pl.DataFrame, as_text: Sequence[str]) -> bytes:
        """Return the frame as a file of this program, with labels and titles of the codebook."""
        package = needed("pyreadstat", "formats", f"Writing {self.program} files")
        names = self._names(frame.columns)
        columns, labels, titles = [], {}, {}
        for series, name in zip(frame, names, strict=True):
            column, used = (as_plain_text(series), {}) if series.name in as_text else self._column(series)
            columns.append(column.alias(name))
            if used:
                labels[name] = used
            title = self.codebook.titles.get(series.name, series.name if name != series.name else "")
            titles[name] = title[: self.longest_title] or None
        label_options = {"variable_value_labels": labels} if self.longest_label else {}
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / f"table.{self.name}"
            with _named_errors(package, f"The table cannot be written as {self.name}", "Choose csv or parquet."):
                getattr(package, self.writer)(
                    pl.DataFrame(columns), str(target), column_labels=titles, **label_options, **self.options
                )
            return self.settled(target.read_bytes())

    def settled(self, content: bytes) -> bytes:
        """The bytes without the time of writing, so they depend on the values only."""
        return content

    def read(self, content: bytes, schema: pl.Schema, file: str) -> pl.DataFrame:
        """Return the table of a file in the types of a schema. Raises if its columns differ, or if it holds notes."""
        frame, metadata = self._parsed_content(content, file)
        if metadata.notes or metadata.file_label:
            raise DataError(f"{file} holds notes or a title of the file, which the manifest does not describe.")
        if frame.columns != self._names(list(schema)):
            raise DataError(f"{file} has the columns {frame.columns}, but the manifest lists {list(schema)}.")
        columns = []
        for (name, dtype), series in zip(schema.items(), frame, strict=True):
            labels = metadata.variable_value_labels.get(series.name, {})
            if dtype in (pl.String, pl.Boolean) and labels and series.dtype != pl.String:
                series = series.cast(pl.Float64).replace_strict(
                    {float(code): label for code, label in labels.items()}, default=None, return_dtype=pl.String
                )
            elif series.dtype == pl.String:
                series = series.set(series == "", None)
            columns.append(conformed(series.alias(name), dtype, file))
        return pl.DataFrame(columns, schema=schema)

    def beside(self, content: bytes | Path, file: str, rows: TableRows) -> str | None:
        """What is not the table: the table is written again with the file's titles and labels, and must be the same file."""
        file_bytes = content if isinstance(content, bytes) else content.read_bytes()
        frame, metadata = self._parsed_content(file_bytes, file)
        column_names = dict(zip(frame.columns, rows.frame().columns, strict=True))
        titles = {column_names[name]: title for name, title in metadata.column_names_to_labels.items() if title}
        labels = {column_names[name]: codes for name, codes in metadata.variable_value_labels.items()}
        if type(self)(TableCodebook(titles, labels)).again(rows, frame) == file_bytes:
            return None
        return "something that differs from what the table is written as (further rows, notes, labels that no value has, bytes after the table, or another version of pyreadstat)"

    def _parsed_content(self, content: bytes, file: str) -> tuple[pl.DataFrame, Any]:
        """Parse the bytes of a file; returns its rows and its metadata, or raises with the name of the ``file``."""
        package = needed("pyreadstat", "formats", f"Reading {self.program} files")
        with _named_errors(package, f"{file} cannot be read as a file of {self.program}", "Is the file complete?"):
            reader = partial(_parsed_bytes, f".{self.name}", content)
            return _read_within(reader, reader(metadataonly=True)[1], len(content), file)

    def _names(self, columns: Sequence[str]) -> list[str]:
        return plain_names(columns, self.longest_name, ascii_only=self.ascii_only, reserved=self.reserved)

    def _column(self, series: pl.Series) -> tuple[pl.Series, dict[Code, str]]:
        """The column as written, and the labels of its codes."""
        codebook_labels = self.codebook.labels.get(series.name, {})
        if series.dtype == pl.Boolean:
            coded = series.cast(pl.Float64)
            return (coded, {0.0: "false", 1.0: "true"}) if self.longest_label else (as_plain_text(series), {})
        if series.dtype.is_integer():
            labels_by_code = {
                float(code): label for code, label in codebook_labels.items() if not isinstance(code, str)
            }
            occurring = set(series.drop_nulls().unique())
            return series.cast(pl.Float64), {
                code: labels_by_code[code] for code in sorted(labels_by_code) if code in occurring
            }
        if series.dtype == pl.Null:
            return series.cast(pl.String), {}
        if series.dtype != pl.String:
            return series, {}
        texts = series.drop_nulls().unique().sort().to_list()
        longest = max((len(text.encode()) for text in texts), default=0)
        if not self.longest_label or not 0 < len(texts) <= _MOST_LABELS or longest > self.longest_label:
            return series, {}
        codes = _codes(texts, codebook_labels)
        labels: dict[Code, str] = {float(code): text for text, code in sorted(codes.items(), key=lambda pair: pair[1])}
        return series.replace_strict(codes, return_dtype=pl.Float64), labels


def _codes(texts: Sequence[str], codebook_labels: Mapping[Code, str]) -> dict[str, float]:
    """A code for each text: that of the codebook, or the next integer."""
    code_of_label = {label: float(code) for code, label in codebook_labels.items() if not isinstance(code, str)}
    codes = {text: code_of_label[text] for text in texts if text in code_of_label}
    following = int(max([0.0, *code_of_label.values()])) + 1
    for text in texts:
        if text not in codes:
            codes[text] = float(following)
            following += 1
    return codes


class SpssTable(_StatisticsTable):
    name = "sav"
    program, writer = "SPSS", "write_sav"
    longest_name, longest_title, longest_label = 64, 60, 120
    reserved = ("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with")

    def settled(self, content: bytes) -> bytes:
        # Bytes 92 to 109 of the header are the date and the time of writing.
        return content[:92] + b"01 Jan 7000:00:00" + content[109:]


class StataTable(_StatisticsTable):
    name = "dta"
    program, writer = "Stata", "write_dta"
    longest_name, longest_title, longest_label = 32, 80, 2000
    largest = 2.0**1023  # numbers from here on represent missing values
    reserved = (
        "_all", "_b", "_coef", "_cons", "_n", "_pi", "_pred", "_rc", "_skip", "byte", "double", "float", "if", "in", "int", "long", "str",
        "strl", "using", "with",
    )  # fmt: skip

    def settled(self, content: bytes) -> bytes:
        return re.sub(
            rb"<timestamp>\x11.{17}</timestamp>", b"<timestamp>\x1101 Jan 1970 00:00</timestamp>", content, count=1
        )


class SasTable(_StatisticsTable):
    name = "xpt"
    program, writer = "SAS", "write_xport"
    longest_name, longest_title = 32, 40
    ascii_only = True
    options: Mapping[str, Any] = {"file_format_version": 8}

    def settled(self, content: bytes) -> bytes:
        return re.sub(rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN70:00:00:00", content[:_HEADER]) + content[_HEADER:]
