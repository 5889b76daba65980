"""Worlds of a release: every way in which the sensitive values of its groups may belong to its people, people who are alike taken together."""

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
    """Everybody's place: the distinct quasi values (``points``), how many people have them, and the published group that covers them.

    Group -1 means that they were left out.
    """

    points: pl.DataFrame
    sizes: NDArray[np.int64]
    group_of: NDArray[np.int64]

    @classmethod
    def of(cls, seen: AdversaryView, people: pl.DataFrame) -> Placed:
        """The people's places; refused where groups overlap, or are not filled by these people."""
        quasi = list(seen.names)
        counted = people.select(quasi).group_by(quasi).len(_POINT).sort(quasi)
        sizes, points = counted[_POINT].to_numpy().astype(np.int64), counted.select(quasi)
        group_of = seen.place(points)
        if (group_of == SEVERAL).any():
            raise PolicyError("Published groups overlap, so it is not known who is in which group.")
        placed = group_of >= 0
        if (np.bincount(group_of[placed], sizes[placed], len(seen.true_groups)) != seen.true_groups.sizes).any():
            raise DataError(
                "The list of people does not fill the published groups: people are missing, or the release was made from other data."
            )
        return cls(points, sizes, group_of)

    @property
    def is_complete(self) -> bool:
        """Whether everybody was published."""
        return bool((self.group_of >= 0).all())

    def alike(self, numberings: Sequence[NDArray[Any]]) -> tuple[Placed, NDArray[np.int64]]:
        """The places with points put together that are alike in their group and in some numberings, and where each point went."""
        codes = [self.group_of + 1, *numberings]
        ids, count = number(*pack(codes, [int(each.max()) + 1 for each in codes], len(self.sizes)))
        firsts = first_rows(ids, count)
        merged = Placed(self.points[firsts], sum_by(ids, self.sizes, count), self.group_of[firsts])
        return merged, ids.astype(np.int64)


@dataclass(frozen=True)
class Part:
    """Points whose values are mixed among themselves only: ``counts[w, i, v]`` of the people at ``points[i]`` have value ``v`` in its world ``w``.

    A world of a part stands for ``ways[w]`` assignments of values to single people (Python integers: they soon exceed 64 bits).
    """

    points: NDArray[np.int64]
    counts: NDArray[np.int64]
    ways: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.ways)


@dataclass(frozen=True)
class Worlds:
    """Who may have what. A world is one world of each of the ``parts``, since nothing that was published ties these together.

    ``values`` are the combinations of sensitive values, a row each. Where ``is_sampled``, they are some of all worlds, drawn at random.
    """

    placed: Placed
    values: pl.DataFrame
    parts: tuple[Part, ...]
    is_sampled: bool = False

    @property
    def count(self) -> int:
        """How many assignments of values to single people there are."""
        return prod(int(part.ways.sum()) for part in self.parts)

    @classmethod
    def of(cls, seen: AdversaryView, table: Table, placed: Placed, limit: int) -> Worlds:
        """All worlds that show what was published about people at their places; the sensitive values of ``table`` are not looked at.

        Refused where the parts have more than ``limit`` worlds together. Whoever was left out has any of the values that the sensitive columns of
        ``table`` can take.
        """
        groups, sizes, group_of = seen.true_groups, placed.sizes, placed.group_of
        values = _values(seen, table, is_complete=placed.is_complete)
        shown = np.zeros((len(groups), values.height), dtype=np.int64)
        shown[groups.histograms.owners, groups.histograms.values] = groups.histograms.counts
        found = cls(placed, values, ())
        parts: list[Part] = []
        listed = 0
        # The largest groups first: they have most worlds, and what is refused is refused soon.
        for group in np.argsort(-groups.sizes, kind="stable").tolist():
            parts.append(found._part(np.flatnonzero(group_of == group), shown[group].tolist(), limit - listed, limit))
            listed += len(parts[-1])
        for point in np.flatnonzero(group_of < 0).tolist():
            anything = [int(sizes[point])] * values.height
            parts.append(found._part(np.array([point]), anything, limit - listed, limit))
            listed += len(parts[-1])
        return replace(found, parts=tuple(parts))

    @classmethod
    def sampled(cls, seen: AdversaryView, table: Table, placed: Placed, count: int, seed: int = 0) -> Worlds:
        """So many worlds drawn at random, each equally likely, where everybody was published: every group's values are dealt out anew to its people."""
        groups, values = seen.true_groups, _values(seen, table, is_complete=True)
        rng = np.random.default_rng(seed)
        counts = np.zeros((count, len(placed.sizes), values.height), dtype=np.int64)
        for group in range(len(groups)):
            points = np.flatnonzero(placed.group_of == group)
            cells = slice(groups.histograms.offsets[group], groups.histograms.offsets[group + 1])
            held = np.repeat(groups.histograms.values[cells], groups.histograms.counts[cells])
            owners = np.repeat(points, placed.sizes[points])
            for world in counts:
                np.add.at(world, (owners, rng.permutation(held)), 1)
        ways = np.array([1] * count, dtype=object)
        return cls(placed, values, (Part(np.arange(len(placed.sizes)), counts, ways),), True)

    def _part(self, places: NDArray[np.int64], available: Sequence[int], left: int, limit: int) -> Part:
        """The worlds of some points among which values are mixed, ``left`` at most."""
        people = self.placed.sizes[places].tolist()
        if sum(available) == sum(people) and _fewest(people, available) > log(max(left, 1)) + _MARGIN:
            raise _too_many(limit)
        found: list[tuple[list[tuple[int, ...]], tuple[int, ...], int]] = [([], tuple(available), 1)]
        for size in people:
            grown = []
            for rows, rest, ways in found:
                for row in rows_of(size, rest):
                    fewer = tuple(a - b for a, b in zip(rest, row, strict=True))
                    grown.append(([*rows, row], fewer, ways * _orders(row)))
                    if len(grown) > left:
                        raise _too_many(limit)
            found = grown
        counts = np.array([rows for rows, _, _ in found], dtype=np.int64)
        return Part(places, counts, np.array([ways for _, _, ways in found], dtype=object))

    def joined(self, labels: NDArray[np.int64], limit: int) -> Worlds:
        """The same worlds, with parts of one label put together; refused where they have more than ``limit`` worlds in all."""
        together = [
            [part for part, mine in zip(self.parts, labels, strict=True) if mine == label]
            for label in np.unique(labels)
        ]
        if sum(prod(len(part) for part in parts) for parts in together) > limit:
            raise _too_many(limit)
        return replace(self, parts=tuple(_product(parts) for parts in together))

    def whole(self, limit: int) -> Worlds:
        """The same worlds as one part."""
        return self.joined(np.zeros(len(self.parts), dtype=np.int64), limit)

    def frames(self, people: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Every world as a table (for worlds of one part): quasi values, in order of points, beside the values that people have in it."""
        (part,) = self.parts
        quasi = self.placed.points.columns
        order = people.select(quasi).sort(quasi)
        places = np.argsort(part.points)
        for world in part.counts:
            codes = np.repeat(np.tile(np.arange(world.shape[1]), len(world)), world[places].reshape(-1))
            yield order.hstack(self.values[codes])


def shown_values(seen: AdversaryView, table: Table) -> pl.DataFrame:
    """The combinations of sensitive values that were published, in their order, with the types of the ``table``."""
    domain = seen.true_groups.domain
    kinds = {column.name: column.labels.dtype for column in table.sensitive_columns}
    return pl.DataFrame(
        {
            column.name: column.labels.gather(domain.joint[:, place].astype(np.int64)).cast(kinds[column.name])
            for place, column in enumerate(domain.columns)
        }
    )


def _values(seen: AdversaryView, table: Table, *, is_complete: bool) -> pl.DataFrame:
    """The combinations of sensitive values, those of the release first; all that are possible, where records were suppressed."""
    shown = shown_values(seen, table)
    if is_complete:
        return shown
    possible = pl.DataFrame({})
    for column in table.sensitive_columns:
        listed = pl.DataFrame({column.name: column.labels})
        possible = possible.join(listed, how="cross") if possible.width else listed
    rest = possible.select(shown.columns).join(shown, on=shown.columns, how="anti", nulls_equal=True)
    return pl.concat([shown, rest])


def _fewest(people: Sequence[int], shown: Sequence[int]) -> float:
    """The logarithm of a number that there are no fewer worlds than: assignments to single people, by the most that one world stands for."""
    return lgamma(sum(people) + 1) - sum(lgamma(each + 1) for each in (*people, *shown))


def rows_of(size: int, left: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The ways to take ``size`` values from what is left."""
    if not left:
        if size == 0:
            yield ()
        return
    for amount in range(max(0, size - sum(left[1:])), min(size, left[0]) + 1):
        for rest in rows_of(size - amount, left[1:]):
            yield (amount, *rest)


def _orders(row: Sequence[int]) -> int:
    """How many orders a row of counts has."""
    return prod(comb(sum(row[: place + 1]), amount) for place, amount in enumerate(row))


def _product(parts: Sequence[Part]) -> Part:
    """Several parts as one: a world of it is a world of each."""
    if len(parts) == 1:
        return parts[0]
    # Mixed radix; numpy's own indices end at 64 parts.
    steps = [prod(len(part) for part in parts[place + 1 :]) for place in range(len(parts))]
    number = np.arange(prod(len(part) for part in parts))
    picked = [number // step % len(part) for part, step in zip(parts, steps, strict=True)]
    ways = prod((part.ways[mine] for part, mine in zip(parts, picked, strict=True)), start=np.ones(1, dtype=object))
    counts = np.concatenate([part.counts[mine] for part, mine in zip(parts, picked, strict=True)], axis=1)
    return Part(np.concatenate([part.points for part in parts]), counts, ways)


def _too_many(limit: int) -> PolicyError:
    return PolicyError(
        f"The release has more than {limit:,} worlds. Whose value is whose can be tried out for small groups only."
    )
