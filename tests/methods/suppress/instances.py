"""Small tables for the tests of local suppression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.engine import engine_of
from reticent.methods.suppress.ladders import Units, ladders_of


def table_of(rows: Sequence[Sequence[Any]], **more: Any) -> rt.Table:
    names = [f"q{j}" for j in range(len(rows[0]))]
    frame = pl.DataFrame([list(row) for row in rows], schema=names, orient="row")
    return rt.Table(frame, quasi=more.pop("quasi", names), **more)


def units_of(rows: Sequence[Sequence[Any]], k: int) -> Units:
    """Single rows in their own order."""
    table = table_of(rows)
    found = engine_of(table, Context()).single_rows(table, np.arange(len(rows)))
    ladders, _ = ladders_of(found.hierarchies, {}, (), "stars")
    ones = np.ones(len(rows), dtype=np.int64)
    return Units(ladders, found.codes, ones, ones, k)


@st.composite
def small_tables(draw: st.DrawFn, symbols: int, k: int, most: int = 9, columns: int = 4) -> list[tuple[int, ...]]:
    count = draw(st.integers(k, most))
    width = draw(st.integers(1, columns))
    row = st.tuples(*[st.integers(0, symbols - 1)] * width)
    return draw(st.lists(row, min_size=count, max_size=count))
