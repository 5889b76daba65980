"""Engines scan rows; everything else uses frequency sets, groups and distinct rows.

``local``        rows in memory, on polars and numpy
``streaming``    rows of a source larger than memory, in chunks
``spark``        rows on a cluster, counted and recoded there

An engine is looked up by the name that a table's rows carry (``reticent.registry.ENGINES``): call :func:`engine_of`,
:func:`count_table`, :func:`count_chunks` and :func:`finest_floor`.
"""

from collections.abc import Iterator
from typing import cast

from reticent.base.context import Context
from reticent.core import Engine, FrequencySet, NodeLevels, engine_named
from reticent.table import Table

__all__ = ["count_chunks", "count_table", "engine_of", "finest_floor"]


def engine_of(table: Table, context: Context | None = None) -> Engine:
    """The engine that scans a table's rows: the one that the context names, otherwise the one that the rows name."""
    if context is not None and context.engine is not None:
        return cast(Engine, context.engine)
    return engine_named(table.held.engine)


def finest_floor(table: Table, floor: NodeLevels, context: Context | None = None) -> NodeLevels:
    """The finest levels, at or above ``floor``, whose points fit into the engine's memory; with a context, computed once per run."""
    if context is None:
        return engine_of(table).finest(table, floor)
    cached: dict[NodeLevels, tuple[Table, NodeLevels]] = context.memo.setdefault(("finest", table.counted_as), {})
    if floor not in cached:
        watched_table = table.watched(context, "searching levels that fit")
        cached[floor] = table, engine_of(table, context).finest(watched_table, floor)
    return cached[floor][1]


def count_table(
    table: Table, context: Context | None = None, *, sensitive: bool = True, floor: NodeLevels | None = None
) -> FrequencySet:
    """Count the distinct quasi-identifier combinations of a table, at level 0 or at ``floor``; with a context, once per
    run.

    A count without sensitive values is derived from a cached one with them, if there is one.
    """
    if context is None:
        return engine_of(table).count(table, sensitive=sensitive, floor=floor)
    levels = floor if floor is not None else (0,) * len(table.quasi)
    cached: dict[bool, tuple[Table, FrequencySet]] = context.memo.setdefault(("count", table.counted_as, levels), {})
    if True in cached and not sensitive:
        return cached[True][1].bare()
    if sensitive not in cached:
        # The table is stored with its count: the cache key is valid only while it is alive.
        context.step("counting rows")
        watched_table = table.watched(context, "counting rows")
        cached[sensitive] = table, engine_of(table, context).count(watched_table, sensitive=sensitive, floor=floor)
    return cached[sensitive][1]


def count_chunks(table: Table, context: Context, stage: str) -> Iterator[FrequencySet]:
    """Frequency sets that add up to that of the table: one per chunk of rows if it is larger than memory, otherwise the whole."""
    from reticent.engine.streaming import StreamingEngine

    engine = engine_of(table, context)
    if isinstance(engine, StreamingEngine):
        yield from engine.chunks(table.watched(context, stage), (0,) * len(table.quasi))
    else:
        yield count_table(table, context)
