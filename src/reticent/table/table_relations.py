"""Relations between the columns of a table: found in its rows, or in a sample of them where there are many."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from reticent.table.relations import ColumnRelation, find_relations
from reticent.table.table import Table

_MOST_ROWS = 50_000


def relations_in(table: Table, derived: Sequence[str], sources: Sequence[str]) -> tuple[ColumnRelation, ...]:
    """How some columns of a table follow from others; what merely tells where values are missing is left out."""
    names = list(dict.fromkeys([*sources, *derived]))
    if table.rows <= _MOST_ROWS:
        rows = table.held.frame().select(names) if not table.streamed else pl.concat(table.held.chunks(names))
    else:
        share = _MOST_ROWS / table.rows
        rows = pl.concat([chunk.sample(fraction=share, seed=0) for chunk in table.held.chunks(names)])
    return tuple(each for each in find_relations(rows, derived, sources) if each.kind != "missing")
