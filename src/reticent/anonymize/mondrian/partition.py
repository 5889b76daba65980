"""Mondrian's partition, all groups of a generation at once (R-PM-32).

A round proposes one cut for every open group: in the column where the group is widest, between two values near its median. Cuts
whose halves satisfy the definition are made; a group whose cut is refused tries its next column, and is finished when none
is left. Every round is a handful of passes over the rows of open groups, and there are about log2(rows / k) rounds of
cuts, so the whole takes n log n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.data.frequencies import FrequencySet
from reticent.data.groups import Groups, Histograms
from reticent.data.hierarchy import BoundHierarchy
from reticent.data.keys import sort_equal, sum_by
from reticent.definitions.base import All, Definition

Choice = Literal["span", "loss"]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """A proposed cut of every open group: which groups have one, and which units go to the right of it."""

    possible: NDArray[np.bool_]
    right: NDArray[np.bool_]


class Partition:
    """The state of a partition: units (points, or single rows when ties may be divided) and the group of each.

    ``ranks[j]`` is the place of a unit's value in the order in which column ``j`` is cut: by size for numbers, along the hierarchy
    for categories, so that values that belong together stay together longest.
    """

    def __init__(self, units: FrequencySet, definition: Definition, choice: Choice, divide_ties: bool) -> None:
        self.units = units
        self.choice = choice
        self.divide_ties = divide_ties
        self.local, self.together = _by_locality(definition)
        self.least = definition.least_rows()
        self.group: Ids = np.zeros(len(units), dtype=np.int64)
        self.count = 1
        self._leaves = [hierarchy.size for hierarchy in units.hierarchies]
        self._ranks = [
            order_of(hierarchy).take(codes) for hierarchy, codes in zip(units.hierarchies, units.codes, strict=True)
        ]
        self._members = np.arange(len(units))
        self._open: Ids = np.zeros(len(units), dtype=np.int64)
        self._groups = 1
        self._refused = np.zeros((1, len(units.codes)), dtype=bool)
        self._dividing = False

    def run(self) -> Ids:
        """Cut until no group can be cut; the group of every unit.

        Ties are divided only in the end, where nothing else is left to do: it costs information.
        """
        self._finish()
        if self.divide_ties:
            self._dividing = True
            self._reopen()
            self._finish()
        return self.group

    def _finish(self) -> None:
        while len(self._members):
            self._round()

    def _reopen(self) -> None:
        self._members = np.arange(len(self.units))
        self._open = self.group.copy()
        self._groups = self.count
        self._refused = np.zeros((self.count, len(self._leaves)), dtype=bool)

    def _round(self) -> None:
        spans = self._spans(self._open, self._groups)
        spans[self._refused] = -1.0
        rows = sum_by(self._open, self.units.sizes.take(self._members), self._groups)
        worth = (spans.max(axis=1) > 0) & (rows >= 2 * self.least)
        column = self._best_column(spans, rows, worth)
        cut = self._propose(column, rows, worth)
        made = self._accepted(cut)
        refused = self._refused.copy()
        refused[worth & ~made, column[worth & ~made]] = True
        self._apply(cut, made, worth, refused)

    def _spans(self, groups: Ids, count: int) -> NDArray[np.float64]:
        """How much of each column's domain each group covers: distinct values beyond one, by leaves beyond one."""
        spans = np.empty((count, len(self._leaves)))
        for j, leaves in enumerate(self._leaves):
            present = np.zeros(count * leaves, dtype=bool)
            present[groups * leaves + self._ranks[j].take(self._members)] = True
            spans[:, j] = (present.reshape(count, leaves).sum(axis=1) - 1) / max(leaves - 1, 1)
        return spans

    def _best_column(
        self, spans: NDArray[np.float64], rows: NDArray[np.int64], worth: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        if self.choice == "span":
            widest: Ids = np.argmax(spans, axis=1)
            return widest
        losses = np.full(spans.shape, np.inf)
        for j in range(spans.shape[1]):
            cut = self._propose(np.full(len(rows), j), rows, worth & (spans[:, j] > 0))
            children = 2 * self._open + cut.right
            sizes = sum_by(children, self.units.sizes.take(self._members), 2 * len(rows))
            loss = (self._spans(children, 2 * len(rows)).clip(min=0).sum(axis=1) * sizes).reshape(-1, 2).sum(axis=1)
            losses[cut.possible, j] = loss[cut.possible]
        unlikely = np.where(spans > 0, 1e300, np.inf)
        least: Ids = np.argmin(np.where(np.isinf(losses), unlikely, losses), axis=1)
        return least

    def _propose(self, column: NDArray[np.int64], rows: NDArray[np.int64], worth: NDArray[np.bool_]) -> Cut:
        """The place nearest to the median at which each group can be cut in its column, leaving enough rows on both sides."""
        groups, members = self._open, self._members
        ranks = np.zeros(len(members), dtype=np.int64)
        for j in np.unique(column[worth]).tolist():
            here = (column == j).take(groups)
            ranks[here] = self._ranks[j].take(members[here])
        widest = max(self._leaves)
        order, _ = sort_equal(groups * widest + ranks, len(rows) * widest)
        owner, value = groups[order], ranks[order]
        before = np.cumsum(self.units.sizes.take(members[order]))
        starts = np.searchsorted(owner, np.arange(len(rows)))
        before -= np.concatenate([[0], before])[starts][owner]
        total = rows[owner]
        edge = np.zeros(len(members), dtype=bool)
        edge[:-1] = (owner[1:] == owner[:-1]) & ((value[1:] != value[:-1]) | self._dividing)
        edge &= (before >= self.least) & (total - before >= self.least) & worth[owner]
        distance = np.where(edge, np.abs(2 * before - total), np.iinfo(np.int64).max)
        nearest = np.minimum.reduceat(distance, starts)
        possible = nearest < np.iinfo(np.int64).max
        places = np.flatnonzero(edge & (distance == nearest[owner]))
        place = np.full(len(rows), len(members))
        place[owner[places][::-1]] = places[::-1]
        right = np.empty(len(members), dtype=bool)
        right[order] = np.arange(len(members)) > place[owner]
        return Cut(possible, right & possible[groups])

    def _accepted(self, cut: Cut) -> NDArray[np.bool_]:
        """The proposed cuts that leave the definition satisfied."""
        accepted = cut.possible.copy()
        if self.local is not None and accepted.any():
            children = 2 * self._open + cut.right
            groups = self._groups_of(self._members, children, 2 * len(accepted), self.local.needs_sensitive)
            failing = (self.local.failing(groups) & (groups.sizes > 0)).reshape(-1, 2).any(axis=1)
            accepted &= ~failing
        if self.together is not None:
            accepted = self._accepted_together(cut, accepted)
        return accepted

    def _accepted_together(self, cut: Cut, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """For a definition that judges all groups at once: as many of the wanted cuts as hold together, tried by halves."""
        accepted = np.zeros_like(wanted)
        pending = [np.flatnonzero(wanted)]
        while pending:
            batch = pending.pop()
            if not len(batch):
                continue
            trial = accepted.copy()
            trial[batch] = True
            if self._holds_with(cut, trial):
                accepted = trial
            elif len(batch) > 1:
                middle = len(batch) // 2
                pending.extend([batch[middle:], batch[:middle]])
        return accepted

    def _holds_with(self, cut: Cut, made: NDArray[np.bool_]) -> bool:
        assert self.together is not None
        group = self.group.copy()
        moved = cut.right & made[self._open]
        fresh = self.count + np.cumsum(made) - 1
        group[self._members[moved]] = fresh[self._open[moved]]
        every = np.arange(len(self.units))
        groups = self._groups_of(every, group, self.count + int(made.sum()), self.together.needs_sensitive)
        return self.together.holds(groups)

    def _groups_of(self, members: Ids, groups: Ids, count: int, with_values: bool) -> Groups:
        units = self.units
        sizes = sum_by(groups, units.sizes.take(members), count)
        extras = {name: sum_by(groups, values.take(members), count) for name, values in units.extras.items()}
        if not with_values:
            plain = Histograms(np.arange(count + 1), np.zeros(count, dtype=np.int32), sizes)
            return Groups(sizes, plain, units.reference, units.domain, extras)
        target = np.full(len(units), -1, dtype=np.int64)
        target[members] = groups
        cells = units.histograms
        owner = target.take(cells.owners)
        inside = owner >= 0
        histograms = Histograms.from_cells(
            owner[inside], cells.values[inside], cells.counts[inside], count, units.domain.size
        )
        return Groups(sizes, histograms, units.reference, units.domain, extras)

    def _apply(
        self,
        cut: Cut,
        made: NDArray[np.bool_],
        worth: NDArray[np.bool_],
        refused: NDArray[np.bool_],
    ) -> None:
        """Carry the cuts out: right halves become new groups, finished groups leave the stage."""
        fresh = self.count + np.cumsum(made) - 1
        moved = cut.right & made[self._open]
        self.group[self._members[moved]] = fresh[self._open[moved]]
        self.count += int(made.sum())
        children = np.where(worth, np.where(made, 2, 1), 0)
        offsets = np.concatenate([[0], np.cumsum(children)])
        staying = worth[self._open]
        self._open = (offsets[self._open] + moved)[staying]
        self._members = self._members[staying]
        parents = np.repeat(np.arange(len(made)), children)
        self._groups = len(parents)
        self._refused = refused[parents] & ~made[parents, None]


def order_of(hierarchy: BoundHierarchy) -> NDArray[np.int64]:
    """The place of every leaf in the order in which a column is cut."""
    along_tree = [level.parts for level in hierarchy.levels]
    order = np.argsort(hierarchy.numbers(), kind="stable") if hierarchy.is_numeric else np.lexsort(along_tree)
    places = np.empty(hierarchy.size, dtype=np.int64)
    places[order] = np.arange(hierarchy.size)
    return places


def _by_locality(definition: Definition) -> tuple[Definition | None, Definition | None]:
    """The parts that judge groups one by one, and those that judge all together."""

    def those(wanted: Callable[[Definition], bool]) -> Definition | None:
        parts = tuple(part for part in definition.parts() if wanted(part))
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else All(parts)

    return those(lambda part: part.local), those(lambda part: not part.local)
