"""Compiled loops of the null-space auditor: arithmetic modulo a 61-bit prime on arrays of uint64.

numba has no 128-bit product. The product of a number and one below 2^31 is reduced with a floating-point quotient,
which is off by at most one and corrected exactly in wrapping 64-bit arithmetic; a long number is multiplied in two such
halves. A scalar product keeps the partial products of the halves in 32-bit halves and reduces once at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled

ZERO = np.uint64(0)
SHIFT, MASK, HALF = np.uint64(31), np.uint64(2**31 - 1), np.uint64(2**31)
WORD, WORD_MASK, LONG = np.uint64(32), np.uint64(2**32 - 1), np.uint64(2**32)


@compiled
def _short_product(long: Any, short: Any, prime: Any) -> Any:
    """Return ``long * short`` modulo ``prime``, for long < prime and short <= 2^32.

    The quotient is below 2^33, so its rounding error is below one.
    """
    quotient = np.uint64(np.float64(long) * np.float64(short) * (1.0 / np.float64(prime)))
    remainder = np.int64(long * short - quotient * prime)
    if remainder < 0:
        remainder += np.int64(prime)
    elif remainder >= np.int64(prime):
        remainder -= np.int64(prime)
    return np.uint64(remainder)


@compiled
def _plus(first: Any, second: Any, prime: Any) -> Any:
    total = first + second
    return total - prime if total >= prime else total


@compiled
def product(first: Any, second: Any, prime: Any) -> Any:
    """``first * second`` modulo ``prime``."""
    high = _short_product(_short_product(first, second >> SHIFT, prime), HALF, prime)
    return _plus(high, _short_product(first, second & MASK, prime), prime)


@compiled
def products(first: Any, second: Any, prime: Any) -> Any:
    """Return the element-wise products of two arrays modulo ``prime``."""
    result = np.empty_like(first)
    for i in range(first.size):
        result[i] = product(first[i], second[i], prime)
    return result


@compiled
def _joined(high: Any, low: Any, prime: Any) -> Any:
    """Return ``2^32 * high + low`` from two sums of 32-bit halves."""
    return _plus(_short_product(high % prime, LONG, prime), low % prime, prime)


@compiled
def dot(first: Any, second: Any, prime: Any) -> Any:
    """Return the scalar product modulo ``prime`` of two arrays of numbers below it.

    Numbers are split into two halves of bits, whose products are summed in 32-bit words so that nothing overflows.
    """
    low_0, low_1, low_2, high_0, high_1, high_2 = ZERO, ZERO, ZERO, ZERO, ZERO, ZERO
    for i in range(first.size):
        a_0, a_1 = first[i] & MASK, (first[i] >> SHIFT) & MASK
        b_0, b_1 = second[i] & MASK, (second[i] >> SHIFT) & MASK
        p_0, p_1, p_2 = a_0 * b_0, a_0 * b_1 + a_1 * b_0, a_1 * b_1
        low_0 += p_0 & WORD_MASK
        low_1 += p_1 & WORD_MASK
        low_2 += p_2 & WORD_MASK
        high_0 += p_0 >> WORD
        high_1 += p_1 >> WORD
        high_2 += p_2 >> WORD
    total = _joined(high_2, low_2, prime)
    total = _plus(_short_product(total, HALF, prime), _joined(high_1, low_1, prime), prime)
    return _plus(_short_product(total, HALF, prime), _joined(high_0, low_0, prime), prime)


@compiled
def _minus(first: Any, second: Any, prime: Any) -> Any:
    return first - second if first >= second else first + prime - second


@compiled
def solve_row(upper_columns: Any, dense: Any, row: Any, prime: Any) -> Any:
    """Return l with l U = row modulo ``prime``, U unit upper triangular; the columns of U that are not ``dense`` are
    unit vectors.
    """
    solution = row.copy()
    for j in range(row.size):
        if dense[j]:
            solution[j] = _minus(solution[j], dot(solution[:j], upper_columns[j, :j], prime), prime)
    return solution


@compiled
def solve_columns(lower_rows: Any, inverses: Any, columns: Any, prime: Any) -> Any:
    """Return u with L u = column modulo ``prime`` for every row of ``columns``, L lower triangular with the given
    inverses of its diagonal.
    """
    solution = columns.copy()
    for k in range(columns.shape[1]):
        for c in range(columns.shape[0]):
            remainder = _minus(solution[c, k], dot(lower_rows[k, :k], solution[c, :k], prime), prime)
            solution[c, k] = product(remainder, inverses[k], prime)
    return solution


@compiled
def solve_combination(lower_columns: Any, inverses: Any, row: Any, prime: Any) -> Any:
    """Return x with x L = row modulo ``prime``, L lower triangular with the given inverses of its diagonal."""
    solution, size = row.copy(), row.size
    for k in range(size - 1, -1, -1):
        remainder = _minus(solution[k], dot(lower_columns[k, k + 1 : size], solution[k + 1 :], prime), prime)
        solution[k] = product(remainder, inverses[k], prime)
    return solution


@compiled
def solve_weights(upper_rows: Any, columns: Any, prime: Any) -> Any:
    """Return y with U y = column modulo ``prime`` for every row of ``columns``, U unit upper triangular."""
    solution, size = columns.copy(), columns.shape[1]
    for k in range(size - 1, -1, -1):
        for c in range(columns.shape[0]):
            solution[c, k] = _minus(
                solution[c, k], dot(upper_rows[k, k + 1 : size], solution[c, k + 1 :], prime), prime
            )
    return solution


@compiled
def subtract(target: Any, source: Any, factor: Any, prime: Any) -> None:
    """Subtract ``factor * source`` from ``target``, in place."""
    for i in range(source.size):
        target[i] = _minus(target[i], product(factor, source[i], prime), prime)


@compiled
def some_vanish(first: Any, second: Any, ratio: Any, sizes: Any, prime: Any) -> Any:
    """True if ``first - ratio * second`` is 0 modulo ``prime`` at some class of one person."""
    vanishes = False
    for c in range(sizes.size):
        vanishes |= sizes[c] == 1 and first[c] == product(ratio, second[c], prime)
    return vanishes


@compiled
def spread(vector: Any, plus: Any, minus: Any, weights: Any, factor: Any, prime: Any) -> None:
    """Add ``factor * weights[k]`` modulo ``prime`` at class ``plus[k]``, and subtract it at ``minus[k]`` (-1: nowhere),
    for every k.
    """
    for k in range(weights.size):
        if weights[k]:
            amount = product(factor, weights[k], prime)
            vector[plus[k]] = _plus(vector[plus[k]], amount, prime)
            if minus[k] >= 0:
                vector[minus[k]] = _minus(vector[minus[k]], amount, prime)


@compiled
def first_different(coefficient: Any, traces: Any, weights: Any, prime: Any) -> Any:
    """Return the index of the first class whose coefficient differs, modulo ``prime``, from the sum of the weights of
    the set bits in its row of ``traces``; -1 if there is none.

    Eight bits are added at a time, from a table of all sums of eight weights.
    """
    width = (weights.size + 7) // 8
    table = np.zeros((width, 256), dtype=np.uint64)
    for byte in range(width):
        for bit in range(min(8, weights.size - 8 * byte)):
            for low in range(1 << bit):
                table[byte, low + (1 << bit)] = _plus(table[byte, low], weights[8 * byte + bit], prime)
    for c in range(coefficient.size):
        total = ZERO
        for byte in range(width):
            total = _plus(total, table[byte, traces[c, byte]], prime)
        if total != coefficient[c]:
            return c
    return -1
