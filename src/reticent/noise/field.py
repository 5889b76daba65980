"""Arithmetic in GF(p), p = 2^31 - 1, on arrays of 64-bit integers from 0 to p - 1; polynomials, and decoding with errors and erasures.

A product of two elements is below 2^62, so it fits; sums are reduced before they are multiplied again. The first axis
of a polynomial array is the coefficients, lowest first; later axes are many polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.base.randomness import Randomness

PRIME = (1 << 31) - 1
Elements = NDArray[np.int64]
_ON_THE_WIRE = np.dtype("<u4")


def drawn(*shape: int) -> Elements:
    """Independent uniform elements from the operating system's randomness."""
    return Randomness().integers(PRIME, int(np.prod(shape))).reshape(shape)


def drawn_bits(count: int) -> Elements:
    """Independent uniform bits from the operating system's randomness."""
    return Randomness().integers(2, count)


def evaluate(polynomials: Elements, at: int) -> Elements:
    """Return the values of polynomials (lowest coefficients first) at one small point modulo the prime, by Horner's
    rule.
    """
    value: Elements = polynomials[-1]
    for coefficients in polynomials[-2::-1]:
        value = (value * at + coefficients) % PRIME
    return value


def inverse(element: int) -> int:
    """1 / element."""
    return pow(element, PRIME - 2, PRIME)


def powers(elements: Elements, exponent: int) -> Elements:
    """Return each element to the power of ``exponent``, modulo the prime, by repeated squaring."""
    result, base = np.ones_like(elements), elements % PRIME
    while exponent:
        if exponent & 1:
            result = result * base % PRIME
        base, exponent = base * base % PRIME, exponent >> 1
    return result


def combined(weights: Sequence[int], values: Elements) -> Elements:
    """Return the sum of ``weights[i] * values[i]`` modulo the prime."""
    total = np.zeros(values.shape[1:], dtype=np.int64)
    for weight, value in zip(weights, values, strict=True):
        total = (total + value * weight) % PRIME
    return total


def lagrange(points: Sequence[int], at: int = 0) -> list[int]:
    """Return weights w with f(at) = sum of w[i] f(points[i]) modulo the prime, for every polynomial f of degree below
    ``len(points)``.
    """
    weights = []
    for point in points:
        numerator = denominator = 1
        for other in points:
            if other != point:
                numerator, denominator = numerator * (at - other) % PRIME, denominator * (point - other) % PRIME
        weights.append(numerator * inverse(denominator) % PRIME)
    return weights


def vandermonde(rows: int, columns: int) -> list[list[int]]:
    """Return the matrix of (i + 1)^j: any ``rows`` of its columns are independent, since columns have different points."""
    return [[pow(column + 1, row, PRIME) for column in range(columns)] for row in range(rows)]


def signed(elements: Elements) -> Elements:
    """Return residues above p / 2 as negative numbers."""
    return np.where(elements > PRIME // 2, elements - PRIME, elements)


def to_bytes(elements: Elements) -> bytes:
    """Serialise elements, four bytes each."""
    return elements.astype(_ON_THE_WIRE).tobytes()


def from_bytes(raw: bytes, *shape: int) -> Elements | None:
    """Parse what :func:`to_bytes` wrote; None if the number of elements differs, or one is not below p."""
    if len(raw) != _ON_THE_WIRE.itemsize * int(np.prod(shape)):
        return None
    elements = np.frombuffer(raw, dtype=_ON_THE_WIRE).astype(np.int64).reshape(shape)
    return elements if not elements.size or int(elements.max()) < PRIME else None


@dataclass(frozen=True)
class Decoded:
    """Values at zero, and which of the given points are not on the polynomials."""

    at_zero: Elements
    wrong: tuple[int, ...]


def decode(points: Sequence[int], values: Elements, degree: int, errors: int, agreeing: int) -> Decoded | None:
    """Decode polynomials of ``degree`` from their values at ``points``, of which at most ``errors`` are wrong (Berlekamp-Welch, [Welch1986]).

    ``values[i]`` are the values from point i, for all polynomials. A point that is wrong in one polynomial is excluded
    from all. None if fewer than ``agreeing`` points remain: then nothing is accepted.
    """
    remaining, wrong = list(range(len(points))), set[int]()
    while len(remaining) >= max(agreeing, degree + 1):
        base = remaining[: degree + 1]
        base_points = [points[index] for index in base]
        is_off = np.zeros(values.shape[1:], dtype=bool)
        for other in remaining[degree + 1 :]:
            is_off |= combined(lagrange(base_points, points[other]), values[base]) != values[other]
        if not is_off.any():
            return Decoded(
                combined(lagrange(base_points), values[base]), tuple(sorted(points[index] for index in wrong))
            )
        column = int(np.argmax(is_off))
        wrong_now = _corrected(points, [int(value) for value in values[:, column]], degree, errors)
        if wrong_now is None or not set(wrong_now) - wrong:
            return None
        wrong |= set(wrong_now)
        remaining = [index for index in remaining if index not in wrong]
    return None


def _corrected(points: Sequence[int], values: Sequence[int], degree: int, errors: int) -> list[int] | None:
    """Return the indices of the points that are not on the unique polynomial through all but at most ``errors`` points
    (Berlekamp-Welch); None if there is none.

    Solves Q(x) = y E(x) modulo the prime for E monic of degree ``errors`` and Q of degree ``errors + degree``; then the
    polynomial is Q / E.
    """
    for count in range(min(errors, (len(points) - degree - 1) // 2), 0, -1):
        unknown = count + degree + 1
        rows = []
        for x, y in zip(points, values, strict=True):
            row = [pow(x, k, PRIME) for k in range(unknown)] + [-y * pow(x, k, PRIME) % PRIME for k in range(count)]
            rows.append([*row, y * pow(x, count, PRIME) % PRIME])
        solved = _solved(rows)
        if solved is None:
            continue
        polynomial = _quotient(solved[:unknown], [*solved[unknown:], 1])
        if polynomial is None:
            continue
        wrong_positions = [
            position
            for position, (x, y) in enumerate(zip(points, values, strict=True))
            if sum(c * pow(x, k, PRIME) for k, c in enumerate(polynomial)) % PRIME != y
        ]
        if len(wrong_positions) <= errors:
            return wrong_positions
    return None


def _solved(rows: list[list[int]]) -> list[int] | None:
    """Return one solution of linear equations modulo the prime, free unknowns zero; None if they are inconsistent.

    The last column of ``rows`` is the right side.
    """
    width, pivots, pivot_count = len(rows[0]) - 1, list[int](), 0
    for column in range(width):
        pivot_row = next((k for k in range(pivot_count, len(rows)) if rows[k][column]), None)
        if pivot_row is None:
            continue
        rows[pivot_count], rows[pivot_row] = rows[pivot_row], rows[pivot_count]
        scale = inverse(rows[pivot_count][column])
        rows[pivot_count] = [value * scale % PRIME for value in rows[pivot_count]]
        for k, row in enumerate(rows):
            if k != pivot_count and row[column]:
                factor = row[column]
                rows[k] = [(a - factor * b) % PRIME for a, b in zip(row, rows[pivot_count], strict=True)]
        pivots.append(column)
        pivot_count += 1
    if any(row[-1] for row in rows[pivot_count:]):
        return None
    solution = [0] * width
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row[-1]
    return solution


def _quotient(dividend: list[int], divisor: list[int]) -> list[int] | None:
    """Return dividend / divisor for a monic divisor, lowest coefficients first; None if there is a remainder."""
    remainder, quotient = list(dividend), [0] * (len(dividend) - len(divisor) + 1)
    for k in range(len(quotient) - 1, -1, -1):
        factor = quotient[k] = remainder[k + len(divisor) - 1]
        for offset, coefficient in enumerate(divisor):
            remainder[k + offset] = (remainder[k + offset] - factor * coefficient) % PRIME
    return None if any(remainder) else quotient
