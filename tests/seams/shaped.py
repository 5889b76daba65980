"""Groups that are no boxes: regions with holes where smaller regions lie inside, and clusters with a centre and a radius."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft, Evidence, Kind, RegionColumn, Regions, Shape
from reticent.core.shape import read_shapes, shapes_json
from reticent.definitions import Definition
from reticent.engine import engine_of
from reticent.errors import DataError, Infeasible
from reticent.methods.bang.shape import Nested
from reticent.methods.clusters.shape import Ball
from reticent.release import ManifestColumn, PublicSide, count_labels
from reticent.release.format import Answer, GroupFormat, Words, format_of
from reticent.table import Meaning, Rows, Table, ValueType

_WHOLE = ValueType.published(pl.Int64())
Side = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """A group as it is shown: between which numbers it lies in every column, and its shape."""

    sides: Mapping[str, Side]
    shape: Shape


class _Shaped:
    """What both methods do: find cells for the points of two columns of whole numbers, and draft them."""

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups"})
    streams: ClassVar[bool] = False
    made: ClassVar[str]

    def refusal(self, table: Table, definition: Definition) -> str | None:
        whole = all(table.schema[name].is_integer() for name in table.quasi)
        return None if whole and not table.quasi_sets else f"{type(self).__name__} needs columns of whole numbers."

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        context = context or Context()
        names = list(table.quasi)
        context.step("finding groups")
        points = table.frame.group_by(names, maintain_order=True).len("rows")
        group, cells = self.grouped(points, names)
        columns = tuple(_column(table, name, points[name], cells) for name in names)
        codes = tuple(_codes(column, points[column.name]) for column in columns)
        recoding = Regions(columns, codes, group, table.carried, shapes=tuple(cell.shape for cell in cells))
        recoded = engine_of(table, context).recode(table, recoding, context)
        seen = AdversaryView.in_rows(recoded.tables["data"].frame(), None, recoding.meanings, list(table.sensitive))
        if not definition.holds(seen.true_groups):  # type: ignore[attr-defined]
            raise Infeasible(f"The groups do not satisfy {definition}.")
        labels = {tuple(_text(cell.sides[name]) for name in names): cell.shape for cell in cells}
        return Draft(
            format=self.made,
            tables=recoded.tables,
            evidence=Evidence({tuple(names): seen.true_groups}),
            method=self.describe(),
            details={"shapes": shapes_json(labels)},
            recoding=recoding,
            meanings=recoding.meanings,
            suppressed=int(points.filter(pl.Series(group < 0))["rows"].sum()),
        )

    def grouped(self, points: pl.DataFrame, names: Sequence[str]) -> tuple[Any, list[Cell]]:
        """The group of every point (-1: left out), and the cells of the groups."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True)
class Holes(_Shaped):
    """Everybody is in one region, but for those between the ``sides`` of a region inside it."""

    sides: tuple[tuple[int, int], ...]

    made: ClassVar[str] = "holes"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sides", tuple((low, high) for low, high in self.sides))

    def grouped(self, points: pl.DataFrame, names: Sequence[str]) -> tuple[Any, list[Cell]]:
        within = np.ones(points.height, dtype=bool)
        for name, (low, high) in zip(names, self.sides, strict=True):
            within &= points[name].is_between(low, high).to_numpy()
        whole = dict.fromkeys(names, (0, 300))
        inner = dict(zip(names, self.sides, strict=True))
        return within.astype(np.int64), [Cell(whole, Nested(0)), Cell(inner, Nested(1))]

    def describe(self) -> dict[str, Any]:
        return {"name": "Holes", "sides": [list(each) for each in self.sides]}


@dataclass(frozen=True)
class Gathered(_Shaped):
    """Neighbours along the first column, at least ``size`` rows each, as a centre of whole numbers and a radius."""

    size: int

    made: ClassVar[str] = "balls"

    def grouped(self, points: pl.DataFrame, names: Sequence[str]) -> tuple[Any, list[Cell]]:
        order = points.select(names).with_row_index("place").sort(names)["place"].to_numpy()
        group, rows, number = np.zeros(points.height, dtype=np.int64), 0, 0
        left = int(points["rows"].sum())
        for place in order:
            if rows >= self.size and left >= self.size:
                number, rows = number + 1, 0
            group[place] = number
            rows += points["rows"][int(place)]
            left -= points["rows"][int(place)]
        return group, [self._cell(points.filter(pl.Series(group == each)), names) for each in range(number + 1)]

    def _cell(self, points: pl.DataFrame, names: Sequence[str]) -> Cell:
        centre = {name: round(float(points[name].mean())) for name in names}  # type: ignore[arg-type]
        away = np.sqrt(sum((points[name].to_numpy() - centre[name]) ** 2 for name in names))
        radius = float(np.max(away))
        sides = {name: (math.floor(centre[name] - radius), math.ceil(centre[name] + radius)) for name in names}
        return Cell(sides, Ball(centre, radius, dict.fromkeys(names, 1)))

    def describe(self) -> dict[str, Any]:
        return {"name": "Gathered", "size": self.size}


def _text(side: Side) -> str:
    return f"[{side[0]}, {side[1]}]"


def _column(table: Table, name: str, values: pl.Series, cells: Sequence[Cell]) -> RegionColumn:
    sides = list(dict.fromkeys(cell.sides[name] for cell in cells))
    meanings = [Meaning.read({"interval": list(side), "closed": "both"}, _WHOLE, name) for side in sides]
    of_group = np.array([sides.index(cell.sides[name]) for cell in cells])
    leaves = values.unique().sort()
    return RegionColumn(name, table.quasi[name], leaves, pl.Series(name, map(_text, sides)), meanings, of_group)


def _codes(column: RegionColumn, values: pl.Series) -> Any:
    return np.searchsorted(column.leaves.to_numpy(), values.to_numpy())


class ShapedFormat(GroupFormat):
    """As ``generalize``, and details say what shape the cells have."""

    tables: ClassVar[tuple[str, ...]] = ("data",)
    sensitive_table: ClassVar[str] = "data"

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]

    def check(self, public: PublicSide) -> None:
        super().check(public)
        if set(public.manifest.details) != {"shapes"}:
            raise DataError("manifest.json: the details must have the shapes of all cells.")
        assert public.seen.shapes

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        shapes = read_shapes(details["shapes"], "manifest.json")
        return format_of("generalize").seen(rows, columns, details).shaped(shapes)

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        return count_labels(public.rows["data"], public.meanings, condition, estimator, **self.known(public))

    def words(self, public: PublicSide) -> Words:
        return Words(
            "Rows look alike in regions that are no boxes.", ("Who lies in a hole is in the region inside it.",)
        )


HOLES, BALLS = ShapedFormat("holes"), ShapedFormat("balls")
