"""Type inference for columns of text: integers, numbers, dates, timestamps, booleans, or text.

Evidence is gathered in batches, so a file is never held as text as a whole. A column gets the narrowest type that
*every* value fits. No guess loses information: codes with leading zeros stay text, and so do integers beyond 64 bits
and dates whose day and month could be swapped.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from reticent.errors import PolicyError, did_you_mean
from reticent.io.number_formats import INTEGERS, NUMBERS

TYPES = ("text", "integer", "number", "date", "timestamp", "boolean")
"""The types that ``types=`` may name; dates and timestamps also as ``date:%d/%m/%Y``, ``date:%Y%m``, ``timestamp:epoch``,
numbers as ``number:1,234.5``.
"""

MISSING_WORDS = ("", "NA", "N/A", "#N/A", "NULL", "null", "NaN", "nan", "None", "?", ".", "-")
"""Spellings of missing values in columns of numbers, dates and booleans. In text they are values like any other."""

# Integers of more than 15 digits would be rounded by a float, so they fit an integer or nothing.
_SHAPES = {
    "integer": r"^-?(?:0|[1-9]\d*)$",
    "number": r"^-?(?:(?:0|[1-9]\d{0,14})?\.\d+|(?:0|[1-9]\d{0,14})\.?)(?:[eE][-+]?\d+)?$",
    "number with comma": r"^-?(?:0|[1-9]\d{0,14})(?:,\d+)?$",
}
_DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d")
_SWAPPABLE = ("%d/%m/%Y", "%m/%d/%Y")
_TIMESTAMPS = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
)
_EPOCHS: Mapping[str | None, Literal["s", "ms"]] = {"epoch": "s", "epoch ms": "ms"}
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class TextKind:
    """A type that text can be parsed as, and its format."""

    name: str
    format: str | None = None

    def read(self, text: pl.Expr) -> pl.Expr:
        """Values of this type; null for anything that cannot be parsed."""
        return _READERS[self.name](text.str.strip_chars(), self.format)

    def fits(self, text: pl.Expr) -> pl.Expr:
        """True if parsing is lossless: ``007`` can be read as 7, but does not fit an integer."""
        stripped = text.str.strip_chars()
        readable = self.read(text).is_not_null()
        if self.name == "date" and "%Y" in (self.format or ""):
            # 05.01.31 is not a day of the year 31.
            readable = readable & stripped.str.contains(r"\d{4}")
        shape = _SHAPES.get(self.name) if self.format is None else None
        return readable & stripped.str.contains(shape) if shape is not None else readable

    def __str__(self) -> str:
        return self.name if self.format is None else f"{self.name}:{self.format}"


def _read_integer(text: pl.Expr, form: str | None) -> pl.Expr:
    """Return texts as integers, also such as 63.0; null for others."""
    if form is not None:
        return INTEGERS[form].read(text)
    # Integers are often stored as 63.0; declared integers may be written so.
    wide = text.cast(pl.Float64, strict=False)
    integral = pl.when((wide == wide.floor()) & (wide.abs() < 2.0**53)).then(wide).cast(pl.Int64, strict=False)
    return pl.coalesce(text.cast(pl.Int64, strict=False), integral)


def _read_number(text: pl.Expr, form: str | None) -> pl.Expr:
    if form is not None:
        return NUMBERS[form].read(text)
    return text.cast(pl.Float64, strict=False).fill_nan(None)


def _read_comma_number(text: pl.Expr, _: str | None) -> pl.Expr:
    return text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)


def _read_date(text: pl.Expr, form: str | None) -> pl.Expr:
    """Return texts as dates by a format; a month is its first day, and two-digit years are in the past."""
    form = form or "%Y-%m-%d"
    if "%d" not in form:
        # A month is its first day.
        return (text.str.replace(r"\.0*$", "") + " 01").str.to_date(f"{form} %d", strict=False)
    dates = text.str.to_date(form, strict=False)
    if "%y" not in form:
        return dates
    # Two-digit years: the latest century in which the day is not in the future.
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return pl.when(dates > today).then(dates.dt.offset_by("-100y")).otherwise(dates)


def _read_timestamp(text: pl.Expr, form: str | None) -> pl.Expr:
    """Return texts as timestamps by a format, or as seconds of an epoch."""
    if form in _EPOCHS:
        seconds = text.str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)
        return pl.from_epoch(seconds, time_unit=_EPOCHS[form]).cast(pl.Datetime("us"))
    form = form or _TIMESTAMPS[0]
    return text.str.to_datetime(form, strict=False, time_unit="us", time_zone="UTC" if "%#z" in form else None)


def _read_truth(text: pl.Expr, _: str | None) -> pl.Expr:
    return text.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)


def _read_text(text: pl.Expr, _: str | None) -> pl.Expr:
    return text


_READERS: Mapping[str, Callable[[pl.Expr, str | None], pl.Expr]] = {
    "integer": _read_integer,
    "number": _read_number,
    "number with comma": _read_comma_number,
    "date": _read_date,
    "timestamp": _read_timestamp,
    "boolean": _read_truth,
    "text": _read_text,
}
TEXT = TextKind("text")
_CANDIDATES = (
    TextKind("integer"),
    TextKind("number"),
    TextKind("boolean"),
    *(TextKind("date", form) for form in _DATES),
    *(TextKind("timestamp", form) for form in _TIMESTAMPS),
)
# Alternatives to numbers with decimals: integers whose decimal sign separates thousands.
_GROUPED = {"number": TextKind("integer", "1.234"), "number with comma": TextKind("integer", "1,234")}


def declared_kind(column: str, given: str) -> TextKind:
    """The type requested by ``types={column: given}``."""
    name, _, form = given.partition(":")
    numbers = {"number": NUMBERS, "integer": INTEGERS}.get(name, {})
    if name not in TYPES or (form and name not in ("date", "timestamp") and form not in numbers):
        listed = " or ".join(repr(f"{name}:{example}") for example in numbers)
        raise PolicyError(
            f"types: column {column!r} cannot be read as {given!r}.{did_you_mean(name, TYPES)} "
            f"The types are {', '.join(TYPES)}, and a date may give its format: 'date:%d/%m/%Y'{f'; so may a number: {listed}' if numbers else ''}.",
            setting=("types", column),
            value=given,
        )
    return TextKind(name, form or None)


def is_missing_word(text: pl.Expr) -> pl.Expr:
    """True if the text is one of the spellings of a missing value."""
    return text.str.strip_chars().is_in(list(MISSING_WORDS))


@dataclass
class TypeEvidence:
    """The types that the columns can still have after the batches so far. Mutable: it accumulates."""

    columns: Sequence[str]
    comma_decimals: bool = False
    _open: dict[str, list[TextKind]] = field(init=False)
    _grouped: dict[str, list[TextKind]] = field(init=False)
    _filled: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        extra = (TextKind("number with comma"),) if self.comma_decimals else ()
        self._open = {column: [*_CANDIDATES, *extra] for column in self.columns}
        self._grouped = {column: list(_GROUPED.values()) for column in self.columns}

    def add(self, texts: Mapping[str, pl.Series]) -> None:
        """Drop the types that some text does not fit; each text is needed only once. A few texts exclude most types; only then all are tested."""
        for column, kinds in self._open.items():
            if not kinds and column in self._filled:
                continue
            text = pl.col("text")
            distinct = pl.DataFrame({"text": texts[column]}).filter(text.is_not_null() & ~is_missing_word(text))
            if distinct.height == 0:
                continue
            self._filled.add(column)
            self._open[column] = left = _fitting(_fitting(kinds, distinct.head(50)), distinct)
            # Plain integers fit with and without separators, so they decide nothing.
            if left and left[0].name != "integer" and any(kind.name in _GROUPED for kind in left):
                grouped = self._grouped[column]
                self._grouped[column] = _fitting(_fitting(grouped, distinct.head(50)), distinct)

    def kinds(self) -> dict[str, TextKind]:
        """The type of each column: the first that all values fit, otherwise text."""
        return {column: self._decide(column, kinds) for column, kinds in self._open.items()}

    def doubts(self) -> dict[str, TextKind]:
        """Columns of numbers with exactly three decimals that may be integers with thousands separators: 1.234 and 1,234."""
        decided = {column: _GROUPED.get(kind.name) for column, kind in self.kinds().items()}
        return {column: kind for column, kind in decided.items() if kind is not None and kind in self._grouped[column]}

    def _decide(self, column: str, kinds: list[TextKind]) -> TextKind:
        """Return the type of a column: the first that all of its texts fit, or text if day and month could be swapped."""
        if column not in self._filled or not kinds:
            return TEXT
        forms = {kind.format for kind in kinds}
        if kinds[0].format in _SWAPPABLE and forms.issuperset(_SWAPPABLE):
            return TEXT
        return kinds[0]


def _fitting(kinds: Sequence[TextKind], values: pl.DataFrame) -> list[TextKind]:
    """Return the kinds that can represent every value of a column."""
    if not kinds:
        return []
    verdicts = values.select(kind.fits(pl.first()).all().alias(str(kind)) for kind in kinds).row(0, named=True)
    return [kind for kind in kinds if verdicts[str(kind)]]
