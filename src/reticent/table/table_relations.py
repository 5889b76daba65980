"""Relations between the columns of a table, detected in its rows or in a sample of them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from reticent.table.relations import ColumnRelation, find_relations
from reticent.table.rows import Rows
from reticent.table.table import Table

_MOST_ROWS = 50_000


def relations_in(table: Table, derived: Sequence[str], sources: Sequence[str]) -> tuple[ColumnRelation, ...]:
    """The relations by which some columns of a table follow from others, without those that only determine where values
    are missing.

    Coarsened columns are also examined before coarsening: an adversary who computes an exact value knows the coarse
    one, which no longer reveals the formula. Exact values of sensitive columns are unknown to adversaries, so as
    sources these are used as published.
    """
    detected = find_relations(_some_rows(table, table.held, [*sources, *derived]), derived, sources)
    coarse = [name for name in derived if name in table.coarsen]
    known_sources = [name for name in sources if name not in table.sensitive]
    if table.exact_rows is not None and coarse and known_sources:
        exact = find_relations(_some_rows(table, table.exact_rows, [*known_sources, *coarse]), coarse, known_sources)
        exact_keys = {(relation.derived, frozenset(relation.sources)) for relation in exact}
        detected = (
            *exact,
            *(relation for relation in detected if (relation.derived, frozenset(relation.sources)) not in exact_keys),
        )
    return tuple(relation for relation in detected if relation.kind != "missing")


def _some_rows(table: Table, held: Rows, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of all rows, or of a sample if there are many."""
    names = list(dict.fromkeys(names))
    if table.rows <= _MOST_ROWS:
        return held.frame().select(names) if not table.streamed else pl.concat(held.chunks(names))
    share = _MOST_ROWS / table.rows
    return pl.concat([chunk.sample(fraction=share, seed=0) for chunk in held.chunks(names)])
