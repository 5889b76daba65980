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
    """Return disjoint sets of columns, from merging those that share a column; each can be recoded independently."""
    merged: list[set[int]] = []
    for columns in sets:
        overlapping = [disjoint_set for disjoint_set in merged if not disjoint_set.isdisjoint(columns)]
        merged = [disjoint_set for disjoint_set in merged if disjoint_set not in overlapping] + [
            set(columns).union(*overlapping)
        ]
    return [tuple(sorted(disjoint_set)) for disjoint_set in merged]


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
        counts = [int(group_of_unit.max(initial=-1)) + 1 for _, group_of_unit in parts]
        joint_group, count = number(*pack([group_of_unit for _, group_of_unit in parts], counts, len(units)))
        firsts = first_rows(joint_group, count)
        cells: dict[int, ColumnCells] = {}
        for (columns, group_of_unit), groups in zip(parts, counts, strict=True):
            own_cells = [
                column_cells(units.hierarchies[j], units.codes[j], group_of_unit, groups, values) for j in columns
            ]
            if values == "typical":
                own_cells = _with_typical(units, columns, own_cells, group_of_unit)
            for j, column_cells_of in zip(columns, own_cells, strict=True):
                cells[j] = column_cells_of.of_groups(group_of_unit[firsts])
        ordered = [cells[j] for j in range(len(cells))]
        # Groups with the same cells in every column are one equivalence class.
        group_of_joint, count = _numbered(ordered)
        first_joint = first_rows(group_of_joint, count)
        shows_more = [style_of(hierarchy, values) in ("hierarchy", "stars") for hierarchy in units.hierarchies]
        exact_sets = tuple(columns for columns, _ in parts if not any(shows_more[j] for j in columns))
        return cls(
            units,
            group_of_joint[joint_group],
            tuple(column_cells_of.of_groups(first_joint) for column_cells_of in ordered),
            exact_sets,
        )

    def __len__(self) -> int:
        return len(self.columns[0].of_group)

    @cached_property
    def groups(self) -> Groups:
        """All groups; a group that matches only people of the population outside the table has no rows."""
        merged = self.units.merged(self.group.astype(np.int32), len(self))
        fitting = self._most_fitting if self.units.owners else None
        return replace(merged, labels=GroupLabels(self._labels, fitting=fitting))

    def _labels(self) -> list[LabelColumn]:
        """Return the label of every group, column by column."""
        return [
            LabelColumn(
                hierarchy.column,
                cells.of_group,
                cells.labels,
                self.units.raw_values(index, lambda: self.group, len(self)),
            )
            for index, (hierarchy, cells) in enumerate(zip(self.units.hierarchies, self.columns, strict=True))
        ]

    def seen(self, columns: Columns, kept: Mask) -> tuple[Ids, Groups]:
        """The groups under ``kept`` as observed by an adversary who knows some columns: the merged group of each, and the merged groups."""
        if len(columns) == len(self.columns):
            ids, count, is_used = np.arange(len(self)), len(self), kept
            merged_group, groups = np.arange(int(kept.sum())), self.groups.select(kept)
        else:
            ids, count = _numbered([self.columns[j] for j in columns])
            merged_group, is_used, groups = seen_as(self.groups, columns, ids, count, kept)
        if groups.owners and not self._counts_people(columns):
            # If labels overlap, rows of a person match groups that they do not belong to, and an adversary who knows these rows is considered too.
            fitting = self._fitting(columns, first_rows(ids, count)[is_used])
            owners = tuple(FittingOwners(*rows_and_fit) for rows_and_fit in zip(groups.owners, fitting, strict=True))
            groups = replace(groups, owners=owners)
        if POPULATION in groups.extras and not self._counts_people(columns):
            people = self._people(columns, first_rows(ids, count)[is_used])
            groups = replace(groups, extras={**groups.extras, POPULATION: people})
        return merged_group, groups

    def _most_fitting(self, names: Sequence[str], groups: Ids) -> list[Ids]:
        """The maximum number of rows of one person that match the labels of some groups in some columns; all rows of a person if no column is known."""
        column_names = [hierarchy.column for hierarchy in self.units.hierarchies]
        if names:
            return self._fitting(tuple(column_names.index(name) for name in names), groups)
        one_group = np.zeros(len(self.units), dtype=np.int64)
        return [np.repeat(owner_rows.merged(one_group, 1).most_rows, len(groups)) for owner_rows in self.units.owners]

    def _fitting(self, columns: Columns, groups: Ids) -> list[Ids]:
        cells, codes = [self.columns[j].of_groups(groups) for j in columns], [self.units.codes[j] for j in columns]
        return [most_fitting(codes, owner, cells) for owner in self.units.owners]

    def _counts_people(self, columns: Columns) -> bool:
        """Whether the people of the population that were split with the groups are exactly those who match the cells in some columns."""
        return sum(len(exact_set) for exact_set in self.exact if set(exact_set) <= set(columns)) == len(columns)

    def _people(self, columns: Columns, first_groups: Ids) -> Ids:
        """The number of people of the population who match the cells of some groups."""
        cells = [self.columns[j].of_groups(first_groups) for j in columns]
        return covered([self.units.codes[j] for j in columns], self.units.extras[POPULATION], cells)


def _with_typical(
    units: FrequencySet, columns: Columns, cells: Sequence[ColumnCells], group_of_unit: Ids
) -> list[ColumnCells]:
    """The cells of columns that were split together, with the typical values of their groups; groups with the same cells are merged."""
    group_of_cells, count = _numbered(cells)
    first_groups = first_rows(group_of_cells, count)
    return [
        replace(
            own_cells,
            typical=typical_values(
                units.hierarchies[j],
                units.codes[j],
                units.sizes,
                group_of_cells[group_of_unit],
                own_cells.meanings,
                own_cells.of_group[first_groups],
                listed=style_of(units.hierarchies[j], "typical") != "hierarchy",
            ).gather(group_of_cells),
        )
        for j, own_cells in zip(columns, cells, strict=True)
    ]


def _numbered(columns: Sequence[ColumnCells]) -> tuple[Ids, int]:
    """Number the groups by their cells in some columns: return the number of each group, and how many there are."""
    sizes = [len(cells.labels) for cells in columns]
    ids, count = number(*pack([cells.of_group for cells in columns], sizes, len(columns[0].of_group)))
    return ids.astype(np.int64), count
