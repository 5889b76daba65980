"""Clusters of at least r points with minimal radius: r-gather, with outliers, with at most k clusters. Source: [Aggarwal2006].

The input is a square distance matrix, with points sorted by content: ties go to the first. Thresholds are entries of
the matrix, so comparisons are exact. *d\\** is the largest distance inside a cluster of an optimal solution and *R\\**
its radius, wherever centres may lie: d* <= 2 R*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.errors import Infeasible

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

OUT = -1
Found = TypeVar("Found")


@dataclass(frozen=True)
class Clustering:
    """Clusters of points: the ``labels`` of the points (-1: suppressed), and the central point (``heart``) of every cluster.

    ``threshold`` is the distance at which the clusters were found; no clustering has a radius below ``lower_bound``,
    and this one has at most ``factor`` times the optimal radius.
    """

    labels: Ids
    hearts: Ids
    threshold: float
    lower_bound: float
    factor: int


def gather(distances: Floats, r: int, k: int | None = None, context: Context | None = None) -> Clustering:
    """Assign every point to a cluster of at least ``r`` (with at most ``k`` clusters); the radius is at most twice the optimal one.

    A threshold T passes if every point has r points within T, and the centres found by a scan (more than T apart,
    within T of every point) can be assigned r points each within T, decided by maximum flow. Every T >= d* passes: two
    centres lie in different optimal clusters, each of which has r points within T of its centre. So a threshold that
    passes above one that fails is at most d* <= 2 R*.
    """

    def cluster_at(threshold: float) -> Clustering | None:
        """Return the clusters found at a threshold; None if it is too small."""
        centres = _covering_centres(distances, threshold)
        if k is not None and len(centres) > k:
            return None
        is_near = distances[centres] <= threshold
        labels = _assigned_by_flow(distances[centres], is_near, centres, r)
        if labels is None:
            return None
        return Clustering(labels, centres, threshold, lower_bound=threshold / 2, factor=2)

    return _at_least_threshold(_thresholds(distances, _farthest_nearest(distances, r)), cluster_at, context)


def gather_most(distances: Floats, r: int, spare: int, context: Context | None = None) -> Clustering:
    """Assign all but at most ``spare`` points to clusters of at least ``r``; the radius is at most four times the optimal one.

    Points with fewer than r remaining points within T are removed repeatedly. A point in an optimal cluster has r
    points of it within d*, so at T = d* none of them is removed. The least T that leaves enough points is at most d*;
    clusters are balls of T around points, and leftovers join a clustered point within T.
    """
    n = len(distances)

    def remaining_at(threshold: float) -> NDArray[np.bool_] | None:
        """Mask the points that remain after peeling; None if these are too few."""
        remaining = peel(distances, threshold, r)
        return remaining if int(remaining.sum()) >= n - spare else None

    threshold, remaining = _search(_thresholds(distances, 0.0), remaining_at, context)
    is_near = distances <= threshold
    labels, hearts, unassigned = np.full(n, OUT), list[int](), remaining.copy()
    while True:
        counts = (is_near[:, unassigned]).sum(axis=1)
        is_centre = unassigned & (counts >= r)
        if not is_centre.any():
            break
        heart = int(np.argmax(is_centre))
        members = is_near[heart] & unassigned
        labels[members], unassigned[members] = len(hearts), False
        hearts.append(heart)
    clustered = np.flatnonzero(labels >= 0)
    for point in np.flatnonzero(unassigned).tolist():
        labels[point] = labels[clustered[np.argmin(distances[point, clustered])]]
    return Clustering(labels, np.array(hearts, dtype=np.int64), threshold, lower_bound=threshold / 2, factor=4)


def gather_around_records(distances: Floats, r: int, spare: int, context: Context | None = None) -> Clustering:
    """Assign all but at most ``spare`` points around centres that are points; the radius is at most three times that of the best such centres.

    A candidate has r points within R; their balls must reach enough points. A candidate that no chosen ball covers and
    whose own ball has r uncovered points is chosen and takes them, so that it stays a member of its cluster; any other
    point that some candidate reaches goes to the nearest chosen centre, at most 3 R away.
    """
    n = len(distances)

    def covered_at(radius: float) -> NDArray[np.bool_] | None:
        """Mask the points in balls of this radius that hold at least ``r`` points; None if more than ``spare`` of all points are in none."""
        is_near = distances <= radius
        is_covered: NDArray[np.bool_] = is_near[is_near.sum(axis=1) >= r].any(axis=0)
        return is_covered if int(is_covered.sum()) >= n - spare else None

    radius, is_covered = _search(_thresholds(distances, 0.0), covered_at, context)
    is_near = distances <= radius
    candidates = np.flatnonzero(is_near.sum(axis=1) >= r)
    labels, hearts = np.full(n, OUT), list[int]()
    for candidate in candidates.tolist():
        members = is_near[candidate] & (labels < 0)
        if members[candidate] and int(members.sum()) >= r:
            labels[members] = len(hearts)
            hearts.append(candidate)
    leftovers = np.flatnonzero(is_covered & (labels < 0))
    labels[leftovers] = np.argmin(distances[leftovers][:, hearts], axis=1)
    return Clustering(labels, np.array(hearts, dtype=np.int64), threshold=radius, lower_bound=radius, factor=3)


def centre_most(distances: Floats, k: int, r: int, spare: int, context: Context | None = None) -> Clustering:
    """Assign all but at most ``spare`` points to at most ``k`` clusters of at least ``r``; the radius is at most four times the optimal one.

    Points are removed as in :func:`gather_most`. Then the uncovered point with the most uncovered points within T
    becomes a centre ('heart') and covers all points within 2 T, up to k times. Centres are more than 2 T apart, so all
    points within T of a centre are in its cluster: at least r, because peeling removed the points that had fewer.
    """
    n = len(distances)

    def cluster_at(threshold: float) -> Clustering | None:
        """Return the clusters found at a threshold; None if they leave out more than ``spare`` points."""
        remaining = peel(distances, threshold, r)
        if int(remaining.sum()) < n - spare:
            return None
        is_near = distances <= threshold
        uncovered, hearts = remaining.copy(), list[int]()
        while len(hearts) < k and uncovered.any():
            uncovered_near = np.where(uncovered, is_near[:, uncovered].sum(axis=1), -1)
            hearts.append(int(np.argmax(uncovered_near)))
            uncovered &= distances[hearts[-1]] > 2 * threshold
        covered = remaining & ~uncovered
        if int(covered.sum()) < n - spare:
            return None
        labels = np.where(covered, np.argmin(distances[:, hearts], axis=1), OUT)
        return Clustering(labels, np.array(hearts, dtype=np.int64), threshold, lower_bound=threshold / 2, factor=4)

    return _at_least_threshold(_thresholds(distances, 0.0), cluster_at, context)


def peel(distances: Floats, threshold: float, r: int) -> NDArray[np.bool_]:
    """Mask the points that remain when points with fewer than ``r`` remaining points within ``threshold`` (themselves
    included) are removed repeatedly.
    """
    is_near = distances <= threshold
    remains = np.ones(len(distances), dtype=bool)
    counts = is_near.sum(axis=1)
    while True:
        removed = remains & (counts < r)
        if not removed.any():
            return remains
        remains &= ~removed
        counts = counts - is_near[:, removed].sum(axis=1)


def neighbours(distances: Floats, size: int) -> Ids:
    """Group ``size`` neighbours at a time, from the edge inwards (MDAV, [DomingoFerrer2005]); return the label of every point.

    The point farthest from the mean takes its nearest ones, then the point farthest from it does so; fewer than twice
    ``size`` at the end form one group. Farthest from the mean is the point with the largest sum of squared distances to
    the remaining ones: equivalent for numeric points, and no mean is needed for columns of mixed types.
    """
    n = len(distances)
    labels, group = np.full(n, OUT), 0
    unassigned = np.arange(n)
    squares = distances * distances
    sums = squares.sum(axis=1)

    def take(centre: int) -> None:
        """Make a group of the unassigned points nearest to ``centre``, itself included."""
        nonlocal unassigned, group
        distances_to_centre = distances[centre, unassigned]
        members = unassigned[np.argsort(distances_to_centre, kind="stable")[:size]]
        labels[members] = group
        group += 1
        unassigned = unassigned[labels[unassigned] < 0]
        sums[unassigned] -= squares[np.ix_(unassigned, members)].sum(axis=1)

    while len(unassigned) >= 2 * size:
        first = int(unassigned[np.argmax(sums[unassigned])])
        take(first)
        if len(unassigned) >= 2 * size:
            take(int(unassigned[np.argmax(distances[first, unassigned])]))
    labels[unassigned] = group
    return labels


def _farthest_nearest(distances: Floats, r: int) -> float:
    """Return the largest distance to an r-th nearest point (a point itself being the first): no smaller threshold passes."""
    return float(np.partition(distances, r - 1, axis=1)[:, r - 1].max())


def lowest_possible_radius(distances: Floats, r: int) -> float:
    """Return half of the largest distance to an (r-1)-st neighbour: that point shares a cluster with r-1 others, so some
    cluster has at least that diameter.
    """
    return _farthest_nearest(distances, r) / 2


def _thresholds(distances: Floats, minimum: float) -> Floats:
    """Return the distinct distances between two points that are at least ``minimum``, ascending."""
    upper_triangle = distances[np.triu_indices(len(distances))]
    return np.unique(upper_triangle[upper_triangle >= minimum])


def _covering_centres(distances: Floats, threshold: float) -> Ids:
    """Return centres more than ``threshold`` apart that cover every point: the first uncovered point becomes one."""
    is_covered = np.zeros(len(distances), dtype=bool)
    centres = []
    while not is_covered.all():
        centre = int(np.argmin(is_covered))
        centres.append(centre)
        is_covered |= distances[centre] <= threshold
    return np.array(centres, dtype=np.int64)


def _assigned_by_flow(distances: Floats, is_near: NDArray[np.bool_], centres: Ids, r: int) -> Ids | None:
    """Return the centre (row of ``distances``) of every point, such that each centre has at least ``r`` points near it,
    itself included; None if impossible. Decided by maximum flow where the nearest centres do not suffice.
    """
    labels: Ids = np.argmin(distances, axis=0)
    if (np.bincount(labels, minlength=len(centres)) >= r).all():
        return labels
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    centre_count, n = is_near.shape
    may_belong = is_near.copy()
    may_belong[:, centres] = False
    may_belong[np.arange(centre_count), centres] = True
    # Nodes: the source (0), the centres, the points, the sink.
    centre, point = np.nonzero(may_belong)
    edge_starts = np.concatenate([np.zeros(centre_count, dtype=np.int64), 1 + centre, 1 + centre_count + np.arange(n)])
    edge_ends = np.concatenate(
        [1 + np.arange(centre_count), 1 + centre_count + point, np.full(n, 1 + centre_count + n)]
    )
    capacity = np.concatenate([np.full(centre_count, r), np.ones(len(centre) + n, dtype=np.int64)]).astype(np.int32)
    graph = csr_array((capacity, (edge_starts, edge_ends)), shape=(n + centre_count + 2, n + centre_count + 2))
    flow = maximum_flow(graph, 0, n + centre_count + 1)
    if flow.flow_value < r * centre_count:
        return None
    assignments = flow.flow[1 : 1 + centre_count, 1 + centre_count : 1 + centre_count + n].tocoo()
    is_used = assignments.data > 0
    labels[assignments.col[is_used]] = assignments.row[is_used]
    return labels


def _at_least_threshold(
    thresholds: Floats, attempt: Callable[[float], Clustering | None], context: Context | None
) -> Clustering:
    """Return the clusters at the threshold that :func:`_search` selects."""
    return _search(thresholds, attempt, context)[1]


def _search(
    thresholds: Floats, attempt: Callable[[float], Found | None], context: Context | None
) -> tuple[float, Found]:
    """Return, by binary search, a threshold that passes while its predecessor fails (or the first of all), and its result.

    ``attempt`` returns the result at a threshold, None if it fails. From some index on all thresholds must pass.
    """
    low, high, best = -1, len(thresholds) - 1, None
    smallest = attempt(float(thresholds[0]))
    if smallest is not None:
        return float(thresholds[0]), smallest
    low = 0
    while high - low > 1 or best is None:
        if context is not None:
            context.check("searching for the least radius")
        middle = high if high - low <= 1 else (low + high) // 2
        result = attempt(float(thresholds[middle]))
        if result is None:
            if middle == high:
                raise Infeasible("No threshold gives clusters of that size. Use smaller clusters, or more of them.")
            low = middle
        else:
            high, best = middle, result
    return float(thresholds[high]), best
