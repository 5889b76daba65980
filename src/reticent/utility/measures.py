"""Measures of what a release costs, each one function of a :class:`ReleaseSummary`; lower is better (R-LD-30, R-UM-1..3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import exact
from reticent.core import FrequencySet
from reticent.errors import PolicyError, did_you_mean
from reticent.utility.summary import ReleaseSummary

Weights = Mapping[str, float]

_LARGEST_BLOCK = 1 << 24


def loss(picture: ReleaseSummary, weights: Weights | None = None) -> float:
    """The mean over quasi columns and rows of ``(leaves covered - 1) / (leaves - 1)``; a suppressed row counts 1.

    A column with a single leaf has nothing to lose and counts 0 in published rows.
    """
    return float(_shares(picture, weights) @ column_losses(picture))


def loss_geometric(picture: ReleaseSummary, weights: Weights | None = None) -> float:
    """``(prod(x_j + 1)) ^ (1 / columns) - 1`` over the columns' losses ``x_j``; with weights, exponents by weight."""
    return float(np.expm1(_shares(picture, weights) @ np.log1p(column_losses(picture))))


def column_losses(picture: ReleaseSummary) -> NDArray[np.float64]:
    """The loss of every column by itself."""
    return picture.mean_by_column([(cells.covered - 1) / max(cells.leaves - 1, 1) for cells in picture.cells])


def discernibility(picture: ReleaseSummary) -> int:
    """The sum of squared sizes of published groups, and the number of all rows for each suppressed one (R-LD-30.3, R-UM-1).

    Exact below three thousand million rows, whose square still fits into 64 bits.
    """
    return int(picture.sizes @ picture.sizes) + picture.rows * picture.suppressed


def average_group_size(picture: ReleaseSummary) -> float:
    """Rows by groups; the suppressed rows, if any, are one more group (R-LD-30.2)."""
    return picture.rows / (len(picture.sizes) + (picture.suppressed > 0))


def non_uniform_entropy(picture: ReleaseSummary, weights: Weights | None = None) -> float:
    """The sum over rows and columns of ``log2(rows with the generalized value / rows with the original value)``.

    Both are counted in the whole table, and a suppressed cell is fully generalized: all rows share it.
    """
    _need_original(picture, "non_uniform_entropy")
    total = 0.0
    for cells, weight in zip(picture.cells, _plain(picture, weights), strict=True):
        generalized = float(cells.shown(picture.blocks) @ np.log2(np.maximum(cells.mass, 1)))
        generalized += picture.suppressed * float(np.log2(picture.rows))
        total += float(weight) * (generalized - _entropy_sum(cells.histogram, np.log2))
    return total


def kl(picture: ReleaseSummary, sensitive: bool = True) -> float:
    """KL-divergence in nats between the table and the release read as a distribution (R-LD-30.4; R-UM-3).

    A row of a group with value ``s`` is found with probability ``n(group, s) / rows``, spread evenly over the cells of the
    group's region; domain sizes are the leaves of the hierarchies. Suppressed rows are one group whose region is the whole domain. Each row is
    judged by its own group. With ``sensitive=False``, over the quasi columns alone. In a bucketized release the quasi values are
    exact and ``s`` is independent of them inside a bucket.
    """
    _need_original(picture, "kl")
    original = picture.original.histograms.counts if sensitive else picture.original.sizes
    lost = picture.suppressed_histogram if sensitive else np.array([picture.suppressed])
    published = picture.histograms.counts if sensitive else picture.sizes
    if picture.volumes is None:
        volume = sum(float(cells.shown(picture.blocks) @ np.log(cells.covered)) for cells in picture.cells)
    else:
        volume = float(picture.blocks @ np.log(picture.volumes))
    whole = sum(float(np.log(cells.leaves)) for cells in picture.cells)
    if picture.exact:
        # p(q, s) = n(q) / rows * n(bucket, s) / n(bucket): points instead of volumes.
        volume = _entropy_sum(picture.sizes) - _entropy_sum(picture.blocks) if sensitive else 0.0
        published = published if sensitive else picture.blocks
    explained = _entropy_sum(published) + _entropy_sum(lost) - volume - picture.suppressed * whole
    return (_entropy_sum(original) - explained) / picture.rows


def kl_mixture(picture: ReleaseSummary, sensitive: bool = True) -> float:
    """KL-divergence where a row may be explained by every group whose region covers it (R-UM-3).

    ``p2(q, s) = sum over groups covering q of n(group, s) / rows / cells(group)``, the suppressed rows being one group that covers the whole domain.
    Without suppression and with disjoint regions this is :func:`kl`; otherwise it is smaller. Goes through all pairs of points and groups.
    """
    _need_original(picture, "kl_mixture")
    if picture.exact:
        raise PolicyError("kl_mixture is for releases with regions; use kl for a bucketized one.")
    if picture.volumes is not None:
        # Regions with holes have nothing in common.
        return kl(picture, sensitive)
    density, everywhere = _densities(picture, sensitive)
    table, covers = picture.original, [cells.covering() for cells in picture.cells]
    total, step = 0.0, max(1, _LARGEST_BLOCK // max(len(picture.sizes), 1))
    for low in range(0, len(table), step):
        points = slice(low, min(low + step, len(table)))
        inside = np.ones((points.stop - low, len(picture.sizes)), dtype=bool)
        for codes, cells, covering in zip(table.codes, picture.cells, covers, strict=True):
            inside &= covering[codes[points]][:, cells.of_block]
        owners, values, counts = _original_cells(table, points, sensitive)
        explained = (inside @ density + everywhere)[owners, values]
        total += float(counts @ np.log(counts / picture.rows / explained))
    return total / picture.rows


def volume_share(picture: ReleaseSummary) -> float:
    """The mean over rows of the share of all combinations of leaves that the own group holds; a suppressed row counts 1 (R-UM-2)."""
    sizes = np.log([cells.leaves for cells in picture.cells]).sum()
    volumes = picture.volumes
    if volumes is None:
        volumes = np.exp(np.sum([np.log(cells.covered)[cells.of_block] for cells in picture.cells], axis=0))
    held = float(picture.blocks @ np.exp(np.log(volumes) - sizes))
    return (held + picture.suppressed) / picture.rows


def _densities(picture: ReleaseSummary, sensitive: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For groups by sensitive values the probability of each cell of the group's region, and for suppressed rows that of every cell."""
    counts = np.zeros((len(picture.sizes), picture.original.domain.size if sensitive else 1))
    if sensitive:
        counts[picture.histograms.owners, picture.histograms.values] = picture.histograms.counts
    else:
        counts[:, 0] = picture.sizes
    volumes = np.exp(np.sum([np.log(cells.covered)[cells.of_block] for cells in picture.cells], axis=0))
    whole = math.exp(sum(math.log(cells.leaves) for cells in picture.cells))
    lost = picture.suppressed_histogram if sensitive else np.array([picture.suppressed])
    return counts / np.reshape(volumes, (-1, 1)) / picture.rows, lost / whole / picture.rows


def _original_cells(table: FrequencySet, points: slice, sensitive: bool) -> tuple[Any, Any, NDArray[np.int64]]:
    """The distinct pairs of point (counted from the first) and sensitive value among some points, and their rows."""
    if not sensitive:
        sizes = table.sizes[points]
        return np.arange(len(sizes)), np.zeros(len(sizes), dtype=np.int64), sizes
    here = slice(table.histograms.offsets[points.start], table.histograms.offsets[points.stop])
    return table.histograms.owners[here] - points.start, table.histograms.values[here], table.histograms.counts[here]


def ncp(picture: ReleaseSummary, weights: Weights | None = None) -> float:
    """Normalized certainty penalty, the mean per cell (R-UM-2): the range of a number's cell by the range of all leaves, the leaves
    of a category by all leaves, nothing for a single leaf, 1 for a suppressed cell."""
    return float(_shares(picture, weights) @ _column_spreads(picture))


def cp(picture: ReleaseSummary, weights: Weights | None = None) -> float:
    """Certainty penalty: the weighted sum of all cells' penalties, ``sum over rows of sum_j w_j NCP_j`` with ``w_j = 1`` by default."""
    return float(_plain(picture, weights) @ _column_spreads(picture)) * picture.rows


def height(picture: ReleaseSummary, weights: Weights | None = None) -> float:
    """The sum of the levels of a full-domain generalization (R-LD-30.1)."""
    if picture.levels is None:
        raise PolicyError("Only a full-domain generalization has a height; this release recodes locally.")
    return float(_plain(picture, weights) @ np.array(picture.levels, dtype=np.float64))


def _column_spreads(picture: ReleaseSummary) -> NDArray[np.float64]:
    return picture.mean_by_column([cells.spread for cells in picture.cells])


def _entropy_sum(counts: NDArray[np.int64], logarithm: Any = np.log) -> float:
    """``sum of n log n``, nothing for an empty count."""
    present = counts[counts > 0].astype(np.float64)
    return float(present @ logarithm(present))


def _need_original(picture: ReleaseSummary, name: str) -> None:
    if not picture.complete:
        raise PolicyError(
            f"{name} compares with the original values, but the frequency set begins at a coarser level. Count without a floor."
        )


def column_weights(columns: Sequence[str], weights: Weights | None) -> NDArray[np.float64]:
    """The weight of every quasi column, 1 where none is given; some column must count."""
    if not weights:
        return np.ones(len(columns))
    for name in weights:
        if name not in columns:
            raise PolicyError(f"weights names {name!r}, which is not a quasi column.{did_you_mean(name, columns)}")
    found = np.array([float(exact(weights.get(name, 1), f"The weight of {name!r}", low=0)) for name in columns])
    if len(found) and not found.sum():
        raise PolicyError("All attribute weights are zero; at least one column must count.")
    return found


def _plain(picture: ReleaseSummary, weights: Weights | None) -> NDArray[np.float64]:
    return column_weights(picture.columns, weights)


def _shares(picture: ReleaseSummary, weights: Weights | None) -> NDArray[np.float64]:
    plain = _plain(picture, weights)
    return plain / plain.sum() if len(plain) else plain
