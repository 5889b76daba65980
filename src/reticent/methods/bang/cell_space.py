"""The space of an index: every quasi column as an axis of cells, points as keys of interleaved bits (Morton order), and ranges of cells as labels."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import exact
from reticent.base.packing import Codes, sort_digits
from reticent.errors import DataError, PolicyError
from reticent.methods.grouping import CutOrder, order_of
from reticent.methods.typical import at_places, places_of
from reticent.table import (
    NULL_LABEL,
    OR_MISSING,
    SUPPRESSED,
    Anything,
    BoundHierarchy,
    Interval,
    Meaning,
    Missing,
    OrMissing,
    Value,
    ValueType,
    unused,
)

Ids = NDArray[np.int64]
Words = NDArray[np.uint64]
WORD = 64
MOST_BITS = 12
"""Maximum resolution of a column without explicit breakpoints: 4,096 cells."""
# The first cell of an axis begins at a multiple of this fraction of its length, so that it does not reveal the minimum.
_ALIGNED = 8
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class ColumnAxis(ABC):
    """One column as an axis of 2^bits cells. ``cell_of`` maps every leaf to its cell."""

    hierarchy: BoundHierarchy
    bits: int
    cell_of: Ids

    @property
    def cells(self) -> int:
        """The number of cells."""
        return 1 << self.bits

    @abstractmethod
    def described(self, ranges: Ids) -> tuple[list[str], list[Meaning], Ids]:
        """Return the labels of distinct half-open ranges of cells (rows) with their meanings, and the label index of each
        range; ranges that cover the same values share a label.
        """

    @abstractmethod
    def on(self, hierarchy: BoundHierarchy) -> ColumnAxis:
        """Return the same cells for the leaves of another table; a :class:`DataError` if a value has no cell."""

    @abstractmethod
    def bounds(self, ranges: Ids) -> tuple[pl.Series, pl.Series]:
        """Return the half-open bounds of each range for plain queries: values of the column, or ranks of its values. Null: unbounded."""

    @property
    @abstractmethod
    def places(self) -> pl.DataFrame | None:
        """Return every value with its rank in :meth:`bounds`; None if bounds are values themselves."""


@dataclass(frozen=True)
class LineAxis(ColumnAxis):
    """Numbers, dates or timestamps: cell ``c`` begins at ``edges[c - 1]``; the first and the last cell are unbounded.

    With ``missing``, the first cell is that of null. ``edges`` are positions on the line of the ``kind``.
    """

    kind: ValueType
    edges: NDArray[Any]
    missing: bool

    def on(self, hierarchy: BoundHierarchy) -> LineAxis:
        """Return the axis with the values (leaves) of another batch of rows. Raises if some are null and the axis has no cell for nulls."""
        column, missing = hierarchy.column, hierarchy.leaves.is_null().to_numpy()
        _check_type(self.hierarchy, hierarchy)
        if missing.any() and not self.missing:
            raise DataError(
                f"Bang: column {column!r} has missing values, but had none when the index was built, so there is no cell for them. Build a new index of all rows.",
                column=column,
            )
        null_cells = int(self.missing)
        cells = (
            np.searchsorted(self.edges[null_cells:], places_of(hierarchy.leaves, self.kind), side="right") + null_cells
        )
        return replace(self, hierarchy=hierarchy, cell_of=np.where(missing, 0, cells).astype(np.int64))

    def described(self, ranges: Ids) -> tuple[list[str], list[Meaning], Ids]:
        """Return the distinct labels of ranges of cells, their meanings, and the label of every range."""
        # Cells beyond the last edge are empty: ranges that differ only there are equal.
        real = np.minimum(ranges, (ranges.max(initial=0), self._real))
        numbers: dict[tuple[int, int], int] = {}
        label_of = [numbers.setdefault((first, stop), len(numbers)) for first, stop in real.tolist()]
        lows, highs = (series.to_list() for series in self.bounds(np.array(list(numbers), dtype=np.int64)))
        meanings: list[Meaning] = []
        for (first, stop), low, high in zip(numbers, lows, highs, strict=True):
            if first == 0 and stop == self._real:
                meanings.append(Anything())
            elif self.missing and first == 0:
                meanings.append(Missing() if stop == 1 else OrMissing(Interval(None, high)))
            elif low is not None and high is not None and self.kind.is_whole and low + 1 == high:
                meanings.append(Value(low))
            else:
                meanings.append(Interval(low, high))
        labels: dict[str, None] = {}
        for meaning in meanings:
            labels[unused(self._text(meaning), labels)] = None
        return list(labels), meanings, np.array(label_of, dtype=np.int64)

    @property
    def _real(self) -> int:
        """Return the number of cells that values can be in."""
        return len(self.edges) + 1

    def _text(self, meaning: Meaning) -> str:
        """Return the text of a range's meaning as a label."""
        if isinstance(meaning, OrMissing):
            return f"{meaning.of.text}{OR_MISSING}"
        if isinstance(meaning, Interval):
            return meaning.text
        if isinstance(meaning, Value):
            return str(meaning.label(self.kind))
        return SUPPRESSED if isinstance(meaning, Anything) else NULL_LABEL

    def bounds(self, ranges: Ids) -> tuple[pl.Series, pl.Series]:
        """Return the lowest value and the end of every range of cells; null where it is unbounded."""
        starts, stops = ranges.T
        first, last = starts <= int(self.missing), stops >= self._real
        if self.missing:
            # A range of nulls only precedes every number.
            last |= stops == 1
        edges_or_zero = self.edges if len(self.edges) else np.zeros(1, dtype=self.edges.dtype)
        low = at_places(edges_or_zero[np.where(first, 0, starts - 1)], first, self.kind)
        high = at_places(edges_or_zero[np.where(last, 0, stops - 1)], last, self.kind)
        return low, high

    @property
    def places(self) -> pl.DataFrame | None:
        return None


@dataclass(frozen=True)
class RankAxis(ColumnAxis):
    """Categories in hierarchy order, so that related values are adjacent; null is one of them."""

    order: Ids

    @classmethod
    def of(cls, hierarchy: BoundHierarchy) -> RankAxis:
        """Build from the leaves of a hierarchy, spread evenly over the fewest bits that distinguish all of them."""
        place_of = order_of(hierarchy, along_tree=True)
        bits = max(hierarchy.size - 1, 0).bit_length()
        return cls(hierarchy, bits, place_of * (1 << bits) // max(hierarchy.size, 1), np.argsort(place_of))

    def on(self, hierarchy: BoundHierarchy) -> RankAxis:
        """Return the axis for another batch of rows. Raises for a value that was unknown when the index was built."""
        _check_type(self.hierarchy, hierarchy)
        leaves = self.hierarchy.leaves
        unknown = hierarchy.leaves.filter(~hierarchy.leaves.is_in(leaves.implode(), nulls_equal=True))
        if len(unknown):
            raise DataError(
                f"Bang: column {hierarchy.column!r} has the value {unknown[0]!r}, which was not known when the index was built, so it has no cell. Build a new index of all rows, or declare the "
                "column's domain in its hierarchy before the first one.",
                column=hierarchy.column,
                value=unknown[0],
            )
        return self

    @cached_property
    def _cutting(self) -> CutOrder:
        return CutOrder.of(self.hierarchy)

    def _spans(self, ranges: Ids) -> Ids:
        """Return the ranks of the first leaf of each range and of the first one after it (rows)."""
        spans: Ids = np.searchsorted(self.cell_of[self.order], ranges.T)
        return spans

    def described(self, ranges: Ids) -> tuple[list[str], list[Meaning], Ids]:
        return self._cutting.runs(*self._spans(ranges))

    def bounds(self, ranges: Ids) -> tuple[pl.Series, pl.Series]:
        starts, stops = self._spans(ranges)
        return pl.Series(starts), pl.Series(stops)

    @property
    def places(self) -> pl.DataFrame | None:
        """Return the values in their order along the axis, each with its rank."""
        labels = [
            None if leaf == self.hierarchy.null_leaf else self.hierarchy.levels[0].labels[leaf]
            for leaf in self.order.tolist()
        ]
        return pl.DataFrame(
            {"value": pl.Series(labels, dtype=pl.String), "place": pl.Series(np.arange(len(labels)), dtype=pl.Int64)}
        )


def _check_type(index_hierarchy: BoundHierarchy, hierarchy: BoundHierarchy) -> None:
    """Raise if a column has another type than when the index was built."""
    if index_hierarchy.leaves.dtype != hierarchy.leaves.dtype:
        raise DataError(
            f"Bang: column {hierarchy.column!r} has the type {hierarchy.leaves.dtype}, but {index_hierarchy.leaves.dtype} in the index. Cast it.",
            column=hierarchy.column,
        )


def line_axis(hierarchy: BoundHierarchy, scale: Any, rows: Ids) -> LineAxis:
    """Build the axis of a column of numbers, dates or timestamps: equal widths, quantiles of its ``rows`` (by leaf), or given breakpoints."""
    kind = ValueType.of(hierarchy.leaves.dtype, hierarchy.column)
    missing = hierarchy.leaves.is_null().to_numpy()
    values = places_of(hierarchy.leaves, kind)
    null_cells = int(missing.any())
    if isinstance(scale, str) and scale == "quantile":
        edges, bits = _quantile_edges(values[~missing], rows[~missing], null_cells)
    elif isinstance(scale, str):
        if kind is ValueType.REAL and not np.isfinite(values[~missing]).all():
            raise PolicyError(
                f"Bang: column {hierarchy.column!r} has an infinite value, which does not fit a grid of equal widths. Make it missing, or choose another method.",
                column=hierarchy.column,
            )
        edges, bits = _equal_edges(values[~missing], kind, null_cells)
    else:
        edges, bits = _given_edges(hierarchy.column, scale, kind, null_cells)
    cells = np.searchsorted(edges, values, side="right").astype(np.int64) + null_cells
    shift = np.full(null_cells, edges[0] if len(edges) else 0, dtype=edges.dtype)
    return LineAxis(
        hierarchy, bits, np.where(missing, 0, cells), kind, np.concatenate([shift, edges]), bool(missing.any())
    )


def _equal_edges(values: NDArray[Any], kind: ValueType, null_cells: int) -> tuple[NDArray[Any], int]:
    """Return the edges of cells of equal width, a power of two, that start at a multiple of an eighth of the whole range;
    and the number of bits of a cell number. ``null_cells`` is 1 if nulls need a cell of their own, before all others.
    """
    if not len(values) or values.min() == values.max():
        return np.zeros(0, dtype=values.dtype), null_cells
    # Python integers do not overflow, nor do halves of floats.
    low, high = values.astype(object).min(), values.astype(object).max()
    is_real = kind is ValueType.REAL
    lowest, highest = kind.ends()
    if values.dtype == np.int64:
        highest = min(highest, np.iinfo(np.int64).max)
    exponent = math.frexp(high / 2 - low / 2)[1] + 1 - MOST_BITS
    exponent = exponent if is_real else max(exponent, 0)
    while True:
        width = math.ldexp(1.0, exponent) if is_real else 1 << exponent
        bits = 1
        while bits <= MOST_BITS:
            step = width * max((1 << bits) // _ALIGNED, 1)
            # The cell of nulls precedes all others, which keep their round ends.
            origin = (low - null_cells * width) // step * step
            # Beyond the largest float there is no multiple to align to.
            origin = origin if not is_real or math.isfinite(origin) else low - null_cells * width
            if (high / width - origin / width if is_real else (high - origin) // width) < (1 << bits):
                edges = [origin + width * cell for cell in range(1 + null_cells, 1 << bits)]
                return np.array([edge for edge in edges if lowest <= edge <= highest], dtype=values.dtype), bits
            bits += 1
        exponent += 1


def _quantile_edges(finite_values: NDArray[Any], rows: Ids, null_cells: int) -> tuple[NDArray[Any], int]:
    """Return the edges of cells that hold about the same number of rows, and the number of bits of a cell number; ``rows``
    is the number of rows of each value. ``null_cells`` is 1 if nulls need a cell of their own.
    """
    if not len(finite_values):
        return finite_values, null_cells
    order = np.argsort(finite_values, kind="stable")
    ordered, rows_before = finite_values[order], np.cumsum(rows[order]) - rows[order]
    bits = min(max((len(ordered) - 1 + null_cells).bit_length(), 1), MOST_BITS)
    targets = np.arange(1, (1 << bits) - null_cells) * (rows_before[-1] + rows[order][-1]) / ((1 << bits) - null_cells)
    edges = np.unique(ordered[np.minimum(np.searchsorted(rows_before, targets), len(ordered) - 1)])
    edges = edges[edges > ordered[0]]
    return edges, max((len(edges) + null_cells).bit_length(), 1)


def _given_edges(column: str, scale: Any, kind: ValueType, null_cells: int) -> tuple[NDArray[Any], int]:
    """Return explicit breakpoints as the edges of cells, and the number of bits of a cell number. Raises unless they increase."""
    breakpoints = list(scale)
    try:
        edges = [
            float(exact(given_value, column))
            if kind is ValueType.REAL
            else int(kind.place(kind.converted(given_value)))
            for given_value in breakpoints
        ]
    except (TypeError, ValueError):
        edges = []
    if not edges or any(first >= second for first, second in pairwise(edges)):
        raise PolicyError(
            f"Bang: the scale of column {column!r} must be 'equal', 'quantile' or a rising list of values at which cells begin, but it is {scale!r}.",
            setting=("scales", column),
            value=scale,
        )
    return np.array(edges, dtype=np.float64 if kind is ValueType.REAL else np.int64), (
        len(edges) + null_cells
    ).bit_length()


@dataclass(frozen=True)
class GridSpace:
    """The quasi columns as axes of a grid. Halvings cycle through the axes; an axis without bits left is skipped."""

    axes: tuple[ColumnAxis, ...]

    @classmethod
    def of(cls, hierarchies: Sequence[BoundHierarchy], scales: Mapping[str, Any], rows: Sequence[Ids]) -> GridSpace:
        """Build the space of a table's columns: numbers, dates and timestamps by value, others in hierarchy order."""
        for name in scales:
            if name not in {hierarchy.column for hierarchy in hierarchies}:
                raise PolicyError(
                    f"Bang: scales has {name!r}, which is not a quasi column.", setting=("scales", name), value=name
                )
        axes: list[ColumnAxis] = []
        for hierarchy, leaf_rows in zip(hierarchies, rows, strict=True):
            scale = scales.get(hierarchy.column, "equal")
            if hierarchy.is_numeric:
                axes.append(line_axis(hierarchy, scale, leaf_rows))
            elif scale != "equal":
                raise PolicyError(
                    f"Bang: column {hierarchy.column!r} does not hold numbers or dates and is ordered by its hierarchy, so it cannot have a scale.",
                    setting=("scales", hierarchy.column),
                    value=scale,
                )
            else:
                axes.append(RankAxis.of(hierarchy))
        return cls(tuple(axes))

    @property
    def bits(self) -> Ids:
        """Number of bits of each axis."""
        return np.array([axis.bits for axis in self.axes], dtype=np.int64)

    @cached_property
    def halvings(self) -> tuple[tuple[int, int], ...]:
        """The axis of each halving, from the whole space down to a cell, and its bit within the axis (0: the highest)."""
        return halvings_of(self.bits.tolist())

    @property
    def depth(self) -> int:
        """Number of halvings from the whole space to a cell."""
        return int(self.bits.sum())

    @cached_property
    def used(self) -> Ids:
        """Number of bits of each axis (column) used by a region of each level (row)."""
        used_bits = np.zeros((self.depth + 1, len(self.axes)), dtype=np.int64)
        for level, (axis, bit) in enumerate(self.halvings):
            used_bits[level + 1] = used_bits[level]
            used_bits[level + 1, axis] = bit + 1
        return used_bits

    @property
    def words(self) -> int:
        """Number of 64-bit words in a key."""
        return max(-(-self.depth // WORD), 1)

    def cells(self, codes: Sequence[Codes]) -> Ids:
        """Return the cell of each point on every axis (rows), given its leaves."""
        return np.stack([axis.cell_of.take(code) for axis, code in zip(self.axes, codes, strict=True)])

    def keys(self, codes: Sequence[Codes]) -> Words:
        """Return the interleaved bits of points, given their leaves, the first halving in the highest bit; one row per word."""
        keys = np.zeros((self.words, len(codes[0])), dtype=np.uint64)
        for axis, (cell_axis, leaves) in enumerate(zip(self.axes, codes, strict=True)):
            bits_of_cells = self._spread(axis, cell_axis.cell_of)
            for word in np.flatnonzero(bits_of_cells.any(axis=1)).tolist():
                keys[word] |= bits_of_cells[word].take(leaves)
        return keys

    def cells_of(self, keys: Words) -> Ids:
        """Return the cells of points on every axis (rows), given their keys."""
        cells = np.zeros((len(self.axes), keys.shape[1]), dtype=np.int64)
        for level, (axis, bit) in enumerate(self.halvings):
            bits = (keys[level // WORD] >> np.uint64(WORD - 1 - level % WORD)) & np.uint64(1)
            cells[axis] |= bits.astype(np.int64) << (self.axes[axis].bits - 1 - bit)
        return cells

    def keys_at(self, cells: Ids) -> Words:
        """Return the keys of points given by their cells, one row per axis."""
        keys = np.zeros((self.words, cells.shape[1]), dtype=np.uint64)
        for axis, axis_cells in enumerate(cells):
            keys |= self._spread(axis, axis_cells)
        return keys

    def _spread(self, axis: int, cells: Ids) -> Words:
        """Return the bits of one axis's cells at their positions in the key; one row per word."""
        bits, numbers = self.axes[axis].bits, cells.astype(np.uint64)
        spread = np.zeros((self.words, len(cells)), dtype=np.uint64)
        for level, (halved, bit) in enumerate(self.halvings):
            if halved == axis:
                bit_values = (numbers >> np.uint64(bits - 1 - bit)) & np.uint64(1)
                spread[level // WORD] |= bit_values << np.uint64(WORD - 1 - level % WORD)
        return spread

    def boxes(self, cells: Ids, level: Ids) -> tuple[Ids, Ids]:
        """Return the half-open cell ranges of regions on every axis, given a cell inside each and their levels."""
        free = self.bits[:, None] - self.used[level].T
        low = cells >> free << free
        return low, low + (np.int64(1) << free)


def halvings_of(bits: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the order in which axes are halved, as pairs of the axis and the number of the halved bit: in turn, one halving
    each, skipping axes whose ``bits`` are used up.
    """
    return tuple(
        (axis, bit) for bit in range(max(bits, default=0)) for axis, axis_bits in enumerate(bits) if bit < axis_bits
    )


def common_bits(keys: Words) -> Ids:
    """Return for each key but the first the length of the common prefix with its predecessor, in bits."""
    lengths = np.full(max(keys.shape[1] - 1, 0), len(keys) * WORD, dtype=np.int64)
    for start in range(0, len(lengths), _AT_ONCE):
        block = lengths[start : start + _AT_ONCE]
        for word in range(len(keys) - 1, -1, -1):
            words = keys[word, start : start + len(block) + 1]
            differs = words[1:] ^ words[:-1]
            is_different = differs != 0
            block[is_different] = word * WORD + WORD - _bit_lengths(differs[is_different])
    return lengths


def _bit_lengths(numbers: Words) -> Ids:
    """Return the number of bits of each 64-bit number without its leading zeros."""
    high = (numbers >> np.uint64(32)).astype(np.float64)
    low = (numbers & np.uint64(0xFFFFFFFF)).astype(np.float64)
    lengths: Ids = np.where(high > 0, 32 + np.frexp(high)[1], np.frexp(low)[1]).astype(np.int64)
    return lengths


def order_of_keys(keys: Words) -> Ids:
    """Return the stable sort order of keys, most significant word first."""
    return sort_digits([_used_bits(word) for word in keys], keys.shape[1])[0]


def _used_bits(words: Words) -> tuple[Words, int]:
    """Return the words without the leading and trailing bits that are zero in all of them, and the number of remaining bits."""
    used_mask = int(np.bitwise_or.reduce(words, initial=0))
    trailing_zeros = max((used_mask & -used_mask).bit_length() - 1, 0)
    return words >> np.uint64(trailing_zeros), used_mask.bit_length() - trailing_zeros if used_mask else 0


def sortable(keys: Words) -> NDArray[Any]:
    """Return keys as one array with the same order: the word itself, or the bytes of all words."""
    return keys[0] if len(keys) == 1 else np.ascontiguousarray(keys.T.astype(">u8")).view(f"S{8 * len(keys)}").ravel()
