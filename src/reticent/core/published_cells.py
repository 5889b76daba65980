"""What the published groups reveal of a counted table: the input of utility measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import first_rows
from reticent.core.frequencies import FrequencySet
from reticent.core.leaf_sets import LeafSets


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """The assignment of counted points to ``count`` groups (``group_of_point``; -1: suppressed), and what is published in
    each of the quasi ``columns``.

    A block of a column is a group or, if quasi values are published unchanged (``exact``), a published point.
    ``levels`` are those of a full-domain generalization. ``volumes`` is the number of leaf combinations of each group
    if it is not the product of its cells: its region has holes, or there are several.
    """

    group_of_point: NDArray[np.int64]
    count: int
    columns: tuple[LeafSets, ...]
    exact: bool = False
    levels: tuple[int, ...] | None = None
    volumes: NDArray[np.float64] | None = None

    @classmethod
    def of_levels(
        cls,
        counted: FrequencySet,
        levels: Sequence[int],
        suppressed: NDArray[np.bool_] | None = None,
        *,
        exact: bool = False,
    ) -> PublishedCells:
        """Every column at a level, without the groups under ``suppressed``, which are numbered as in
        ``counted.generalize(levels)``.

        With ``exact`` the quasi values are unchanged, and the groups are the buckets.
        """
        ids, count = counted.group_ids(levels)
        is_published = np.ones(count, dtype=bool) if suppressed is None else ~suppressed
        group_of_point = np.where(is_published, np.cumsum(is_published) - 1, -1)[ids]
        published_levels = counted.levels if exact else tuple(levels)
        firsts = np.flatnonzero(group_of_point >= 0) if exact else first_rows(ids, count)[is_published]
        columns = tuple(
            LeafSets.of_level(hierarchy, level, hierarchy.between(start, level)[codes[firsts]])
            for hierarchy, start, level, codes in zip(
                counted.hierarchies, counted.levels, published_levels, counted.codes, strict=True
            )
        )
        return cls(group_of_point, int(is_published.sum()), columns, exact, levels=tuple(levels))

    @classmethod
    def of_buckets(cls, counted: FrequencySet, bucket: NDArray[np.int64], count: int) -> PublishedCells:
        """Unchanged quasi values; each point goes to one of ``count`` buckets."""
        columns = tuple(
            LeafSets.of_level(hierarchy, 0, codes)
            for hierarchy, codes in zip(counted.hierarchies, counted.codes, strict=True)
        )
        return cls(bucket, count, columns, exact=True)
