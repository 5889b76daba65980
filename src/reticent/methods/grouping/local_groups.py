"""The last step of every local recoding: from groups with their labels to a grouping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from reticent.core import FrequencySet, Regions
from reticent.methods.grouping.column_cells import ColumnCells, cells_of
from reticent.methods.grouping.method import Grouping, GroupRun
from reticent.methods.grouping.recoding import Allocation
from reticent.methods.grouping.scales import Ids
from reticent.methods.grouping.shown_groups import ShownGroups
from reticent.methods.grouping.suppression import PublishedGroups, SuppressedGroups
from reticent.methods.typical import by_labels, drawn_values, group_column
from reticent.table import BoundHierarchy, Table


def local_grouping(
    run: GroupRun,
    shown: ShownGroups,
    published: PublishedGroups,
    left_out: SuppressedGroups,
    order: Ids | None = None,
) -> Grouping:
    """The grouping of the published groups, without the suppressed ones; ``order`` lists the rows that were split one by one, where ties were divided."""
    units, is_published = shown.units, ~left_out.mask
    group = np.where(is_published, np.cumsum(is_published) - 1, -1)[shown.group]
    columns = [cells.of_groups(np.flatnonzero(is_published)) for cells in shown.columns]
    if columns[0].typical is not None:
        columns, group = _in_order(columns, group)
    if getattr(run.method, "values", None) == "drawn":
        columns = [_drawn(run, *column_cells) for column_cells in zip(units.hierarchies, columns, strict=True)]
    recoding = _recoding(run.table, units, group, columns, order)
    return Grouping(
        units,
        recoding,
        published.evidence(left_out),
        partial(cells_of, group, columns),
        {"groups": int(is_published.sum()), "columns": list(run.table.quasi)},
        recoding.meanings,
    )


def _recoding(
    table: Table, units: FrequencySet, group: Ids, columns: Sequence[ColumnCells], order: Ids | None
) -> Regions:
    """The group of every point or, if rows were split one by one (``order``), the number of rows of each point per group."""
    label_columns = tuple(
        cells.as_column(hierarchy, table.quasi[hierarchy.column])
        for cells, hierarchy in zip(columns, table.hierarchies, strict=True)
    )
    numbered = None if columns[0].typical is None else group_column(table)
    if order is None:
        return Regions(label_columns, units.codes, group, table.carried, numbered=numbered)
    unit_of_row = np.empty(len(order), dtype=np.int64)
    unit_of_row[order] = np.arange(len(order))
    return Allocation.of(
        table, label_columns, [codes[unit_of_row] for codes in units.codes], group[unit_of_row], numbered
    )


def _drawn(run: GroupRun, hierarchy: BoundHierarchy, cells: ColumnCells) -> ColumnCells:
    """The cells with a value sampled uniformly from each instead of a typical one."""
    values = drawn_values(hierarchy, cells.leaves, cells.meanings, cells.of_group, run.context.randomness)
    return replace(cells, typical=values)


def _in_order(columns: Sequence[ColumnCells], group: Ids) -> tuple[list[ColumnCells], Ids]:
    """Return the cells of each column and the group of every unit after sorting groups by their labels, so that group numbers disclose nothing more."""
    order = by_labels([(pl.Series(cells.labels, dtype=pl.String), cells.of_group) for cells in columns])
    new_index = np.empty(len(order), dtype=np.int64)
    new_index[order] = np.arange(len(order))
    return [cells.of_groups(order) for cells in columns], np.where(group >= 0, new_index[group], -1)
