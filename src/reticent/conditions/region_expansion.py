"""Decide regions by enumeration: all combinations of pieces as rows of a frame, on which the condition is evaluated."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions.evaluation import truth
from reticent.conditions.nodes import Node, scope
from reticent.conditions.regions import Covers, LabelProducts

_LARGEST_CHUNK = 1 << 21


def cells_in_all(regions: LabelProducts, names: tuple[str, ...]) -> float:
    """The number of rows that enumerating the distinct regions would take."""
    _, firsts = regions.distinct(names)
    return float(
        np.prod([_held(regions, name)[1][regions.codes[name][firsts]] for name in names], axis=0, dtype=float).sum()
    )


def expanded(node: Node, regions: LabelProducts) -> Covers:
    """Decide every region by enumerating its cells."""
    names = scope(node)
    ids, firsts = regions.distinct(names)
    starts, counts = zip(*(_held(regions, name) for name in names), strict=True)
    labels = [regions.codes[name][firsts] for name in names]
    sizes = np.stack([count[label] for count, label in zip(counts, labels, strict=True)])
    begins = np.stack([start[label] for start, label in zip(starts, labels, strict=True)])
    cells = sizes.prod(axis=0)
    met, weighted, total = (np.zeros(len(firsts)) for _ in range(3))
    chunk_of_region = np.cumsum(cells) // _LARGEST_CHUNK
    for number in np.unique(chunk_of_region).tolist():
        low, high = np.searchsorted(chunk_of_region, [number, number + 1]).tolist()
        owner, pieces, weights = _written_out(regions, names, sizes[:, low:high], begins[:, low:high])
        frame = pl.DataFrame([regions.pieces[n].values.gather(p).alias(n) for n, p in zip(names, pieces, strict=True)])
        true = truth(node, frame).fill_null(False).to_numpy()
        met[low:high] = np.bincount(owner, weights=true, minlength=high - low)
        weighted[low:high] = np.bincount(owner, weights=weights * true, minlength=high - low)
        total[low:high] = np.bincount(owner, weights=weights, minlength=high - low)
    is_possible, is_certain = met > 0, met == cells
    all_measured = np.logical_and.reduce(
        [regions.pieces[n].measured[label] for n, label in zip(names, labels, strict=True)]
    )
    measured = all_measured | is_certain | ~is_possible
    share = np.where(is_certain, 1.0, np.where(is_possible, np.where(measured, weighted / total, 0.5), 0.0))
    return Covers(share[ids], is_possible[ids], is_certain[ids], measured[ids])


def _held(regions: LabelProducts, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every label of a column the offset and the number of its pieces."""
    pieces = regions.pieces[name]
    counts = np.bincount(pieces.labels, minlength=len(pieces.measured)).astype(np.int64)
    return np.cumsum(counts) - counts, counts


def _written_out(
    regions: LabelProducts, names: tuple[str, ...], sizes: NDArray[np.int64], begins: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]], NDArray[np.float64]]:
    """The region of every cell, its piece in every column, and its weight."""
    cells = sizes.prod(axis=0)
    owner = np.repeat(np.arange(len(cells)), cells)
    remaining = np.arange(len(owner)) - np.repeat(np.cumsum(cells) - cells, cells)
    weights, pieces = np.ones(len(owner)), []
    for name, size, begin in zip(names, sizes, begins, strict=True):
        remaining, digit = np.divmod(remaining, size[owner])
        pair = begin[owner] + digit
        pieces.append(regions.pieces[name].members[pair])
        weights *= regions.pieces[name].weights[pair]
    return owner, pieces, weights
