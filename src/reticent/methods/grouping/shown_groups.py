"""What readers see of a local recoding: groups told apart by their cells, in all columns or in those that somebody knows."""

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
    """Sets of columns of which those that share a column are put together; each of the results can be recoded by itself."""
    found: list[set[int]] = []
    for columns in sets:
        touched = [each for each in found if not each.isdisjoint(columns)]
        found = [each for each in found if each not in touched] + [set(columns).union(*touched)]
    return [tuple(sorted(each)) for each in found]


def narrowed(units: FrequencySet, columns: Columns, *, single: bool) -> tuple[FrequencySet, Ids]:
    """The units in some of their columns, and which of these each unit is; those that are equal there become one, unless they are ``single`` rows."""
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
    """Groups that differ in some cell: the ``group`` of every unit, and for every column the cells of the groups.

    ``exact`` are the sets of columns whose cells hold everybody of a population who was cut along, and nobody else; elsewhere people
    have to be counted by the cells.
    """

    units: FrequencySet
    group: Ids
    columns: tuple[ColumnCells, ...]
    exact: tuple[Columns, ...]

    @classmethod
    def of(cls, units: FrequencySet, parts: Sequence[tuple[Columns, Ids]], values: ShownStyle) -> ShownGroups:
        """What is shown of units whose columns were recoded set by set: each set with its own group of every unit."""
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
        # Groups that show the same cells in every column are one group to a reader.
        alike, count = _numbered(ordered)
        ones = first_rows(alike, count)
        wide = [style_of(hierarchy, values) in ("hierarchy", "stars") for hierarchy in units.hierarchies]
        known = tuple(columns for columns, _ in parts if not any(wide[j] for j in columns))
        return cls(units, alike[together], tuple(each.of_groups(ones) for each in ordered), known)

    def __len__(self) -> int:
        return len(self.columns[0].of_group)

    @cached_property
    def groups(self) -> Groups:
        """All groups; one that only people outside the table fit has no rows."""
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
        """The groups under ``kept`` as somebody sees them who knows some columns: which each becomes, and what these hold."""
        if len(columns) == len(self.columns):
            ids, count, there = np.arange(len(self)), len(self), kept
            mine, groups = np.arange(int(kept.sum())), self.groups.select(kept)
        else:
            ids, count = _numbered([self.columns[j] for j in columns])
            mine, there, groups = seen_as(self.groups, columns, ids, count, kept)
        if groups.owners and not self._counts_people(columns):
            # Where labels overlap, rows of somebody fit groups that they are not in, and an adversary who knows them has to be thought of.
            fitting = self._fitting(columns, first_rows(ids, count)[there])
            owners = tuple(FittingOwners(*each) for each in zip(groups.owners, fitting, strict=True))
            groups = replace(groups, owners=owners)
        if POPULATION in groups.extras and not self._counts_people(columns):
            people = self._people(columns, first_rows(ids, count)[there])
            groups = replace(groups, extras={**groups.extras, POPULATION: people})
        return mine, groups

    def _most_fitting(self, names: Sequence[str], groups: Ids) -> list[Ids]:
        """How many rows of one owner fit the labels of some groups in some columns; where none is known, all of them do."""
        places = [hierarchy.column for hierarchy in self.units.hierarchies]
        if names:
            return self._fitting(tuple(places.index(name) for name in names), groups)
        everything = np.zeros(len(self.units), dtype=np.int64)
        return [np.repeat(each.merged(everything, 1).most_rows, len(groups)) for each in self.units.owners]

    def _fitting(self, columns: Columns, groups: Ids) -> list[Ids]:
        cells, codes = [self.columns[j].of_groups(groups) for j in columns], [self.units.codes[j] for j in columns]
        return [most_fitting(codes, each, cells) for each in self.units.owners]

    def _counts_people(self, columns: Columns) -> bool:
        """Whether the people who were cut along are those who fit the cells in some columns."""
        return sum(len(each) for each in self.exact if set(each) <= set(columns)) == len(columns)

    def _people(self, columns: Columns, ones: Ids) -> Ids:
        """How many people of the population fit the cells of some groups."""
        cells = [self.columns[j].of_groups(ones) for j in columns]
        return covered([self.units.codes[j] for j in columns], self.units.extras[POPULATION], cells)


def _with_typical(units: FrequencySet, columns: Columns, cells: Sequence[ColumnCells], found: Ids) -> list[ColumnCells]:
    """The cells of columns that were cut together, with the typical values of their groups; groups that show the same cells are one."""
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
    """Groups numbered by their cells in some columns."""
    sizes = [len(cells.labels) for cells in columns]
    ids, count = number(*pack([cells.of_group for cells in columns], sizes, len(columns[0].of_group)))
    return ids.astype(np.int64), count
