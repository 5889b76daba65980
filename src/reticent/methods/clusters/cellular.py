"""Clusters of minimal total cost: a set-up cost per cluster, and the radius of the cluster for every member.

A *candidate* is a centre v with a reach d, one of the distances from v; its potential members are the points within d.
The dual of the linear program over candidates gives every point a price; a candidate opens when the prices of its
members above its reach pay for its set-up. The sum of prices is a lower bound of the cost of any clustering.

As in :mod:`reticent.methods.clusters.radii` the input is a square distance matrix, with points sorted by content.
Source: [Aggarwal2006]; [Jain1999] for the primal-dual scheme.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.errors import Infeasible
from reticent.methods.clusters.radii import OUT, Floats, Ids


@dataclass(frozen=True)
class CellularClusters:
    """Clusters with a price: the ``labels`` of the points (-1: suppressed) and the central point (``heart``) of every cluster.

    ``cost`` is the sum of set-up costs and of size times radius around the hearts. No clustering costs less than
    ``lower_bound``; ``factor`` is the proven approximation factor, None if there is none. ``shared`` is the cost before
    borrowed members were given back.
    """

    labels: Ids
    hearts: Ids
    cost: float
    lower_bound: float
    factor: int | None
    shared: float


@dataclass(frozen=True)
class Candidates:
    """All candidates: ``reach[v, j]`` is the distance from v to its j-th nearest point, ``members[v, j]`` the number of points within it.

    ``setup[v, j]`` is the opening cost; infinite for candidates that are not allowed: duplicates, those of fewer than r
    members, and those that reach farther than ``limit``.
    """

    order: Ids
    reach: Floats
    members: Ids
    setup: Floats

    @classmethod
    def of(cls, distances: Floats, setup: float, r: int, charged: int, limit: float | None) -> Candidates:
        """Build the candidates of a distance matrix; ``charged`` times its reach is added to the set-up of each."""
        n = len(distances)
        order = np.argsort(distances, axis=1, kind="stable")
        reach = np.take_along_axis(distances, order, axis=1)
        last = np.concatenate([reach[:, 1:] != reach[:, :-1], np.ones((n, 1), dtype=bool)], axis=1)
        # The number of points within each reach is the index of the last point at the same distance.
        last_indices = np.where(last, np.arange(1, n + 1), n + 1)
        members = np.minimum.accumulate(last_indices[:, ::-1], axis=1)[:, ::-1]
        allowed = last & (members >= r) & (np.ones_like(last) if limit is None else reach <= limit)
        return cls(order, reach, members.astype(np.int64), np.where(allowed, setup + charged * reach, np.inf))

    def ball(self, candidate: int) -> Ids:
        """Return the potential members of candidate ``v * n + j``."""
        v, j = divmod(candidate, len(self.order))
        return self.order[v, : self.members[v, j]]

    def reach_of(self, candidate: int) -> float:
        """Return the reach of a candidate."""
        return float(self.reach.flat[candidate])


@dataclass(frozen=True)
class PriceGrowth:
    """Result of raising prices: everyone's price and the opened candidate that froze it (-1: none), the opened candidates, and the final time."""

    prices: Floats
    witness: Ids
    opened: list[int]
    now: float


class _Payments:
    """Payments of frozen points for each candidate while prices grow, and the number of its unfrozen members. Mutable: points freeze one by one.

    ``shut`` are the candidates that do not open.
    """

    def __init__(self, candidates: Candidates) -> None:
        """Start without payments: all members of all candidates are unfrozen."""
        n = len(candidates.order)
        self.shut = ~np.isfinite(candidates.setup)
        self._candidates = candidates
        self._paid, self._waiting = np.zeros((n, n)), candidates.members.astype(np.float64)
        self._rank = np.empty_like(candidates.order)
        np.put_along_axis(self._rank, candidates.order, np.arange(n)[None, :], axis=1)

    def reaching(self, point: int) -> NDArray[np.bool_]:
        """Mask the candidates that have a point among their potential members."""
        contains: NDArray[np.bool_] = self._candidates.members > self._rank[:, point][:, None]
        return contains

    def next(self) -> tuple[int, float]:
        """Return the candidate whose set-up is paid for next, and the common price at which it is; ties by smallest reach, then by index."""
        reach = self._candidates.reach
        with np.errstate(divide="ignore", invalid="ignore"):
            due = reach + np.maximum(self._candidates.setup - self._paid, 0.0) / self._waiting
        due[self.shut | (self._waiting <= 0)] = np.inf
        ties = np.flatnonzero(due.ravel() == due.min())
        best = int(ties[np.argmin(reach.flat[ties])])
        return best, float(due.flat[best])

    def freeze(self, point: int, now: float) -> None:
        """Freeze a point: it pays its price at this time from now on."""
        reached = self.reaching(point)
        self._waiting -= reached
        self._paid += np.where(reached, np.maximum(now - self._candidates.reach, 0.0), 0.0)


def grow(candidates: Candidates, leave: int = 0, context: Context | None = None) -> PriceGrowth:
    """Raise the dual prices of all points together until all but ``leave`` of them are frozen (step 2).

    The next candidate to open minimizes reach + (set-up - payments of frozen members) / unfrozen members; its unfrozen
    members freeze. Points not frozen at the end have the last price.
    """
    n = len(candidates.order)
    prices, witness = np.full(n, np.nan), np.full(n, OUT)
    opened, price_now = list[int](), 0.0
    payments = _Payments(candidates)
    while int(np.isnan(prices).sum()) > leave:
        if context is not None:
            context.check("growing prices")
        best, next_price = payments.next()
        if not math.isfinite(next_price):
            break
        price_now = max(price_now, next_price)
        opened.append(best)
        for point in candidates.ball(best)[np.isnan(prices[candidates.ball(best)])].tolist():
            prices[point], witness[point] = price_now, best
            payments.freeze(point, price_now)
    return PriceGrowth(np.where(np.isnan(prices), price_now, prices), witness, opened, price_now)


def primal_dual(distances: Floats, setup: float, context: Context | None = None) -> CellularClusters:
    """Return clusters of any size that cost at most four times the optimum.

    When a candidate opens, its unassigned tight members are assigned to it; it also takes unassigned points tight to
    another candidate that shares a tight point with it, and such candidates are shut. A point within the reach of a
    candidate is tight to it once its price has reached that distance.
    """
    candidates = Candidates.of(distances, setup, 1, 0, None)
    n = len(distances)
    price, labels, hearts = np.zeros(n), np.full(n, OUT), list[int]()
    price_now = 0.0
    # Points that joined a cluster without being tight members of the opened candidate.
    is_idle = np.zeros(n, dtype=bool)
    payments = _Payments(candidates)
    while (labels < 0).any():
        if context is not None:
            context.check("growing prices")
        best, next_price = payments.next()
        price_now = max(price_now, next_price)
        v, j = divmod(best, n)
        unassigned = labels < 0
        current = np.where(unassigned, price_now, price)

        def tight(point: int, current: Floats = current) -> NDArray[np.bool_]:
            """Mask the candidates to which a point is tight at the ``current`` prices."""
            is_tight: NDArray[np.bool_] = payments.reaching(point) & (candidates.reach <= current[point])
            return is_tight

        members = candidates.ball(best)
        tight_members = members[current[members] >= candidates.reach[v, j]]
        newly_assigned, idle_members = tight_members[unassigned[tight_members]], tight_members[is_idle[tight_members]]
        is_shared = np.zeros((n, n), dtype=bool)
        for point in (*newly_assigned.tolist(), *idle_members.tolist()):
            is_shared |= tight(point)
        is_shared &= ~payments.shut
        payments.shut |= is_shared
        payments.shut[v, j] = True
        labels[newly_assigned] = len(hearts)
        joining = [point for point in np.flatnonzero(labels < 0).tolist() if (tight(point) & is_shared).any()]
        labels[joining] = len(hearts)
        for point in (*newly_assigned.tolist(), *joining):
            price[point] = price_now
            payments.freeze(point, price_now)
        is_idle[idle_members], is_idle[joining] = False, True
        hearts.append(v)
    labels, hearts_kept = _renumbered(labels, hearts)
    cost = _cost(distances, labels, hearts_kept, setup)
    return CellularClusters(labels, hearts_kept, cost, lower_bound=float(price.sum()), factor=4, shared=cost)


def cellular(
    distances: Floats,
    r: int,
    setup: float = 0.0,
    spare: int = 0,
    limit: float | None = None,
    context: Context | None = None,
) -> CellularClusters:
    """Return clusters of at least ``r`` points that cost at most 60 times the optimum (3 times with r = 1); no factor is
    proven if up to ``spare`` points may be suppressed, or if ``limit`` forbids candidates that reach farther.

    A candidate (a centre and a radius, its reach) opens when the prices of its members pay ``setup`` and r times its
    reach, which covers borrowed members. Opened candidates are kept by decreasing reach unless a kept one shares a
    contributor, a member whose price exceeds the reach. Clusters that are too small borrow the nearest points, and
    then each borrowed point is assigned to one cluster (:func:`_disjoint_clusters`).
    """
    n = len(distances)
    candidates = Candidates.of(distances, setup, r, r if r > 1 else 0, limit)
    growth = grow(candidates, spare, context)
    # A point without a witness, the candidate that froze its price, belongs to no opened candidate.
    is_frozen = growth.witness >= 0
    if int((~is_frozen).sum()) > spare or int(is_frozen.sum()) < r:
        raise Infeasible(
            f"{int((~is_frozen).sum())} points have fewer than {r} points within {limit}, the largest reach allowed, but at most {spare} may be suppressed. Allow a larger diameter."
        )
    kept_candidates, kept_index = _independent_candidates(candidates, growth)
    shared = _with_borrowed_members(distances, candidates, growth, kept_candidates, kept_index, r, is_frozen)
    labels, centres = _disjoint_clusters(distances, shared, r, n)
    cost_shared = sum(setup + len(sharing.members) * sharing.radius for sharing in shared)
    lower_bound = max(_sum_without_spare(growth, spare), 0.0)
    if r > 1:
        # Charging r times the reach at most doubles the cost of a cluster of r points or more.
        uncharged = grow(Candidates.of(distances, setup, r, 0, limit), spare, context)
        lower_bound = max(lower_bound / 2, _sum_without_spare(uncharged, spare))
    factor = None
    if not spare and limit is None:
        factor = 60 if r > 1 else 3
    cost = _cost(distances, labels, centres, setup)
    return CellularClusters(labels, centres, cost, lower_bound, factor, shared=cost_shared)


def _sum_without_spare(growth: PriceGrowth, spare: int) -> float:
    """Return the sum of prices without those of ``spare`` points, each at most the final price: a lower bound of the cost."""
    return float(growth.prices.sum()) - spare * growth.now


@dataclass(frozen=True)
class _Sharing:
    """A kept candidate with its members, some of them possibly borrowed: its centre, and the distance to the farthest member."""

    heart: int
    members: Ids
    radius: float


def _independent_candidates(candidates: Candidates, growth: PriceGrowth) -> tuple[list[int], dict[int, int]]:
    """Return the opened candidates that are kept, largest reach first, and for every opened one its index among them; an
    opened candidate that shares a contributor (a member whose price exceeds the reach) with a kept one has its index (step 3).
    """
    by_reach = sorted(range(len(growth.opened)), key=lambda rank: (-candidates.reach_of(growth.opened[rank]), rank))
    kept_of_contributor, kept_candidates, kept_index = np.full(len(growth.prices), OUT), list[int](), dict[int, int]()
    for rank in by_reach:
        opened = growth.opened[rank]
        members = candidates.ball(opened)
        contributors = members[growth.prices[members] > candidates.reach_of(opened)]
        blocking = kept_of_contributor[contributors]
        if (blocking >= 0).any():
            kept_index[opened] = int(blocking[blocking >= 0].min())
        else:
            kept_index[opened] = len(kept_candidates)
            kept_of_contributor[contributors] = len(kept_candidates)
            kept_candidates.append(opened)
    return kept_candidates, kept_index


def _with_borrowed_members(
    distances: Floats,
    candidates: Candidates,
    growth: PriceGrowth,
    kept_candidates: list[int],
    kept_index: dict[int, int],
    r: int,
    frozen: NDArray[np.bool_],
) -> list[_Sharing]:
    """Return the kept clusters, which may overlap: every frozen point belongs to one, and a cluster of fewer than ``r``
    points borrows the points nearest to its centre from others (steps 4 and 5).

    ``kept_index`` is the cluster of each opened candidate, ``growth.witness`` the candidate that froze a point.
    """
    n = len(distances)
    cluster_of_point = np.array(
        [kept_index[candidate_of] if candidate_of >= 0 else OUT for candidate_of in growth.witness.tolist()]
    )
    for number, candidate in enumerate(kept_candidates):
        members = candidates.ball(candidate)
        paying = members[(growth.prices[members] > candidates.reach_of(candidate)) & frozen[members]]
        cluster_of_point[paying] = number
    shared = []
    for number, candidate in enumerate(kept_candidates):
        heart, own_points = candidate // n, np.flatnonzero(cluster_of_point == number)
        if len(own_points) < r:
            nearest = candidates.order[heart]
            nearest = nearest[frozen[nearest]]
            borrowed = nearest[~np.isin(nearest, own_points)]
            own_points = np.concatenate([own_points, borrowed[: r - len(own_points)]])
        shared.append(_Sharing(heart, own_points, float(distances[heart, own_points].max())))
    return shared


@dataclass
class _Opened:
    """An opened cluster with its points, and the leftovers attached to it. Mutable: it grows while points are given back."""

    heart: int
    points: list[int]
    leftovers: list[tuple[_Sharing, list[int]]] = field(default_factory=list)


def _disjoint_clusters(distances: Floats, shared: list[_Sharing], r: int, n: int) -> tuple[Ids, Ids]:
    """Turn overlapping clusters of ``n`` points into disjoint ones of at least ``r`` each (step 6); return the cluster of
    every point (-1: none) and the centres.

    By increasing radius, a cluster with r unassigned members takes them. Any other is attached to one that took one of
    its members before, and its remaining points form groups of at least r there; a last small group takes points of the
    cluster itself, or joins it.
    """
    cluster_of, opened, leftovers = np.full(n, OUT), list[_Opened](), list[tuple[_Sharing, int]]()
    for sharing in sorted(shared, key=lambda sharing: (sharing.radius, sharing.heart)):
        free = sharing.members[cluster_of[sharing.members] < 0]
        if len(free) >= r:
            cluster_of[free] = len(opened)
            opened.append(_Opened(sharing.heart, free.tolist()))
        else:
            leftovers.append((sharing, int(cluster_of[sharing.members].max())))
    for sharing, attached in leftovers:
        free = sharing.members[cluster_of[sharing.members] < 0]
        cluster_of[free] = n
        opened[attached].leftovers.append((sharing, free.tolist()))
    clusters: list[tuple[int, list[int]]] = []
    for cluster in opened:
        clusters += _regrouped(distances, cluster, r)
    labels = np.full(n, OUT)
    for number, (_, points) in enumerate(clusters):
        labels[points] = number
    return labels, np.array([heart for heart, _ in clusters], dtype=np.int64)


def _regrouped(distances: Floats, cluster: _Opened, r: int) -> list[tuple[int, list[int]]]:
    """Split a cluster and its leftovers (the remaining points of clusters attached to it) into clusters of at least ``r``
    points; return the centre and the points of each. A group's centre is that of its widest attached cluster.
    """
    clusters: list[tuple[int, list[int]]] = []
    group, widest = list[int](), None
    for sharing, points in cluster.leftovers:
        if not points:
            continue
        group = group + points
        widest = sharing if widest is None or sharing.radius > widest.radius else widest
        if len(group) >= r:
            clusters.append((widest.heart, group))
            group, widest = [], None
    own_points = cluster.points
    if widest is not None:
        lacking = r - len(group)
        if len(group) + len(own_points) >= 2 * r:
            nearest = sorted(own_points, key=lambda point: (distances[widest.heart, point], point))[:lacking]
            clusters.append((widest.heart, group + nearest))
            own_points = [point for point in own_points if point not in set(nearest)]
        else:
            return [*clusters, (widest.heart, group + own_points)]
    return [*clusters, (cluster.heart, own_points)]


def _renumbered(labels: Ids, hearts: list[int]) -> tuple[Ids, Ids]:
    """Renumber labels without gaps, and return the hearts of non-empty clusters."""
    used = np.unique(labels)
    return np.searchsorted(used, labels), np.array(hearts, dtype=np.int64)[used]


def _cost(distances: Floats, labels: Ids, hearts: Ids, setup: float) -> float:
    """Return the total cost: the set-up cost of each cluster, and its radius for each member."""
    total = 0.0
    for number, heart in enumerate(hearts.tolist()):
        members = np.flatnonzero(labels == number)
        total += setup + len(members) * float(distances[heart, members].max())
    return total
