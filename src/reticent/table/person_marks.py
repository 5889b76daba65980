"""The same people under another name: keyed fingerprints of the values that identify them, few enough to be kept in the ledger.

Of every identifying column a sample is kept as keyed hashes. Whether a value is in the sample depends on the value alone, so two tables that share people
share marks, whatever else about them changed. Numbers that only count the rows identify nobody; together with a value that nearly everybody has alone they
do. A table is known by its rows too: each distinct combination of values with the number of rows that have it.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.disclosures import MARK_BITS, MARKS_KEPT, PersonFingerprints
from reticent.base.packing import mixed
from reticent.table.table import Table

_FEWEST_ROWS = 20
# Beyond these it would take more than a small part of the time that publishing takes.
_MOST_PEOPLE, _MOST_ROWS = 2_000_000, 500_000
_SMALL_RANGE = 1 << 20
# Columns up to this length are faster as lists than as queries.
_SHORT = 2_500
_MOST_NUMBERED = 4
_Hashes = NDArray[np.uint64]


def marks_of_people(table: Table, key: bytes) -> tuple[PersonFingerprints, ...]:
    """The marks of a table: of its key and identifiers, and of its rows where they are in memory and enough to be told from others'.

    Rows are marked beside identifiers, so that a copy without these is recognised too.
    """
    named = dict.fromkeys((*((table.key,) if table.key is not None else ()), *table.identifiers))
    columns = [name for name in named if name in table.schema]
    marks: list[PersonFingerprints | None] = []
    if columns and table.rows <= _MOST_PEOPLE:
        parts = {name: [chunk[name] for chunk in table.held.chunks([name])] for name in columns}
        marks = [people_marks(pl.concat(each), key) for each in parts.values() if each]
    here = not table.streamed and table.rows <= _MOST_ROWS
    if columns and here and not any(marks):
        others = [table.frame[name] for name in (*table.sensitive, *table.quasi)]
        marks = list(numbered_marks(table.frame[columns[0]], others, key))
    if here:
        marks.append(rows_marks(pl.DataFrame([table.frame[name] for name in (*table.quasi, *table.sensitive)]), key))
    return tuple(each for each in marks if each is not None)


def people_marks(values: pl.Series, key: bytes) -> PersonFingerprints | None:
    """The marks of one identifying column; None where it only numbers the rows, which tells nobody from anybody."""
    present = values.drop_nulls().unique()
    if not len(present) or _only_numbers(present):
        return None
    texts = present.cast(pl.String).str.strip_chars().str.to_lowercase().unique().to_list()
    spread = np.fromiter((zlib.crc32(text.encode()) for text in texts), dtype=np.uint64, count=len(texts)) << np.uint64(
        32
    )
    level, levels = _sampled(spread)
    kept = np.flatnonzero(levels >= level)
    return _marks("people", level, levels[kept], _hashes([texts[place] for place in kept.tolist()], key))


def numbered_marks(numbers: pl.Series, columns: Sequence[pl.Series], key: bytes) -> tuple[PersonFingerprints, ...]:
    """The marks of people who are only numbered: of the number with each value of a column in which nearly everybody has a value of her own."""
    found: list[PersonFingerprints] = []
    for values in columns:
        if len(found) == _MOST_NUMBERED:
            break
        if 2 * values.n_unique() > len(values) and not _only_numbers(values.drop_nulls()):
            texts = pl.DataFrame({"number": numbers.cast(pl.String), "value": _plain(values)})
            pairs = texts.drop_nulls().select(pl.format("{} {}", "number", "value"))
            marks = people_marks(pairs.to_series(), key)
            found += [] if marks is None else [replace(marks, kind="numbered")]
    return tuple(found)


def _plain(values: pl.Series) -> pl.Series:
    """Values as text; 7, 7.0 and 7.00 are one."""
    texts = values.cast(pl.String)
    return texts.str.replace(r"^(-?\d+)\.0+$", "$1").str.replace(r"^(-?\d+\.\d*[1-9])0+$", "$1")


def rows_marks(frame: pl.DataFrame, key: bytes) -> PersonFingerprints | None:
    """The marks of rows: keyed hashes of the distinct combinations, each with how often it occurs."""
    if frame.height < _FEWEST_ROWS or not frame.width:
        return None
    combined = np.zeros(frame.height, dtype=np.uint64)
    for place, name in enumerate(sorted(frame.columns)):
        combined = mixed(combined * np.uint64(0x9E3779B97F4A7C15) + _value_hashes(frame[name], place, key))
    distinct, counts = np.unique(combined, return_counts=True)
    if len(distinct) < _FEWEST_ROWS:
        return None
    level, levels = _sampled(distinct)
    kept = levels >= level
    hashes = mixed(distinct[kept] + counts[kept].astype(np.uint64))
    return _marks("rows", level, levels[kept], hashes)


def _marks(kind: str, level: int, levels: NDArray[np.int64], hashes: _Hashes) -> PersonFingerprints:
    """The level of a value goes before its hash, so that a finer sample can be cut down to a coarser one."""
    marks = (levels.astype(np.uint64) << np.uint64(MARK_BITS)) | (hashes >> np.uint64(64 - MARK_BITS))
    return PersonFingerprints(kind, level, tuple(np.unique(marks).tolist()))


def _sampled(spread: _Hashes) -> tuple[int, NDArray[np.int64]]:
    """The lowest level from which on few enough values are kept, and the level of each value."""
    level, levels = 0, _levels(spread)
    while np.count_nonzero(levels >= level) > MARKS_KEPT:
        level += 1
    return level, levels


def _levels(spread: _Hashes) -> NDArray[np.int64]:
    """The number of leading zeros, of 32: half of all values have none, a quarter one, and so on."""
    top = (spread >> np.uint64(32)).astype(np.float64)
    return 32 - np.where(top > 0, np.floor(np.log2(np.maximum(top, 1))).astype(np.int64) + 1, 0)


def _value_hashes(values: pl.Series, place: int, key: bytes) -> _Hashes:
    """A hash for every row; each distinct value is hashed once."""
    if len(values) <= _SHORT and (values.dtype == pl.String or values.dtype.is_integer()):
        listed = values.to_list()
        places = {value: number for number, value in enumerate(dict.fromkeys(listed))}
        texts = [f"{place}" if value is None else f"{place} {value}" for value in places]
        return _hashes(texts, key)[np.fromiter(map(places.__getitem__, listed), dtype=np.intp, count=len(listed))]
    coded = values.cast(pl.Categorical) if values.dtype == pl.String else values
    present = coded.drop_nulls()
    distinct = present.unique()
    hashes = _hashes([f"{place} {text}" for text in distinct.cast(pl.String)], key)
    numbers, rows = distinct.to_physical().to_numpy(), present.to_physical().to_numpy()
    found = np.full(len(values), _hashes([f"{place}"], key)[0], dtype=np.uint64)
    if not len(distinct):
        return found
    low, high = numbers.min(), numbers.max()
    if numbers.dtype.kind in "iu" and int(high) - int(low) < _SMALL_RANGE:
        by_number = np.zeros(int(high) - int(low) + 1, dtype=np.uint64)
        by_number[numbers - low] = hashes
        told = by_number[rows - low]
    else:
        order = np.argsort(numbers)
        told = hashes[order][np.searchsorted(numbers[order], rows)]
    found[~coded.is_null().to_numpy()] = told
    return found


def _only_numbers(values: pl.Series) -> bool:
    """Whether values are no more than running numbers, also as text: every table has those."""
    if values.dtype == pl.String:
        values = values.str.strip_chars().cast(pl.Int64, strict=False)
    if not values.dtype.is_integer() or not len(values) or values.null_count():
        return False
    low, high = int(values.min()), int(values.max())  # type: ignore[arg-type]  # whole numbers
    return high - low < 2 * len(values)


def _hashes(texts: Sequence[str], key: bytes) -> _Hashes:
    """The keyed hash of each text."""
    keyed, digests = hashlib.blake2b(key=key, digest_size=8), []
    for text in texts:
        # A copy is ready for the text; the key need not be read again.
        one = keyed.copy()
        one.update(text.encode())
        digests.append(one.digest())
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)
