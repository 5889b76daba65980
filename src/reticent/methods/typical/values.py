"""Typical values of groups: the median of numbers and dates on the grid of the published range, the most frequent one of categories.

Guarantee: the published value of a group in a column follows from its label and one rank statistic of its rows: never a
mean, from which an adversary who knows all but one person of a group could compute the last value, and no value of
fewer than three people unless the label lists it already. Adversary: also knows the range of each value. Cost: sorting
the points by group and value, once per column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import Codes
from reticent.base.ragged import starts_of
from reticent.base.randomness import Randomness, uniform_below
from reticent.core import FrequencySet, LeafSets, Levels, RegionColumn, Regions
from reticent.definitions import Definition
from reticent.errors import PolicyError
from reticent.methods.typical.ranges import LabelRanges, at_places, places_of
from reticent.table import BoundHierarchy, FrameRows, LimitedLevels, Meaning, Rows, Table, ValueType

Ids = NDArray[np.int64]

FORMAT = "typical"
"""The format of releases that publish typical values."""

FEWEST = 3
"""A rank statistic of fewer people is the value of one of them, or of the extremes."""

_GROUP = "group"


@dataclass(frozen=True)
class GroupedLeaves:
    """How often each leaf of a column occurs in each of ``count`` groups.

    Entries are sorted by group (entry ``e`` is of group ``owners[e]``), then by ``places``, which is the order of the
    values for numbers and dates; null is last.
    """

    owners: Ids
    places: Ids
    times: Ids
    count: int

    @classmethod
    def of(cls, ranks: Ids, size: int, sizes: Ids, group: Ids, count: int) -> GroupedLeaves:
        """Count the rows of each value in each group: unit ``u`` has ``sizes[u]`` rows with the value of rank ``ranks[u]``, of
        ``size`` possible ranks, in the group ``group[u]`` (-1: none).
        """
        counted_units = np.flatnonzero((group >= 0) & (sizes > 0))
        keys = group[counted_units] * size + ranks[counted_units]
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.concatenate([np.ones(min(len(keys), 1), dtype=bool), keys[1:] != keys[:-1]]))
        counts = np.add.reduceat(sizes[counted_units][order], starts) if len(starts) else np.zeros(0, dtype=np.int64)
        return cls(keys[starts] // size, keys[starts] % size, counts.astype(np.int64), count)

    def sums(self) -> Ids:
        """The number of rows of each group."""
        return np.bincount(self.owners, weights=self.times, minlength=self.count).astype(np.int64)

    def only(self, chosen: NDArray[np.bool_]) -> GroupedLeaves:
        """Select some of the entries."""
        return GroupedLeaves(self.owners[chosen], self.places[chosen], self.times[chosen], self.count)

    def medians(self) -> tuple[Ids, Ids]:
        """Return the positions of the lower and upper median of each group; 0 for a group without entries."""
        sums, cumulated = self.sums(), np.cumsum(self.times)
        doubled = 2 * (cumulated - (np.cumsum(sums) - sums)[self.owners])
        lower, upper = (self._first(np.flatnonzero(doubled >= sums[self.owners] + offset)) for offset in (0, 1))
        return lower, upper

    def modes(self) -> tuple[Ids, Ids]:
        """Return the position of the most frequent value of each group, first of ties, and its count."""
        highest = np.zeros(self.count, dtype=np.int64)
        np.maximum.at(highest, self.owners, self.times)
        return self._first(np.flatnonzero(self.times == highest[self.owners])), highest

    def _first(self, entries: Ids) -> Ids:
        first_positions = np.zeros(self.count, dtype=np.int64)
        first_positions[self.owners[entries][::-1]] = self.places[entries][::-1]
        return first_positions


def typical_values(
    hierarchy: BoundHierarchy,
    codes: Codes,
    sizes: Ids,
    group: Ids,
    meanings: Sequence[Meaning],
    label_of: Ids,
    *,
    listed: bool,
) -> pl.Series:
    """Return one value for each group, in the column's own type, given the leaf, the rows and the group of every unit.

    Group ``g`` has the label ``label_of[g]`` with the meaning ``meanings[label_of[g]]``. For a range, the value is the
    median of the known values on the range's grid (the midpoint of the two for an even number), or the middle of the
    range if fewer than three are known; missing if most are. Otherwise it is the most frequent value; unless labels
    list exactly the values of the group (``listed``), missing if fewer than three rows have it.
    """
    count, kind = len(label_of), ValueType.of(hierarchy.leaves.dtype, hierarchy.column)
    order = hierarchy.leaves.arg_sort(nulls_last=True).to_numpy() if hierarchy.is_numeric else np.arange(hierarchy.size)
    position_of = np.empty(hierarchy.size, dtype=np.int64)
    position_of[order] = np.arange(hierarchy.size)
    leaf_counts = GroupedLeaves.of(position_of[codes], hierarchy.size, sizes, group, count)
    ranges = LabelRanges(kind, meanings)
    ranged = ranges.ranged[label_of]
    modes, mode_counts = leaf_counts.modes()
    values = hierarchy.leaves.gather(order[modes])
    is_rare = np.zeros(count, dtype=bool) if listed else mode_counts < FEWEST
    categorical = pl.select(
        pl.when(pl.Series(is_rare | ranges.bare[label_of])).then(None).otherwise(values)
    ).to_series()
    published = ValueType.published(hierarchy.leaves.dtype).dtype
    if not ranged.any():
        return categorical.cast(published).alias(hierarchy.column)
    null = -1 if hierarchy.null_leaf is None else int(position_of[hierarchy.null_leaf])
    non_null_counts = leaf_counts.only(leaf_counts.places != null)
    grids, rows = ranges.grids(label_of), non_null_counts.sums()
    values_at = places_of(hierarchy.leaves, kind)[order]
    has_few, (lower, upper) = rows < FEWEST, (values_at[indices] for indices in non_null_counts.medians())
    medians = grids.nearest(np.where(has_few, grids.low, lower), np.where(has_few, grids.high, upper))
    numbers = at_places(medians, 2 * rows < leaf_counts.sums(), kind).cast(published)
    value_expression = pl.when(pl.Series(ranged)).then(numbers).otherwise(categorical.cast(published))
    return pl.select(value_expression.alias(hierarchy.column)).to_series()


def drawn_values(
    hierarchy: BoundHierarchy, leaves: LeafSets, meanings: Sequence[Meaning], label_of: Ids, randomness: Randomness
) -> pl.Series:
    """Return one value for each group, sampled uniformly among those that its label covers and, for a range, moved to the range's grid.

    It discloses nothing beyond the label. A median or mode can make a binary outcome separable, so that no regression
    can be fitted; a sampled value does not.
    """
    kind = ValueType.of(hierarchy.leaves.dtype, hierarchy.column)
    published = ValueType.published(hierarchy.leaves.dtype).dtype
    order = np.argsort(leaves.owners, kind="stable")
    starts, owners = leaves.starts[order], leaves.owners[order]
    cumulated, first = starts_of(leaves.stops[order] - starts), np.searchsorted(owners, np.arange(leaves.count))
    chosen = uniform_below(leaves.covered()[label_of].astype(np.uint64), randomness.words()).astype(np.int64)
    target = cumulated[first[label_of]] + chosen
    run = np.searchsorted(cumulated, target, side="right") - 1
    values = hierarchy.leaves.gather(leaves.leaf_at[starts[run] + target - cumulated[run]])
    ranges = LabelRanges(kind, meanings)
    ranged = ranges.ranged[label_of]
    plain = (
        pl.select(pl.when(pl.Series(ranges.bare[label_of])).then(None).otherwise(values)).to_series().cast(published)
    )
    if not ranged.any():
        return plain.alias(hierarchy.column)
    missing = values.is_null().to_numpy()
    numbers = at_places(ranges.grids(label_of).nearest(places_of(values, kind)), missing, kind).cast(published)
    return pl.select(pl.when(pl.Series(ranged)).then(numbers).otherwise(plain).alias(hierarchy.column)).to_series()


def check_values(method: str, values: str) -> None:
    """Refuse values that full-domain recoding does not publish."""
    if values not in ("labels", "typical"):
        raise PolicyError(
            f"{method}: values must be 'labels' or 'typical', but it is {values!r}.", setting=("values",), value=values
        )


def refused(method: str, table: Table, definition: Definition) -> str | None:
    """Return why typical values of a table cannot be published under a definition; otherwise None."""
    wrong = next((part for part in definition.parts() if part.needs_population), None)
    if wrong is not None:
        return (
            f"{method}: values='typical' discloses where in its range the people of a group are, and so who of a population is in the table, which {wrong} protects. "
            "Use another values=."
        )
    for name, hierarchy in table.quasi.items():
        if isinstance(hierarchy, LimitedLevels) and hierarchy.min_level:
            return (
                f"{method}: values='typical' shows single values, but column {name!r} may not be published below level {hierarchy.min_level}. Use another "
                "values=, or remove min_level."
            )
    return None


def refused_sets(method: str, table: Table) -> str | None:
    """Return why typical values of groups by all columns cannot be published if each column set has its own groups; otherwise None."""
    if table.quasi_sets is None:
        return None
    return (
        f"{method}: values='typical' supports a single set of quasi columns. With quasi_sets, the groups of all columns together may be single people, whose "
        "values would be disclosed. Use Mondrian, which splits the sets separately, or another values=."
    )


def group_column(table: Table) -> str:
    """Return a name for the column that numbers groups, unused in the table."""
    number, name = 1, _GROUP
    while name in table.schema:
        number += 1
        name = f"{_GROUP}_{number}"
    return name


def by_labels(labels: Sequence[tuple[pl.Series, Ids]]) -> Ids:
    """Return the groups sorted by their labels (a column's labels, and the index of each group's), so that group numbers disclose nothing more."""
    label_frame = pl.DataFrame(
        [column_labels.gather(of_group).alias(str(index)) for index, (column_labels, of_group) in enumerate(labels)]
    )
    return label_frame.select(pl.arg_sort_by(label_frame.columns)).to_series().to_numpy().astype(np.int64)


def level_regions(table: Table, counted: FrequencySet, recoding: Levels) -> Regions:
    """Return a full-domain generalization as groups of points, each with its labels and typical values."""
    levels, published = recoding.coded_at, recoding.published
    group = recoding.groups_of(
        [
            bound.between(start, level)[codes]
            for bound, start, level, codes in zip(
                counted.hierarchies, counted.levels, levels, counted.codes, strict=True
            )
        ]
    )
    order = by_labels(
        [
            (pl.Series(bound.levels[level].labels), parts.astype(np.int64))
            for bound, level, parts in zip(table.hierarchies, levels, published, strict=True)
        ]
    )
    number_of = np.empty(len(order), dtype=np.int64)
    number_of[order] = np.arange(len(order))
    group_of_point = np.where(group >= 0, number_of[group], -1)
    columns = []
    for bound, level, parts, codes in zip(table.hierarchies, levels, published, counted.codes, strict=True):
        used, of_group = np.unique(parts[order], return_inverse=True)
        labels = pl.Series(bound.column, [bound.levels[level].labels[part] for part in used.tolist()], dtype=pl.String)
        meanings = tuple(bound.levels[level].meanings[part] for part in used.tolist())
        cells = of_group.ravel().astype(np.int64)
        typical = typical_values(bound, codes, counted.sizes, group_of_point, meanings, cells, listed=False)
        columns.append(
            RegionColumn(bound.column, table.quasi[bound.column], bound.leaves, labels, meanings, cells, typical)
        )
    return Regions(tuple(columns), counted.codes, group_of_point, table.carried, numbered=group_column(table))


def with_groups(tables: Mapping[str, Rows], recoding: Regions) -> dict[str, Rows]:
    """Return the tables of a release of typical values: its rows, and the labels of the groups that these refer to."""
    return {**tables, "groups": FrameRows(recoding.group_table())}
