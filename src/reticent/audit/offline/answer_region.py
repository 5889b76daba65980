"""The feasible region of a log: a box, equations, and disjunctions "one of these attains the extreme".

Sums are equations; a maximum bounds its members and requires that one of them attains the bound. People of one trace
class are interchangeable, so a class becomes a few single people (the first represents all) and one bundle with the
total of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from reticent.audit.offline.question_log import Log
from reticent.audit.offline.trace_classes import PersonClasses

Bound = Fraction | None
IntArray = NDArray[np.int64]

# One person in question, one to attain a maximum and one to attain a minimum: no more of a class need be modelled
# singly.
_SINGLES_IF_EXTREMES = 3


def _higher(first: Bound, second: Bound) -> Bound:
    """Return the stricter of two lower bounds."""
    return max((bound for bound in (first, second) if bound is not None), default=None)


def _lower(first: Bound, second: Bound) -> Bound:
    """Return the stricter of two upper bounds."""
    return min((bound for bound in (first, second) if bound is not None), default=None)


@dataclass(frozen=True)
class Box:
    """Lower and upper bound of every piece; None is unbounded."""

    lower: tuple[Bound, ...]
    upper: tuple[Bound, ...]

    @property
    def is_empty(self) -> bool:
        """True if some lower bound exceeds its upper bound."""
        return any(
            low is not None and high is not None and low > high
            for low, high in zip(self.lower, self.upper, strict=True)
        )

    def narrowed(self, piece: int, low: Bound, high: Bound) -> Box:
        """Return the part of the box in which ``piece`` (a person, or a group with one sum) is also between ``low`` and
        ``high``.
        """
        lower, upper = list(self.lower), list(self.upper)
        lower[piece] = _higher(lower[piece], low)
        upper[piece] = _lower(upper[piece], high)
        return Box(tuple(lower), tuple(upper))

    def allows(self, piece: int, value: Fraction) -> bool:
        """True if the piece may have the value."""
        low, high = self.lower[piece], self.upper[piece]
        return (low is None or low <= value) and (high is None or value <= high)

    def most(self, piece: int, factor: Fraction) -> Bound:
        """Return the largest ``factor * value`` of a piece within the box; None if unbounded."""
        if not factor:
            return Fraction(0)
        bound = self.upper[piece] if factor > 0 else self.lower[piece]
        return None if bound is None else factor * bound


@dataclass(frozen=True)
class Holding:
    """One of ``pieces`` equals ``value``, by query ``number``."""

    number: int
    value: Fraction
    pieces: tuple[int, ...]


@dataclass(frozen=True)
class Region:
    """All data that fit a log, over pieces.

    ``people[k]`` are the people of piece k and ``head[j]`` is the single piece that represents person j. ``matrix`` has
    one row per sum; ``integral`` means that every piece is an integer.
    """

    people: tuple[IntArray, ...]
    head: IntArray
    box: Box
    matrix: sparse.csr_array
    answers: tuple[Fraction, ...]
    numbers: tuple[int, ...]
    holdings: tuple[Holding, ...]
    integral: bool

    @classmethod
    def of(cls, log: Log) -> Region:
        """Return the constraints that a log puts on its pieces: single people, and sums of people whom the queries
        treat alike.
        """
        extremes = bool(log.functions - {"sum"})
        classes = PersonClasses.traced(log.entries, log.n)
        people, head, classes_of_pieces = _pieces(classes, _SINGLES_IF_EXTREMES if extremes else 1)
        sums = tuple(entry for entry in log.entries if entry.query.function == "sum")
        by_class = classes.matrix(sums)
        box = _box(log, people)
        return cls(
            people,
            head,
            box,
            sparse.csr_array(by_class[:, classes_of_pieces]),
            tuple(entry.answer for entry in sums),
            tuple(entry.number for entry in sums),
            _holdings(log, people, box),
            log.values == "boolean",
        )

    @cached_property
    def heads(self) -> IntArray:
        """The pieces that represent people, one per class."""
        return np.unique(self.head)

    def fits(self, point: Sequence[Fraction]) -> bool:
        """True if these exact values of the pieces (people, or groups with one sum) satisfy bounds, integrality,
        maxima, minima and sums.
        """
        in_box = all(self.box.allows(piece, value) for piece, value in enumerate(point))
        is_integral = not self.integral or all(value.denominator == 1 for value in point)
        holdings_met = all(any(point[piece] == holding.value for piece in holding.pieces) for holding in self.holdings)
        return in_box and is_integral and holdings_met and self.sums(point) == list(self.answers)

    def sums(self, point: Sequence[Fraction]) -> list[Fraction]:
        """Return the sums of the queries over these values of the pieces (people, or groups with one sum)."""
        start, data, columns = self.matrix.indptr, self.matrix.data, self.matrix.indices
        return [
            sum((int(data[k]) * point[columns[k]] for k in range(start[row], start[row + 1])), Fraction(0))
            for row in range(self.matrix.shape[0])
        ]

    def combined(self, weights: Sequence[tuple[int, Fraction]]) -> tuple[dict[int, Fraction], Fraction]:
        """Return a weighted sum of queries (by row): the coefficient of every piece (a person, or a group with one sum)
        in it, and the weighted sum of the answers.
        """
        start, data, columns = self.matrix.indptr, self.matrix.data, self.matrix.indices
        coefficients: dict[int, Fraction] = {}
        for row, weight in weights:
            for k in range(start[row], start[row + 1]):
                piece = int(columns[k])
                coefficients[piece] = coefficients.get(piece, Fraction(0)) + weight * int(data[k])
        return coefficients, sum((weight * self.answers[row] for row, weight in weights), Fraction(0))


def _pieces(classes: PersonClasses, singles: int) -> tuple[tuple[IntArray, ...], IntArray, IntArray]:
    """Return the people of each piece, the first piece of each person's class, and the class of each piece.

    A class is people who are in the same queries. Up to ``singles`` of them are pieces of their own; the others form
    one piece.
    """
    order = np.argsort(classes.of, kind="stable")
    ends = np.cumsum(classes.size)
    people: list[IntArray] = []
    class_of_piece: list[int] = []
    first_piece = np.empty(len(classes), dtype=np.int64)
    for class_index, end in enumerate(ends.tolist()):
        members = order[end - int(classes.size[class_index]) : end]
        first_piece[class_index] = len(people)
        parts = [members[k : k + 1] for k in range(min(singles, len(members)))]
        if len(members) > singles:
            parts.append(members[singles:])
        people += parts
        class_of_piece += [class_index] * len(parts)
    return tuple(people), first_piece[classes.of], np.array(class_of_piece, dtype=np.int64)


def _box(log: Log, people: tuple[IntArray, ...]) -> Box:
    """Return the public bounds of every piece (a person, or a group with one sum), tightened by the answers to maxima
    and minima.
    """
    piece_of = {int(members[0]): piece for piece, members in enumerate(people)}
    lower: list[Bound] = [log.lower] * len(people)
    upper: list[Bound] = [log.upper] * len(people)
    for entry in log.entries:
        if entry.query.function == "sum":
            continue
        for person in entry.query.members.tolist():
            piece = piece_of.get(person)
            if piece is None:
                continue
            if entry.query.function == "max":
                upper[piece] = _lower(upper[piece], entry.answer)
            else:
                lower[piece] = _higher(lower[piece], entry.answer)
    sizes = [len(members) for members in people]
    return Box(
        tuple(None if low is None else low * size for low, size in zip(lower, sizes, strict=True)),
        tuple(None if high is None else high * size for high, size in zip(upper, sizes, strict=True)),
    )


def _holdings(log: Log, people: tuple[IntArray, ...], box: Box) -> tuple[Holding, ...]:
    """Return, for every query of a maximum or minimum, the people who may have its value within the bounds of ``box``."""
    singles = {int(members[0]): piece for piece, members in enumerate(people) if len(members) == 1}
    holdings = []
    for entry in log.entries:
        if entry.query.function == "sum":
            continue
        pieces = [singles[person] for person in entry.query.members.tolist() if person in singles]
        candidates = tuple(piece for piece in pieces if box.allows(piece, entry.answer))
        holdings.append(Holding(entry.number, entry.answer, candidates))
    return tuple(holdings)
