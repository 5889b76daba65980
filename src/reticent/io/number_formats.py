"""Formatted numbers: ``1,234.50``, ``1.234,50 €``, ``$1,200``, ``12 %``, ``(300)``.

A format is named by an example: ``number:1,234.5`` has a comma between thousands and a decimal point, ``integer:1.234``
a point between thousands and no decimals. In every format a number may have a currency or a percent sign, which is
dropped (12 % is 12), and a negative one may be in parentheses or have a trailing minus. The thousands separator is
optional, but if present, groups have three digits (in India also two).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

_CURRENCIES = r"(?:US|A|C|R|NZ|HK|S)?\$|[€£¥₹₽₩₺₴₫₪₱฿¢]|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|RUB|TRY|KRW|Fr\.|kr\.?|zł|Kč|Ft"
_SPACES = "[\u00a0\u2007\u2009\u202f]"
_MINUS = "[\u2212\u2013]"
_UNADORNED = r"^-?\d*$"
_ENOUGH, _ENOUGH_GROUPED = 50, 3
# More would be rounded by a float.
_MOST_DIGITS = 15


@dataclass(frozen=True)
class NumberFormat:
    """The thousands separator and the decimal separator (none: integers only)."""

    thousands: str
    decimal: str

    def read(self, text: pl.Expr) -> pl.Expr:
        """The numbers that texts in this format represent; null for any other text."""
        parts = _plain(text).str.extract_groups(self._pattern)
        digits = parts.struct.field("digits").str.replace_all(self.thousands, "", literal=True)
        if self.decimal:
            digits = digits.str.replace(self.decimal, ".", literal=True)
        opened, closed = (parts.struct.field(name) == mark for name, mark in (("opening", "("), ("closing", ")")))
        signs = [parts.struct.field(name) == "-" for name in ("before", "within", "behind")]
        negative = opened | pl.any_horizontal(signs)
        has_one_sign = pl.sum_horizontal(opened.cast(pl.Int8), *(sign.cast(pl.Int8) for sign in signs)) < 2
        is_exact = digits.str.count_matches(r"\d") <= _MOST_DIGITS
        size = pl.when((opened == closed) & has_one_sign & is_exact).then(digits.cast(pl.Float64, strict=False))
        signed = pl.when(negative).then(-size).otherwise(size)
        return signed if self.decimal else signed.cast(pl.Int64, strict=False)

    @property
    def _pattern(self) -> str:
        """Return the regular expression of a number in this format, with its sign, parentheses, currency or percent sign."""
        between, point = re.escape(self.thousands), re.escape(self.decimal)
        grouped = rf"[1-9]\d{{0,2}}(?:{between}\d{{2,3}})*{between}\d{{3}}|"
        number = rf"(?:{grouped}0|[1-9]\d*)"
        if self.decimal:
            number = rf"(?:{number}(?:{point}\d+)?|{point}\d+)"
        sign, currency = r"[-+]?", rf"(?:{_CURRENCIES})?"
        return (
            rf"^(?P<opening>\(?)\s*(?P<before>{sign})\s*{currency}\s*(?P<within>{sign})\s*(?P<digits>{number})\s*(?:{_CURRENCIES}|%)?\s*(?P<behind>-?)\s*"
            r"(?P<closing>\)?)$"
        )


NUMBERS = {
    "1,234.5": NumberFormat(",", "."),
    "1.234,5": NumberFormat(".", ","),
    "1 234,5": NumberFormat(" ", ","),
    "1 234.5": NumberFormat(" ", "."),
    "1'234.5": NumberFormat("'", "."),
}
"""Formats of numbers with decimals, by an example of each."""

INTEGERS = {
    "1,234": NumberFormat(",", ""),
    "1.234": NumberFormat(".", ""),
    "1 234": NumberFormat(" ", ""),
    "1'234": NumberFormat("'", ""),
}
"""Formats of integers, by an example of each."""


@dataclass(frozen=True)
class WrittenNumbers:
    """How a column of text writes numbers. ``kind`` is the type to read it as (``integer:1,234``) if it is unambiguous;
    otherwise ``doubt`` is the reason.

    ``example`` is a text of the column, ``value`` the number that it represents.
    """

    kind: str | None
    example: str
    value: float | None = None
    doubt: str = ""

    @classmethod
    def of(cls, texts: pl.Series) -> WrittenNumbers | None:
        """The format of distinct ``texts`` with separators, currencies, percent signs or parentheses; None if a text is
        not a number, or all are plain.
        """
        if not texts.str.contains(r"\d").all():
            return None
        column = pl.col("text")
        frame = texts.alias("text").to_frame().with_columns(plain=_plain(column))
        odd = frame.filter(~pl.col("plain").str.contains(_UNADORNED))["text"]
        if not len(odd):
            return None
        readings: dict[str, pl.Series] = {}
        for part in (frame.head(_ENOUGH), frame):
            names = list(readings) or list(_FORMATS)
            parsed = part.select(_FORMATS[name].read(column).cast(pl.Float64).alias(name) for name in names)
            readings = {name: parsed[name] for name in names if not parsed[name].null_count()}
            if not readings:
                return None
        return cls._decided(frame, readings, max(odd, key=lambda text: (len(text), text)))

    @classmethod
    def _decided(cls, frame: pl.DataFrame, readings: dict[str, pl.Series], example: str) -> WrittenNumbers | None:
        """Choose among the ``readings`` of a column of numbers as text, by the name of a format; no reading but a doubt if they are ambiguous, None if the column is better left as text.

        ``frame`` has the columns ``text`` and ``plain`` (without blanks), ``example`` is one of the texts.
        """
        texts = frame["plain"]
        signs = frame.select(_sign(pl.col("plain")))["plain"]
        distinct_signs = signs.drop_nulls().unique().sort().to_list()
        if len(distinct_signs) > 1:
            return cls(None, example, doubt=f"it mixes {' and '.join(distinct_signs)}")
        if distinct_signs == ["%"] and signs.null_count():
            return cls(None, example, doubt="some of its numbers have a percent sign and others have none")
        if texts.str.starts_with("(").all():
            return None
        integer_readings = [name for name in readings if name.startswith("integer")]
        reading = (integer_readings or list(readings))[0]
        readings_agree = all(values.equals(readings[reading]) for values in readings.values())
        grouped = texts.str.contains(r"\d[,.' ]\d")
        if not readings_agree and not (
            integer_readings
            and (distinct_signs not in ([], ["%"]) or _numbers_below_thousand_stand_alone(texts, grouped))
        ):
            return cls(None, example, doubt=f"{_first(texts, grouped)} may be read as {_both(readings, grouped)}")
        if reading == "integer:1 234" and not distinct_signs and grouped.all():
            # Telephone numbers and codes look like this, too.
            return None
        return cls(reading, example, readings[reading][frame["text"].index_of(example) or 0])


_FORMATS = {
    **{f"integer:{example}": form for example, form in INTEGERS.items()},
    **{f"number:{example}": form for example, form in NUMBERS.items()},
}


def _numbers_below_thousand_stand_alone(texts: pl.Series, grouped: pl.Series) -> bool:
    """True if numbers have a separator exactly if they have four digits: then it separates thousands."""
    ungrouped_lengths = texts.filter(~grouped).str.replace_all(r"\D", "").str.len_chars()
    return len(ungrouped_lengths) > 0 and int(grouped.sum()) >= _ENOUGH_GROUPED and bool((ungrouped_lengths <= 3).all())


def _first(texts: pl.Series, grouped: pl.Series) -> str:
    return repr(texts.filter(grouped)[0] if grouped.any() else texts[0])


def _both(readings: dict[str, pl.Series], grouped: pl.Series) -> str:
    values = {values.filter(grouped)[0] if grouped.any() else values[0] for values in readings.values()}
    return " or ".join(f"{value:.15g}" for value in sorted(values))


def _sign(text: pl.Expr) -> pl.Expr:
    """The currency or percent sign of a number, null if it has none."""
    return text.str.extract(rf"({_CURRENCIES}|%)", 1)


def _plain(text: pl.Expr) -> pl.Expr:
    """The text with normalized spaces, minus signs and apostrophes."""
    return (
        text.str.strip_chars()
        .str.replace_all(_SPACES, " ")
        .str.replace_all(_MINUS, "-")
        .str.replace_all("’", "'", literal=True)
    )
