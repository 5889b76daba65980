"""From groups with their cells to a draft: what every local recoding does in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.core import Draft, Evidence, FrequencySet, Regions, declared_domains
from reticent.definitions import Method
from reticent.engine import engine_of
from reticent.methods.grouping.column_cells import ColumnCells, cells_of
from reticent.methods.grouping.recoding import Allocation
from reticent.methods.grouping.scales import Ids
from reticent.methods.grouping.shown_groups import ShownGroups
from reticent.methods.grouping.stage import Mask
from reticent.methods.typical import FORMAT as TYPICAL
from reticent.methods.typical import by_labels, drawn_values, group_column, with_groups
from reticent.table import Table


def draft_shown(
    method: Method,
    table: Table,
    shown: ShownGroups,
    evidence: Evidence,
    kept: Mask,
    context: Context,
    order: Ids | None = None,
) -> Draft:
    """The draft of the ``kept`` groups; ``order`` has the rows that were cut one by one, where ties were divided."""
    units = shown.units
    group = np.where(kept, np.cumsum(kept) - 1, -1)[shown.group]
    columns = [cells.of_groups(np.flatnonzero(kept)) for cells in shown.columns]
    if columns[0].typical is not None:
        columns, group = _in_order(columns, group)
    if getattr(method, "values", None) == "drawn":
        columns = _drawn(columns, units, context)
    recoding = recoding_of(table, units, group, columns, order)
    recoded = engine_of(table, context).recode(table, recoding, context)
    groups = evidence.published
    return Draft(
        format="generalize" if recoding.numbered is None else TYPICAL,
        recoding=recoding,
        evidence=evidence,
        tables=recoded.tables if recoding.numbered is None else with_groups(recoded.tables, recoding),
        meanings=recoding.meanings,
        suppressed=units.rows - int(groups.sizes.sum()),
        method=method.describe(),
        counted=units,
        cells=partial(cells_of, group, columns),
        search={"groups": len(groups), "columns": list(table.quasi)},
        domains=declared_domains(table.hierarchies),
        private=recoded.private,
        insecure=not context.randomness.is_secure,
    )


def recoding_of(
    table: Table, units: FrequencySet, group: Ids, columns: Sequence[ColumnCells], order: Ids | None
) -> Regions:
    """Where every point goes or, if ``order`` has the rows that were cut one by one, how many rows of a point go where."""
    shown = tuple(
        cells.as_column(hierarchy, table.quasi[hierarchy.column])
        for cells, hierarchy in zip(columns, table.hierarchies, strict=True)
    )
    numbered = None if columns[0].typical is None else group_column(table)
    if order is None:
        return Regions(shown, units.codes, group, table.carried, numbered=numbered)
    unit_of_row = np.empty(len(order), dtype=np.int64)
    unit_of_row[order] = np.arange(len(order))
    return Allocation.of(table, shown, [codes[unit_of_row] for codes in units.codes], group[unit_of_row], numbered)


def _drawn(columns: Sequence[ColumnCells], units: FrequencySet, context: Context) -> list[ColumnCells]:
    """The cells with a value drawn within each instead of a typical one."""
    return [
        replace(
            cells,
            typical=drawn_values(hierarchy, cells.leaves, cells.meanings, cells.of_group, context.randomness),
        )
        for cells, hierarchy in zip(columns, units.hierarchies, strict=True)
    ]


def _in_order(columns: Sequence[ColumnCells], group: Ids) -> tuple[list[ColumnCells], Ids]:
    """Groups in the order of their labels: what each column shows of them, and the group of every unit."""
    order = by_labels([(pl.Series(cells.labels, dtype=pl.String), cells.of_group) for cells in columns])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return [cells.of_groups(order) for cells in columns], np.where(group >= 0, place[group], -1)
