"""The method ``Stripes``: neighbours along one column, at least so many in each stripe."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reticent.core import Groups
from reticent.definitions import Definition
from reticent.engine import count_table
from reticent.errors import Infeasible
from reticent.methods.grouping import Columns, Grouping, GroupMethod, GroupRun, PublishedGroups, SuppressedGroups
from reticent.table import Table
from tests.seams.stripes.recoding import IntoStripes


@dataclass(frozen=True)
class Stripes(GroupMethod):
    """Stripes of at least ``least`` rows along the first quasi column, which must hold whole numbers; the other quasi columns are starred."""

    least: int = 5

    format: ClassVar[str] = "stripes"
    streams: ClassVar[bool] = True

    def refusal(self, table: Table, definition: Definition) -> str | None:
        whole = bool(table.quasi) and table.schema[next(iter(table.quasi))].is_integer()
        return None if whole and table.quasi_sets is None else "Stripes needs a first quasi column of whole numbers."

    def describe(self) -> dict[str, Any]:
        return {"name": "Stripes", "least": self.least}

    def grouped(self, run: GroupRun) -> Grouping:
        counted = count_table(run.table, run.context)
        values = counted.hierarchies[0].leaves.to_numpy().astype(np.int64)
        edges = _edges(values[counted.codes[0]], counted.sizes, self.least)
        recoding = IntoStripes(tuple(run.table.quasi), edges, run.table.carried, values, counted.codes)
        groups = counted.merged(recoding.groups_of(counted.codes).astype(np.int32), len(edges))
        if not run.definition.holds(groups):
            raise Infeasible(f"Stripes of {self.least} rows do not satisfy {run.definition}.")

        def seen(columns: Columns, kept: NDArray[np.bool_]) -> tuple[NDArray[Any], Groups]:
            return np.arange(int(kept.sum())), groups.select(kept)

        nobody = SuppressedGroups(np.zeros(len(edges), dtype=bool))
        return Grouping(
            counted,
            recoding,
            PublishedGroups.of(run.table, run.definition, groups, seen, 0).evidence(nobody),
            partial(recoding.published_cells, counted.hierarchies),
            {"stripes": len(edges)},
            recoding.meanings,
            self.format,
            {"along": next(iter(run.table.quasi))},
        )


def _edges(values: NDArray[np.int64], sizes: NDArray[np.int64], least: int) -> tuple[tuple[int, int], ...]:
    """The lowest and the highest value of each stripe."""
    distinct, place = np.unique(values, return_inverse=True)
    upto = np.cumsum(np.bincount(place, weights=sizes)).astype(int).tolist()
    ends, before = [], 0
    for at, rows in enumerate(upto):
        if rows - before >= least and upto[-1] - rows >= least:
            ends.append(at)
            before = rows
    ends.append(len(upto) - 1)
    starts = [0, *(each + 1 for each in ends[:-1])]
    return tuple((int(distinct[low]), int(distinct[high])) for low, high in zip(starts, ends, strict=True))
