"""Admission of new people to the next release, and their classes.

An adversary who holds two releases of a growing table subtracts them: what remains of a class are its new people. So
the new people of a class must satisfy the definition on their own, or they wait. Classes are clusters of the first
release's dendrogram, and later ones are unions of earlier ones.
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
    """The clusters that become the classes of the next release, and in which of them new people enter. ``raised``:
    sensitive values required more new people in a class than counts did.
    """

    clusters: Ids
    enters: NDArray[np.bool_]
    raised: bool = False


@dataclass(frozen=True)
class CohortGuard:
    r"""The admission rule: at least ``least`` new people in a class, who together satisfy the ``definition``.

    Quasi values alone decide who waits, except for one number: if the new people of a class fail, the minimum is raised
    for all classes. ``by_class`` lets every class decide for itself. ``few`` chooses what happens to classes with too
    few new people: these wait, or the classes are ``merge``\\ d until nobody has to.
    """

    definition: GroupDefinition
    least: int
    by_class: bool
    few: Few

    def admit(self, tree: Dendrogram, clusters: Ids, newcomers: Groups) -> Admission:
        """Return the classes of the next release and in which of them new people enter, given the ``clusters`` of the last
        release and the new people of every block.
        """
        minimum, total = self.least, int(newcomers.sizes.sum())
        while minimum <= total:
            candidates = clusters
            if self.few == "merge":
                candidates = tree.standing(partial(self._stands, tree, _made_of(tree, clusters), newcomers, minimum))
            groups = tree.merged(newcomers, candidates)
            enters, failing = groups.sizes >= minimum, self._failing(groups)
            if self.by_class and self.few == "wait":
                enters &= ~failing
            if not (enters & failing).any():
                return Admission(candidates, enters, minimum > self.least)
            if self.by_class:
                break
            minimum = int(groups.sizes[enters & failing].max()) + 1
        return Admission(clusters, np.zeros(len(clusters), dtype=bool))

    def _stands(
        self, tree: Dendrogram, is_union: NDArray[np.bool_], newcomers: Groups, minimum: int, clusters: Ids
    ) -> NDArray[np.bool_]:
        """Mask the clusters that may be classes: unions of ``is_union`` classes, with enough new people or none."""
        groups = tree.merged(newcomers, clusters)
        has_enough = groups.sizes >= minimum
        if self.by_class:
            has_enough &= ~self._failing(groups)
        may_be_class: NDArray[np.bool_] = is_union[clusters] & (has_enough | (groups.sizes == 0))
        return may_be_class

    def _failing(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask the classes whose new people fail; the definition judges each class separately."""
        has_newcomers = groups.sizes > 0
        is_failing = np.zeros(len(groups), dtype=bool)
        if has_newcomers.any():
            is_failing[has_newcomers] = self.definition.failing(groups.select(has_newcomers))
        return is_failing


def clusters_of(tree: Dendrogram, group: Ids) -> Ids:
    """Return the clusters that correspond to the classes of blocks."""
    classes_in_order = group[tree.order]
    starts = np.flatnonzero(np.concatenate([[True], classes_in_order[1:] != classes_in_order[:-1]]))
    stops = np.append(starts[1:], len(classes_in_order))
    codes = tree.starts * (len(classes_in_order) + 1) + tree.stops
    order = np.argsort(codes)
    clusters: Ids = order[np.searchsorted(codes[order], starts * (len(classes_in_order) + 1) + stops)]
    return clusters


def matched_at_once(before: Groups, after: Groups, inside: Ids) -> tuple[int, int | None]:
    """Return the BCF-anonymity of two releases, the classes of the first ``inside`` classes of the second: the fewest rows
    of an earlier class that can all be rows of the later one at the same time, and the fewest rows of a class with new
    people that need not match anyone of the first (None: nobody is new).

    No row of another class can be a counterpart, so both follow from sums over sensitive values of the smaller count.
    Source: [Fung2008].
    """
    size = after.domain.size
    cells, later_cells = before.histograms, after.histograms
    codes = later_cells.owners * size + later_cells.values
    codes_before = inside[cells.owners] * size + cells.values
    position = np.minimum(np.searchsorted(codes, codes_before), len(codes) - 1)
    counts_after = np.where(codes[position] == codes_before, later_cells.counts[position], 0)
    matched = cells.add_cells(np.minimum(cells.counts, counts_after)).astype(np.int64)
    new_counts = after.sizes - np.bincount(inside, weights=matched, minlength=len(after)).astype(np.int64)
    return int(matched.min()), int(new_counts[new_counts > 0].min()) if (new_counts > 0).any() else None


def _made_of(tree: Dendrogram, clusters: Ids) -> NDArray[np.bool_]:
    """Mask the clusters that are unions of ``clusters``."""
    ends = np.zeros(len(tree) + 1, dtype=bool)
    ends[tree.starts[clusters]] = ends[-1] = True
    is_union: NDArray[np.bool_] = ends[tree.starts] & ends[tree.stops]
    return is_union
