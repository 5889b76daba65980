"""A column's labels cut into pieces that a condition cannot tell apart inside.

Where the values of a column are known one by one, every value is a piece. Where they are not (a real interval, a
suppressed column whose domain is private), the constants that the condition compares with cut the labels: inside a
piece the condition's answer does not change, so one representative value speaks for all.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions.domain import Domain
from reticent.table import Anything, LeafIndex, LineSegment, Meaning, Prefix, ValueType, covers_missing

_MOST_LEAVES = 1 << 17
_LOW, _HIGH = "\x01", "\U0010ffff"


@dataclass(frozen=True)
class Pieces:
    """Representative ``values``, and which of them each label holds with what weight.

    Pair ``i`` says that label ``labels[i]`` holds piece ``members[i]``, which is ``weights[i]`` of it; a weight of zero is
    possible but has no measure. ``measured[l]`` is False when nothing public says how a label's values spread over
    its pieces. ``complete``: every value there is is a piece of its own; where it is not, ``stretches`` has the labels that
    are a stretch of the line.
    """

    values: pl.Series
    labels: NDArray[np.int64]
    members: NDArray[np.int64]
    weights: NDArray[np.float64]
    measured: NDArray[np.bool_]
    complete: bool
    stretches: Mapping[int, LineSegment] = field(default_factory=dict)

    def held(self, label: int) -> NDArray[np.int64]:
        """The pieces that a label holds."""
        low, high = np.searchsorted(self.labels, [label, label + 1])
        return self.members[low:high]

    def matrix(self, classes: NDArray[np.int64], count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Labels by classes of pieces: the weight that a label has in a class, and how many of its pieces are in it."""
        shape = (len(self.measured), count)
        where = self.labels * count + classes[self.members]
        weight = np.bincount(where, weights=self.weights, minlength=shape[0] * count)
        pieces = np.bincount(where, minlength=shape[0] * count)
        return weight.astype(np.float64).reshape(shape), pieces.astype(np.float64).reshape(shape)


@dataclass(frozen=True)
class CutPoints:
    """Where a condition cuts a column: constants that it compares with, and beginnings that it asks for."""

    constants: tuple[Any, ...] = ()
    prefixes: tuple[str, ...] = ()


def pieces_of(meanings: Sequence[Meaning], domain: Domain, cuts: CutPoints) -> Pieces:
    """Cut the labels of a column, given by their meanings, into pieces."""
    kind, leaves = domain.kind, domain.leaves
    if leaves is None:
        leaves = _listed_leaves(meanings, kind)
    if leaves is not None:
        return _from_leaves(meanings, leaves, kind, hidden=domain.may_miss and not leaves.null_count())
    if kind is ValueType.BOOLEAN:
        return _from_truth(meanings)
    return _from_text(meanings, cuts) if kind is ValueType.TEXT else _from_line(meanings, kind, cuts)


def _from_leaves(meanings: Sequence[Meaning], leaves: pl.Series, kind: ValueType, hidden: bool) -> Pieces:
    """Every leaf a piece; ``hidden``: and null, which a suppressed label may hide but has no weight."""
    values = pl.concat([leaves, pl.Series([None], dtype=leaves.dtype)]) if hidden else leaves
    index, null = LeafIndex(values, kind), len(leaves)
    members = [index.under(meaning) for meaning in meanings]
    weights = [np.where(hidden & (found == null) & (len(found) > 1), 0.0, 1.0) for found in members]
    return _assemble(values, members, weights, [True] * len(members), True)


def pieces_of_leaves(leaves: pl.Series) -> Pieces:
    """Every leaf a label of its own, for columns that are shown as they are."""
    each = np.arange(len(leaves))
    return Pieces(leaves, each, each, np.ones(len(leaves)), np.ones(len(leaves), dtype=bool), True)


def _assemble(
    values: pl.Series,
    members: Sequence[NDArray[np.int64]],
    weights: Sequence[NDArray[np.float64]],
    measured: Sequence[bool],
    complete: bool,
) -> Pieces:
    labels = np.repeat(np.arange(len(members)), [len(found) for found in members])
    joined = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
    weight = np.concatenate(weights) if weights else np.zeros(0)
    return Pieces(values, labels, joined.astype(np.int64), weight, np.array(measured, dtype=bool), complete)


def _listed_leaves(meanings: Sequence[Meaning], kind: ValueType) -> pl.Series | None:
    """All values that the labels stand for, when the labels name or bound them all and they are not too many."""
    found: dict[Any, None] = {}
    for meaning in meanings:
        if isinstance(meaning, Anything):
            return None
        listed = meaning.listed(kind)
        if listed is None:
            part = meaning.stretch(kind)
            if part is None or kind is ValueType.REAL or part.low is None or part.high is None:
                return None
            if part.high - part.low + len(found) > _MOST_LEAVES:
                return None
            listed = [kind.at_place(where) for where in range(int(part.low), int(part.high) + 1)]
            listed += [None] if covers_missing(meaning) else []
        found.update(dict.fromkeys(listed))
    return kind.series(list(found))


def _from_truth(meanings: Sequence[Meaning]) -> Pieces:
    """True, false, and null, which a suppressed label may hide but has no weight."""
    values = pl.Series([True, False, None])
    members, weights = [], []
    for meaning in meanings:
        listed = meaning.listed(ValueType.BOOLEAN)
        chosen = [0, 1, 2] if listed is None else [[True, False, None].index(value) for value in listed]
        members.append(np.array(chosen, dtype=np.int64))
        weights.append(np.array([0.0 if listed is None and piece == 2 else 1.0 for piece in chosen]))
    return _assemble(values, members, weights, [True] * len(members), True)


def _from_line(meanings: Sequence[Meaning], kind: ValueType, cuts: CutPoints) -> Pieces:
    """Points and the gaps between them; the last piece is null."""
    parts = [meaning.stretch(kind) for meaning in meanings]
    lists = [meaning.listed(kind) for meaning in meanings]
    marks = [end for part in parts if part is not None for end in (part.low, part.high) if end is not None]
    marks += [_where(value, kind) for values in lists if values is not None for value in values if value is not None]
    for constant in cuts.constants:
        where = kind.place(constant)
        marks += [float(where)] if kind is ValueType.REAL else [math.floor(where), math.ceil(where)]
    places, sizes = _points_and_gaps(_points(marks, kind), kind)
    values = kind.series([*(kind.at_place(where) for where in places), None])
    # Python's whole numbers where 64 bits are too few: numpy would make them floats.
    line, null = np.array(places, dtype=None if places[-1] < 2**63 else object), len(places)
    members, weights, measured = [], [], []
    for meaning, part, listed in zip(meanings, parts, lists, strict=True):
        if listed is not None:
            found = np.array(
                [null if value is None else np.searchsorted(line, _where(value, kind)) for value in listed],
                dtype=np.int64,
            )
            weight = np.ones(len(found))
        else:
            part = part or LineSegment(None, None)
            found = _inside(part, line)
            weight = np.array([sizes[piece] for piece in found])
            if covers_missing(meaning) or (part.low is None and part.high is None):
                found, weight = np.append(found, null), np.append(weight, 0.0)
        members.append(found)
        measured.append(bool(np.isfinite(weight).all()))
        weights.append(np.where(np.isfinite(weight), weight, 1.0) if weight.sum() > 0 else np.ones(len(found)))
    stretches = {
        number: part or LineSegment(None, None)
        for number, (part, listed) in enumerate(zip(parts, lists, strict=True))
        if listed is None
    }
    return replace(_assemble(values, members, weights, measured, False), stretches=stretches)


def _where(value: Any, kind: ValueType) -> float:
    found = kind.place(value)
    return float(found) if kind is ValueType.REAL else int(found)


def _points(marks: Sequence[float], kind: ValueType) -> list[float]:
    """The marks in order, once each; where there is none, any place. No value lies beyond the ends of the line, so that marks there cut nothing."""
    first, last = kind.ends()
    within = {float(mark) if kind is ValueType.REAL else int(mark) for mark in marks if first <= mark <= last}
    return sorted(within) or [_where(datetime.date(1970, 1, 1), kind) if kind.is_temporal else 0]


def _points_and_gaps(points: Sequence[float], kind: ValueType) -> tuple[list[float], list[float]]:
    """A place in every point and every gap, in order, and how much lies there (infinite before the first and after the last)."""
    real = kind is ValueType.REAL
    first, last = kind.ends()
    found: list[tuple[float, float]] = [(points[0], 0.0 if real else 1.0)]
    for low, high in pairwise(points):
        # Half of each, since the sum may be too large for a float.
        between = low / 2 + high / 2 if real else low + 1
        if low < between < high:
            found.append((between, high - low - (0 if real else 1)))
        found.append((high, 0.0 if real else 1.0))
    # One less than a large float may be the same float.
    before = min(points[0] - 1, math.nextafter(points[0], -math.inf)) if real else points[0] - 1
    behind = max(points[-1] + 1, math.nextafter(points[-1], math.inf)) if real else points[-1] + 1
    outer = [(before, math.inf)] if points[0] > first else [], [(behind, math.inf)] if points[-1] < last else []
    whole = [*outer[0], *found, *outer[1]]
    return [where for where, _ in whole], [size for _, size in whole]


def _inside(part: LineSegment, line: NDArray[Any]) -> NDArray[np.int64]:
    low = 0 if part.low is None else int(np.searchsorted(line, part.low, "left" if part.low_closed else "right"))
    high = (
        len(line)
        if part.high is None
        else int(np.searchsorted(line, part.high, "right" if part.high_closed else "left"))
    )
    return np.arange(low, high)


def _from_text(meanings: Sequence[Meaning], cuts: CutPoints) -> Pieces:
    """The texts that labels list, all digits under a mask, and around each constant of the condition the texts just beside it."""
    listed = {value for meaning in meanings for value in meaning.listed(ValueType.TEXT) or ()}
    strangers: dict[str, None] = dict.fromkeys(_beside([*cuts.constants, *cuts.prefixes]))
    completions: dict[int, list[str]] = {}
    for number, meaning in enumerate(meanings):
        if isinstance(meaning, Prefix):
            completions[number] = _completions(meaning)
            strangers.update(dict.fromkeys(_masked(meaning, [*cuts.constants, *cuts.prefixes])))
    digits = {text for texts in completions.values() for text in texts}
    known = dict.fromkeys([*(text for text in listed if text is not None), *sorted(digits), *strangers])
    position = {text: number for number, text in enumerate(known)}
    null = len(position)
    members, weights, measured = [], [], []
    for number, meaning in enumerate(meanings):
        values = meaning.listed(ValueType.TEXT)
        if values is not None:
            found = [null if value is None else position[value] for value in values]
            weight = [1.0] * len(found)
        elif isinstance(meaning, Prefix):
            exact = {position[text] for text in completions[number]}
            found = [where for text, where in position.items() if meaning.fits(text)]
            weight = [1.0 if where in exact or not exact else 0.0 for where in found]
        else:
            exact, found, weight = set(), [*position.values(), null], [1.0] * (null + 1)
        members.append(np.array(found, dtype=np.int64))
        weights.append(np.array(weight))
        measured.append(values is not None or bool(exact))
    return _assemble(ValueType.TEXT.series([*position, None]), members, weights, measured, False)


def _completions(code: Prefix) -> list[str]:
    """All codes of digits under a mask, or none when they are too many or the code is not of digits."""
    rest = code.length - len(code.prefix)
    if rest > 4 or not (code.prefix + "0").isdigit():
        return []
    return [f"{code.prefix}{number:0{rest}d}" if rest else code.prefix for number in range(10**rest)]


def _beside(constants: Iterable[Any]) -> Iterable[str]:
    """Texts that stand in every position relative to some constants: before, at, just behind and beyond each."""
    yield ""
    yield _HIGH
    for constant in constants:
        text = str(constant)
        yield from (text, text + _LOW, text + _HIGH, text + _HIGH + _HIGH)
        if text:
            yield text[:-1] + chr(max(ord(text[-1]) - 1, 1)) + _HIGH
            yield text[:-1]


def _masked(code: Prefix, constants: Iterable[Any]) -> Iterable[str]:
    """The same among the texts of a fixed length under a mask."""
    prefix, length = code.prefix, code.length
    for near in ["", *(near for constant in constants for near in _beside([constant])), *map(str, constants)]:
        start = near if near.startswith(prefix) else prefix
        for fill in (_LOW, _HIGH):
            yield start[:length].ljust(length, fill)


def constant_of(value: Any, kind: ValueType) -> Any:
    """A constant of a condition as a value that cuts a column of a kind."""
    return value if kind is ValueType.INTEGER else float(value) if kind is ValueType.REAL else kind.converted(value)
