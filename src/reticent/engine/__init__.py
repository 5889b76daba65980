"""Engines scan rows; everything else sees frequency sets and groups.

``local``      rows in memory, on polars and numpy
``streaming``  rows of a source larger than memory, a chunk at a time
"""

from reticent.data.context import Context
from reticent.data.engine import Engine
from reticent.data.frequencies import FrequencySet, Levels
from reticent.data.table import Table
from reticent.engine.local import LocalEngine
from reticent.engine.streaming import StreamingEngine

__all__ = ["LocalEngine", "StreamingEngine", "count", "engine_of"]


def engine_of(table: Table) -> Engine:
    """The engine that a table's rows need."""
    return StreamingEngine() if table.streamed else LocalEngine()


def count(table: Table, context: Context, *, sensitive: bool = True, floor: Levels | None = None) -> FrequencySet:
    """Count a table once for each run: later calls with the same context answer from its memo.

    A count without sensitive values is taken from one with them where there is one.
    """
    levels = floor if floor is not None else (0,) * len(table.quasi)
    key = ("count", table.counted_as, levels)
    known: dict[bool, tuple[Table, FrequencySet]] = context.memo.setdefault(key, {})
    if True in known and not sensitive:
        return known[True][1].bare()
    if sensitive not in known:
        engine = context.engine or engine_of(table)
        # The table is kept beside its count: the key holds only while it is alive.
        known[sensitive] = table, engine.frequencies(table, sensitive=sensitive, floor=floor)
    return known[sensitive][1]
