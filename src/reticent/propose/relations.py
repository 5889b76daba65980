"""Columns that follow from each other: a wage and its logarithm, a date and its year, a code and its label, a sum and its parts, indicators of one category.

What follows from another column tells nothing new, and published beside it would undo its recoding. So it counts once as knowledge: the derived column is
left out, and its rule says how to recompute it from what is published.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

_FEWEST_ROWS, _FEWEST_OTHERS = 20, 5
_SAMPLE = 2000
_COMPARED, _MOST_COMPARED, _FEWEST_COMPARED = 64, 100, 16
_NEAR = 1e-5
_MOST_BANDS, _MOST_CATEGORIES = 12, 100
_SEEN_OFTEN = 0.5


@dataclass(frozen=True)
class RelationFormula:
    """``slope`` times a function of the source (``shape``) plus ``intercept``."""

    shape: str
    slope: float
    intercept: float

    def of(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The derived numbers."""
        with np.errstate(all="ignore"):
            found: NDArray[np.float64] = self.slope * _SHAPES[self.shape][1](numbers) + self.intercept
        return found

    def words(self, source: str) -> str:
        """The formula, to be read after "is"."""
        return _linear(self.slope, _SHAPES[self.shape][0].format(repr(source)), self.intercept)


_SHAPES: Mapping[str, tuple[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]]] = {
    "line": ("{}", lambda x: x),
    "square": ("the square of {}", np.square),
    "log": ("the natural logarithm of {}", np.log),
    "root": ("the square root of {}", np.sqrt),
    "inverse": ("1 / {}", lambda x: 1 / x),
}
_PLAINEST = ("square", "log", "inverse", "root", "line")
"""Of two columns that follow from each other, the one that is the square or the logarithm of the other is derived."""


@dataclass(frozen=True)
class ColumnRelation:
    """``derived`` can be computed from ``sources``; ``how`` says so in words, with the rule. ``both`` ways: each tells as much as the other.

    ``formula`` is the rule of a number that follows from one other.
    """

    derived: str
    sources: tuple[str, ...]
    how: str
    both: bool = False
    formula: RelationFormula | None = None


def relations(frame: pl.DataFrame, names: Sequence[str], dear: Mapping[str, int]) -> tuple[ColumnRelation, ...]:
    """The relations among some columns; each column is derived at most once, and never from one that is derived itself.

    Where either of two could be derived, it is the one that is less ``dear`` (a smaller number is dearer), or else the later one.
    """
    if frame.height < _FEWEST_ROWS:
        return ()
    whole = {name: _Coded.of(frame[name]) for name in names}
    usable = [name for name in names if whole[name].distinct > 1 and whole[name].others >= _FEWEST_OTHERS]
    found = {each.derived: each for each in _computed(frame, usable, dear)}
    step = max(1, frame.height // _SAMPLE)
    first = {name: _Coded.of(frame[name].gather_every(step)) for name in usable}
    for one, other in itertools.combinations(usable, 2):
        # The one with more values, among equals the one that comes first, is the source.
        source, derived = (one, other) if whole[one].distinct >= whole[other].distinct else (other, one)
        if one in found or other in found or not _follows(first[source], first[derived]):
            continue
        relation = _relation(source, whole[source], derived, whole[derived], dear)
        if relation is None or any(
            relation.derived in each.sources and len(each.sources) > 1 for each in found.values()
        ):
            continue
        for each in [each for each in found.values() if each.sources == (relation.derived,)]:
            # What follows from the derived one follows from its source, too.
            far = relation.sources[0]
            direct = _relation(far, whole[far], each.derived, whole[each.derived], dear)
            straight = direct is not None and direct.derived == each.derived
            found[each.derived] = (
                direct
                if direct is not None and straight
                else ColumnRelation(each.derived, (far,), f"follows from {far!r}")
            )
        found[relation.derived] = relation
    for group in families(frame, [name for name in usable if name not in found]):
        if _total(frame, group).min() == 1:
            last = group[-1]
            listed = ", ".join(map(repr, group[:-1]))
            found[last] = ColumnRelation(last, group[:-1], f"is 1 exactly where none of {listed} is")
    return tuple(found.values())


def families(frame: pl.DataFrame, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Neighbouring columns of 0 and 1, three or more, of which at most one is 1 in every row, and one is in most: indicators of one category."""
    marked = {name: marks for name in names if (marks := _marks(frame[name])) is not None}
    runs: list[tuple[str, ...]] = []
    start = 0
    while start < len(names):
        total, end = np.zeros(frame.height, dtype=np.int64), start
        while end < len(names) and (marks := marked.get(names[end])) is not None and int((total + marks).max()) <= 1:
            total, end = total + marks, end + 1
        if end - start >= 3 and float(total.mean()) >= _SEEN_OFTEN:
            runs.append(tuple(names[start:end]))
        start = max(end, start + 1)
    return runs


def _total(frame: pl.DataFrame, group: Sequence[str]) -> NDArray[np.int64]:
    marks = [each for name in group if (each := _marks(frame[name])) is not None]
    return np.sum(marks, axis=0)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Coded:
    """A column as codes in the order of its values; missing values are a value of their own, and the first."""

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

    @property
    def is_whole(self) -> bool:
        return self.values.dtype.is_integer()

    def numbers(self) -> NDArray[np.float64] | None:
        return self.values.cast(pl.Float64).to_numpy() if self.values.dtype.is_numeric() else None


def _computed(frame: pl.DataFrame, names: Sequence[str], dear: Mapping[str, int]) -> Iterator[ColumnRelation]:
    """Sums and products of two other columns, looked up by a few rows and then checked on all."""
    numeric = [
        name
        for name in names
        if frame[name].dtype.is_numeric()
        and frame[name].n_unique() > 2
        and frame[name].null_count() < frame.height // 2
    ]
    marks = [
        name
        for name in names
        if frame[name].dtype.is_numeric() and name not in numeric and _marks(frame[name]) is not None
    ]
    if len(numeric) + len(marks) > _MOST_COMPARED:
        return
    held = {name: frame[name].cast(pl.Float64).fill_nan(None).to_numpy() for name in (*numeric, *marks)}
    filled = (
        np.flatnonzero(~np.isnan(np.array(list(held.values()))).any(axis=0)) if held else np.zeros(0, dtype=np.int64)
    )
    if len(filled) < _FEWEST_COMPARED:
        return
    rows = filled[np.linspace(0, len(filled) - 1, min(_COMPARED, len(filled))).astype(np.int64)]
    few = {name: values[rows] for name, values in held.items()}
    known = {_key(few[name]): name for name in reversed(numeric)}
    gone: set[str] = set()
    for one, other in itertools.combinations((*numeric, *marks), 2):
        for sign, combined in (("plus", few[one] + few[other]), ("times", few[one] * few[other])):
            result = known.get(_key(combined))
            if result is None or len({one, other, result}) < 3 or {one, other, result} & gone:
                continue
            if sign == "plus" and (one in marks or other in marks):
                continue
            relation = _checked(sign, one, other, result, held, dear)
            if relation is not None:
                gone.add(relation.derived)
                yield relation


def _checked(
    sign: str, one: str, other: str, result: str, held: Mapping[str, NDArray[np.float64]], dear: Mapping[str, int]
) -> ColumnRelation | None:
    a, b, c = held[one], held[other], held[result]
    combined = a + b if sign == "plus" else a * b
    same = np.isclose(combined, c, rtol=_NEAR, atol=_NEAR, equal_nan=True)
    if not same.all() or len(np.unique(a[~np.isnan(a)])) < 2:
        return None
    if sign == "times":
        return ColumnRelation(result, (one, other), f"is {one!r} times {other!r}")
    places = {name: place for place, name in enumerate(held)}
    derived = max((one, other, result), key=lambda name: (dear.get(name, 1), places[name]))
    if derived == result:
        return ColumnRelation(result, (one, other), f"is {one!r} plus {other!r}")
    rest = other if derived == one else one
    return ColumnRelation(derived, (result, rest), f"is {result!r} minus {rest!r}")


def _key(values: NDArray[np.float64]) -> bytes:
    """Numbers to four digits, so that those that were stored less exactly are found as well."""
    return " ".join(f"{value:.4g}" for value in (values + 0.0).tolist()).encode()


def _follows(source: _Coded, derived: _Coded) -> bool:
    pairs = np.unique(source.codes * (int(derived.codes.max(initial=0)) + 1) + derived.codes)
    return len(pairs) == source.distinct


def _relation(
    source_name: str, source: _Coded, derived_name: str, derived: _Coded, dear: Mapping[str, int]
) -> ColumnRelation | None:
    if not _follows(source, derived):
        return None
    if source.distinct == derived.distinct:
        return _alike(source_name, source, derived_name, derived, dear)
    sources = (source_name,)
    if source.values.dtype.is_temporal() and (part := _part(source.values, derived.values)) is not None:
        return ColumnRelation(derived_name, sources, f"is the {part} of {source_name!r}")
    if source.ordered and (bands := _bands(source, derived)) is not None:
        return ColumnRelation(derived_name, sources, bands.format(repr(source_name)))
    certain = _certain_value(source, derived)
    if certain is not None:
        return ColumnRelation(derived_name, sources, f"says whether {source_name!r} is {certain!r}")
    return None


def _alike(
    one_name: str, one: _Coded, other_name: str, other: _Coded, dear: Mapping[str, int]
) -> ColumnRelation | None:
    """Two columns of which each follows from the other: the derived one is that with a formula, less dear, not whole, or later."""
    if one.values.dtype.is_temporal() and (part := _part(one.values, other.values)) is not None:
        return ColumnRelation(other_name, (one_name,), f"is the {part} of {one_name!r}", True)
    tried: list[Any] = []
    for source_name, source, derived_name, derived in (
        (one_name, one, other_name, other),
        (other_name, other, one_name, one),
    ):
        formula = _formula(source.numbers(), derived.numbers())
        plain = source.is_whole or not derived.is_whole
        bent = len(_SHAPES) if formula is None else _PLAINEST.index(formula.shape)
        rank = (formula is None, -dear.get(derived_name, 1), not plain, bent, len(tried))
        tried.append((rank, source_name, source, derived_name, derived, formula))
    _, source_name, source, derived_name, derived, formula = min(tried, key=lambda each: each[0])
    if formula is not None:
        return ColumnRelation(derived_name, (source_name,), f"is {formula.words(source_name)}", True, formula)
    if source.ordered and derived.ordered and _monotone(source.codes, derived.codes):
        return ColumnRelation(
            derived_name, (source_name,), f"rises or falls with {source_name!r}, value by value", True
        )
    if 2 * source.distinct <= len(source.codes):
        return ColumnRelation(derived_name, (source_name,), f"has one value for each value of {source_name!r}", True)
    return None


def _formula(x: NDArray[np.float64] | None, y: NDArray[np.float64] | None) -> RelationFormula | None:
    """The formula that gives ``y`` from ``x`` wherever both are known."""
    if x is None or y is None:
        return None
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if len(np.unique(x)) < 2:
        return None
    for shape, (_, change) in _SHAPES.items():
        with np.errstate(all="ignore"):
            bent = change(x)
        if not np.isfinite(bent).all() or np.ptp(bent) == 0:
            continue
        slope, intercept = np.polyfit(bent, y, 1)
        formula = RelationFormula(shape, _short(slope), _short(intercept, float(np.abs(y).max())))
        if np.allclose(formula.of(x), y, rtol=_NEAR, atol=_NEAR * float(np.abs(y).max())):
            return formula
    return None


def _short(number: float, scale: float = 0.0) -> float:
    """A number as short as its precision allows: least squares give 0.9999999 where 1 is meant."""
    if abs(number) <= 1e-6 * scale:
        return 0.0
    return next(
        (near for digits in range(1, 8) if abs((near := float(f"{number:.{digits}g}")) - number) <= 1e-6 * abs(number)),
        float(f"{number:.7g}"),
    )


def _linear(slope: float, what: str, intercept: float) -> str:
    scaled = what if slope == 1 else f"{slope:g} times {what}"
    if intercept == 0:
        return scaled
    return f"{scaled} {'plus' if intercept > 0 else 'minus'} {abs(intercept):g}"


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
        **({"hour": dates.dt.hour()} if dates.dtype == pl.Datetime else {}),
    }
    whole = values.cast(pl.Int64)
    return next((name for name, part in parts.items() if bool((part.cast(pl.Int64) == whole).all())), None)


def _monotone(source: NDArray[np.int64], derived: NDArray[np.int64]) -> bool:
    filled = (source > 0) & (derived > 0)
    steps = np.diff(derived[filled][np.argsort(source[filled], kind="stable")])
    return bool(len(steps)) and (bool((steps >= 0).all()) or bool((steps <= 0).all()))


def _bands(source: _Coded, derived: _Coded) -> str | None:
    """Which values stand for which stretch of the source, if each stands for one."""
    filled = np.flatnonzero(source.codes > 0)
    order = filled[np.argsort(source.codes[filled], kind="stable")]
    changes = np.flatnonzero(np.diff(derived.codes[order])) + 1
    distinct = len(np.unique(derived.codes[order]))
    if distinct < 2 or len(changes) != distinct - 1 or distinct > _MOST_CATEGORIES:
        return None
    if distinct > _MOST_BANDS:
        return "has one value for each stretch of {}"
    firsts = order[np.concatenate([[0], changes])]
    ends = [source.values[int(place)] for place in firsts[1:]]
    names = [derived.values[int(place)] for place in firsts]
    told = [
        f"{names[0]} below {ends[0]}",
        *(f"{name} from {end} on" for name, end in zip(names[1:], ends, strict=True)),
    ]
    return "follows from {}: " + ", ".join(each.replace("{", "{{").replace("}", "}}") for each in told)


def _certain_value(source: _Coded, derived: _Coded) -> Any | None:
    """The one value of the source that one side of a column of two values stands for."""
    if source.ordered or derived.distinct != 2 or source.distinct > _MOST_CATEGORIES:
        return None
    low = derived.codes == derived.codes.min()
    for side in (~low, low):
        if len(np.unique(source.codes[side])) == 1:
            value = source.values[int(np.flatnonzero(side)[0])]
            return "missing" if value is None else value
    return None


def _marks(values: pl.Series) -> NDArray[np.int64] | None:
    if values.null_count() or not (values.dtype == pl.Boolean or values.dtype.is_numeric()):
        return None
    plain = values.cast(pl.Float64)
    return plain.cast(pl.Int64).to_numpy() if plain.is_in([0.0, 1.0]).all() else None
