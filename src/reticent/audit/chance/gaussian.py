"""Sums under a Gaussian prior: the posterior is Gaussian, so safety has a closed form.

In deviations from the prior mean, answers to linear questions with orthonormal basis U leave person i with the law N(shift_i,
1 - p_i), p_i the i-th diagonal entry of the projector U^T U. A new question adds one direction u and one standard normal unknown t:
shift_i + u_i t, p_i + u_i^2. All (lambda, beta)-safe shifts of a person form an interval around 0, hence so do the safe t.
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

# Rounding in the orthonormal basis stays far below this where a new question is at least _INDEPENDENT away from the old ones.
MARGIN = 1e-8
_INDEPENDENT = 1e-5
_HALVINGS = 60


def tolerated_shift(kept: FloatArray, game: Game) -> FloatArray:
    """The largest safe |shift| of people who keep the share ``kept`` of their variance; below 0 where none is safe.

    The windows of prior chance 1/beta at both ends have the least posterior ratio, because the ratio is log-concave; the end
    away from the shift decides: ``Phi((z - shift) / sqrt(kept)) >= share / factor``. The greatest ratio belongs to
    the window around ``shift / (1 - kept)``, where the ratio peaks; it grows with the shift, so halving finds its limit.
    """
    share, factor = float(game.share), float(game.factor)
    spread = np.sqrt(kept)
    by_ends = special.ndtri(share) - spread * special.ndtri(share / factor)
    largest = np.where(by_ends < 0, -1.0, by_ends)
    crowded = (by_ends >= 0) & (kept < 1) & (_peak(np.maximum(largest, 0.0), kept, share) > share * factor)
    if crowded.any():
        low, high = np.zeros(int(crowded.sum())), largest[crowded]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            good = _peak(middle, kept[crowded], share) <= share * factor
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        never = _peak(np.zeros_like(low), kept[crowded], share) > share * factor
        largest[crowded] = np.where(never, -1.0, low)
    return largest


def _peak(shift: FloatArray, kept: FloatArray, share: float) -> FloatArray:
    """The largest posterior chance of an interval of prior chance ``share``, for shifts >= 0."""
    removed = np.maximum(1 - kept, 1e-300)
    centre = np.minimum(shift / removed, 30.0)
    low, high = np.zeros_like(centre), centre + 40.0
    for _ in range(_HALVINGS):
        half = (low + high) / 2
        # Upper tails, because the window may lie far out.
        wide = special.ndtr(half - centre) - special.ndtr(-half - centre) >= share
        low, high = np.where(wide, low, half), np.where(wide, half, high)
    spread = np.sqrt(kept)
    reach = special.ndtr((centre + high - shift) / spread) - special.ndtr((centre - high - shift) / spread)
    return np.asarray(np.where(kept < 1, reach, share))


@dataclass
class GaussianSums:
    """What was answered about sums, for n people with a Gaussian prior. Mutable: it grows with every answer."""

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
        """New people are in no answered question."""
        more = n - self.n
        self.basis = np.hstack([self.basis, np.zeros((len(self.basis), more))])
        self.taken, self.shift = np.append(self.taken, np.zeros(more)), np.append(self.shift, np.zeros(more))
        self.n = n

    def all_safe(self) -> bool:
        """AllSafe after the answers so far."""
        tolerated = tolerated_shift(np.clip(1 - self.taken, 0, 1), self.game)
        return bool((np.abs(self.shift) <= tolerated).all())

    def unsafe_chance(self, query: AggregateQuery) -> float | None:
        """An upper bound of the chance that the answer would be unsafe; None when floats cannot tell it from what is known.

        The question must be independent of the answered ones, which the classical auditor has decided exactly.
        """
        direction, _ = self._direction(query)
        if direction is None:
            return None
        kept = np.clip(1 - self.taken - direction**2 - MARGIN * (direction != 0), 0, 1)
        tolerated = tolerated_shift(kept, self.game) - MARGIN
        moved = np.abs(direction) > 1e-12
        if (np.abs(self.shift[~moved]) > tolerated[~moved] + 2 * MARGIN).any() or (tolerated[moved] < 0).any():
            return 1.0
        steps = np.abs(direction[moved])
        centre = -self.shift[moved] * np.sign(direction[moved])
        high = float(((tolerated[moved] + centre) / steps).min())
        low = float(((centre - tolerated[moved]) / steps).max())
        return 1.0 if low >= high else float(special.ndtr(low) + special.ndtr(-high))

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """The answer given; what was known already changes nothing."""
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
        """The new orthonormal direction of a question and its length; None when it is too close to the answered ones."""
        weights = weights_of(query, self.n)
        rest = weights - self.basis.T @ (self.basis @ weights)
        rest = rest - self.basis.T @ (self.basis @ rest)
        length = float(np.linalg.norm(rest))
        if length <= _INDEPENDENT * float(np.linalg.norm(weights)):
            return None, 0.0
        return rest / length, length


def weights_of(query: AggregateQuery, n: int) -> FloatArray:
    """The question as a row: its coefficient for every person."""
    weights = np.zeros(n)
    weights[query.members] = 1.0 if query.coefficients is None else query.coefficients
    return weights
