"""Which published label covers which value: all that an adversary needs to place a person, from label meanings alone."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import DataError

Meaning = Mapping[str, Any]
_SHOWN = 4
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Cover:
    """The pairs (value, label) that fit, for the distinct values of a column; sorted by value."""

    values: NDArray[np.int64]
    labels: NDArray[np.int64]
    value_count: int
    label_count: int

    @property
    def is_single(self) -> NDArray[np.bool_]:
        """For each value whether at most one label fits, so that it has one place only."""
        return np.bincount(self.values, minlength=self.value_count) <= 1

    def lookup(self) -> NDArray[np.int64]:
        """The label of each value, -1 where none fits; meant for values that are single."""
        found = np.full(self.value_count, -1, dtype=np.int64)
        found[self.values] = self.labels
        return found

    def matrix(self) -> NDArray[np.bool_]:
        """One row per value, one column per label."""
        fits = np.zeros((self.value_count, self.label_count), dtype=bool)
        fits[self.values, self.labels] = True
        return fits


def cover(values: pl.Series, meanings: Sequence[Meaning], column: str) -> Cover:
    """Match distinct values against the meanings of labels. A null value is not known to the adversary: every label fits."""
    by_kind: dict[str, list[int]] = {}
    for number, meaning in enumerate(meanings):
        by_kind.setdefault(_kind(meaning, column), []).append(number)
    known = np.flatnonzero(values.is_not_null().to_numpy())
    unknown = np.flatnonzero(values.is_null().to_numpy())
    present = values.gather(known)
    found: list[Pairs] = [_product(unknown, np.arange(len(meanings)))]
    for kind, numbers in by_kind.items():
        chosen = [meanings[number] for number in numbers]
        places, labels = _MATCHERS[kind](present, chosen)
        found.append((known[places], np.array(numbers, dtype=np.int64)[labels]))
    pairs_values = np.concatenate([pair[0] for pair in found])
    pairs_labels = np.concatenate([pair[1] for pair in found])
    order = np.argsort(pairs_values, kind="stable")
    return Cover(pairs_values[order], pairs_labels[order], len(values), len(meanings))


def describe(meaning: Meaning) -> str:
    """A label's meaning in words."""
    if "value" in meaning:
        return str(meaning["value"])
    if "values" in meaning:
        listed = [str(value) for value in meaning["values"]]
        shown = ", ".join(listed[:_SHOWN])
        return shown if len(listed) == 1 else f"in {{{shown}{', ...' if len(listed) > _SHOWN else ''}}}"
    if "interval" in meaning:
        low, high = meaning["interval"]
        closed = meaning.get("closed", "left")
        left = "(-inf" if low is None else f"{'[' if closed in ('left', 'both') else '('}{low}"
        return f"in {left}, " + ("inf)" if high is None else f"{high}{']' if closed in ('right', 'both') else ')'}")
    if "prefix" in meaning:
        return str(meaning["prefix"]).ljust(int(meaning["length"]), "*")
    return "missing" if "null" in meaning else "anything"


def _kind(meaning: Meaning, column: str) -> str:
    for kind in _MATCHERS:
        if kind in meaning:
            return kind
    raise DataError(
        f"Column {column!r} has a label with the meaning {dict(meaning)!r}, which says nothing about values."
    )


def _match_values(present: pl.Series, meanings: Sequence[Meaning]) -> Pairs:
    """``{"value": v}`` and ``{"values": [...]}``: look the values up, read as the type that the adversary's column has."""
    listed = [[meaning["value"]] if "value" in meaning else list(meaning["values"]) for meaning in meanings]
    texts = pl.Series([_text(value) for values in listed for value in values], dtype=pl.String)
    labels = np.repeat(np.arange(len(listed)), [len(values) for values in listed])
    known = pl.DataFrame({"value": _read_as(texts, present.dtype), "label": labels})
    asked = pl.DataFrame({"value": _plain(present), "place": np.arange(len(present))})
    joined = asked.join(known, on="value", how="inner")
    return joined["place"].to_numpy(), joined["label"].to_numpy()


def _match_intervals(present: pl.Series, meanings: Sequence[Meaning]) -> Pairs:
    """``{"interval": [low, high], "closed": ...}``, open-ended where a bound is null; days for dates."""
    dated = any(isinstance(bound, str | datetime.date) for meaning in meanings for bound in meaning["interval"])
    numbers = _days(present) if dated else present.cast(pl.Float64, strict=False)
    order = numbers.arg_sort(nulls_last=True).to_numpy()[: len(numbers) - numbers.null_count()]
    rising = numbers.gather(order).to_numpy()
    places, labels = [], []
    for number, meaning in enumerate(meanings):
        low, high = meaning["interval"]
        closed = meaning.get("closed", "left")
        start = (
            0
            if low is None
            else int(np.searchsorted(rising, _number(low), "left" if closed in ("left", "both") else "right"))
        )
        stop = (
            len(rising)
            if high is None
            else int(np.searchsorted(rising, _number(high), "right" if closed in ("right", "both") else "left"))
        )
        inside = order[start : max(start, stop)]
        places.append(inside)
        labels.append(np.full(len(inside), number))
    return _joined(places), _joined(labels)


def _match_prefixes(present: pl.Series, meanings: Sequence[Meaning]) -> Pairs:
    """``{"prefix": text, "length": n}``: codes of n characters that begin so; integers are read with leading zeros."""
    texts = _plain(present).cast(pl.String)
    places, labels = [], []
    for number, meaning in enumerate(meanings):
        padded = texts.str.zfill(meaning["length"]) if present.dtype.is_integer() else texts
        fits = padded.str.starts_with(meaning["prefix"]) & (padded.str.len_chars() == meaning["length"])
        inside = np.flatnonzero(fits.to_numpy())
        places.append(inside)
        labels.append(np.full(len(inside), number))
    return _joined(places), _joined(labels)


def _match_nothing(present: pl.Series, meanings: Sequence[Meaning]) -> Pairs:
    """``{"null": True}``: no known value fits a missing one."""
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


def _match_everything(present: pl.Series, meanings: Sequence[Meaning]) -> Pairs:
    """``{"all": True}``: suppressed, so everybody fits."""
    return _product(np.arange(len(present)), np.arange(len(meanings)))


_MATCHERS = {
    "value": _match_values,
    "values": _match_values,
    "interval": _match_intervals,
    "prefix": _match_prefixes,
    "null": _match_nothing,
    "all": _match_everything,
}


def _plain(series: pl.Series) -> pl.Series:
    return series.cast(pl.String) if series.dtype == pl.Categorical or series.dtype == pl.Enum else series


def _read_as(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Values of a manifest, which are text there, as the type of the adversary's column; null where they cannot be."""
    if dtype == pl.Categorical or dtype == pl.Enum or dtype == pl.String:
        return texts
    if dtype == pl.Boolean:
        return texts.str.to_lowercase().replace_strict(
            ["true", "false"], [True, False], default=None, return_dtype=pl.Boolean
        )
    if dtype == pl.Date:
        return texts.str.to_date(strict=False)
    if isinstance(dtype, pl.Datetime):
        return texts.str.to_datetime(strict=False, time_unit=dtype.time_unit, time_zone=dtype.time_zone)
    return texts.cast(dtype, strict=False)


def _days(series: pl.Series) -> pl.Series:
    dates = series.str.to_date(strict=False) if series.dtype == pl.String else series.cast(pl.Date, strict=False)
    return dates.to_physical().cast(pl.Float64)


def _number(bound: Any) -> float:
    if isinstance(bound, str):
        bound = datetime.date.fromisoformat(bound[:10])
    if isinstance(bound, datetime.datetime):
        bound = bound.date()
    if isinstance(bound, datetime.date):
        return float((bound - datetime.date(1970, 1, 1)).days)
    return float(bound)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _product(first: NDArray[np.int64], second: NDArray[np.int64]) -> Pairs:
    return np.repeat(first, len(second)), np.tile(second, len(first))


def _joined(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
