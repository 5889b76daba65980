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

from reticent.errors import DataError

_Array = NDArray[np.int64]
# Distances are compared with this share added: whoever is on the rim is inside, however numbers are rounded.
_RIM = 1e-9


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
        if isinstance(given, Mapping) and set(given) == {"centre", "radius", "scales"}:
            numbers = [given["radius"], *_numbers_in(given["centre"]), *_numbers_in(given["scales"])]
            if all(type(each) in (int, float) and isfinite(each) for each in numbers):
                return Ball(given["centre"], given["radius"], given["scales"])
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
    """Everybody within ``radius`` of the ``centre``: the root of the sum of squared differences, each in units of its column's ``scales``."""

    centre: Mapping[str, float]
    radius: float
    scales: Mapping[str, float]

    def __post_init__(self) -> None:
        if set(self.centre) != set(self.scales) or not all(scale > 0 for scale in self.scales.values()):
            raise DataError("Ball: every column of the centre needs a scale above 0.")
        if self.radius < 0:
            raise DataError(f"Ball: radius must be at least 0, but it is {self.radius}.")

    def covers(self, points: pl.DataFrame) -> NDArray[np.bool_]:
        total = np.zeros(points.height)
        for name, centre in self.centre.items():
            away = (points[name].cast(pl.Float64, strict=False) - centre) / self.scales[name]
            total += away.fill_null(0.0).to_numpy() ** 2
        found: NDArray[np.bool_] = np.sqrt(total) <= self.radius * (1 + _RIM)
        return found

    def known(self, columns: Sequence[str]) -> Shape:
        kept = [name for name in self.centre if name in columns]
        centre, scales = ({name: each[name] for name in kept} for each in (self.centre, self.scales))
        return Ball(centre, self.radius, scales)

    def as_json(self) -> dict[str, Any]:
        return {"centre": dict(self.centre), "radius": self.radius, "scales": dict(self.scales)}


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


def _numbers_in(given: Any) -> list[Any]:
    return list(given.values()) if isinstance(given, Mapping) else [None]
