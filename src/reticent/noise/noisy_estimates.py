"""Statistics from noisy numbers, each with its standard error and a 95 % interval. Everything here is computed from published numbers.

Intervals contain the statistic of the counted records (values clamped to their bounds): they account for noise, not for sampling error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
BRANCHES, TREE_LEVELS = 4, 4
LEAVES = BRANCHES**TREE_LEVELS


@dataclass(frozen=True)
class Estimates:
    """A statistic for every group: its ``value``, its ``error`` (standard error) and an interval from ``low`` to ``high``; NaN where noise leaves no usable estimate."""

    value: Reals
    error: Reals
    low: Reals
    high: Reals


def plain_sums(noisy: Reals, deviation: float, reach: float, least: float) -> Estimates:
    """Counts and sums: unbiased estimates with intervals of half-width ``reach``, clipped at ``least``."""
    return Estimates(
        noisy, np.full(len(noisy), deviation), np.maximum(noisy - reach, least), np.maximum(noisy + reach, least)
    )


def ratios(
    sums: Reals, counts: Reals, sum_deviation: float, count_deviation: float, ends: tuple[float, float], quantile: float
) -> Estimates:
    """Return means, with intervals, from noisy sums and noisy counts with known standard deviations.

    A mean m is in the interval if sum - m count is within ``quantile`` of its standard deviations of 0 [Fieller 1954],
    and between the ``ends``.
    """
    low_end, high_end = ends
    positive_counts = np.maximum(counts, 1.0)
    value = np.clip(sums / positive_counts, low_end, high_end)
    error = np.sqrt(sum_deviation**2 + value**2 * count_deviation**2) / positive_counts
    squared_quantile = quantile**2
    quadratic = counts**2 - squared_quantile * count_deviation**2
    linear = sums * counts
    constant = sums**2 - squared_quantile * sum_deviation**2
    root = np.sqrt(np.maximum(linear**2 - quadratic * constant, 0.0))
    # If the count may be 0, any mean is possible.
    is_bounded = (quadratic > 0) & (counts > 0)
    scale = np.where(is_bounded, quadratic, 1.0)
    low = np.where(is_bounded, np.clip((linear - root) / scale, low_end, high_end), low_end)
    high = np.where(is_bounded, np.clip((linear + root) / scale, low_end, high_end), high_end)
    return Estimates(value, error, low, high)


def variances(
    squares: Reals, sums: Reals, counts: Reals, deviations: tuple[float, float, float], most: float, quantile: float
) -> Estimates:
    """Return variances, with intervals, from noisy sums of squares, sums and counts; ``deviations`` are the standard
    deviations of their noise.

    The error is that of the first-order expansion, and intervals are clipped to 0 and ``most``.
    """
    positive_counts = np.maximum(counts, 1.0)
    mean = sums / positive_counts
    variance = squares / positive_counts - mean**2
    by_square, by_sum, by_count = (
        1 / positive_counts,
        -2 * mean / positive_counts,
        (2 * mean**2 - squares / positive_counts) / positive_counts,
    )
    error = np.sqrt((by_square * deviations[0]) ** 2 + (by_sum * deviations[1]) ** 2 + (by_count * deviations[2]) ** 2)
    is_bounded = counts > quantile * deviations[2]
    low = np.where(is_bounded, np.clip(variance - quantile * error, 0.0, most), 0.0)
    high = np.where(is_bounded, np.clip(variance + quantile * error, 0.0, most), most)
    return Estimates(np.clip(variance, 0.0, most), error, low, high)


def quantiles(
    trees: NDArray[np.int64], deviation: float, level: float, edges: Reals, normal_quantile: float
) -> Estimates:
    """Return the quantile of ``level`` of each group, with an interval, from noisy counts of all nodes of a tree of
    ranges (one row per group).

    ``deviation`` is the standard deviation of the noise, ``edges`` are the bounds of the leaves. Counts of leaves are
    the least-squares fit to all nodes. A leaf is in the interval if neither "the quantile lies above it" nor "it lies
    below it" can be excluded at 95 %.
    """
    to_ranks, unit_spread = _ranks(level)
    ranks = trees.astype(np.float64) @ to_ranks.T
    spread = normal_quantile * deviation * unit_spread
    not_above = ranks >= -spread
    ranks_before = np.concatenate([np.full((len(ranks), 1), -np.inf), ranks[:, :-1]], axis=1)
    not_below = ranks_before <= np.concatenate([[0.0], spread[:-1]])
    low = np.argmax(not_above, axis=1)
    high = LEAVES - 1 - np.argmax(not_below[:, ::-1], axis=1)
    estimate = np.argmax(np.maximum.accumulate(ranks, axis=1) >= 0, axis=1)
    step = edges[1] - edges[0]
    low_edge, high_edge = edges[np.minimum(low, estimate)], edges[np.maximum(high, estimate) + 1]
    return Estimates(edges[estimate] + step / 2, (high_edge - low_edge) / (2 * normal_quantile), low_edge, high_edge)


@lru_cache(maxsize=64)
def _ranks(share: float) -> tuple[Reals, Reals]:
    """Return a matrix that maps noisy node counts to (values up to each leaf) - ``share`` x (all values), and its
    standard deviations for noise of variance 1.

    The counts of leaves are estimated by least squares.
    """
    nodes = tree_nodes()
    covariance = np.asarray(np.linalg.inv(nodes.T @ nodes), dtype=np.float64)
    contrasts = np.tril(np.ones((LEAVES, LEAVES))) - share
    weights = contrasts @ covariance
    return weights @ nodes.T, np.sqrt((weights * contrasts).sum(axis=1))


def tree_nodes() -> Reals:
    """Return a 0/1 matrix, nodes by leaves: which leaves belong to each node of the tree, level by level below the
    root.
    """
    levels = [
        np.kron(np.eye(BRANCHES**level), np.ones((1, LEAVES // BRANCHES**level))) for level in range(1, TREE_LEVELS + 1)
    ]
    return np.vstack(levels)


def leaf_edges(low: float, high: float) -> Reals:
    """The edges of the leaves of a tree between two bounds."""
    return np.linspace(low, high, LEAVES + 1)


def tree_counts(leaf: NDArray[np.int64], group: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Return the number of records in every node of the tree, level by level, one row per group."""
    counts = np.bincount(group * LEAVES + leaf, minlength=groups * LEAVES).reshape(groups, LEAVES)
    levels: Sequence[NDArray[np.int64]] = [
        counts.reshape(groups, BRANCHES**level, -1).sum(axis=2) for level in range(1, TREE_LEVELS + 1)
    ]
    return np.concatenate(levels, axis=1).astype(np.int64)


def moved(estimates: Estimates, by: float, scale: float = 1.0) -> Estimates:
    """The estimates in other units: multiplied by ``scale``, then shifted ``by``."""
    return Estimates(
        estimates.value * scale + by, estimates.error * scale, estimates.low * scale + by, estimates.high * scale + by
    )


def rounded(number: float) -> float:
    """The number rounded to nine significant digits for publication, so that every machine computes the same from the noisy numbers."""
    if not math.isfinite(number) or number == 0:
        return number
    return round(number, 8 - math.floor(math.log10(abs(number))))
