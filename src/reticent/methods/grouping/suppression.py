"""The choice of suppressed groups, and what the public certificate then discloses about the records in them.

A definition that compares with the whole table (t-closeness, beta-likeness ...) is re-checked with a histogram that the certificate publishes. The
whole table's histogram minus that of the published rows is the histogram of the suppressed records, which must not disclose more about them than the
definition allows. There are two ways, and a method takes the cheaper one:

``published rows``  the groups are compared with the published rows instead, so that nothing is disclosed about suppressed records;
``whole table``     more groups are suppressed, until the suppressed records satisfy the definition as one group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.core import Comparison, Evidence, Groups, Histograms, SensitiveDomain, remainder_of
from reticent.definitions import (
    GroupDefinition,
    about_column,
    all_of,
    columns_compared,
    named_values,
    own_sets,
    tells_about,
)
from reticent.methods.grouping.quasi_sets import Columns, JudgedSet, judged_sets, named_sets
from reticent.table import Hierarchy, Table

Mask = NDArray[np.bool_]
SeenBy = Callable[[Columns, Mask], tuple[NDArray[Any], Groups]]
"""The groups under a mask as observed by an adversary who knows some columns: the merged group of each, and the merged groups."""

_MOST_ADDED = 32
_MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class SuppressedGroups:
    """The suppressed groups (``mask``), and whether the published groups are compared with the whole table or with the published rows."""

    mask: Mask
    compared_with: Comparison = "whole table"


@dataclass(frozen=True)
class PublishedGroups:
    """All groups of a recoding, and the view of the published ones for adversaries who know some of the ``quasi`` columns.

    ``adversaries`` are the sets of columns that the table names, ``sets`` those for which a definition must hold. At most ``allowed`` rows may be suppressed. ``stays`` marks, for each sensitive column, declared values:
    they belong to its domain even if no published row has them.
    """

    definition: GroupDefinition
    groups: Groups
    quasi: tuple[str, ...]
    adversaries: tuple[tuple[str, ...], ...]
    sets: Sequence[JudgedSet]
    seen: SeenBy
    allowed: int
    stays: Mapping[str, Mask]

    @classmethod
    def of(
        cls,
        table: Table,
        definition: GroupDefinition,
        groups: Groups,
        seen: SeenBy,
        allowed: int,
    ) -> PublishedGroups:
        """The groups of a table with declared (or inferred) sensitive values."""
        stays = declared_values(table, definition, groups.domain)
        sets = judged_sets(table, definition)
        return cls(definition, groups, tuple(table.quasi), named_sets(table), sets, seen, allowed, stays)

    def ways(self, mask: Mask) -> Iterator[SuppressedGroups]:
        """Yield the ways to suppress the groups under ``mask``, and possibly more, such that what is disclosed about them satisfies the definition; may be empty."""
        if not self.definition.needs_reference or not self.groups.sizes[mask].any():
            yield SuppressedGroups(mask)
            return
        for suppressed in (self._among_published(mask), self._with_more(mask)):
            if suppressed is not None:
                yield suppressed

    def evidence(self, left_out: SuppressedGroups) -> Evidence:
        """The published groups in the view of each adversary, and the histograms that are disclosed about suppressed records."""
        is_published = ~left_out.mask

        def seen(names: Sequence[str]) -> Groups:
            column_indices = tuple(dict.fromkeys(self.quasi.index(name) for name in names))
            return self._compared(self.seen(column_indices, is_published)[1], left_out)

        finest, sensitive = seen(self.quasi), [column.name for column in self.groups.domain.columns]
        knows_all = self.adversaries == (self.quasi,)
        return Evidence(
            {self.quasi: finest} if knows_all else {names: seen(names) for names in self.adversaries},
            {names: seen(names) for names in own_sets(self.definition)},
            remainder=remainder_of(finest, columns_compared(self.definition, sensitive)),
            compared_with=left_out.compared_with,
            finest=None if knows_all else finest,
        )

    def _compared(self, groups: Groups, left_out: SuppressedGroups) -> Groups:
        return groups.compared_with_published(self.stays) if left_out.compared_with == "published rows" else groups

    def _lost(self, mask: Mask) -> int:
        return int(self.groups.sizes[mask].sum())

    def _too_many(self, mask: Mask) -> bool:
        return self._lost(mask) > self.allowed or not self.groups.sizes[~mask].any()

    def _among_published(self, start: Mask) -> SuppressedGroups | None:
        """Return the suppressed groups if groups are compared with the published rows: failing ones are suppressed, which changes these rows, until no group fails. None if too many rows are lost."""
        mask = start.copy()
        while not self._too_many(mask):
            count_before = int(mask.sum())
            for judged_set in self.sets:
                group_of_class, groups = self.seen(judged_set.places, ~mask)
                compared = groups.compared_with_published(self.stays)
                failing = failing_groups(
                    judged_set.definition, compared, np.zeros(len(groups), dtype=bool), self.allowed
                )
                mask[np.flatnonzero(~mask)[failing[group_of_class]]] = True
                if self._too_many(mask):
                    return None
            if int(mask.sum()) == count_before:
                return SuppressedGroups(mask, "published rows")
        return None

    def _with_more(self, start: Mask) -> SuppressedGroups | None:
        """Return the suppressed groups with further ones, chosen greedily for few rows, so that the suppressed records pass as one group; None if too many rows are lost."""
        compared = columns_compared(self.definition, [column.name for column in self.groups.domain.columns])
        parts = self.definition.parts()
        if self.groups.owners or not all(tells_about(part, self.groups.domain) for part in parts):
            return None
        mask, columns = start.copy(), {name: _SensitiveHistograms.of(self.groups, name) for name in compared}
        required = {name: self._judging(name) for name in compared}
        for _ in range(_MOST_ADDED):
            if self._too_many(mask):
                return None
            if all(column.passing(required[name], column.lost(mask)[None])[0] for name, column in columns.items()):
                return SuppressedGroups(mask) if self._holds(mask) else None
            next_group = self._next(mask, columns, required)
            if next_group is None:
                return None
            mask[next_group] = True
        return None

    def _judging(self, name: str) -> GroupDefinition:
        """The parts of the definition that apply to records of which one column's histogram is disclosed."""
        part_about_column = about_column(self.definition, name)
        assert part_about_column is not None, "The definition compares this column with the whole table."
        return part_about_column

    def _next(
        self, mask: Mask, columns: Mapping[str, _SensitiveHistograms], required: Mapping[str, GroupDefinition]
    ) -> int | None:
        """The group to suppress next: the smallest with which the suppressed records pass, else the one that brings their histogram nearest to the whole table's."""
        rows_left = self.allowed - self._lost(mask)
        candidates = np.flatnonzero(~mask & (self.groups.sizes > 0) & (self.groups.sizes <= rows_left))
        candidates = candidates[np.argsort(self.groups.sizes[candidates], kind="stable")]
        widest = max((len(column.reference) for column in columns.values()), default=1)
        candidates = candidates[: max(_MOST_CELLS // max(widest, 1), 1)]
        if not len(candidates):
            return None
        passing, distance = np.ones(len(candidates), dtype=bool), np.zeros(len(candidates))
        for name, column in columns.items():
            rows = column.lost(mask) + column.dense(candidates)
            passing &= column.passing(required[name], rows)
            distance += column.distance(rows)
        best = int(np.argmax(passing)) if passing.any() else int(np.argmin(distance))
        return int(candidates[best])

    def _holds(self, mask: Mask) -> bool:
        """Whether the published groups still pass: in the view of an adversary who knows few columns, suppression removed rows from them."""
        return all(judged_set.definition.holds(self.seen(judged_set.places, ~mask)[1]) for judged_set in self.sets)


@dataclass(frozen=True)
class _SensitiveHistograms:
    """One sensitive column of the groups, and the whole table's histogram of it."""

    groups: Groups
    domain: SensitiveDomain
    reference: NDArray[np.int64]

    @classmethod
    def of(cls, groups: Groups, name: str) -> _SensitiveHistograms:
        marginal = groups.marginal(name)
        return cls(marginal, marginal.domain, marginal.reference)

    def lost(self, mask: Mask) -> NDArray[np.int64]:
        """The histogram of the groups under a mask."""
        return self.groups.histograms.select(mask).total(len(self.reference))

    def dense(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The histograms of some groups, one per row."""
        cells = self.groups.histograms
        rows = np.zeros((len(chosen), len(self.reference)), dtype=np.int64)
        row_of_group = np.full(len(self.groups), -1)
        row_of_group[chosen] = np.arange(len(chosen))
        is_chosen = row_of_group[cells.owners] >= 0
        rows[row_of_group[cells.owners[is_chosen]], cells.values[is_chosen]] = cells.counts[is_chosen]
        return rows

    def passing(self, definition: GroupDefinition, rows: NDArray[np.int64]) -> Mask:
        """Mask the histograms (one per row) of suppressed records that satisfy the definition as one group."""
        ids, values = np.nonzero(rows)
        cells = Histograms.from_cells(ids, values, rows[ids, values], *rows.shape)
        # Without suppressed rows nothing is disclosed.
        passing: Mask = ~definition.failing(Groups(rows.sum(axis=1), cells, self.reference, self.domain))
        return passing

    def distance(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The distance of histograms from the whole table's; guides the greedy choice only."""
        shares = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
        apart: NDArray[np.float64] = np.abs(shares - self.reference / max(int(self.reference.sum()), 1)).sum(axis=1)
        return apart


def declared_values(table: Table, definition: GroupDefinition, domain: SensitiveDomain) -> dict[str, Mask]:
    """For each sensitive column a mask of the values that are public independently of the rows: declared, or named by the definition."""
    named, public_values = set(named_values(definition)), {}
    for column in domain.columns:
        kind = table.sensitive[column.name]
        tree = column.hierarchy
        known = kind is not None and (not isinstance(kind, Hierarchy) or (tree is not None and not tree.data_dependent))
        public_values[column.name] = np.array([text in named or known for text in column.texts])
        if column.labels.null_count():
            public_values[column.name][column.labels.is_null().to_numpy()] = None in named
    return public_values


def failing_groups(definition: GroupDefinition, groups: Groups, already: Mask, allowed: int) -> Mask:
    """A mask of the groups to suppress so that the rest satisfies the definition; ``already`` are suppressed for other reasons.

    For local definitions these are the failing groups. A definition that judges all groups together names the groups
    to remove first and judges the rest again, until it holds or more than ``allowed`` rows are suppressed.
    """
    one_by_one = together_of(tuple(part for part in definition.parts() if part.local))
    together = together_of(tuple(part for part in definition.parts() if not part.local))
    mask = already if one_by_one is None else already | one_by_one.failing(groups)
    while together is not None and int(groups.sizes[mask].sum()) <= allowed and not mask.all():
        remaining = np.flatnonzero(~mask)
        failing = together.failing(groups.select(~mask))
        if not failing.any():
            break
        mask[remaining[failing]] = True
    return mask


def together_of(parts: tuple[GroupDefinition, ...]) -> GroupDefinition | None:
    """Some parts of a definition as one; None if there are none."""
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else all_of(parts)


def discloses_too_much(definition: GroupDefinition, lost: int) -> str:
    """The message for groups that pass while what is disclosed about suppressed records does not."""
    return (
        f"{lost} rows would have to be suppressed for {definition}, and what the certificate discloses about them would not satisfy it, nor do the published "
        "rows among themselves within the suppression limit. Allow more with suppression=, or none at all."
    )
