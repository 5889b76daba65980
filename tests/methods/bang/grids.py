"""Small grids: a space with some bits on every axis, and its directory in words of the oracle."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import strategies as st

from reticent.methods.bang.cell_space import GridSpace, line_axis
from reticent.methods.bang.directory import BangDirectory
from reticent.table import BoundHierarchy
from tests.oracles.bang import text_of

tables = st.sampled_from([(3, 3), (2, 4), (5,), (2, 2, 2), (1, 3, 1)]).flatmap(
    lambda bits: st.tuples(
        st.just(bits),
        st.lists(st.tuples(*(st.integers(0, 2**each - 1) for each in bits)), min_size=1, max_size=40),
        st.integers(1, 5),
    )
)
"""Bits of the axes, rows as cells, and the smallest block."""


def space_of(*bits: int) -> GridSpace:
    """A space whose axes have whole numbers, one a cell."""
    axes = []
    for place, most in enumerate(bits):
        leaves = pl.Series(range(2**most), dtype=pl.Int64)
        ones = np.ones(2**most, dtype=np.int64)
        axes.append(line_axis(BoundHierarchy(f"x{place}", leaves, (), True), list(range(1, 2**most)), ones))
    return GridSpace(tuple(axes))


def directory_of(rows: list[tuple[int, ...]], bits: tuple[int, ...], minimum: int) -> tuple[BangDirectory, list[str]]:
    """The directory of some rows, and its regions as texts of halvings."""
    cells = np.array(rows, dtype=np.int64).T.reshape(len(bits), -1)
    made, _ = BangDirectory.built(space_of(*bits), list(cells), np.ones(len(rows), dtype=np.int64), minimum)
    return made, texts_of(made.lows, made.level, bits)


def texts_of(lows: np.ndarray, level: np.ndarray, bits: tuple[int, ...]) -> list[str]:
    """Regions as texts of halvings."""
    return [text_of(tuple(low), bits)[:depth] for low, depth in zip(lows.T.tolist(), level.tolist(), strict=True)]
