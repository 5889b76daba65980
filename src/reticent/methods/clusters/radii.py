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

    def tried(threshold: float) -> Clustering | None:
        centres = _scanned(distances, threshold)
        if k is not None and len(centres) > k:
            return None
        near = distances[centres] <= threshold
        labels = _dealt(distances[centres], near, centres, r)
        return None if labels is None else Clustering(labels, centres, threshold, threshold / 2, 2)

    return _least(_thresholds(distances, _reach(distances, r)), tried, context)


def gather_most(distances: Floats, r: int, spare: int, context: Context | None = None) -> Clustering:
    """Assign all but at most ``spare`` points to clusters of at least ``r``; the radius is at most four times the optimal one.

    Points with fewer than r remaining points within T are removed repeatedly. A point in an optimal cluster has r
    points of it within d*, so at T = d* none of them is removed. The least T that leaves enough points is at most d*;
    clusters are balls of T around points, and leftovers join a clustered point within T.
    """
    n = len(distances)

    def peeled(threshold: float) -> NDArray[np.bool_] | None:
        remaining = peel(distances, threshold, r)
        return remaining if int(remaining.sum()) >= n - spare else None

    threshold, remaining = _search(_thresholds(distances, 0.0), peeled, context)
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
    return Clustering(labels, np.array(hearts, dtype=np.int64), threshold, threshold / 2, 4)


def gather_around_records(distances: Floats, r: int, spare: int, context: Context | None = None) -> Clustering:
    """Assign all but at most ``spare`` points around centres that are points; the radius is at most three times that of the best such centres.

    A candidate has r points within R; their balls must reach enough points. A candidate that no chosen ball covers and
    whose own ball has r uncovered points is chosen and takes them, so that it stays a member of its cluster; any other
    point that some candidate reaches goes to the nearest chosen centre, at most 3 R away.
    """
    n = len(distances)

    def reached(radius: float) -> NDArray[np.bool_] | None:
        is_near = distances <= radius
        union: NDArray[np.bool_] = is_near[is_near.sum(axis=1) >= r].any(axis=0)
        return union if int(union.sum()) >= n - spare else None

    radius, union = _search(_thresholds(distances, 0.0), reached, context)
    is_near = distances <= radius
    candidates = np.flatnonzero(is_near.sum(axis=1) >= r)
    labels, hearts = np.full(n, OUT), list[int]()
    for candidate in candidates.tolist():
        members = is_near[candidate] & (labels < 0)
        if members[candidate] and int(members.sum()) >= r:
            labels[members] = len(hearts)
            hearts.append(candidate)
    leftovers = np.flatnonzero(union & (labels < 0))
    labels[leftovers] = np.argmin(distances[leftovers][:, hearts], axis=1)
    return Clustering(labels, np.array(hearts, dtype=np.int64), radius, radius, 3)


def centre_most(distances: Floats, k: int, r: int, spare: int, context: Context | None = None) -> Clustering:
    """At most ``k`` clusters of at least ``r`` points, for all but at most ``spare``; four times the optimal radius at most.

    Points are removed as in :func:`gather_most`. Then the uncovered point with the most uncovered points within T
    becomes a centre and covers all points within 2 T, up to k times. Centres are more than 2 T apart, so each keeps its
    whole ball of T, which has r points *of those left*: without the peeling it might not.
    """
    n = len(distances)

    def tried(threshold: float) -> Clustering | None:
        stay = peel(distances, threshold, r)
        if int(stay.sum()) < n - spare:
            return None
        near, left, hearts = distances <= threshold, stay.copy(), list[int]()
        while len(hearts) < k and left.any():
            counts = np.where(left, near[:, left].sum(axis=1), -1)
            hearts.append(int(np.argmax(counts)))
            left &= distances[hearts[-1]] > 2 * threshold
        covered = stay & ~left
        if int(covered.sum()) < n - spare:
            return None
        labels = np.where(covered, np.argmin(distances[:, hearts], axis=1), OUT)
        return Clustering(labels, np.array(hearts, dtype=np.int64), threshold, threshold / 2, 4)

    return _least(_thresholds(distances, 0.0), tried, context)


def peel(distances: Floats, threshold: float, r: int) -> NDArray[np.bool_]:
    """Mask the points that remain when points with fewer than ``r`` remaining points within ``threshold`` (themselves
    included) are removed repeatedly.
    """
    near = distances <= threshold
    stay = np.ones(len(distances), dtype=bool)
    counts = near.sum(axis=1)
    while True:
        going = stay & (counts < r)
        if not going.any():
            return stay
        stay &= ~going
        counts = counts - near[:, going].sum(axis=1)


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


def _reach(distances: Floats, r: int) -> float:
    """Return the largest distance to an r-th nearest point (a point itself being the first): no smaller threshold passes."""
    return float(np.partition(distances, r - 1, axis=1)[:, r - 1].max())


def lowest_possible_radius(distances: Floats, r: int) -> float:
    """Return half of the largest distance to an (r-1)-st neighbour: that point shares a cluster with r-1 others, so some
    cluster has at least that diameter.
    """
    return _reach(distances, r) / 2


def _thresholds(distances: Floats, minimum: float) -> Floats:
    above = distances[np.triu_indices(len(distances))]
    return np.unique(above[above >= minimum])


def _scanned(distances: Floats, threshold: float) -> Ids:
    """Return centres more than ``threshold`` apart that cover every point: the first uncovered point becomes one."""
    marked = np.zeros(len(distances), dtype=bool)
    centres = []
    while not marked.all():
        centre = int(np.argmin(marked))
        centres.append(centre)
        marked |= distances[centre] <= threshold
    return np.array(centres, dtype=np.int64)


def _dealt(distances: Floats, is_near: NDArray[np.bool_], centres: Ids, r: int) -> Ids | None:
    """Assign every point so that each centre (row) has at least ``r`` points near it, itself included; None if impossible."""
    labels: Ids = np.argmin(distances, axis=0)
    if (np.bincount(labels, minlength=len(centres)) >= r).all():
        return labels
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    centre_count, n = is_near.shape
    may_belong = is_near.copy()
    may_belong[:, centres] = False
    may_belong[np.arange(centre_count), centres] = True
    # Source, centres, points, sink.
    centre, point = np.nonzero(may_belong)
    heads = np.concatenate([np.zeros(centre_count, dtype=np.int64), 1 + centre, 1 + centre_count + np.arange(n)])
    tails = np.concatenate([1 + np.arange(centre_count), 1 + centre_count + point, np.full(n, 1 + centre_count + n)])
    capacity = np.concatenate([np.full(centre_count, r), np.ones(len(centre) + n, dtype=np.int64)]).astype(np.int32)
    graph = csr_array((capacity, (heads, tails)), shape=(n + centre_count + 2, n + centre_count + 2))
    flow = maximum_flow(graph, 0, n + centre_count + 1)
    if flow.flow_value < r * centre_count:
        return None
    carried = flow.flow[1 : 1 + centre_count, 1 + centre_count : 1 + centre_count + n].tocoo()
    used = carried.data > 0
    labels[carried.col[used]] = carried.row[used]
    return labels


def _least(thresholds: Floats, tried: Callable[[float], Clustering | None], context: Context | None) -> Clustering:
    return _search(thresholds, tried, context)[1]


def _search(thresholds: Floats, tried: Callable[[float], Found | None], context: Context | None) -> tuple[float, Found]:
    """Return a threshold that passes while its predecessor fails, or the first of all; from some index on all must pass."""
    low, high, best = -1, len(thresholds) - 1, None
    first = tried(float(thresholds[0]))
    if first is not None:
        return float(thresholds[0]), first
    low = 0
    while high - low > 1 or best is None:
        if context is not None:
            context.check("searching for the least radius")
        middle = high if high - low <= 1 else (low + high) // 2
        result = tried(float(thresholds[middle]))
        if result is None:
            if middle == high:
                raise Infeasible("No threshold gives clusters of that size. Use smaller clusters, or more of them.")
            low = middle
        else:
            high, best = middle, result
    return float(thresholds[high]), best
