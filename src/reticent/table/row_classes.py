"""Equivalence classes of rows in some columns: their sizes, for many sets of columns in one pass."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.table.hierarchies.hierarchy import unused
from reticent.table.rows import Rows

Columns = tuple[str, ...]
_Hashes = NDArray[np.uint64]


def class_sizes(rows: Rows, labels: Sequence[str], beside: Iterable[Columns]) -> dict[Columns, NDArray[np.int64]]:
    """For each set of columns in ``beside``, the sizes of the classes of rows that agree in it and in ``labels``. Nulls
    are equal, and so are NaNs.

    Rows are compared by two 64-bit hashes, so rows larger than memory take 16 bytes each. If the first hash collides
    where the second differs, both are recomputed with new random seeds: two different rows are taken for equal with
    probability 2^-128.
    """
    sets = tuple(dict.fromkeys(beside))
    while True:
        hashes = _hashed(rows, tuple(labels), sets, (secrets.randbits(64), secrets.randbits(64)))
        sizes = {columns: _sizes(*each) for columns, each in hashes.items()}
        complete = {columns: size for columns, size in sizes.items() if size is not None}
        if len(complete) == len(sets):
            return complete


def _hashed(
    rows: Rows, labels: Columns, sets: Sequence[Columns], seeds: tuple[int, int]
) -> dict[Columns, tuple[_Hashes, _Hashes]]:
    """Return two hashes (with the two ``seeds``) of every row for each set of columns, each over the set and the
    ``labels``.
    """
    names = list(dict.fromkeys([*labels, *(name for columns in sets for name in columns)]))
    name, empty = unused("hash", names), pl.Series(dtype=pl.UInt64)
    parts: dict[Columns, tuple[list[pl.Series], list[pl.Series]]] = {columns: ([empty], [empty]) for columns in sets}
    for chunk in rows.chunks(names):
        counted = chunk if names else pl.DataFrame({name: pl.repeat(0, rows.height, eager=True)})
        for index, seed in enumerate(seeds):
            shared = counted.select(labels or pl.repeat(0, pl.len())).hash_rows(seed).alias(name)
            for columns, hashes in parts.items():
                key_columns = pl.DataFrame([shared, *counted.select(columns)])
                hashes[index].append(key_columns.hash_rows(seed).alias(""))
    return {
        columns: (pl.concat(first).to_numpy(), pl.concat(second).to_numpy())
        for columns, (first, second) in parts.items()
    }


def _sizes(first: _Hashes, second: _Hashes) -> NDArray[np.int64] | None:
    """The number of rows with each hash; None if rows agree in the first and differ in the second."""
    order = np.argsort(first)
    first, second = first[order], second[order]
    differs = first[1:] != first[:-1]
    if (second[1:] != second[:-1])[~differs].any():
        return None
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(first), 1), dtype=bool), differs]))
    sizes: NDArray[np.int64] = np.diff(np.append(starts, len(first)))
    return sizes
