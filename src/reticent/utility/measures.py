"""Utility measures, each a function of a :class:`ReleaseSummary`; lower is better."""

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


def loss(summary: ReleaseSummary, weights: Weights | None = None) -> float:
    """The mean over quasi columns and rows of ``(leaves covered - 1) / (leaves - 1)``; a suppressed row counts 1.

    A column with a single leaf counts 0 in published rows. Source: [Iyengar2002].
    """
    return float(_relative_weights(summary, weights) @ column_losses(summary))


def loss_geometric(summary: ReleaseSummary, weights: Weights | None = None) -> float:
    """``(prod(x_j + 1)) ^ (1 / columns) - 1`` over the columns' losses ``x_j``; with weights, exponents by weight."""
    return float(np.expm1(_relative_weights(summary, weights) @ np.log1p(column_losses(summary))))


def column_losses(summary: ReleaseSummary) -> NDArray[np.float64]:
    """The loss of every column by itself."""
    return summary.mean_by_column([(cells.covered - 1) / max(cells.leaves - 1, 1) for cells in summary.cells])


def discernibility(summary: ReleaseSummary) -> int:
    """The sum of squared sizes of published groups, plus the number of all rows for each suppressed one.

    Exact below three billion rows, whose square still fits into 64 bits. Source: [Bayardo2005].
    """
    return int(summary.sizes @ summary.sizes) + summary.rows * summary.suppressed


def average_group_size(summary: ReleaseSummary) -> float:
    """Rows divided by groups; suppressed rows, if any, are one more group."""
    return summary.rows / (len(summary.sizes) + (summary.suppressed > 0))


def non_uniform_entropy(summary: ReleaseSummary, weights: Weights | None = None) -> float:
    """The sum over rows and columns of ``log2(rows with the generalized value / rows with the original value)``.

    Both are counted in the whole table; a suppressed cell is fully generalized, shared by all rows.
    """
    _need_original(summary, "non_uniform_entropy")
    total = 0.0
    for cells, weight in zip(summary.cells, _absolute_weights(summary, weights), strict=True):
        generalized = float(cells.shown(summary.blocks) @ np.log2(np.maximum(cells.mass, 1)))
        generalized += summary.suppressed * float(np.log2(summary.rows))
        total += float(weight) * (generalized - _entropy_sum(cells.histogram, np.log2))
    return total


def kl(summary: ReleaseSummary, sensitive: bool = True) -> float:
    """KL-divergence in nats between the table and the release read as a distribution.

    A row of a group with value ``s`` has probability ``n(group, s) / rows``, spread evenly over the cells of the
    group's region; domain sizes are the leaves of the hierarchies. Suppressed rows are one group whose region is the whole domain. Each row is
    judged by its own group. With ``sensitive=False``, over the quasi columns alone. In a bucketized release the quasi values are
    exact and ``s`` is independent of them inside a bucket. Source: [Kifer2006].
    """
    _need_original(summary, "kl")
    original = summary.original.histograms.counts if sensitive else summary.original.sizes
    suppressed_counts = summary.suppressed_histogram if sensitive else np.array([summary.suppressed])
    published = summary.histograms.counts if sensitive else summary.sizes
    if summary.volumes is None:
        volume = sum(float(cells.shown(summary.blocks) @ np.log(cells.covered)) for cells in summary.cells)
    else:
        volume = float(summary.blocks @ np.log(summary.volumes))
    domain_volume = sum(float(np.log(cells.leaves)) for cells in summary.cells)
    if summary.exact:
        # p(q, s) = n(q) / rows * n(bucket, s) / n(bucket): points instead of volumes.
        volume = _entropy_sum(summary.sizes) - _entropy_sum(summary.blocks) if sensitive else 0.0
        published = published if sensitive else summary.blocks
    explained = _entropy_sum(published) + _entropy_sum(suppressed_counts) - volume - summary.suppressed * domain_volume
    return (_entropy_sum(original) - explained) / summary.rows


def kl_mixture(summary: ReleaseSummary, sensitive: bool = True) -> float:
    """KL-divergence where a row may be explained by every group whose region covers it.

    ``p2(q, s) = sum over groups covering q of n(group, s) / rows / cells(group)``, with suppressed rows as one group that covers the
    whole domain. Without suppression and with disjoint regions this is :func:`kl`; otherwise it is smaller. Cost: all pairs of points and groups.
    """
    _need_original(summary, "kl_mixture")
    if summary.exact:
        raise PolicyError("kl_mixture is for releases with regions; use kl for a bucketized one.")
    if summary.volumes is not None:
        # Regions with holes are disjoint.
        return kl(summary, sensitive)
    density, everywhere = _densities(summary, sensitive)
    table, covers = summary.original, [cells.covering() for cells in summary.cells]
    total, step = 0.0, max(1, _LARGEST_BLOCK // max(len(summary.sizes), 1))
    for low in range(0, len(table), step):
        points = slice(low, min(low + step, len(table)))
        inside = np.ones((points.stop - low, len(summary.sizes)), dtype=bool)
        for codes, cells, covering in zip(table.codes, summary.cells, covers, strict=True):
            inside &= covering[codes[points]][:, cells.of_block]
        owners, values, counts = _original_cells(table, points, sensitive)
        explained = (inside @ density + everywhere)[owners, values]
        total += float(counts @ np.log(counts / summary.rows / explained))
    return total / summary.rows


def volume_share(summary: ReleaseSummary) -> float:
    """The mean over rows of the share of all leaf combinations that the row's group covers; a suppressed row counts 1."""
    sizes = np.log([cells.leaves for cells in summary.cells]).sum()
    volumes = summary.volumes
    if volumes is None:
        volumes = np.exp(np.sum([np.log(cells.covered)[cells.of_block] for cells in summary.cells], axis=0))
    covered_share = float(summary.blocks @ np.exp(np.log(volumes) - sizes))
    return (covered_share + summary.suppressed) / summary.rows


def _densities(summary: ReleaseSummary, sensitive: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The probability that the release, read as a distribution, gives each cell of a region: a matrix of groups by sensitive values, and an array by sensitive value for the suppressed rows, whose region is the whole domain."""
    counts = np.zeros((len(summary.sizes), summary.original.domain.size if sensitive else 1))
    if sensitive:
        counts[summary.histograms.owners, summary.histograms.values] = summary.histograms.counts
    else:
        counts[:, 0] = summary.sizes
    volumes = np.exp(np.sum([np.log(cells.covered)[cells.of_block] for cells in summary.cells], axis=0))
    domain_size = math.exp(sum(math.log(cells.leaves) for cells in summary.cells))
    suppressed_counts = summary.suppressed_histogram if sensitive else np.array([summary.suppressed])
    return counts / np.reshape(volumes, (-1, 1)) / summary.rows, suppressed_counts / domain_size / summary.rows


def _original_cells(table: FrequencySet, points: slice, sensitive: bool) -> tuple[Any, Any, NDArray[np.int64]]:
    """The distinct pairs of point (counted from the first) and sensitive value among some points, and their rows."""
    if not sensitive:
        sizes = table.sizes[points]
        return np.arange(len(sizes)), np.zeros(len(sizes), dtype=np.int64), sizes
    segment = slice(table.histograms.offsets[points.start], table.histograms.offsets[points.stop])
    return (
        table.histograms.owners[segment] - points.start,
        table.histograms.values[segment],
        table.histograms.counts[segment],
    )


def ncp(summary: ReleaseSummary, weights: Weights | None = None) -> float:
    """Normalized certainty penalty, the mean per cell: the range of a number's cell over the range of all leaves, the
    leaves of a category over all leaves, 0 for a single leaf, 1 for a suppressed cell. Source: [Xu2006].
    """
    return float(_relative_weights(summary, weights) @ _column_spreads(summary))


def cp(summary: ReleaseSummary, weights: Weights | None = None) -> float:
    """Certainty penalty: the weighted sum of all cells' penalties, ``sum over rows of sum_j w_j NCP_j`` with ``w_j = 1`` by default."""
    return float(_absolute_weights(summary, weights) @ _column_spreads(summary)) * summary.rows


def height(summary: ReleaseSummary, weights: Weights | None = None) -> float:
    """The sum of the levels of a full-domain generalization over the quasi columns, each times the weight of its column."""
    if summary.levels is None:
        raise PolicyError("Only a full-domain generalization has a height; this release recodes locally.")
    return float(_absolute_weights(summary, weights) @ np.array(summary.levels, dtype=np.float64))


def _column_spreads(summary: ReleaseSummary) -> NDArray[np.float64]:
    """The mean normalized certainty penalty of every column over all rows."""
    return summary.mean_by_column([cells.spread for cells in summary.cells])


def _entropy_sum(counts: NDArray[np.int64], logarithm: Any = np.log) -> float:
    """``sum of n log n``, 0 for an empty count."""
    present = counts[counts > 0].astype(np.float64)
    return float(present @ logarithm(present))


def _need_original(summary: ReleaseSummary, name: str) -> None:
    """Raise an error if the original values are unknown because the table was counted at coarser levels."""
    if not summary.complete:
        raise PolicyError(
            f"{name} compares with the original values, but the frequency set begins at a coarser level. Count without a floor."
        )


def column_weights(columns: Sequence[str], weights: Weights | None) -> NDArray[np.float64]:
    """The weight of every quasi column, default 1. Raises if all are zero."""
    if not weights:
        return np.ones(len(columns))
    for name in weights:
        if name not in columns:
            raise PolicyError(f"weights names {name!r}, which is not a quasi column.{did_you_mean(name, columns)}")
    numbers = np.array([float(exact(weights.get(name, 1), f"The weight of {name!r}", low=0)) for name in columns])
    if len(numbers) and not numbers.sum():
        raise PolicyError("All attribute weights are zero; at least one column must count.")
    return numbers


def _absolute_weights(summary: ReleaseSummary, weights: Weights | None) -> NDArray[np.float64]:
    """The weight of every quasi column, as given (default 1)."""
    return column_weights(summary.columns, weights)


def _relative_weights(summary: ReleaseSummary, weights: Weights | None) -> NDArray[np.float64]:
    """The weights of the quasi columns, scaled to sum to 1."""
    absolute = _absolute_weights(summary, weights)
    return absolute / absolute.sum() if len(absolute) else absolute
