"""Who of the people that came since the last release enters the next one, and in which classes.

An adversary who holds two releases of a table that grows subtracts one from the other: what is left of a class are its new people. So those who are new in a class satisfy the definition on their own, or they wait.
Classes are clusters of the first release's order of merging, and later ones are made of whole earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.core import Groups
from reticent.definitions import GroupDefinition
from reticent.methods.bang.cell_space import Ids
from reticent.methods.bang.dendrogram import Dendrogram

Few = Literal["wait", "merge"]
FEW: tuple[Few, ...] = ("wait", "merge")


@dataclass(frozen=True)
class Admission:
    """The clusters that are the classes of the next release, and in which of them new people enter. ``raised``: sensitive values asked for more new people in a class than counts did."""

    clusters: Ids
    enters: NDArray[np.bool_]
    raised: bool = False


@dataclass(frozen=True)
class CohortGuard:
    """The rule by which new people enter: ``least`` of them in a class, all of whom satisfy the ``definition``.

    Quasi values alone decide who waits, but for one number: where new people of some class fail, the least number rises for all classes. ``by_class`` lets every
    class decide for itself. ``few`` says what becomes of classes with too few new people: these wait, or the classes are ``merge``\\ d until nobody has to.
    """

    definition: GroupDefinition
    least: int
    by_class: bool
    few: Few

    def admit(self, tree: Dendrogram, clusters: Ids, fresh: Groups) -> Admission:
        """Who enters, given the ``clusters`` of the last release and the new people of every block."""
        least, total = self.least, int(fresh.sizes.sum())
        while least <= total:
            standing = clusters
            if self.few == "merge":
                standing = tree.standing(partial(self._stands, tree, _made_of(tree, clusters), fresh, least))
            groups = tree.merged(fresh, standing)
            enters, failing = groups.sizes >= least, self._failing(groups)
            if self.by_class and self.few == "wait":
                enters &= ~failing
            if not (enters & failing).any():
                return Admission(standing, enters, least > self.least)
            if self.by_class:
                break
            least = int(groups.sizes[enters & failing].max()) + 1
        return Admission(clusters, np.zeros(len(clusters), dtype=bool))

    def _stands(
        self, tree: Dendrogram, whole: NDArray[np.bool_], fresh: Groups, least: int, clusters: Ids
    ) -> NDArray[np.bool_]:
        """Which clusters may stand alone: made of ``whole`` classes, with enough new people or none."""
        groups = tree.merged(fresh, clusters)
        enough = groups.sizes >= least
        if self.by_class:
            enough &= ~self._failing(groups)
        found: NDArray[np.bool_] = whole[clusters] & (enough | (groups.sizes == 0))
        return found

    def _failing(self, groups: Groups) -> NDArray[np.bool_]:
        """The classes with new people who fail; the definition is one that judges class by class."""
        filled = groups.sizes > 0
        found = np.zeros(len(groups), dtype=bool)
        if filled.any():
            found[filled] = self.definition.failing(groups.select(filled))
        return found


def clusters_of(tree: Dendrogram, group: Ids) -> Ids:
    """The clusters that the classes of blocks are."""
    along = group[tree.order]
    starts = np.flatnonzero(np.concatenate([[True], along[1:] != along[:-1]]))
    stops = np.append(starts[1:], len(along))
    codes = tree.starts * (len(along) + 1) + tree.stops
    order = np.argsort(codes)
    found: Ids = order[np.searchsorted(codes[order], starts * (len(along) + 1) + stops)]
    return found


def matched_at_once(before: Groups, after: Groups, inside: Ids) -> tuple[int, int | None]:
    """BCF-anonymity of two releases, the classes of the first of which lie ``inside`` classes of the second: the fewest rows of an earlier class that can all be rows of the later one at the same
    time, and the fewest rows of a class with new people that need not be anybody's of before (None: nobody is new).

    Since no row of another class can be a counterpart, both follow from sums over sensitive values of the smaller count.
    """
    size = after.domain.size
    cells, known = before.histograms, after.histograms
    codes = known.owners * size + known.values
    asked = inside[cells.owners] * size + cells.values
    place = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
    there = np.where(codes[place] == asked, known.counts[place], 0)
    both = cells.add_cells(np.minimum(cells.counts, there)).astype(np.int64)
    fresh = after.sizes - np.bincount(inside, weights=both, minlength=len(after)).astype(np.int64)
    return int(both.min()), int(fresh[fresh > 0].min()) if (fresh > 0).any() else None


def _made_of(tree: Dendrogram, clusters: Ids) -> NDArray[np.bool_]:
    """Which clusters are made of whole ones of some ``clusters``."""
    ends = np.zeros(len(tree) + 1, dtype=bool)
    ends[tree.starts[clusters]] = ends[-1] = True
    found: NDArray[np.bool_] = ends[tree.starts] & ends[tree.stops]
    return found
