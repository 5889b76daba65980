"""Shapes: what a cell of a release stands for over all columns together, beyond its labels.

The labels of a cell are the sides of its shape, so that cells with equal labels have equal shapes. Whoever fits all labels may still lie outside: in the
corner beyond a ball, or in a region of its own inside a larger one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data.metric import Norm, great_circle
from reticent.errors import DataError

_Array = NDArray[np.int64]
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

    def covers(self, points: pl.DataFrame) -> NDArray[np.bool_]:
        """Which of some points, all of which fit the labels, lie inside; a null is a detail that rules nothing out."""
        return np.ones(points.height, dtype=bool)

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

    def covers(self, points: pl.DataFrame) -> NDArray[np.bool_]:
        total = np.zeros(points.height)
        second = {longitude for _, longitude in self.places}
        for name in self.centre:
            if name not in second:
                away = self._away(points, name)
                total += away if self.norm == "L1" else away**2
        found: NDArray[np.bool_] = (total if self.norm == "L1" else np.sqrt(total)) <= self.radius * (1 + _RIM) + _SLACK
        return found

    def _away(self, points: pl.DataFrame, name: str) -> NDArray[np.float64]:
        """How far points are from the centre in one column (in two, for a place); nothing where a value is null."""
        pair = next((pair for pair in self.places if pair[0] == name), None)
        if pair is not None:
            here = np.stack([points[each].cast(pl.Float64, strict=False).to_numpy() for each in pair], axis=1)
            apart = great_circle(here, np.array([self.centre[each] for each in pair])) / self.scales[name]
            found: NDArray[np.float64] = np.where(np.isnan(apart), 0.0, apart)
            return found
        centre, values = self.centre[name], points[name]
        if isinstance(centre, str | bool):
            differs = values.cast(pl.String) != (centre if isinstance(centre, str) else str(centre).lower())
            differing: NDArray[np.float64] = differs.fill_null(False).cast(pl.Float64).to_numpy() / self.scales[name]
            return differing
        numbers = values.to_physical() if values.dtype == pl.Date else values
        away = (numbers.cast(pl.Float64, strict=False) - centre).abs() / self.scales[name]
        told: NDArray[np.float64] = away.fill_null(0.0).to_numpy()
        return told

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


def inside(shapes: Sequence[Shape], points: pl.DataFrame, point: _Array, place: _Array) -> NDArray[np.bool_]:
    """Which of the pairs of a ``point`` (a row of ``points``) and a ``place`` (one of ``shapes``) that fit by labels are kept by the shapes."""
    kept = np.zeros(len(point), dtype=bool)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    for mine in np.split(order, starts[1:]) if len(order) else ():
        kept[mine] = shapes[int(place[mine[0]])].covers(points[point[mine]])
    depth = np.array([shape.depth for shape in shapes], dtype=np.int64)
    deepest = np.full(points.height, -1, dtype=np.int64)
    np.maximum.at(deepest, point[kept], depth[place[kept]])
    found: NDArray[np.bool_] = kept & (depth[place] == deepest[point])
    return found


def _values_in(given: Any) -> list[Any]:
    return list(given.values()) if isinstance(given, Mapping) else [None]


def _pairs_in(given: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        raise DataError(f"{given!r} are not pairs of columns.")
    return tuple((str(one), str(other)) for one, other in given)
