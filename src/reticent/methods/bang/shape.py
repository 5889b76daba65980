"""Shapes of nested regions: boxes with holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.ragged import places_in, starts_of
from reticent.core import LabelBox, PairDepth, Shape, no_shape
from reticent.errors import DataError
from reticent.table import Anything, LeafIndex, Meaning, ValueType, covers_missing

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Nested(Shape):
    """A box with holes where boxes of a higher ``level`` are inside it: a point belongs to the innermost."""

    level: int

    def __post_init__(self) -> None:
        if self.level < 0:
            raise DataError(f"Nested: level must be at least 0, but it is {self.level}.")

    @property
    def depth(self) -> int:
        return self.level

    def known(self, columns: Sequence[str]) -> Shape:
        """Return the shape in fewer columns, where holes are not visible."""
        return LabelBox()

    def as_json(self) -> dict[str, Any]:
        return {"nested": self.level}

    @classmethod
    def from_json(cls, given: Mapping[str, Any], where: str) -> Nested:
        if set(given) != {"nested"} or type(given["nested"]) is not int:
            raise no_shape(given, where)
        return cls(given["nested"])


@dataclass(frozen=True)
class Patched(Shape):
    """Several boxes, each with holes where boxes of a higher level are inside it; the labels of the class only bound all of them.

    ``boxes`` has for each its level and the meanings of its sides, in the order of the ``columns``, whose values are of
    the ``kinds``.
    """

    columns: tuple[str, ...]
    kinds: tuple[ValueType, ...]
    boxes: tuple[tuple[int, tuple[Meaning, ...]], ...]

    @classmethod
    def test(cls, shapes: Sequence[Patched], points: pl.DataFrame) -> PairDepth:
        """Return a function of pairs (indexes of points and of shapes): the level of the deepest box of the shape that
        contains the point, -1 if none does.
        """
        lengths = np.array([len(shape.boxes) for shape in shapes], dtype=np.int64)
        starts = starts_of(lengths)
        levels = np.array([level for shape in shapes for level, _ in shape.boxes], dtype=np.int64)
        sides = []
        for column, name in enumerate(shapes[0].columns):
            meanings: dict[int, Meaning] = {}
            numbers: dict[int, int] = {}
            meaning_of_box = np.empty(len(levels), dtype=np.int64)
            for box_number, meaning in enumerate(box_sides[column] for shape in shapes for _, box_sides in shape.boxes):
                # Shapes of one release share their meaning objects, so these are compared by identity.
                meaning_of_box[box_number] = numbers.setdefault(id(meaning), len(numbers))
                meanings[id(meaning)] = meaning
            sides.append((_covered(list(meanings.values()), points[name], name), meaning_of_box))

        def depth(point: Numbers, shape: Numbers) -> Numbers:
            """Return the level of the deepest box of each shape that contains its point; -1 if none."""
            box_counts = lengths[shape]
            pair = np.repeat(np.arange(len(point)), box_counts)
            box = places_in(starts[shape], box_counts)
            contains = np.ones(len(pair), dtype=bool)
            for (covers, value), meaning_of_box in sides:
                contains &= covers[meaning_of_box[box], value[point[pair]]]
            deepest = np.full(len(point), -1, dtype=np.int64)
            np.maximum.at(deepest, pair[contains], levels[box[contains]])
            return deepest

        return depth

    def known(self, columns: Sequence[str]) -> Shape:
        """Return the boxes in fewer columns, where holes are not visible."""
        kept_columns = [column for column, name in enumerate(self.columns) if name in columns]
        boxes = dict.fromkeys((0, tuple(sides[column] for column in kept_columns)) for _, sides in self.boxes)
        names, kinds = (
            tuple(self.columns[column] for column in kept_columns),
            tuple(self.kinds[column] for column in kept_columns),
        )
        return Patched(names, kinds, tuple(boxes)) if kept_columns else LabelBox()

    def as_json(self) -> dict[str, Any]:
        boxes = [[level, [side.as_json() for side in sides]] for level, sides in self.boxes]
        return {"patches": {"columns": list(self.columns), "kinds": [str(kind) for kind in self.kinds], "boxes": boxes}}

    @classmethod
    def from_json(cls, given: Mapping[str, Any], where: str) -> Patched:
        if set(given) != {"patches"}:
            raise no_shape(given, where)
        return cls.read_patches(given["patches"], where)

    @classmethod
    def read_patches(cls, given: Any, where: str) -> Patched:
        """Parse what :meth:`as_json` wrote; anything else raises a :class:`DataError`."""
        try:
            kinds = tuple(ValueType(kind_name) for kind_name in given["kinds"])
            boxes = tuple(
                (
                    int(level),
                    tuple(Meaning.read(side, kind, where) for side, kind in zip(sides, kinds, strict=True)),
                )
                for level, sides in given["boxes"]
            )
            return cls(tuple(map(str, given["columns"])), kinds, boxes)
        except (KeyError, TypeError, ValueError):
            raise DataError(f"{where}: the patches of a shape cannot be parsed.") from None


@dataclass(frozen=True)
class Compacted(Shape):
    """Boxes with holes, as in :class:`Patched`, and for each the ``extents`` of its people: nobody is inside a box but
    outside its extents, even if another box encloses it.
    """

    patches: Patched
    extents: tuple[tuple[Meaning, ...], ...]

    @classmethod
    def test(cls, shapes: Sequence[Compacted], points: pl.DataFrame) -> PairDepth:
        """Return a function of pairs (indexes of points and of shapes): the level of the deepest box that contains the point,
        -1 if none does, and -2 minus the level if that box's extents do not contain the point.
        """
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

        def depth(point: Numbers, shape: Numbers) -> Numbers:
            """Return the level of the deepest box, -1 if none, -2 minus the level if the point is outside its extents."""
            deep = around(point, shape)
            # The boxes of one shape that contain a point are nested, and the extents of the innermost decide.
            return np.where((deep < 0) | (within(point, shape) == deep), deep, -2 - deep)

        return depth

    def known(self, columns: Sequence[str]) -> Shape:
        """Return the extents in fewer columns, where neither holes nor enclosing boxes are visible."""
        boxes = tuple((0, sides) for sides in self.extents)
        return Patched(self.patches.columns, self.patches.kinds, boxes).known(columns)

    def as_json(self) -> dict[str, Any]:
        extents = [[side.as_json() for side in sides] for sides in self.extents]
        return {"compacted": {**self.patches.as_json()["patches"], "extents": extents}}

    @classmethod
    def from_json(cls, given: Mapping[str, Any], where: str) -> Compacted:
        if set(given) != {"compacted"}:
            raise no_shape(given, where)
        return cls._read(given["compacted"], where)

    @classmethod
    def _read(cls, content: Any, where: str) -> Compacted:
        """Parse the boxes and extents that :meth:`as_json` wrote."""
        patches = Patched.read_patches(content, where)
        try:
            extents = tuple(
                tuple(Meaning.read(side, kind, where) for side, kind in zip(sides, patches.kinds, strict=True))
                for sides in content["extents"]
            )
        except (KeyError, TypeError, ValueError):
            raise DataError(f"{where}: the extents of a shape cannot be parsed.") from None
        if len(extents) != len(patches.boxes):
            raise DataError(f"{where}: every box of a shape must have extents.")
        return cls(patches, extents)


def _covered(meanings: Sequence[Meaning], values: pl.Series, column: str) -> tuple[NDArray[np.bool_], Numbers]:
    """Return which meaning (row) covers which distinct value (column), and the index of each value among the distinct ones."""
    distinct = values.unique(maintain_order=True)
    numbered = pl.DataFrame({"value": distinct, "place": np.arange(len(distinct))})
    distinct_index = values.to_frame("value").join(
        numbered, on="value", how="left", nulls_equal=True, maintain_order="left"
    )
    index = LeafIndex.of(distinct, column)
    covers = np.zeros((len(meanings), len(distinct)), dtype=bool)
    for row, meaning in enumerate(meanings):
        covers[row, meaning.covers(index)] = True
    if not any(covers_missing(meaning) and not isinstance(meaning, Anything) for meaning in meanings):
        # If no box is about missing values, a null is an unknown detail.
        covers[:, distinct.is_null().to_numpy()] = True
    return covers, distinct_index["place"].to_numpy().astype(np.int64)
