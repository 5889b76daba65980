"""What a local recoding publishes of a group in one column: a set of values, a range, or a node of the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.anonymize.mondrian import stage
from reticent.anonymize.mondrian.scales import Values, order_of
from reticent.data.hierarchy import NULL_LABEL, SUPPRESSED, BoundHierarchy, Codes, unused
from reticent.utility import LeafSets

_PAIRS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class ColumnCells:
    """The distinct cells of a column: a label and a meaning for each, its leaves, and which cell every group shows."""

    labels: tuple[str, ...]
    meanings: tuple[Mapping[str, Any], ...]
    leaves: tuple[NDArray[np.int64], ...]
    of_group: NDArray[np.int64]

    def of_groups(self, groups: NDArray[np.int64]) -> ColumnCells:
        """The same cells, for some of the groups only."""
        return replace(self, of_group=self.of_group[groups])

    def shown_meanings(self) -> dict[str, Mapping[str, Any]]:
        """The meanings of the labels that some group shows."""
        places = np.unique(self.of_group).tolist()
        return {self.labels[place]: self.meanings[place] for place in places}

    def covering(self, size: int) -> NDArray[np.bool_]:
        """Which of the first ``size`` leaves (rows) the cell of which group (column) covers."""
        by_cell = np.zeros((size, len(self.leaves)), dtype=bool)
        for place, leaves in enumerate(self.leaves):
            by_cell[leaves[leaves < size], place] = True
        return by_cell[:, self.of_group]

    def leaf_sets(self) -> LeafSets:
        """The cells as measures of utility see them."""
        owners = np.repeat(np.arange(len(self.leaves)), [len(leaves) for leaves in self.leaves])
        return LeafSets(np.concatenate(self.leaves), owners, len(self.leaves), self.of_group)


def column_cells(
    hierarchy: BoundHierarchy, codes: Codes, group: NDArray[np.int64], count: int, values: Values
) -> ColumnCells:
    """The cells of one column, given the leaf and the group of every unit.

    ``sets`` publishes exactly the values that occur in the group. ``ranges`` does so for categories and publishes the lowest and the
    highest value of numbers and dates. ``hierarchy`` publishes the lowest part that covers the group.
    """
    if values == "hierarchy":
        return _parts(hierarchy, codes, group, count)
    column = _Column.of(hierarchy)
    sets, of_group = _value_sets(column.place_of.take(codes), column.size, group, count)
    describe = column.as_range if values == "ranges" and hierarchy.is_numeric else column.as_set
    book = _Book()
    numbers = [book.number(*describe(places)) for places in sets]
    return book.cells(np.array(numbers, dtype=np.int64)[of_group])


class _Book:
    """Cells by number. A label is used once: a value may be spelled like a set of others, or like the sign for all."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {}
        self._cells: dict[str, tuple[Mapping[str, Any], NDArray[np.int64]]] = {}

    def number(self, label: str, meaning: Mapping[str, Any], leaves: NDArray[np.int64]) -> int:
        """The number of the cell that covers these leaves; two sets of values can share a range."""
        key = tuple(leaves.tolist())
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            self._cells[unused(label, self._cells)] = (meaning, leaves)
        return self._numbers[key]

    def cells(self, of_group: NDArray[np.int64]) -> ColumnCells:
        meanings, leaves = zip(*self._cells.values(), strict=True)
        return ColumnCells(tuple(self._cells), meanings, leaves, of_group)


def _value_sets(
    places: NDArray[np.int64], size: int, group: NDArray[np.int64], count: int
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The distinct sets of values, each rising, and the set of every group."""
    keys = group * size + places
    if count * size > stage.LARGEST_TABLE:
        return _listed_sets(np.unique(keys), size, count)
    present = np.zeros(count * size, dtype=bool)
    present[keys] = True
    packed = np.ascontiguousarray(np.packbits(present.reshape(count, size), axis=1))
    rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, firsts, of_group = np.unique(rows, return_index=True, return_inverse=True)
    owners, members = np.nonzero(present.reshape(count, size)[firsts])
    return np.split(members, np.flatnonzero(np.diff(owners)) + 1), of_group.astype(np.int64)


def _listed_sets(keys: NDArray[np.int64], size: int, count: int) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The same from rising keys, for columns of so many values that a table of all groups and values would not fit."""
    members = keys % size
    bounds = np.searchsorted(keys, size * np.arange(count + 1)).tolist()
    raw, width = members.tobytes(), members.itemsize
    numbers: dict[bytes, int] = {}
    of_group = [numbers.setdefault(raw[low * width : high * width], len(numbers)) for low, high in pairwise(bounds)]
    _, firsts = np.unique(of_group, return_index=True)
    return [members[bounds[first] : bounds[first + 1]] for first in firsts.tolist()], np.array(of_group, dtype=np.int64)


Described = tuple[str, Mapping[str, Any], NDArray[np.int64]]


@dataclass(frozen=True)
class _Column:
    """A column's leaves: their places in the order of cutting, the leaf at each place, texts, values and meanings."""

    place_of: NDArray[np.int64]
    leaf_at: NDArray[np.int64]
    texts: Sequence[str]
    values: Sequence[Any]
    meanings: Sequence[Mapping[str, Any]]
    null_leaf: int | None

    @classmethod
    def of(cls, hierarchy: BoundHierarchy) -> _Column:
        """The leaves of a hierarchy."""
        level = hierarchy.levels[0]
        order = order_of(hierarchy, along_tree=not hierarchy.is_numeric)
        null = hierarchy.null_leaf
        texts = [NULL_LABEL if leaf == null else text for leaf, text in enumerate(level.labels)]
        return cls(order, np.argsort(order), texts, hierarchy.leaves.to_list(), level.meanings, null)

    @property
    def size(self) -> int:
        return len(self.leaf_at)

    def as_set(self, places: NDArray[np.int64]) -> Described:
        """Exactly these values."""
        leaves = self.leaf_at[places]
        members = leaves.tolist()
        if len(members) == 1:
            return self.texts[members[0]], self.meanings[members[0]], leaves
        if len(members) == self.size:
            return SUPPRESSED, {"all": True}, leaves
        shown = ", ".join([self.texts[leaf] for leaf in members])
        return f"{{{shown}}}", {"values": [self.values[leaf] for leaf in members]}, leaves

    def as_range(self, places: NDArray[np.int64]) -> Described:
        """From the lowest of these values to the highest; a missing value has no place between others."""
        low, high = int(places[0]), int(places[-1])
        if low == high or self.null_leaf in self.leaf_at[places].tolist():
            return self.as_set(places)
        leaves = self.leaf_at[low : high + 1]
        first, last = int(leaves[0]), int(leaves[-1])
        ends = [self.values[first], self.values[last]]
        return f"[{self.texts[first]}, {self.texts[last]}]", {"interval": ends, "closed": "both"}, leaves


def _parts(hierarchy: BoundHierarchy, codes: Codes, group: NDArray[np.int64], count: int) -> ColumnCells:
    """The lowest level at which all values of a group fall into one part; a set of top parts where they never do."""
    level_of = np.full(count, -1, dtype=np.int64)
    part_of = np.zeros(count, dtype=np.int64)
    for number in range(hierarchy.height, -1, -1):
        parts = hierarchy.levels[number].parts.take(codes)
        low = np.full(count, np.iinfo(np.int64).max)
        high = np.full(count, -1)
        np.minimum.at(low, group, parts)
        np.maximum.at(high, group, parts)
        single = low == high
        level_of[single], part_of[single] = number, low[single]
    keys, of_group = np.unique(np.stack([level_of, part_of], axis=1), axis=0, return_inverse=True)
    book, shown = _Book(), []
    for level, part in keys.tolist():
        if level < 0:
            shown.append(book.number(SUPPRESSED, {"all": True}, np.arange(hierarchy.size)))
        else:
            chosen = hierarchy.levels[level]
            leaves = np.flatnonzero(chosen.parts == part)
            shown.append(book.number(chosen.labels[part], chosen.meanings[part], leaves))
    return book.cells(np.array(shown, dtype=np.int64)[of_group.ravel()])


def covered(codes: Sequence[Codes], counts: NDArray[np.int64], columns: Sequence[ColumnCells]) -> NDArray[np.int64]:
    """How many people each group's cells cover, given the leaves and the number of people of every point; some may fit several groups."""
    there = np.flatnonzero(counts)
    inside = [cells.covering(int(leaves.max(initial=0)) + 1) for cells, leaves in zip(columns, codes, strict=True)]
    people = np.zeros(len(columns[0].of_group), dtype=np.int64)
    step = max(_PAIRS_AT_ONCE // max(len(people), 1), 1)
    for start in range(0, len(there), step):
        points = there[start : start + step]
        fits = np.ones((len(points), len(people)), dtype=bool)
        for column, leaves in zip(inside, codes, strict=True):
            fits &= column[leaves[points]]
        people += counts[points] @ fits
    return people


def labels_of_rows(name: str, cells: ColumnCells, group_of_row: NDArray[np.int64]) -> pl.Series:
    """The published column."""
    return pl.Series(name, cells.labels, dtype=pl.String).gather(cells.of_group.take(group_of_row))
