"""Exact posterior of sums under a uniform prior while the queries reduce to sums of disjoint groups.

Given that the m values of a group sum to a, one of them is in [l, u] with probability (F(a-l) - F(a-u)) / (F(a) -
F(a-1)), where F is the distribution function of the sum of m-1 values. The density ratio is log-concave in the value,
so windows at the two ends have the smallest probability; the largest one is centred where the other values sum to
(m-1)/2, or as near to it as the ends allow. Both get worse as a moves away from m/2, so the safe sums are an interval
around m/2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from reticent.audit.chance.game import Game
from reticent.audit.chance.irwin_hall import cumulative, density
from reticent.audit.chance.priors import Uniform
from reticent.audit.decision import AggregateQuery
from reticent.errors import DataError

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

# Bound on the rounding error of a probability or of a tolerated deviation, for up to a few thousand people.
MARGIN = 1e-9
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@lru_cache(maxsize=4096)
def tolerated_deviation(m: int, share: Fraction, factor: Fraction) -> float:
    """Return the largest safe ``|a - m/2|`` of a group of m uniform values with known sum a, rounded down; negative if
    no sum is safe.

    Safe: the posterior of an interval of prior probability ``share`` differs from it by at most ``factor``.
    """
    if m == 1:
        return -1.0
    if _slack(m, 0.0, share, factor) <= 0:
        return -1.0
    end = m / 2 * (1 - 1e-12)
    # Far out the lower window is empty, and the slack is -1.
    root = float(brentq(lambda deviation: _slack(m, deviation, share, factor), 0.0, end, xtol=1e-12))
    return max(root - MARGIN, 0.0)


def _slack(m: int, deviation: float, share: Fraction, factor: Fraction) -> float:
    """Return how far the worst window of a group with sum m/2 + deviation is from being unsafe; positive is safe."""
    window, allowed = float(share), float(factor)
    # The mirrored sum m/2 - deviation, whose lower tails keep full precision; there the upper window has the smallest
    # probability.
    total = m / 2 - deviation
    start = float(np.clip(total - (m - 1) / 2 - window / 2, 0.0, 1 - window))
    ends = cumulative(m - 1, [total, total - 1 + window, total - 1, total - start, total - start - window])
    probability = ends[0] - ends[2]
    if probability <= 0:
        return -1.0
    emptiest, fullest = (ends[1] - ends[2]) / probability / window, (ends[3] - ends[4]) / probability / window
    return float(min(emptiest * allowed - 1, 1 - fullest / allowed))


@dataclass(frozen=True)
class Change:
    """The effect of a query: none, a new group, or a split group.

    ``part`` are the people whose sum becomes known, and ``cut`` the group they belong to, or -1 if they are in no
    earlier query.
    """

    part: IntArray
    cut: int = -1

    @property
    def is_nothing(self) -> bool:
        """True if the answer is implied."""
        return not len(self.part)


@dataclass
class UniformGroups:
    """Disjoint groups of people with known sums, in the unit of the prior. Mutable: grows with every answer."""

    n: int
    prior: Uniform
    game: Game
    group: IntArray = field(init=False)
    sizes: list[int] = field(default_factory=list)
    sums: list[Fraction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.group = np.full(self.n, -1, dtype=np.int64)

    def extend(self, n: int) -> None:
        """Add people who are in no group."""
        self.group = np.append(self.group, np.full(n - self.n, -1, dtype=np.int64))
        self.n = n

    def change(self, query: AggregateQuery) -> Change | None:
        """Return the effect of a query; None if the answers would no longer reduce to disjoint sums."""
        if query.coefficients is not None:
            return None
        group_of = self.group[query.members]
        inside = np.bincount(group_of + 1, minlength=len(self.sizes) + 1)
        sizes = np.array([0, *self.sizes])
        partly = np.flatnonzero((inside[1:] > 0) & (inside[1:] < sizes[1:]))
        if len(partly) > 1 or (len(partly) == 1 and inside[0]):
            return None
        split_group = int(partly[0]) if len(partly) else -1
        return Change(query.members[group_of == split_group], split_group)

    def all_safe(self) -> bool:
        """True if AllSafe holds after the answers so far."""
        return all(
            abs(float(total - Fraction(size, 2))) <= self._tolerated(size)
            for size, total in zip(self.sizes, self.sums, strict=True)
        )

    def unsafe_chance(self, change: Change) -> float:
        """Return the probability, rounded up, that the answer would be unsafe for some person."""
        if not self.all_safe():
            return 1.0
        size = len(change.part)
        deviation = self._tolerated(size)
        if deviation < 0:
            return 1.0
        if change.cut < 0:
            return min(1.0, 2 * float(cumulative(size, [size / 2 - deviation])[0]) + MARGIN)
        rest_size = self.sizes[change.cut] - size
        rest_deviation = self._tolerated(rest_size)
        if rest_deviation < 0:
            return 1.0
        total = float(self.sums[change.cut])
        low = max(size / 2 - deviation, total - rest_size / 2 - rest_deviation, 0.0)
        high = min(size / 2 + deviation, total - rest_size / 2 + rest_deviation, float(size))
        return min(1.0, max(0.0, 1 - split_chance(size, rest_size, total, low, high)) + MARGIN)

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Add an answer to a query that reduces to disjoint sums."""
        change = self.change(query)
        if change is None or change.is_nothing:
            return
        groups = np.unique(self.group[query.members])
        known_sums = [self.sums[group] for group in groups.tolist() if group >= 0 and group != change.cut]
        total = self._scaled(answer, len(query)) - sum(known_sums, Fraction(0))
        rest_sum = self.sums[change.cut] - total if change.cut >= 0 else Fraction(0)
        rest_size = self.sizes[change.cut] - len(change.part) if change.cut >= 0 else 0
        if not (0 <= total <= len(change.part) and 0 <= rest_sum <= rest_size):
            raise DataError(
                "The recorded answer is outside the range of the prior: the prior does not fit this column."
            )
        if change.cut >= 0:
            self.sizes[change.cut] -= len(change.part)
            self.sums[change.cut] -= total
        self.group[change.part] = len(self.sizes)
        self.sizes.append(len(change.part))
        self.sums.append(total)

    def chance(self, person: int, low: float, high: float) -> float:
        """Return the posterior probability that a person's value is between ``low`` and ``high``, in the prior's own unit."""
        ends = self.prior.cumulative(np.array([low, high]))
        group = int(self.group[person])
        if group < 0:
            return float(ends[1] - ends[0])
        total, other_count = float(self.sums[group]), self.sizes[group] - 1
        table = cumulative(other_count, [total - ends[0], total - ends[1], total, total - 1])
        return float((table[0] - table[1]) / (table[2] - table[3]))

    def _scaled(self, answer: Fraction, size: int) -> Fraction:
        return (answer - size * Fraction(self.prior.low)) / self.prior.width

    def _tolerated(self, size: int) -> float:
        return tolerated_deviation(size, self.game.share, self.game.factor)


def split_chance(size: int, rest: int, total: float, low: float, high: float) -> float:
    """Return the probability that ``size`` of ``size + rest`` uniform values with a known total sum to between ``low``
    and ``high``.

    The density is a polynomial between neighbouring knots, so quadrature between knots is exact up to rounding for
    small groups and converges very fast for large ones. Knots beyond twelve standard deviations are skipped, which only
    lowers the result.
    """
    spread = 12 * np.sqrt((size + rest) / 12) + 1
    centre = total * size / (size + rest)
    low, high = max(low, 0.0, total - rest, centre - spread), min(high, float(size), total, centre + spread)
    if low >= high:
        return 0.0
    inner = np.arange(np.floor(low), np.ceil(high) + 1)
    mirrored = total - np.arange(np.floor(total - high), np.ceil(total - low) + 1)
    knots = np.unique(np.concatenate([inner, mirrored, [low, high]]))
    knots = knots[(knots >= low) & (knots <= high)]
    half = np.diff(knots)[:, None] / 2
    points = knots[:-1, None] + half * (1 + _NODES)
    flat = points.ravel()
    values = (density(size, flat) * density(rest, total - flat)).reshape(points.shape)
    return float((values * _WEIGHTS * half).sum() / density(size + rest, [total])[0])
