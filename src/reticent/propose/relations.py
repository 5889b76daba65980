"""Columns that follow from each other: a wage and its logarithm, a date and its year, a code and its label, indicators that sum to one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

_FEWEST_ROWS, _FEWEST_OTHERS = 20, 5
_SAMPLE = 2000


@dataclass(frozen=True)
class ColumnRelation:
    """``derived`` can be computed from ``sources``; ``how`` says so in words. ``both`` ways: each tells as much as the other."""

    derived: str
    sources: tuple[str, ...]
    how: str
    both: bool = False


def relations(frame: pl.DataFrame, names: Sequence[str]) -> tuple[ColumnRelation, ...]:
    """The relations among some columns; each column is derived at most once, and never from one that is derived itself."""
    if frame.height < _FEWEST_ROWS:
        return ()
    whole = {name: _Coded.of(frame[name]) for name in names}
    usable = [name for name in names if whole[name].distinct > 1 and whole[name].others >= _FEWEST_OTHERS]
    step = max(1, frame.height // _SAMPLE)
    first = {name: _Coded.of(frame[name].gather_every(step)) for name in usable}
    found: dict[str, ColumnRelation] = {}
    for one, other in itertools.combinations(usable, 2):
        # The one with more values, among equals the one that comes first, is the source.
        source, derived = (one, other) if whole[one].distinct >= whole[other].distinct else (other, one)
        if source in found or derived in found or not _follows(first[source], first[derived]):
            continue
        relation = _relation(source, whole[source], derived, whole[derived])
        if relation is not None:
            found[derived] = relation
    for group in _indicators(frame, [name for name in usable if name not in found]):
        found[group[-1]] = ColumnRelation(
            group[-1], group[:-1], f"is 1 exactly where none of {', '.join(map(repr, group[:-1]))} is"
        )
    return tuple(found.values())


@dataclass(frozen=True)
class _Coded:
    """A column as codes in the order of its values; missing values are a value of their own, and the last."""

    values: pl.Series
    codes: NDArray[np.int64]
    distinct: int
    others: int

    @classmethod
    def of(cls, values: pl.Series) -> _Coded:
        if values.dtype in (pl.Categorical, pl.Enum):
            values = values.cast(pl.String)
        if values.dtype.is_float():
            values = values.fill_nan(None)
        if values.dtype.is_nested():
            return cls(values, np.zeros(len(values), dtype=np.int64), 1, 0)
        codes = values.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
        counts = np.bincount(codes)
        return cls(values, codes, int((counts > 0).sum()), len(codes) - int(counts.max(initial=0)))

    @property
    def ordered(self) -> bool:
        return self.values.dtype.is_numeric() or self.values.dtype.is_temporal()


def _follows(source: _Coded, derived: _Coded) -> bool:
    pairs = np.unique(source.codes * (int(derived.codes.max(initial=0)) + 1) + derived.codes)
    return len(pairs) == source.distinct


def _relation(source_name: str, source: _Coded, derived_name: str, derived: _Coded) -> ColumnRelation | None:
    if not _follows(source, derived):
        return None
    both = source.distinct == derived.distinct
    sources = (source_name,)
    if source.values.dtype.is_temporal() and (part := _part(source.values, derived.values)) is not None:
        return ColumnRelation(derived_name, sources, f"is the {part} of {source_name!r}", both)
    if source.ordered and derived.ordered and _monotone(source.codes, derived.codes):
        return ColumnRelation(derived_name, sources, _words(source, derived, source_name), both)
    if both and 2 * source.distinct <= len(source.codes):
        return ColumnRelation(derived_name, sources, f"has one value for each value of {source_name!r}", True)
    if not source.ordered and derived.distinct == 2 and source.distinct <= 100 and _of_one_value(source, derived):
        return ColumnRelation(derived_name, sources, f"says whether {source_name!r} has one certain value")
    return None


def _part(dates: pl.Series, values: pl.Series) -> str | None:
    if not values.dtype.is_integer() or dates.dtype not in (pl.Date, pl.Datetime):
        return None
    parts: dict[str, pl.Series] = {
        "year": dates.dt.year(),
        "quarter": dates.dt.quarter(),
        "month": dates.dt.month(),
        "week": dates.dt.week(),
        "weekday": dates.dt.weekday(),
        "day": dates.dt.day(),
    }
    whole = values.cast(pl.Int64)
    return next((name for name, part in parts.items() if bool((part.cast(pl.Int64) == whole).all())), None)


def _monotone(source: NDArray[np.int64], derived: NDArray[np.int64]) -> bool:
    filled = (source > 0) & (derived > 0)
    steps = np.diff(derived[filled][np.argsort(source[filled], kind="stable")])
    return bool(len(steps)) and (bool((steps >= 0).all()) or bool((steps <= 0).all()))


def _words(source: _Coded, derived: _Coded, name: str) -> str:
    """How numbers follow: by a line, a square, a logarithm, or in order only."""
    filled = source.values.is_not_null() & derived.values.is_not_null()
    if not (source.values.dtype.is_numeric() and derived.values.dtype.is_numeric()):
        return f"rises or falls with {name!r}"
    x = source.values.filter(filled).cast(pl.Float64).to_numpy()
    y = derived.values.filter(filled).cast(pl.Float64).to_numpy()
    shapes: list[tuple[str, Any]] = [
        (f"is {name!r} on another scale", x),
        (f"follows from the square of {name!r}", x * x),
    ]
    if (x > 0).all():
        shapes.append((f"follows from the logarithm of {name!r}", np.log(x)))
    if (x >= 0).all():
        shapes.append((f"follows from the square root of {name!r}", np.sqrt(x)))
    for words, shape in shapes:
        with np.errstate(all="ignore"):
            likeness = abs(np.corrcoef(shape, y)[0, 1])
        if likeness > 1 - 1e-6:
            return words
    return f"rises or falls with {name!r}"


def _of_one_value(source: _Coded, derived: _Coded) -> bool:
    """Whether one side of a column of two values is one value of the source."""
    low = derived.codes == derived.codes.min()
    return len(np.unique(source.codes[low])) == 1 or len(np.unique(source.codes[~low])) == 1


def _indicators(frame: pl.DataFrame, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Neighbouring columns of 0 and 1, three or more, of which exactly one is 1 in every row."""
    runs: list[tuple[str, ...]] = []
    marked = {name: marks for name in names if (marks := _marks(frame[name])) is not None}
    start = 0
    while start < len(names):
        total = np.zeros(frame.height, dtype=np.int64)
        for end in range(start, len(names)):
            marks = marked.get(names[end])
            if marks is None:
                break
            total += marks
            if total.max(initial=0) > 1:
                break
            if end >= start + 2 and total.min(initial=1) == 1:
                runs.append(tuple(names[start : end + 1]))
                start = end
                break
        start += 1
    return runs


def _marks(values: pl.Series) -> NDArray[np.int64] | None:
    if values.null_count() or not (values.dtype == pl.Boolean or values.dtype.is_numeric()):
        return None
    plain = values.cast(pl.Float64)
    return plain.cast(pl.Int64).to_numpy() if plain.is_in([0.0, 1.0]).all() else None
