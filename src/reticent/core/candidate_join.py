"""Join people with the published cells that match them, column by column, visiting few more pairs than match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import number, pack
from reticent.base.ragged import places_in
from reticent.core.covers import Cover
from reticent.core.shape import Shape, inside

Array = NDArray[np.int64]
_MOST_PAIRS = 1 << 21
_PERSON, _PLACE = "_person", "_place"


@dataclass(frozen=True)
class QueriedPeople:
    """People to look up: the distinct ones, the cover of each column (which label matches which value), and everyone's
    index among the distinct.

    ``values[j][i]`` is the value of distinct person ``i`` in column ``j``, as an index into ``covers[j]`` and
    ``known[j]``; ``times`` is the number of people with equal values.
    """

    known: tuple[pl.Series, ...]
    covers: tuple[Cover, ...]
    values: tuple[Array, ...]
    times: Array
    owners: Array

    @classmethod
    def of(
        cls, people: pl.DataFrame, columns: Sequence[str], cover: Callable[[str, pl.Series], Cover]
    ) -> QueriedPeople:
        """Encode people by their values in some columns; ``cover`` compares the distinct values of a column with its labels."""
        names = list(columns)
        points = people.select(names).with_row_index(_PERSON).group_by(names, maintain_order=True).agg(_PERSON)
        known, covers, value_ids = [], [], []
        for name in names:
            values = points[name].unique(maintain_order=True)
            numbered = pl.DataFrame({name: values, _PLACE: np.arange(len(values))})
            joined = points.select(name).join(numbered, on=name, how="left", nulls_equal=True, maintain_order="left")
            known.append(values)
            covers.append(cover(name, values))
            value_ids.append(joined[_PLACE].to_numpy().astype(np.int64))
        times = points[_PERSON].list.len().to_numpy().astype(np.int64)
        owners = np.empty(people.height, dtype=np.int64)
        owners[points[_PERSON].explode().to_numpy()] = np.repeat(np.arange(points.height), times)
        return cls(tuple(known), tuple(covers), values=tuple(value_ids), times=times, owners=owners)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def is_single(self) -> NDArray[np.bool_]:
        """Mask of people who match at most one label in every column."""
        fits = [cover.is_single[values] for cover, values in zip(self.covers, self.values, strict=True)]
        single: NDArray[np.bool_] = np.all(fits, axis=0)
        return single

    @cached_property
    def points(self) -> pl.DataFrame:
        """The distinct people."""
        return pl.DataFrame(
            [values.gather(value_ids) for values, value_ids in zip(self.known, self.values, strict=True)]
        )

    def fits(self, codes: Sequence[Array], shapes: Sequence[Shape] = ()) -> Iterator[CandidatePairs]:
        """Yield the pairs of people and cells that match (``codes[j]``: a cell's label in column j) and are inside the
        cell's shape, if it has one.
        """
        keeps = inside(shapes, self.points) if shapes else None
        for pairs in self._fitting(codes):
            if keeps is not None:
                is_inside = keeps(pairs.people[pairs.person], pairs.place)
                pairs = replace(pairs, person=pairs.person[is_inside], place=pairs.place[is_inside])
            yield pairs

    def _fitting(self, codes: Sequence[Array]) -> Iterator[CandidatePairs]:
        """Yield the pairs of people and cells that match by labels.

        People who match at most one label in every column have one cell, if all cells differ: a hash join finds it. The
        others (overlapping labels of local recoding, unknown values) are narrowed down column by column.
        """
        _, distinct = number(*pack(codes, [cover.label_count for cover in self.covers], len(codes[0])))
        is_single = self.is_single if distinct == len(codes[0]) else np.zeros(len(self), dtype=bool)
        people, several = np.flatnonzero(is_single), np.flatnonzero(~is_single)
        if len(people):
            labels = [cover.lookup()[values[people]] for cover, values in zip(self.covers, self.values, strict=True)]
            matches = find_place(codes, labels, [cover.label_count for cover in self.covers])
            matched = np.flatnonzero(matches >= 0)
            yield CandidatePairs(people, matched, matches[matched])
        if len(several):
            for pairs in fitting(self.covers, [values[several] for values in self.values], codes):
                yield replace(pairs, people=several[pairs.people])


def find_place(codes: Sequence[Array], labels: Sequence[Array], sizes: Sequence[int]) -> Array:
    """The last cell with a person's labels (``codes[j]`` of cells, ``labels[j]`` of people, ``sizes[j]`` labels); -1 if
    there is none.

    Label -1 matches no cell.
    """
    cells, people = len(codes[0]), len(labels[0])
    joint_codes = [np.concatenate([of_cells, of_people]) + 1 for of_cells, of_people in zip(codes, labels, strict=True)]
    ids, distinct = number(*pack(joint_codes, [size + 1 for size in sizes], cells + people))
    cell_of_id = np.full(distinct, -1, dtype=np.int64)
    cell_of_id[ids[:cells]] = np.arange(cells)
    matches: Array = cell_of_id[ids[cells:]]
    return matches


@dataclass(frozen=True)
class CandidatePairs:
    """Some ``people``, and the matching pairs of ``person`` (an index into them) and ``place`` (a cell)."""

    people: Array
    person: Array
    place: Array


def fitting(
    covers: Sequence[Cover], asked: Sequence[Array], codes: Sequence[Array], most: int = _MOST_PAIRS
) -> Iterator[CandidatePairs]:
    """For distinct people (``asked[j]``: their value in column j), yield the matching cells (``codes[j]``: their label).

    People with a common prefix of values are processed once: the cells that match the prefix are narrowed by each value
    of the next column. At most about ``most`` pairs are held at a time; if there would be more, the people are halved,
    and each half continues from the pairs so far.
    """
    tree = _Tree.of(covers, asked, codes)
    stack = [
        _Reached(0, 0, end=len(tree.order), prefix=np.zeros(tree.places, dtype=np.int64), place=np.arange(tree.places))
    ]
    while stack:
        node = stack.pop()
        if node.depth == len(covers):
            yield CandidatePairs(tree.order[node.start : node.end], node.prefix - node.start, node.place)
            continue
        low, high = tree.children(node)
        if int((high - low).sum()) > most and node.end - node.start > 1:
            stack += tree.halves(node)
        else:
            stack.append(tree.narrowed(node, low, high))


@dataclass(frozen=True)
class _Reached:
    """Pairs of a prefix (values of the first ``depth`` columns) and a matching cell, for the people from ``start`` to ``end``."""

    depth: int
    start: int
    end: int
    prefix: Array
    place: Array


@dataclass(frozen=True)
class _Tree:
    """People in the ``order`` of their values, and for each depth everyone's prefix id and the first person with it."""

    order: Array
    values: tuple[Array, ...]
    codes: tuple[Array, ...]
    fits: tuple[NDArray[np.bool_], ...]
    prefixes: tuple[Array, ...]
    firsts: tuple[Array, ...]
    places: int

    @classmethod
    def of(cls, covers: Sequence[Cover], asked: Sequence[Array], codes: Sequence[Array]) -> _Tree:
        """Return the distinct people sorted by what is known about them, as a prefix tree over the columns.

        ``asked`` are the value ids of the people, ``codes`` the labels of the cells (combinations of labels), and
        ``covers`` tell which labels cover which values. The columns that exclude most cells come first.
        """
        matrices = [cover.matrix() for cover in covers]
        # First the columns that exclude the most cells per doubling of distinct people.
        remaining_share = [
            max(float(matrix[:, cell_labels].mean()), 1e-9) if matrix.size else 1.0
            for matrix, cell_labels in zip(matrices, codes, strict=True)
        ]
        spread = [log(max(cover.value_count, 2)) for cover in covers]
        columns = sorted(range(len(covers)), key=lambda j: log(remaining_share[j]) / spread[j])
        order = np.lexsort([asked[j] for j in reversed(columns)])
        values = tuple(asked[j][order] for j in columns)
        prefixes, firsts = [np.zeros(len(order), dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
        differs = np.zeros(max(len(order) - 1, 0), dtype=bool)
        for column in values:
            differs |= column[1:] != column[:-1]
            prefixes.append(np.concatenate([[0], np.cumsum(differs)])[: len(order)])
            firsts.append(np.concatenate([[0], np.flatnonzero(differs) + 1])[: len(order)])
        return cls(
            order,
            values,
            codes=tuple(codes[j] for j in columns),
            fits=tuple(matrices[j] for j in columns),
            prefixes=tuple(prefixes),
            firsts=tuple(firsts),
            places=len(codes[0]),
        )

    def children(self, reached: _Reached) -> tuple[Array, Array]:
        """Return for every reached pair of a prefix and a cell the range of prefixes that are one column longer, as
        first and end.
        """
        firsts, longer = self.firsts[reached.depth], self.prefixes[reached.depth + 1]
        ends = np.append(firsts[1:], len(self.order))
        low = longer[np.maximum(firsts[reached.prefix], reached.start)]
        high = longer[np.minimum(ends[reached.prefix], reached.end) - 1] + 1
        return low, high

    def narrowed(self, reached: _Reached, low: Array, high: Array) -> _Reached:
        """Return the pairs of a prefix that is one column longer (``low`` to ``high`` per pair) and a cell, if the
        cell's label covers the value of the new column.
        """
        depth, lengths = reached.depth, high - low
        child, cell_index = places_in(low, lengths), np.repeat(reached.place, lengths)
        value = self.values[depth][self.firsts[depth + 1][child]]
        is_match = self.fits[depth][value, self.codes[depth][cell_index]]
        return _Reached(depth + 1, reached.start, end=reached.end, prefix=child[is_match], place=cell_index[is_match])

    def halves(self, reached: _Reached) -> tuple[_Reached, _Reached]:
        """Split the reached pairs (prefix, cell) at the middle of the sorted people: returns the pairs of the second
        half, then those of the first.

        A prefix that people of both halves share is in both.
        """
        middle = (reached.start + reached.end) // 2
        before, after = self.prefixes[reached.depth][[middle - 1, middle]]
        first, second = reached.prefix <= before, reached.prefix >= after
        return (
            _Reached(
                reached.depth, middle, end=reached.end, prefix=reached.prefix[second], place=reached.place[second]
            ),
            _Reached(
                reached.depth, reached.start, end=middle, prefix=reached.prefix[first], place=reached.place[first]
            ),
        )
