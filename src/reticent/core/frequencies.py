"""The frequency set: distinct quasi-identifier combinations (points) with counts of their sensitive values. Every step after the scan starts here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import Codes, first_rows, number, pack, sum_by
from reticent.base.ragged import starts_of
from reticent.core.group_labels import GroupLabels, LabelColumn, RawValues
from reticent.core.groups import Groups, SensitiveDomain
from reticent.core.histograms import Histograms
from reticent.core.owners import Owners, OwnerTallies
from reticent.errors import PolicyError
from reticent.table import BoundHierarchy, SensitiveColumn

NodeLevels = tuple[int, ...]
WEIGHT = "weight"
POPULATION = "population"


@dataclass(frozen=True)
class FrequencySet:
    """Distinct points of the quasi columns at ``levels``, each with its rows and its histogram of sensitive values.

    ``codes[j][p]`` is the code of point ``p`` in column ``j`` (its part of the level). ``histograms`` counts the joint
    sensitive value of the rows of each point; ``extras`` are further counts that add up when points merge (population,
    weight). A point may have a population but no rows. ``owners`` identifies whose rows they are, if a person has
    several.
    """

    hierarchies: tuple[BoundHierarchy, ...]
    levels: NodeLevels
    codes: tuple[Codes, ...]
    sizes: NDArray[np.int64]
    histograms: Histograms
    domain: SensitiveDomain
    extras: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    owners: tuple[Owners, ...] = ()

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def rows(self) -> int:
        """The number of rows counted."""
        return int(self.sizes.sum())

    @cached_property
    def column_sizes(self) -> tuple[NDArray[np.int64], ...]:
        """Return, for every column, the number of rows with each label at the current level."""
        rows = self.sizes.astype(np.float64)
        return tuple(
            sum_by(codes, rows, hierarchy.levels[level].size)
            for hierarchy, level, codes in zip(self.hierarchies, self.levels, self.codes, strict=True)
        )

    @cached_property
    def reference(self) -> NDArray[np.int64]:
        """The whole table's histogram of joint sensitive values."""
        return self.histograms.total(self.domain.size)

    def generalize(self, levels: Sequence[int]) -> FrequencySet:
        """The same rows at coarser levels: points that coincide there are merged."""
        target = tuple(levels)
        ids, groups = self.group_ids(target)
        firsts = first_rows(ids, groups)
        codes = tuple(
            hierarchy.between(low, high).take(column.take(firsts))
            for hierarchy, low, high, column in zip(self.hierarchies, self.levels, target, self.codes, strict=True)
        )
        return FrequencySet(
            self.hierarchies,
            target,
            codes,
            sizes=sum_by(ids, self.sizes, groups),
            histograms=self.histograms.merge(ids, groups),
            domain=self.domain,
            extras={name: sum_by(ids, counts, groups) for name, counts in self.extras.items()},
            owners=tuple(owner.merged(ids, groups) for owner in self.owners),
        )

    def group_ids(self, levels: Sequence[int], columns: Sequence[int] | None = None) -> tuple[NDArray[np.int32], int]:
        """Return the group id of each point (distinct quasi-identifier combination) at hierarchy ``levels``, over some
        ``columns`` only, if given; and the number of groups.
        """
        self._check_coarser(levels)
        chosen = range(len(self.codes)) if columns is None else columns
        codes_at_levels = [self.hierarchies[j].between(self.levels[j], levels[j])[self.codes[j]] for j in chosen]
        label_counts = [self.hierarchies[j].levels[levels[j]].size for j in chosen]
        return number(*pack(codes_at_levels, label_counts, len(self)))

    def weighted(self) -> FrequencySet:
        """The same points with rows counted by weight (in units of the table's weights), without sensitive values."""
        if WEIGHT not in self.extras:
            raise PolicyError("The rows have no weights. Name their column with weight=.")
        extras = {name: extra for name, extra in self.extras.items() if name != WEIGHT}
        return replace(self, sizes=self.extras[WEIGHT], extras=extras).bare()

    def labels(self) -> pl.DataFrame:
        """The points as labels of their levels, one column per quasi column."""
        columns = []
        for hierarchy, level, codes in zip(self.hierarchies, self.levels, self.codes, strict=True):
            columns.append(pl.Series(hierarchy.column, hierarchy.levels[level].labels, dtype=pl.String).gather(codes))
        return pl.DataFrame(columns)

    def bare(self) -> FrequencySet:
        """The same points with all rows under one sensitive value, for callers that only count."""
        filled = self.sizes > 0
        offsets = starts_of(filled)
        histograms = Histograms(offsets, np.zeros(int(offsets[-1]), dtype=np.int32), self.sizes[filled])
        owners = tuple(owner.revalued(np.zeros(self.domain.size, dtype=np.int64)) for owner in self.owners)
        return replace(self, histograms=histograms, domain=SensitiveDomain.none(), owners=owners)

    def groups(self) -> Groups:
        """The points as groups, ready to be judged."""
        everything = np.arange(len(self))
        labels = self.labels_of(self.levels, lambda: self.codes, lambda: everything)
        return Groups(
            self.sizes,
            self.histograms,
            reference=self.reference,
            domain=self.domain,
            extras=self.extras,
            labels=labels,
            owners=self.owners,
        )

    def labels_of(
        self,
        levels: Sequence[int],
        codes: Callable[[], Sequence[Codes]],
        group_of_point: Callable[[], Codes],
    ) -> GroupLabels:
        """Return the labels of groups of points (distinct quasi-identifier combinations) at hierarchy ``levels``, and
        their raw values, computed lazily.

        ``codes`` returns the codes of the groups per column, ``group_of_point`` the group of each point.
        """

        def read() -> list[LabelColumn]:
            """Return the label column of each quasi-identifier."""
            columns = zip(self.hierarchies, levels, codes(), strict=True)
            return [
                LabelColumn(
                    hierarchy.column,
                    group_codes,
                    hierarchy.levels[level].labels,
                    self.raw_values(index, group_of_point, len(group_codes)),
                )
                for index, (hierarchy, level, group_codes) in enumerate(columns)
            ]

        return GroupLabels(read)

    def raw_values(
        self, place: int, group_of_point: Callable[[], Codes], groups: int, points: NDArray[Any] | None = None
    ) -> Callable[[], RawValues] | None:
        """Return a function that counts the raw values of the column with index ``place`` in groups of points, or of
        some ``points``; None if the column is generalized.

        A point is a distinct quasi-identifier combination; ``group_of_point`` returns the group of each.
        """
        if self.levels[place]:
            return None
        hierarchy = self.hierarchies[place]

        def counted() -> RawValues:
            """Return the counts of raw values by group."""
            column = SensitiveColumn(hierarchy.column, hierarchy.leaves, hierarchy.is_numeric, hierarchy)
            codes, sizes = self.codes[place], self.sizes
            if points is not None:
                codes, sizes = codes[points], sizes[points]
            return RawValues.counted(column, group_of_point(), groups, codes, sizes)

        return counted

    def merged(self, ids: NDArray[np.int32], groups: int) -> Groups:
        """Merge points into groups by id."""
        return self.groups().merged(ids, groups)

    def __add__(self, other: FrequencySet) -> FrequencySet:
        """The rows of both: increments, or the partitions of a larger table."""
        return self._combine(other, 1)

    def __sub__(self, other: FrequencySet) -> FrequencySet:
        """These rows without those of ``other``, which must be a subset."""
        return self._combine(other, -1)

    def beside(self, other: FrequencySet) -> FrequencySet:
        """Return the points (distinct quasi-identifier combinations) of both, which must be disjoint and have the same
        levels and domains.
        """
        if not np.array_equal(self.domain.joint, other.domain.joint):
            return self._aligned(other).beside(other._aligned(self))
        return replace(
            self,
            codes=tuple(
                np.concatenate([own_codes, other_codes])
                for own_codes, other_codes in zip(self.codes, other.codes, strict=True)
            ),
            sizes=np.concatenate([self.sizes, other.sizes]),
            histograms=self.histograms.append(other.histograms, 1),
            extras={name: np.concatenate([counts, other.extras[name]]) for name, counts in self.extras.items()},
            owners=self._owners_with(other),
        )

    def _combine(self, other: FrequencySet, sign: int) -> FrequencySet:
        """Add (``sign`` 1) or subtract (-1) the points and counts of another frequency set of the same levels and domains; empty points are dropped."""
        if self.levels != other.levels or self.domain != other.domain:
            raise PolicyError("Frequency sets of different levels or sensitive domains cannot be combined.")
        for own, others in zip(self.hierarchies, other.hierarchies, strict=True):
            if not own.same_parts(others):
                raise PolicyError(
                    f"Frequency sets whose hierarchies of column {own.column!r} differ cannot be combined. Declare its domain, "
                    "so it does not depend on the data."
                )
        if not np.array_equal(self.domain.joint, other.domain.joint):
            return self._aligned(other)._combine(other._aligned(self), sign)
        codes = tuple(np.concatenate([own, others]) for own, others in zip(self.codes, other.codes, strict=True))
        sizes = np.concatenate([self.sizes, sign * other.sizes])
        names = dict.fromkeys((*self.extras, *other.extras))
        joined = FrequencySet(
            self.hierarchies,
            self.levels,
            codes,
            sizes,
            histograms=self.histograms.append(other.histograms, sign),
            domain=self.domain,
            extras={
                name: np.concatenate(
                    [
                        self.extras.get(name, np.zeros_like(self.sizes)),
                        sign * other.extras.get(name, np.zeros_like(other.sizes)),
                    ]
                )
                for name in names
            },
            owners=self._owners_with(other),
        ).generalize(self.levels)
        if (joined.sizes < 0).any() or (joined.histograms.counts < 0).any():
            raise PolicyError("Rows were subtracted that are not in the frequency set.")
        is_used = (joined.sizes > 0) | np.any([counts > 0 for counts in joined.extras.values()], axis=0)
        return joined.select(is_used | np.any([owners.distinct > 0 for owners in joined.owners], axis=0))

    def _owners_with(self, other: FrequencySet) -> tuple[Owners, ...]:
        """Return the tallies of owners (units with several rows) of these points followed by those of ``other``; a side
        without owners counts as having none.
        """
        if not self.owners and not other.owners:
            return ()
        units = [owners.unit for owners in (self.owners or other.owners)]
        own = self.owners or tuple(OwnerTallies.none(unit, len(self)) for unit in units)
        others = other.owners or tuple(OwnerTallies.none(unit, len(other)) for unit in units)
        return tuple(first.append(second) for first, second in zip(own, others, strict=True))

    def _aligned(self, other: FrequencySet) -> FrequencySet:
        """The same counts, with joint sensitive values renumbered over those that occur here or in ``other``."""
        all_joint = np.concatenate([self.domain.joint, other.domain.joint])
        joint, numbers = np.unique(all_joint, axis=0, return_inverse=True)
        cells, values = self.histograms, numbers.reshape(-1)[self.histograms.values]
        histograms = Histograms.from_cells(cells.owners, values, cells.counts, len(self), len(joint))
        owners = tuple(owner.revalued(numbers.reshape(-1)[: self.domain.size]) for owner in self.owners)
        return replace(self, histograms=histograms, domain=SensitiveDomain(self.domain.columns, joint), owners=owners)

    def select(self, mask: NDArray[np.bool_]) -> FrequencySet:
        """Return only the points (distinct quasi-identifier combinations) under ``mask``."""
        return FrequencySet(
            self.hierarchies,
            self.levels,
            codes=tuple(column[mask] for column in self.codes),
            sizes=self.sizes[mask],
            histograms=self.histograms.select(mask),
            domain=self.domain,
            extras={name: counts[mask] for name, counts in self.extras.items()},
            owners=tuple(owner.select(mask) for owner in self.owners),
        )

    def _check_coarser(self, levels: Sequence[int]) -> None:
        """Raise unless every level is at or above the current one, and in its hierarchy."""
        for hierarchy, low, high in zip(self.hierarchies, self.levels, levels, strict=True):
            if not low <= high <= hierarchy.height:
                raise PolicyError(
                    f"Column {hierarchy.column!r} cannot be generalized to level {high}: it is at level {low} and its hierarchy ends at {hierarchy.height}."
                )
