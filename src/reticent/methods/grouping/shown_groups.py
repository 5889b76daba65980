"""The adversary view of a local recoding: groups that differ in their cells, in all columns or in those that an adversary knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reticent.base.packing import first_rows, number, pack
from reticent.core import POPULATION, FittingOwners, FrequencySet, GroupLabels, Groups, LabelColumn
from reticent.methods.grouping.column_cells import ColumnCells, column_cells, covered, most_fitting
from reticent.methods.grouping.quasi_sets import Columns, seen_as
from reticent.methods.grouping.scales import Ids, ShownStyle, style_of
from reticent.methods.grouping.stage import Mask
from reticent.methods.typical import typical_values


def apart(sets: Sequence[Sequence[int]]) -> list[Columns]:
    """Merge sets of columns that share a column; each of the resulting disjoint sets can be recoded independently."""
    found: list[set[int]] = []
    for columns in sets:
        touched = [each for each in found if not each.isdisjoint(columns)]
        found = [each for each in found if each not in touched] + [set(columns).union(*touched)]
    return [tuple(sorted(each)) for each in found]


def narrowed(units: FrequencySet, columns: Columns, *, single: bool) -> tuple[FrequencySet, Ids]:
    """The projection of the units onto some columns, and the index of each unit in it; units with equal values are merged, unless units are ``single`` rows."""
    if len(columns) == len(units.codes):
        return units, np.arange(len(units))
    narrow = replace(
        units,
        hierarchies=tuple(units.hierarchies[j] for j in columns),
        levels=tuple(units.levels[j] for j in columns),
        codes=tuple(units.codes[j] for j in columns),
    )
    if single:
        return narrow, np.arange(len(units))
    ids, _ = narrow.group_ids(narrow.levels)
    return narrow.generalize(narrow.levels), ids.astype(np.int64)


@dataclass(frozen=True)
class ShownGroups:
    """Groups that differ in at least one cell: the ``group`` of every unit, and for every column the cells of the groups.

    ``exact`` are the sets of columns in which the people of a population whose values a group's cells cover are exactly those that were split
    with it; for other sets, people are counted by the cells.
    """

    units: FrequencySet
    group: Ids
    columns: tuple[ColumnCells, ...]
    exact: tuple[Columns, ...]

    @classmethod
    def of(cls, units: FrequencySet, parts: Sequence[tuple[Columns, Ids]], values: ShownStyle) -> ShownGroups:
        """The groups of units whose columns were recoded in disjoint sets, each set with its own group of every unit."""
        counts = [int(found.max(initial=-1)) + 1 for _, found in parts]
        together, count = number(*pack([found for _, found in parts], counts, len(units)))
        firsts = first_rows(together, count)
        cells: dict[int, ColumnCells] = {}
        for (columns, found), groups in zip(parts, counts, strict=True):
            own = [column_cells(units.hierarchies[j], units.codes[j], found, groups, values) for j in columns]
            if values == "typical":
                own = _with_typical(units, columns, own, found)
            for j, each in zip(columns, own, strict=True):
                cells[j] = each.of_groups(found[firsts])
        ordered = [cells[j] for j in range(len(cells))]
        # Groups with the same cells in every column are one equivalence class.
        alike, count = _numbered(ordered)
        ones = first_rows(alike, count)
        wide = [style_of(hierarchy, values) in ("hierarchy", "stars") for hierarchy in units.hierarchies]
        known = tuple(columns for columns, _ in parts if not any(wide[j] for j in columns))
        return cls(units, alike[together], tuple(each.of_groups(ones) for each in ordered), known)

    def __len__(self) -> int:
        return len(self.columns[0].of_group)

    @cached_property
    def groups(self) -> Groups:
        """All groups; a group that matches only people of the population outside the table has no rows."""
        merged = self.units.merged(self.group.astype(np.int32), len(self))
        fitting = self._most_fitting if self.units.owners else None
        return replace(merged, labels=GroupLabels(self._labels, fitting=fitting))

    def _labels(self) -> list[LabelColumn]:
        return [
            LabelColumn(
                hierarchy.column,
                cells.of_group,
                cells.labels,
                self.units.raw_values(place, lambda: self.group, len(self)),
            )
            for place, (hierarchy, cells) in enumerate(zip(self.units.hierarchies, self.columns, strict=True))
        ]

    def seen(self, columns: Columns, kept: Mask) -> tuple[Ids, Groups]:
        """The groups under ``kept`` as observed by an adversary who knows some columns: the merged group of each, and the merged groups."""
        if len(columns) == len(self.columns):
            ids, count, there = np.arange(len(self)), len(self), kept
            mine, groups = np.arange(int(kept.sum())), self.groups.select(kept)
        else:
            ids, count = _numbered([self.columns[j] for j in columns])
            mine, there, groups = seen_as(self.groups, columns, ids, count, kept)
        if groups.owners and not self._counts_people(columns):
            # If labels overlap, rows of a person match groups that they do not belong to, and an adversary who knows these rows is considered too.
            fitting = self._fitting(columns, first_rows(ids, count)[there])
            owners = tuple(FittingOwners(*each) for each in zip(groups.owners, fitting, strict=True))
            groups = replace(groups, owners=owners)
        if POPULATION in groups.extras and not self._counts_people(columns):
            people = self._people(columns, first_rows(ids, count)[there])
            groups = replace(groups, extras={**groups.extras, POPULATION: people})
        return mine, groups

    def _most_fitting(self, names: Sequence[str], groups: Ids) -> list[Ids]:
        """The maximum number of rows of one person that match the labels of some groups in some columns; all rows of a person if no column is known."""
        places = [hierarchy.column for hierarchy in self.units.hierarchies]
        if names:
            return self._fitting(tuple(places.index(name) for name in names), groups)
        everything = np.zeros(len(self.units), dtype=np.int64)
        return [np.repeat(each.merged(everything, 1).most_rows, len(groups)) for each in self.units.owners]

    def _fitting(self, columns: Columns, groups: Ids) -> list[Ids]:
        cells, codes = [self.columns[j].of_groups(groups) for j in columns], [self.units.codes[j] for j in columns]
        return [most_fitting(codes, each, cells) for each in self.units.owners]

    def _counts_people(self, columns: Columns) -> bool:
        """Whether the people of the population that were split with the groups are exactly those who match the cells in some columns."""
        return sum(len(each) for each in self.exact if set(each) <= set(columns)) == len(columns)

    def _people(self, columns: Columns, ones: Ids) -> Ids:
        """The number of people of the population who match the cells of some groups."""
        cells = [self.columns[j].of_groups(ones) for j in columns]
        return covered([self.units.codes[j] for j in columns], self.units.extras[POPULATION], cells)


def _with_typical(units: FrequencySet, columns: Columns, cells: Sequence[ColumnCells], found: Ids) -> list[ColumnCells]:
    """The cells of columns that were split together, with the typical values of their groups; groups with the same cells are merged."""
    alike, count = _numbered(cells)
    ones = first_rows(alike, count)
    return [
        replace(
            own,
            typical=typical_values(
                units.hierarchies[j],
                units.codes[j],
                units.sizes,
                alike[found],
                own.meanings,
                own.of_group[ones],
                listed=style_of(units.hierarchies[j], "typical") != "hierarchy",
            ).gather(alike),
        )
        for j, own in zip(columns, cells, strict=True)
    ]


def _numbered(columns: Sequence[ColumnCells]) -> tuple[Ids, int]:
    """Number the groups by their cells in some columns: return the number of each group, and how many there are."""
    sizes = [len(cells.labels) for cells in columns]
    ids, count = number(*pack([cells.of_group for cells in columns], sizes, len(columns[0].of_group)))
    return ids.astype(np.int64), count
