"""Sum auditing over people, without trace classes: row reduction over any field, the null space, and floats.

Queries are sequences of coefficients, one for each person. Nothing is shared with the product.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def reduced(rows, modulus=None):
    """The reduced row echelon form over the rationals, or over the field of ``modulus`` elements."""
    matrix = [[Fraction(value) if modulus is None else value % modulus for value in row] for row in rows]
    done = []
    for column in range(len(matrix[0]) if matrix else 0):
        pivot = next((row for row in matrix if row[column]), None)
        if pivot is None:
            continue
        matrix.remove(pivot)
        inverse = 1 / pivot[column] if modulus is None else pow(pivot[column], -1, modulus)
        pivot = _reduce([value * inverse for value in pivot], modulus)
        clear = [_reduce([x - row[column] * y for x, y in zip(row, pivot, strict=True)], modulus) for row in matrix]
        done = [_reduce([x - row[column] * y for x, y in zip(row, pivot, strict=True)], modulus) for row in done]
        matrix = clear
        done.append(pivot)
    return done


def _reduce(row, modulus):
    return row if modulus is None else [value % modulus for value in row]


def exposed(rows, modulus=None):
    """Everybody whose unit vector is a row of the reduced form."""
    return {row.index(1) for row in reduced(rows, modulus) if sum(map(bool, row)) == 1}


def null_space(rows, people):
    """A basis of the vectors that every row is orthogonal to, from the reduced form."""
    form = reduced(rows)
    pivots = [next(column for column, value in enumerate(row) if value) for row in form]
    basis = []
    for free in (column for column in range(people) if column not in pivots):
        vector = [Fraction(0)] * people
        vector[free] = Fraction(1)
        for pivot, row in zip(pivots, form, strict=True):
            vector[pivot] = -row[free]
        basis.append(vector)
    return basis


def exposed_by_null_space(rows, people):
    """Everybody on whom all null vectors vanish: nothing can change that value and keep the answers."""
    basis = null_space(rows, people)
    return {person for person in range(people) if not any(vector[person] for vector in basis)}


def verdicts(rows, modulus=None):
    """The sum auditor over a whole session: ``implied``, ``safe`` or ``exposes`` for each query."""
    answered, found = [], []
    for row in rows:
        longer = [*answered, row]
        if len(reduced(longer, modulus)) == len(reduced(answered, modulus)):
            found.append("implied")
        elif exposed(longer, modulus):
            found.append("exposes")
        else:
            found.append("safe")
            answered = longer
    return found


def indicator(members, people):
    return [int(person in members) for person in range(people)]


def float_rank(rows):
    return int(np.linalg.matrix_rank(np.array(rows, dtype=np.float64)))


class ModularForm:
    """The reduced row echelon form over people modulo 2^31 - 1, row after row: for sessions too long for fractions."""

    PRIME = 2**31 - 1

    def __init__(self, people):
        self.rows = np.zeros((0, people), dtype=np.int64)
        self.pivots = []

    def verdict(self, row):
        """``implied``, ``safe`` or ``exposes``; a safe row is kept."""
        rest = np.array(row, dtype=np.int64) % self.PRIME
        for pivot, known in zip(self.pivots, self.rows, strict=True):
            rest = (rest - rest[pivot] * known) % self.PRIME
        if not rest.any():
            return "implied"
        pivot = int(np.flatnonzero(rest)[0])
        rest = rest * pow(int(rest[pivot]), -1, self.PRIME) % self.PRIME
        rows = (self.rows - self.rows[:, [pivot]] * rest) % self.PRIME
        rows = np.vstack([rows, rest])
        if (np.count_nonzero(rows, axis=1) == 1).any():
            return "exposes"
        self.rows, self.pivots = rows, [*self.pivots, pivot]
        return "safe"
