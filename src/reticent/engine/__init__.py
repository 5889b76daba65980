"""Engines scan rows; everything else sees frequency sets and groups.

``local``  rows in memory, on polars and numpy
"""

from reticent.engine.local import LocalEngine

__all__ = ["LocalEngine"]
