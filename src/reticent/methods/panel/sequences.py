"""Sequences: the rows of people at waves, in wide format for grouping, and the published form of the groups."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from reticent.base.packing import first_rows, number
from reticent.core import FrequencySet, Groups, Histograms, OwnerRows, SensitiveDomain
from reticent.errors import PolicyError
from reticent.methods.grouping import Allocation, CellStyle, ColumnCells, Columns, Ids, Mask, column_cells
from reticent.methods.panel.wave_definition import WaveValues
from reticent.methods.panel.wave_pattern import WavePattern
from reticent.methods.typical import by_labels, group_column
from reticent.table import BoundHierarchy, Table

OUT = -1
"""The group number of a suppressed row."""


@dataclass(frozen=True)
class PersonSequences:
    """The ``rows`` of a table, each a separate point, and the index of the wave column among the quasi columns."""

    rows: FrequencySet
    wave_place: int

    @cached_property
    def owner(self) -> Ids:
        """The owner of each row."""
        (owners,) = self.rows.owners
        if not isinstance(owners, OwnerRows):
            raise PolicyError("Panel needs the owner of every row.")
        return owners.by_owner.values.astype(np.int64)

    @property
    def wave(self) -> Ids:
        """The wave of each row."""
        return self.rows.codes[self.wave_place].astype(np.int64)

    def wide(self, pattern: WavePattern) -> FrequencySet:
        """Return the people of a pattern (with rows at the same waves) as points with their values at all waves: a column that
        never changes occurs once, any other once for every wave. The only sensitive value of a point is its person's number.
        """
        hierarchies: list[BoundHierarchy] = []
        codes = []
        for index, (hierarchy, column) in enumerate(zip(self.rows.hierarchies, self.rows.codes, strict=True)):
            if index == self.wave_place:
                continue
            codes_at_waves = [column[rows] for rows in pattern.rows]
            is_changing = any((wave_codes != codes_at_waves[0]).any() for wave_codes in codes_at_waves[1:])
            distinct_columns = codes_at_waves if is_changing else codes_at_waves[:1]
            hierarchies += [hierarchy] * len(distinct_columns)
            codes += distinct_columns
        people = pattern.people
        numbered = Histograms(np.arange(people + 1), np.arange(people, dtype=np.int32), np.ones(people, dtype=np.int64))
        domain = SensitiveDomain((), np.zeros((people, 0), dtype=np.int32))
        ones = np.ones(people, dtype=np.int64)
        return FrequencySet(tuple(hierarchies), (0,) * len(codes), tuple(codes), ones, numbered, domain)

    def values(self, pattern: WavePattern) -> WaveValues:
        """Return the sensitive values of people, wave by wave."""
        joint = self.rows.histograms.values.astype(np.int64)
        return WaveValues([joint[rows] for rows in pattern.rows], self.rows.domain, self.rows.reference)

    def shown(self, group: Ids, values: CellStyle) -> ShownSequences:
        """Return the published form of groups of people, given the group of every row."""
        is_published = group != OUT
        waves = self.rows.hierarchies[self.wave_place].size
        ids, count = number(group[is_published] * waves + self.wave[is_published], (int(group.max()) + 1) * waves)
        ids = ids.astype(np.int64)
        columns = tuple(
            column_cells(hierarchy, codes[is_published], ids, count, values)
            for hierarchy, codes in zip(self.rows.hierarchies, self.rows.codes, strict=True)
        )
        cell = np.full(len(group), OUT, dtype=np.int64)
        cell[is_published] = ids
        return ShownSequences(self.rows, cell, columns, group[is_published][first_rows(ids, count)], self.wave_place)


@dataclass(frozen=True)
class ShownSequences:
    """Groups of people at waves: the ``cell`` of every row (a group at a wave, -1: suppressed), the labels of cells in
    every column, and the ``group`` of people of each cell.
    """

    rows: FrequencySet
    cell: Ids
    columns: tuple[ColumnCells, ...]
    group: Ids
    wave_place: int

    @property
    def wave(self) -> str:
        """The wave column."""
        return self.rows.hierarchies[self.wave_place].column

    @property
    def suppressed(self) -> int:
        """The number of suppressed rows."""
        return int((self.cell == OUT).sum())

    @property
    def people(self) -> int:
        """The number of groups of people."""
        return len(np.unique(self.group))

    @cached_property
    def groups(self) -> Groups:
        """The cells as groups of rows."""
        is_published = self.cell != OUT
        return self.rows.groups().select(is_published).merged(self.cell[is_published].astype(np.int32), len(self.group))

    def seen(self, columns: Columns, kept: Mask) -> tuple[Ids, Groups]:
        """Return the cells under ``kept`` as seen by an adversary who knows all columns; groups of people are distinguished by their numbers."""
        return np.arange(int(kept.sum())), self.groups.select(kept)

    def recoding(self, table: Table) -> SequenceAllocation:
        """Return the recoding of every row, with the groups of people numbered by their labels at their first wave."""
        label_columns = tuple(
            cells.as_column(hierarchy, table.quasi[hierarchy.column])
            for cells, hierarchy in zip(self.columns, table.hierarchies, strict=True)
        )
        order = by_labels([(pl.Series(column.labels, dtype=pl.String), column.of_group) for column in self.columns])
        rank_of_cell = np.empty(len(order), dtype=np.int64)
        rank_of_cell[order] = np.arange(len(order))
        _, person_group = np.unique(self.group, return_inverse=True)
        first = np.full(int(person_group.max()) + 1, len(order))
        np.minimum.at(first, person_group, rank_of_cell)
        numbers = np.argsort(np.argsort(first))[person_group] + 1
        allocation = SequenceAllocation.of(table, label_columns, self.rows.codes, self.cell)
        return replace(allocation, name=group_column(table), numbers=numbers)


@dataclass(frozen=True)
class SequenceAllocation(Allocation):
    """A recoding of rows to groups of people at waves that also publishes the group number, in the column ``name``;
    ``numbers`` is that of every cell.
    """

    name: str = ""
    numbers: Ids = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def shown(self, groups: Ids, *, coded: bool = False) -> pl.DataFrame:
        return super().shown(groups, coded=coded).with_columns(pl.Series(self.name, self.numbers[groups]))
