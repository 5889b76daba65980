"""What a local recoding publishes of a group in one column: a set of values, a range, or a node of the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.anonymize.mondrian.stage import order_of
from reticent.data.hierarchy import NULL_LABEL, SUPPRESSED, BoundHierarchy, Codes, unused
from reticent.utility import LeafSets

Values = Literal["sets", "ranges", "hierarchy"]

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
    order = order_of(hierarchy)
    members, of_group = _value_sets(order.take(codes), hierarchy.size, group, count)
    leaf_at = np.argsort(order)
    describe = _as_range if values == "ranges" and hierarchy.is_numeric else _as_set
    texts, known = hierarchy.levels[0].labels, hierarchy.leaves.to_list()
    book = _Book()
    numbers = [book.number(*describe(hierarchy, leaf_at, places, texts, known)) for places in members]
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
    present = np.zeros(count * size, dtype=bool)
    present[group * size + places] = True
    packed = np.ascontiguousarray(np.packbits(present.reshape(count, size), axis=1))
    rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, firsts, of_group = np.unique(rows, return_index=True, return_inverse=True)
    owners, members = np.nonzero(present.reshape(count, size)[firsts])
    return np.split(members, np.flatnonzero(np.diff(owners)) + 1), of_group.astype(np.int64)


Described = tuple[str, Mapping[str, Any], NDArray[np.int64]]


def _as_set(
    hierarchy: BoundHierarchy,
    leaf_at: NDArray[np.int64],
    places: NDArray[np.int64],
    texts: Sequence[str],
    known: list[Any],
) -> Described:
    leaves = leaf_at[places]
    if len(leaves) == 1:
        leaf = int(leaves[0])
        return NULL_LABEL if leaf == hierarchy.null_leaf else texts[leaf], hierarchy.levels[0].meanings[leaf], leaves
    if len(leaves) == hierarchy.size:
        return SUPPRESSED, {"all": True}, leaves
    members = leaves.tolist()
    shown = [NULL_LABEL if leaf == hierarchy.null_leaf else texts[leaf] for leaf in members]
    return "{" + ", ".join(shown) + "}", {"values": [known[leaf] for leaf in members]}, leaves


def _as_range(
    hierarchy: BoundHierarchy,
    leaf_at: NDArray[np.int64],
    places: NDArray[np.int64],
    texts: Sequence[str],
    known: list[Any],
) -> Described:
    low, high = int(places[0]), int(places[-1])
    if low == high or hierarchy.null_leaf in leaf_at[places].tolist():
        return _as_set(hierarchy, leaf_at, places, texts, known)
    covered = leaf_at[low : high + 1]
    first, last = int(covered[0]), int(covered[-1])
    return f"[{texts[first]}, {texts[last]}]", {"interval": [known[first], known[last]], "closed": "both"}, covered


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


def merge_alike(columns: list[ColumnCells], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Groups that show the same cells in every column are one group to a reader: the number of each, and one of each."""
    if count == 0 or not columns:
        return np.zeros(count, dtype=np.int64), np.zeros(min(count, 1), dtype=np.int64)
    keys = np.stack([cells.of_group for cells in columns], axis=1)
    _, firsts, numbers = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return numbers.ravel().astype(np.int64), firsts


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
