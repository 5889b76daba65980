"""Sums under a Gaussian prior: the posterior is Gaussian, so safety has a closed form.

In deviations from the prior mean, given the answers to linear queries with orthonormal basis U, the value of person i
has the distribution N(shift_i, 1 - p_i), p_i the i-th diagonal entry of the projector U^T U. A new query adds one
direction u and one standard normal unknown t: shift_i + u_i t, p_i + u_i^2. All (lambda, beta)-safe shifts of a person
form an interval around 0, hence so do the safe t.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import special

from reticent.audit.chance.game import Game
from reticent.audit.chance.priors import Gaussian
from reticent.audit.decision import AggregateQuery

FloatArray = NDArray[np.float64]

# Rounding errors in the orthonormal basis stay far below this if a new query is at least _INDEPENDENT away from the old
# ones.
MARGIN = 1e-8
_INDEPENDENT = 1e-5
_HALVINGS = 60


def tolerated_shift(variances: FloatArray, game: Game) -> FloatArray:
    """Return the largest safe |shift| of the posterior mean of people with posterior variance ``variances`` (relative
    to the prior); negative if none is safe.

    The ratio of posterior to prior is log-concave, so of all windows of prior probability 1/beta those at the two ends
    have the smallest; the end away from the shift decides: ``Phi((z - shift) / sqrt(variance)) >= share / factor``. The
    greatest ratio belongs to the window around ``shift / (1 - variance)``, where the ratio peaks; it grows with the
    shift, so bisection finds its limit.
    """
    share, factor = float(game.share), float(game.factor)
    spread = np.sqrt(variances)
    by_ends = special.ndtri(share) - spread * special.ndtri(share / factor)
    largest = np.where(by_ends < 0, -1.0, by_ends)
    exceeds = (by_ends >= 0) & (variances < 1) & (_peak(np.maximum(largest, 0.0), variances, share) > share * factor)
    if exceeds.any():
        low, high = np.zeros(int(exceeds.sum())), largest[exceeds]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_safe = _peak(middle, variances[exceeds], share) <= share * factor
            low, high = np.where(is_safe, middle, low), np.where(is_safe, high, middle)
        is_never_safe = _peak(np.zeros_like(low), variances[exceeds], share) > share * factor
        largest[exceeds] = np.where(is_never_safe, -1.0, low)
    return largest


def _peak(shift: FloatArray, variances: FloatArray, share: float) -> FloatArray:
    """Return the largest posterior of an interval of prior probability ``share``, for shifts >= 0."""
    removed = np.maximum(1 - variances, 1e-300)
    centre = np.minimum(shift / removed, 30.0)
    low, high = np.zeros_like(centre), centre + 40.0
    for _ in range(_HALVINGS):
        half = (low + high) / 2
        # Upper tails, because the window may be far out.
        is_wide = special.ndtr(half - centre) - special.ndtr(-half - centre) >= share
        low, high = np.where(is_wide, low, half), np.where(is_wide, half, high)
    spread = np.sqrt(variances)
    probability = special.ndtr((centre + high - shift) / spread) - special.ndtr((centre - high - shift) / spread)
    return np.asarray(np.where(variances < 1, probability, share))


@dataclass
class GaussianSums:
    """The answered sums over n people with a Gaussian prior. Mutable: grows with every answer."""

    n: int
    prior: Gaussian
    game: Game
    basis: FloatArray = field(init=False)
    taken: FloatArray = field(init=False)
    shift: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.basis = np.zeros((0, self.n))
        self.taken = np.zeros(self.n)
        self.shift = np.zeros(self.n)

    def extend(self, n: int) -> None:
        """Add people who are in no answered query: their prior variance and mean are unchanged."""
        more = n - self.n
        self.basis = np.hstack([self.basis, np.zeros((len(self.basis), more))])
        self.taken, self.shift = np.append(self.taken, np.zeros(more)), np.append(self.shift, np.zeros(more))
        self.n = n

    def all_safe(self) -> bool:
        """True if AllSafe holds after the answers so far."""
        tolerated = tolerated_shift(np.clip(1 - self.taken, 0, 1), self.game)
        return bool((np.abs(self.shift) <= tolerated).all())

    def unsafe_chance(self, query: AggregateQuery) -> float | None:
        """Return an upper bound on the probability of an unsafe answer; None if the query is numerically too close to
        the answered ones.

        The query must be linearly independent of the answered ones, which the classical auditor decided exactly.
        """
        direction, _ = self._direction(query)
        if direction is None:
            return None
        variances = np.clip(1 - self.taken - direction**2 - MARGIN * (direction != 0), 0, 1)
        tolerated = tolerated_shift(variances, self.game) - MARGIN
        is_affected = np.abs(direction) > 1e-12
        if (np.abs(self.shift[~is_affected]) > tolerated[~is_affected] + 2 * MARGIN).any() or (
            tolerated[is_affected] < 0
        ).any():
            return 1.0
        steps = np.abs(direction[is_affected])
        centre = -self.shift[is_affected] * np.sign(direction[is_affected])
        high = float(((tolerated[is_affected] + centre) / steps).min())
        low = float(((centre - tolerated[is_affected]) / steps).max())
        return 1.0 if low >= high else float(special.ndtr(low) + special.ndtr(-high))

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Add an answer; one that was implied changes nothing."""
        direction, length = self._direction(query)
        if direction is None:
            return
        weights = weights_of(query, self.n)
        mean = Fraction(self.prior.mean) * int(weights.sum())
        standard = float((answer - mean) / Fraction(self.prior.deviation))
        step = (standard - float(weights @ self.shift)) / length
        self.basis = np.vstack([self.basis, direction])
        self.taken = np.minimum(self.taken + direction**2, 1.0)
        self.shift = self.shift + direction * step

    def _direction(self, query: AggregateQuery) -> tuple[FloatArray | None, float]:
        """Return the new orthonormal direction of a query and its length; None if it is too close to the answered ones."""
        weights = weights_of(query, self.n)
        residual = weights - self.basis.T @ (self.basis @ weights)
        residual = residual - self.basis.T @ (self.basis @ residual)
        length = float(np.linalg.norm(residual))
        if length <= _INDEPENDENT * float(np.linalg.norm(weights)):
            return None, 0.0
        return residual / length, length


def weights_of(query: AggregateQuery, n: int) -> FloatArray:
    """Return the query as a row: its coefficient for every person."""
    weights = np.zeros(n)
    weights[query.members] = 1.0 if query.coefficients is None else query.coefficients
    return weights
