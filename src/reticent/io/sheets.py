"""Spreadsheets: sheets of Excel and LibreOffice files, read by fastexcel and written by XlsxWriter (extra ``formats``).

The first row of a sheet has the column names, unless it is a title or looks like the rows below it. A column has the
type of its cells; numbers mixed with text become text. A cell with an error (``#N/A``) is missing. Of a formula the
stored value is read; a formula without one is rejected, since only a spreadsheet program can compute it.
"""

from __future__ import annotations

import datetime
import io
import logging
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from reticent.base.extras import needed
from reticent.errors import DataError, PolicyError, did_you_mean, first_line
from reticent.io.confined import confined
from reticent.io.record_layout import RecordLayout, find_layout, repetitions_numbered
from reticent.io.row_source import RowSource, chosen_columns
from reticent.io.sheet_extent import check_workbook
from reticent.table import LossyTable, TableCodebook, TableRows, as_plain_text, conformed

SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")
_MOST_ROWS, _MOST_COLUMNS, _LONGEST_CELL = 1_048_575, 16_384, 32_767
# Spreadsheets show fifteen digits, and count days from 1900.
_WHOLE = 10**15
_FIRST_DAY = datetime.date(1900, 3, 1)
_EMPTY_FORMULA = re.compile(rb'<c r="([A-Z]+[0-9]+)"[^>]*><f[^>]*?(?:/>|>[^<]*</f>)(?:<v\s*/>|<v></v>)?</c>')
_UNNAMED = "__UNNAMED__"
_SAMPLE = 200


@dataclass(frozen=True)
class Workbook(RowSource):
    """A spreadsheet file. ``sheet`` names a sheet; optional if only one has rows. ``header`` and ``skip_rows`` are detected unless given; with ``number_names`` repeated column names are numbered."""

    path: Path
    sheet: str | None = None
    header: bool | None = None
    skip_rows: int | None = None
    number_names: bool | None = None

    def columns(self) -> list[str]:
        return self._sheet.frame.columns

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        frame = self._sheet.frame
        return frame.select(frame[name] for name in chosen_columns(columns, frame.columns, str(self.path)))

    def codebook(self, columns: Sequence[str] | None = None) -> TableCodebook:
        return TableCodebook(assumed=self._sheet.assumed)

    def found(self) -> dict[str, Any]:
        return dict(self._sheet.found)

    @cached_property
    def _sheet(self) -> _Sheet:
        """Return the chosen sheet; old binary files are read in a process of limited memory."""
        needed("fastexcel", "formats", "Reading spreadsheets")
        if self._head == _COMPOUND:
            return confined(Workbook.load, self, packed=self.path.stat().st_size, file=str(self.path))
        if zipfile.is_zipfile(self.path):
            check_workbook(self.path, str(self.path))
        return self.load()

    @property
    def _head(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(len(_COMPOUND))

    def load(self) -> _Sheet:
        """The sheet with the rows, read in this process without a memory limit."""
        package = needed("fastexcel", "formats", "Reading spreadsheets")
        # Its remarks on columns without values are irrelevant.
        logging.getLogger("fastexcel").setLevel(logging.ERROR)
        try:
            opened = package.read_excel(str(self.path))
            name = self._chosen(opened)
            first = opened.load_sheet(name, header_row=None, skip_rows=0, n_rows=_SAMPLE, dtypes="string").to_polars()
            layout, above, names = self._layout(first, name)
            beginning = {"header_row": above} if layout.header else {"header_row": None, "skip_rows": above}
            frame: pl.DataFrame = opened.load_sheet(name, **beginning, schema_sample_rows=None).to_polars()
            rows, below = _rows_above_notes(frame)
            if rows < frame.height:
                # Without the notes below, columns get the types of their rows.
                frame = opened.load_sheet(name, **beginning, n_rows=rows, schema_sample_rows=None).to_polars()
        except package.FastExcelError as error:
            raise self._unreadable(error) from None
        if not frame.height:
            raise DataError(
                f"{self.path}: sheet {name!r} has no rows below its column names (row {above + 1}). If that is a row, pass "
                "header=False (--no-header)."
            )
        self._check_formulas(opened.sheet_names.index(name), name)
        assumed = (*layout.assumed, *(f"{self.path}, sheet {name!r}: {note}" for note in below))
        settings = {
            **({"skip_rows": above} if layout.above and self.skip_rows is None else {}),
            **({} if layout.header or self.header is not None else {"header": False}),
        }
        columns = [_natural_type(column) for column in frame]
        if self.number_names and names:
            columns = [column.alias(name) for column, name in zip(columns, names, strict=True)]
        return _Sheet(pl.DataFrame(columns), assumed, settings)

    def _layout(self, first: pl.DataFrame, sheet: str) -> tuple[RecordLayout, int, tuple[str, ...]]:
        """Where the table begins, by the first rows as text, the number of rows above it, and the names of its columns if it has any."""
        numbered = [
            (number, [None if cell is None else cell.strip() for cell in row])
            for number, row in enumerate(first.iter_rows())
            if number >= (self.skip_rows or 0) and any(row)
        ]
        if not numbered:
            below_skipped = f" below the {self.skip_rows} rows that are skipped" if self.skip_rows else ""
            raise DataError(f"{self.path}: sheet {sheet!r} is empty{below_skipped}.")
        where = f"{self.path}, sheet {sheet!r}"
        layout = find_layout([row for _, row in numbered], self.header, self.skip_rows, where, "row")
        above, names = numbered[layout.above]
        if not layout.header:
            return layout, above, ()
        if not self.number_names:
            self._check_header(names, sheet)
        filled_names = [name or f"column_{number}" for number, name in enumerate(names, start=1)]
        return layout, above, repetitions_numbered(filled_names)

    def _chosen(self, opened: Any) -> str:
        """Return the name of the sheet to read: the requested one, or the only one with content."""
        names = list(opened.sheet_names)
        listed = ", ".join(map(repr, names))
        if self.sheet is not None:
            if self.sheet not in names:
                raise DataError(
                    f"{self.path} has no sheet {self.sheet!r}.{did_you_mean(self.sheet, names)} The sheets are: {listed}.",
                    setting=("sheet",),
                )
            return self.sheet
        filled = [name for name in names if opened.load_sheet(name, n_rows=1, dtypes="string").width]
        if not filled:
            raise DataError(f"{self.path} has no sheet with anything in it.")
        if len(filled) > 1:
            raise PolicyError(
                f"{self.path} has several sheets: {', '.join(map(repr, filled))}. Choose the one that holds the rows with sheet={filled[0]!r} in Python, "
                f"sheet = {filled[0]!r} under [data] in a policy, --sheet on the command line.",
                setting=("sheet",),
            )
        return str(filled[0])

    def _check_header(self, header: Sequence[str | None], sheet: str) -> None:
        """Raise if two columns have one name."""
        for number, name in enumerate(header):
            if name and name in header[:number]:
                raise DataError(
                    f"{self.path}: two columns of sheet {sheet!r} are called {name!r}. Give every column its own name, or pass number_names=True (--number-names). If these are not names, pass header=False "
                    "(--no-header) or skip_rows=1 (--skip-rows 1)."
                )

    def _check_formulas(self, number: int, sheet: str) -> None:
        """Raise for a formula without a stored value, which would be read as null."""
        if not zipfile.is_zipfile(self.path):
            return
        with zipfile.ZipFile(self.path) as packed:
            part = _part_of_sheet(packed, number)
            formula = _EMPTY_FORMULA.search(packed.read(part)) if part is not None else None
        if formula is not None:
            raise DataError(
                f"{self.path}: cell {formula[1].decode()} of sheet {sheet!r} is a formula whose value was never computed. Open the file in a spreadsheet program "
                "and save it, or save it as CSV."
            )

    def _unreadable(self, error: Exception) -> DataError:
        """Return the error for a file that the reader of spreadsheets refuses: empty, protected, an old format, or incomplete."""
        if not self._head:
            return DataError(f"{self.path} is empty.")
        if self._head == _COMPOUND and self.path.suffix.lower() != ".xls":
            return DataError(
                f"{self.path} is protected by a password, or it is an old Excel file under a new name. Save it as .xlsx without a password."
            )
        message = str(error).strip().splitlines()[0].rstrip(".")
        if "assword" in message or "ncrypt" in message:
            return DataError(f"{self.path} is protected by a password. Save a copy without one.")
        return DataError(
            f"{self.path} cannot be read as a spreadsheet: {message}. Is the file complete, and is its suffix right?"
        )


@dataclass(frozen=True)
class _Sheet:
    """The rows of a sheet, the assumptions made in reading them, and the equivalent settings."""

    frame: pl.DataFrame
    assumed: tuple[str, ...]
    found: Mapping[str, Any]


def _rows_above_notes(frame: pl.DataFrame) -> tuple[int, list[str]]:
    """The number of rows before trailing empty rows and notes, and a sentence about these. A note is a single cell below an empty row."""
    sample = frame.tail(_SAMPLE)
    filled = sample.select(pl.sum_horizontal(pl.all().is_not_null())).to_series().to_list() if sample.width else []
    cells_of_note = 1 if frame.width > 2 else 0
    first_below = next((index for index in range(len(filled), 0, -1) if filled[index - 1] > cells_of_note), 0)
    below = filled[first_below:]
    first_empty = next((index for index, count in enumerate(below) if not count), len(below))
    end, notes, empty = first_below + first_empty, sum(below[first_empty:]), below[first_empty:].count(0)
    if first_empty == len(below) or not end:
        return frame.height, []
    if not notes:
        return frame.height - (len(filled) - end), [
            f"{empty} empty {'row' if empty == 1 else 'rows'} at the end {'was' if empty == 1 else 'were'} not read."
        ]
    first_note = next(str(cell) for cell in sample.row(end + below[first_empty:].index(1)) if cell is not None)[:40]
    count_of_notes = "row is a note" if notes == 1 else f"{notes} rows are notes"
    return frame.height - (len(filled) - end), [
        f"the last {count_of_notes} below the table and {'was' if notes == 1 else 'were'} not read ({first_note!r})."
    ]


def _part_of_sheet(packed: zipfile.ZipFile, number: int) -> str | None:
    """The zip member that holds a sheet of an .xlsx file; None if the file is structured differently."""
    try:
        book = packed.read("xl/workbook.xml").decode()
        relations = packed.read("xl/_rels/workbook.xml.rels").decode()
    except (KeyError, UnicodeDecodeError):
        return None
    ids = re.findall(r"<(?:\w+:)?sheet\s[^>]*?r:id=\"([^\"]+)\"", book)
    targets = {
        match[1]: target_match[1]
        for element in re.findall(r"<Relationship\s[^>]*>", relations)
        if (match := re.search(r'Id="([^"]+)"', element)) and (target_match := re.search(r'Target="([^"]+)"', element))
    }
    if number >= len(ids) or ids[number] not in targets:
        return None
    target = targets[ids[number]]
    part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    return part if part in packed.namelist() else None


def _natural_type(column: pl.Series) -> pl.Series:
    """Integral floats as integers, timestamps at midnight as days."""
    name = column.name
    if name.startswith(_UNNAMED):
        column = column.alias(f"column_{int(name.removeprefix(_UNNAMED)) + 1}")
    values = column.drop_nulls()
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype.is_float():
        is_integral = bool((values % 1 == 0).all()) and bool((values.abs() <= _WHOLE).all())
        return column.cast(pl.Int64) if is_integral and len(values) else column
    if isinstance(column.dtype, pl.Datetime):
        midnight = bool((values.dt.time() == datetime.time()).all())
        return column.cast(pl.Date) if midnight else column.cast(pl.Datetime("us"))
    return column


class XlsxTable(LossyTable):
    """A sheet of numbers, dates, booleans and texts; never a formula."""

    name = "xlsx"

    def check(self) -> None:
        needed("fastexcel", "formats", "Checking Excel files")
        needed("xlsxwriter", "formats", "Writing Excel files")

    def check_size(self, frame: pl.DataFrame) -> None:
        """Raise if the frame exceeds the rows, columns or text length of a sheet."""
        if frame.height > _MOST_ROWS or frame.width > _MOST_COLUMNS:
            raise DataError(
                f"A sheet has at most {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns, and the table has {frame.height:,} and {frame.width:,}. Choose csv "
                "or parquet.",
                setting=("files",),
            )
        for column in frame:
            if column.dtype == pl.String and (column.str.len_chars() > _LONGEST_CELL).any():
                raise DataError(
                    f"Column {column.name!r} has a text of more than {_LONGEST_CELL:,} characters, which does not fit in a cell. Choose csv or parquet.",
                    setting=("files",),
                    column=column.name,
                )

    def holds(self, column: pl.Series) -> bool:
        """Return whether a sheet represents every value of a column exactly."""
        values = column.drop_nulls()
        if column.dtype.is_integer():
            return bool((values.cast(pl.Int128).abs() <= _WHOLE).all())
        if column.dtype.is_float():
            return bool(values.is_finite().all())
        return not column.dtype.is_temporal() or bool((values.cast(pl.Date) >= _FIRST_DAY).all())

    def encoded(self, frame: pl.DataFrame, as_text: Sequence[str]) -> bytes:
        """Return the frame as an .xlsx file; the bytes depend on nothing but the values."""
        package = needed("xlsxwriter", "formats", "Writing Excel files")
        memory = io.BytesIO()
        book = package.Workbook(memory, {"in_memory": True})
        # A time of writing would make the bytes depend on more than the values.
        book.set_properties({"created": datetime.datetime(1980, 1, 1)})
        sheet = book.add_worksheet("table", worksheet_class=_exact_sheet(package))
        sheet.freeze_panes(1, 0)
        day, moment = (book.add_format({"num_format": form}) for form in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss.000"))
        for column_number, series in enumerate(frame):
            sheet.write_string(0, column_number, series.name)
            column = as_plain_text(series) if series.name in as_text else series
            write, style = _cell_writer(sheet, column.dtype, day, moment)
            for row, value in enumerate(column, start=1):
                if value is not None:
                    write(row, column_number, value, *style)
        book.close()
        return memory.getvalue()

    def read(self, content: bytes, schema: pl.Schema, file: str) -> pl.DataFrame:
        """Return the table of an .xlsx file in the types of a schema. Raises if its columns differ."""
        package = needed("fastexcel", "formats", "Reading spreadsheets")
        logging.getLogger("fastexcel").setLevel(logging.ERROR)
        check_workbook(content, file)
        try:
            opened = package.read_excel(content)
            names = opened.load_sheet(0, header_row=None, n_rows=1, dtypes="string").to_polars().row(0)
            frame = opened.load_sheet(0, header_row=None, skip_rows=1, schema_sample_rows=None).to_polars()
        except (package.FastExcelError, pl.exceptions.PolarsError) as error:
            raise DataError(f"{file} cannot be read as a spreadsheet: {first_line(error)}") from None
        if list(names) != list(schema):
            raise DataError(f"{file} has the columns {list(names)}, but the manifest lists {list(schema)}.")
        columns = [
            conformed(column.alias(name), dtype, file)
            for (name, dtype), column in zip(schema.items(), frame, strict=True)
        ]
        return pl.DataFrame(columns, schema=schema)

    def beside(self, content: bytes | Path, file: str, rows: TableRows) -> str | None:
        """What is not the table: the table is written again, and every zip member must be equal, with nothing between or after members."""
        file_bytes = content if isinstance(content, bytes) else content.read_bytes()
        package = needed("fastexcel", "formats", "Reading spreadsheets")
        names = (
            package.read_excel(file_bytes)
            .load_sheet(0, header_row=None, skip_rows=1, schema_sample_rows=None)
            .to_polars()
        )
        written = self.again(rows, names)
        if written == file_bytes:
            return None
        written_parts, file_parts = _parts(written), _parts(file_bytes)
        differing = [
            name for name in sorted({*written_parts, *file_parts}) if written_parts.get(name) != file_parts.get(name)
        ]
        if differing:
            return f"a part {differing[0]!r} that differs from what the table is written as (sheets, comments, properties, or another version of XlsxWriter)"
        return "bytes outside its parts" if len(file_bytes) != len(written) else None


def _parts(content: bytes) -> dict[str, bytes]:
    """Return the content of every member of a zip file by its name."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        return {part.filename: packed.read(part) for part in packed.infolist()}


def _cell_writer(sheet: Any, dtype: pl.DataType, day: Any, moment: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the method that writes cells of a type, and further arguments for it: the format ``day`` or ``moment`` for dates."""
    if dtype == pl.Boolean:
        return sheet.write_boolean, ()
    if dtype.is_numeric():
        return sheet.write_number, ()
    if dtype.is_temporal():
        return sheet.write_datetime, (day if dtype == pl.Date else moment,)
    return sheet.write_string, ()


def _exact_sheet(package: Any) -> Any:
    """A sheet class that writes all digits of numbers; XlsxWriter writes sixteen, and some need seventeen."""

    class ExactSheet(package.worksheet.Worksheet):  # type: ignore[misc]  # the package is optional
        def _xml_number_element(self, number: float, attributes: Sequence[tuple[str, Any]] = ()) -> None:
            written = "".join(f' {key}="{value}"' for key, value in attributes)
            self.fh.write(f"<c{written}><v>{number!r}</v></c>")

    return ExactSheet
