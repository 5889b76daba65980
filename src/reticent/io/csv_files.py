"""CSV files: encoding, delimiter and types are detected unless given.

Bytes are checked first (encoding, stray NUL bytes). Then the file is parsed in blocks into dictionary-encoded columns:
types are inferred from the distinct texts, and only these are converted. A file that fits into memory is parsed once, a
stream once for its types and once for each pass. Only the requested columns are kept. Raw data are never written to a
temporary file.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import polars as pl

from reticent.base.expansion import may_be_held, most_expanded, refused_expansion
from reticent.base.memory import text_memory
from reticent.errors import DataError
from reticent.io.csv_records import MalformedRecords, RecordFormat, RecordText, record_blocks, text_blocks
from reticent.io.record_layout import find_layout, is_note, repetitions_numbered, usual_width
from reticent.io.row_source import RowSource, chosen_columns
from reticent.io.text_types import TEXT, TextKind, TypeEvidence, declared_kind, is_missing_word
from reticent.table import StreamRows, TableCodebook

# A record must fit into a block.
_BLOCK = 1 << 21
_SAMPLE = 1 << 16
_LONGEST_HEADER = 1 << 23
_MOST_COLUMNS = 5_000
_MOST_NOTES = 20
_DELIMITERS = (",", ";", "\t", "|")
# The line with which spreadsheets declare the delimiter.
_SAID_DELIMITER = re.compile(r'\ufeff?"?sep=(.)"?\s*')
_EXTENDING_ASCII = ("utf-8", "utf-8-sig", "cp1252", "latin-1")
_UNDEFINED_IN_CP1252 = (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")


@dataclass(frozen=True)
class CsvFile(RowSource):
    """A CSV file and its options; what is not given is detected. Doubts about types are known after rows have been read."""

    path: Path
    delimiter: str | None = None
    encoding: str | None = None
    null_values: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    header: bool | None = None
    skip_rows: int | None = None
    number_names: bool | None = None
    _doubts: dict[str, str] = field(init=False, default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise DataError(f"{self.path}: delimiter must be a single character, but it is {self.delimiter!r}.")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise DataError(
                    f"{self.path}: there is no text encoding {self.encoding!r}. Use utf-8, utf-16, cp1252 or latin-1."
                ) from None

    def columns(self) -> list[str]:
        return list(self.layout.names)

    def fits(self, columns: int) -> bool:
        return may_be_held(text_memory(self.layout.size), self.path.stat().st_size)

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The requested columns (or all), typed."""
        layout = self.layout
        column_names = self._wanted(layout, columns)
        block = self._coded_block(layout, column_names, self._records_texts(layout))
        if not block.height:
            raise DataError(
                f"{self.path} has column names (line {layout.lines_above + 1}) but no rows. There is nothing to publish; check the source. If that line is a "
                "row, pass header=False (--no-header)."
            )
        kinds = self._column_kinds(layout, column_names, [block])
        return pl.DataFrame([self._typed_column(block, name, kinds, layout) for name in column_names])

    def stream(self, columns: Sequence[str] | None = None) -> StreamRows:
        """The requested columns (or all), typed, a few megabytes at a time."""
        layout = self.layout
        column_names = self._wanted(layout, columns)
        kinds = self._column_kinds(layout, column_names, self._blocks(layout, column_names))
        nothing = _Block(
            0, 0, dict.fromkeys(column_names, (pl.Series([], dtype=pl.String), pl.Series([], dtype=pl.UInt32)))
        )

        def frame(block: _Block, chosen: Sequence[str]) -> pl.DataFrame:
            return pl.DataFrame([self._typed_column(block, name, kinds, layout) for name in chosen])

        def make(chosen: Sequence[str]) -> Iterator[pl.DataFrame]:
            return (frame(block, chosen) for block in self._blocks(layout, chosen))

        return StreamRows(frame(nothing, column_names).schema, make)

    def codebook(self, columns: Sequence[str] | None = None) -> TableCodebook:
        """Return the doubts about how the file, and these columns (all by default), were read."""
        chosen = (
            self._doubts if columns is None else {name: self._doubts[name] for name in columns if name in self._doubts}
        )
        return TableCodebook(assumed=(*self.layout.assumed, *chosen.values()))

    def found(self) -> dict[str, Any]:
        layout = self.layout
        skipped = {} if self.skip_rows is not None or not layout.titles else {"skip_rows": layout.lines_above}
        return {**skipped, **({} if self.header is not None or layout.header else {"header": False})}

    def layout_found(self) -> dict[str, Any]:
        """Return the layout that was detected, as the settings that state it."""
        layout = self.layout
        return {
            "encoding": layout.encoding,
            "delimiter": layout.delimiter,
            "header": layout.header,
            "skip_rows": layout.lines_above,
        }

    def _wanted(self, layout: Layout, columns: Sequence[str] | None) -> list[str]:
        """The columns to read. Raises for one that the file does not have."""
        chosen_columns(list(self.types), layout.names, str(self.path))
        return chosen_columns(columns, layout.names, str(self.path))

    @cached_property
    def layout(self) -> Layout:
        """Encoding, delimiter and column names."""
        survey = _survey(self.path, self.encoding)
        text, cut = _beginning(self.path, survey.encoding, self.skip_rows or 0)
        if not text.strip():
            below_skipped = f" below the {self.skip_rows} lines that are skipped" if self.skip_rows else ""
            raise DataError(
                f"{self.path} is empty{below_skipped}. A CSV file needs a line of column names and a line for each row."
            )
        skipped = self.skip_rows or 0
        blank, declared_delimiter = _declared_delimiter(text)
        if declared_delimiter is not None:
            skipped += blank
            text = "".join(text.splitlines(keepends=True)[blank:])
            if not text.strip():
                raise DataError(f"{self.path} has a delimiter line and nothing else. There are no column names.")
        delimiter = self.delimiter or declared_delimiter or _find_delimiter(text, cut)
        numbered = self._numbered(text, cut, delimiter, skipped)
        records_layout = find_layout([record for _, record in numbered], self.header, self.skip_rows, str(self.path))
        begins, record = numbered[records_layout.above]
        names = self._names(record, begins) if records_layout.header else _numbered_names(len(record))
        width = len(names)
        end, notes = _rows_end(survey, delimiter, width)
        layout = Layout(
            survey.encoding,
            delimiter,
            names,
            lines_above=begins - 1,
            titles=records_layout.above > 0,
            header=records_layout.header,
            end=end,
            assumed=(*records_layout.assumed, *(f"{self.path}: {note}" for note in notes)),
            size=survey.size,
        )
        if survey.odd_quotes:
            self._check_quotes(layout)
        return layout

    def _numbered(self, text: str, cut: bool, delimiter: str, skipped: int) -> list[tuple[int, list[str]]]:
        """The non-empty records of the beginning, each with its first line number; the last one is dropped if truncated."""
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        records, begins = [], skipped + 1
        try:
            for record in reader:
                if any(cell.strip() for cell in record):
                    records.append((begins, [cell.strip() for cell in record]))
                begins = skipped + reader.line_num + 1
        except csv.Error as error:
            if not records:
                raise DataError(f"{self.path}, line {begins}: the column names cannot be read ({error}).") from None
        if not records:
            raise DataError(
                f"{self.path} has lines of delimiters and nothing else. There are no column names and no rows."
            )
        return records[:-1] if cut and len(records) > 1 else records

    def _names(self, record: Sequence[str], line: int) -> tuple[str, ...]:
        """The column names of a record; an empty one is named by its position."""
        names = tuple(name or f"column_{number}" for number, name in enumerate(record, start=1))
        if len(names) > _MOST_COLUMNS:
            raise DataError(
                f"{self.path}, line {line}: {len(names):,} columns, but at most {_MOST_COLUMNS:,} are read. Select fewer columns first."
            )
        if self.number_names:
            return repetitions_numbered(names)
        first_position: dict[str, int] = {}
        for number, name in enumerate(names):
            if first_position.setdefault(name, number) != number:
                raise DataError(
                    f"{self.path}, line {line}: two columns are called {name!r} (the {_nth(first_position[name])} and the {_nth(number)}). Give every column its own "
                    "name, or pass number_names=True (--number-names). If the line is a row, pass header=False (--no-header)."
                )
        return names

    def _check_quotes(self, layout: Layout) -> None:
        """Raise for a quotation mark that never closes, which would swallow the rest of the file."""
        begins = 1
        try:
            for line, record in self._records(layout, strict=True):
                begins = line + max(sum(cell.count("\n") for cell in record), 0) + 1
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise DataError(
                    f"{self.path}, line {begins}: a quotation mark opens and never closes. Close it, or double it inside a value."
                ) from None

    def _column_kinds(
        self, layout: Layout, column_names: Sequence[str], blocks: Iterable[_Block]
    ) -> dict[str, TextKind]:
        """Return the type of each column: the declared one, or the one that all of its texts fit. Doubts about decimal signs are recorded."""
        declared = {name: declared_kind(name, self.types[name]) for name in column_names if name in self.types}
        evidence = TypeEvidence([name for name in column_names if name not in declared], layout.delimiter != ",")
        for block in blocks:
            evidence.add({name: block.columns[name][0] for name in evidence.columns})
        for name, kind in evidence.doubts().items():
            sign = "point" if kind.format == "1.234" else "comma"
            self._doubts[name] = (
                f"{self.path}: column {name!r} has numbers such as {kind.format}, which are read with a decimal {sign}. If it separates thousands, set "
                f"types = {{ {name!r} = {str(kind)!r} }} under [data]."
            )
        return {**evidence.kinds(), **declared}

    def _blocks(self, layout: Layout, column_names: Sequence[str]) -> Iterator[_Block]:
        """The requested columns as texts and codes, a few megabytes at a time."""
        start = 0
        for text in self._records_texts(layout):
            yield (block := self._coded_block(layout, column_names, [text], start))
            start += block.height

    def _coded_block(
        self, layout: Layout, column_names: Sequence[str], texts: Iterable[RecordText], start: int = 0
    ) -> _Block:
        """The requested columns of complete records. Raises for a row with too many or too few fields."""
        form = RecordFormat(layout.delimiter, len(layout.names), tuple(self.null_values))
        books = {layout.names.index(name): pl.Categories.random() for name in column_names}
        try:
            frames = [form.columns(text, books) for text in texts]
        except MalformedRecords as error:
            raise self._malformed(layout, error) from None
        if not frames:
            return _Block(start, 0, {})
        rows = pl.concat(frames, rechunk=True)
        columns = {
            layout.names[position]: (book.to_series(), rows[str(position)].to_physical())
            for position, book in books.items()
        }
        return _Block(start, rows.height, columns)

    def _records_texts(self, layout: Layout) -> Iterator[RecordText]:
        """The text of the rows, a few megabytes of complete records at a time."""
        form = RecordFormat(layout.delimiter, len(layout.names))
        try:
            with _open(self.path) as source:
                texts = text_blocks(_blocks_of(source, layout.end), layout.encoding)
                yield from record_blocks(texts, form, layout.lines_above, layout.header, _BLOCK)
        except MalformedRecords as error:
            raise self._malformed(layout, error) from None

    def _malformed(self, layout: Layout, error: Exception) -> DataError:
        """The error for the first malformed record, found by a slow second reading."""
        width = len(layout.names)
        for line, record in self._records(layout):
            if record and len(record) != width:
                return DataError(
                    f"{self.path}, line {line}: {len(record)} fields where the header has {width}. Put quotes around values that "
                    f"contain {layout.delimiter!r}, or complete the row."
                )
            if sum(map(len, record)) > _BLOCK // 2:
                return DataError(
                    f"{self.path}, line {line}: a record of more than {_BLOCK // 2:,} characters. Remove such a column from the file: it is "
                    "free text, which is not published anyway."
                )
        return DataError(f"{self.path} cannot be read as CSV: {str(error).rstrip('.')}.")

    def _records(self, layout: Layout, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Every record with its first line number, from the column names or the first row on."""
        with _open(self.path) as stream, io.TextIOWrapper(stream, encoding=layout.encoding, newline="") as text:
            reader = csv.reader(text, delimiter=layout.delimiter, strict=strict)
            begins = 1
            try:
                for record in reader:
                    if begins > layout.lines_above:
                        yield begins, record
                    begins = reader.line_num + 1
            except csv.Error as error:
                if strict:
                    raise
                if "field larger than field limit" in str(error):
                    raise DataError(
                        f"{self.path}, line {begins}: a value of more than {csv.field_size_limit():,} characters. Remove such a column from the "
                        "file, or close the open quotation mark."
                    ) from None
                raise DataError(f"{self.path}, line {begins}: {error}. Is a quotation mark missing?") from None

    def _typed_column(self, block: _Block, name: str, kinds: Mapping[str, TextKind], layout: Layout) -> pl.Series:
        """A column of a block in its type."""
        texts, codes = block.columns[name]
        if kinds[name] == TEXT:
            return texts.gather(codes).alias(name)
        values = texts.to_frame("text").select(kinds[name].read(pl.col("text"))).to_series()
        if name in self.types:
            unreadable = values.is_null() & ~texts.to_frame("text").select(is_missing_word(pl.col("text"))).to_series()
            if unreadable.any():
                row = int(unreadable.gather(codes).fill_null(False).arg_max() or 0)
                raise DataError(
                    f"{self.path}, line {self._line(layout, block.start + row)}: column {name!r} has the value {texts[codes[row]]!r}, which "
                    f"cannot be read as {kinds[name]}. Correct it, list it in null_values, or read the column as text.",
                    setting=("types", name),
                    column=name,
                    value=texts[codes[row]],
                )
        return values.gather(codes).alias(name)

    def _line(self, layout: Layout, row: int) -> int:
        """The line of a data row."""
        filled = (line for line, record in self._records(layout) if record or len(layout.names) == 1)
        return next(itertools.islice(filled, row + layout.header, None))


@dataclass(frozen=True, eq=False)
class _Block:
    """Some rows of a file, from row ``start`` on: for each column its distinct texts, and the code of each row."""

    start: int
    height: int
    columns: dict[str, tuple[pl.Series, pl.Series]]


@dataclass(frozen=True)
class Layout:
    """The layout of a CSV file.

    ``lines_above`` precede the column names, or the first row if there is no ``header``; some are ``titles``, others
    blank. Rows end at byte ``end`` of the unpacked file, before notes; unpacked it has ``size`` bytes. ``assumed`` are
    the guesses that may be wrong.
    """

    encoding: str
    delimiter: str
    names: tuple[str, ...]
    lines_above: int
    titles: bool = False
    header: bool = True
    end: int | None = None
    assumed: tuple[str, ...] = ()
    size: int = 0


def _open(path: Path) -> IO[bytes]:
    """The file's bytes, gunzipped if necessary."""
    raw = path.open("rb")
    return io.BufferedReader(gzip.GzipFile(fileobj=raw), _BLOCK) if _is_packed(path) else raw


def _is_packed(path: Path) -> bool:
    with path.open("rb") as raw:
        return raw.read(2) == b"\x1f\x8b"


def _blocks_of(stream: IO[bytes], end: int | None) -> Iterator[bytes]:
    """The bytes of a stream, up to ``end``."""
    read = 0
    while block := stream.read(_BLOCK if end is None else min(_BLOCK, end - read)):
        yield block
        read += len(block)


def _beginning(path: Path, encoding: str, skipped: int) -> tuple[str, bool]:
    """The beginning of a file below the skipped lines, including the whole header line, and whether more follows."""
    with _open(path) as stream, io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
        for _ in itertools.islice(text, skipped):
            pass
        sample = ""
        while len(sample) < _LONGEST_HEADER:
            block = text.read(_SAMPLE)
            sample += block
            if not block:
                return sample.lstrip("\ufeff"), False
            if sample.lstrip("\ufeff\r\n \t").count("\n") > 1:
                return sample.lstrip("\ufeff"), bool(text.read(1))
    raise DataError(
        f"{path}: the line of column names is longer than {_LONGEST_HEADER:,} characters. Is this a CSV file?"
    )


def _declared_delimiter(text: str) -> tuple[int, str | None]:
    """The number of lines up to the one with which spreadsheets declare the delimiter, and that delimiter."""
    lines = text.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if line.strip())
    declaration = _SAID_DELIMITER.fullmatch(lines[first])
    return (first + 1, declaration[1]) if declaration is not None else (0, None)


def _numbered_names(width: int) -> tuple[str, ...]:
    return tuple(f"column_{number}" for number in range(1, width + 1))


def _rows_end(survey: _Survey, delimiter: str, width: int) -> tuple[int | None, list[str]]:
    """Where rows end if notes or empty rows follow them (None: at the end of the file), and a sentence about these.

    A note is a text in a line of its own, with fewer fields than a row or below an empty line. Only the last bytes are
    examined, and only if line breaks are reliable there: not in two-byte encodings, nor with unclosed quotation marks.
    """
    if width < 2 or survey.encoding not in _EXTENDING_ASCII:
        return None, []
    lines = survey.tail.splitlines(keepends=True)
    lines = lines if len(survey.tail) == survey.size else lines[1:]
    kinds: list[str] = []
    for line in reversed(lines[-_MOST_NOTES - 1 :]):
        kind = _kind_of_line(line.decode(survey.encoding, errors="replace"), delimiter, width)
        if kind == "row":
            break
        kinds.insert(0, kind)
    if len(kinds) in (len(lines), 0) or len(kinds) > _MOST_NOTES:
        return None, []
    # A row may have a single value, unless an empty line precedes it.
    first = next((number for number, kind in enumerate(kinds) if kind != "cell"), len(kinds))
    lines_below = list(zip(kinds, lines[len(lines) - len(kinds) :], strict=True))[first:]
    notes = [line for kind, line in lines_below if kind in ("note", "cell")]
    if not notes and not any(kind == "empty row" for kind, _ in lines_below):
        return None, []
    end = survey.size - sum(len(line) for _, line in lines_below)
    if not notes:
        count = sum(kind == "empty row" for kind, _ in lines_below)
        return end, [
            f"{count} empty {'row' if count == 1 else 'rows'} at the end {'was' if count == 1 else 'were'} not read."
        ]
    first_note = notes[0].decode(survey.encoding).strip(f' "{delimiter}\r\n')[:40]
    count = len(notes)
    return end, [
        f"the last {'line is a note' if count == 1 else f'{count} lines are notes'} below the rows and {'was' if count == 1 else 'were'} not read ({first_note!r})."
    ]


def _kind_of_line(line: str, delimiter: str, width: int) -> str:
    """The kind of a line below the rows: blank, an empty row, a note, a row with only its first cell, or another row."""
    if not line.strip():
        return "blank"
    if line.count('"') % 2:
        return "row"
    record = next(csv.reader([line], delimiter=delimiter))
    if is_note([cell.strip() for cell in record], width):
        return "note"
    if width < 3 or len(record) != width or any(record[1:]) or f'{delimiter}"' in line:
        return "row"
    return "cell" if record[0].strip() else "row" if '"' in line else "empty row"


@dataclass(frozen=True)
class _Survey:
    """The result of one pass over the bytes: encoding, parity of quotation marks, unpacked size and last bytes."""

    encoding: str
    odd_quotes: bool
    size: int
    tail: bytes


def _survey(path: Path, declared: str | None) -> _Survey:
    """Return the encoding of a file, whether its quotation marks are odd, its size, and its last bytes, after reading
    all of it.

    A byte order mark decides the encoding; otherwise UTF-8 if valid, then Windows-1252, then Latin-1.
    """
    try:
        with _open(path) as stream:
            head = stream.read(4096)
            encoding = declared or _encoding_of_head(head)
            wide = encoding is not None and encoding.replace("_", "-").lower().startswith("utf-16")
            tally = _Bytes(path, encoding or "utf-8", wide)
            most = most_expanded(path.stat().st_size) if _is_packed(path) else None
            for block in itertools.chain([head], iter(lambda: stream.read(_BLOCK), b"")):
                tally.add(block)
                if most is not None and tally.size > most:
                    raise refused_expansion(path.stat().st_size, most, str(path))
    except (gzip.BadGzipFile, EOFError) as error:
        raise DataError(f"{path} is not a complete gzip file: {error}") from None
    if tally.wrong_line is not None:
        if encoding is not None:
            raise DataError(
                f"{path}, line {tally.wrong_line}: the text is not {encoding}. Pass another encoding=, such as cp1252 or latin-1."
            )
        encoding = "latin-1" if tally.undefined else "cp1252"
    return _Survey(encoding or "utf-8", tally.odd_quotes, tally.size, tally.tail)


class _Bytes:
    """Tracks the encoding and the end of a file's bytes. Raises immediately for a stray NUL byte."""

    def __init__(self, path: Path, encoding: str, wide: bool) -> None:
        """Start a survey of the bytes of a file; ``wide`` is True for encodings with two bytes per character."""
        self.path, self.wide = path, wide
        self.decoder = codecs.getincrementaldecoder(encoding)()
        # In all but two-byte and shifting encodings, ASCII bytes are ASCII characters unless inside a multi-byte
        # character.
        self.plain = encoding in _EXTENDING_ASCII
        self.wrong_line: int | None = None
        self.undefined = False
        self.odd_quotes = False
        self.size = 0
        self.tail = b""

    def add(self, block: bytes) -> None:
        """Survey one more block of the file. Raises for a NUL byte and for bytes that do not decode."""
        nul = -1 if self.wide else block.find(b"\0")
        if nul >= 0:
            raise DataError(
                f"{self.path}, line {self._line(nul)}: a NUL byte. This is not a text file, or it was damaged; export it again."
            )
        if not (self.plain and block.isascii() and not self.decoder.getstate()[0]):
            self._decode(block)
        self.odd_quotes ^= bool(block.count(b'"') % 2)
        self.size += len(block)
        self.tail = (self.tail + block)[-_SAMPLE:] if len(block) < _SAMPLE else block[-_SAMPLE:]

    def _decode(self, block: bytes) -> None:
        """Check that a block can be decoded; record the line of the first byte that cannot, and bytes that cp1252 does not define."""
        self.undefined = self.undefined or any(byte in block for byte in _UNDEFINED_IN_CP1252)
        if self.wrong_line is None:
            try:
                self.decoder.decode(block)
            except UnicodeDecodeError as error:
                # The rest of the previous block is at the beginning of what is decoded.
                self.wrong_line = self._line(error.start - (len(error.object) - len(block)))

    def _line(self, offset: int) -> int:
        """The line number of a position in the current block, from the beginning of the file."""
        with _open(self.path) as stream:
            remaining, line = self.size + offset, 1
            while remaining > 0 and (block := stream.read(min(remaining, _BLOCK))):
                line, remaining = line + block.count(10), remaining - len(block)
        return line


def _encoding_of_head(head: bytes) -> str | None:
    """Return the encoding that the first bytes of a file show: by a byte order mark, or by the zeros of two-byte characters; None if they show none."""
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if len(head) >= 4 and zeros.count(0) > 0.4 * len(zeros) and head.count(0) < 0.6 * len(head):
            return encoding
    return None


def _find_delimiter(text: str, cut: bool) -> str:
    """The delimiter that splits the most records into equally many fields; ties go to the most fields."""
    best, best_score = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        try:
            records = [record for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if record]
        except csv.Error:
            continue
        records = records[:-1] if cut and len(records) > 1 else records
        width = usual_width(records)
        if width < 2:
            continue
        alike = sum(len(record) == width for record in records) / len(records)
        if (alike, width) > best_score:
            best, best_score = delimiter, (alike, width)
    return best


def _nth(position: int) -> str:
    number = position + 1
    return f"{number}{'th' if 10 <= number % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
