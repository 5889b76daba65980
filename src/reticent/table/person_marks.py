"""Recognizing the same people under other names: keyed fingerprints of identifying values, few enough to be stored in the
ledger.

Of every identifying column a sample is stored as keyed hashes (marks). Whether a value is sampled depends on the value
alone, so two tables that share people share marks, whatever else differs. Row numbers identify nobody; combined with
the values of some columns they do. A table is also recognized by its rows: each distinct combination of values with its
multiplicity, over all columns and over sets of two and three, so a table with additional columns is recognized by the
common ones.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.disclosures import MARK_BITS, MARKS_KEPT, MARKS_OF_A_SET, SET_BITS, PersonFingerprints
from reticent.base.packing import mixed
from reticent.table.table import Table

_FEWEST_ROWS, _FEWEST_COMBINATIONS = 3, 4
# Beyond these limits it would take more than a small part of the publishing time.
_MOST_PEOPLE, _MOST_ROWS = 2_000_000, 500_000
_MOST_SETS, _MOST_COLUMNS, _MOST_CELLS = 96, 10, 20_000_000
_SMALL_RANGE = 1 << 20
# Columns up to this length are faster as lists than as queries.
_SHORT = 2_500
_MOST_NUMBERED = 2
# How often other people with the same number may agree by chance; and the factor at which further columns become
# unnecessary.
_ALIKE_BY_CHANCE, _RARELY_ALIKE = 1 / 20, 1 / 40
_PEOPLE_COMPARED = 4096
_MANY_ROWS, _PART, _COUNTED = 1 << 16, 1 << 60, np.uint64((1 << 40) - 1)
_SALT = np.uint64(0x9E3779B97F4A7C15)
_Hashes = NDArray[np.uint64]


def marks_of_people(table: Table, key: bytes) -> tuple[PersonFingerprints, ...]:
    """The marks of a table's people: :func:`marks_of_columns` of its key and identifiers, and of its quasi and sensitive
    columns.

    For a table that is not in memory only identifying columns are marked.
    """
    identifying_names = dict.fromkeys((*((table.key,) if table.key is not None else ()), *table.identifiers))
    columns = [name for name in identifying_names if name in table.schema]
    identifying: list[pl.Series] = []
    if columns and table.rows <= _MOST_PEOPLE:
        parts = [[chunk[name] for chunk in table.held.chunks([name])] for name in columns]
        identifying = [pl.concat(chunks) for chunks in parts if chunks]
    is_scanned = not table.streamed and table.rows <= _MOST_ROWS
    return marks_of_columns(
        identifying, [table.frame[name] for name in (*table.quasi, *table.sensitive)] if is_scanned else [], key
    )


def marks_of_columns(
    identifying: Sequence[pl.Series], value_columns: Sequence[pl.Series], key: bytes
) -> tuple[PersonFingerprints, ...]:
    """Return the marks (keyed hashes) by which the people in some columns are recognized in other tables;
    ``Ledger.record(people=)``, ``know`` and ``about`` compare them.

    ``identifying`` are keys and identifiers, ``value_columns`` the columns of values, row-aligned. Two tables are about
    the same people if any identifying column, the row numbers combined with some common columns, or the rows over such
    columns agree: further columns, other identifiers and other names of the data set do not hide them.
    """
    marks = [people_marks(values, key) for values in identifying]
    if value_columns:
        hashed = _hashed_columns(value_columns, key)
        numbers = [values for values in identifying if _only_numbers(values.drop_nulls().unique())]
        marks += [numbered_marks(values, hashed, key) for values in numbers[:_MOST_NUMBERED]]
        marks += [rows_marks(pl.DataFrame(value_columns), key), column_marks(hashed, key)]
    return tuple(fingerprint for fingerprint in marks if fingerprint is not None)


def people_marks(values: pl.Series, key: bytes) -> PersonFingerprints | None:
    """Return the marks (keyed hashes of a sample of the values, by which other tables about the same people are
    recognized) of one identifying column; None if it only numbers the rows, which identifies nobody.
    """
    present = values.drop_nulls().unique()
    if not len(present) or _only_numbers(present):
        return None
    texts = present.cast(pl.String).str.strip_chars().str.to_lowercase().unique().to_list()
    spread = np.fromiter((zlib.crc32(text.encode()) for text in texts), dtype=np.uint64, count=len(texts)) << np.uint64(
        32
    )
    level, levels = _sampled(spread)
    sampled = np.flatnonzero(levels >= level)
    return _marks("people", level, levels[sampled], _hashes([texts[index] for index in sampled.tolist()], key))


def numbered_marks(numbers: pl.Series, columns: Mapping[str, _Hashes], key: bytes) -> PersonFingerprints | None:
    """Return marks (keyed hashes by which another table about the same people is recognized) of people who have only a
    row number.

    Each hashes the number with a set of columns in which other rows rarely agree. Other people with the same number
    agree as often as two rows of the table do, or as two neighbours if rows are sorted: sets in which that is frequent
    identify nobody.
    """
    number_hashes = _value_hashes(numbers, key)
    level, levels = _sampled(mixed(number_hashes), _PEOPLE_COMPARED)
    sampled = np.flatnonzero(levels >= level)
    order = sampled[np.argsort(numbers.cast(pl.Float64, strict=False).to_numpy()[sampled], kind="stable")]
    compared = {name: values[order] for name, values in columns.items()}
    sets: dict[tuple[str, ...], _Hashes] = {}
    rare: list[set[str]] = []
    for names in _sets_of(compared, len(order), smallest=1):
        if any(rare_set <= set(names) for rare_set in rare):
            continue
        values = _combined(compared, names)
        chance = _agreement(values)
        if chance <= _RARELY_ALIKE:
            rare.append(set(names))
        if chance <= _ALIKE_BY_CHANCE:
            sets[names] = mixed(number_hashes[order] * _SALT + values)
    return _sketch("numbered columns", sets, key)


def column_marks(columns: Mapping[str, _Hashes], key: bytes) -> PersonFingerprints | None:
    """Return marks (keyed hashes by which another table about the same people is recognized) of the rows over sets of
    two and three columns.

    Each hashes a combination of values with its multiplicity. Sets in which every combination occurs equally often,
    more than once, are an experimental design and identify nobody.
    """
    rows = len(next(iter(columns.values()), ()))
    sets: dict[tuple[str, ...], _Hashes] = {}
    nearly_unique: list[set[str]] = []
    for names in _sets_of(columns, rows, smallest=2):
        if any(smaller_set < set(names) for smaller_set in nearly_unique):
            continue
        combined = _combined(columns, names)
        # A sample of many combinations suffices, chosen by the combination alone.
        sample = combined[combined < np.uint64(_PART)] if rows > _MANY_ROWS else combined
        distinct, counts = np.unique(combined if len(sample) < _PEOPLE_COMPARED else sample, return_counts=True)
        if len(distinct) < _FEWEST_COMBINATIONS or counts.min() == counts.max() > 1:
            continue
        if 4 * len(distinct) > 3 * counts.sum():
            nearly_unique.append(set(names))
        # Sorted by combination, so a sample of them holds the smallest marks of all.
        sets[names] = (distinct & ~_COUNTED) | (mixed(distinct + counts.astype(np.uint64)) & _COUNTED)
    return _sketch("columns", sets, key)


def _hashed_columns(columns: Sequence[pl.Series], key: bytes) -> dict[str, _Hashes]:
    """The hashed values of each column, those with most distinct values first; names are compared without case and outer spaces."""
    by_distinct = sorted(columns, key=lambda values: (-values.n_unique(), values.name))[:_MOST_COLUMNS]
    return {values.name.strip().lower(): _value_hashes(values, key) for values in by_distinct}


def _sets_of(columns: Mapping[str, _Hashes], rows: int, smallest: int) -> Iterator[tuple[str, ...]]:
    """Sets of up to three columns, smallest first, as many as their number of cells allows."""
    sets = (names for size in range(smallest, 4) for names in combinations(sorted(columns), size))
    return islice(sets, max(_MOST_CELLS // max(rows, 1), 1))


def _combined(columns: Mapping[str, _Hashes], names: Sequence[str]) -> _Hashes:
    """Return a hash of each row's values in some columns."""
    combined = np.zeros_like(columns[names[0]])
    for name in names:
        combined = mixed(combined * _SALT + columns[name])
    return combined


def _agreement(values: _Hashes) -> float:
    """Return the share of pairs of rows that agree, or of pairs of neighbouring rows; the larger of the two."""
    rows = len(values)
    if rows < 2:
        return 1.0
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return max(float((counts * (counts - 1)).sum()) / (rows * (rows - 1)), float((values[1:] == values[:-1]).mean()))


def _sketch(kind: str, sets: Mapping[tuple[str, ...], _Hashes], key: bytes) -> PersonFingerprints | None:
    """Return the smallest hashes of each set of columns, marked with a prefix of the set; of too many sets those with
    most combinations.

    None if there are none.
    """
    finest = sorted(sets, key=lambda names: (-len(sets[names]), names))[:_MOST_SETS]
    marks: set[int] = set()
    for names, prefix in zip(finest, _hashes(["\x1f".join(names) for names in finest], key).tolist(), strict=True):
        smallest = np.unique(sets[names] >> np.uint64(SET_BITS))[:MARKS_OF_A_SET]
        marks.update((smallest | np.uint64(prefix >> (64 - SET_BITS) << (64 - SET_BITS))).tolist())
    return PersonFingerprints(kind, 0, tuple(sorted(marks))) if marks else None


def _plain(values: pl.Series) -> pl.Series:
    """Values as text; 7, 7.0 and 7.00 are equal."""
    texts = values.cast(pl.String)
    return texts.str.replace(r"^(-?\d+)\.0+$", "$1").str.replace(r"^(-?\d+\.\d*[1-9])0+$", "$1")


def rows_marks(frame: pl.DataFrame, key: bytes) -> PersonFingerprints | None:
    """Return the marks of rows (keyed hashes of a sample, by which other tables about the same people are recognized):
    of each distinct row with its multiplicity.

    None for too few rows.
    """
    if frame.height < _FEWEST_ROWS or not frame.width:
        return None
    distinct, counts = _distinct_rows(frame, key)
    if len(distinct) < _FEWEST_ROWS:
        return None
    level, levels = _sampled(distinct)
    is_sampled = levels >= level
    hashes = mixed(distinct[is_sampled] + counts[is_sampled].astype(np.uint64))
    return _marks("rows", level, levels[is_sampled], hashes)


def contents_marks(table: Table, key: bytes) -> tuple[PersonFingerprints, ...]:
    """One mark of all contents of a table whose rows are too few to be recognized individually: equal contents are the same people."""
    if table.streamed or table.rows > _MOST_ROWS or not (table.quasi or table.sensitive):
        return ()
    distinct, counts = _distinct_rows(
        pl.DataFrame([table.frame[name] for name in (*table.quasi, *table.sensitive)]), key
    )
    whole = np.array([mixed(mixed(distinct) * _SALT + counts.astype(np.uint64)).sum(dtype=np.uint64)])
    return (_marks("contents", 0, np.zeros(1, dtype=np.int64), mixed(whole)),)


def _distinct_rows(frame: pl.DataFrame, key: bytes) -> tuple[_Hashes, NDArray[np.intp]]:
    """Keyed hashes of the distinct rows, and their multiplicities."""
    combined = np.zeros(frame.height, dtype=np.uint64)
    for index, name in enumerate(sorted(frame.columns)):
        combined = mixed(combined * _SALT + _value_hashes(frame[name], key, index))
    return np.unique(combined, return_counts=True)


def _marks(kind: str, level: int, levels: NDArray[np.int64], hashes: _Hashes) -> PersonFingerprints:
    """Marks with the sampling level of a value before its hash, so a finer sample can be reduced to a coarser one."""
    marks = (levels.astype(np.uint64) << np.uint64(MARK_BITS)) | (hashes >> np.uint64(64 - MARK_BITS))
    return PersonFingerprints(kind, level, tuple(np.unique(marks).tolist()))


def _sampled(spread: _Hashes, limit: int = MARKS_KEPT) -> tuple[int, NDArray[np.int64]]:
    """Return the lowest level at which at most ``limit`` values are kept, and the level of each value; each level keeps
    about half of the values of the one below.
    """
    level, levels = 0, _levels(spread)
    while np.count_nonzero(levels >= level) > limit:
        level += 1
    return level, levels


def _levels(spread: _Hashes) -> NDArray[np.int64]:
    """The number of leading zeros, of 32: half of all values have none, a quarter one, and so on."""
    top = (spread >> np.uint64(32)).astype(np.float64)
    return 32 - np.where(top > 0, np.floor(np.log2(np.maximum(top, 1))).astype(np.int64) + 1, 0)


def _value_hashes(values: pl.Series, key: bytes, place: int | None = None) -> _Hashes:
    """Return a hash per row; each distinct value is hashed once.

    With a ``place`` (index of the column) hashes differ by column and type; without one equal readings are equal: 7,
    7.0 and '7'.
    """
    prefix = "" if place is None else f"{place}"
    if len(values) <= _SHORT and (values.dtype == pl.String or values.dtype.is_integer()):
        listed = values.to_list()
        index_of = {value: number for number, value in enumerate(dict.fromkeys(listed))}
        texts_shown = index_of if place is not None else _plain(pl.Series(list(index_of), dtype=values.dtype))
        texts = [prefix if value is None else f"{prefix} {value}" for value in texts_shown]
        return _hashes(texts, key)[np.fromiter(map(index_of.__getitem__, listed), dtype=np.intp, count=len(listed))]
    coded = values.cast(pl.Categorical) if values.dtype == pl.String else values
    present = coded.drop_nulls()
    distinct = present.unique()
    texts_shown = distinct.cast(pl.String) if place is not None else _plain(distinct)
    hashes = _hashes([f"{prefix} {text}" for text in texts_shown], key)
    numbers, rows = distinct.to_physical().to_numpy(), present.to_physical().to_numpy()
    row_hashes = np.full(len(values), _hashes([prefix], key)[0], dtype=np.uint64)
    if not len(distinct):
        return row_hashes
    low, high = numbers.min(), numbers.max()
    if numbers.dtype.kind in "iu" and int(high) - int(low) < _SMALL_RANGE:
        by_number = np.zeros(int(high) - int(low) + 1, dtype=np.uint64)
        by_number[numbers - low] = hashes
        result = by_number[rows - low]
    else:
        order = np.argsort(numbers)
        result = hashes[order][np.searchsorted(numbers[order], rows)]
    row_hashes[~coded.is_null().to_numpy()] = result
    return row_hashes


def _only_numbers(values: pl.Series) -> bool:
    """True if the values, also as text, are just running numbers, as in every table: 90 % of them are dense."""
    if values.dtype == pl.String:
        values = values.str.strip_chars().cast(pl.Int64, strict=False)
    if not values.dtype.is_integer() or not len(values) or values.null_count():
        return False
    ordered = values.sort()
    # A few distant numbers do not make the rest identifying.
    trimmed = len(ordered) // 20
    middle = ordered[trimmed : len(ordered) - trimmed]
    return int(middle[-1]) - int(middle[0]) < 2 * len(middle)


def _hashes(texts: Sequence[str], key: bytes) -> _Hashes:
    """The keyed hash of each text."""
    keyed, digests = hashlib.blake2b(key=key, digest_size=8), []
    for text in texts:
        # A copied hash state starts behind the key, which need not be hashed again.
        state = keyed.copy()
        state.update(text.encode())
        digests.append(state.digest())
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)
