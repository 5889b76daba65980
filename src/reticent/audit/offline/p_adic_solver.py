"""Exact solutions of large integer systems by p-adic lifting: solve modulo a random prime, lift digit by digit, check
in integers. Source: [Dixon1982].

The system is ``rows rows^T w = b`` for the independent rows of a log's matrix. Its solution is unique over the
rationals, so a lifted candidate that passes the check in integers is the solution, whatever the prime.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from reticent.audit.primes import is_prime

IntArray = NDArray[np.int64]
BigArray = NDArray[np.object_]

_BLOCK = 64
_LIMIT = 2**62


def random_prime() -> int:
    """Return a private random prime between 2^30 and 2^31."""
    while True:
        candidate = secrets.randbits(30) | 2**30 | 1
        if is_prime(candidate):
            return candidate


def multiply(left: IntArray, right: IntArray, prime: int) -> IntArray:
    """Return the matrix product modulo a 31-bit prime; halves of 16 bits keep every partial sum exact in a double."""
    high, low = (left >> 16).astype(float), (left & 0xFFFF).astype(float)
    above, below = (right >> 16).astype(float), (right & 0xFFFF).astype(float)
    top = (high @ above).astype(np.int64) % prime
    middle = (high @ below + low @ above).astype(np.int64) % prime
    bottom = (low @ below).astype(np.int64)
    product: IntArray = ((((top << 16) + middle) % prime << 16) + bottom) % prime
    return product


def reduce_rows(matrix: IntArray, prime: int) -> tuple[IntArray, list[int], list[int]]:
    """Return the reduced row echelon form modulo ``prime``, its pivot columns, and which rows were independent of earlier ones."""
    rows = np.zeros((0, matrix.shape[1]), dtype=np.int64)
    pivots: list[int] = []
    independent: list[int] = []
    for start in range(0, len(matrix), _BLOCK):
        block = matrix[start : start + _BLOCK] % prime
        if pivots:
            block = (block - multiply(block[:, pivots], rows, prime)) % prime
        new_pivots, new_rows = _reduce_block(block, prime)
        if new_pivots:
            block = block[new_rows]
            rows = np.vstack([(rows - multiply(rows[:, new_pivots], block, prime)) % prime, block])
            pivots += new_pivots
            independent += [start + row for row in new_rows]
    return rows, pivots, independent


def _reduce_block(block: IntArray, prime: int) -> tuple[list[int], list[int]]:
    """Eliminate within a few rows, in place; return the pivot columns and their rows."""
    pivots, pivot_rows = [], []
    for row in range(len(block)):
        nonzero = np.flatnonzero(block[row])
        if not len(nonzero):
            continue
        pivot = int(nonzero[0])
        block[row] = block[row] * pow(int(block[row, pivot]), -1, prime) % prime
        factors = block[:, pivot].copy()
        factors[row] = 0
        touched = np.flatnonzero(factors)
        block[touched] = (block[touched] - factors[touched, None] * block[row]) % prime
        pivots.append(pivot)
        pivot_rows.append(row)
    return pivots, pivot_rows


def times(matrix: sparse.csr_array, vector: NDArray[Any]) -> BigArray:
    """Return ``matrix @ vector`` in unbounded integers; in machine words if they cannot overflow."""
    largest = max((abs(int(value)) for value in vector), default=0)
    weight = int(np.abs(matrix.data).max(initial=0))
    if largest * weight * matrix.shape[1] < _LIMIT:
        return np.asarray(matrix @ vector.astype(np.int64)).astype(object)
    sums = np.zeros(matrix.shape[0], dtype=object)
    for row, (start, end) in enumerate(zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)):
        selected = vector[matrix.indices[start:end]]
        weights = matrix.data[start:end]
        sums[row] = selected.sum() if (weights == 1).all() else (weights.astype(object) * selected).sum()
    return sums


@dataclass(frozen=True)
class Basis:
    """The first independent rows of an integer matrix, and exact solutions of ``rows rows^T w = b``.

    Independence is determined modulo a private random prime. Rows that are independent there are independent; a
    dependence that exists only modulo the prime has a probability of at most about rank^2 / 10^8 for plain sums.
    Callers verify their conclusions.
    """

    matrix: sparse.csr_array
    independent: tuple[int, ...]
    prime: int

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> Basis:
        """Find the independent rows of a matrix, modulo a private random prime."""
        prime = random_prime()
        _, _, independent = reduce_rows(_gram(matrix, prime), prime)
        return cls(matrix, tuple(independent), prime)

    def again(self) -> Basis:
        """Return the same rows under another private prime; determined again if they are not independent modulo that prime."""
        other = Basis(self.matrix, self.independent, random_prime())
        return other if other.is_regular else Basis.of(self.matrix)

    @property
    def is_regular(self) -> bool:
        """True if the rows are independent modulo the prime too."""
        return len(self._reduced[1]) == self.rank

    @property
    def rank(self) -> int:
        """The number of independent rows."""
        return len(self.independent)

    @cached_property
    def rows(self) -> sparse.csr_array:
        """The independent rows."""
        return self.matrix[list(self.independent)]

    @cached_property
    def columns(self) -> sparse.csr_array:
        """The independent rows, transposed."""
        return self.rows.T.tocsr()

    @cached_property
    def inverse(self) -> IntArray:
        """The inverse of ``rows rows^T`` modulo the prime, which exists because the Gram matrix is regular modulo the prime."""
        reduced, pivots = self._reduced
        inverted = np.empty((self.rank, self.rank), dtype=np.int64)
        inverted[pivots] = reduced[:, self.rank :]
        return inverted

    @cached_property
    def _reduced(self) -> tuple[IntArray, list[int]]:
        """Return the reduced rows of the Gram matrix beside the identity, modulo the prime, and their pivot columns;
        computed once.
        """
        gram = _gram(self.rows, self.prime)
        reduced, pivots, _ = reduce_rows(np.hstack([gram, np.eye(self.rank, dtype=np.int64)]), self.prime)
        row_indices = [index for index, pivot in enumerate(pivots) if pivot < self.rank]
        return reduced[row_indices], [pivots[index] for index in row_indices]

    @cached_property
    def _gram(self) -> NDArray[np.float64] | None:
        """Return ``rows rows^T`` if doubles hold its products with 16-bit numbers exactly, else None."""
        weight = int(np.abs(self.rows.data).max(initial=0))
        fits = weight**2 * self.rows.shape[1] * self.rank * 2**16 < 2**53
        return _small_gram(self.rows) if fits else None

    def _times_gram(self, digits: IntArray) -> BigArray:
        """Return the product of the Gram matrix of the basis with a vector of digits, exactly."""
        if self._gram is None:
            return times(self.rows, times(self.columns, digits))
        high, low = (digits >> 16).astype(float), (digits & 0xFFFF).astype(float)
        product = ((self._gram @ high).astype(np.int64) << 16) + (self._gram @ low).astype(np.int64)
        result: BigArray = product.astype(object)
        return result

    def solve(self, right: NDArray[Any]) -> tuple[BigArray, int]:
        """Return integers ``w`` and a positive integer ``d`` with ``rows rows^T w = d * right``, exactly.

        Dixon's p-adic lifting: digits of the solution are added until a rational reconstruction of it passes the test.
        """
        residual = right.astype(object)
        value = np.zeros(self.rank, dtype=object)
        modulus, steps, attempt = 1, 0, 1
        while True:
            digits = multiply(self.inverse, (residual % self.prime).astype(np.int64)[:, None], self.prime)[:, 0]
            value = value + digits.astype(object) * modulus
            residual = (residual - self._times_gram(digits)) // self.prime
            modulus *= self.prime
            steps += 1
            if steps < attempt and residual.any():
                continue
            attempt = max(attempt + 1, attempt * 3 // 2)
            candidate = reconstruct(value, modulus)
            if candidate is not None:
                numerators, denominator = candidate
                if (times(self.rows, times(self.columns, numerators)) == denominator * right.astype(object)).all():
                    return numerators, denominator


def _gram(matrix: sparse.csr_array, prime: int) -> IntArray:
    """Return ``matrix matrix^T`` modulo the prime."""
    weight = int(np.abs(matrix.data).max(initial=0))
    if weight**2 * matrix.shape[1] < 2**53:
        return _small_gram(matrix).astype(np.int64) % prime
    gram = np.zeros((matrix.shape[0], matrix.shape[0]), dtype=np.int64)
    for part in _slices(matrix):
        residues = part % prime
        gram = (gram + multiply(residues, np.ascontiguousarray(residues.T), prime)) % prime
    return gram


def _small_gram(matrix: sparse.csr_array) -> NDArray[np.float64]:
    """Return the matrix times its transpose, for matrices of few rows."""
    gram = np.zeros((matrix.shape[0], matrix.shape[0]))
    for part in _slices(matrix):
        dense = part.astype(float)
        gram += dense @ dense.T
    return gram


def _slices(matrix: sparse.csr_array) -> Iterator[IntArray]:
    """Yield the matrix in dense slices of a few thousand columns."""
    by_column = matrix.tocsc()
    for start in range(0, matrix.shape[1], 4096):
        yield by_column[:, start : start + 4096].toarray()


def reconstruct(values: BigArray, modulus: int) -> tuple[BigArray, int] | None:
    """Return small numerators over one small denominator that agree with ``values`` modulo ``modulus`` (rational
    reconstruction); None if there are none.
    """
    bound = isqrt(modulus // 2)
    denominator = 1
    for value in values:
        shifted = value * denominator % modulus
        if min(shifted, modulus - shifted) > bound:
            denominator *= _denominator(shifted, modulus, bound)
            if denominator > bound:
                return None
    numerators = values * denominator % modulus
    numerators = np.where(numerators > modulus // 2, numerators - modulus, numerators)
    if len(numerators) and max(abs(value) for value in numerators) > bound:
        return None
    return numerators, denominator


def _denominator(value: int, modulus: int, bound: int) -> int:
    """Return the denominator of the fraction with a small numerator that equals ``value`` modulo ``modulus``."""
    previous, remainder, previous_factor, factor = modulus, value, 0, 1
    while remainder > bound:
        quotient = previous // remainder
        previous, remainder = remainder, previous - quotient * remainder
        previous_factor, factor = factor, previous_factor - quotient * factor
    return abs(factor)
