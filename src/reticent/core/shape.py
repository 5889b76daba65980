"""Shapes: what a cell of a release covers over all columns together, beyond its labels.

The labels of a cell are the projections of its shape, so cells with equal labels have equal shapes. A point that
matches all labels may still be outside: in the corner beyond a ball, or in a nested region with a cell of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import DataError
from reticent.registry import SHAPES, load

Numbers = NDArray[np.int64]
PairTest = Callable[[Numbers, Numbers], NDArray[np.bool_]]
"""Mask of the pairs that pass, given the index of a point and of a shape for each."""
PairDepth = Callable[[Numbers, Numbers], Numbers]
"""The nesting depth at which each pair is inside, -1 if outside; -2 - depth if the shape covers the point but has no records there."""


class Shape(ABC):
    """What a cell covers. A point belongs to the shapes of greatest ``depth`` that cover it; the others have a hole there."""

    @property
    def depth(self) -> int:
        """The nesting depth of the shape; 0 for shapes that overlap without nesting."""
        return 0

    @classmethod
    def test(cls, shapes: Sequence[Any], points: pl.DataFrame) -> PairDepth | None:
        """The depth of points in some shapes of this class, whose labels they match. None if all are inside, at the depth
        of the shape.

        A null excludes nothing.
        """
        return None

    @abstractmethod
    def known(self, columns: Sequence[str]) -> Shape:
        """The projection of the shape for an adversary who knows some of the columns only."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The shape as plain data."""

    @classmethod
    @abstractmethod
    def from_json(cls, given: Mapping[str, Any], where: str) -> Self:
        """Restore a shape of this class from :meth:`as_json`. Raises :class:`DataError` otherwise."""

    @staticmethod
    def read(given: Any, where: str) -> Shape:
        """Restore a shape from :meth:`as_json`, of the kind named by one of its keys. Raises :class:`DataError` otherwise."""
        kinds = [kind for kind in SHAPES if kind in given] if isinstance(given, Mapping) else []
        if len(kinds) != 1:
            raise no_shape(given, where)
        shape_class: type[Shape] = load("shape", kinds[0])
        return shape_class.from_json(given, where)


def no_shape(given: Any, where: str) -> DataError:
    """The error for data that is not a shape."""
    return DataError(f"{where}: {given!r} is not a shape.")


@dataclass(frozen=True)
class LabelBox(Shape):
    """The product of the labels: all points that match them are inside."""

    def known(self, columns: Sequence[str]) -> Shape:
        return self

    def as_json(self) -> dict[str, Any]:
        return {"box": True}

    @classmethod
    def from_json(cls, given: Mapping[str, Any], where: str) -> LabelBox:
        if given != {"box": True}:
            raise no_shape(given, where)
        return cls()


def shapes_json(shapes: Mapping[Sequence[str], Shape]) -> list[dict[str, Any]]:
    """Shapes by the labels of their cells as plain data, for the details of a manifest."""
    return [{"labels": list(labels), "shape": shape.as_json()} for labels, shape in shapes.items()]


def read_shapes(given: Any, where: str) -> dict[tuple[str, ...], Shape]:
    """Restore the shapes written by :func:`shapes_json`. Raises :class:`DataError` otherwise."""
    if not isinstance(given, list) or not all(
        isinstance(cell, Mapping) and isinstance(cell.get("labels"), list) for cell in given
    ):
        raise DataError(f"{where}: the shapes of cells must be a list, each with the labels of its cell.")
    return {tuple(map(str, cell["labels"])): Shape.read(cell.get("shape"), where) for cell in given}


def inside(shapes: Sequence[Shape], points: pl.DataFrame) -> PairTest:
    """Return a test of many pairs of ``point`` (a row of ``points``) and ``place`` (the index of a shape) that match by
    labels: which points are inside their shape.

    If shapes are nested only the deepest that covers a point contains it, so all pairs of a point must be passed
    together.
    """
    depth = np.array([shape.depth for shape in shapes], dtype=np.int64)
    kinds = list(dict.fromkeys(type(shape) for shape in shapes))
    kind = np.array([kinds.index(type(shape)) for shape in shapes], dtype=np.int64)
    tests = [kind_class.test([shape for shape in shapes if type(shape) is kind_class], points) for kind_class in kinds]
    number = np.empty(len(shapes), dtype=np.int64)
    for kind_class in range(len(kinds)):
        number[kind == kind_class] = np.arange(int((kind == kind_class).sum()))

    def kept(point: Numbers, place: Numbers) -> NDArray[np.bool_]:
        """Return the mask of the pairs whose shape is the deepest one around the point."""
        depths = depth[place]
        for kind_index, test in enumerate(tests):
            if test is not None:
                pairs_of_kind = np.flatnonzero(kind[place] == kind_index)
                depths[pairs_of_kind] = test(point[pairs_of_kind], number[place[pairs_of_kind]])
        deepest = np.full(points.height, -1, dtype=np.int64)
        np.maximum.at(deepest, point, np.where(depths < -1, -2 - depths, depths))
        deepest_pairs: NDArray[np.bool_] = (depths >= 0) & (depths == deepest[point])
        return deepest_pairs

    return kept
