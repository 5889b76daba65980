"""Text that a spreadsheet would execute as a formula: ``=HYPERLINK(...)``, ``+cmd``, ``-2+3``, ``@SUM(...)``, or text
after a tab or a line break.

CSV files prefix such text with an apostrophe, which spreadsheets read as "this is text". Text that already has
apostrophes before a formula gets one more, so every text round-trips: :func:`unescaped` inverts :func:`escaped`.
Numbers (``-5``, ``+3.5 %``) and single signs are not escaped. File formats with typed cells need none of this.
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
    """The inverse of :func:`escaped`."""
    changed = [_as_text(frame[name]).str.replace(_ESCAPED, "${1}") for name in _columns_with(frame, _ESCAPED)]
    return frame.with_columns(changed) if changed else frame


def escaped_name(name: str) -> str:
    """A column name as written in a header."""
    return f"'{name}" if _NAME.match(name) else name


def unescaped_values(text: pl.Expr) -> pl.Expr:
    """The inverse of :func:`escaped` as a lazy expression on text columns."""
    return text.map_batches(lambda values: unescaped(values.to_frame()).to_series(), is_elementwise=True)


def formula_columns(frame: pl.DataFrame) -> list[str]:
    """The columns with text that begins like a formula, in order."""
    return _columns_with(frame, _FORMULA)


def _columns_with(frame: pl.DataFrame, pattern: str) -> list[str]:
    """Return the names of the text columns in which some value matches ``pattern``."""
    # All columns in one query: for few rows, planning takes longer than running it.
    columns = {name: frame[name] for name, dtype in frame.schema.items() if dtype in _TEXT}
    texts = [_as_text(column) for column in columns.values() if not _is_free_of(column, pattern)]
    return [
        has_match.name for has_match in pl.DataFrame(texts).select(pl.all().str.contains(pattern).any()) if has_match[0]
    ]


def _is_free_of(column: pl.Series, pattern: str) -> bool:
    """True if no category of a categorical column matches; unused categories may make it False."""
    if column.dtype == pl.String:
        return False
    codes = column.dtype.categories if isinstance(column.dtype, pl.Enum) else column.unique().cast(pl.String)
    return not codes.str.contains(pattern).any()


def _as_text(column: pl.Series) -> pl.Series:
    return column if column.dtype == pl.String else column.cast(pl.String)
