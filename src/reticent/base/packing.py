"""Grouping by several category codes at once: pack them into one key, then number the distinct keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any, TypeVar
from weakref import ref

import numpy as np
import polars as pl
from numpy.typing import NDArray

Codes = NDArray[np.integer[Any]]
Scalar = TypeVar("Scalar", bound=np.generic)
Digit = tuple[NDArray[Any], int]
"""A digit of every number, non-negative, and its number of bits."""
WORD = 64
_LARGEST_KEY = 2**62
# A lookup table with more cells than this per key exceeds the cache, and sorting is cheaper.
_CELLS_OF_A_KEY = 4
_AT_ONCE = 1 << 15


def pack(codes: Sequence[Codes], sizes: Sequence[int], length: int) -> tuple[NDArray[Any], int]:
    """One integer key per row that is equal only for equal rows, and the size of the key space.

    Columns whose product overflows a key are renumbered on the way, so any number of columns works.
    """
    if prod(sizes) < _LARGEST_KEY:
        return _packed(codes, sizes, length), prod(sizes)
    keys: Any = np.zeros(length, dtype=np.int32)
    space = 1
    for column, size in zip(codes, sizes, strict=True):
        if space * size >= _LARGEST_KEY:
            keys, space = number(keys, space)
        keys, space = _packed([keys, column], [space, size], length), space * size
    return keys, space


def _packed(codes: Sequence[Codes], sizes: Sequence[int], length: int) -> NDArray[Any]:
    """Return one integer per row for the codes of all columns together, the first column as the highest digit."""
    dtype: Any = np.int32 if prod(sizes) < 2**31 else np.int64
    keys: NDArray[Any] = np.zeros(length, dtype=dtype)
    for part in portions(length):
        part_keys = keys[part]
        for column, size in zip(codes, sizes, strict=True):
            part_keys *= dtype(size)
            part_keys += column[part]
    return keys


def portions(length: int) -> Iterator[slice]:
    """Slices of an array that fit in the cache while several operations run on each, without full-length temporaries."""
    return (slice(start, min(start + _AT_ONCE, length)) for start in range(0, length, _AT_ONCE))


def is_dense(space: int, length: int) -> bool:
    """True if a lookup table over the whole key space is cheaper than sorting the keys."""
    return space <= max(16 * length, 1 << 14)


def number(keys: NDArray[Any], space: int) -> tuple[NDArray[Any], int]:
    """Distinct keys numbered from 0 in key order: the number of each key, and how many there are."""
    if is_dense(space, len(keys)):
        lookup = np.cumsum(present(keys, space), dtype=np.int32)
        lookup -= 1
        return lookup.take(keys), int(lookup[-1]) + 1 if space else 0
    distinct = Distinct(keys, space)
    return distinct.ids, len(distinct.sizes)


def present(keys: NDArray[Any], space: int) -> NDArray[np.bool_]:
    """Mask over the key space: which keys occur."""
    occurs = np.zeros(space, dtype=bool)
    occurs[keys] = True
    return occurs


class Distinct:
    """Rows by key, the distinct keys numbered from 0 in key order: the row counts (``sizes``), and one row of each (``firsts``)."""

    def __init__(self, keys: NDArray[Any], space: int) -> None:
        """Number the distinct ``keys`` (below ``space``): ids by row, the first row of each and its multiplicity; by
        sorting if ``space`` is too large for a table.
        """
        if is_dense(space, len(keys)):
            self.ids, count = number(keys, space)
            self.firsts = first_rows(self.ids, count)
            self.sizes = sum_by(self.ids, None, count)
        else:
            order, starts = sort_equal(keys, space)
            self.firsts = order.take(starts)
            self.sizes = np.diff(starts, append=len(keys))
            # Half of the memory while only the order is stored.
            self._order = order.astype(np.uint32 if len(keys) <= 1 << 32 else np.int64)

    @cached_property
    def ids(self) -> NDArray[Any]:
        """The number of each row's key; lazily computed, since counting does not need it."""
        ids = np.empty(len(self._order), dtype=np.int32)
        ids[self._order] = np.repeat(np.arange(len(self.sizes), dtype=np.int32), self.sizes)
        del self._order
        return ids


def sort_equal(keys: NDArray[Any], space: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The stable sort order of keys, and the start of each run of equal ones."""
    return sort_digits([(keys, max(space - 1, 0).bit_length())], len(keys))


def sort_digits(digits: Sequence[Digit], length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The stable sort order of ``length`` numbers given by their digits, highest first, and the start of each run of equal
    ones.

    Sorting numbers is far faster than argsort, so every index travels in the low bits of one word, below as much of its
    number as fits. Ties are sorted by the remaining digits.
    """
    index_bits = max(length - 1, 0).bit_length()
    free_bits = WORD - index_bits
    digits_taken, digits_left = list[tuple[NDArray[Any], int, int]](), list[Digit]()
    for digit, bits in digits:
        bits_taken = min(bits, free_bits)
        free_bits -= bits_taken
        if bits_taken:
            digits_taken.append((digit, bits - bits_taken, bits_taken))
        if bits_taken < bits:
            digits_left.append((digit, bits - bits_taken))
    words = np.zeros(length, dtype=np.uint64)
    for part in portions(length):
        part_words = words[part]
        for digit, below, bits_taken in digits_taken:
            part_words <<= np.uint64(bits_taken)
            part_words |= digit[part].astype(np.uint64) >> np.uint64(below)
        part_words <<= np.uint64(index_bits)
        part_words |= np.arange(part.start, part.stop, dtype=np.uint64)
    words, last = sorted_numbers(words), np.uint64((1 << index_bits) - 1)
    order, starts_run = np.empty(length, dtype=np.int64), np.ones(length, dtype=bool)
    for part in portions(length):
        order[part] = words[part] & last
        # Words that differ in more than their index bits differ by more than any index.
        np.greater(words[1:][part] ^ words[:-1][part], last, out=starts_run[1:][part])
    if digits_left:
        is_single = starts_run.copy()
        is_single[:-1] &= starts_run[1:]
        tied_positions = np.flatnonzero(~is_single)
        if len(tied_positions):
            tied, run = order[tied_positions], np.cumsum(starts_run[tied_positions]) - 1
            lower_digits = [(digit[tied] & digit.dtype.type((1 << bits) - 1), bits) for digit, bits in digits_left]
            inner, starts = sort_digits([(run, int(run[-1]).bit_length()), *lower_digits], len(tied))
            order[tied_positions] = tied[inner]
            starts_run[tied_positions[starts]] = True
    return order, np.flatnonzero(starts_run)


def sorted_numbers(numbers: NDArray[Scalar]) -> NDArray[Scalar]:
    """Sorted numbers, read-only; polars takes a third of numpy's time."""
    return pl.Series(numbers).sort(multithreaded=False).to_numpy() if len(numbers) > 1 else numbers


def first_rows(ids: NDArray[Any], groups: int) -> NDArray[np.int64]:
    """The index of one row of each group."""
    rows = np.empty(groups, dtype=np.int64)
    rows[ids] = np.arange(len(ids))
    return rows


# Points at which rows were counted, by the address of the first array of points: how the rows were counted, and the
# arrays.
_COUNTED: dict[int, tuple[Distinct, tuple[ref[Codes], ...]]] = {}


def remember(points: Sequence[Codes], rows: Sequence[Codes], counted: Distinct) -> None:
    """Record for :func:`positions`, while all these arrays live, that row ``r`` is at the point ``counted.ids[r]``."""
    address = id(points[0])

    def forget(_: ref[Codes]) -> None:
        _COUNTED.pop(address, None)

    _COUNTED[address] = counted, tuple(ref(array, forget) for array in (*points, *rows))


def positions(points: Sequence[Codes], rows: Sequence[Codes], sizes: Sequence[int]) -> NDArray[np.int64]:
    """For every row the index of the point with the same code in every column, -1 if there is none."""
    counted, arrays = _COUNTED.get(id(points[0]), (None, ()))
    if counted is not None and _same(arrays, (*points, *rows)):
        return counted.ids.astype(np.int64)
    point_count, space = len(points[0]), prod(sizes)
    if is_dense(space, len(rows[0])):
        index_of = np.full(space, -1, dtype=np.int32)
        index_of[pack(points, sizes, point_count)[0]] = np.arange(point_count)
        return index_of.take(pack(rows, sizes, len(rows[0]))[0]).astype(np.int64)
    joint_codes = [
        np.concatenate([point_codes, row_codes]) for point_codes, row_codes in zip(points, rows, strict=True)
    ]
    ids, count = number(*pack(joint_codes, sizes, len(joint_codes[0])))
    index_of_id: NDArray[np.int64] = np.full(count, -1, dtype=np.int64)
    index_of_id[ids[:point_count]] = np.arange(point_count)
    matches: NDArray[np.int64] = index_of_id[ids[point_count:]]
    return matches


def _same(references: Sequence[ref[Codes]], arrays: Sequence[Codes]) -> bool:
    return len(references) == len(arrays) and all(
        reference() is array for reference, array in zip(references, arrays, strict=True)
    )


def sum_by(ids: NDArray[Any], weights: NDArray[Any] | None, groups: int) -> NDArray[np.int64]:
    """Sums of integer weights by group; exact below 2^53."""
    if weights is None:
        return np.bincount(ids, minlength=groups)
    return np.bincount(ids, weights=weights, minlength=groups).astype(np.int64)


def sum_equal(
    keys: NDArray[Any], counts: NDArray[np.int64] | None, space: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct keys, ascending, with the sum of the counts of each (without counts: its rows), without zero sums. Exact below 2^53."""
    if space <= max(_CELLS_OF_A_KEY * len(keys), 1 << 16):
        table = np.bincount(keys, counts, minlength=space)
        # numpy finds True values many times faster than non-zero ones.
        distinct = np.flatnonzero(table != 0)
        return distinct, table[distinct].astype(np.int64)
    if counts is None:
        ordered = sorted_numbers(keys)
        starts = _starts(ordered)
        return ordered[starts], np.diff(starts, append=len(keys))
    bits = int(counts.max(initial=0)).bit_length()
    if counts.min(initial=0) >= 0 and (space - 1).bit_length() + bits <= WORD:
        # No order is needed: each count travels in the low bits of its key.
        word: Any = np.uint32 if (space - 1).bit_length() + bits <= WORD // 2 else np.uint64
        words: NDArray[Any] = keys.astype(word)
        words <<= word(bits)
        words |= counts.astype(word)
        words = sorted_numbers(words)
        ordered, added = words >> word(bits), words & word((1 << bits) - 1)
        starts = _starts(ordered)
    else:
        order, starts = sort_equal(keys, space)
        ordered, added = keys[order], counts[order]
    totals = np.add.reduceat(added, starts, dtype=np.int64)
    if not totals.all():
        starts, totals = starts[totals != 0], totals[totals != 0]
    return ordered[starts].astype(np.int64), totals


def _starts(ordered: NDArray[Any]) -> NDArray[np.int64]:
    """The start of each run of equal numbers."""
    fresh = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return np.flatnonzero(fresh)


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Words mixed so that close inputs give unrelated outputs (the finalizer of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: NDArray[np.uint64] = words ^ (words >> np.uint64(31))
    return result
