"""Possible worlds of a release: every assignment of the sensitive values of its groups to its people, with equal people merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb, lgamma, log, prod
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import first_rows, number, pack, sum_by
from reticent.core import SEVERAL, AdversaryView
from reticent.errors import DataError, PolicyError
from reticent.table import Table

_POINT = "_point"
_MARGIN = 1e-6  # covers the error of logarithms


@dataclass(frozen=True)
class Placed:
    """The group assignment: the distinct quasi-identifier combinations (``points``), their number of people, and the
    published group that covers them.

    Group -1 means that they were suppressed.
    """

    points: pl.DataFrame
    sizes: NDArray[np.int64]
    group_of: NDArray[np.int64]

    @classmethod
    def of(cls, view: AdversaryView, people: pl.DataFrame) -> Placed:
        """Return the group of every distinct quasi-identifier combination of the people (a point); refused if groups overlap, or these people do not fill them."""
        quasi = list(view.names)
        counted = people.select(quasi).group_by(quasi).len(_POINT).sort(quasi)
        sizes, points = counted[_POINT].to_numpy().astype(np.int64), counted.select(quasi)
        group_of = view.place(points)
        if (group_of == SEVERAL).any():
            raise PolicyError("Published groups overlap, so it is not known who is in which group.")
        is_placed = group_of >= 0
        if (np.bincount(group_of[is_placed], sizes[is_placed], len(view.true_groups)) != view.true_groups.sizes).any():
            raise DataError(
                "The list of people does not fill the published groups: people are missing, or the release was made from other data."
            )
        return cls(points, sizes, group_of)

    @property
    def is_complete(self) -> bool:
        """True if no one was suppressed."""
        return bool((self.group_of >= 0).all())

    def alike(self, numberings: Sequence[NDArray[Any]]) -> tuple[Placed, NDArray[np.int64]]:
        """Return the assignment with points (distinct quasi-identifier combinations) merged if they agree in their
        group and in some numberings, and the merged index of each point.
        """
        keys = [self.group_of + 1, *numberings]
        merged_of_point, count = number(*pack(keys, [int(key.max()) + 1 for key in keys], len(self.sizes)))
        representatives = first_rows(merged_of_point, count)
        merged = Placed(
            self.points[representatives], sum_by(merged_of_point, self.sizes, count), self.group_of[representatives]
        )
        return merged, merged_of_point.astype(np.int64)


@dataclass(frozen=True)
class Part:
    """Points whose values are permuted among themselves only: ``counts[w, i, v]`` of the people at ``points[i]`` have
    value ``v`` in its world ``w``.

    A world of a part represents ``ways[w]`` assignments of values to people (Python integers: they soon exceed 64
    bits).
    """

    points: NDArray[np.int64]
    counts: NDArray[np.int64]
    ways: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.ways)


@dataclass(frozen=True)
class Worlds:
    """The possible worlds. A world is one world of each of the ``parts``, which are independent given the release.

    ``values`` are the combinations of sensitive values, one row each. If ``is_sampled``, these are random samples of
    all worlds.
    """

    placed: Placed
    values: pl.DataFrame
    parts: tuple[Part, ...]
    is_sampled: bool = False

    @property
    def count(self) -> int:
        """The number of assignments of values to people."""
        return prod(int(part.ways.sum()) for part in self.parts)

    @classmethod
    def of(cls, view: AdversaryView, table: Table, placed: Placed, limit: int) -> Worlds:
        """Return all possible worlds of the release: assignments of sensitive values to people that would be published
        like this.

        They are enumerated per part (the people of one group, or one suppressed person) and refused if the parts have
        more than ``limit`` worlds together. A suppressed person may have any value in the domains of the sensitive
        columns of ``table``, whose own values are not used.
        """
        groups, sizes, group_of = view.true_groups, placed.sizes, placed.group_of
        values = _values(view, table, is_complete=placed.is_complete)
        published_counts = np.zeros((len(groups), values.height), dtype=np.int64)
        published_counts[groups.histograms.owners, groups.histograms.values] = groups.histograms.counts
        worlds = cls(placed, values, ())
        parts: list[Part] = []
        enumerated = 0
        # The largest groups first: they have most worlds, so excess is detected early.
        for group in np.argsort(-groups.sizes, kind="stable").tolist():
            parts.append(
                worlds._part(
                    np.flatnonzero(group_of == group), published_counts[group].tolist(), limit - enumerated, limit
                )
            )
            enumerated += len(parts[-1])
        for point in np.flatnonzero(group_of < 0).tolist():
            value_counts = [int(sizes[point])] * values.height
            parts.append(worlds._part(np.array([point]), value_counts, limit - enumerated, limit))
            enumerated += len(parts[-1])
        return replace(worlds, parts=tuple(parts))

    @classmethod
    def sampled(cls, view: AdversaryView, table: Table, placed: Placed, count: int, seed: int = 0) -> Worlds:
        """Return this many uniformly sampled worlds if no one was suppressed: each group's values are permuted among its people."""
        groups, values = view.true_groups, _values(view, table, is_complete=True)
        rng = np.random.default_rng(seed)
        counts = np.zeros((count, len(placed.sizes), values.height), dtype=np.int64)
        for group in range(len(groups)):
            points = np.flatnonzero(placed.group_of == group)
            entries = slice(groups.histograms.offsets[group], groups.histograms.offsets[group + 1])
            values_held = np.repeat(groups.histograms.values[entries], groups.histograms.counts[entries])
            point_of_person = np.repeat(points, placed.sizes[points])
            for counts_of_world in counts:
                np.add.at(counts_of_world, (point_of_person, rng.permutation(values_held)), 1)
        ways = np.array([1] * count, dtype=object)
        return cls(placed, values, (Part(np.arange(len(placed.sizes)), counts, ways),), True)

    def _part(self, points: NDArray[np.int64], available: Sequence[int], limit_left: int, limit: int) -> Part:
        """Return the worlds of some points among which the ``available`` values (people by value) are permuted; refused beyond ``limit_left``.

        A world is a histogram of values for each point. ``ways`` counts the assignments of values to people that lead to it.
        """
        people = self.placed.sizes[points].tolist()
        if sum(available) == sum(people) and _fewest(people, available) > log(max(limit_left, 1)) + _MARGIN:
            raise _too_many(limit)
        assignments: list[tuple[list[tuple[int, ...]], tuple[int, ...], int]] = [([], tuple(available), 1)]
        for size in people:
            extended = []
            for histograms, remaining, ways in assignments:
                for histogram in rows_of(size, remaining):
                    still_available = tuple(a - b for a, b in zip(remaining, histogram, strict=True))
                    extended.append(([*histograms, histogram], still_available, ways * _orders(histogram)))
                    if len(extended) > limit_left:
                        raise _too_many(limit)
            assignments = extended
        counts = np.array([histograms for histograms, _, _ in assignments], dtype=np.int64)
        return Part(points, counts, np.array([ways for _, _, ways in assignments], dtype=object))

    def joined(self, label_of_part: NDArray[np.int64], limit: int) -> Worlds:
        """Return the same worlds with parts of one label merged; refused if they have more than ``limit`` worlds."""
        merged = [
            [part for part, label_of in zip(self.parts, label_of_part, strict=True) if label_of == label]
            for label in np.unique(label_of_part)
        ]
        if sum(prod(len(part) for part in parts) for parts in merged) > limit:
            raise _too_many(limit)
        return replace(self, parts=tuple(_product(parts) for parts in merged))

    def whole(self, limit: int) -> Worlds:
        """Return the same worlds as one part."""
        return self.joined(np.zeros(len(self.parts), dtype=np.int64), limit)

    def frames(self, people: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield every world as a table (for worlds of one part): quasi-identifiers in the order of points, with the values that people have in it."""
        (part,) = self.parts
        quasi = self.placed.points.columns
        sorted_people = people.select(quasi).sort(quasi)
        order_of_points = np.argsort(part.points)
        for counts_of_world in part.counts:
            codes = np.repeat(
                np.tile(np.arange(counts_of_world.shape[1]), len(counts_of_world)),
                counts_of_world[order_of_points].reshape(-1),
            )
            yield sorted_people.hstack(self.values[codes])


def shown_values(view: AdversaryView, table: Table) -> pl.DataFrame:
    """Return the published combinations of sensitive values, in order, with the types of the ``table``."""
    domain = view.true_groups.domain
    kinds = {column.name: column.labels.dtype for column in table.sensitive_columns}
    return pl.DataFrame(
        {
            column.name: column.labels.gather(domain.joint[:, index].astype(np.int64)).cast(kinds[column.name])
            for index, column in enumerate(domain.columns)
        }
    )


def _values(view: AdversaryView, table: Table, *, is_complete: bool) -> pl.DataFrame:
    """Return the combinations of sensitive values, those of the release first; all possible ones if records were suppressed."""
    published = shown_values(view, table)
    if is_complete:
        return published
    possible = pl.DataFrame({})
    for column in table.sensitive_columns:
        column_values = pl.DataFrame({column.name: column.labels})
        possible = possible.join(column_values, how="cross") if possible.width else column_values
    unpublished = possible.select(published.columns).join(published, on=published.columns, how="anti", nulls_equal=True)
    return pl.concat([published, unpublished])


def _fewest(people: Sequence[int], published: Sequence[int]) -> float:
    """Return the logarithm of a lower bound on the number of worlds: assignments to people, divided by the most that one world represents."""
    return lgamma(sum(people) + 1) - sum(lgamma(count + 1) for count in (*people, *published))


def rows_of(size: int, available: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the histograms of ``size`` values taken from ``available`` ones (how many of each value there are)."""
    if not available:
        if size == 0:
            yield ()
        return
    for count in range(max(0, size - sum(available[1:])), min(size, available[0]) + 1):
        for further in rows_of(size - count, available[1:]):
            yield (count, *further)


def _orders(row: Sequence[int]) -> int:
    """Return the number of orders of a row of counts (multinomial coefficient)."""
    return prod(comb(sum(row[: index + 1]), amount) for index, amount in enumerate(row))


def _product(parts: Sequence[Part]) -> Part:
    """Return several parts as one: their product."""
    if len(parts) == 1:
        return parts[0]
    # Mixed radix; numpy's own indices are limited to 64 parts.
    strides = [prod(len(part) for part in parts[index + 1 :]) for index in range(len(parts))]
    world_numbers = np.arange(prod(len(part) for part in parts))
    world_indices = [world_numbers // step % len(part) for part, step in zip(parts, strides, strict=True)]
    ways = prod(
        (part.ways[chosen] for part, chosen in zip(parts, world_indices, strict=True)), start=np.ones(1, dtype=object)
    )
    counts = np.concatenate([part.counts[chosen] for part, chosen in zip(parts, world_indices, strict=True)], axis=1)
    return Part(np.concatenate([part.points for part in parts]), counts, ways)


def _too_many(limit: int) -> PolicyError:
    return PolicyError(
        f"The release has more than {limit:,} possible worlds. Enumerating them is supported for small groups only."
    )
