"""A column's labels split into pieces on which a condition is constant.

If the values of a column are known one by one, every value is a piece. If not (a real interval, a suppressed column
with a private domain), the constants of the condition split the labels: inside a piece the condition's truth is
constant, so one representative value suffices.
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
    """Representative ``values``, and which of them each label contains with what weight.

    Pair ``i``: label ``labels[i]`` contains piece ``members[i]`` with weight ``weights[i]``; weight zero means possible
    but of measure zero. ``measured[l]`` is False if nothing public determines how a label's values are distributed over
    its pieces. ``complete``: every possible value is a piece of its own; otherwise ``stretches`` has the labels that
    are intervals.
    """

    values: pl.Series
    labels: NDArray[np.int64]
    members: NDArray[np.int64]
    weights: NDArray[np.float64]
    measured: NDArray[np.bool_]
    complete: bool
    stretches: Mapping[int, LineSegment] = field(default_factory=dict)

    def held(self, label: int) -> NDArray[np.int64]:
        """The pieces of a label."""
        low, high = np.searchsorted(self.labels, [label, label + 1])
        return self.members[low:high]

    def matrix(self, classes: NDArray[np.int64], count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return two matrices of labels by classes of pieces: the weight of a label in a class, and the number of its
        pieces there.

        A piece is a set of values on which the condition is constant; ``classes`` gives the class of each.
        """
        shape = (len(self.measured), count)
        flat_index = self.labels * count + classes[self.members]
        weight = np.bincount(flat_index, weights=self.weights, minlength=shape[0] * count)
        pieces = np.bincount(flat_index, minlength=shape[0] * count)
        return weight.astype(np.float64).reshape(shape), pieces.astype(np.float64).reshape(shape)


@dataclass(frozen=True)
class CutPoints:
    """Where a condition splits a column: constants of comparisons, and prefixes."""

    constants: tuple[Any, ...] = ()
    prefixes: tuple[str, ...] = ()


def pieces_of(meanings: Sequence[Meaning], domain: Domain, cuts: CutPoints) -> Pieces:
    """Split the labels of a column, given by their meanings, into pieces: sets of values on which the condition is
    constant.
    """
    kind, leaves = domain.kind, domain.leaves
    if leaves is None:
        leaves = _listed_leaves(meanings, kind)
    if leaves is not None:
        return _from_leaves(meanings, leaves, kind, hidden=domain.may_miss and not leaves.null_count())
    if kind is ValueType.BOOLEAN:
        return _from_truth(meanings)
    return _from_text(meanings, cuts) if kind is ValueType.TEXT else _from_line(meanings, kind, cuts)


def _from_leaves(meanings: Sequence[Meaning], leaves: pl.Series, kind: ValueType, hidden: bool) -> Pieces:
    """Return pieces that are the single values (leaves) of the domain; with ``hidden`` also null, which a suppressed
    label may hide but which has no weight.
    """
    values = pl.concat([leaves, pl.Series([None], dtype=leaves.dtype)]) if hidden else leaves
    index, null = LeafIndex(values, kind), len(leaves)
    members = [index.under(meaning) for meaning in meanings]
    weights = [
        np.where(hidden & (members_of_label == null) & (len(members_of_label) > 1), 0.0, 1.0)
        for members_of_label in members
    ]
    return _assemble(values, members, weights, [True] * len(members), True)


def pieces_of_leaves(leaves: pl.Series) -> Pieces:
    """Every leaf is a label of its own, for columns that are published unchanged."""
    indices = np.arange(len(leaves))
    return Pieces(leaves, indices, indices, np.ones(len(leaves)), np.ones(len(leaves), dtype=bool), True)


def _assemble(
    values: pl.Series,
    members: Sequence[NDArray[np.int64]],
    weights: Sequence[NDArray[np.float64]],
    measured: Sequence[bool],
    complete: bool,
) -> Pieces:
    """Return the pieces of labels given by their members and weights, label by label."""
    labels = np.repeat(np.arange(len(members)), [len(members_of_label) for members_of_label in members])
    joined = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
    weight = np.concatenate(weights) if weights else np.zeros(0)
    return Pieces(values, labels, joined.astype(np.int64), weight, np.array(measured, dtype=bool), complete)


def _listed_leaves(meanings: Sequence[Meaning], kind: ValueType) -> pl.Series | None:
    """Return all values covered by the labels; None if some label does not list or bound its values, or there are too
    many.
    """
    listed_values: dict[Any, None] = {}
    for meaning in meanings:
        if isinstance(meaning, Anything):
            return None
        listed = meaning.listed(kind)
        if listed is None:
            part = meaning.stretch(kind)
            if part is None or kind is ValueType.REAL or part.low is None or part.high is None:
                return None
            if part.high - part.low + len(listed_values) > _MOST_LEAVES:
                return None
            listed = [kind.at_place(where) for where in range(int(part.low), int(part.high) + 1)]
            listed += [None] if covers_missing(meaning) else []
        listed_values.update(dict.fromkeys(listed))
    return kind.series(list(listed_values))


def _from_truth(meanings: Sequence[Meaning]) -> Pieces:
    """Return the pieces true, false, and null, which a suppressed label may hide but which has no weight."""
    values = pl.Series([True, False, None])
    members, weights = [], []
    for meaning in meanings:
        listed = meaning.listed(ValueType.BOOLEAN)
        chosen = [0, 1, 2] if listed is None else [[True, False, None].index(value) for value in listed]
        members.append(np.array(chosen, dtype=np.int64))
        weights.append(np.array([0.0 if listed is None and piece == 2 else 1.0 for piece in chosen]))
    return _assemble(values, members, weights, [True] * len(members), True)


def _from_line(meanings: Sequence[Meaning], kind: ValueType, cuts: CutPoints) -> Pieces:
    """Return pieces of numbers or dates: the ends of labels and constants of the condition, the gaps between them, and
    null.

    Each piece is represented by one value; its weight in a label is its length or number of values.
    """
    parts = [meaning.stretch(kind) for meaning in meanings]
    lists = [meaning.listed(kind) for meaning in meanings]
    marks = [end for part in parts if part is not None for end in (part.low, part.high) if end is not None]
    marks += [_where(value, kind) for values in lists if values is not None for value in values if value is not None]
    for constant in cuts.constants:
        point = kind.place(constant)
        marks += [float(point)] if kind is ValueType.REAL else [math.floor(point), math.ceil(point)]
    points, sizes = _points_and_gaps(_points(marks, kind), kind)
    values = kind.series([*(kind.at_place(point) for point in points), None])
    # Python integers if 64 bits are too few: numpy would make them floats.
    line, null = np.array(points, dtype=None if points[-1] < 2**63 else object), len(points)
    members, weights, measured = [], [], []
    for meaning, part, listed in zip(meanings, parts, lists, strict=True):
        if listed is not None:
            coordinates = np.array(
                [null if value is None else np.searchsorted(line, _where(value, kind)) for value in listed],
                dtype=np.int64,
            )
            weight = np.ones(len(coordinates))
        else:
            part = part or LineSegment(None, None)
            coordinates = _inside(part, line)
            weight = np.array([sizes[piece] for piece in coordinates])
            if covers_missing(meaning) or (part.low is None and part.high is None):
                coordinates, weight = np.append(coordinates, null), np.append(weight, 0.0)
        members.append(coordinates)
        measured.append(bool(np.isfinite(weight).all()))
        weights.append(np.where(np.isfinite(weight), weight, 1.0) if weight.sum() > 0 else np.ones(len(coordinates)))
    stretches = {
        number: part or LineSegment(None, None)
        for number, (part, listed) in enumerate(zip(parts, lists, strict=True))
        if listed is None
    }
    return replace(_assemble(values, members, weights, measured, False), stretches=stretches)


def _where(value: Any, kind: ValueType) -> float:
    """Return the coordinate of a value as a float for reals, otherwise as an integer."""
    coordinate = kind.place(value)
    return float(coordinate) if kind is ValueType.REAL else int(coordinate)


def _points(marks: Sequence[float], kind: ValueType) -> list[float]:
    """Return the distinct marks in order; any point if there is none. Marks beyond the range of the type are dropped."""
    first, last = kind.ends()
    within = {float(mark) if kind is ValueType.REAL else int(mark) for mark in marks if first <= mark <= last}
    return sorted(within) or [_where(datetime.date(1970, 1, 1), kind) if kind.is_temporal else 0]


def _points_and_gaps(points: Sequence[float], kind: ValueType) -> tuple[list[float], list[float]]:
    """Return a coordinate in every point and every gap, in order, and the length or number of values of each (infinite
    before the first and after the last).
    """
    real = kind is ValueType.REAL
    first, last = kind.ends()
    pieces: list[tuple[float, float]] = [(points[0], 0.0 if real else 1.0)]
    for low, high in pairwise(points):
        # Half of each, since the sum may overflow a float.
        between = low / 2 + high / 2 if real else low + 1
        if low < between < high:
            pieces.append((between, high - low - (0 if real else 1)))
        pieces.append((high, 0.0 if real else 1.0))
    # One less than a large float may be the same float.
    before = min(points[0] - 1, math.nextafter(points[0], -math.inf)) if real else points[0] - 1
    behind = max(points[-1] + 1, math.nextafter(points[-1], math.inf)) if real else points[-1] + 1
    outer = [(before, math.inf)] if points[0] > first else [], [(behind, math.inf)] if points[-1] < last else []
    all_pieces = [*outer[0], *pieces, *outer[1]]
    return [where for where, _ in all_pieces], [size for _, size in all_pieces]


def _inside(part: LineSegment, line: NDArray[Any]) -> NDArray[np.int64]:
    """Return the indices of the sorted points of ``line`` that belong to a segment."""
    low = 0 if part.low is None else int(np.searchsorted(line, part.low, "left" if part.low_closed else "right"))
    high = (
        len(line)
        if part.high is None
        else int(np.searchsorted(line, part.high, "right" if part.high_closed else "left"))
    )
    return np.arange(low, high)


def _from_text(meanings: Sequence[Meaning], cuts: CutPoints) -> Pieces:
    """Return pieces of texts: those that labels list, all digit codes under a mask, texts in every relative position to
    the constants of the condition, and null.
    """
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
            positions = [null if value is None else position[value] for value in values]
            weight = [1.0] * len(positions)
        elif isinstance(meaning, Prefix):
            exact = {position[text] for text in completions[number]}
            positions = [where for text, where in position.items() if meaning.fits(text)]
            weight = [1.0 if where in exact or not exact else 0.0 for where in positions]
        else:
            exact, positions, weight = set(), [*position.values(), null], [1.0] * (null + 1)
        members.append(np.array(positions, dtype=np.int64))
        weights.append(np.array(weight))
        measured.append(values is not None or bool(exact))
    return _assemble(ValueType.TEXT.series([*position, None]), members, weights, measured, False)


def _completions(code: Prefix) -> list[str]:
    """Return all digit codes under a mask such as ``13***``; none if they are too many or not digits."""
    missing_digits = code.length - len(code.prefix)
    if missing_digits > 4 or not (code.prefix + "0").isdigit():
        return []
    return [
        f"{code.prefix}{number:0{missing_digits}d}" if missing_digits else code.prefix
        for number in range(10**missing_digits)
    ]


def _beside(constants: Iterable[Any]) -> Iterable[str]:
    """Yield texts in every relative position to some constants: before, at, just after and beyond each."""
    yield ""
    yield _HIGH
    for constant in constants:
        text = str(constant)
        yield from (text, text + _LOW, text + _HIGH, text + _HIGH + _HIGH)
        if text:
            yield text[:-1] + chr(max(ord(text[-1]) - 1, 1)) + _HIGH
            yield text[:-1]


def _masked(code: Prefix, constants: Iterable[Any]) -> Iterable[str]:
    """Yield texts in every relative position to some constants among those of a fixed length under a mask."""
    prefix, length = code.prefix, code.length
    for near in ["", *(near for constant in constants for near in _beside([constant])), *map(str, constants)]:
        start = near if near.startswith(prefix) else prefix
        for fill in (_LOW, _HIGH):
            yield start[:length].ljust(length, fill)


def constant_of(value: Any, kind: ValueType) -> Any:
    """A constant of a condition as a split value of a column of a type."""
    return value if kind is ValueType.INTEGER else float(value) if kind is ValueType.REAL else kind.converted(value)
