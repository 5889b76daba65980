"""Trace classes: people who are in exactly the same queries share one column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from reticent.audit.offline.question_log import LogEntry

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class PersonClasses:
    """``of`` maps each person to its class; ``first`` is the lowest person of each class and ``size`` its size."""

    of: IntArray
    first: IntArray
    size: IntArray

    @classmethod
    def traced(cls, entries: tuple[LogEntry, ...], n: int) -> PersonClasses:
        """Partition people into classes that no query distinguishes, by one query after the other.

        Exact, and linear in the number of members.
        """
        class_of = np.zeros(n, dtype=np.int64)
        size = np.array([n], dtype=np.int64)
        for entry in entries:
            members = entry.query.members
            for part in _parts(members, entry.query.coefficients):
                inside = np.bincount(class_of[part], minlength=len(size))
                split = np.flatnonzero((inside > 0) & (inside < size))
                renamed = np.arange(len(size))
                renamed[split] = len(size) + np.arange(len(split))
                class_of[part] = renamed[class_of[part]]
                size = np.concatenate([size, inside[split]])
                size[split] -= inside[split]
        _, first, class_of = np.unique(class_of, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        class_of = rank[class_of].astype(np.int64)
        return cls(class_of, first[order].astype(np.int64), np.bincount(class_of).astype(np.int64))

    def __len__(self) -> int:
        return len(self.first)

    def matrix(self, entries: tuple[LogEntry, ...]) -> sparse.csr_array:
        """Return the matrix of the queries: one row per query, one column per class, the coefficient of its members."""
        is_first = np.zeros(len(self.of), dtype=bool)
        is_first[self.first] = True
        columns, values, ends = [], [], [0]
        for entry in entries:
            is_kept = is_first[entry.query.members]
            columns.append(self.of[entry.query.members[is_kept]])
            weights = entry.query.coefficients
            values.append(np.ones(int(is_kept.sum()), dtype=np.int64) if weights is None else weights[is_kept])
            ends.append(ends[-1] + len(columns[-1]))
        data = np.concatenate(values) if values else np.zeros(0, dtype=np.int64)
        indices = np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64)
        return sparse.csr_array((data, indices, np.array(ends)), shape=(len(entries), len(self)))


def _parts(members: IntArray, coefficients: IntArray | None) -> list[IntArray]:
    """Return the members grouped by coefficient."""
    if coefficients is None:
        return [members]
    return [members[coefficients == value] for value in np.unique(coefficients)]
