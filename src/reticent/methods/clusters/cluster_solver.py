"""From units to clusters: the proven algorithm on all of them or by parts, refinement where that costs nothing, and centres."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.core import MetricRecords
from reticent.errors import ReticentError
from reticent.methods.clusters.radii import OUT, Floats, Ids, neighbours
from reticent.methods.clusters.units import ClusterUnits


@dataclass(frozen=True, eq=False)
class PartSolution:
    """Result of an algorithm on one part: labels (-1: suppressed) and hearts, a lower bound of its objective, and the proven factor (None: none)."""

    labels: Ids
    hearts: Ids
    lower_bound: float
    factor: int | None


Algorithm = Callable[[Floats, int], PartSolution]
"""Clusters the points of a distance matrix, of which at most the given number may be suppressed."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Clusters of units: the label of every unit (-1: suppressed), the centre and the radius of every cluster.

    ``members`` is the unit that is the best centre among the members of each cluster. ``parts`` were solved separately,
    each within ``factor`` of its optimum (None: not proven). ``lower_bound`` is that of the objective, the largest
    radius or the cost. With several parts it is half of the largest distance to an (r-1)-st neighbour; nothing is
    claimed for costs then, or if units may be suppressed.
    """

    labels: Ids
    centres: MetricRecords
    radii: Floats
    members: Ids
    parts: int
    factor: int | None
    lower_bound: float

    def __len__(self) -> int:
        return len(self.radii)

    @property
    def sizes(self) -> Ids:
        """The number of units in every cluster."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self))


@dataclass(frozen=True)
class ClusterPlan:
    """Parameters of clustering: clusters of at least ``r``, for all but a share ``spare``, by an ``algorithm`` on at most
    ``whole`` units at once, otherwise on parts of at most ``part``.

    ``setup`` is the cost of a cluster if total cost is minimized, None if the largest radius is. ``finer`` splits
    clusters of 2 r and more if this makes nothing worse. With ``records`` the centres are members.
    """

    r: int
    spare: Fraction
    algorithm: Algorithm
    whole: int
    part: int
    setup: float | None = None
    finer: bool = True
    records: bool = False

    def solve(self, units: ClusterUnits, context: Context) -> Solution:
        """Return clusters of the units (people or points), at least r of them; many are split into parts that are solved separately."""
        parts = [np.arange(len(units))] if len(units) <= self.whole else units.parts(self.part, max(2 * self.r, 2))
        labels, members = np.full(len(units), OUT), list[Ids]()
        radii, bounds, factors = list[Floats](), list[float](), list[int | None]()
        neighbour_distances = np.zeros(len(units))
        total = 0
        for number, part in enumerate(parts):
            context.step("clustering", number, len(parts))
            distances = units.metric.within(units.records.take(part))
            solved = self.algorithm(distances, int(self.spare * len(part)))
            part_labels, best_members, part_radii = self._settled(units, part, distances, solved)
            labels[part] = np.where(part_labels >= 0, part_labels + total, OUT)
            total += len(best_members)
            members.append(part[best_members])
            radii.append(part_radii)
            bounds.append(solved.lower_bound)
            factors.append(solved.factor)
            if len(parts) > 1 and self.setup is None and not self.spare:
                neighbour_distances[part] = np.partition(distances, self.r - 1, axis=1)[:, self.r - 1]
        all_members, member_radii = np.concatenate(members), np.concatenate(radii)
        centres, chosen = self._centres(units, labels, all_members, member_radii)
        factor = (
            None
            if any(factor_of_part is None for factor_of_part in factors)
            else max(factor_of_part for factor_of_part in factors if factor_of_part is not None)
        )
        bound = bounds[0] if len(parts) == 1 else units.farthest_neighbour(neighbour_distances, self.r, context) / 2
        solution = Solution(labels, centres, chosen, all_members, len(parts), factor, bound)
        _require_sizes(solution.sizes, self.r)
        return solution

    def _settled(
        self, units: ClusterUnits, part: Ids, distances: Floats, solved: PartSolution
    ) -> tuple[Ids, Ids, Floats]:
        """Return the clusters of a part, refined where nothing gets worse: labels, the best member of each as an index in
        the part, and its radius.
        """
        labels = solved.labels
        best_members, radii = _best_members(distances, labels, len(solved.hearts))
        if not self.finer:
            return labels, best_members, radii
        split, count = labels.copy(), len(best_members)
        limit = float(radii.max(initial=0.0))
        for cluster in np.flatnonzero(np.bincount(labels[labels >= 0], minlength=count) >= 2 * self.r).tolist():
            members = np.flatnonzero(labels == cluster)
            subcluster = neighbours(distances[np.ix_(members, members)], self.r)
            subcluster_count = int(subcluster.max()) + 1
            _, subcluster_radii = _best_members(distances[np.ix_(members, members)], subcluster, subcluster_count)
            sizes = np.bincount(subcluster, minlength=subcluster_count)
            if self._better(subcluster_radii, sizes, float(radii[cluster]), limit):
                split[members[subcluster > 0]] = count + subcluster[subcluster > 0] - 1
                count += subcluster_count - 1
        return (split, *_best_members(distances, split, count))

    def _better(self, radii: Floats, sizes: Ids, before: float, limit: float) -> bool:
        """True if splitting a cluster of radius ``before`` into subclusters of these radii and sizes does not worsen the
        objective: the largest radius, which is ``limit`` now, or with a set-up cost the total cost.
        """
        if self.setup is None:
            return bool(radii.max() <= max(before, limit))
        return float(radii @ sizes) + self.setup * (len(sizes) - 1) < before * int(sizes.sum())

    def _centres(self, units: ClusterUnits, labels: Ids, members: Ids, radii: Floats) -> tuple[MetricRecords, Floats]:
        """Return a centre for every cluster: its best member or, if centres need not be records, a synthetic one if that is nearer to all."""
        best = units.records.take(members)
        if self.records:
            return best, radii
        synthetic = units.synthetic(labels, len(members))
        synthetic_radii = units.radii(synthetic, labels)
        nearer = synthetic_radii <= radii
        arrays = tuple(
            _chosen(nearer, synthetic_values, best_values)
            for synthetic_values, best_values in zip(synthetic.arrays, best.arrays, strict=True)
        )
        return MetricRecords(arrays), np.where(nearer, synthetic_radii, radii)


def _chosen(is_first: NDArray[np.bool_], first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Return the rows of ``first`` where the mask is set, and of ``second`` elsewhere."""
    return np.where(is_first.reshape(-1, *(1,) * (first.ndim - 1)), first, second)


def _best_members(distances: Floats, labels: Ids, count: int) -> tuple[Ids, Floats]:
    """Return for every cluster the member with the smallest distance to its farthest fellow (first of ties), and that distance."""
    best_of, radii = np.zeros(count, dtype=np.int64), np.zeros(count)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(count + 1))
    for cluster in range(count):
        members = order[starts[cluster] : starts[cluster + 1]]
        farthest = distances[np.ix_(members, members)].max(axis=1)
        best = int(np.argmin(farthest))
        best_of[cluster], radii[cluster] = members[best], farthest[best]
    return best_of, radii


def _require_sizes(sizes: Ids, r: int) -> None:
    """Assert that no cluster has fewer than r members."""
    if len(sizes) and int(sizes.min()) < r:
        raise ReticentError(
            f"A cluster has {int(sizes.min())} members, fewer than the requested {r}. Nothing was published; please report this as a bug."
        )
