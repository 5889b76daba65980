"""The cells of every set of at most L columns: groups with equal labels there, as an adversary who knows these columns
sees them.

Sets are closed: an adversary who knows columns can compute others from them (:func:`reticent.core.closure`). A set
consists of some of the *sources* (the columns on the left side of a relation, never dropped), all that follows from
them, and other columns. Among the other columns, constant ones are dropped, and only one is kept of those that induce
the same partition: they add no cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import first_rows, number, pack
from reticent.core import FittingOwners, GroupLabels, Groups, Relation, closure

Ids = NDArray[np.int64]
_NOBODY = np.iinfo(np.int64).max


@dataclass(frozen=True)
class SmallestCell:
    """The cell with the fewest people: the count, the known columns, and one of its groups. ``failing`` marks all groups
    in cells that are too small.
    """

    people: int
    columns: tuple[str, ...]
    group: int
    failing: NDArray[np.bool_]


@dataclass(frozen=True)
class LabelCells:
    """The cells of one set of columns: the cell id of every group, and the groups merged to cells."""

    columns: tuple[str, ...]
    ids: Ids
    groups: Groups


@dataclass(frozen=True)
class _Base:
    """The start of an enumeration: some sources with all that follows from them, and how many of the ``others`` may be added."""

    columns: tuple[str, ...]
    others: tuple[int, ...]
    more: int


def _bases(
    names: Sequence[str], known: int, relations: Sequence[Relation], splitting: Sequence[int]
) -> tuple[_Base, ...]:
    """Return the starting points from which all sets of at most ``known`` columns are enumerated: a set of source
    columns with all that follow from it.

    ``relations`` say which columns follow from which; to each start ``splitting`` columns (by index) are added that do
    not follow from it.
    """
    sources = [name for name in names if any(name in relation_sources for relation_sources, _ in relations)]
    plain = [index for index in splitting if names[index] not in sources]
    chosen = chain.from_iterable(combinations(sources, size) for size in range(min(known, len(sources)) + 1))
    bases = []
    for known_sources in chosen:
        closed = closure(known_sources, relations)
        columns = tuple(name for name in names if name in closed)
        others = tuple(index for index in plain if names[index] not in closed)
        bases.append(_Base(columns, others, min(known - len(known_sources), len(others))))
    return tuple(bases)


def count_largest_sets(names: Sequence[str], known: int, relations: Sequence[Relation] = ()) -> int:
    """The number of sets that :func:`largest_sets` yields."""
    return sum(comb(len(base.others), base.more) for base in _bases(names, known, relations, range(len(names))))


def largest_sets(names: Sequence[str], known: int, relations: Sequence[Relation] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the largest sets of columns known to an adversary who learns ``known`` columns and computes those that
    follow; every smaller set is a subset of one.
    """
    for base in _bases(names, known, relations, range(len(names))):
        for added in combinations(base.others, base.more):
            yield (*base.columns, *(names[index] for index in added))


@dataclass(frozen=True)
class ColumnSets:
    """All sets of at most ``known`` columns of some non-empty groups."""

    groups: Groups
    labels: GroupLabels
    known: int
    relations: tuple[Relation, ...] = ()

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.labels.columns)

    @cached_property
    def visits(self) -> int:
        """Upper bound on the labels visited when all maximal sets are enumerated."""
        return sum(comb(len(base.others), base.more) for base in self._bases) * len(self.groups)

    @cached_property
    def fitted_visits(self) -> int:
        """Upper bound on the label comparisons if all sets, smaller ones included, are enumerated."""
        return self.count * len(self.groups) ** 2

    @cached_property
    def count(self) -> int:
        """The number of sets, smaller ones included."""
        return sum(comb(len(base.others), size) for base in self._bases for size in range(base.more + 1))

    def smallest(self, least: int) -> SmallestCell:
        """Return the smallest cell (records with equal labels) over all sets of columns that an adversary may know,
        counted exactly, and a mask of the groups in cells of fewer than ``least`` people.
        """
        from reticent.definitions._kernels import count_cells

        people = self.groups.people.astype(np.int64)
        cell = SmallestCell(_NOBODY, (), 0, np.zeros(len(people), dtype=bool))
        failing = np.zeros(len(people), dtype=bool)
        for base in self._bases:
            ids, count = self.labels.cells(base.columns)
            sizes = np.bincount(ids, weights=people, minlength=count).astype(np.int64)
            failing |= sizes[ids] < least
            first = int(np.argmin(sizes))
            if sizes[first] < cell.people:
                cell = SmallestCell(int(sizes[first]), base.columns, int(np.argmax(ids == first)), failing)
            if not base.more:
                continue
            order = np.empty((base.more, len(ids)), dtype=np.int64)
            order[0] = np.argsort(ids, kind="stable")
            starts = np.searchsorted(ids[order[0]], np.arange(count + 1))
            smallest, columns = np.array([cell.people, _NOBODY, -1]), np.zeros(base.more, dtype=np.int64)
            codes = np.ascontiguousarray(self._codes[list(base.others)])
            count_cells(
                codes,
                self._cards[list(base.others)],
                people,
                starts,
                order,
                base.more,
                least,
                failing,
                smallest,
                columns,
            )
            if smallest[0] < cell.people:
                added = [self.labels.names[base.others[index]] for index in columns[: smallest[1]]]
                cell = SmallestCell(int(smallest[0]), (*base.columns, *added), int(smallest[2]), failing)
        return cell

    def cells(self, names: Sequence[str]) -> LabelCells:
        """The cells of the given columns."""
        ids, count = self.labels.cells(names)
        return self._merged(tuple(names), ids, count)

    def largest(self, passes: Callable[[Groups], bool] | None = None) -> Iterator[LabelCells]:
        """Yield, for every largest set of columns that an adversary may know, the groups of records with equal labels
        there (cells); cells of smaller sets are unions of these.

        Sets for which the finest partition ``passes`` are skipped.
        """
        for base in self._bases:
            yield from self._split(base.columns, *self.labels.cells(base.columns), base.others, base.more, passes)

    def _split(
        self,
        columns: tuple[str, ...],
        ids: Ids,
        count: int,
        others: tuple[int, ...],
        more: int,
        passes: Callable[[Groups], bool] | None,
    ) -> Iterator[LabelCells]:
        """Yield the cells (records with equal labels) of ``columns`` plus any ``more`` of the ``others``; a branch
        whose finest partition ``passes`` is skipped.
        """
        if not more:
            yield self._merged(columns, ids, count)
            return
        if passes is not None and len(others) > more:
            cards = self._cards[list(others)].tolist()
            finest = number(*pack([ids, *self._codes[list(others)]], [count, *cards], len(ids)))
            if passes(self._merged(columns, *finest).groups):
                return
        for index in range(len(others) - more + 1):
            column = others[index]
            finer = number(*pack([ids, self._codes[column]], [count, int(self._cards[column])], len(ids)))
            added = (*columns, self.labels.names[column])
            yield from self._split(added, *finer, others[index + 1 :], more - 1, passes)

    def every(self) -> Iterator[LabelCells]:
        """Yield, for every set of columns that an adversary may know, smaller ones included, the groups of records with
        equal labels there (cells).

        Smaller sets matter if labels overlap: with fewer known columns, more rows of a person are compatible with the
        labels.
        """
        for base in self._bases:
            for size in range(base.more + 1):
                for added in combinations(base.others, size):
                    yield self.cells((*base.columns, *(self.labels.names[index] for index in added)))

    def bounded(self, names: Sequence[str]) -> LabelCells:
        """The cells of some columns, as if all rows of a person were compatible with each. What holds for them also holds for fewer columns."""
        cells = self.cells(names)
        return replace(cells, groups=self._fitted(cells.groups, (), cells.ids))

    def _merged(self, columns: tuple[str, ...], ids: Ids, count: int) -> LabelCells:
        return LabelCells(columns, ids, self._fitted(self.groups.merged(ids, count), columns, ids))

    def _fitted(self, cells: Groups, columns: Sequence[str], ids: Ids) -> Groups:
        """Return the groups of records with equal labels in some columns, with the number of one owner's rows that are
        compatible with these labels.
        """
        if self.labels.fitting is None or not cells.owners:
            return cells
        fitting = self.labels.fitting(columns, first_rows(ids, len(cells)))
        plain_owners = (owners.held if isinstance(owners, FittingOwners) else owners for owners in cells.owners)
        return replace(cells, owners=tuple(map(FittingOwners, plain_owners, fitting)))

    def covering(self, most: int) -> list[tuple[str, ...]]:
        """Return at most ``most`` column sets, as small as possible, such that every set of at most ``known`` columns
        is a subset of one.
        """
        block_count = next(
            block_count
            for block_count in range(self.width, 0, -1)
            if block_count <= self.known or comb(block_count, self.known) <= most
        )
        names = self.labels.names
        if block_count <= self.known:
            return [names]
        blocks = [names[start::block_count] for start in range(block_count)]
        joined = (chain.from_iterable(chosen) for chosen in combinations(blocks, self.known))
        closed = (closure(columns, self.relations) for columns in joined)
        return [tuple(name for name in names if name in columns) for columns in closed]

    @cached_property
    def _codes(self) -> Ids:
        """Category codes of the group labels by column, without gaps."""
        length = len(self.groups)
        numbered = [
            number(*pack([column.codes], [max(len(column.texts), 1)], length))[0] for column in self.labels.columns
        ]
        return np.stack(numbered).astype(np.int64)

    @cached_property
    def _cards(self) -> Ids:
        highest: Ids = self._codes.max(axis=1, initial=0)
        return highest + 1

    @cached_property
    def _bases(self) -> tuple[_Base, ...]:
        return _bases(self.labels.names, self.known, self.relations, self._splitting)

    @cached_property
    def _splitting(self) -> list[int]:
        """The columns that are not constant, one per induced partition. All non-constant columns if labels overlap, since
        compatible rows may differ.
        """
        if self.labels.fitting is not None:
            return np.flatnonzero(self._cards > 1).tolist()
        first_by_partition: dict[bytes, int] = {}
        for index, codes in enumerate(self._codes):
            if self._cards[index] > 1:
                first_by_partition.setdefault(_by_first(codes).tobytes(), index)
        return list(first_by_partition.values())


def _by_first(codes: Ids) -> Ids:
    """Renumber labels by first occurrence, so that equal partitions get equal codes."""
    firsts = np.full(int(codes.max()) + 1, len(codes))
    np.minimum.at(firsts, codes, np.arange(len(codes)))
    ranks: Ids = np.argsort(np.argsort(firsts, kind="stable"), kind="stable")
    return ranks[codes]
