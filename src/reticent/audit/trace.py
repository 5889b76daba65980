"""Trace classes: people whom no answered query distinguishes (column compression).

Two people are in one class if every answered query gives them the same coefficient (for a plain sum: when they are
members of the same answered queries). A class is one column of the matrix of answered queries, and only a class of one
person can be exposed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.audit.decision import AggregateQuery

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Refinement:
    """How a query splits the classes.

    The ``whole_*`` arrays hold the classes that the query touches and does not split. The ``piece_*`` arrays hold one
    entry for each part of a split class that the query touches, sorted by class and coefficient; ``rest`` is the size
    of the part of its class outside the query, which may be 0.
    """

    query: AggregateQuery
    whole_class: Integers
    whole_coefficient: Integers
    piece_class: Integers
    piece_coefficient: Integers
    piece_size: Integers
    rest: Integers

    @property
    def cut_classes(self) -> int:
        """The number of classes that the query splits."""
        return int((np.diff(self.piece_class, prepend=-1) != 0).sum())

    def parts(self) -> list[tuple[int, int]]:
        """Return ``(coefficient, size)`` of every part of the only class that is split."""
        listed = list(zip(self.piece_coefficient.tolist(), self.piece_size.tolist(), strict=True))
        return [*listed, (0, int(self.rest[0]))] if self.rest[0] else listed


@dataclass(frozen=True)
class ClassCut:
    """The effect of a refinement: each new class with the class it came from, and the coefficients of all classes."""

    new: Integers
    parent: Integers
    coefficient: Integers


class Traces:
    """The class of every person, and the size of every class. Mutable: every answered query may split classes."""

    def __init__(self, n: int) -> None:
        self.labels: Integers = np.zeros(n, dtype=np.int64)
        self.sizes: Integers = np.array([n], dtype=np.int64)
        self._untouched: int | None = 0

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.sizes)

    def refine(self, query: AggregateQuery) -> Refinement:
        """Return how ``query`` would split the classes; nothing changes."""
        touched = self.labels[query.members]
        if query.coefficients is None:
            inside = np.bincount(touched, minlength=self.count)
            run_class = np.flatnonzero(inside != 0)
            run_coefficient = np.ones(len(run_class), dtype=np.int64)
            run_size = inside[run_class]
        else:
            runs, run_size = np.unique(np.stack([touched, query.coefficients]), axis=1, return_counts=True)
            run_class, run_coefficient = runs
            inside = np.zeros(self.count, dtype=np.int64)
            np.add.at(inside, run_class, run_size)
        whole = run_size == self.sizes[run_class]
        cut = ~whole
        pieces = run_class[cut]
        rest = self.sizes[pieces] - inside[pieces]
        return Refinement(
            query, run_class[whole], run_coefficient[whole], pieces, run_coefficient[cut], run_size[cut], rest
        )

    def cut(self, refinement: Refinement) -> ClassCut:
        """Apply a refinement. The part outside the query keeps the class; if there is none, the first piece does."""
        query, pieces = refinement.query, refinement.piece_class
        first = np.diff(pieces, prepend=-1) != 0
        moves = ~(first & (refinement.rest == 0))
        new = self.count + np.arange(int(moves.sum()))
        names = pieces.copy()
        names[moves] = new
        touched = self.labels[query.members]
        is_cut = np.zeros(self.count, dtype=bool)
        is_cut[pieces] = True
        movers = is_cut[touched]
        if query.coefficients is None:
            name_of = np.empty(self.count, dtype=np.int64)
            name_of[pieces] = names
            target = name_of[touched[movers]]
        else:
            target = names[_positions(refinement, touched[movers], query.coefficients[movers])]
        self.labels[query.members[movers]] = target
        self.sizes = np.concatenate([self.sizes, refinement.piece_size[moves]])
        self.sizes[pieces] = refinement.rest
        self.sizes[names] = refinement.piece_size
        coefficient = np.zeros(self.count, dtype=np.int64)
        coefficient[refinement.whole_class] = refinement.whole_coefficient
        coefficient[names] = refinement.piece_coefficient
        if self._untouched is not None and coefficient[self._untouched]:
            self._untouched = None
        return ClassCut(new, pieces[moves], coefficient)

    def extend(self, n: int) -> int | None:
        """Add people who are in no query; return the class created for them, or None if such a class existed."""
        added, made = n - self.n, None
        if not added:
            return None
        if self._untouched is None:
            made = self._untouched = self.count
            self.sizes = np.append(self.sizes, 0)
        self.labels = np.append(self.labels, np.full(added, self._untouched))
        self.sizes[self._untouched] += added
        return made


def _positions(refinement: Refinement, classes: Integers, coefficients: Integers) -> Integers:
    """Return the index of each (class, coefficient) among the pieces, which are sorted by both."""
    keys = np.stack([refinement.piece_class, refinement.piece_coefficient])
    wanted = np.stack([classes, coefficients])
    _, inverse = np.unique(np.concatenate([keys, wanted], axis=1), axis=1, return_inverse=True)
    inverse = inverse.ravel()
    place = np.empty(keys.shape[1], dtype=np.int64)
    place[inverse[: keys.shape[1]]] = np.arange(keys.shape[1])
    return place[inverse[keys.shape[1] :]]
