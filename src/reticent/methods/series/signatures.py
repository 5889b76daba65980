"""Signatures: the sets of sensitive values of groups, as rows of one matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import first_rows, number, pack
from reticent.methods.series._kernels import find_places

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SignatureBook:
    """Distinct signatures: ``rows[i]`` are the increasing codes of signature ``i``, padded with -1."""

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
        """Return the index of each ``value`` in its ``signature``; -1 if absent."""
        indices: Ints = find_places(self.rows, signature, value)
        return indices

    @classmethod
    def of(cls, rows: Ints) -> tuple[SignatureBook, Ints]:
        """Return the distinct padded rows, and the index of each row among them."""
        return cls(np.empty((0, 1), dtype=np.int64)).with_more(rows)

    def with_more(self, rows: Ints) -> tuple[SignatureBook, Ints]:
        """Return a book extended by further padded rows, and their indexes in it; existing signatures keep their index."""
        width = max(self.width, rows.shape[1])
        combined = np.concatenate([_padded(self.rows, width), _padded(rows, width)])
        codes = [combined[:, index_of] + 1 for index_of in range(width)]
        ids, count = number(*pack(codes, [int(combined.max(initial=-1)) + 2] * width, len(combined)))
        index_of = np.full(count, -1, dtype=np.int64)
        index_of[ids[: len(self)]] = np.arange(len(self))
        new = np.flatnonzero(index_of < 0)
        index_of[new] = np.arange(len(self), len(self) + len(new))
        return SignatureBook(np.concatenate([combined[: len(self)], combined[first_rows(ids, count)[new]]])), index_of[
            ids[len(self) :]
        ]


def padded_rows(offsets: Ints, values: Ints) -> Ints:
    """Convert CSR values to rows padded with -1; values of a row must be increasing."""
    sizes = np.diff(offsets)
    width = int(sizes.max(initial=1))
    rows = np.full((len(sizes), width), -1, dtype=np.int64)
    is_filled = np.arange(width) < sizes[:, None]
    rows[is_filled] = values
    return rows


def flat_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Convert padded rows to CSR: offsets and values."""
    is_filled = rows >= 0
    offsets = np.concatenate([[0], np.cumsum(is_filled.sum(axis=1))])
    return offsets, rows[is_filled]


def _padded(rows: Ints, width: int) -> Ints:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=-1)
