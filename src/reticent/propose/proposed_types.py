"""Proposed types of columns of numbers or text whose type the file does not declare.

Integers are often stored as floats, category codes as numbers, and dates in many formats.
"""

from __future__ import annotations

import datetime

import polars as pl

from reticent.io import WrittenNumbers, declared_kind
from reticent.propose.names import is_nominal, meaning_of, words_of

_SPELLINGS = (
    "%d-%b-%y",
    "%d-%b-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d%b%Y",
    "%d.%m.%y",
    "%Y-%m",
    "%Y/%m",
    "%b %Y",
    "%b-%Y",
    "%m/%Y",
)
_DATE_WORDS = frozenset(
    ["date", "day", "dob", "birth", "born", "birthday", "month", "yearmonth", "ym", "datum", "fecha", "data"]
)
_TIME_WORDS = frozenset(
    ["time", "timestamp", "date", "at", "created", "updated", "epoch", "seen", "start", "end", "visit"]
)
_CODED = frozenset(["isco", "nace", "naics", "sic", "soc", "noc"])
_YEARS = (1850, 2100)
_EPOCH = (200_000_000, 4_200_000_000)
_ENOUGH, _MOST_CODES = 20, 60


def proposed_types(frame: pl.DataFrame) -> dict[str, str]:
    """Return the types of columns that should be read with another type than they have, in ``[data.types]`` syntax."""
    type_by_column = {name: _type_of(name, frame[name].alias("value").drop_nulls().unique()) for name in frame.columns}
    return {name: proposed for name, proposed in type_by_column.items() if proposed is not None}


def number_notes(frame: pl.DataFrame) -> list[str]:
    """Return one sentence for each text column that writes numbers with separators, currencies or percent signs, on how it is interpreted."""
    notes = []
    for name in frame.columns:
        spelling = (
            _written(name, frame[name].alias("value").drop_nulls().unique()) if frame[name].dtype == pl.String else None
        )
        if spelling is None:
            continue
        if spelling.kind is None:
            notes.append(
                f"Column {name!r} looks like numbers ({spelling.example!r}) but stays text: {spelling.doubt}. If you know better, set types = {{ {name!r} = "
                "'number:1,234.5' }, or '1.234,5', under [data]."
            )
            continue
        dropped = " Percent signs are dropped." if "%" in spelling.example else ""
        notes.append(
            f"Column {name!r} is read as numbers ({spelling.kind}): {spelling.example!r} is {spelling.value:.15g}.{dropped}"
        )
    return notes


def _written(name: str, values: pl.Series) -> WrittenNumbers | None:
    """Return how a text column writes numbers; None for codes of places and people, whatever they look like."""
    return None if meaning_of(name) in ("postcode", "identifier", "key") else WrittenNumbers.of(values)


def _type_of(name: str, values: pl.Series) -> str | None:
    """Return the type to declare for a column: dates in one spelling, numbers with separators, integers stored as floats, codes; None to keep its type."""
    if not len(values):
        return None
    if _has_more_digits(values):
        return "text"
    if values.dtype == pl.String:
        date_types = (f"date:{form}" for form in _SPELLINGS if _reads(values, f"date:{form}"))
        date_type = next(date_types, None)
        spelling = _written(name, values) if date_type is None else None
        return date_type if spelling is None else spelling.kind
    if values.dtype.is_float():
        filled = values.fill_nan(None).drop_nulls()
        if not len(filled) or not filled.is_finite().all() or not bool((filled == filled.floor()).all()):
            return None
        if float(filled.abs().max() or 0.0) >= 2.0**53:  # type: ignore[arg-type]  # the largest of numbers is one
            return None
        return _whole(name, filled.cast(pl.Int64)) or "integer"
    return _whole(name, values.cast(pl.Int64, strict=False)) if values.dtype.is_integer() else None


def _has_more_digits(values: pl.Series) -> bool:
    """True if a number has more digits than a float holds; as text none is lost."""
    if values.dtype in (pl.UInt64, pl.Int128, pl.UInt128):
        return bool(values.cast(pl.Int64, strict=False).null_count())
    if isinstance(values.dtype, pl.Decimal):
        return bool((values.cast(pl.Float64).cast(values.dtype, strict=False).ne_missing(values)).any())
    return False


def _whole(name: str, values: pl.Series) -> str | None:
    """Return the type of integers that are not numbers: category codes, days, months, seconds."""
    if values.null_count():
        return None
    if is_nominal(name) and 2 < len(values) <= _MOST_CODES:
        return "text"
    code_words = {word.rstrip("0123456789") for word in words_of(name)} & _CODED
    if code_words and int(values.min()) > 0 and values.cast(pl.String).str.len_chars().n_unique() == 1:  # type: ignore[arg-type]
        return "text"
    if meaning_of(name) == "postcode" and int(values.min()) > 0:  # type: ignore[arg-type]  # the least of whole numbers is one
        return "text" if values.cast(pl.String).str.len_chars().n_unique() == 1 else None
    words = set(words_of(name))
    low, high = int(values.min()), int(values.max())  # type: ignore[arg-type]  # the ends of whole numbers are whole
    may_be_date = len(values) >= _ENOUGH or bool(words & _DATE_WORDS)
    # 20240531 or 202405: the range of plausible years decides.
    for form, scale in (("%Y%m%d", 10_000), ("%Y%m", 100)):
        if (
            may_be_date
            and _YEARS[0] * scale <= low
            and high < _YEARS[1] * scale
            and _reads(values.cast(pl.String), f"date:{form}")
        ):
            return f"date:{form}"
    if words & _TIME_WORDS and len(values) >= _ENOUGH:
        if _EPOCH[0] <= low and high <= _EPOCH[1]:
            return "timestamp:epoch"
        if _EPOCH[0] * 1000 <= low and high <= _EPOCH[1] * 1000:
            return "timestamp:epoch ms"
    return None


def _reads(values: pl.Series, declared_type: str) -> bool:
    """True if every text parses as a date in this format, and none is implausible."""
    beginning = values.head(_ENOUGH)
    for batch in (beginning, values):
        dates = batch.to_frame("text").select(declared_kind("", declared_type).read(pl.col("text"))).to_series()
        if dates.null_count() or not bool(
            dates.is_between(datetime.date(_YEARS[0], 1, 1), datetime.date(_YEARS[1], 1, 1)).all()
        ):
            return False
    return True
