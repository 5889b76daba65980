"""The profile of a table: for every column its type, how many values it has, and how far they single people out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import polars as pl

from reticent.data import MISSING_WORDS

_EXAMPLES = 5
_LIKELY_MISSING = tuple(word for word in MISSING_WORDS if word not in ("", ".", "-"))


@dataclass(frozen=True)
class ColumnProfile:
    """What one column looks like. Examples are real values: for the steward's eyes only.

    ``single`` is the number of rows whose value nobody else has. ``missing_words`` are spellings of "nothing" among the values.
    """

    name: str
    type: str
    rows: int
    distinct: int
    nulls: int
    single: int
    examples: tuple[Any, ...]
    lowest: Any = None
    highest: Any = None
    missing_words: tuple[str, ...] = ()
    dtype: pl.DataType = field(default_factory=pl.String, repr=False)
    sample: pl.Series = field(default_factory=pl.Series, repr=False, compare=False)

    @property
    def filled(self) -> int:
        """Rows that have a value."""
        return self.rows - self.nulls

    @property
    def uniqueness(self) -> Fraction:
        """The share of rows with a value that nobody else has."""
        return Fraction(self.single, self.filled) if self.filled else Fraction(0)

    def as_dict(self) -> dict[str, Any]:
        """The profile as plain data."""
        return {
            "name": self.name,
            "type": self.type,
            "rows": self.rows,
            "distinct": self.distinct,
            "nulls": self.nulls,
            "single": self.single,
            "uniqueness": self.uniqueness,
            "examples": list(self.examples),
            "lowest": self.lowest,
            "highest": self.highest,
            "missing_words": list(self.missing_words),
        }


def profile(frame: pl.DataFrame) -> tuple[ColumnProfile, ...]:
    """The profiles of all columns."""
    return tuple(profile_column(frame[name]) for name in frame.columns)


def profile_column(series: pl.Series) -> ColumnProfile:
    """The profile of one column, from its value counts."""
    if series.dtype.is_float():
        series = series.fill_nan(None)
    filled = series.drop_nulls()
    if filled.dtype in (pl.Categorical, pl.Enum):
        filled = filled.cast(pl.String)
    counts = filled.alias("value").value_counts(sort=True, name="times")
    values, times = counts["value"], counts["times"]
    is_text = filled.dtype == pl.String
    ordered = filled.dtype.is_numeric() or filled.dtype.is_temporal()
    return ColumnProfile(
        name=series.name,
        type=_type_name(filled.dtype),
        rows=len(series),
        distinct=len(values),
        nulls=series.null_count(),
        single=int((times == 1).sum()),
        examples=tuple(values.head(_EXAMPLES).to_list()),
        lowest=filled.min() if ordered and len(filled) else None,
        highest=filled.max() if ordered and len(filled) else None,
        missing_words=_missing_words(values) if is_text else (),
        dtype=filled.dtype,
        sample=values.head(2000),
    )


def _missing_words(values: pl.Series) -> tuple[str, ...]:
    """Spellings of "nothing". ``NA`` among two-letter codes is Namibia, or another code."""
    found = values.filter(values.is_in(list(_LIKELY_MISSING))).to_list()
    others = values.filter(~values.is_in(list(_LIKELY_MISSING)))
    codes = len(others) > 0 and bool((others.str.len_chars() == 2).all())
    return tuple(sorted(word for word in found if not (word == "NA" and codes)))


def _type_name(dtype: pl.DataType) -> str:
    kinds: Sequence[tuple[bool, str]] = (
        (dtype == pl.Boolean, "boolean"),
        (dtype.is_integer(), "integer"),
        (dtype.is_numeric(), "number"),
        (dtype == pl.Date, "date"),
        (dtype == pl.Datetime, "timestamp"),
        (dtype == pl.String, "text"),
    )
    return next((name for holds, name in kinds if holds), str(dtype).lower())
