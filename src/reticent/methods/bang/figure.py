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


def regions_in_two_columns(seen: AdversaryView) -> Figure | None:
    """Draw the regions of a release in the two columns that split them most, numbers and dates preferred; None if groups
    are not regions, or fewer than two columns split them.

    Of very many regions, those of the largest classes are drawn.
    """
    regions = list(_regions(seen))
    lines = [_line([each.sides[place] for each in regions]) for place in range(len(seen.columns))]
    parting = [place for place, line in enumerate(lines) if line.parts > 1]
    chosen = sorted(parting, key=lambda place: (isinstance(lines[place], _RankedLine), -lines[place].parts))[:2]
    if not regions or len(chosen) < 2:
        return None
    across, up = chosen
    drawn = sorted(regions, key=lambda each: -each.people)[:_MOST_DRAWN]
    axes = {place: lines[place].axis(seen.columns[place].name) for place in chosen}
    alike: dict[tuple[tuple[float, float], tuple[float, float]], list[_DrawnRegion]] = {}
    for each in drawn:
        spans = (lines[place].span(each.sides[place], axes[place]) for place in chosen)
        alike.setdefault((next(spans), next(spans)), []).append(each)
    boxes = [
        ChartBox(*spans, mine[0].level, f"{_told(mine[0], seen, chosen)}: {_counted(mine)}")
        for spans, mine in alike.items()
    ]
    names = [seen.columns[place].name for place in chosen]
    title = f"Regions by {names[0]} and {names[1]}"
    beyond = f" {_MOST_DRAWN} of {len(regions):,} regions are drawn." if len(regions) > _MOST_DRAWN else ""
    others = (
        " Regions that differ in other columns only are one box, and boxes may overlap here."
        if len(seen.columns) > 2
        else ""
    )
    return Figure(
        title,
        "A box is a region, and those inside a region are holes in it: of the regions that hold somebody the innermost counts. At the edges a region has no end."
        f"{others}{beyond}",
        box_chart(boxes, axes[across], axes[up], title=title),
        (*names, "level", "people of the class"),
        tuple(
            (each.sides[across].words(), each.sides[up].words(), str(each.level), f"{each.people:,}")
            for each in drawn[:_MOST_LISTED]
        ),
    )


def _regions(seen: AdversaryView) -> Iterator[_DrawnRegion]:
    """Every region of every class."""
    for cell, (shape, people) in enumerate(zip(seen.shapes, seen.sizes.tolist(), strict=False)):
        if isinstance(shape, Nested):
            sides = tuple(column.meanings[column.codes[cell]] for column in seen.columns)
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
        ends = sorted(self.places)
        room = float(np.median(np.diff(ends)))
        low, high = ends[0] - room, ends[-1] + room
        if isinstance(self.places[ends[0]], int | float):
            return ChartAxis(name, low, high)
        some = ends[:: -(-len(ends) // _MOST_MARKS)]
        return ChartAxis(name, low, high, marks=_readable([(end, str(self.places[end])) for end in some], low, high))

    def span(self, side: Meaning, axis: ChartAxis) -> tuple[float, float]:
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
        sets = sorted({each: None for each in map(_values, sides) if each}, key=lambda each: (-len(each), str(each)))
        around: dict[Any, list[int]] = {}
        for number, values in enumerate(sets):
            for value in values:
                around.setdefault(value, []).append(number)
        order = sorted(around, key=lambda value: (around[value], str(value)))
        self.place_of = {value: place for place, value in enumerate(order)}
        self.parts = len(order)

    def axis(self, name: str) -> ChartAxis:
        marks = [
            (place + 0.5, "missing" if value is None else shortened(str(value), _LONGEST))
            for value, place in self.place_of.items()
        ]
        return ChartAxis(name, 0, self.parts, marks=_readable(marks, 0, self.parts))

    def span(self, side: Meaning, axis: ChartAxis) -> tuple[float, float]:
        places = [self.place_of[value] for value in _values(side)]
        return (min(places), max(places) + 1) if places else (axis.low, axis.high)


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
    found: list[tuple[float, str]] = []
    for place, text in marks[:: -(-len(marks) // _MOST_MARKS)]:
        if not found or (place - found[-1][0]) / (high - low) >= _WIDE * max(len(text), len(found[-1][1])):
            found.append((place, text))
    return found


def _counted(regions: Sequence[_DrawnRegion]) -> str:
    """Return the caption of regions that are equal in both columns."""
    if len(regions) > 1:
        return f"{len(regions)} regions that differ in other columns"
    return f"level {regions[0].level}, a class of {regions[0].people:,} people"


def _told(region: _DrawnRegion, seen: AdversaryView, chosen: list[int]) -> str:
    return ", ".join(f"{seen.columns[place].name} {region.sides[place].words()}" for place in chosen)
