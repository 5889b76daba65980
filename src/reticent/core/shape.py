"""Shapes: what a cell of a release stands for over all columns together, beyond its labels.

The labels of a cell are the sides of its shape, so that cells with equal labels have equal shapes. Whoever fits all labels may still lie outside: in the
corner beyond a ball, or in a region of its own inside a larger one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.ragged import places_in, starts_of
from reticent.core.metric import Norm, great_circle
from reticent.errors import DataError
from reticent.table import Anything, LeafIndex, Meaning, ValueType, covers_missing

_Array = NDArray[np.int64]
PairTest = Callable[[_Array, _Array], NDArray[np.bool_]]
"""Which of some pairs pass, given the number of a point and the number of a shape for each."""
PairDepth = Callable[[_Array, _Array], _Array]
"""How deep each of some pairs lies inside, -1 where it lies outside. Below that: -2 - depth where the shape has the place, and nobody is there."""
# Distances are compared with this share added: whoever is on the rim is inside, however numbers are rounded.
_RIM = 1e-9
_SLACK = 1e-12
_BALL = {"centre", "radius", "scales", "norm", "places"}


class Shape(ABC):
    """What a cell stands for. Of the shapes that cover a point, those of the greatest ``depth`` have it; the others have a hole there."""

    @property
    def depth(self) -> int:
        """How deep the shape lies inside others; 0 for shapes that overlap as equals."""
        return 0

    @classmethod
    def test(cls, shapes: Sequence[Any], points: pl.DataFrame) -> PairDepth | None:
        """How deep points lie in some shapes of this class, whose labels they fit. None where all lie inside, as deep as the shape.

        A null is a detail that rules nothing out.
        """
        return None

    @abstractmethod
    def known(self, columns: Sequence[str]) -> Shape:
        """What is left of the shape for somebody who knows some of the columns only."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The shape as plain data."""

    @staticmethod
    def read(given: Any, where: str) -> Shape:
        """The shape that :meth:`as_json` wrote; anything else is a :class:`DataError`."""
        if given == {"box": True}:
            return LabelBox()
        if isinstance(given, Mapping) and set(given) == {"nested"} and type(given["nested"]) is int:
            return Nested(given["nested"])
        if isinstance(given, Mapping) and set(given) == {"patches"}:
            return Patched.read_patches(given["patches"], where)
        if isinstance(given, Mapping) and set(given) == {"compacted"}:
            return Compacted.read_compacted(given["compacted"], where)
        if isinstance(given, Mapping) and {"centre", "radius", "scales"} <= set(given) <= _BALL:
            centre, scales = given["centre"], given["scales"]
            numbers = [
                given["radius"],
                *(each for each in _values_in(centre) if not isinstance(each, str | bool)),
                *_values_in(scales),
            ]
            if all(type(each) in (int, float) and isfinite(each) for each in numbers):
                return Ball(
                    centre, given["radius"], scales, given.get("norm", "L2"), _pairs_in(given.get("places", []))
                )
        raise DataError(f"{where}: {given!r} is not a shape.")


@dataclass(frozen=True)
class LabelBox(Shape):
    """The product of the labels: everybody who fits them is inside."""

    def known(self, columns: Sequence[str]) -> Shape:
        return self

    def as_json(self) -> dict[str, Any]:
        return {"box": True}


@dataclass(frozen=True)
class Nested(Shape):
    """A box with holes where boxes of a greater ``level`` lie inside it: the innermost has the point."""

    level: int

    def __post_init__(self) -> None:
        if self.level < 0:
            raise DataError(f"Nested: level must be at least 0, but it is {self.level}.")

    @property
    def depth(self) -> int:
        return self.level

    def known(self, columns: Sequence[str]) -> Shape:
        """A hole does not show in fewer columns: people beside it look the same there."""
        return LabelBox()

    def as_json(self) -> dict[str, Any]:
        return {"nested": self.level}


@dataclass(frozen=True)
class Patched(Shape):
    """Several boxes, each with holes where boxes of a greater level lie inside it: a cell whose labels only say between which ends all of them lie.

    ``boxes`` has for each its level and what its sides stand for, in the order of the ``columns``, whose values are of the ``kinds``.
    """

    columns: tuple[str, ...]
    kinds: tuple[ValueType, ...]
    boxes: tuple[tuple[int, tuple[Meaning, ...]], ...]

    @classmethod
    def test(cls, shapes: Sequence[Patched], points: pl.DataFrame) -> PairDepth:
        """The deepest box of a shape that holds the point."""
        lengths = np.array([len(shape.boxes) for shape in shapes], dtype=np.int64)
        starts = starts_of(lengths)
        levels = np.array([level for shape in shapes for level, _ in shape.boxes], dtype=np.int64)
        sides = []
        for place, name in enumerate(shapes[0].columns):
            meanings: dict[int, Meaning] = {}
            numbers: dict[int, int] = {}
            own = np.empty(len(levels), dtype=np.int64)
            for at, meaning in enumerate(each[place] for shape in shapes for _, each in shape.boxes):
                # Shapes of one release share their meanings, so that these are told apart by what they are, not by what they say.
                own[at] = numbers.setdefault(id(meaning), len(numbers))
                meanings[id(meaning)] = meaning
            sides.append((_covered(list(meanings.values()), points[name], name), own))

        def depth(point: _Array, shape: _Array) -> _Array:
            many = lengths[shape]
            pair = np.repeat(np.arange(len(point)), many)
            box = places_in(starts[shape], many)
            held = np.ones(len(pair), dtype=bool)
            for (covers, value), own in sides:
                held &= covers[own[box], value[point[pair]]]
            found = np.full(len(point), -1, dtype=np.int64)
            np.maximum.at(found, pair[held], levels[box[held]])
            return found

        return depth

    def known(self, columns: Sequence[str]) -> Shape:
        """What is left of the boxes in fewer columns; holes do not show there."""
        kept = [place for place, name in enumerate(self.columns) if name in columns]
        boxes = dict.fromkeys((0, tuple(sides[place] for place in kept)) for _, sides in self.boxes)
        names, kinds = tuple(self.columns[place] for place in kept), tuple(self.kinds[place] for place in kept)
        return Patched(names, kinds, tuple(boxes)) if kept else LabelBox()

    def as_json(self) -> dict[str, Any]:
        boxes = [[level, [side.as_json() for side in sides]] for level, sides in self.boxes]
        return {"patches": {"columns": list(self.columns), "kinds": [str(each) for each in self.kinds], "boxes": boxes}}

    @classmethod
    def read_patches(cls, given: Any, where: str) -> Patched:
        """The boxes that :meth:`as_json` wrote; anything else is a :class:`DataError`."""
        try:
            kinds = tuple(ValueType(each) for each in given["kinds"])
            boxes = tuple(
                (
                    int(level),
                    tuple(Meaning.read(side, kind, where) for side, kind in zip(sides, kinds, strict=True)),
                )
                for level, sides in given["boxes"]
            )
            return cls(tuple(map(str, given["columns"])), kinds, boxes)
        except (KeyError, TypeError, ValueError):
            raise DataError(f"{where}: the patches of a shape cannot be understood.") from None


@dataclass(frozen=True)
class Compacted(Shape):
    """Boxes with holes, as those of :class:`Patched`, and for each the ``extents`` between which its people truly lie: who is inside a box and outside its extents is nobody, also where another box lies around."""

    patches: Patched
    extents: tuple[tuple[Meaning, ...], ...]

    @classmethod
    def test(cls, shapes: Sequence[Compacted], points: pl.DataFrame) -> PairDepth:
        """The deepest box that holds the point, if its extents do too."""
        around = Patched.test([shape.patches for shape in shapes], points)
        filled = [
            Patched(
                shape.patches.columns,
                shape.patches.kinds,
                tuple((level, sides) for (level, _), sides in zip(shape.patches.boxes, shape.extents, strict=True)),
            )
            for shape in shapes
        ]
        within = Patched.test(filled, points)

        def depth(point: _Array, shape: _Array) -> _Array:
            deep = around(point, shape)
            # Boxes of one shape that hold a point lie in each other, and the innermost one's extents decide.
            return np.where((deep < 0) | (within(point, shape) == deep), deep, -2 - deep)

        return depth

    def known(self, columns: Sequence[str]) -> Shape:
        """The extents in fewer columns, where neither holes nor boxes around show."""
        boxes = tuple((0, sides) for sides in self.extents)
        return Patched(self.patches.columns, self.patches.kinds, boxes).known(columns)

    def as_json(self) -> dict[str, Any]:
        extents = [[side.as_json() for side in sides] for sides in self.extents]
        return {"compacted": {**self.patches.as_json()["patches"], "extents": extents}}

    @classmethod
    def read_compacted(cls, given: Any, where: str) -> Compacted:
        """The boxes and extents that :meth:`as_json` wrote; anything else is a :class:`DataError`."""
        patches = Patched.read_patches(given, where)
        try:
            extents = tuple(
                tuple(Meaning.read(side, kind, where) for side, kind in zip(sides, patches.kinds, strict=True))
                for sides in given["extents"]
            )
        except (KeyError, TypeError, ValueError):
            raise DataError(f"{where}: the extents of a shape cannot be understood.") from None
        if len(extents) != len(patches.boxes):
            raise DataError(f"{where}: every box of a shape has its extents.")
        return cls(patches, extents)


def _covered(meanings: Sequence[Meaning], values: pl.Series, column: str) -> tuple[NDArray[np.bool_], _Array]:
    """Which meaning (row) covers which distinct value (column), and the place of each value among the distinct ones."""
    distinct = values.unique(maintain_order=True)
    numbered = pl.DataFrame({"value": distinct, "place": np.arange(len(distinct))})
    places = values.to_frame("value").join(numbered, on="value", how="left", nulls_equal=True, maintain_order="left")
    index = LeafIndex.of(distinct, column)
    found = np.zeros((len(meanings), len(distinct)), dtype=bool)
    for at, meaning in enumerate(meanings):
        found[at, meaning.covers(index)] = True
    if not any(covers_missing(each) and not isinstance(each, Anything) for each in meanings):
        # Where no box is about missing values, a null is a detail that nobody told.
        found[:, distinct.is_null().to_numpy()] = True
    return found, places["place"].to_numpy().astype(np.int64)


@dataclass(frozen=True)
class Ball(Shape):
    """Everybody within ``radius`` of the ``centre``: differences in units of each column's ``scales``, added up (``L1``) or as the root of added squares (``L2``).

    Numbers differ by their difference (days, for dates), texts and truth values by one or not at all. ``places`` are pairs of a latitude and a longitude column, which differ by the
    kilometres between them, in units of the first one's scale.
    """

    centre: Mapping[str, Any]
    radius: float
    scales: Mapping[str, float]
    norm: Norm = "L2"
    places: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if set(self.centre) != set(self.scales) or not all(scale > 0 for scale in self.scales.values()):
            raise DataError("Ball: every column of the centre needs a scale above 0.")
        if self.radius < 0:
            raise DataError(f"Ball: radius must be at least 0, but it is {self.radius}.")
        if self.norm not in ("L1", "L2") or not all(name in self.centre for pair in self.places for name in pair):
            raise DataError("Ball: the norm is L1 or L2, and both columns of a place are in the centre.")

    @property
    def coordinates(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each distance that is added up: one, or two that are a place."""
        second = {name for pair in self.places for name in pair}
        return (*self.places, *((name,) for name in self.centre if name not in second))

    @classmethod
    def test(cls, shapes: Sequence[Ball], points: pl.DataFrame) -> PairDepth:
        """Distances are added up column by column, for all pairs at once."""
        names = dict.fromkeys(names for ball in shapes for names in ball.coordinates)
        columns = [_Apart.of(shapes, points, each) for each in names]
        radii = np.array([ball.radius for ball in shapes], dtype=np.float64) * (1 + _RIM) + _SLACK
        is_sum = np.array([ball.norm == "L1" for ball in shapes], dtype=bool)

        def inside_ball(point: _Array, ball: _Array) -> _Array:
            total, added = np.zeros(len(point)), is_sum[ball]
            for column in columns:
                away = column.between(point, ball)
                total += np.where(added, away, away * away)
            return np.where(np.where(added, total, np.sqrt(total)) <= radii[ball], 0, -1)

        return inside_ball

    def known(self, columns: Sequence[str]) -> Shape:
        """What is left in fewer columns; a place of which one coordinate is known says nothing."""
        places = tuple(pair for pair in self.places if set(pair) <= set(columns))
        half = {name for pair in self.places if pair not in places for name in pair}
        kept = [name for name in self.centre if name in columns and name not in half]
        centre, scales = ({name: each[name] for name in kept} for each in (self.centre, self.scales))
        return Ball(centre, self.radius, scales, self.norm, places)

    def as_json(self) -> dict[str, Any]:
        found = {"centre": dict(self.centre), "radius": self.radius, "scales": dict(self.scales)}
        norm = {} if self.norm == "L2" else {"norm": self.norm}
        return {**found, **norm, **({"places": [list(pair) for pair in self.places]} if self.places else {})}


def balls_around(
    centres: Mapping[str, Sequence[Any]],
    radii: Sequence[float],
    scales: Mapping[str, float],
    norm: Norm,
    places: Sequence[tuple[str, str]],
) -> tuple[Ball, ...]:
    """Balls around centres that are given column by column. A coordinate that is missing (None) bounds nothing, and neither does half a place."""
    found = []
    for at, radius in enumerate(radii):
        centre = {name: each[at] for name, each in centres.items() if each[at] is not None}
        mine = tuple(pair for pair in places if set(pair) <= set(centre))
        half = {name for pair in places if pair not in mine for name in pair}
        centre = {name: each for name, each in centre.items() if name not in half}
        found.append(Ball(centre, radius, {name: scales[name] for name in centre}, norm, mine))
    return tuple(found)


def shapes_json(shapes: Mapping[Sequence[str], Shape]) -> list[dict[str, Any]]:
    """Shapes by the labels of their cells as plain data, for the details of a manifest."""
    return [{"labels": list(labels), "shape": shape.as_json()} for labels, shape in shapes.items()]


def read_shapes(given: Any, where: str) -> dict[tuple[str, ...], Shape]:
    """The shapes that :func:`shapes_json` wrote; anything else is a :class:`DataError`."""
    if not isinstance(given, list) or not all(
        isinstance(each, Mapping) and isinstance(each.get("labels"), list) for each in given
    ):
        raise DataError(f"{where}: the shapes of cells must be a list, each with the labels of its cell.")
    return {tuple(map(str, each["labels"])): Shape.read(each.get("shape"), where) for each in given}


def inside(shapes: Sequence[Shape], points: pl.DataFrame) -> PairTest:
    """Made ready for many pairs of a ``point`` (a row of ``points``) and a ``place`` (one of ``shapes``) that fit by labels: which of them the shapes keep.

    Of the shapes that cover a point only the deepest keep it, so that all pairs of a point are asked about at once.
    """
    depth = np.array([shape.depth for shape in shapes], dtype=np.int64)
    kinds = list(dict.fromkeys(type(shape) for shape in shapes))
    kind = np.array([kinds.index(type(shape)) for shape in shapes], dtype=np.int64)
    tests = [each.test([shape for shape in shapes if type(shape) is each], points) for each in kinds]
    number = np.empty(len(shapes), dtype=np.int64)
    for each in range(len(kinds)):
        number[kind == each] = np.arange(int((kind == each).sum()))

    def kept(point: _Array, place: _Array) -> NDArray[np.bool_]:
        deep = depth[place]
        for each, test in enumerate(tests):
            if test is not None:
                mine = np.flatnonzero(kind[place] == each)
                deep[mine] = test(point[mine], number[place[mine]])
        deepest = np.full(points.height, -1, dtype=np.int64)
        np.maximum.at(deepest, point, np.where(deep < -1, -2 - deep, deep))
        found: NDArray[np.bool_] = (deep >= 0) & (deep == deepest[point])
        return found

    return kept


@dataclass(frozen=True, eq=False)
class _Apart:
    """One column of points and of the centres of balls, or two that are a place: numbers (NaN: missing), and texts by their number among those of the centres.

    A text that no centre has is -1 and a missing one -2; centres without a text have -1. What is missing on either side is no distance.
    """

    numbers: NDArray[np.float64]
    centres: NDArray[np.float64]
    texts: _Array
    centre_texts: _Array
    scales: NDArray[np.float64]

    @classmethod
    def of(cls, balls: Sequence[Ball], points: pl.DataFrame, names: tuple[str, ...]) -> _Apart:
        given = [
            [ball.centre[name] for name in names] if names in ball.coordinates else [None] * len(names)
            for ball in balls
        ]
        words = [_text(each[0]) for each in given]
        centres = np.array([[_number(value) for value in each] for each in given], dtype=np.float64)
        texts = {text: at for at, text in enumerate(dict.fromkeys(each for each in words if each is not None))}
        own = points[names[0]].cast(pl.String).to_list() if texts else [None] * points.height
        return cls(
            _numbers(points.select(names))
            if not np.isnan(centres).all()
            else np.full((points.height, len(names)), np.nan),
            centres,
            np.array([-2 if each is None else texts.get(each, -1) for each in own], dtype=np.int64),
            np.array([-1 if each is None else texts[each] for each in words], dtype=np.int64),
            np.array([ball.scales.get(names[0], 1.0) for ball in balls], dtype=np.float64),
        )

    def between(self, point: _Array, ball: _Array) -> NDArray[np.float64]:
        """How far each point is from the centre of its ball, in units of the scale."""
        here, centre = self.numbers[point], self.centres[ball]
        away = np.abs(here[:, 0] - centre[:, 0]) if here.shape[1] == 1 else great_circle(here, centre)
        text, other = self.texts[point], self.centre_texts[ball]
        differs = (other >= 0) & (text > -2) & (text != other)
        found: NDArray[np.float64] = np.where(other >= 0, differs, np.nan_to_num(away, nan=0.0)) / self.scales[ball]
        return found


def _text(centre: Any) -> str | None:
    """A coordinate that is compared as text."""
    if isinstance(centre, bool):
        return str(centre).lower()
    return centre if isinstance(centre, str) else None


def _number(centre: Any) -> float:
    return float("nan") if centre is None or isinstance(centre, str | bool) else float(centre)


def _numbers(values: pl.DataFrame) -> NDArray[np.float64]:
    """Values as numbers, dates as days; NaN where they are neither."""
    columns = [each.to_physical() if each.dtype == pl.Date else each for each in values]
    return np.stack([each.cast(pl.Float64, strict=False).to_numpy() for each in columns], axis=1)


def _values_in(given: Any) -> list[Any]:
    return list(given.values()) if isinstance(given, Mapping) else [None]


def _pairs_in(given: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        raise DataError(f"{given!r} are not pairs of columns.")
    return tuple((str(one), str(other)) for one, other in given)
