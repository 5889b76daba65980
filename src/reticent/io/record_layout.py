"""Detect the header and the rows among the records of a text file or a sheet.

Hand-made files have titles above the column names, notes below the rows, or no column names at all. What is not given
(``header``, ``skip_rows``) is detected from the first records, and every assumption is reported: nothing is skipped
silently.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reticent.io.text_types import MISSING_WORDS

Record = Sequence[str | None]

_NUMBER = re.compile(
    r"\(?[-+]?\s?(?:[$€£¥]|[A-Z]{3}\s)?\s?[-+]?(?:\d[\d.,' \u00a0\u202f]*|[.,]\d+)(?:[eE][-+]?\d+)?(?:\s?[%$€£¥]|\s[A-Z]{3})?\)?"
)
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d{1,2}:\d{2}.*)?")
_TRUTH = frozenset({"true", "false"})
_YEARS = range(1850, 2101)
_MOST_TITLES = 50
_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class RecordLayout:
    """``above`` records precede the column names (or the first row, if ``header`` is false); ``assumed`` are the assumptions made."""

    above: int
    header: bool
    assumed: tuple[str, ...] = ()


def find_layout(
    records: Sequence[Record], header: bool | None, skip_rows: int | None, where: str, unit: str = "line"
) -> RecordLayout:
    """The layout of a file by its first records, none of which is empty.

    ``skip_rows``: the caller has already skipped what is above. ``where`` and ``unit`` name the file and its records in
    messages.
    """
    above = 0 if skip_rows is not None else _titles(records)
    assumed = []
    if above:
        first_cell = next(str(cell) for cell in records[0] if cell)
        skipped_lines = f"The first {unit} is" if above == 1 else f"The first {above} {unit}s are"
        assumed.append(
            f"{where}: {skipped_lines} above the table and {'was' if above == 1 else 'were'} skipped ({_short(first_cell)}). Set skip_rows = 0 (--skip-rows 0) to "
            "skip nothing."
        )
    if header is None:
        header = _has_names(records[above:])
        if not header:
            assumed.append(
                f"{where}: the first {unit} looks like a row, not like column names, so columns are called column_1, column_2, ... "
                "Set header = true (--header) if it has the names."
            )
    return RecordLayout(above, header, tuple(assumed))


def usual_width(records: Sequence[Record]) -> int:
    """The most common number of fields; ties go to the larger number."""
    counts = Counter(len(record) for record in records)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def repetitions_numbered(names: Sequence[str]) -> tuple[str, ...]:
    """The names with the repeated ones numbered from the second on: ``date``, ``date_2``. A number that makes a name of the file is skipped."""
    taken, times = set(names), Counter[str]()
    numbered = []
    for name in names:
        times[name] += 1
        unique_name = name
        while times[name] > 1 and (unique_name := f"{name}_{times[name]}") in taken:
            times[name] += 1
        taken.add(unique_name)
        numbered.append(unique_name)
    return tuple(numbered)


def is_note(record: Record, width: int) -> bool:
    """True if a record holds one text instead of a row of ``width`` fields."""
    filled = [cell for cell in record if cell]
    return len(record) < width and len(filled) == 1 and any(char.isalpha() for char in filled[0] or "")


def _titles(records: Sequence[Record]) -> int:
    """The number of title records at the beginning: far fewer fields than the others, with column names below them."""
    width = usual_width(records)
    if width < 2:
        return 0
    few = max(1, width // 3)
    titles = 0
    for record in records[:_MOST_TITLES]:
        filled = sum(1 for cell in record if cell)
        padded = len(record) >= width
        if filled > (1 if padded else few) or (padded and width < 3):
            break
        titles += 1
    if not titles or len(records) < titles + 2:
        return 0
    names = records[titles]
    if len(names) != width:
        return 0
    # Below a title in one cell of a row, only a row of distinct texts is a header.
    filled_names = [name for name in names if name]
    is_header = 2 * len(filled_names) >= width and len(set(filled_names)) == len(filled_names) > 1
    padded = any(len(record) >= width for record in records[:titles])
    return titles if not padded or (is_header and all(_shape(name) == "text" for name in filled_names)) else 0


def _has_names(records: Sequence[Record]) -> bool:
    """True if the first record has column names: it would not fit as a row of the records below."""
    first, rows = records[0], [record for record in records[1:] if len(record) == len(records[0])]
    if not rows:
        return True
    columns = [[cell for cell in column if _shape(cell) != "empty"] for column in zip(*rows, strict=True)]
    if _counts_up([cell for cell in first if _shape(cell) == "number"], len(first)):
        return True
    like_rows = recurring = texts = 0
    for name, column in zip(first, columns, strict=True):
        shapes = {_shape(cell) for cell in column}
        kind = shapes.pop() if len(shapes) == 1 else "text"
        name_shape = _shape(name)
        if kind == "text":
            texts += bool(column)
            recurring += name in column
        elif name_shape == kind:
            like_rows += not _is_year_above_numbers(name, column)
        elif name_shape != "empty":
            return True
    if like_rows:
        return False
    return not (len(first) > 1 and recurring and 2 * recurring >= texts)


def _shape(cell: str | None) -> str:
    """Return what a cell looks like: empty, truth, number, date or text."""
    text = (cell or "").strip()
    if text in MISSING_WORDS:
        return "empty"
    if text.lower() in _TRUTH:
        return "truth"
    return "number" if _NUMBER.fullmatch(text) else "date" if _DATE.fullmatch(text) else "text"


def _counts_up(numbers: Sequence[str | None], width: int) -> bool:
    """True if column names are consecutive numbers, such as years or column positions."""
    if not all(text is not None and text.strip().isdecimal() for text in numbers):
        return False
    integers = [int(text) for text in numbers if text is not None]
    if len(integers) < 3 and integers != [0, 1][: len(integers)]:
        return False
    steps = {after - before for before, after in itertools.pairwise(integers)}
    return len(integers) >= min(width, 2) and len(steps) == 1 and steps.pop() > 0


def _is_year_above_numbers(name: str | None, column: Sequence[str | None]) -> bool:
    """True if a name is a year and the values below it are not."""
    return _is_year(name) and not all(map(_is_year, column))


def _is_year(cell: str | None) -> bool:
    text = (cell or "").strip()
    return text.isdecimal() and len(text) == 4 and int(text) in _YEARS


def _short(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "...")
