"""The stage of a partition: the units of all open groups, sorted by group, with operations on all groups at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import Codes, sort_equal, sum_by
from reticent.core import FrequencySet
from reticent.methods.grouping.scales import CellStyle, Ids, Scale

Mask = NDArray[np.bool_]

COMPILED_FROM = 100_000
"""From this many units on, loading the compiled loops takes less time than numpy."""

LARGEST_TABLE = 1 << 26
"""Maximum size of a dense table of groups by values of a column; above it the values are sorted."""

_COMPILED_LEAVES = 4096
"""Maximum number of leaves of a hierarchy for compiled loops, which visit every rank between two values."""

_COMPILED_WORK = 200_000
"""The same threshold if a split along every column is measured in every column: units times squared columns."""

_FARTHEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Cut:
    """A proposed split of every group: the number of rows on the left (0: no split), and which units are on the right."""

    left: Ids
    right: Mask

    @property
    def possible(self) -> Mask:
        """The groups that have a split."""
        return self.left > 0


@dataclass(frozen=True)
class Stage:
    """Units of open groups: group ``g`` has the units ``starts[g]:starts[g + 1]``.

    ``members`` are the unit numbers, ``sizes`` their rows, and ``ranks[j]`` the ranks of their values on ``scales[j]``, the scale of column ``j``. ``compiled``
    selects compiled loops, which return the same results as numpy.
    """

    members: Ids
    sizes: Ids
    ranks: Codes
    scales: tuple[Scale, ...]
    starts: Ids
    compiled: bool = False

    @classmethod
    def of(cls, units: FrequencySet, values: CellStyle, *, measured: bool = False) -> Stage:
        """A stage with all units in one group, for labels of the style ``values``. If the loss of every split is ``measured``, compiled loops are used for smaller tables."""
        scales = tuple(Scale.of(hierarchy, values) for hierarchy in units.hierarchies)
        dtype = np.min_scalar_type(max(scale.size for scale in scales))
        ranks = np.stack(
            [scale.place_of.astype(dtype).take(codes) for scale, codes in zip(scales, units.codes, strict=True)]
        )
        along_trees = any(len(scale.parts) > 0 for scale in scales)
        few_leaves = not along_trees or max(scale.size for scale in scales) <= _COMPILED_LEAVES
        much_work = len(units) * len(scales) ** 2 >= _COMPILED_WORK if measured else len(units) >= COMPILED_FROM
        return cls(
            np.arange(len(units)), units.sizes, ranks, scales, np.array([0, len(units)]), few_leaves and much_work
        )

    def __len__(self) -> int:
        """The number of open groups."""
        return len(self.starts) - 1

    @cached_property
    def leaves(self) -> Ids:
        """The number of leaves of each column."""
        return np.array([scale.size for scale in self.scales], dtype=np.int64)

    @property
    def lengths(self) -> Ids:
        """The number of units of each group."""
        return np.diff(self.starts)

    @cached_property
    def owners(self) -> Ids:
        """The group of every unit."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def widths(self, known: Ids, fresh: Mask) -> Ids:
        """The number of leaves that each group covers in each column: ``known``, recomputed for the ``fresh`` groups."""
        if not self.compiled:
            return self.widths_of(self.owners, len(self))
        from reticent.methods.grouping import _kernels

        extents_found = np.empty((len(self.scales), 4, len(self)), dtype=np.int64)
        _kernels.extents(self.starts, self.ranks, self.leaves, self._nulls, fresh, extents_found)
        widths = known.copy()
        for j, scale in enumerate(self.scales):
            widths[fresh, j] = scale.covered(*extents_found[j][:, fresh])
        return widths

    def half_widths(self, right: Mask) -> Ids:
        """The number of leaves that the halves of each group cover in each column, left half before ``right`` half."""
        if not self.compiled:
            return self.widths_of(2 * self.owners + right, 2 * len(self))
        from reticent.methods.grouping import _kernels

        extents_found = np.empty((len(self.scales), 4, 2 * len(self)), dtype=np.int64)
        _kernels.half_extents(self.starts, self.ranks, self.leaves, self._nulls, right, extents_found)
        # A half without a value has a lowest rank above its highest one.
        extents_found[:, 1][extents_found[:, 2] < 0] = 0
        return np.stack([scale.covered(*extents_found[j]) for j, scale in enumerate(self.scales)], axis=1)

    def losses_left(
        self, rows: Ids, least: int, weights: NDArray[np.float64], *, between_equal: bool = False
    ) -> NDArray[np.float64]:
        """The weighted mean loss per row of each group (row) after splitting it along each column; infinite if there is no split.

        Both halves keep at least ``least`` rows; ``rows`` is the number of rows of each group. With ``between_equal``, units with the same value may be separated.

        Sums run over the columns in order, so that compiled loops return bit-identical results.
        """
        shares = weights / np.maximum(self.leaves - 1, 1)
        losses = np.full((len(self), len(self.scales)), np.inf)
        if self.compiled and not between_equal and not self._along_trees:
            from reticent.methods.grouping import _kernels

            spanned = np.array([scale.spanned for scale in self.scales])
            _kernels.measured_cuts(
                self.starts, self.ranks, self.sizes, rows, least, self.leaves, self._nulls, spanned, shares, losses
            )
            return losses
        for j in range(len(self.scales)):
            cut = self.cut(np.full(len(self), j), rows, least, between_equal=between_equal)
            sizes = sum_by(2 * self.owners + cut.right, self.sizes, 2 * len(self))
            beyond_one, covered = self.half_widths(cut.right) - 1, np.zeros(2 * len(self))
            for widths, share in zip(beyond_one.T, shares.tolist(), strict=True):
                covered += widths * share
            half_losses = covered * sizes
            mean_losses = (half_losses[0::2] + half_losses[1::2]) / rows
            losses[cut.possible, j] = mean_losses[cut.possible]
        return losses

    @cached_property
    def _nulls(self) -> Ids:
        """For every column the rank of a missing value that is covered in addition to a range, else -1."""
        return np.array([scale.apart_null for scale in self.scales], dtype=np.int64)

    def widths_of(self, ids: Ids, count: int) -> Ids:
        """The number of leaves that the units of each id cover in each column; undefined for ids without units."""
        widths = np.empty((count, len(self.scales)), dtype=np.int64)
        for j, scale in enumerate(self.scales):
            occupied = rising(ids * scale.size + self.ranks[j], count * scale.size)
            bounds = np.searchsorted(occupied, scale.size * np.arange(count + 1))
            widths[:, j] = np.diff(bounds)
            if scale.needs_ends:
                ranks = occupied % scale.size
                not_missing = np.flatnonzero(ranks != scale.apart_null)
                begins, ends = np.searchsorted(not_missing, bounds[:-1]), np.searchsorted(not_missing, bounds[1:]) - 1
                has_value, ranks = ends >= begins, np.append(ranks[not_missing], 0)
                low, high = np.where(has_value, ranks[begins], 0), np.where(has_value, ranks[ends], -1)
                widths[:, j] = scale.covered(widths[:, j], low, high, widths[:, j] - (ends - begins + 1))
        return widths

    def cut(self, column: Ids, rows: Ids, least: int, *, between_equal: bool = False) -> Cut:
        """The split of every group along its ``column``, nearest to the median, with at least ``least`` rows on both sides; ``rows`` is the number of rows of each group.

        A split separates two values or, with ``between_equal``, also two units with the same value. Of two equally near splits the first is taken. If
        nodes of a hierarchy are published, splits between nodes of a higher level are preferred.
        """
        if self.compiled and not between_equal:
            from reticent.methods.grouping import _kernels

            left, right = np.zeros(len(self), dtype=np.int64), np.zeros(len(self.members), dtype=bool)
            _kernels.cuts(
                self.starts, self.ranks, self.sizes, column, rows, least, self.leaves, self._barriers, left, right
            )
            return Cut(left, right)
        owners, positions = self.owners, np.arange(len(self.members))
        ranks = self.ranks[column.take(owners), positions]
        widest = int(self.leaves.max())
        order, _ = sort_equal(owners * widest + ranks, len(self) * widest)
        values = ranks.take(order)
        rows_before = np.cumsum(self.sizes.take(order))
        rows_before -= (rows_before - self.sizes.take(order)).take(self.starts[:-1]).take(owners)
        total = rows.take(owners)
        is_edge = np.zeros(len(order), dtype=bool)
        is_edge[:-1] = (owners[1:] == owners[:-1]) & ((values[1:] != values[:-1]) | between_equal)
        is_edge &= (rows_before >= least) & (total - rows_before >= least)
        if not between_equal:
            is_edge &= self._highest(is_edge, column, values)
        distance = np.where(is_edge, np.abs(2 * rows_before - total), _FARTHEST)
        nearest = np.minimum.reduceat(distance, self.starts[:-1])
        nearest_edges = np.flatnonzero(is_edge & (distance == nearest.take(owners)))
        last_left = np.full(len(self), len(order))
        last_left[owners.take(nearest_edges)[::-1]] = nearest_edges[::-1]
        left = np.where(last_left < len(order), rows_before.take(np.minimum(last_left, len(order) - 1)), 0)
        right = np.empty(len(order), dtype=bool)
        right[order] = positions > last_left.take(owners)
        return Cut(left, right)

    def _highest(self, edge: Mask, column: Ids, values: Codes) -> Mask:
        """Mask the candidate splits (``edge``) of each group that are between nodes of the highest hierarchy level that any candidate separates."""
        barrier = np.where(edge, 0, -1)
        for j, scale in enumerate(self.scales):
            if len(scale.parts):
                edges = np.flatnonzero(edge & (column == j).take(self.owners))
                barrier[edges] = scale.apart(values[edges], values[edges + 1])
        highest: Mask = barrier == np.maximum.reduceat(barrier, self.starts[:-1]).take(self.owners)
        return highest

    @property
    def _barriers(self) -> Ids:
        """For every column and rank the number of levels that separate it from the next rank; without columns if there are no levels."""
        barriers = np.zeros((len(self.scales), int(self.leaves.max()) if self._along_trees else 0), dtype=np.int64)
        for j, scale in enumerate(self.scales):
            barriers[j, : len(scale.barriers)] = scale.barriers
        return barriers

    @property
    def _along_trees(self) -> bool:
        return any(len(scale.parts) > 0 for scale in self.scales)

    def halved(self, right: Mask, is_split: Mask) -> Stage:
        """The stage with every group under ``is_split`` split into its left and ``right`` half; other groups are unchanged."""
        order, lefts = self._halves_apart(right & np.repeat(is_split, self.lengths))
        starts = np.stack([self.starts[:-1], self.starts[:-1] + lefts], axis=1)
        is_start = np.stack([np.ones_like(is_split), is_split], axis=1)
        return self.at(order, np.append(starts[is_start], self.starts[-1]))

    def _halves_apart(self, right: Mask) -> tuple[Ids, Ids]:
        """Return the units sorted by group and then by side, left first, and the number on the left of each group."""
        order, lefts = np.empty(len(right), dtype=np.int64), np.empty(len(self), dtype=np.int64)
        if self.compiled:
            from reticent.methods.grouping import _kernels

            _kernels.halves_apart(self.starts, right, order, lefts)
            return order, lefts
        rights = np.concatenate([[0], np.cumsum(right)])
        lefts = self.lengths - (rights[self.starts[1:]] - rights[self.starts[:-1]])
        first_units = self.starts[:-1]
        rights_before = rights[:-1] - rights[first_units].take(self.owners)
        first_of_group = first_units.take(self.owners)
        unit_indexes = np.arange(len(right))
        order[
            np.where(right, first_of_group + lefts.take(self.owners) + rights_before, unit_indexes - rights_before)
        ] = unit_indexes
        return order, lefts

    def only(self, groups: Mask) -> Stage:
        """The stage restricted to some of the groups."""
        if groups.all():
            return self
        starts = np.concatenate([[0], np.cumsum(self.lengths[groups])])
        return self.at(np.flatnonzero(np.repeat(groups, self.lengths)), starts)

    def at(self, places: Ids, starts: Ids) -> Stage:
        """The stage of the units at some indices, with the given start offsets of groups."""
        return Stage(
            self.members.take(places),
            self.sizes.take(places),
            self.ranks.take(places, axis=1),
            self.scales,
            starts,
            self.compiled,
        )

    def rows(self) -> Ids:
        """The number of rows of each group."""
        return sum_by(self.owners, self.sizes, len(self))


def rising(keys: Ids, space: int) -> Ids:
    """The distinct keys below ``space`` in ascending order, by a lookup table if ``space`` is small, else by sorting."""
    if space <= LARGEST_TABLE:
        present = np.zeros(space, dtype=bool)
        present[keys] = True
        return np.flatnonzero(present)
    ordered = np.sort(keys)
    distinct: Ids = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]
    return distinct
