"""Owners of rows: distinct people (or households) per group and their rows, counted exactly even when groups merge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import Codes, Distinct, number, sum_by
from reticent.base.ragged import starts_of
from reticent.core.histograms import Histograms
from reticent.errors import PolicyError

Mask = NDArray[np.bool_]


class Owners(ABC):
    """The number of owners (people or households) per group, and the largest number of rows of one owner.

    Neither number is additive when groups merge, so a caller that merges groups must merge their owners: a person with
    rows in several groups is one owner of the merged group.
    """

    unit: str

    @property
    @abstractmethod
    def distinct(self) -> NDArray[np.int64]:
        """The number of different owners per group."""

    @property
    @abstractmethod
    def most_rows(self) -> NDArray[np.int64]:
        """The largest number of rows of one owner in each group; 0 for an empty group."""

    @abstractmethod
    def merged(self, ids: Codes, groups: int) -> Owners:
        """The owners of merged groups: group ``g`` goes into ``ids[g]``; a negative id drops it."""

    @abstractmethod
    def select(self, mask: Mask) -> Owners:
        """The owners of some groups only."""

    @abstractmethod
    def append(self, other: Owners) -> Owners:
        """These groups followed by those of ``other``."""

    @abstractmethod
    def split(self, known: Codes, kinds: int, sizes: NDArray[np.int64]) -> Owners:
        """The owners of groups split by the class ``known`` of joint sensitive values (one of ``kinds``), by group and
        class, without empty ones.

        ``sizes`` are the rows of these.
        """

    def revalued(self, values: Codes) -> Owners:
        """The same owners with joint sensitive value ``v`` replaced by ``values[v]``."""
        return self

    def hidden_among(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The largest ``k`` for which a group of ``sizes`` rows has ``k`` owners, and no owner more than one in ``k`` of its rows."""
        return np.minimum(self.distinct, sizes // np.maximum(self.most_rows, 1))


@dataclass(frozen=True)
class OwnerRows(Owners):
    """The owners of groups, individually.

    ``rows`` counts, for every group, the rows of each *holding*: an owner with a joint sensitive value. Holding ``h``
    is the owner ``owner[h]`` (ascending) with the value ``value[h]``; those of rows in no group are listed too.
    """

    unit: str
    rows: Histograms
    owner: NDArray[np.int32]
    value: NDArray[np.int32]

    @classmethod
    def of_rows(cls, unit: str, group: Codes, groups: int, owner: Codes, value: Codes | None, values: int) -> OwnerRows:
        """Build it from rows with the group, owner (code of the unit, such as a person) and joint sensitive value of
        each.
        """
        keys = owner.astype(np.int64) * values + (0 if value is None else value)
        holding = Distinct(keys, (int(owner.max(initial=-1)) + 1) * values)
        first = keys[holding.firsts]
        rows = Histograms.from_cells(group, holding.ids, None, groups, len(first))
        return cls(unit, rows, (first // values).astype(np.int32), (first % values).astype(np.int32))

    @cached_property
    def by_owner(self) -> Histograms:
        """Return a histogram per group: the number of rows of each owner."""
        cells = self.rows
        owner, group = self.owner.take(cells.values), cells.owners
        starts_run = np.ones(len(owner), dtype=bool)
        starts_run[1:] = (owner[1:] != owner[:-1]) | (group[1:] != group[:-1])
        starts = np.flatnonzero(starts_run)
        counts = np.add.reduceat(cells.counts, starts) if len(starts) else cells.counts
        return Histograms(
            starts_of(np.bincount(group[starts], minlength=len(cells.offsets) - 1)), owner[starts], counts
        )

    @property
    def distinct(self) -> NDArray[np.int64]:
        return self.by_owner.distinct

    @property
    def most_rows(self) -> NDArray[np.int64]:
        return self.by_owner.top

    @cached_property
    def one_value_each(self) -> bool:
        """True if the sensitive value of each owner is constant over all rows of the groups."""
        owner = self.owner[np.unique(self.rows.values)]
        return bool((owner[1:] != owner[:-1]).all())

    def merged(self, ids: Codes, groups: int) -> OwnerRows:
        """Return the owners of merged groups: ``ids`` is the new group of each, negative if it is dropped."""
        target = ids.take(self.rows.owners)
        values, counts = self.rows.values, self.rows.counts
        if len(ids) and int(ids.min()) < 0:
            is_kept = target >= 0
            target, values, counts = target[is_kept], values[is_kept], counts[is_kept]
        return replace(self, rows=Histograms.from_cells(target, values, counts, groups, len(self.owner)))

    def select(self, mask: Mask) -> OwnerRows:
        return replace(self, rows=self.rows.select(mask))

    def append(self, other: Owners) -> OwnerRows:
        if not isinstance(other, OwnerRows) or other.owner is not self.owner:
            raise PolicyError("Groups of different tables in which people have several rows cannot be combined.")
        return replace(self, rows=self.rows.append(other.rows, 1))

    def revalued(self, values: Codes) -> OwnerRows:
        """Return the same people with other codes of their sensitive values: ``values[v]`` is the new code of value ``v``, and equal ones are merged."""
        largest = int(values.max(initial=0)) + 1
        keys = self.owner.astype(np.int64) * largest + values[self.value]
        holding = Distinct(keys, (int(self.owner.max(initial=-1)) + 1) * largest)
        first, cells = keys[holding.firsts], self.rows
        rows = Histograms.from_cells(
            cells.owners, holding.ids[cells.values], cells.counts, len(cells.offsets) - 1, len(first)
        )
        return OwnerRows(self.unit, rows, (first // largest).astype(np.int32), (first % largest).astype(np.int32))

    def split(self, known: Codes, kinds: int, sizes: NDArray[np.int64]) -> OwnerRows:
        """Return the owners of the groups split by known sensitive values; ``known`` is the kind (0 to ``kinds`` - 1)
        of each joint value.
        """
        cells = self.rows
        keys = cells.owners * kinds + known[self.value[cells.values]]
        ids, count = number(keys, (len(cells.offsets) - 1) * kinds)
        return replace(self, rows=Histograms.from_cells(ids, cells.values, cells.counts, count, len(self.owner)))


@dataclass(frozen=True)
class OwnerTallies(Owners):
    """Owners of groups by their number of rows, if no owner has rows in two groups: ``tally`` counts the owners with each
    number of rows.

    For tables larger than memory. Groups that merge have no owner in common, so tallies add up.
    """

    unit: str
    tally: Histograms

    @classmethod
    def none(cls, unit: str, groups: int) -> OwnerTallies:
        """Groups without any counted owners."""
        nobody = Histograms(np.zeros(groups + 1, dtype=np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
        return cls(unit, nobody)

    @cached_property
    def distinct(self) -> NDArray[np.int64]:
        owners: NDArray[np.int64] = self.tally.add_cells(self.tally.counts)
        return owners

    @cached_property
    def most_rows(self) -> NDArray[np.int64]:
        return self.tally.reduce_max(self.tally.values).astype(np.int64)

    def merged(self, ids: Codes, groups: int) -> OwnerTallies:
        if len(ids) and int(ids.min()) < 0:
            return self.select(ids >= 0).merged(ids[ids >= 0], groups)
        return replace(self, tally=self.tally.merge(ids, groups))

    def select(self, mask: Mask) -> OwnerTallies:
        return replace(self, tally=self.tally.select(mask))

    def split(self, known: Codes, kinds: int, sizes: NDArray[np.int64]) -> OwnerTallies:
        """Return conservative bounds after groups were split: the owners of a part's rows were not counted, so they may
        all belong to one owner.
        """
        filled = sizes > 0
        one_each = np.ones(int(filled.sum()), dtype=np.int64)
        return replace(self, tally=Histograms(starts_of(filled), sizes[filled].astype(np.int32), one_each))

    def append(self, other: Owners) -> OwnerTallies:
        if not isinstance(other, OwnerTallies):
            raise PolicyError("Groups of different tables in which people have several rows cannot be combined.")
        return replace(self, tally=self.tally.append(other.tally, 1))


@dataclass(frozen=True)
class FittingOwners(Owners):
    """Owners of groups with overlapping labels: in addition to the rows of each group, at most ``fitting`` rows of one
    owner match its labels.

    An adversary who knows a person's raw rows cannot tell to which of the matching groups a row belongs, so all matches
    count.
    """

    held: Owners
    fitting: NDArray[np.int64]

    @property
    def unit(self) -> str:  # type: ignore[override]
        return self.held.unit

    @property
    def distinct(self) -> NDArray[np.int64]:
        return self.held.distinct

    @property
    def most_rows(self) -> NDArray[np.int64]:
        return np.maximum(self.held.most_rows, self.fitting)

    def merged(self, ids: Codes, groups: int) -> FittingOwners:
        """Upper bound: no more rows match a merged group than match its parts."""
        is_kept = ids >= 0
        return FittingOwners(self.held.merged(ids, groups), sum_by(ids[is_kept], self.fitting[is_kept], groups))

    def select(self, mask: Mask) -> FittingOwners:
        return FittingOwners(self.held.select(mask), self.fitting[mask])

    def append(self, other: Owners) -> FittingOwners:
        if not isinstance(other, FittingOwners):
            raise PolicyError("Groups of different tables in which people have several rows cannot be combined.")
        return FittingOwners(self.held.append(other.held), np.concatenate([self.fitting, other.fitting]))

    def split(self, known: Codes, kinds: int, sizes: NDArray[np.int64]) -> OwnerTallies:
        """Conservative bounds: how many rows match a part is unknown, so they may all be one owner's."""
        return OwnerTallies.none(self.unit, 0).split(known, kinds, sizes)

    def revalued(self, values: Codes) -> FittingOwners:
        return replace(self, held=self.held.revalued(values))
