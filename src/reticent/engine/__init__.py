"""Engines scan rows; everything else sees frequency sets and groups.

``local``      rows in memory, on polars and numpy
``streaming``  rows of a source larger than memory, a chunk at a time
"""

from reticent.data.engine import Engine
from reticent.data.table import Table
from reticent.engine.local import LocalEngine
from reticent.engine.streaming import StreamingEngine

__all__ = ["LocalEngine", "StreamingEngine", "engine_of"]


def engine_of(table: Table) -> Engine:
    """The engine that a table's rows need."""
    return StreamingEngine() if table.streamed else LocalEngine()
