"""Shapes: what a cell of a release stands for over all columns together, beyond its labels.

The labels of a cell are the sides of its shape, so that cells with equal labels have equal shapes. Whoever fits all labels may still lie outside: in the
corner beyond a ball, or in a region of its own inside a larger one.
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
"""Which of some pairs pass, given the number of a point and the number of a shape for each."""
PairDepth = Callable[[Numbers, Numbers], Numbers]
"""How deep each of some pairs lies inside, -1 where it lies outside. Below that: -2 - depth where the shape has the place, and nobody is there."""


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
        """What is left of the shape for an adversary who knows some of the columns only."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The shape as plain data."""

    @classmethod
    @abstractmethod
    def from_json(cls, given: Mapping[str, Any], where: str) -> Self:
        """The shape of this class that :meth:`as_json` wrote; anything else is a :class:`DataError`."""

    @staticmethod
    def read(given: Any, where: str) -> Shape:
        """The shape that :meth:`as_json` wrote, of the kind that one of its keys names; anything else is a :class:`DataError`."""
        kinds = [kind for kind in SHAPES if kind in given] if isinstance(given, Mapping) else []
        if len(kinds) != 1:
            raise no_shape(given, where)
        made: type[Shape] = load("shape", kinds[0])
        return made.from_json(given, where)


def no_shape(given: Any, where: str) -> DataError:
    """The error of what is read in the place of a shape."""
    return DataError(f"{where}: {given!r} is not a shape.")


@dataclass(frozen=True)
class LabelBox(Shape):
    """The product of the labels: everybody who fits them is inside."""

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

    def kept(point: Numbers, place: Numbers) -> NDArray[np.bool_]:
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
