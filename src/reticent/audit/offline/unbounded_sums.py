"""Sums of unbounded values: people whose values are determined by linear algebra. Source: [Chin1981].

A person is exposed iff its unit vector is a linear combination of the queries. Random null vectors of the queries find
the candidates; for each, the combination is computed in exact fractions and checked. All others differ between two
explicit data sets that both fit the log: an integer solution, and the same plus a null vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from reticent.audit.offline.exposure_report import Report
from reticent.audit.offline.offline_proofs import Combination, Weights
from reticent.audit.offline.p_adic_solver import Basis, BigArray, multiply, times
from reticent.audit.offline.question_log import Log
from reticent.audit.offline.trace_classes import IntArray, PersonClasses

# Above this rank an explicit null vector has thousands of digits per person; two private primes decide instead.
EXACT_RANK = 400


@dataclass(frozen=True)
class SumSystem:
    """The linear system of a log of sums: one row per query, one column per trace class."""

    log: Log

    @cached_property
    def classes(self) -> PersonClasses:
        """People in the same queries."""
        return PersonClasses.traced(self.log.entries, self.log.n)

    @cached_property
    def basis(self) -> Basis:
        """The independent queries."""
        return Basis.of(self.classes.matrix(self.log.entries))

    @cached_property
    def _scale(self) -> int:
        return lcm(*(entry.answer.denominator for entry in self.log.entries)) if self.log.entries else 1

    @cached_property
    def answers(self) -> BigArray:
        """The answers as integers, all scaled by the same number."""
        return np.array([int(entry.answer * self._scale) for entry in self.log.entries], dtype=object)

    @property
    def explicit(self) -> bool:
        """True if data sets are written out in exact numbers; otherwise private primes decide who is *not* exposed."""
        return self.basis.rank <= EXACT_RANK

    @classmethod
    def of(cls, log: Log) -> SumSystem:
        """Return the system, with a basis that is checked to span all queries."""
        system = cls(log)
        return system if system._spans else cls.of(log)

    @cached_property
    def _second(self) -> Basis:
        """The same queries under a second private prime."""
        return self.basis.again()

    @cached_property
    def _first_null(self) -> BigArray | IntArray:
        """A random null vector of the independent queries, exact or modulo the second prime."""
        return self.null_vector() if self.explicit else self.null_vector_modulo(self._second)

    @property
    def _spans(self) -> bool:
        """True if it is a null vector of the other queries too; this fails if a dependence exists only modulo the prime."""
        image = times(self.basis.matrix, self._first_null)
        return not (image if self.explicit else image % self._second.prime).any()

    def contradiction(self) -> Combination | None:
        """Return the proof that a dependent query contradicts the others; None if the answers are consistent."""
        for row in map(int, self._surprising()):
            solution, denominator = self.basis.solve(times(self.basis.rows, self._row(row)))
            if (times(self.basis.columns, solution) == denominator * self._row(row)).all():
                dependence = [*self._weights(solution, denominator), (self.log.entries[row].number, Fraction(-1))]
                return Combination(None, self._total(dependence), tuple(dependence))
        return None

    def _surprising(self) -> IntArray:
        """Return the queries whose answer differs from what the independent queries imply."""
        independent_answers = self.answers[list(self.basis.independent)]
        if self.explicit:
            solution, scale = self.basis.solve(independent_answers)
            implied = times(self.basis.matrix, times(self.basis.columns, solution))
            return np.flatnonzero(implied != scale * self.answers)
        prime = self.basis.prime
        digits = multiply(self.basis.inverse, (independent_answers % prime).astype(np.int64)[:, None], prime)[:, 0]
        data = times(self.basis.columns, digits) % prime
        return np.flatnonzero(times(self.basis.matrix, data) % prime != self.answers % prime)

    def combination(self, column: int) -> Combination | None:
        """Return the proof that the class ``column`` is determined; None if it is not."""
        unit = np.zeros(len(self.classes), dtype=object)
        unit[column] = 1
        solution, denominator = self.basis.solve(times(self.basis.rows, unit))
        if not (times(self.basis.columns, solution) == denominator * unit).all():
            return None
        weights = self._weights(solution, denominator)
        return Combination(int(self.classes.first[column]), self._total(weights), tuple(weights))

    def null_vector(self) -> BigArray:
        """Return a random null vector of all queries over classes, in exact integers."""
        start = np.random.default_rng().integers(1, 2**20, size=len(self.classes)).astype(object)
        solution, denominator = self.basis.solve(times(self.basis.rows, start))
        vector: BigArray = denominator * start - times(self.basis.columns, solution)
        return vector

    def null_vector_modulo(self, basis: Basis) -> IntArray:
        """Return a random null vector modulo a private prime, quickly."""
        start = np.random.default_rng().integers(0, basis.prime, size=len(self.classes))
        image = (times(basis.rows, start) % basis.prime).astype(np.int64)[:, None]
        solution = multiply(basis.inverse, image, basis.prime)[:, 0]
        vector: IntArray = ((start - times(basis.columns, solution)) % basis.prime).astype(np.int64)
        return vector

    def exposed(self) -> list[Combination]:
        """Return a proof for every exposed person: a class of one person that is 0 in every null vector of the queries.

        Classes that are 0 in the random null vectors at hand are candidates; each is proved exactly, or cleared.
        """
        single = self.classes.size == 1
        proofs: dict[int, Combination] = {}
        if self.explicit:
            pending = np.flatnonzero(single & (self._first_null == 0))
            while len(pending):
                proofs |= {
                    int(class_index): proof
                    for class_index in pending
                    if (proof := self.combination(int(class_index))) is not None
                }
                # A hidden person may be 0 in a random null vector by chance: another vector shows it.
                unproved = np.array(
                    [class_index for class_index in pending if int(class_index) not in proofs], dtype=np.int64
                )
                pending = unproved[self.null_vector()[unproved] == 0] if len(unproved) else unproved
        else:
            still = (self._first_null == 0) | (self.null_vector_modulo(self.basis) == 0)
            for column in np.flatnonzero(single & still):
                if (proof := self.combination(int(column))) is not None:
                    proofs[int(column)] = proof
        return [proofs[column] for column in sorted(proofs)]

    def _row(self, row: int) -> BigArray:
        dense: BigArray = self.basis.matrix[[row]].toarray()[0].astype(object)
        return dense

    def _weights(self, numerators: BigArray, denominator: int) -> list[tuple[int, Fraction]]:
        """Return the weights of the queries in a combination, by the number of the query."""
        return [
            (self.log.entries[row].number, Fraction(int(numerator), denominator))
            for row, numerator in zip(self.basis.independent, numerators, strict=True)
            if numerator
        ]

    def _total(self, weights: list[tuple[int, Fraction]] | Weights) -> Fraction:
        return sum((weight * self.log.entry(number).answer for number, weight in weights), Fraction(0))


def check_sums(log: Log) -> Report:
    """Find the people exposed by sums of unbounded values, by linear algebra: a value is determined if a combination of
    the queries isolates it.
    """
    system = SumSystem.of(log)
    how = "explicit data sets that differ in all other people" if system.explicit else "two private random primes"
    method = f"Linear algebra: exposures proved in exact fractions, the absence of others by {how}."
    contradiction = system.contradiction()
    if contradiction is not None:
        return Report(log, method, contradiction=contradiction, consistent=False)
    proofs = {proof.person: proof for proof in system.exposed() if proof.person is not None}
    return Report(
        log,
        method,
        exposed={person: proof.value for person, proof in proofs.items()},
        certificate=proofs,
        notes=("Bounds of the values were not used; if some are publicly known (no salary is below 0), declare them.",),
    )
