"""Overlapping sums under a uniform or an exponential prior, decided by exact independent samples.

People in the same queries form a class. A priori the sums of the classes are independent with known densities
(``class_sums``), and the answers are linear in them. So given the answers only a few class sums remain random. They are
sampled by rejection: free ones from the prior, the others follow from the answers, and a sample is accepted with a
probability proportional to the density of the latter. Accepted samples are independent and follow the posterior
exactly: there is no Markov chain to mix, and the share of unsafe samples has a certified bound [Clopper1934].

An adversary who knows the sum of every class knows at least as much as one who knows the answers. A class with a known
sum is judged exactly (``tolerated``). For the answers alone: the posterior given the answers is the average of the
posteriors given the class sums. If all but a share k of the sums compatible with an answer are safe with a smaller
factor, the average is safe with the full one, and by Markov's inequality that fails for at most (probability of unsafe
sums) / k of the answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.stats import beta as beta_law

from reticent.audit.chance.class_sums import ClassLaw
from reticent.audit.chance.game import Game
from reticent.audit.decision import AggregateQuery
from reticent.errors import DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Maximum number of proposals, in total and per batch; beyond it the query stays undecided.
_PROPOSALS = 4_000_000
_BATCH = 100_000
_MOST_CLASSES = 64
_PARTS = (Fraction(3, 4), Fraction(7, 8))


@dataclass(frozen=True)
class SampledRisk:
    """An upper bound on the probability of an unsafe answer, the samples behind it, and the probability that the bound is wrong."""

    bound: float
    draws: int
    error: float


@dataclass
class OverlappingSums:
    """Answered sums over people, in the unit of the prior. Mutable: grows with every answer."""

    n: int
    law: ClassLaw
    game: Game
    members: list[IntArray] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Add an answer to a plain sum."""
        total = (answer - len(query) * self.law.start) / self.law.unit
        if not 0 <= total <= self.law.most(len(query)):
            raise DataError(f"The answer {answer} to {len(query)} people contradicts the prior.")
        self.members.append(query.members)
        self.answers.append(float(total))

    def extend(self, n: int) -> None:
        """Add people who are in no query."""
        self.n = n

    def risk(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> SampledRisk | None:
        """Return the certified risk of answering; None if it cannot be determined with reasonable effort."""
        if query.coefficients is not None:
            return None
        sizes, queries = self._classes(query)
        if len(sizes) > _MOST_CLASSES:
            return None
        share, factor = self.game.share, self.game.factor
        all_known = np.linalg.matrix_rank(queries) == len(sizes)
        # If all class sums are known, the full factor may be used; otherwise part of it is reserved for unsafe sums.
        factors = [factor] if all_known else [1 + reserve * (factor - 1) for reserve in _PARTS]
        reserves = [1.0 if all_known else _tolerable_unsafe_share(share, factor, smaller) for smaller in factors]
        tolerated = [
            np.array([self.law.tolerated(int(size), share, smaller) for size in sizes]).T for smaller in factors
        ]
        if all((low > high).any() for low, high in tolerated):
            return SampledRisk(1.0, 0, 0.0)
        error = float(threshold) / 10
        sample_count = int(np.ceil(3 * np.log(len(factors) / error) / (float(threshold) * min(reserves))))
        samples = self._drawn(sizes, queries[:-1], sample_count, rng)
        if samples is None:
            return None
        bounds = [
            _most(int(((samples < low) | (samples > high)).any(axis=1).sum()), len(samples), error / len(factors))
            / reserve
            for (low, high), reserve in zip(tolerated, reserves, strict=True)
        ]
        return SampledRisk(min(1.0, *bounds), len(samples), error)

    def _classes(self, query: AggregateQuery) -> tuple[IntArray, FloatArray]:
        """Return the size of each class, and for each query (the new one last) which classes it sums."""
        inside = np.zeros((self.n, len(self.members) + 1), dtype=bool)
        for query_index, members in enumerate([*self.members, query.members]):
            inside[members, query_index] = True
        in_queries = inside[inside.any(axis=1)]
        kinds, sizes = np.unique(in_queries, axis=0, return_counts=True)
        return sizes.astype(np.int64), kinds.T.astype(float)

    def _drawn(self, sizes: IntArray, past: FloatArray, count: int, rng: np.random.Generator) -> FloatArray | None:
        """Return independent samples of the sums of all classes, given the answers so far; None if that takes too long.

        Rejection sampling: free classes are sampled, the sums of the others follow from the answers, and a proposal is
        accepted with the density of those sums, relative to its maximum.
        """
        # Large classes are the dependent ones: their densities are wide, so that many samples are accepted.
        dependent = _independent_columns(past * np.sqrt(sizes))
        free = np.setdiff1d(np.arange(len(sizes)), dependent)
        if (sizes > self.law.largest).any() and len(dependent):
            return None
        rows = _independent_columns(past.T) if len(past) else np.empty(0, dtype=np.int64)
        solving = np.linalg.inv(past[np.ix_(rows, dependent)]) if len(rows) else np.empty((0, 0))
        answers = np.array(self.answers)[rows]
        accepted: list[FloatArray] = []
        accepted_count = proposed = 0
        while accepted_count < count:
            if proposed >= _PROPOSALS:
                return None
            proposed += _BATCH
            sums = np.empty((_BATCH, len(sizes)))
            for class_index in free:
                sums[:, class_index] = self.law.drawn(int(sizes[class_index]), _BATCH, rng)
            if len(rows):
                sums[:, dependent] = (answers - sums[:, free] @ past[np.ix_(rows, free)].T) @ solving.T
            chance = np.ones(_BATCH)
            for class_index in dependent:
                chance *= self.law.height(int(sizes[class_index]), sums[:, class_index])
            batch = sums[rng.random(_BATCH) < chance]
            accepted.append(batch)
            accepted_count += len(batch)
        return np.concatenate(accepted)[:count]


def _most(unsafe_count: int, draws: int, error: float) -> float:
    """Return the upper confidence bound of a probability, if ``unsafe_count`` of ``draws`` independent samples were
    unsafe; it fails with probability ``error``. Source: [Clopper1934].
    """
    return float(beta_law.ppf(1 - error, unsafe_count + 1, draws - unsafe_count)) if unsafe_count < draws else 1.0


def _tolerable_unsafe_share(prior: Fraction, factor: Fraction, safe_factor: Fraction) -> float:
    """Return the largest share k of unsafe sums with which the average posterior stays within ``factor`` of the ``prior``, if posteriors of safe sums stay within ``safe_factor``.

    The average is at most (1 - k) safe_factor * prior + k, and at least (1 - k) prior / safe_factor.
    """
    above = (factor - safe_factor) * prior / (1 - safe_factor * prior) if safe_factor * prior < 1 else Fraction(1)
    below = 1 - safe_factor / factor
    return float(min(above, below))


def _independent_columns(matrix: FloatArray) -> IntArray:
    """Return columns that span the column space, by pivoting."""
    if not matrix.size:
        return np.empty(0, dtype=np.int64)
    _, upper, order = qr(matrix, pivoting=True, mode="economic")
    diagonal = np.abs(np.diag(upper))
    rank = int((diagonal > 1e-9 * max(1.0, diagonal.max(initial=0.0))).sum())
    return np.sort(order[:rank]).astype(np.int64)
