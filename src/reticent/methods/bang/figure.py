"""Draw nested regions in two of their columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

from reticent.base.cards import shortened
from reticent.base.charts import ChartAxis, ChartBox, box_chart
from reticent.base.figures import Figure
from reticent.core import AdversaryView
from reticent.methods.bang.shape import Compacted, Nested, Patched
from reticent.table import Interval, Meaning, Missing, OrMissing, Value, Values

_MOST_DRAWN = 600
_MOST_LISTED = 50
_MOST_MARKS = 12
_LONGEST = 6
# Width of a letter as a share of an axis.
_WIDE = 0.013
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class _DrawnRegion:
    """A region: its level, the meanings of its sides, and the number of people in its class."""

    level: int
    sides: tuple[Meaning, ...]
    people: int


def regions_in_two_columns(view: AdversaryView) -> Figure | None:
    """Draw the regions of a release in the two columns that split them most, numbers and dates preferred; None if groups
    are not regions, or fewer than two columns split them.

    Of very many regions, those of the largest classes are drawn.
    """
    regions = list(_regions(view))
    lines = [_line([region.sides[column] for region in regions]) for column in range(len(view.columns))]
    splitting = [column for column, line in enumerate(lines) if line.parts > 1]
    chosen = sorted(splitting, key=lambda column: (isinstance(lines[column], _RankedLine), -lines[column].parts))[:2]
    if not regions or len(chosen) < 2:
        return None
    across, up = chosen
    shown_regions = sorted(regions, key=lambda region: -region.people)[:_MOST_DRAWN]
    axes = {column: lines[column].axis(view.columns[column].name) for column in chosen}
    regions_by_spans: dict[tuple[tuple[float, float], tuple[float, float]], list[_DrawnRegion]] = {}
    for region in shown_regions:
        spans = (lines[column].span(region.sides[column], axes[column]) for column in chosen)
        regions_by_spans.setdefault((next(spans), next(spans)), []).append(region)
    boxes = [
        ChartBox(
            *spans, regions_here[0].level, f"{_description(regions_here[0], view, chosen)}: {_counted(regions_here)}"
        )
        for spans, regions_here in regions_by_spans.items()
    ]
    names = [view.columns[column].name for column in chosen]
    title = f"Regions by {names[0]} and {names[1]}"
    truncation = f" {_MOST_DRAWN} of {len(regions):,} regions are drawn." if len(regions) > _MOST_DRAWN else ""
    remark = (
        " Regions that differ in other columns only are one box, and boxes may overlap here."
        if len(view.columns) > 2
        else ""
    )
    return Figure(
        title,
        "A box is a region, and those inside a region are holes in it: of the regions that hold somebody the innermost counts. At the edges a region has no end."
        f"{remark}{truncation}",
        box_chart(boxes, axes[across], axes[up], title=title),
        (*names, "level", "people of the class"),
        tuple(
            (
                shown_region.sides[across].words(),
                shown_region.sides[up].words(),
                str(shown_region.level),
                f"{shown_region.people:,}",
            )
            for shown_region in shown_regions[:_MOST_LISTED]
        ),
    )


def _regions(view: AdversaryView) -> Iterator[_DrawnRegion]:
    """Every region of every class."""
    for cell, (shape, people) in enumerate(zip(view.shapes, view.sizes.tolist(), strict=False)):
        if isinstance(shape, Nested):
            sides = tuple(column.meanings[column.codes[cell]] for column in view.columns)
            yield _DrawnRegion(shape.level, sides, people)
        elif isinstance(shape, Compacted):
            yield from (_DrawnRegion(level, sides, people) for level, sides in shape.patches.boxes)
        elif isinstance(shape, Patched):
            yield from (_DrawnRegion(level, sides, people) for level, sides in shape.boxes)


class _DrawnLine(ABC):
    """A column as a line: the number of ``parts`` that regions split it into, its axis, and the span of a side of a region."""

    parts: int

    @abstractmethod
    def axis(self, name: str) -> ChartAxis:
        """The axis of the column."""

    @abstractmethod
    def span(self, side: Meaning, axis: ChartAxis) -> tuple[float, float]:
        """Return the span of a side on the axis."""


class _MeasuredLine(_DrawnLine):
    """Numbers, dates or timestamps, with margins for unbounded regions."""

    def __init__(self, ends: Sequence[Any]) -> None:
        self.places = {_place(end): end for end in ends}
        self.parts = len(self.places)

    def axis(self, name: str) -> ChartAxis:
        """Return the chart's axis of numbers or dates, with room beyond both ends."""
        ends = sorted(self.places)
        room = float(np.median(np.diff(ends)))
        low, high = ends[0] - room, ends[-1] + room
        if isinstance(self.places[ends[0]], int | float):
            return ChartAxis(name, low, high)
        some = ends[:: -(-len(ends) // _MOST_MARKS)]
        return ChartAxis(name, low, high, marks=_readable([(end, str(self.places[end])) for end in some], low, high))

    def span(self, side: Meaning, axis: ChartAxis) -> tuple[float, float]:
        """Return where a side of a region begins and ends on the axis; unbounded sides reach its ends."""
        match side:
            case Interval(low, high) | OrMissing(Interval(low, high)):
                return axis.low if low is None else _place(low), axis.high if high is None else _place(high)
            case Value(only) if only is not None:
                return _place(only), _place(only) + 1
            case Missing():
                return axis.low, axis.low
        return axis.low, axis.high


class _RankedLine(_DrawnLine):
    """Non-numeric values, in an order in which every region is contiguous: regions result from repeated halving, so their
    value sets are nested or disjoint.
    """

    def __init__(self, sides: Sequence[Meaning]) -> None:
        """Rank the values such that the sets of all ``sides`` are contiguous: values are sorted by the sets that contain them, largest sets first."""
        sets = sorted(
            {value_set: None for value_set in map(_values, sides) if value_set},
            key=lambda value_set: (-len(value_set), str(value_set)),
        )
        sets_of: dict[Any, list[int]] = {}
        for number, values in enumerate(sets):
            for value in values:
                sets_of.setdefault(value, []).append(number)
        order = sorted(sets_of, key=lambda value: (sets_of[value], str(value)))
        self.place_of = {value: rank for rank, value in enumerate(order)}
        self.parts = len(order)

    def axis(self, name: str) -> ChartAxis:
        """Return the chart's axis of ranked values."""
        marks = [
            (rank + 0.5, "missing" if value is None else shortened(str(value), _LONGEST))
            for value, rank in self.place_of.items()
        ]
        return ChartAxis(name, 0, self.parts, marks=_readable(marks, 0, self.parts))

    def span(self, side: Meaning, axis: ChartAxis) -> tuple[float, float]:
        ranks = [self.place_of[value] for value in _values(side)]
        return (min(ranks), max(ranks) + 1) if ranks else (axis.low, axis.high)


def _line(sides: Sequence[Meaning]) -> _DrawnLine:
    """Build the line of a column from the meanings of its regions."""
    ends = [value for side in sides for value in side.written()]
    if ends and all(isinstance(end, int | float | date) and not isinstance(end, bool) for end in ends):
        return _MeasuredLine(ends)
    return _RankedLine(sides)


def _place(end: Any) -> float:
    if isinstance(end, datetime):
        return (end - datetime(1970, 1, 1)).total_seconds() / 86_400
    return float(end.toordinal()) - _EPOCH if isinstance(end, date) else float(end)


def _values(side: Meaning) -> tuple[Any, ...]:
    """Return the values listed by a side, null included; empty if it covers all values."""
    match side:
        case Value(value):
            return (value,)
        case Values(values):
            return tuple(values)
        case Missing():
            return (None,)
    return ()


def _readable(marks: Sequence[tuple[float, str]], low: float, high: float) -> list[tuple[float, str]]:
    """Select at most a few axis marks whose texts do not overlap."""
    readable: list[tuple[float, str]] = []
    for position, text in marks[:: -(-len(marks) // _MOST_MARKS)]:
        if not readable or (position - readable[-1][0]) / (high - low) >= _WIDE * max(len(text), len(readable[-1][1])):
            readable.append((position, text))
    return readable


def _counted(regions: Sequence[_DrawnRegion]) -> str:
    """Return the caption of regions that are equal in both columns."""
    if len(regions) > 1:
        return f"{len(regions)} regions that differ in other columns"
    return f"level {regions[0].level}, a class of {regions[0].people:,} people"


def _description(region: _DrawnRegion, view: AdversaryView, chosen: list[int]) -> str:
    """Return the sides of a region in words, for the ``chosen`` columns."""
    return ", ".join(f"{view.columns[column].name} {region.sides[column].words()}" for column in chosen)
