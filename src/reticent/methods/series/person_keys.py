"""Match people across releases by their keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import is_dense, positions

Ints = NDArray[np.int64]


def places_among(keys: pl.Series, known: pl.Series) -> Ints:
    """Return the index of each key among the distinct ``known`` ones; -1 if absent. Dense integer keys use a lookup table."""
    if len(keys) and len(known) and _are_small_numbers(keys) and _are_small_numbers(known):
        ends: list[Any] = [end for series in (keys, known) for end in (series.min(), series.max())]
        low, space = min(ends), max(ends) - min(ends) + 1
        if is_dense(space, len(keys)):
            key_numbers, known_numbers = (series.cast(pl.Int64).to_numpy() - low for series in (keys, known))
            return positions([known_numbers], [key_numbers], [space])
    index_of = pl.DataFrame({"key": known}).with_row_index("place")
    indices = pl.DataFrame({"key": keys}).join(index_of, on="key", how="left", maintain_order="left")["place"]
    return indices.cast(pl.Int64).fill_null(-1).to_numpy()


def _are_small_numbers(keys: pl.Series) -> bool:
    return keys.dtype.is_integer() and keys.dtype not in (pl.UInt64, pl.Int128, pl.UInt128)
