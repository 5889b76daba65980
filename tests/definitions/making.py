"""Groups made by hand for the tests of definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from hypothesis import strategies as st
from numpy.typing import NDArray

from reticent.core import Groups, Histograms, SensitiveDomain
from reticent.table import SensitiveColumn

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def column_of(size: int, *, ordered: bool = False, name: str = "value") -> SensitiveColumn:
    """A column with the values a, b, c ..."""
    return SensitiveColumn(name, pl.Series(name, list(LETTERS[:size]), dtype=pl.String), ordered=ordered)


def groups_of(matrix: Sequence[Sequence[int]] | NDArray[np.int64], column: SensitiveColumn | None = None) -> Groups:
    """One group a row, one value a column of a matrix of counts; the whole table is all of them."""
    counts = np.asarray(matrix, dtype=np.int64)
    ids, values = np.nonzero(counts)
    cells = Histograms.from_cells(ids, values, counts[ids, values], *counts.shape)
    domain = SensitiveDomain.single(column if column is not None else column_of(counts.shape[1]))
    return Groups(counts.sum(axis=1), cells, counts.sum(axis=0), domain)


def named(row: Sequence[int]) -> dict[str, int]:
    """A row of such a matrix as a histogram."""
    return {LETTERS[place]: int(count) for place, count in enumerate(row) if count}


def matrices(values: int = 5, groups: int = 4, highest: int = 12) -> st.SearchStrategy[list[list[int]]]:
    """Small matrices of counts whose rows are not empty."""
    row = st.lists(st.integers(0, highest), min_size=values, max_size=values).filter(any)
    return st.lists(row, min_size=1, max_size=groups)
