"""Scales of quasi columns: positions of values, distances, and the boxes of groups.

A number without a hierarchy is published as a range between multiples of a declared width, so that the range of a group
with one person does not reveal the person's value. All other columns are published as nodes of their hierarchies.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import first_rows, number, pack, sort_equal
from reticent.errors import PolicyError
from reticent.table import BoundHierarchy, Hierarchy, Interval, Meaning, Table, Value, unused

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ColumnRange = tuple[Any, Any, Any]
"""Declared lowest and highest value of a numeric column, and the width of its ranges."""

_PARTS = 64
_LARGEST_WHOLE = 2**60


@dataclass(frozen=True)
class ColumnBoxes:
    """One quasi column of the boxes of all groups: labels (an enum in their order) with their meanings, and the ends as values of the column."""

    labels: pl.Series
    meanings: Mapping[str, Meaning]
    low: pl.Series
    high: pl.Series


@dataclass(frozen=True)
class PeopleByGroup:
    """The people of each group: rows sorted by group, CSR offsets, and group sizes (at least one)."""

    rows: Ints
    starts: Ints
    sizes: Ints

    @classmethod
    def of(cls, group_of: Ints, groups: int) -> PeopleByGroup:
        """Group people by their group number."""
        rows = sort_equal(group_of, groups)[0]
        sizes = np.bincount(group_of, minlength=groups)
        return cls(rows, np.cumsum(sizes) - sizes, sizes)

    def ends(self, numbers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the minimum and maximum of each group."""
        ordered = numbers[self.rows]
        return np.minimum.reduceat(ordered, self.starts), np.maximum.reduceat(ordered, self.starts)


class QuasiScale(ABC):
    """The scale of one quasi column."""

    column: str

    @abstractmethod
    def scaled(self, values: pl.Series) -> Floats:
        """Return values scaled to [0, 1], so that distances of different columns are comparable."""

    @abstractmethod
    def boxes(self, values: pl.Series, people: PeopleByGroup, exact: bool) -> ColumnBoxes:
        """Return the box of each group around its people; ``exact`` ranges end at people's own values, as printed (baselines)."""

    @abstractmethod
    def order(self) -> list[Any] | None:
        """Return the values in the order of the scale; None for numbers."""


@dataclass(frozen=True)
class NumberScale(QuasiScale):
    """Numbers or dates between ``low`` and ``high``, in ranges whose ends are multiples of ``width``."""

    column: str
    low: float
    high: float
    width: int | float
    dtype: pl.DataType

    @property
    def _whole(self) -> bool:
        return not self.dtype.is_float()

    def scaled(self, values: pl.Series) -> Floats:
        span = self.high - self.low
        positions: Floats = (_numbers(values) - self.low) / (span if span > 0 else 1.0)
        return positions

    def order(self) -> None:
        return None

    def boxes(self, values: pl.Series, people: PeopleByGroup, exact: bool) -> ColumnBoxes:
        """Return the range of every group's numbers or dates; that of a single person is widened."""
        numbers = values.to_physical().to_numpy()
        low, high = people.ends(numbers)
        if exact:
            single = people.sizes == 1
            extends_down = single & (high + self.width > self.high)
            low, high = (
                np.where(extends_down, low - self.width, low),
                np.where(single & ~extends_down, high + self.width, high),
            )
        else:
            low, high = self._snapped(low, high)
        representatives, label_of = _distinct_pairs(low, high)
        lows, highs = (
            pl.Series(self.column, ends[representatives]).cast(self._physical).cast(self.dtype) for ends in (low, high)
        )
        meanings: dict[str, Meaning] = {}
        texts = []
        for lowest, highest in zip(lows.to_list(), highs.to_list(), strict=True):
            meaning: Meaning = Value(lowest) if lowest == highest else Interval(lowest, highest, "both")
            texts.append(str(lowest) if isinstance(meaning, Value) else meaning.text)  # type: ignore[attr-defined]
            meanings[texts[-1]] = meaning
        return ColumnBoxes(
            _coded(self.column, texts).gather(label_of), meanings, lows.gather(label_of), highs.gather(label_of)
        )

    @property
    def _physical(self) -> pl.DataType | type[pl.DataType]:
        return pl.Int64 if self._whole else pl.Float64

    def _snapped(self, low: NDArray[Any], high: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the ends of ranges, moved outward to multiples of the width; integer ranges end one below the next multiple."""
        if self._whole:
            width = int(self.width)
            return low // width * width, high // width * width + (width - 1)
        first, last = np.floor(low / self.width), np.floor(high / self.width) + 1
        first = np.where(self._multiple(first) > low, first - 1, first)
        last = np.where(self._multiple(last) < high, last + 1, last)
        return self._multiple(first), self._multiple(last)

    def _multiple(self, multiples: Floats) -> Floats:
        """Return the width times some integers, rounded once: a width such as 0.1 is applied as a division by 10."""
        parts = round(1 / self.width) if self.width < 1 else 1
        is_exact = parts > 1 and math.isclose(parts * self.width, 1)
        return multiples / parts if is_exact else multiples * self.width


@dataclass(frozen=True)
class NodeScale(QuasiScale):
    """Values under a hierarchy, in an order in which every node is a contiguous range."""

    column: str
    hierarchy: BoundHierarchy

    @cached_property
    def _place(self) -> Ints:
        """The position of each leaf in an order in which the leaves of every hierarchy node are consecutive."""
        keys = [np.array(level.labels, dtype=object)[level.parts] for level in self.hierarchy.levels]
        texts = self.hierarchy.leaves.cast(pl.String).fill_null("").to_list()
        order = sorted(range(len(texts)), key=lambda leaf: (*(key[leaf] for key in reversed(keys)), texts[leaf]))
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        return position

    def order(self) -> list[Any]:
        return self.hierarchy.leaves.gather(np.argsort(self._place)).to_list()

    def scaled(self, values: pl.Series) -> Floats:
        positions: Floats = self._place[self.hierarchy.codes(values)] / max(self.hierarchy.size - 1, 1)
        return positions

    def boxes(self, values: pl.Series, people: PeopleByGroup, exact: bool) -> ColumnBoxes:
        """Return the lowest hierarchy node that covers each group; that of a single person is one level higher."""
        leaves = np.asarray(self.hierarchy.codes(values), dtype=np.int64)
        groups = len(people.sizes)
        lowest = np.where((people.sizes == 1) & (not exact), min(1, self.hierarchy.height), 0)
        lowest = np.maximum(lowest, self.hierarchy.lowest)
        level_of, part_of = np.full(groups, -1), np.zeros(groups, dtype=np.int64)
        for height, level in enumerate(self.hierarchy.levels):
            low, high = people.ends(level.parts[leaves].astype(np.int64))
            fits = (level_of < 0) & (low == high) & (lowest <= height)
            level_of[fits], part_of[fits] = height, low[fits]
        if (level_of < 0).any():
            raise PolicyError(
                f"The hierarchy of column {self.column!r} has no level at which all people of a group share a label. Its last level must cover every value.",
                setting=("hierarchies", self.column),
                column=self.column,
            )
        representatives, label_of = _distinct_pairs(level_of, part_of)
        meanings: dict[str, Meaning] = {}
        texts, lows, highs = [], [], []
        leaf_at = np.argsort(self._place)
        for height_chosen, part in zip(
            level_of[representatives].tolist(), part_of[representatives].tolist(), strict=True
        ):
            level = self.hierarchy.levels[height_chosen]
            text = next((text for text, meaning in meanings.items() if meaning == level.meanings[part]), None)
            if text is None:
                text = unused(level.labels[part], meanings)
                meanings[text] = level.meanings[part]
            texts.append(text)
            node_positions = self._place[level.parts == part]
            lows.append(int(leaf_at[node_positions.min()]))
            highs.append(int(leaf_at[node_positions.max()]))
        # Leaves of a declared domain have no name.
        leaves_named = self.hierarchy.leaves.alias(self.column)
        low_leaf, high_leaf = (leaves_named.gather(leaf_ends).gather(label_of) for leaf_ends in (lows, highs))
        return ColumnBoxes(_coded(self.column, texts).gather(label_of), meanings, low_leaf, high_leaf)


def is_range_column(dtype: pl.DataType, hierarchy: Hierarchy) -> bool:
    """True if a quasi column is published as ranges: a number or a date without a hierarchy."""
    plain = hierarchy.describe() == Hierarchy.suppression().describe()
    return plain and (dtype.is_numeric() or dtype == pl.Date)


def scales_of(table: Table, ranges: Mapping[str, ColumnRange]) -> tuple[QuasiScale, ...]:
    """Return the scales of a table's quasi columns; ``ranges`` has those of columns without a hierarchy."""
    bound = {hierarchy.column: hierarchy for hierarchy in table.hierarchies}
    return tuple(
        NumberScale(name, _number(ranges[name][0]), _number(ranges[name][1]), ranges[name][2], table.schema[name])
        if name in ranges
        else NodeScale(name, bound[name])
        for name in table.quasi
    )


def settled_ranges(table: Table, ranges: Mapping[str, Sequence[Any]] | None) -> dict[str, ColumnRange]:
    """Return range and width of every column published as ranges: as declared, otherwise the first table's range and 1/64 of it, rounded."""
    declared = dict(ranges or {})
    settled: dict[str, ColumnRange] = {}
    for name, hierarchy in table.quasi.items():
        if not is_range_column(table.schema[name], hierarchy):
            continue
        values = table.values(name)
        ends = list(declared.pop(name, (values.min(), values.max())))
        if len(ends) not in (2, 3) or any(end is None for end in ends):
            raise PolicyError(
                f"ranges[{name!r}] must be (lowest, highest) or (lowest, highest, width), but it is {tuple(ends)!r}.",
                setting=("ranges", name),
                column=name,
                value=ends,
            )
        low, high = (_number(end) for end in ends[:2])
        width = ends[2] if len(ends) == 3 else _width((high - low) / _PARTS, not table.schema[name].is_float())
        is_whole = not table.schema[name].is_float()
        if not high >= low or isinstance(width, bool) or not width > 0 or (is_whole and width != int(width)):
            raise PolicyError(
                f"ranges[{name!r}] is {tuple(ends)!r}: the highest value must not be below the lowest, and the width must be a positive "
                f"{'whole ' if is_whole else ''}number.",
                setting=("ranges", name),
                column=name,
                value=ends,
            )
        settled[name] = (ends[0], ends[1], int(width) if is_whole else float(width))
    if declared:
        name = next(iter(declared))
        raise PolicyError(
            f"ranges has {name!r}, which is not a numeric quasi column without a hierarchy.",
            setting=("ranges", name),
            column=name,
        )
    return settled


def positions_of(boxes: Sequence[ColumnBoxes], orders: Mapping[str, list[Any] | None]) -> dict[str, Any]:
    """Return the ends of boxes on the scales of their columns: ``low`` and ``high``, groups by columns."""
    ends = []
    for end in ("low", "high"):
        columns = []
        for box in boxes:
            values, order = getattr(box, end), orders[box.labels.name]
            columns.append(places_on(values, order))
        ends.append(np.stack(columns, axis=1))
    return {"low": ends[0], "high": ends[1]}


def places_on(values: pl.Series, order: Sequence[Any] | None) -> Floats:
    """Return positions of values on a scale: numbers and dates unchanged, others by index in the order."""
    if order is None:
        return values.to_physical().cast(pl.Float64).to_numpy()
    return values.replace_strict(list(order), list(range(len(order))), return_dtype=pl.Float64).to_numpy()


def merged_order(old: Sequence[Any] | None, new: Sequence[Any] | None) -> list[Any] | None:
    """Return the ``new`` order of a scale's values with the values of the ``old`` one inserted that it lacks, each next to its
    predecessor, so that hierarchy nodes stay contiguous; None for a scale without an order.
    """
    if new is None:
        return None
    merged, present = list(new), set(new)
    before: Any = None
    for value in old or ():
        if value not in present:
            merged.insert(0 if before is None else merged.index(before) + 1, value)
            present.add(value)
        before = value
    return merged


def _distinct_pairs(first: NDArray[Any], second: NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the index of a representative of each distinct pair of numbers, sorted, and the inverse mapping."""
    codes, sizes = zip(*(_places_in_order(numbers) for numbers in (first, second)), strict=True)
    chosen, count = number(*pack(codes, sizes, len(first)))
    return first_rows(chosen, count), chosen.astype(np.int64)


def _places_in_order(numbers: NDArray[Any]) -> tuple[Ints, int]:
    """Return dense ranks of numbers from 0, and their number."""
    if numbers.dtype.kind in "iu" and len(numbers):
        low, high = int(numbers.min()), int(numbers.max())
        if max(-low, high) < _LARGEST_WHOLE:
            return numbers.astype(np.int64) - low, high - low + 1
    distinct, ranks = np.unique(numbers, return_inverse=True)
    return ranks.astype(np.int64), max(len(distinct), 1)


def _coded(name: str, labels: Sequence[str]) -> pl.Series:
    """Return labels as an enum in their order, so that sorting and comparing need no text."""
    return pl.Series(name, labels, dtype=pl.String).cast(pl.Enum(sorted(set(labels))))


def _width(share: float, is_whole: bool) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is at least ``share``; at least 2 for integers."""
    if share <= 0:
        return 2 if is_whole else 1.0
    power = 10.0 ** math.floor(math.log10(share))
    step_width = next(step * power for step in (1, 2, 5, 10) if step * power >= share * (1 - 1e-9))
    return max(2, round(step_width)) if is_whole else step_width


def _numbers(values: pl.Series) -> Floats:
    return values.to_physical().cast(pl.Float64).to_numpy()


def _number(value: Any) -> float:
    """Return a number, or a date as a number."""
    return float(_numbers(pl.Series([value]))[0])
