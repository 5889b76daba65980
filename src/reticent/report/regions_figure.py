"""Regions one inside the other, drawn in two of their columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reticent.charts import ChartAxis, ChartBox, box_chart
from reticent.data import Compacted, Meaning, Nested, Patched, Seen, ValueType
from reticent.report.figures import Figure

_MOST_DRAWN = 600
_MOST_LISTED = 50


@dataclass(frozen=True)
class _DrawnRegion:
    """A region: its level, what its sides stand for, and how many people its class has."""

    level: int
    sides: tuple[Meaning, ...]
    people: int


def regions_in_two_columns(seen: Seen) -> Figure | None:
    """The regions of a release in the two columns of numbers that have most ends; None where groups are no such regions, or there are not two such columns.

    Of very many regions those of the largest classes are drawn.
    """
    regions = list(_regions(seen))
    ends = {place: sorted(_ends(regions, place)) for place in range(len(seen.columns))}
    chosen = sorted((place for place in ends if len(ends[place]) >= 2), key=lambda place: -len(ends[place]))[:2]
    if not regions or len(chosen) < 2:
        return None
    across, up = chosen
    drawn = sorted(regions, key=lambda each: -each.people)[:_MOST_DRAWN]
    axes = {place: _axis(seen.columns[place].name, ends[place]) for place in chosen}
    boxes = [
        ChartBox(
            _span(each.sides[across], axes[across]),
            _span(each.sides[up], axes[up]),
            each.level,
            f"{_told(each, seen, chosen)}: level {each.level}, a class of {each.people:,} people",
        )
        for each in drawn
    ]
    names = [seen.columns[place].name for place in chosen]
    title = f"Regions by {names[0]} and {names[1]}"
    beyond = f" {_MOST_DRAWN} of {len(regions):,} regions are drawn." if len(regions) > _MOST_DRAWN else ""
    return Figure(
        title,
        "A box is a region, and those inside a region are holes in it: of the regions that hold somebody the innermost counts. At the edges a region has no end. In other columns regions "
        f"differ too, so that boxes may overlap here.{beyond}",
        box_chart(boxes, axes[across], axes[up], title=title),
        (*names, "level", "people of the class"),
        tuple(
            (each.sides[across].words(), each.sides[up].words(), str(each.level), f"{each.people:,}")
            for each in drawn[:_MOST_LISTED]
        ),
    )


def _regions(seen: Seen) -> Iterator[_DrawnRegion]:
    """Every region of every class."""
    for cell, (shape, people) in enumerate(zip(seen.shapes, seen.sizes.tolist(), strict=False)):
        if isinstance(shape, Nested):
            sides = tuple(column.meanings[column.codes[cell]] for column in seen.columns)
            yield _DrawnRegion(shape.level, sides, people)
        elif isinstance(shape, Compacted):
            yield from (_DrawnRegion(level, sides, people) for level, sides in shape.patches.boxes)
        elif isinstance(shape, Patched):
            yield from (_DrawnRegion(level, sides, people) for level, sides in shape.boxes)


def _ends(regions: list[_DrawnRegion], place: int) -> set[float]:
    """The numbers at which regions begin or end in a column; none where they are no numbers."""
    written = [value for each in regions for value in each.sides[place].written()]
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in written):
        return set()
    return {float(value) for value in written}


def _axis(name: str, ends: list[float]) -> ChartAxis:
    """An axis with room beyond the outermost ends, for regions that have none there."""
    room = float(np.median(np.diff(ends)))
    return ChartAxis(name, ends[0] - room, ends[-1] + room)


def _span(side: Meaning, axis: ChartAxis) -> tuple[float, float]:
    """Where a side lies on an axis."""
    part = side.stretch(ValueType.REAL)
    if part is None:
        values = [float(value) for value in side.written()]
        return (values[0], values[0] + 1) if values else (axis.low, axis.high)
    low = axis.low if part.low is None else float(part.low)
    return low, axis.high if part.high is None else float(part.high)


def _told(region: _DrawnRegion, seen: Seen, chosen: list[int]) -> str:
    return ", ".join(f"{seen.columns[place].name} {region.sides[place].words()}" for place in chosen)
