"""Distributions of integer noise: exact probabilities, and the exact delta at an epsilon.

A distribution is *(epsilon, delta)-indistinguishable* for neighbours if for every set S of outputs Pr[S] <= e^epsilon
Pr'[S] + delta. The smallest such delta is the sum of max(0, Pr[x] - e^epsilon Pr'[x]) over all outputs x. It is
enclosed between two fractions as close as needed, because e^epsilon is irrational; verdicts are decided by the
enclosure, never by a float.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, cmp_to_key
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.errors import PolicyError

MOST_WIDTH = 13
_FIRST_BITS = 256
_TAIL = 1e-18


@dataclass(frozen=True)
class Move:
    """The sensitivity: for neighbouring tables ``cells`` of the answers change, each by at most ``step``.

    Replacing a row changes a count by 1 (one cell), a histogram by 1 in two cells, and a sum of values of b bits by at most 2^b - 1.
    """

    cells: int = 1
    step: int = 1

    def __post_init__(self) -> None:
        whole(self.cells, "Move: cells", low=1, high=2)
        whole(self.step, "Move: step", low=1)

    @property
    def distance(self) -> int:
        """The L1 sensitivity: the sum of all changes."""
        return self.cells * self.step


COUNT, HISTOGRAM = Move(), Move(cells=2)


@dataclass(frozen=True)
class Enclosure:
    """A number between two fractions."""

    low: Fraction
    high: Fraction


def exponential(power: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return fractions just below and above e^power, with a relative difference of about 2^-bits."""
    digits = bits // 3 + 20
    bounds = []
    for rounding in (ROUND_FLOOR, ROUND_CEILING):
        with localcontext() as context:
            context.prec, context.rounding = digits, rounding
            # Decimal rounds exp to nearest whatever the context's rounding, so widen by one unit.
            nearest = (Decimal(power.numerator) / Decimal(power.denominator)).exp()
            bounds.append(Fraction(nearest.next_minus() if rounding == ROUND_FLOOR else nearest.next_plus()))
    return bounds[0], bounds[1]


class NoiseLaw(ABC):
    """The distribution of the noise on one integer, symmetric around 0."""

    @property
    @abstractmethod
    def variance(self) -> Fraction | float:
        """Variance of the noise."""

    @abstractmethod
    def loss(self, epsilon: Fraction, move: Move, bits: int) -> Enclosure:
        """Return the delta at ``epsilon``, enclosed with about ``bits`` bits."""

    @abstractmethod
    def chances(self) -> tuple[int, NDArray[np.float64]]:
        """Return the smallest value with a probability above 10^-18, and the probabilities from there on, as floats: for intervals and figures."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The law as plain data; :func:`law_from` reads it."""

    def delta(self, epsilon: Number, move: Move = COUNT) -> Fraction:
        """Return the delta at ``epsilon``, rounded up by less than 10^-30."""
        return self.loss(_epsilon(epsilon), move, _FIRST_BITS).high

    def keeps(self, epsilon: Number, delta: Number, move: Move = COUNT) -> bool:
        """True if the noise is (epsilon, delta)-indistinguishable, exactly."""
        loss, limit, bits = _epsilon(epsilon), exact(delta, "delta", low=0, high=1), _FIRST_BITS
        while True:
            enclosure = self.loss(loss, move, bits)
            if enclosure.high <= limit:
                return True
            if enclosure.low > limit:
                return False
            bits *= 2

    def spread(self, cells: int) -> tuple[int, NDArray[np.float64]]:
        """Return the distribution of the noise of a sum of ``cells`` independent answers: its smallest value and the probabilities from there on.

        By Fourier transform over a window of at least 40 standard deviations, beyond which probabilities underflow.
        """
        low, chances = self.chances()
        if cells == 1:
            return low, chances
        window = min(cells * len(chances), len(chances) + math.ceil(80 * math.sqrt(cells * float(self.variance)) + 80))
        size = 1 << (window - 1).bit_length()
        # Centred at 0: negative values wrap around to the end.
        centred = np.zeros(size)
        centred[np.arange(low, low + len(chances)) % size] = chances
        summed = np.fft.irfft(np.fft.rfft(centred) ** cells, size)
        half = size // 2
        return -half, np.clip(np.concatenate([summed[half:], summed[:half]]), 0, 1)

    def reach(self, cells: int, confidence: float) -> int:
        """Return the smallest h such that the noise of a sum of ``cells`` answers is within -h..h with at least this probability."""
        low, chances = self.spread(cells)
        beyond = (1 - confidence) * (1 - 1e-9)
        tails = np.cumsum(chances)
        # By symmetry both tails are twice the lower one.
        inside = np.flatnonzero(2 * tails > beyond)
        return max(0, -(low + int(inside[0])))


class FiniteLaw(NoiseLaw):
    """A distribution with finitely many values, whose probabilities are integers over a power of two."""

    @abstractmethod
    def weights(self) -> Iterator[int]:
        """Yield the numerators of the probabilities, from the smallest value to the largest."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """The probabilities are weights over 2^bits."""

    def loss(self, epsilon: Fraction, move: Move, bits: int) -> Enclosure:
        """Return the delta, from probabilities truncated to ``bits`` bits.

        For two cells the probability of a pair is a product; by symmetry both may be taken as moving up. Pairs are
        processed in order of likelihood ratio, so that those that count for one value are the first ones of the other.
        """
        kept_bits = min(bits, self.bits)
        weights_here = [weight >> (self.bits - kept_bits) for weight in self.weights()]
        weights_there = [0] * move.step + weights_here
        weights_here += [0] * move.step
        low, high = exponential(epsilon, bits)
        # Truncated probabilities are off by less than a unit each, and max(0, a - cb) changes by no more than a + cb
        # does.
        units = 0 if kept_bits == self.bits else move.cells * len(weights_here)
        margin = (1 + math.ceil(high)) * Fraction(units * 2, 1 << kept_bits)
        excess = _pairs if move.cells == 2 else _singles
        scale = Fraction(1, 1 << (kept_bits * move.cells))
        lowest, highest = (
            excess(weights_here, weights_there, high) * scale - margin,
            excess(weights_here, weights_there, low) * scale + margin,
        )
        return Enclosure(max(Fraction(0), lowest), min(Fraction(1), highest))


def _singles(here: list[int], there: list[int], factor: Fraction) -> Fraction:
    """Return the sum over all values x of max(0, here[x] - factor there[x])."""
    top, bottom = factor.numerator, factor.denominator
    gains = (here_weight * bottom - top * there_weight for here_weight, there_weight in zip(here, there, strict=True))
    return Fraction(sum(gain for gain in gains if gain > 0), bottom)


def _pairs(here: list[int], there: list[int], factor: Fraction) -> Fraction:
    """Return the sum over all pairs (x, y) of max(0, here[x] here[y] - factor there[x] there[y])."""
    top, bottom = factor.numerator, factor.denominator
    weight_pairs = [
        (here_weight, there_weight) for here_weight, there_weight in zip(here, there, strict=True) if here_weight
    ]
    # By decreasing ratio here/there, compared without division.
    weight_pairs.sort(key=cmp_to_key(_by_ratio))
    here_sums, there_sums = (list(accumulate((pair[side] for pair in weight_pairs), initial=0)) for side in (0, 1))
    total, positive_count = 0, len(weight_pairs)
    for here_weight, there_weight in weight_pairs:
        while (
            positive_count
            and here_weight * weight_pairs[positive_count - 1][0] * bottom
            <= top * there_weight * weight_pairs[positive_count - 1][1]
        ):
            positive_count -= 1
        total += here_weight * here_sums[positive_count] * bottom - top * there_weight * there_sums[positive_count]
    return Fraction(total, bottom)


def _by_ratio(first: tuple[int, int], second: tuple[int, int]) -> int:
    """Comparison function: negative if the ratio of the first pair is larger."""
    return second[0] * first[1] - first[0] * second[1]


@dataclass(frozen=True)
class BinomialLaw(FiniteLaw):
    """Centred binomial: the number of heads among ``coins`` fair coins, minus half of them; tossed by several parties together.

    The tally of +1 and -1 is *halved*: unhalved noise has one parity, and neighbouring tables could never give the same answer.
    """

    coins: int

    def __post_init__(self) -> None:
        """Refuse an odd number of coins."""
        if whole(self.coins, "coins", low=2) % 2:
            raise PolicyError(
                f"coins must be an even number, so that half of them is a whole number, but it is {self.coins}.",
                setting=("coins",),
                value=self.coins,
            )

    @property
    def variance(self) -> Fraction:
        return Fraction(self.coins, 4)

    @property
    def bits(self) -> int:
        return self.coins

    def weights(self) -> Iterator[int]:
        """Yield the number of ways to get 0, 1, ... heads from all coins: the binomial coefficients."""
        weight = 1
        for heads in range(self.coins + 1):
            yield weight
            weight = weight * (self.coins - heads) // (heads + 1)

    def chances(self) -> tuple[int, NDArray[np.float64]]:
        probabilities = binomial_chances(self.coins)
        relevant = np.flatnonzero(probabilities > _TAIL)
        return int(relevant[0]) - self.coins // 2, probabilities[relevant[0] : relevant[-1] + 1]

    def describe(self) -> dict[str, Any]:
        return {"name": "binomial", "coins": self.coins}


def binomial_chances(coins: int) -> NDArray[np.float64]:
    """Return the probabilities of 0 to ``coins`` heads, as floats."""
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, coins + 1, dtype=np.float64)))])
    chances: NDArray[np.float64] = np.exp(logarithms[-1] - logarithms - logarithms[::-1] - coins * math.log(2))
    return chances


def thresholds(scale: Fraction, width: int, precision: int) -> tuple[int, ...]:
    """Return the threshold of each of the ``width`` bits of a geometric number: the bit is 1 iff a uniform number of
    ``precision`` bits is at most this.

    The bits of a geometric number l, Pr[l] proportional to e^(-l/scale), are independent with Pr[bit i = 1] = p = 1/(1
    + e^(2^i/scale)). The comparison with floor(p 2^precision) gives (floor(p 2^precision) + 1)/2^precision.
    """
    return tuple(_floor_of_chance(Fraction(1 << bit) / scale, precision) for bit in range(width))


def _floor_of_chance(power: Fraction, precision: int) -> int:
    """Return floor(2^precision / (1 + e^power)), exactly: the power is a positive fraction, so the probability is irrational."""
    if power > precision:
        # e^power > 2^precision, so the probability is below one unit.
        return 0
    bits = precision + math.ceil(power * 3 / 2) + 16
    while True:
        low, high = exponential(power, bits)
        lowest, highest = (math.floor((1 << precision) / (1 + power_bound)) for power_bound in (high, low))
        if lowest == highest:
            return lowest
        bits *= 2


@dataclass(frozen=True)
class ExponentialLaw(FiniteLaw):
    """The difference of two geometric numbers of ``width`` bits each, made from fair coins with ``precision`` coins per bit.

    Close to Pr[x] proportional to e^(-|x|/scale). The two numbers are sampled independently: one number with a sign
    would double the probability of 0, which loses ln 2 more.
    """

    scale: Fraction
    width: int
    precision: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", exact(self.scale, "scale", above=0))
        whole(self.width, "width", low=1)
        whole(self.precision, "precision", low=1)

    @cached_property
    def ones(self) -> tuple[int, ...]:
        """The probability of each bit being 1, over 2^precision."""
        return tuple(limit + 1 for limit in thresholds(self.scale, self.width, self.precision))

    @property
    def variance(self) -> Fraction:
        """Return the variance of the noise: the difference of two numbers with independent bits of weight 4^bit."""
        unit = 1 << self.precision
        return sum(
            (Fraction(2 * 4**bit * one * (unit - one), unit * unit) for bit, one in enumerate(self.ones)), Fraction(0)
        )

    @property
    def bits(self) -> int:
        return 2 * self.width * self.precision

    @property
    def is_small(self) -> bool:
        """True if all values can be enumerated."""
        return self.width <= MOST_WIDTH

    def weights(self) -> Iterator[int]:
        """Return the exact weight of every value, from the lowest: each bit of two magnitudes with opposite signs widens the distribution."""
        if not self.is_small:
            raise PolicyError(f"The law of noise with {self.width} bits has too many values to list.")
        weights, unit = [1], 1 << self.precision
        for bit, coin_weight in enumerate(self.ones):
            differ_weight, same_weight, step = (
                coin_weight * (unit - coin_weight),
                coin_weight * coin_weight + (unit - coin_weight) ** 2,
                1 << bit,
            )
            # The two bits differ one way, the other way, or not at all.
            wider = [0] * (len(weights) + 2 * step)
            for index, weight in enumerate(weights):
                wider[index] += differ_weight * weight
                wider[index + step] += same_weight * weight
                wider[index + 2 * step] += differ_weight * weight
            weights = wider
        yield from weights

    def loss(self, epsilon: Fraction, move: Move, bits: int) -> Enclosure:
        """Return the exact delta if the values can be enumerated, otherwise between 0 and :meth:`bound`."""
        return super().loss(epsilon, move, bits) if self.is_small else Enclosure(Fraction(0), self.bound(epsilon, move))

    def keeps(self, epsilon: Number, delta: Number, move: Move = COUNT) -> bool:
        if self.is_small:
            return super().keeps(epsilon, delta, move)
        return self.bound(_epsilon(epsilon), move) <= exact(delta, "delta", low=0, high=1)

    def distance(self) -> Fraction:
        """Return a bound of the total variation distance to unbounded, exact noise: 2(k 2^-d + e^(-2^k/scale))."""
        tail = exponential(-Fraction(1 << self.width) / self.scale, 64)[1]
        return 2 * (Fraction(self.width, 1 << self.precision) + tail)

    def bound(self, epsilon: Fraction, move: Move) -> Fraction:
        """Return a bound of delta: each cell costs (1 + e^epsilon) times the distance; 1 if epsilon is below the loss of exact noise."""
        if epsilon * self.scale < move.distance:
            return Fraction(1)
        return min(Fraction(1), (1 + exponential(epsilon, 64)[1]) * self.distance() * move.cells)

    def chances(self) -> tuple[int, NDArray[np.float64]]:
        """Return the lowest value with a relevant probability, and the probabilities from there on, in floats."""
        unit = float(1 << self.precision)
        probabilities = np.ones(1)
        for bit, coin_weight in enumerate(self.ones):
            share, step = coin_weight / unit, 1 << bit
            wider = np.zeros(len(probabilities) + 2 * step)
            for offset, chance in (
                (0, share * (1 - share)),
                (step, share**2 + (1 - share) ** 2),
                (2 * step, share * (1 - share)),
            ):
                wider[offset : offset + len(probabilities)] += chance * probabilities
            probabilities = wider
        relevant = np.flatnonzero(probabilities > _TAIL)
        return int(relevant[0]) - (1 << self.width) + 1, probabilities[relevant[0] : relevant[-1] + 1]

    def describe(self) -> dict[str, Any]:
        """Return the law as plain data."""
        return {
            "name": "exponential",
            "scale": str(self.scale),
            "width": self.width,
            "precision": self.precision,
        }


@dataclass(frozen=True)
class DiscreteLaplaceLaw(NoiseLaw):
    """Pr[x] = (1-a)/(1+a) a^|x| with a = e^(-1/scale): the noise of a trusted curator ([Ghosh2012])."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", exact(self.scale, "scale", above=0))

    @property
    def variance(self) -> float:
        share = math.exp(-1 / self.scale)
        return 2 * share / (1 - share) ** 2

    def loss(self, epsilon: Fraction, move: Move, bits: int) -> Enclosure:
        """Return an enclosure of delta for this epsilon and sensitivity, (lower, upper); 0 if epsilon is at least
        distance/scale.

        Below, a step of 1 gives each cell the ratio e^(1/scale) with probability 1/(1 + a), a = e^(-1/scale), so delta
        is (1 - e^(epsilon - cells/scale))/(1 + a)^cells. Larger steps are enclosed by 1.
        """
        missing_epsilon = Fraction(move.distance) / self.scale - epsilon
        if missing_epsilon <= 0:
            return Enclosure(Fraction(0), Fraction(0))
        if move.step > 1:
            return Enclosure(Fraction(0), Fraction(1))
        ratio_bounds, loss_bounds = exponential(-1 / self.scale, bits), exponential(-missing_epsilon, bits)
        return Enclosure(
            (1 - loss_bounds[1]) / (1 + ratio_bounds[1]) ** move.cells,
            min(Fraction(1), (1 - loss_bounds[0]) / (1 + ratio_bounds[0]) ** move.cells),
        )

    def chances(self) -> tuple[int, NDArray[np.float64]]:
        reach = math.ceil(float(self.scale) * 45) + 1
        share = math.exp(-1 / self.scale)
        return -reach, (1 - share) / (1 + share) * share ** np.abs(np.arange(-reach, reach + 1))

    def reach(self, cells: int, confidence: float) -> int:
        """Return the smallest bound of the absolute noise that holds with probability ``confidence``, for a sum over
        ``cells``.

        For one cell from Pr[|x| > h] = 2 a^(h + 1)/(1 + a), because noise on sums of large numbers has too wide a
        support to be listed.
        """
        if cells > 1:
            return super().reach(cells, confidence)
        beyond, scale = (1 - confidence) * (1 - 1e-9), float(self.scale)
        return max(0, math.ceil(scale * math.log(2 / (beyond * (1 + math.exp(-1 / scale))))) - 1)

    def describe(self) -> dict[str, Any]:
        return {"name": "discrete Laplace", "scale": str(self.scale)}


def hidden_by_noise(law: NoiseLaw, counts: NDArray[np.int64]) -> str | None:
    """Return a warning if the noise exceeds most counts, as on sparse domains with many columns; from noisy counts, so that anyone can compute it."""
    deviation, middle = math.sqrt(float(law.variance)), float(np.median(counts)) if len(counts) else 0.0
    if deviation <= middle:
        return None
    return (
        f"The noise is larger than most counts: its standard deviation is {deviation:.1f}, and the median count is {middle:,.0f}. "
        "Sums of many counts are still useful; coarser cells or a larger epsilon give better counts."
    )


def law_from(written: Mapping[str, Any]) -> NoiseLaw:
    """Parse what :meth:`NoiseLaw.describe` wrote; sizes are bounded, since it may be forged."""
    parameters = dict(written)
    name = parameters.pop("name", None)
    if name not in _LAWS:
        raise PolicyError(
            f"There is no noise distribution {name!r}. Choose one of: {', '.join(_LAWS)}.", setting=("name",)
        )
    law_class, bounds = _LAWS[name]
    if set(parameters) != set(bounds):
        raise PolicyError(
            f"The {name} law is described by {', '.join(bounds)}, not by {', '.join(parameters) or 'nothing'}."
        )
    for field, limit in bounds.items():
        if field == "scale":
            exact(parameters[field], field, above=0, high=limit)
        else:
            whole(parameters[field], field, low=1, high=limit)
    return law_class(**parameters)


_LAWS: dict[str, tuple[Callable[..., NoiseLaw], dict[str, int]]] = {
    "binomial": (BinomialLaw, {"coins": 8_000_000}),
    "exponential": (ExponentialLaw, {"scale": 1 << 20, "width": 20, "precision": 64}),
    "discrete Laplace": (DiscreteLaplaceLaw, {"scale": 1 << 16}),
}


def _epsilon(epsilon: Number) -> Fraction:
    return exact(epsilon, "epsilon", above=0, high=100)
