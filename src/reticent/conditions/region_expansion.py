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
    """Return the number of rows that enumerating the distinct regions would take: the combinations of values of their
    labels.
    """
    _, firsts = regions.distinct(names)
    return float(
        np.prod([_held(regions, name)[1][regions.codes[name][firsts]] for name in names], axis=0, dtype=float).sum()
    )


def expanded(node: Node, regions: LabelProducts) -> Covers:
    """Decide every region (one label per column) by evaluating the condition on all combinations of values of its
    labels.
    """
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
        region_of_cell, pieces, weights = _written_out(regions, names, sizes[:, low:high], begins[:, low:high])
        frame = pl.DataFrame(
            [regions.pieces[name].values.gather(index).alias(name) for name, index in zip(names, pieces, strict=True)]
        )
        true = truth(node, frame).fill_null(False).to_numpy()
        met[low:high] = np.bincount(region_of_cell, weights=true, minlength=high - low)
        weighted[low:high] = np.bincount(region_of_cell, weights=weights * true, minlength=high - low)
        total[low:high] = np.bincount(region_of_cell, weights=weights, minlength=high - low)
    is_possible, is_certain = met > 0, met == cells
    all_measured = np.logical_and.reduce(
        [regions.pieces[name].measured[label] for name, label in zip(names, labels, strict=True)]
    )
    measured = all_measured | is_certain | ~is_possible
    share = np.where(is_certain, 1.0, np.where(is_possible, np.where(measured, weighted / total, 0.5), 0.0))
    return Covers(share[ids], is_possible[ids], is_certain[ids], measured[ids])


def _held(regions: LabelProducts, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for every label of a column the offset and the number of its pieces (values on which the condition is
    constant).
    """
    pieces = regions.pieces[name]
    counts = np.bincount(pieces.labels, minlength=len(pieces.measured)).astype(np.int64)
    return np.cumsum(counts) - counts, counts


def _written_out(
    regions: LabelProducts, names: tuple[str, ...], sizes: NDArray[np.int64], begins: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]], NDArray[np.float64]]:
    """Return one entry per combination of pieces (a cell) of the regions: its region, its piece in every column, and
    its weight.

    ``sizes`` and ``begins`` give the number and offset of the pieces of each region, by column; the index of a cell
    within its region is split into one digit per column.
    """
    cells = sizes.prod(axis=0)
    region_of_cell = np.repeat(np.arange(len(cells)), cells)
    remaining = np.arange(len(region_of_cell)) - np.repeat(np.cumsum(cells) - cells, cells)
    weights, pieces = np.ones(len(region_of_cell)), []
    for name, size, begin in zip(names, sizes, begins, strict=True):
        remaining, digit = np.divmod(remaining, size[region_of_cell])
        pair = begin[region_of_cell] + digit
        pieces.append(regions.pieces[name].members[pair])
        weights *= regions.pieces[name].weights[pair]
    return region_of_cell, pieces, weights
