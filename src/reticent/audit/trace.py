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
        """Return how ``query`` would split the classes; nothing changes.

        A class wholly inside with one coefficient stays whole; the members of any other class form one piece per
        coefficient.
        """
        touched = self.labels[query.members]
        if query.coefficients is None:
            inside = np.bincount(touched, minlength=self.count)
            group_class = np.flatnonzero(inside != 0)
            group_coefficient = np.ones(len(group_class), dtype=np.int64)
            group_size = inside[group_class]
        else:
            groups, group_size = np.unique(np.stack([touched, query.coefficients]), axis=1, return_counts=True)
            group_class, group_coefficient = groups
            inside = np.zeros(self.count, dtype=np.int64)
            np.add.at(inside, group_class, group_size)
        whole = group_size == self.sizes[group_class]
        is_piece = ~whole
        pieces = group_class[is_piece]
        rest = self.sizes[pieces] - inside[pieces]
        return Refinement(
            query,
            group_class[whole],
            group_coefficient[whole],
            pieces,
            group_coefficient[is_piece],
            group_size[is_piece],
            rest,
        )

    def cut(self, refinement: Refinement) -> ClassCut:
        """Split the classes by a refinement, and return the new classes, their parents and the coefficient of every
        class.

        The part outside the query keeps the label of the class; if there is none, its first piece does.
        """
        query, pieces = refinement.query, refinement.piece_class
        first = np.diff(pieces, prepend=-1) != 0
        is_new = ~(first & (refinement.rest == 0))
        new_labels = self.count + np.arange(int(is_new.sum()))
        piece_label = pieces.copy()
        piece_label[is_new] = new_labels
        touched = self.labels[query.members]
        is_cut = np.zeros(self.count, dtype=bool)
        is_cut[pieces] = True
        is_moved = is_cut[touched]
        if query.coefficients is None:
            label_of_class = np.empty(self.count, dtype=np.int64)
            label_of_class[pieces] = piece_label
            target = label_of_class[touched[is_moved]]
        else:
            target = piece_label[_positions(refinement, touched[is_moved], query.coefficients[is_moved])]
        self.labels[query.members[is_moved]] = target
        self.sizes = np.concatenate([self.sizes, refinement.piece_size[is_new]])
        self.sizes[pieces] = refinement.rest
        self.sizes[piece_label] = refinement.piece_size
        coefficient = np.zeros(self.count, dtype=np.int64)
        coefficient[refinement.whole_class] = refinement.whole_coefficient
        coefficient[piece_label] = refinement.piece_coefficient
        if self._untouched is not None and coefficient[self._untouched]:
            self._untouched = None
        return ClassCut(new_labels, pieces[is_new], coefficient)

    def extend(self, n: int) -> int | None:
        """Add people who are in no query; return the class created for them, or None if such a class existed."""
        added, new_class = n - self.n, None
        if not added:
            return None
        if self._untouched is None:
            new_class = self._untouched = self.count
            self.sizes = np.append(self.sizes, 0)
        self.labels = np.append(self.labels, np.full(added, self._untouched))
        self.sizes[self._untouched] += added
        return new_class


def _positions(refinement: Refinement, classes: Integers, coefficients: Integers) -> Integers:
    """Return the index of each (class, coefficient) among the pieces, which are sorted by both."""
    keys = np.stack([refinement.piece_class, refinement.piece_coefficient])
    wanted = np.stack([classes, coefficients])
    _, inverse = np.unique(np.concatenate([keys, wanted], axis=1), axis=1, return_inverse=True)
    inverse = inverse.ravel()
    piece_of = np.empty(keys.shape[1], dtype=np.int64)
    piece_of[inverse[: keys.shape[1]]] = np.arange(keys.shape[1])
    return piece_of[inverse[keys.shape[1] :]]
