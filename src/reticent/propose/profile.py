"""The profile of a table: for every column its type, number of values, and how far they single people out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import polars as pl

from reticent.base.context import Context
from reticent.io import MISSING_WORDS
from reticent.propose.identifier_patterns import hidden_identifier
from reticent.propose.missing_answers import missing_answers
from reticent.propose.vocabulary import Kind

_EXAMPLES, _SAMPLE = 5, 2000
_NEGATIVE_CODES = frozenset((-1.0, -6.0, -7.0, -8.0, -9.0, -88.0, -97.0, -98.0, -99.0, -888.0, -998.0, -999.0, -9999.0))
_NINES = frozenset(
    (9.0, 97.0, 98.0, 99.0, 997.0, 998.0, 999.0, 9997.0, 9998.0, 9999.0, 99999.0, 999999.0, 9999999.0, 99999999.0)
)
_LIKELY_MISSING = tuple(word for word in MISSING_WORDS if word not in ("", ".", "-"))


@dataclass(frozen=True)
class ColumnProfile:
    """The profile of one column. Examples are real values: for the steward only.

    ``single`` is the number of rows with a unique value. ``missing_words`` are spellings of "missing" among the values,
    ``missing_codes`` numbers that probably mean it; ``hidden`` is the kind of identifier that some text contains.
    ``sample`` holds the most frequent values, ``times`` how often each occurs; ``parts`` are the sixteenths
    (quantiles). ``title`` is the column's title in a codebook, ``kind`` its meaning in the context of the other
    columns.
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
    missing_codes: tuple[str, ...] = ()
    hidden: str | None = None
    dtype: pl.DataType = field(default_factory=pl.String, repr=False)
    sample: pl.Series = field(default_factory=pl.Series, repr=False, compare=False)
    times: tuple[int, ...] = field(default=(), repr=False, compare=False)
    parts: tuple[float, ...] = field(default=(), repr=False, compare=False)
    title: str = field(default="", repr=False, compare=False)
    kind: Kind | None = field(default=None, repr=False, compare=False)

    @property
    def filled(self) -> int:
        """Number of rows that have a value."""
        return self.rows - self.nulls

    @property
    def uniqueness(self) -> Fraction:
        """Return the share of rows with a unique value."""
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
            "missing_codes": list(self.missing_codes),
            "hidden": self.hidden,
        }


def profile(frame: pl.DataFrame, context: Context | None = None) -> tuple[ColumnProfile, ...]:
    """Return the profiles of all columns; ``context`` reports progress and can stop the run."""
    profiles, context = [], context or Context()
    for number, name in enumerate(frame.columns):
        context.step("profiling columns", number, frame.width, name)
        profiles.append(profile_column(frame[name]))
    return tuple(profiles)


def profile_column(series: pl.Series) -> ColumnProfile:
    """Return the profile of one column, from its value counts."""
    name, series = series.name, series.alias("value")
    if series.dtype.is_float():
        series = series.fill_nan(None)
    filled = series.drop_nulls()
    if filled.dtype in (pl.Categorical, pl.Enum):
        filled = filled.cast(pl.String)
    counts = filled.value_counts(sort=True, name="times")
    values, times = counts["value"], counts["times"]
    is_text = filled.dtype == pl.String
    ordered = filled.dtype.is_numeric() or filled.dtype.is_temporal()
    return ColumnProfile(
        name=name,
        type=_type_name(filled.dtype),
        rows=len(series),
        distinct=len(values),
        nulls=series.null_count(),
        single=int((times == 1).sum()),
        examples=tuple(values.head(_EXAMPLES).to_list()),
        lowest=filled.min() if ordered and len(filled) else None,
        highest=filled.max() if ordered and len(filled) else None,
        missing_words=_missing_words(values) if is_text else (),
        missing_codes=_missing_codes(values) if filled.dtype.is_numeric() else (),
        hidden=hidden_identifier(values, times) if is_text else None,
        dtype=filled.dtype,
        sample=values.head(_SAMPLE),
        times=tuple(times.head(_SAMPLE).to_list()),
        parts=_sixteenths(filled) if filled.dtype.is_numeric() else (),
    )


def _missing_words(values: pl.Series) -> tuple[str, ...]:
    """Return spellings of "missing", of readers of files and of people. ``NA`` among two-letter codes is Namibia, or another code."""
    likely_words = values.filter(values.is_in(list(_LIKELY_MISSING))).to_list()
    other_values = values.filter(~values.is_in(list(_LIKELY_MISSING)))
    codes = len(other_values) > 0 and bool((other_values.str.len_chars() == 2).all())
    spellings = {word for word in likely_words if not (word == "NA" and codes)}
    return tuple(sorted(spellings.union(missing_answers(other_values))))


def _missing_codes(values: pl.Series) -> tuple[str, ...]:
    """Return numbers that probably mean "missing": the only negative ones, or nines far above all others."""
    ordered = values.cast(pl.Float64, strict=False).drop_nulls().sort().to_list()
    ordinary = [value for value in ordered if value not in _NEGATIVE_CODES and value not in _NINES]
    if len(ordinary) < 2:
        return ()
    codes = [value for value in ordered if value in _NEGATIVE_CODES and ordinary[0] >= 0]
    codes += [value for value in ordered if value in _NINES and value > 2 * ordinary[-1] and ordinary[0] >= 0]
    return tuple(str(int(code)) for code in codes)


def _sixteenths(filled: pl.Series) -> tuple[float, ...]:
    """Return the 15 quantiles at multiples of 1/16; empty if a number is not finite."""
    wide = filled.cast(pl.Float64, strict=False)
    if not len(wide) or not wide.is_finite().all():
        return ()
    return tuple(float(wide.quantile(part / 16, "nearest") or 0.0) for part in range(1, 16))


def _type_name(dtype: pl.DataType) -> str:
    """Return the name of a column type as profiles call it."""
    type_tests: Sequence[tuple[bool, str]] = (
        (dtype == pl.Boolean, "boolean"),
        (dtype.is_integer(), "integer"),
        (dtype.is_numeric(), "number"),
        (dtype == pl.Date, "date"),
        (dtype == pl.Datetime, "timestamp"),
        (dtype == pl.String, "text"),
    )
    return next((name for holds, name in type_tests if holds), str(dtype).lower())
