"""Text that a spreadsheet would run as a formula: ``=HYPERLINK(...)``, ``+cmd``, ``-2+3``, ``@SUM(...)``, or text behind a tab or a line end.

In CSV files such text stands behind an apostrophe, which spreadsheets take for "this is text". Text that has apostrophes before a formula already gets one more, so
that every text comes back as it was: :func:`unescaped` undoes :func:`escaped`. Numbers (``-5``, ``+3.5 %``) and single signs are none. Kinds of files that know types of
cells need none of this.
"""

from __future__ import annotations

import re

import polars as pl

_BEGINNING = r"'*(?:[=@\t\r\n＝＋－＠]|[+-].*[^\d., %])"
_FORMULA = rf"(?s)^({_BEGINNING})"
_ESCAPED = rf"(?s)^'({_BEGINNING})"
_NAME = re.compile(_BEGINNING, re.DOTALL)
_TEXT = (pl.String, pl.Categorical, pl.Enum)


def escaped(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with an apostrophe before every text that begins like a formula."""
    changed = [_as_text(frame[name]).str.replace(_FORMULA, "'${1}") for name in _columns_with(frame, _FORMULA)]
    return frame.with_columns(changed) if changed else frame


def unescaped(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame that :func:`escaped` was given."""
    changed = [_as_text(frame[name]).str.replace(_ESCAPED, "${1}") for name in _columns_with(frame, _ESCAPED)]
    return frame.with_columns(changed) if changed else frame


def escaped_name(name: str) -> str:
    """A column name as a header writes it."""
    return f"'{name}" if _NAME.match(name) else name


def unescaped_values(text: pl.Expr) -> pl.Expr:
    """The same of columns of text that are not yet read."""
    return text.map_batches(lambda values: unescaped(values.to_frame()).to_series(), is_elementwise=True)


def formula_columns(frame: pl.DataFrame) -> list[str]:
    """The columns that have text which begins like a formula, in their order."""
    return _columns_with(frame, _FORMULA)


def _columns_with(frame: pl.DataFrame, pattern: str) -> list[str]:
    # All columns in one query: where rows are few, asking takes longer than the answer.
    columns = {name: frame[name] for name, dtype in frame.schema.items() if dtype in _TEXT}
    texts = [_as_text(column) for column in columns.values() if not _is_free_of(column, pattern)]
    return [each.name for each in pl.DataFrame(texts).select(pl.all().str.contains(pattern).any()) if each[0]]


def _is_free_of(column: pl.Series, pattern: str) -> bool:
    """Whether no code of a column of codes matches, of which there may be more than occur."""
    if column.dtype == pl.String:
        return False
    codes = column.dtype.categories if isinstance(column.dtype, pl.Enum) else column.unique().cast(pl.String)
    return not codes.str.contains(pattern).any()


def _as_text(column: pl.Series) -> pl.Series:
    return column if column.dtype == pl.String else column.cast(pl.String)
