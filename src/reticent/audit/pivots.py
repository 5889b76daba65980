"""Pivots of the answered queries: an LU factorisation that yields a null vector for any further query.

Every independent answered query a_k has a pivot d_k: e_i - e_j for two people of a class that it split, or e_c for a
person. The square matrix T with T[k, j] = a_k.d_j is kept as T = L U (U with a unit diagonal), and grows by a row and a
column with each answer. A split leaves the new column of U empty, because i and j are in the same earlier queries. For
any class c, e_c - sum y_j d_j with T y = A e_c is a null vector of A: as needed for a query that splits no class. A few
of them, the spares, are computed at a time, because reading L and U takes longer than the arithmetic, and updated with
every later answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from reticent.audit import _kernels as kernels
from reticent.audit.trace import ClassCut

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Array = TypeVar("Array", bound=NDArray[Any])


SPARES = 4


@dataclass
class Spare:
    """The null vector e_person - sum weights[j] d_j; ``column`` solves L column = A e_person. Mutable: updated with each answer."""

    person: int
    column: Words
    weights: Words

    def follow(self, value: int, pivot: Spare | None, inverse: int, modulus: np.uint64) -> None:
        """Keep this a null vector after a further query is answered: subtract the multiple of ``pivot`` that makes its
        product with the query, ``value``, 0.

        ``inverse`` is the inverse, modulo the prime, of the product of the pivot with the query.
        """
        entry = np.uint64(value * inverse % int(modulus))
        if pivot is not None:
            kernels.subtract(self.weights, pivot.weights, entry, modulus)
        self.column = np.append(self.column, entry)
        self.weights = np.append(self.weights, entry)


@dataclass(frozen=True)
class Direction:
    """The null vector e_label - sum weights[j] d_j over the classes, and the inverse of the query's product with it."""

    label: int
    weights: Words
    inverse: int


class Pivots:
    """The factorisation, the pivots, and the coefficient of every class in every answered query."""

    def __init__(self, modulus: np.uint64) -> None:
        """Start an LU factorisation without queries: one row and one pivot person, or pair of people, for each
        independent query.
        """
        self._modulus = modulus
        self._prime = int(modulus)
        self.rank = 0
        self._people: Integers = np.empty((2, 8), dtype=np.int64)
        self._inverses: Words = np.empty(8, dtype=np.uint64)
        self._dense: NDArray[np.bool_] = np.empty(8, dtype=bool)
        self._spares: list[Spare] = []
        # Row k: L left of the diagonal, U right of it. The second array is the transpose, so that all products run along memory.
        self._factors: Words = np.zeros((8, 8), dtype=np.uint64)
        self._transposed: Words = np.zeros((8, 8), dtype=np.uint64)
        # One bit plane per coefficient of each answered query: the classes with that coefficient.
        self._planes = 0
        self._plane_row: Integers = np.empty(8, dtype=np.int64)
        self._plane_weight: Words = np.empty(8, dtype=np.uint64)
        self._traces: NDArray[np.uint8] = np.zeros((8, 1), dtype=np.uint8)

    @property
    def state_bytes(self) -> int:
        arrays = (self._people, self._inverses, self._dense, self._factors, self._transposed)
        return sum(array.nbytes for array in (*arrays, self._plane_row, self._plane_weight, self._traces))

    def places(self, labels: Integers) -> tuple[Integers, Integers]:
        """Return the classes where pivots add and subtract; -1 for none."""
        plus, minus = self._people[:, : self.rank]
        return labels[plus], np.where(minus >= 0, labels[minus], -1)

    def prepare(self) -> None:
        """Load or compile the search for a class, which most sessions never need."""
        self._find(np.zeros(self.rank, dtype=np.uint64), np.zeros(1, dtype=np.int64))

    def add_cut(self, labels: Integers, cut: ClassCut, inside: int, outside: int) -> None:
        """Add a query that splits classes to the factorisation; its pivot is a pair of people, ``inside`` and
        ``outside``, from two parts of one class.

        Prepared null vectors ("spares") are updated, so that they remain null vectors.
        """
        self._copy_traces(cut)
        step = int(cut.coefficient[labels[inside]] - cut.coefficient[labels[outside]])
        row = kernels.solve_row(self._transposed, self._dense, self._row(labels, cut.coefficient), self._modulus)
        inverse = pow(step, -1, self._prime)
        for spare in self._spares:
            spare.follow(self._value(spare, row, labels, cut.coefficient), None, inverse, self._modulus)
        self._append(row, None, inside, outside, inverse)
        self._add_planes(cut.coefficient)

    def add_whole(self, labels: Integers, coefficient: Integers) -> Direction:
        """Add an independent query that splits no class, and return a null vector of the earlier queries with which its
        product is not 0.

        A prepared null vector ("spare") is used if one serves, otherwise new ones are computed.
        """
        row = kernels.solve_row(self._transposed, self._dense, self._row(labels, coefficient), self._modulus)
        serving = self._serving(row, labels, coefficient)
        if not serving:
            self._spares = self._made(labels, self._some_classes(labels, coefficient))
            serving = self._serving(row, labels, coefficient)
        if not serving:
            self._spares = self._made(labels, [self._find(row, coefficient)])
            serving = self._serving(row, labels, coefficient)
        (pivot, value), *other_spares = serving
        inverse = pow(value, -1, self._prime)
        for spare, product in other_spares:
            spare.follow(product, pivot, inverse, self._modulus)
        self._spares = [spare for spare, _ in other_spares]
        self._append(row, pivot.column, pivot.person, -1, inverse)
        self._add_planes(coefficient)
        return Direction(int(labels[pivot.person]), pivot.weights, inverse)

    def _serving(self, row: Words, labels: Integers, coefficient: Integers) -> list[tuple[Spare, int]]:
        """Return the prepared null vectors with which the product of the query is not 0, with that product. The others
        are dropped: they are mostly 0.
        """
        valued = [(spare, self._value(spare, row, labels, coefficient)) for spare in self._spares]
        return [(spare, value) for spare, value in valued if value]

    def _value(self, spare: Spare, row: Words, labels: Integers, coefficient: Integers) -> int:
        """Return the product, modulo the prime, of a query with a prepared null vector."""
        spare_coefficient = int(coefficient[labels[spare.person]])
        return (spare_coefficient - int(kernels.dot(row, spare.column, self._modulus))) % self._prime

    def _made(self, labels: Integers, classes: list[int]) -> list[Spare]:
        """Return null vectors of the answered queries, one for each of these classes."""
        columns = np.stack([self._column(label) for label in classes])
        columns = kernels.solve_columns(self._factors, self._inverses, columns, self._modulus)
        weights = kernels.solve_weights(self._factors, columns, self._modulus)
        people = [int(np.argmax(labels == label)) for label in classes]
        return [Spare(*parts) for parts in zip(people, columns, weights, strict=True)]

    def _some_classes(self, labels: Integers, coefficient: Integers) -> list[int]:
        """Return classes without a pivot, one of them in the query. The choice affects only speed, so it need not be
        secret.
        """
        free = np.ones(len(coefficient), dtype=bool)
        free[labels[self._people[0, : self.rank]]] = False
        generator = np.random.default_rng(self.rank)
        inside, anywhere = np.flatnonzero(free & (coefficient != 0)), np.flatnonzero(free)
        picked = [
            *generator.permutation(inside)[:1],
            *generator.choice(anywhere, min(SPARES, len(anywhere)), replace=False),
        ]
        return list(dict.fromkeys(map(int, picked)))[:SPARES]

    def _row(self, labels: Integers, coefficient: Integers) -> Words:
        """Return the query's product with every pivot."""
        plus, minus = self.places(labels)
        return self._reduced(coefficient[plus] - np.where(minus >= 0, coefficient[minus], 0))

    def _column(self, label: int) -> Words:
        """Return the coefficients of one class in all answered queries."""
        bits = np.unpackbits(self._trace(label + 1)[label], count=self._planes, bitorder="little").view(bool)
        column = np.zeros(self.rank, dtype=np.uint64)
        column[self._plane_row[: self._planes][bits]] = self._plane_weight[: self._planes][bits]
        return column

    def _find(self, row: Words, coefficient: Integers) -> int:
        """Return the index of a class where the query differs from the combination of answered queries that it equals
        on the pivots.
        """
        combination = kernels.solve_combination(self._transposed, self._inverses, row, self._modulus)
        planes = slice(self._planes)
        weights = kernels.products(combination[self._plane_row[planes]], self._plane_weight[planes], self._modulus)
        traces = self._trace(len(coefficient))
        return int(kernels.first_different(self._reduced(coefficient), traces, weights, self._modulus))

    def _reduced(self, values: Integers) -> Words:
        return (values % self._prime).astype(np.uint64)

    def _append(self, row: Words, column: Words | None, plus: int, minus: int, inverse: int) -> None:
        """Append the row of a query and its pivot (person ``plus``, or the pair ``plus`` and ``minus``) to the
        factorisation, growing the arrays as needed.
        """
        k = self.rank
        self._people = _grown(self._people, 2, k + 1)
        self._inverses = _grown(self._inverses, k + 1)
        self._dense = _grown(self._dense, k + 1)
        self._factors = _grown(self._factors, k + 1, k + 1)
        self._transposed = _grown(self._transposed, k + 1, k + 1)
        self._people[:, k] = plus, minus
        self._inverses[k] = inverse
        self._dense[k] = column is not None
        self._factors[k, :k] = row
        self._transposed[:k, k] = row
        if column is not None:
            self._transposed[k, :k] = column
            self._factors[:k, k] = column
        self.rank += 1

    def _trace(self, classes: int) -> NDArray[np.uint8]:
        self._traces = _grown(self._traces, classes, 0)
        return self._traces

    def _copy_traces(self, cut: ClassCut) -> None:
        traces = self._trace(len(cut.coefficient))
        traces[cut.new] = traces[cut.parent]

    def _add_planes(self, coefficient: Integers) -> None:
        """Add bit planes of traces for a new row: one for each distinct coefficient, which marks the classes that have it."""
        classes = np.flatnonzero(coefficient != 0)
        weights = coefficient[classes]
        for weight in [1] if (weights == 1).all() else np.unique(weights).tolist():
            plane = self._planes
            self._plane_row = _grown(self._plane_row, plane + 1)
            self._plane_weight = _grown(self._plane_weight, plane + 1)
            self._traces = _grown(self._traces, 0, plane // 8 + 1)
            self._plane_row[plane] = self.rank - 1
            self._plane_weight[plane] = weight % self._prime
            self._trace(len(coefficient))[classes[weights == weight], plane // 8] |= np.uint8(1 << (plane % 8))
            self._planes += 1


def _grown(array: Array, *sizes: int) -> Array:
    """Return ``array`` with room for these sizes along its axes: an axis grows by half, and new room is filled with zeros."""
    if all(size <= room for size, room in zip(sizes, array.shape, strict=True)):
        return array
    shape = [
        max(size, room + room // 2) if size > room else room for size, room in zip(sizes, array.shape, strict=True)
    ]
    larger = np.zeros(shape, dtype=array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return cast(Array, larger)
