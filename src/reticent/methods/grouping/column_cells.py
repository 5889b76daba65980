"""The label that a local recoding publishes for a group in one column: a set of values, a range, or a node of the hierarchy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import Codes
from reticent.base.ragged import starts_of
from reticent.core import LeafSets, OwnerRows, Owners, PublishedCells, RegionColumn
from reticent.methods.grouping.scales import Ids, ShownStyle, order_of, style_of
from reticent.methods.grouping.short_ends import short_end
from reticent.methods.grouping.stage import rising
from reticent.table import (
    NULL_LABEL,
    OR_MISSING,
    SUPPRESSED,
    Anything,
    BoundHierarchy,
    Hierarchy,
    Interval,
    Meaning,
    OrMissing,
    Values,
    unused,
)

_PAIRS_AT_ONCE = 1 << 22
_WORD_BITS = 62
_LISTED, _MOST_LISTED, _LONGEST = 3, 4, 48
"""Sets with more values, or with a longer label, are abbreviated to their first values; the meaning lists all."""


@dataclass(frozen=True)
class ColumnCells:
    """The distinct cells of a column: a label and a meaning for each, and the index of every group's cell.

    ``leaves`` holds the leaves that each cell covers, ``typical`` a typical value per group if these are published.
    """

    labels: Sequence[str]
    meanings: Sequence[Meaning]
    leaves: LeafSets
    of_group: Ids
    typical: pl.Series | None = None

    def of_groups(self, groups: Ids) -> ColumnCells:
        """The same cells, restricted to some of the groups."""
        typical = None if self.typical is None else self.typical.gather(groups)
        return replace(self, of_group=self.of_group[groups], typical=typical)

    def as_column(self, bound: BoundHierarchy, hierarchy: Hierarchy) -> RegionColumn:
        """The column of a recoding, with the cells that at least one group has."""
        is_shown = np.zeros(len(self.labels), dtype=bool)
        is_shown[self.of_group] = True
        cell_indexes = np.flatnonzero(is_shown).tolist()
        label_series = pl.Series(bound.column, [self.labels[index] for index in cell_indexes], dtype=pl.String)
        meanings = tuple(self.meanings[index] for index in cell_indexes)
        of_group = (np.cumsum(is_shown) - 1)[self.of_group]
        return RegionColumn(bound.column, hierarchy, bound.leaves, label_series, meanings, of_group, self.typical)

    def covering(self, size: int) -> NDArray[np.bool_]:
        """A mask of the first ``size`` leaves (rows) by groups (columns): whether the group's cell covers the leaf."""
        return self.leaves.matrix()[:size, self.of_group]

    def leaf_sets(self) -> LeafSets:
        """The leaves of the cells and the cell of every group, as utility measures take them."""
        return replace(self.leaves, of_block=self.of_group)


def cells_of(group: Ids, columns: Sequence[ColumnCells]) -> PublishedCells:
    """The published cells of units, given the group of each (-1: suppressed) and the cells of the groups in every column."""
    return PublishedCells(group, len(columns[0].of_group), tuple(cells.leaf_sets() for cells in columns))


def column_cells(hierarchy: BoundHierarchy, codes: Codes, group: Ids, count: int, values: ShownStyle) -> ColumnCells:
    """The cells of one column, given the leaf and the group of every unit.

    ``sets`` publishes exactly the values that occur in the group. ``ranges`` does so for categories, in short labels, and publishes the lowest and the
    highest value of numbers and dates; numbers with many digits are rounded outward. ``hierarchy`` publishes the lowest node that covers the group, and so does a hierarchy with limits. ``stars`` publishes
    the value of the group, or a star if it has several.
    """
    values = style_of(hierarchy, values)
    if values == "stars":
        return _values_or_stars(hierarchy, codes, group, count)
    if values == "hierarchy":
        return _nodes(hierarchy, codes, group, count)
    column = CutOrder.of(hierarchy)
    members, offsets, of_group = _value_sets(column.place_of.take(codes), hierarchy.size, group, count)
    if values == "sets":
        return column.sets(members, offsets, of_group)
    if not hierarchy.is_numeric:
        return column.shortened(column.sets(members, offsets, of_group))
    return column.ranges(members, offsets, of_group)


def _value_sets(ranks: Ids, size: int, group: Ids, count: int) -> tuple[Ids, Ids, Ids]:
    """The distinct sets of values as segments (ascending values, concatenated; start offsets), and the index of every group's set."""
    keys = rising(group * size + ranks, count * size)
    bounds = np.searchsorted(keys, size * np.arange(count + 1))
    if size <= _WORD_BITS:
        return _word_sets(keys % size, bounds, size)
    members = (keys % size).astype(np.min_scalar_type(size))
    raw, ends = members.tobytes(), (bounds * members.itemsize).tolist()
    numbers: dict[bytes, int] = {}
    of_group = [numbers.setdefault(raw[low:high], len(numbers)) for low, high in pairwise(ends)]
    sets = np.frombuffer(b"".join(numbers), dtype=members.dtype)
    lengths = np.fromiter(map(len, numbers), dtype=np.int64, count=len(numbers)) // members.itemsize
    return sets.astype(np.int64), starts_of(lengths), np.array(of_group, dtype=np.int64)


def _word_sets(members: Ids, bounds: Ids, size: int) -> tuple[Ids, Ids, Ids]:
    """Return the distinct sets of values as segments (values, start offsets) and the index of every group's set, for at most 62 possible values (``size``).

    ``members`` are the values of all groups, those of group ``g`` from ``bounds[g]`` to ``bounds[g + 1]``. A set is one word with a bit per value; sets are numbered in the order of the groups that have them first.
    """
    # Members of a group are distinct, so their bits add up to the word, and sums that overflow still differ by it.
    sums = np.concatenate([[0], np.cumsum(np.int64(1) << members)])
    words, firsts, of_group = np.unique(np.diff(sums[bounds]), return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    in_sets = (words[order, None] >> np.arange(size)) & 1
    return np.nonzero(in_sets)[1], starts_of(in_sets.sum(axis=1)), np.argsort(order)[of_group.ravel()]


@dataclass(frozen=True)
class CutOrder:
    """A column's leaves in split order: for each rank the leaf, its text, value and meaning; and the rank of each leaf (``place``)."""

    hierarchy: BoundHierarchy
    place_of: Ids
    leaf_at: Ids
    texts: Sequence[str]
    values: tuple[Any, ...]
    meanings: Sequence[Meaning]
    null_place: int

    @classmethod
    def of(cls, hierarchy: BoundHierarchy) -> CutOrder:
        """The leaves of a hierarchy."""
        order, level, null = order_of(hierarchy, along_tree=not hierarchy.is_numeric), hierarchy.levels[0], -1
        leaf_at = np.argsort(order)
        texts, values = list(level.labels), hierarchy.leaves.to_list()
        if hierarchy.null_leaf is not None:
            texts[hierarchy.null_leaf], null = NULL_LABEL, int(order[hierarchy.null_leaf])
        leaves = leaf_at.tolist()
        return cls(
            hierarchy,
            order,
            leaf_at,
            [texts[leaf] for leaf in leaves],
            tuple(values[leaf] for leaf in leaves),
            [level.meanings[leaf] for leaf in leaves],
            null,
        )

    @cached_property
    def named(self) -> dict[tuple[int, int], str]:
        """Labels of the nodes of a categorical hierarchy by their half-open range of ranks; if nodes of several levels coincide, the label of the lowest."""
        labels_of_ranges: dict[tuple[int, int], str] = {}
        for level_index in range(1, self.hierarchy.height + 1):
            level = self.hierarchy.levels[level_index]
            # The leaves of a node have consecutive ranks.
            first = np.full(level.size, len(self.leaf_at))
            np.minimum.at(first, level.parts, self.place_of)
            runs = zip(first.tolist(), (first + self.hierarchy.cover(level_index)).tolist(), strict=True)
            for label, meaning, run in zip(level.labels, level.meanings, runs, strict=True):
                if isinstance(meaning, Values):
                    labels_of_ranges.setdefault(run, label)
        return labels_of_ranges

    def runs(self, starts: Ids, stops: Ids) -> tuple[list[str], list[Meaning], Ids]:
        """For half-open ranges of category ranks, the distinct labels with their meanings and the index of each range's label; the same labels as those of :func:`column_cells` with ``ranges``."""
        numbers: dict[tuple[int, int], int] = {}
        of_run = [numbers.setdefault(run, len(numbers)) for run in zip(starts.tolist(), stops.tolist(), strict=True)]
        labels: list[str] = []
        meanings: list[Meaning] = []
        use_counts = Counter[str]()
        for low, high in numbers:
            length = high - low
            if length == 1:
                text, meaning = self.texts[low], self.meanings[low]
            elif length == len(self.leaf_at):
                text, meaning = SUPPRESSED, Anything()
            else:
                text, meaning = "", Values(self.values[low:high])
                if length <= _MOST_LISTED:
                    text = f"{{{', '.join(self.texts[low:high])}}}"
                if not text or len(text) > _LONGEST:
                    text = _numbered(self._short(low, high, range(low, high)), use_counts)
            labels.append(text)
            meanings.append(meaning)
        return _distinct(labels), meanings, np.array(of_run, dtype=np.int64)

    def _short(self, low: int, high: int, ranks: Sequence[int]) -> str:
        """A short label for a set of ranks within ``low:high``: the name of the hierarchy node with exactly these values, or the first values and the number of the others."""
        if high - low == len(ranks) and (low, high) in self.named:
            return self.named[low, high]
        first_texts = [self.texts[rank] for rank in ranks[:_LISTED]]
        while len(first_texts) > 1 and len(", ".join(first_texts)) > _LONGEST - len(" and 1000 more"):
            first_texts.pop()
        return f"{{{', '.join(first_texts)} and {len(ranks) - len(first_texts)} more}}"

    def shortened(self, cells: ColumnCells) -> ColumnCells:
        """The cells with short labels for long sets: the name of the hierarchy node with exactly these values, or the first values and the number of the others.

        Meanings are unchanged: they list every value of the set.
        """
        lengths = cells.leaves.covered()
        labels, use_counts = list(cells.labels), Counter[str]()
        starts, ranks = starts_of(lengths).tolist(), cells.leaves.starts.tolist()
        # Every segment of a set is a single rank here, in split order.
        for cell in np.flatnonzero(lengths > 1).tolist():
            set_ranks = ranks[starts[cell] : starts[cell + 1]]
            is_long = len(set_ranks) > _MOST_LISTED or len(labels[cell]) > _LONGEST
            if is_long and isinstance(cells.meanings[cell], Values):
                labels[cell] = _numbered(self._short(set_ranks[0], set_ranks[-1] + 1, set_ranks), use_counts)
        return replace(cells, labels=_distinct(labels))

    def sets(self, places: Ids, offsets: Ids, of_group: Ids) -> ColumnCells:
        """Cells labelled with the exact set of values: set ``s`` has the ranks ``places[offsets[s]:offsets[s + 1]]``, and group ``g`` the set ``of_group[g]``."""
        lengths = np.diff(offsets)
        owners = np.repeat(np.arange(len(lengths)), lengths)
        listed = pl.DataFrame({"cell": owners, "text": pl.Series(self.texts, dtype=pl.String).gather(places)})
        joined = listed.group_by("cell", maintain_order=True).agg(pl.col("text").str.join(", "))["text"].to_list()
        labels = [text if length == 1 else f"{{{text}}}" for text, length in zip(joined, lengths.tolist(), strict=True)]
        members = places.tolist()
        values = tuple(map(self.values.__getitem__, members))
        meanings: list[Meaning] = [Values(values[low:high]) for low, high in pairwise(offsets.tolist())]
        for cell in np.flatnonzero(lengths == 1).tolist():
            meanings[cell] = self.meanings[members[offsets[cell]]]
        for cell in np.flatnonzero((lengths == len(self.leaf_at)) & (lengths > 1)).tolist():
            labels[cell], meanings[cell] = SUPPRESSED, Anything()
        return ColumnCells(_distinct(labels), meanings, self._runs(places, places + 1, owners, len(lengths)), of_group)

    def _runs(self, starts: Ids, stops: Ids, owners: Ids, count: int) -> LeafSets:
        """Sets of leaves as ranges of ranks; ``owners`` is the cell of each range."""
        return LeafSets(self.leaf_at, starts, stops, owners, count, np.arange(count))

    def ranges(self, places: Ids, offsets: Ids, of_group: Ids) -> ColumnCells:
        """Cells labelled with the range from the lowest to the highest value, plus the missing value if it occurs; a single value (with or without a missing one) remains a set.

        Set ``s`` has the ranks ``places[offsets[s]:offsets[s + 1]]``, and group ``g`` the set ``of_group[g]``.
        """
        not_missing = np.flatnonzero(places != self.null_place)
        first, last = np.searchsorted(not_missing, offsets[:-1]), np.searchsorted(not_missing, offsets[1:]) - 1
        is_single = last <= first
        lowest, highest = places[not_missing[first[~is_single]]], places[not_missing[last[~is_single]]]
        lengths = np.diff(offsets)
        missing = (lengths - (last - first + 1))[~is_single]
        ends, spans = np.unique(np.stack([lowest, highest, missing], axis=1), axis=0, return_inverse=True)
        sets = self.sets(places[np.repeat(is_single, lengths)], starts_of(lengths[is_single]), of_group)
        labels, meanings = [], []
        for start, stop, has_missing in ends.tolist():
            (low, low_text), (high, high_text) = self._end(start, upper=False), self._end(stop, upper=True)
            between = Interval(low, high, "both")
            labels.append(f"[{low_text}, {high_text}]{OR_MISSING if has_missing else ''}")
            meanings.append(OrMissing(between) if has_missing else between)
        cell_of_set = np.empty(len(lengths), dtype=np.int64)
        cell_of_set[is_single] = np.arange(len(sets.labels))
        cell_of_set[~is_single] = len(sets.labels) + spans.ravel()

        single_sets, range_cells = sets.leaves, len(sets.labels) + np.arange(len(ends))
        nulls = range_cells[ends[:, 2] > 0]
        leaves = self._runs(
            np.concatenate([single_sets.starts, ends[:, 0], np.full(len(nulls), self.null_place)]),
            np.concatenate([single_sets.stops, ends[:, 1] + 1, np.full(len(nulls), self.null_place + 1)]),
            np.concatenate([single_sets.owners, range_cells, nulls]),
            len(sets.labels) + len(ends),
        )
        return ColumnCells(
            _distinct([*sets.labels, *labels]), [*sets.meanings, *meanings], leaves, cell_of_set[of_group]
        )

    def _end(self, rank: int, *, upper: bool) -> tuple[Any, str]:
        """The end of a range at a rank, rounded outward where possible, and its text."""
        short = short_end(self.values, rank, upper=upper)
        return (self.values[rank], self.texts[rank]) if short is None else (short, repr(short))


def _nodes(hierarchy: BoundHierarchy, codes: Codes, group: Ids, count: int) -> ColumnCells:
    """Cells labelled with the lowest hierarchy node that covers all values of a group, or with the root if no published level has one."""
    level_of = np.full(count, -1, dtype=np.int64)
    part_of = np.zeros(count, dtype=np.int64)
    for number in range(hierarchy.height, hierarchy.lowest - 1, -1):
        parts = hierarchy.levels[number].parts.take(codes)
        low = np.full(count, np.iinfo(np.int64).max)
        high = np.full(count, -1)
        np.minimum.at(low, group, parts)
        np.maximum.at(high, group, parts)
        has_one_node = low == high
        level_of[has_one_node], part_of[has_one_node] = number, low[has_one_node]
    nodes, of_group = np.unique(np.stack([level_of, part_of], axis=1), axis=0, return_inverse=True)
    labels: list[str] = []
    meanings: list[Meaning] = []
    members: list[Ids] = []
    for number in range(-1, hierarchy.height + 1):
        chosen = nodes[nodes[:, 0] == number, 1]
        if number < 0:
            labels += [SUPPRESSED] * len(chosen)
            meanings += [Anything()] * len(chosen)
            members += [np.arange(hierarchy.size)] * len(chosen)
        elif len(chosen):
            level = hierarchy.levels[number]
            labels += [level.labels[part] for part in chosen.tolist()]
            meanings += [level.meanings[part] for part in chosen.tolist()]
            leaves = np.split(np.argsort(level.parts, kind="stable"), np.cumsum(hierarchy.cover(number))[:-1])
            members += [leaves[part] for part in chosen.tolist()]
    lengths = np.array([len(member) for member in members], dtype=np.int64)
    owners, cells = np.repeat(np.arange(len(members)), lengths), np.arange(len(members))
    leaves_of = LeafSets.of_pairs(hierarchy, np.concatenate(members), owners, len(members), cells)
    return ColumnCells(_distinct(labels), meanings, leaves_of, of_group.ravel())


def _values_or_stars(hierarchy: BoundHierarchy, codes: Codes, group: Ids, count: int) -> ColumnCells:
    """Cells labelled with the only value of a group, or with a star. The star is the last label, so it is the one that gets a suffix if a value is also spelled ``*``."""
    first = np.zeros(count, dtype=np.int64)
    first[group] = codes
    differing = np.zeros(count, dtype=bool)
    differing[group[codes != first[group]]] = True
    shown_codes, of_group = np.unique(np.where(differing, hierarchy.size, first), return_inverse=True)
    level = hierarchy.levels[0]
    labels = [level.labels[leaf] if leaf < hierarchy.size else SUPPRESSED for leaf in shown_codes.tolist()]
    meanings = [level.meanings[leaf] if leaf < hierarchy.size else Anything() for leaf in shown_codes.tolist()]
    starred = bool(len(shown_codes)) and int(shown_codes[-1]) == hierarchy.size
    lengths = np.ones(len(shown_codes), dtype=np.int64)
    lengths[len(shown_codes) - 1 :] = hierarchy.size if starred else 1
    leaves = np.concatenate([shown_codes[:-1], np.arange(hierarchy.size)]) if starred else shown_codes
    cells = np.arange(len(shown_codes))
    leaf_sets = LeafSets.of_pairs(hierarchy, leaves, np.repeat(cells, lengths), len(cells), cells)
    return ColumnCells(_distinct(labels), meanings, leaf_sets, of_group.ravel())


def _numbered(text: str, use_counts: Counter[str]) -> str:
    """The text, with a numeric suffix if it was used before."""
    use_counts[text] += 1
    return text if use_counts[text] == 1 else f"{text} #{use_counts[text]}"


def _distinct(labels: list[str]) -> list[str]:
    """Return unique labels: repeated ones get a suffix, since a value may be spelled like a set of others, or like the label for all values."""
    if len(set(labels)) == len(labels):
        return labels
    unique_labels: dict[str, None] = {}
    for label in labels:
        unique_labels[unused(label, unique_labels)] = None
    return list(unique_labels)


def covered(codes: Sequence[Codes], counts: NDArray[np.int64], columns: Sequence[ColumnCells]) -> NDArray[np.int64]:
    """The number of people whose quasi values are covered by each group's cells, given the leaves and the people of every point; cells may overlap, so a person may count for several groups."""
    occupied = np.flatnonzero(counts)
    people = np.zeros(len(columns[0].of_group), dtype=np.int64)
    for groups, fits in _fitting([leaves[occupied] for leaves in codes], columns):
        people[groups] = counts[occupied] @ fits
    return people


def most_fitting(codes: Sequence[Codes], owners: Owners, columns: Sequence[ColumnCells]) -> NDArray[np.int64]:
    """The maximum number of rows of one person that each group's cells cover, given the leaves and the owners of every point; cells may overlap."""
    from scipy.sparse import csr_array

    most = np.zeros(len(columns[0].of_group), dtype=np.int64)
    for groups, fits in _fitting(codes, columns):
        if isinstance(owners, OwnerRows):
            cells = owners.by_owner
            rows_by_owner = csr_array(
                (cells.counts, cells.values, cells.offsets), shape=(len(fits), int(owners.owner[-1]) + 1)
            )
            most[groups] = (rows_by_owner.T @ fits.astype(np.int64)).max(axis=0, initial=0)
        else:
            # All rows of an owner are at one point.
            most[groups] = np.where(fits, owners.most_rows[:, None], 0).max(axis=0, initial=0)
    return most


def _fitting(codes: Sequence[Codes], columns: Sequence[ColumnCells]) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    """Yield blocks of groups, each with a mask of which points (rows) its groups (columns) cover."""
    covered_leaves = [
        cells.covering(int(leaves.max(initial=0)) + 1) for cells, leaves in zip(columns, codes, strict=True)
    ]
    points, groups = len(codes[0]), len(columns[0].of_group)
    step = max(_PAIRS_AT_ONCE // max(points, 1), 1)
    for start in range(0, groups, step):
        block = slice(start, min(start + step, groups))
        fits = np.ones((points, block.stop - start), dtype=bool)
        for column, leaves in zip(covered_leaves, codes, strict=True):
            fits &= column[:, block][leaves]
        yield block, fits
