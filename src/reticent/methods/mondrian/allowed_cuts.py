"""Splits that a definition allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reticent.base.packing import sum_by
from reticent.core import FrequencySet, GroupLabels, Groups, Histograms, LabelColumn
from reticent.definitions import GroupDefinition, admitted
from reticent.errors import Infeasible, PolicyError
from reticent.methods.grouping import Cut, Ids, Mask, Stage, together_of


@dataclass(frozen=True)
class CutVerdict:
    """The splits that are made, and for every half whether it passes the ``wavering`` parts of the definition."""

    made: Mask
    passing: Mask


class CutJudge:
    """A definition split into three kinds of parts, each of which limits the splits in its own way.

    ``firm`` parts judge groups one by one and are monotone: both halves must pass, or none of their descendants could.
    ``wavering`` parts may hold for parts of a failing group: they are not monotone, or the whole table fails and rows ``may_suppress``. A
    passing group is split only into halves that pass. A failing group is split further while a part of it could still pass: of both halves, or of one where
    the other may be suppressed. What fails in the end is suppressed.
    ``together`` parts judge all groups at once: splits are made one by one, in the order of the groups, while they hold.
    """

    def __init__(self, units: FrequencySet, definition: GroupDefinition, *, may_suppress: bool = False) -> None:
        """Sort the parts of a definition: ``firm`` (no half may fail), ``wavering`` (halves of a failing group may pass), ``together`` (all groups are judged at once)"""
        self.units, self.definition, self._may_suppress = units, definition, may_suppress
        parts, whole_table = definition.parts(), units.groups().whole()

        def wavers(part: GroupDefinition) -> bool:
            """True if a group that fails the part may be split further, since its halves may pass, or one may be suppressed."""
            suppressible = may_suppress and not part.absorbing_on(units)
            return part.local and (not part.monotone or (suppressible and not part.holds(whole_table)))

        self.firm = _combined(parts, lambda part: part.local and not wavers(part))
        self.wavering = _combined(parts, wavers)
        self.together = tuple(part for part in parts if not part.local)
        for part in self.together:
            if not part.monotone:
                # Definitions that do not judge groups raise their own error.
                part.holds(whole_table)
                raise PolicyError(
                    f"{part} judges all groups together and may fail where finer groups pass; use Lattice."
                )
        self.least = definition.least_rows()
        self._needs_raw = definition.needs_raw
        self._hope = None if self.wavering is None else self.wavering.relaxation()

    @property
    def needed(self) -> GroupDefinition | None:
        """The parts of the definition that the whole table as one group must satisfy for any partition to satisfy them."""
        parts = (*(() if self.firm is None else self.firm.parts()), *self.together)
        return _combined(parts, lambda part: True)

    @cached_property
    def start(self) -> tuple[Ids, int]:
        """The initial group of every unit and the number of groups: one group, unless the most general level of a column has several nodes."""
        capped = [column for column, hierarchy in enumerate(self.units.hierarchies) if hierarchy.capped]
        if not capped:
            return np.zeros(len(self.units), dtype=np.int64), 1
        start_levels = [
            hierarchy.height if hierarchy.capped else level
            for hierarchy, level in zip(self.units.hierarchies, self.units.levels, strict=True)
        ]
        ids, count = self.units.group_ids(start_levels, capped)
        return ids.astype(np.int64), count

    def require_start(self) -> None:
        """Raise :class:`Infeasible` if the initial groups fail parts of the definition that no split can repair."""
        necessary, (ids, count) = self.needed, self.start
        if necessary is None or count == 1:
            return
        if necessary.holds(self._groups(np.arange(len(ids)), ids, count, True)):
            return
        names = ", ".join(repr(hierarchy.column) for hierarchy in self.units.hierarchies if hierarchy.capped)
        raise Infeasible(
            f"max_level separates records that {necessary} needs in one group, in {names}. Raise max_level, weaken the definition, or use Lattice, which can suppress rows "
            "(suppression=)."
        )

    def passing(self, ids: Ids, count: int) -> Mask:
        """A mask of the groups that pass the ``wavering`` parts of the definition, which halves of a failing group may pass."""
        if self.wavering is None:
            return np.ones(count, dtype=bool)
        return ~self.wavering.failing(self._groups(np.arange(len(ids)), ids, count, True))

    def failing(self, members: Ids, ids: Ids, count: int) -> Mask:
        """A mask of the groups (of the units ``members``) that fail the parts that judge groups one by one."""
        parts = [part for part in (self.firm, self.wavering) if part is not None]
        groups = self._groups(members, ids, count, any(part.needs_sensitive for part in parts))
        failing = np.zeros(count, dtype=bool)
        for part in parts:
            failing |= part.failing(groups)
        return failing

    def verdict(self, stage: Stage, cut: Cut, rows: Ids, passing: Mask, groups: Ids) -> CutVerdict:
        """Judge a split of every open group; ``groups`` is the finished group of every unit (-1: still open)."""
        allowed, halves_pass = cut.possible, np.ones(2 * len(stage), dtype=bool)
        if not allowed.any():
            return CutVerdict(allowed, halves_pass)
        halves = self._halves(stage, cut, rows)
        if self.firm is not None:
            allowed = allowed & ~_any_half(self.firm.failing(halves) & (halves.sizes > 0))
        if self.wavering is not None:
            failing = self.wavering.failing(halves) & (halves.sizes > 0)
            hopeless = np.zeros_like(failing) if self._hope is None else self._hope.failing(halves) & (halves.sizes > 0)
            futile = hopeless[0::2] & hopeless[1::2] if self._may_suppress else _any_half(hopeless)
            allowed = allowed & ~np.where(passing, _any_half(failing), futile)
            halves_pass = ~failing
        if self.together:
            allowed = self._admitted(stage, allowed, halves, groups)
        return CutVerdict(allowed, halves_pass)

    def _admitted(self, stage: Stage, candidates: Mask, halves: Groups, groups: Ids) -> Mask:
        """Return a mask of the ``candidates`` (splits of open groups) that can be made, one after the other, while the parts
        hold that judge all groups together. ``halves`` are the halves of all open groups, ``groups`` the finished groups.
        """
        for part in self.together:
            candidates = candidates & ~_any_half(part.hopeless(halves) & (halves.sizes > 0))
        admitted_mask = np.zeros(len(stage), dtype=bool)
        chosen = np.flatnonzero(candidates)
        if not len(chosen):
            return admitted_mask
        finished = int(groups.max(initial=-1)) + 1
        group_of = groups.copy()
        group_of[stage.members] = finished + stage.owners
        current = self._groups(np.arange(len(group_of)), group_of, finished + len(stage), True)
        staying = np.ones(len(current), dtype=bool)
        staying[finished + chosen] = False
        unaffected, split_groups, new_halves = (
            current.select(staying),
            current.select(~staying),
            halves.select(np.repeat(candidates, 2)),
        )
        tallies = [part.exchanges(unaffected, split_groups, new_halves) for part in self.together]
        admitted_mask[chosen] = admitted(tallies, len(chosen))
        return admitted_mask

    def _halves(self, stage: Stage, cut: Cut, rows: Ids) -> Groups:
        """The halves of every group, left before right."""
        needs_values = any(
            part.needs_sensitive for part in (self.firm, self.wavering, *self.together) if part is not None
        )
        if needs_values or self.units.extras or self.units.owners or self._needs_raw:
            return self._groups(stage.members, 2 * stage.owners + cut.right, 2 * len(stage), needs_values)
        sizes = np.stack([np.where(cut.possible, cut.left, rows), np.where(cut.possible, rows - cut.left, 0)], axis=1)
        return Groups(sizes.ravel(), _placeholder_histograms(sizes.ravel()), self.units.reference, self.units.domain)

    def _groups(self, members: Ids, ids: Ids, count: int, needs_values: bool) -> Groups:
        """Return ``count`` groups of the units ``members``, where ``ids`` is the group of each; without histograms of sensitive values unless ``needs_values``."""
        units = self.units
        sizes = sum_by(ids, units.sizes.take(members), count)
        extras = {name: sum_by(ids, values.take(members), count) for name, values in units.extras.items()}
        labels = self._raw_labels(members, ids, count) if self._needs_raw else None
        target = np.full(len(units), -1, dtype=np.int64)
        target[members] = ids
        owners = tuple(owner_sets.merged(target, count) for owner_sets in units.owners)
        if not needs_values:
            return Groups(sizes, _placeholder_histograms(sizes), units.reference, units.domain, extras, labels, owners)
        cells = units.histograms
        owner = target.take(cells.owners)
        is_member = owner >= 0
        histograms = Histograms.from_cells(
            owner[is_member], cells.values[is_member], cells.counts[is_member], count, units.domain.size
        )
        return Groups(sizes, histograms, units.reference, units.domain, extras, labels, owners)

    def _raw_labels(self, members: Ids, ids: Ids, count: int) -> GroupLabels:
        """The raw values of groups that are not recoded yet; every group gets a distinct label."""
        units = self.units

        def read() -> list[LabelColumn]:
            """Return the raw values of every group, column by column."""
            return [
                LabelColumn(
                    hierarchy.column, np.arange(count), (), units.raw_values(column, lambda: ids, count, members)
                )
                for column, hierarchy in enumerate(units.hierarchies)
            ]

        return GroupLabels(read)


def _placeholder_histograms(sizes: Ids) -> Histograms:
    """Placeholder histograms for definitions that do not read them."""
    return Histograms(np.arange(len(sizes) + 1), np.zeros(len(sizes), dtype=np.int32), sizes)


def _any_half(halves: Mask) -> Mask:
    """A mask of the groups of which at least one half is marked."""
    return halves[0::2] | halves[1::2]


def _combined(parts: tuple[GroupDefinition, ...], belongs: Callable[[GroupDefinition], bool]) -> GroupDefinition | None:
    """The wanted parts combined into one definition; None if there are none."""
    return together_of(tuple(part for part in parts if belongs(part)))
