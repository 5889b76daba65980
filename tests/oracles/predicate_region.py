"""Brute force for covers: go through every combination of leaves of a region and ask DuckDB which meet the condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import duckdb
import polars as pl


def share(condition: str, region: Mapping[str, Sequence[Any]], types: Mapping[str, Any]) -> Fraction:
    """The fraction of the region's cells for which the condition is true."""
    cells = pl.DataFrame({"one": [1]})
    for name, leaves in region.items():
        cells = cells.join(pl.DataFrame({name: pl.Series(leaves, dtype=types[name])}), how="cross")
    ((met,),) = duckdb.sql(f"SELECT count(*) FROM cells WHERE {condition}").fetchall()
    return Fraction(met, cells.height)
