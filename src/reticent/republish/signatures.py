"""Signatures: the sets of sensitive values that groups show, as rows of one matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_MIXER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class SignatureBook:
    """Distinct signatures: ``rows[i]`` are the rising codes of signature ``i``, padded with -1."""

    rows: Ints

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """The largest number of values of a signature."""
        return int(self.rows.shape[1])

    @property
    def sizes(self) -> Ints:
        """The number of values of each signature."""
        sizes: Ints = (self.rows >= 0).sum(axis=1)
        return sizes

    def places(self, signature: Ints, value: Ints) -> Ints:
        """The place of each ``value`` in its ``signature``; -1 where it is not in it."""
        hits = self.rows[signature] == value[:, None]
        return np.where(hits.any(axis=1), hits.argmax(axis=1), -1)

    @classmethod
    def of(cls, rows: Ints) -> tuple[SignatureBook, Ints]:
        """The distinct ones of some padded rows, and which of them each row is."""
        distinct, number = _distinct(rows)
        return cls(distinct), number

    def with_more(self, rows: Ints) -> tuple[SignatureBook, Ints, Ints]:
        """A book with further padded rows; where each signature of this book stands in it, and each of the ``rows``."""
        width = max(self.width, rows.shape[1])
        book, number = SignatureBook.of(np.concatenate([_padded(self.rows, width), _padded(rows, width)]))
        return book, number[: len(self)], number[len(self) :]


def padded_rows(offsets: Ints, values: Ints) -> Ints:
    """Values in CSR form as rows padded with -1; values of a row must rise."""
    sizes = np.diff(offsets)
    width = int(sizes.max(initial=1))
    rows = np.full((len(sizes), width), -1, dtype=np.int64)
    inside = np.arange(width) < sizes[:, None]
    rows[inside] = values
    return rows


def flat_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Padded rows in CSR form: offsets and values."""
    inside = rows >= 0
    offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    return offsets, rows[inside]


def _padded(rows: Ints, width: int) -> Ints:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=-1)


def _distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Distinct rows and which one each row is: by a hash of the row, which is then compared in full."""
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for place in range(rows.shape[1]):
        mixed = (mixed ^ (rows[:, place] + 2).astype(np.uint64)) * _MIXER
        mixed ^= mixed >> np.uint64(29)
    _, first, number = np.unique(mixed, return_index=True, return_inverse=True)
    distinct = rows[first]
    if np.array_equal(distinct[number], rows):
        return distinct, number.astype(np.int64)
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    return distinct, number.reshape(-1).astype(np.int64)
