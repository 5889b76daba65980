"""The records of CSV text in blocks, as columns of text.

polars splits records fast, but fills up short ones, and counts every quotation mark, not only one at the beginning of a
value. So a block is checked first: its delimiters and line ends outside of quoted values are counted and must match the
rows that polars finds. A block in which a quotation mark is part of an unquoted value is quoted anew before.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

_BLANK_LINES = re.compile(rb"^\r?\n", re.MULTILINE)


class MalformedRecords(ValueError):
    """Text that is not records of the declared number of fields. Where it is, the caller finds out."""


@dataclass(frozen=True)
class RecordText:
    """Complete records. What is outside of quotation marks counts, if these are regular."""

    content: bytes

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The places of all quotation marks."""
        return np.cumsum(np.fromiter(map(len, self._parts), np.int64, len(self._parts)) + 1)[:-1] - 1

    @cached_property
    def unquoted(self) -> bytes:
        """The text without what is in quotation marks, one mark for each pair."""
        return b'"'.join(self._parts[0::2])

    @cached_property
    def lines(self) -> int:
        """The number of lines, line breaks in quotation marks not counted."""
        return self.unquoted.count(b"\n") + (not self.content.endswith(b"\n"))

    def delimiters(self, delimiter: bytes) -> int:
        """The number of delimiters, those in quotation marks not counted."""
        return self.unquoted.count(delimiter)

    @property
    def has_blank_line(self) -> bool:
        """True if a line is empty."""
        text = self.unquoted
        return b"\n\n" in text or b"\n\r\n" in text or text.startswith((b"\n", b"\r\n"))

    @cached_property
    def lone_returns(self) -> bool:
        """True if carriage returns end lines, as on old computers, or are part of values."""
        return b"\r" in self.content and self.content.count(b"\r") != self.content.count(b"\r\n")

    def is_regular(self, delimiter: str) -> bool:
        """True if every quotation mark begins or ends a value, or is one of two within."""
        if not self.places.size:
            return True
        beside = np.zeros(256, dtype=bool)
        beside[[ord(delimiter), *b'\r\n"']] = True
        values = np.frombuffer(self.content, dtype=np.uint8)
        before, after = self.places[0::2] - 1, self.places[1::2] + 1
        before, after = before[before >= 0], after[after < len(values)]
        return bool(self.places.size % 2 == 0 and beside[values[before]].all() and beside[values[after]].all())

    @cached_property
    def _parts(self) -> list[bytes]:
        return self.content.split(b'"')


@dataclass(frozen=True)
class RecordFormat:
    """How records are written: ``width`` fields separated by the ``delimiter``, of which unquoted ``null_values`` are missing, as empty ones are."""

    delimiter: str
    width: int
    null_values: tuple[str, ...] = ()

    def columns(self, text: RecordText, wanted: Mapping[int, pl.Categories]) -> pl.DataFrame:
        """The wanted columns of complete records, named by their position, each coded by its categories. Raises :class:`MalformedRecords`."""
        if len(self.delimiter.encode()) > 1:
            raise MalformedRecords(f"the delimiter {self.delimiter!r} is not an ASCII character")
        regular, nulls = self._regular(text)
        schema = {
            str(position): pl.Categorical(wanted[position]) if position in wanted else pl.String()
            for position in range(self.width)
        }
        chosen = [str(position) for position in wanted]
        if not regular.content:
            return pl.DataFrame(schema=schema).select(chosen)
        try:
            rows = pl.read_csv(
                regular.content,
                has_header=False,
                separator=self.delimiter,
                schema=schema,
                null_values=list(nulls) or None,
            )
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise MalformedRecords(str(error)) from None
        if regular.lines != rows.height or not self._has_all_delimiters(regular):
            raise MalformedRecords(f"a record that does not have {self.width} fields")
        return rows.select(chosen)

    def _regular(self, text: RecordText) -> tuple[RecordText, tuple[str, ...]]:
        """The same records as polars reads them, and the texts that still mark missing values there."""
        # Each blank line lacks delimiters.
        blank_lines = self.width > 1 and not self._has_all_delimiters(text) and text.has_blank_line
        if text.places.size:
            quoted_nulls = any(
                b'"' + value.replace('"', '""').encode() + b'"' in text.content for value in self.null_values
            )
            if text.lone_returns or blank_lines or quoted_nulls or not text.is_regular(self.delimiter):
                return RecordText(self._with_regular_quotes(text.content)), ()
            return text, self.null_values
        content = text.content
        if text.lone_returns:
            content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if blank_lines or (text.lone_returns and self.width > 1):
            content = _BLANK_LINES.sub(b"", content)
        return text if content is text.content else RecordText(content), self.null_values

    def _has_all_delimiters(self, text: RecordText) -> bool:
        """True if there are as many delimiters as the lines need, together."""
        return text.delimiters(self.delimiter.encode()) == text.lines * (self.width - 1)

    def first_end(self, text: bytes) -> int:
        """The end of the first record."""
        return next((field.end() for field in self._fields(text) if field[3] != self.delimiter.encode()), len(text))

    def complete(self, text: bytes) -> RecordText:
        """The complete records of a text that starts with one: up to the last line break outside quotation marks."""
        end = _last_line_end(text, len(text))
        records = RecordText(text[:end])
        while records.places.size % 2:
            end = _last_line_end(text, int(records.places[-1]))
            records = RecordText(text[:end])
        if records.is_regular(self.delimiter):
            return records
        separator = self.delimiter.encode()
        ends = (field.end() for field in self._fields(text) if field[3] not in (separator, b""))
        complete_ends = (end for end in ends if end < len(text) or not text.endswith(b"\r"))
        return RecordText(text[: max(complete_ends, default=0)])

    def _fields(self, text: bytes) -> Iterator[re.Match[bytes]]:
        """Yield a match for each field: a quoted part at the beginning, what follows it, and the delimiter or line end."""
        separator = re.escape(self.delimiter.encode())
        pattern = rb'("(?:[^"]++|"")*+"?)?+([^\r\n' + separator + rb"]*+)(" + separator + rb"|\r\n|\n|\r|\Z)"
        return re.finditer(pattern, text)

    def _with_regular_quotes(self, text: bytes) -> bytes:
        """The same records with regular quotation marks and line ends, without blank lines; null values are empty."""
        nulls = {value.encode() for value in self.null_values}
        separator = self.delimiter.encode()
        written: list[bytes] = []
        begins = True
        for field in self._fields(text):
            if field.start() == len(text):
                break
            quoted, trailing, end = field.groups()
            last = end != separator
            if quoted is not None:
                written += (
                    quoted.removesuffix(b'"') if _closed(quoted) else quoted,
                    trailing.replace(b'"', b'""'),
                    b'"',
                )
            elif b'"' in trailing:
                written += (b'"', trailing.replace(b'"', b'""'), b'"')
            elif trailing and trailing not in nulls:
                written.append(trailing)
            if not (begins and last and quoted is None and not trailing and self.width > 1):
                written.append(b"\n" if last else separator)
            begins = last
        return b"".join(written)


def text_blocks(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield blocks of text in any encoding as UTF-8, without a byte order mark."""
    if encoding not in ("utf-8", "utf-8-sig"):
        decoder = codecs.getincrementaldecoder(encoding)()
        yield from (decoder.decode(block).encode() for block in blocks)
        yield decoder.decode(b"", final=True).encode()
        return
    for number, block in enumerate(blocks):
        yield block if number else block.removeprefix(codecs.BOM_UTF8)


def record_blocks(
    blocks: Iterable[bytes], form: RecordFormat, lines_above: int, header: bool, longest: int
) -> Iterator[RecordText]:
    """The text split at ends of records, below a number of lines and the record of column names.

    Raises :class:`MalformedRecords` for a record longer than ``longest`` bytes. The column names may be longer.
    """
    waiting, above, names = b"", lines_above, header
    for block in blocks:
        waiting += block
        if above:
            above, waiting = _below(waiting, above)
            if above:
                continue
        records = form.complete(waiting)
        waiting = waiting[len(records.content) :]
        if records.content and names:
            records, names = RecordText(records.content[form.first_end(records.content) :]), False
        if records.content:
            yield records
        if len(waiting) > longest and not names:
            raise MalformedRecords("a record that is too long")
    if names:
        waiting = waiting[form.first_end(waiting) :]
    if waiting:
        yield RecordText(waiting)


def _last_line_end(text: bytes, end: int) -> int:
    """The place after the last line break before a place. A carriage return at the end may be half of one."""
    return max(text.rfind(b"\n", 0, end), text.rfind(b"\r", 0, min(end, len(text) - 1))) + 1


def _closed(quoted: bytes) -> bool:
    """True if a quoted value ends with its closing quotation mark."""
    return len(quoted) > 1 and quoted.count(b'"') % 2 == 0


def _below(text: bytes, lines: int) -> tuple[int, bytes]:
    """How many of a number of lines are not in the text, and the rest of the text below those that are."""
    below = 0
    for line_end in re.finditer(rb"\r\n|\n|\r(?!\Z)", text):
        if not lines:
            break
        below, lines = line_end.end(), lines - 1
    return lines, text[below:]
