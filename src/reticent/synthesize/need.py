"""How much noise a group needs: the least prior weight whose outputs give somebody away with a chance of at most delta.

The noise is ``scale`` times the public weight of each value. An output is *representative* if no value occurs in it more than c (alpha_i + [n_i - 1]+) times, with
c = E - 1; no representative output distinguishes neighbours by more than E (R-SY-8). How likely a value occurs more often is a tail of a beta-binomial law,
and a union bound over values gives the chance that an output is not representative, whatever the table (R-SY-12 and section E).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PolicyError
from reticent.synthesize.beta_binomial import Floats, log_mass, relative_error, upper_tails

NoiseMode = Literal["tight", "thesis"]
Rule = Literal["everywhere", "kept"]
# The answer of a search is within this part of the least scale that is allowed.
PRECISION = 5e-4
_FINEST = 2e-6
_CUTS = 40
_DIGITS = 10
_NUDGE = 1e-11
_PROBLEMS_AT_ONCE = 1 << 19
_BISECTIONS = 200


@dataclass(frozen=True)
class WeightClass:
    """Values of one public weight: how many there are, or are expected to be kept."""

    weight: int
    count: Fraction


@dataclass(frozen=True)
class Need:
    """What one group needs: ``size`` people of which ``drawn`` are drawn, over classes of values, within ``ratio`` but for the chance ``delta``.

    ``total`` is the weight that all values have together, at least: with dropped values that of those that are kept. The rule is ``everywhere`` (all values
    stay: R-SY-12, section E) or ``kept`` (values of nobody stay with their probabilities, and a class counts those expected: R-SY-18).
    """

    size: int
    drawn: int
    classes: tuple[WeightClass, ...]
    total: int
    ratio: Fraction
    delta: Fraction
    rule: Rule = "everywhere"

    @property
    def excess(self) -> Fraction:
        """c = E - 1."""
        return self.ratio - 1

    @property
    def enough(self) -> Fraction:
        """The scale of plain differential privacy: every alpha is m/(E - 1), and no output is unrepresentative (R-SY-5)."""
        return self.drawn / self.excess / min(each.weight for each in self.classes)

    @cached_property
    def weights(self) -> Floats:
        """The weights of the classes."""
        return np.array([each.weight for each in self.classes], dtype=np.float64)

    @cached_property
    def counts(self) -> Floats:
        """The numbers of values of the classes."""
        return np.array([float(each.count) for each in self.classes])

    @cached_property
    def limit(self) -> float:
        """Up to which a bound in floating point is accepted."""
        return float(self.delta) / (1 + relative_error(self.size + self.drawn + float(self.enough) * self.total))

    def failure(self, scale: Fraction) -> float:
        """An upper bound of the chance that an output is not representative, for every table; thresholds are exact, tails carry a margin."""
        people, thresholds = self._thresholds(scale)
        found = self._bound(people, *self._tails_at(people, thresholds, float(scale)))
        return found * (1 + relative_error(self.size + self.drawn + float(scale) * self.total))

    def worst(self, scale: Fraction) -> set[int]:
        """The numbers of people with one value for which tails are largest: what a search has to look at."""
        people, thresholds = self._thresholds(scale)
        tails, _ = self._tails_at(people, thresholds, float(scale))
        per_person = tails / np.maximum(people, 1)
        return {int(people[each.max(axis=0).argmax()]) for each in (tails, per_person)}

    def _thresholds(self, scale: Fraction) -> tuple[NDArray[np.int64], Floats]:
        """The numbers of people that one value may have, and for each class how often it may then occur in a representative output."""
        listed, most = [], 0
        for each in self.classes:
            row: list[int] = []
            for people in range(self.size + 1):
                threshold = math.floor(self.excess * (scale * each.weight + max(people - 1, 0)))
                if threshold >= self.drawn and people:
                    break
                row.append(threshold)
            listed.append(row)
            most = max(most, len(row))
        # Beyond the threshold ``drawn`` there is no tail.
        filled = [row + [self.drawn] * (most - len(row)) for row in listed]
        return np.arange(most), np.array(filled, dtype=np.float64)

    def _tails_at(self, people: NDArray[np.int64], thresholds: Floats, scale: float) -> tuple[Floats, Floats]:
        alphas = scale * self.weights
        inside = people + alphas[:, None]
        return self._tails(inside, self.size + scale * self.total - inside, thresholds), self.counts

    def _tails(self, inside: Floats, outside: Floats, thresholds: Floats) -> Floats:
        shape = inside.shape
        flat = [np.ascontiguousarray(each).ravel() for each in (inside, np.maximum(outside, 1e-300), thresholds)]
        parts = [
            upper_tails(np.full(len(flat[0][cut]), float(self.drawn)), *(each[cut] for each in flat))
            for start in range(0, len(flat[0]), _PROBLEMS_AT_ONCE)
            for cut in [slice(start, start + _PROBLEMS_AT_ONCE)]
        ]
        return np.concatenate(parts).reshape(shape)

    def _bound(self, people: NDArray[np.int64], tails: Floats, counts: Floats) -> float:
        """The union bound from tails by class (next to last axis) and number of people (last axis)."""
        nobody = people == 0
        at_zero = counts @ tails[:, nobody].max(axis=1, initial=0)
        others, some = tails[:, ~nobody], people[~nobody]
        if self.rule == "kept":
            return float(at_zero + self.size * others.max(initial=0))
        each_apart = counts @ tails.max(axis=1)
        return float(min(each_apart, at_zero + self.size * (others / some).max(initial=0)))

    def bounds_between(self, edges: Floats, people: Sequence[int]) -> Floats:
        """Of each stretch between two edges, a lower bound of the failure anywhere in it, its right end left out.

        In an urn with a scale between a and b a draw hits a value with people x after h hits with a chance of at least (x + a w + h)/(n + b W + t): that of
        an urn that starts with x + a w inside and n + b W in all. Thresholds are at most those at b. Fewer numbers of ``people`` make it lower.
        """
        x = np.array(people)
        low, high = edges[:-1, None, None], edges[1:, None, None]
        weights = self.weights[None, :, None]
        inside = np.maximum(x + low * weights, 1e-300)
        thresholds = np.ceil(float(self.excess) * (high * weights + np.maximum(x - 1, 0)) * (1 - _NUDGE)) - 1
        outside = np.broadcast_to(self.size + high * self.total - inside, thresholds.shape)
        tails = self._tails(np.broadcast_to(inside, thresholds.shape), outside, np.maximum(thresholds, 0))
        return np.array([self._bound(x, each, self.counts) for each in tails])

    def bounds_at(self, scales: Floats, people: Sequence[int]) -> Floats:
        """The failure at each scale as far as these numbers of ``people`` show it."""
        x = np.array(people)
        inside = x + scales[:, None, None] * self.weights[None, :, None]
        thresholds = np.floor(
            float(self.excess)
            * (scales[:, None, None] * self.weights[None, :, None] + np.maximum(x - 1, 0))
            * (1 + _NUDGE)
        )
        tails = self._tails(inside, self.size + scales[:, None, None] * self.total - inside, thresholds)
        return np.array([self._bound(x, each, self.counts) for each in tails])


def tight_scale(need: Need, start: Fraction = Fraction(0)) -> Fraction:
    """The least scale of at least ``start`` that is certified, within 0.1 per cent of the least that R-SY-12 allows (section E).

    Failures are saw-toothed in the scale, so no bisection finds the least one. Stretches are excluded from the left by lower bounds that hold everywhere in
    them, and cut further where that does not exclude them; edges stand where thresholds of the rarest cases step. What is returned is rounded up to a short
    decimal and certified itself.
    """
    if not need.delta:
        return _short(need.enough)
    search = _Search(need, start)
    return search.least()


def thesis_scale(need: Need) -> Fraction:
    """The scale of the reference 0-sample (R-SY-10, R-SY-11), raised where exact tails do not certify it (R-SY-12). Uniform weights, as many draws as people."""
    if need.ratio <= 3:
        raise PolicyError(
            "mode 'thesis' needs e^epsilon > 3, that is an epsilon above 1.0987: its theorem assumes it. Use mode 'tight'.",
            setting=("mode",),
            value="thesis",
        )
    if need.drawn != need.size or len(need.classes) > 1:
        raise PolicyError(
            "mode 'thesis' needs uniform weights and as many synthetic as real rows: its theorem assumes it. Use mode 'tight'.",
            setting=("mode",),
            value="thesis",
        )
    if need.size == 1 or not need.delta:
        return _short(need.enough)
    found = _reference_scale(need)
    return found if need.failure(found) <= float(need.delta) else tight_scale(need, found)


def _reference_scale(need: Need) -> Fraction:
    """Bisection on the criterion of R-SY-10; the safe end is returned (R-SY-11)."""
    c, n, k = float(need.excess), need.size, float(need.classes[0].count)
    constant = math.log(2 * k * float(need.ratio) / (float(need.ratio) - 2)) - math.log(float(need.delta))
    low, high = 0.0, float(need.enough)
    for _ in range(_BISECTIONS):
        if high - low <= 1e-11 * high:
            break
        middle = (low + high) / 2
        if log_reference_mass(n, n, middle, (need.total - 1) * middle, c) + constant > 0:
            low = middle
        else:
            high = middle
    return min(_short(Fraction(high)), _short(need.enough))


def log_reference_mass(size: int, drawn: int, inside: float, outside: float, excess: float) -> float:
    """ln rho of R-SY-9: the largest beta-binomial mass at the threshold f(x), over all numbers x of people with one value; minus infinity if there is none."""
    people = np.arange(min(size, math.ceil(drawn / excess - inside + 1)) + 1, dtype=np.float64)
    thresholds = excess * (inside + np.maximum(people - 1, 0))
    people, thresholds = people[thresholds < drawn], thresholds[thresholds < drawn]
    if not len(people):
        return -math.inf
    masses = log_mass(np.array(float(drawn)), people + inside, size - people + outside, thresholds)
    return float(masses.max())


class _Search:
    """The leftmost certified scale; ``people`` are the numbers of people that lower bounds look at, more of them once one was overlooked."""

    def __init__(self, need: Need, start: Fraction) -> None:
        self.need, self.start = need, float(start)
        self.people = sorted({x for x in (0, 1, 2, 3, 5) if x <= need.size})

    def least(self) -> Fraction:
        top = float(self.need.enough)
        first = max(self.start, top * 2.0**-30)
        edges = np.geomspace(first, top, 61) if first < top else np.array([top])
        edges = np.concatenate([[0.0], edges]) if not self.start else edges
        found = self._leftmost(edges)
        return found if found is not None else _short(self.need.enough)

    def _leftmost(self, edges: Floats) -> Fraction | None:
        """The first certified scale at an edge or between edges, left to right; stretches that cannot hold one are left out."""
        need = self.need
        excluded = need.bounds_between(edges, self.people) > need.limit
        passing = need.bounds_at(np.maximum(edges, 1e-300), self.people) <= need.limit
        for place, (low, high) in enumerate(pairwise(edges.tolist())):
            if passing[place] and (found := self._certified(low)) is not None:
                return found
            if excluded[place] or high <= low * (1 + _FINEST):
                continue
            if passing[place + 1] and high <= low * (1 + PRECISION):
                continue
            if (found := self._leftmost(self._cut(low, high))) is not None:
                return found
        return self._certified(float(edges[-1])) if passing[-1] else None

    def _cut(self, low: float, high: float) -> Floats:
        """Edges between two scales, with the steps of thresholds for nobody and for one person in the rarest class among them."""
        cuts = np.geomspace(max(low, high * 2.0**-30), high, _CUTS)
        steps = [
            np.arange(math.floor(unit * low) + 1, min(math.ceil(unit * high), math.floor(unit * low) + _CUTS)) / unit
            for unit in (float(self.need.excess) * self.need.weights)[:_CUTS]
        ]
        inner = np.unique(np.concatenate([cuts, *steps]))
        return np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])

    def _certified(self, scale: float) -> Fraction | None:
        if scale <= 0:
            return None
        rounded = _short(Fraction(scale))
        if self.need.failure(rounded) <= float(self.need.delta):
            return rounded
        self.people = sorted({*self.people, *self.need.worst(rounded)})
        return None


def _short(value: Fraction) -> Fraction:
    """A decimal of 10 digits, at least ``value``: short enough for urns in machine integers, and to be read."""
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_CEILING
        return Fraction(Decimal(value.numerator) / Decimal(value.denominator))
