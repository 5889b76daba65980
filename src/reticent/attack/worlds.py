"""Worlds of a release: every way in which the sensitive values of its groups may belong to its people, people who are alike taken together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb, prod
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attack.published import Published
from reticent.errors import DataError, PolicyError

_POINT = "_point"
_MOST_PAIRS = 1_000_000


@dataclass(frozen=True)
class Worlds:
    """Who has what, in every world: ``counts[w, p, v]`` of the people at point ``p`` have value ``v`` in world ``w``.

    A world stands for ``ways[w]`` assignments of values to single people. ``points`` are the distinct quasi values, ``sizes`` how many
    people have them, ``group_of`` the published group that covers them.
    """

    points: pl.DataFrame
    sizes: NDArray[np.int64]
    group_of: NDArray[np.int64]
    counts: NDArray[np.int64]
    ways: Sequence[int]

    def __len__(self) -> int:
        return len(self.ways)

    @classmethod
    def of(cls, published: Published, people: pl.DataFrame, sensitive: str, limit: int) -> Worlds:
        """All worlds that show what was published about ``people``; refused where they are more than ``limit``, or nobody can be placed."""
        quasi = list(published.quasi)
        points = people.select(quasi).group_by(quasi).len(_POINT).sort(quasi)
        sizes = points[_POINT].to_numpy().astype(np.int64)
        points = points.select(quasi)
        if points.height * len(published.sizes) > _MOST_PAIRS:
            raise _too_many(limit)
        group_of = _groups_of(published, points)
        groups = published.groups.marginal(sensitive)
        shown = np.zeros((len(groups), groups.domain.size), dtype=np.int64)
        shown[groups.histograms.owners, groups.histograms.values] = groups.histograms.counts
        if (np.bincount(group_of, weights=sizes, minlength=len(groups)) != groups.sizes).any():
            raise DataError(
                "The list of people does not fill the published groups: rows were left out, or people are missing."
            )
        members = [np.flatnonzero(group_of == group) for group in range(len(groups))]
        tables = []
        for group, places in enumerate(members):
            tables.append(_tables(sizes[places].tolist(), shown[group].tolist(), limit))
            if prod(len(each) for each in tables) > limit:
                raise _too_many(limit)
        counts, ways = _combined(tables, members, len(points), groups.domain.size)
        return cls(points, sizes, group_of, counts, ways)

    def frames(self, people: pl.DataFrame, sensitive: str, values: pl.Series) -> Iterator[pl.DataFrame]:
        """Every world as a table: the people's quasi values, in order of points, beside the values that they have in it."""
        quasi = self.points.columns
        order = people.select(quasi).sort(quasi)
        for world in self.counts:
            codes = np.repeat(np.tile(np.arange(world.shape[1]), len(world)), world.reshape(-1))
            yield order.with_columns(values.gather(codes).alias(sensitive))


def _groups_of(published: Published, points: pl.DataFrame) -> NDArray[np.int64]:
    """The one group that covers each point."""
    inside = np.ones((points.height, len(published.sizes)), dtype=bool)
    for column in published.columns:
        inside &= column.cover(points[column.name]).matrix()[:, column.codes]
    lowest = np.where(inside, published.group_of, np.iinfo(np.int64).max).min(axis=1)
    highest = np.where(inside, published.group_of, -1).max(axis=1)
    if (highest < 0).any():
        raise DataError("Somebody of the list fits no published group: rows were left out.")
    if (lowest != highest).any():
        raise PolicyError("Published groups overlap, so that it is not known who is in which.")
    found: NDArray[np.int64] = highest
    return found


def _tables(people: Sequence[int], shown: Sequence[int], limit: int) -> list[tuple[NDArray[np.int64], int]]:
    """All tables of points by values with these margins, and how many assignments to single people each stands for."""
    found: list[tuple[list[tuple[int, ...]], tuple[int, ...], int]] = [([], tuple(shown), 1)]
    for size in people:
        grown = []
        for rows, left, ways in found:
            for row in _rows(size, left):
                rest = tuple(a - b for a, b in zip(left, row, strict=True))
                grown.append(([*rows, row], rest, ways * _orders(row)))
                if len(grown) > limit:
                    raise _too_many(limit)
        found = grown
    return [(np.array(rows, dtype=np.int64), ways) for rows, _, ways in found]


def _rows(size: int, left: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The ways to take ``size`` values from what is left."""
    if not left:
        if size == 0:
            yield ()
        return
    for amount in range(max(0, size - sum(left[1:])), min(size, left[0]) + 1):
        for rest in _rows(size - amount, left[1:]):
            yield (amount, *rest)


def _orders(row: Sequence[int]) -> int:
    """How many orders a row of counts has."""
    return prod(comb(sum(row[: place + 1]), amount) for place, amount in enumerate(row))


def _combined(
    tables: Sequence[Sequence[tuple[NDArray[np.int64], int]]], members: Sequence[Any], points: int, values: int
) -> tuple[NDArray[np.int64], list[int]]:
    chosen = list(product(*tables))
    counts = np.zeros((len(chosen), points, values), dtype=np.int64)
    ways = []
    for world, parts in enumerate(chosen):
        for (table, _), places in zip(parts, members, strict=True):
            counts[world, places] = table
        ways.append(prod(way for _, way in parts))
    return counts, ways


def _too_many(limit: int) -> PolicyError:
    return PolicyError(
        f"The release has more than {limit:,} worlds. Whose value is whose can be tried out for small tables only."
    )
