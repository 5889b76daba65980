"""Laws of noise by listing every outcome: all coin sequences, all random bits of all comparators, all sets of outputs.

Slow, and shares nothing with the product: decimals of 60 digits, no enclosures, no ratios, no prefix sums.
"""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import chain, combinations, product

Law = dict[int, Fraction]
_DIGITS = 60


def tossed(coins: int) -> Law:
    """The law of heads minus half of the coins, by every sequence of tosses."""
    seen = Counter(sum(tosses) - coins // 2 for tosses in product((0, 1), repeat=coins))
    return {value: Fraction(times, 2**coins) for value, times in seen.items()}


def compared(chance: Fraction, precision: int) -> Fraction:
    """How often a biased coin shows 1: for every string of random bits, the complement of the first bit that differs from the chance's own; a tie is a 1."""
    digits, rest = [], chance
    for _ in range(precision):
        rest *= 2
        digits.append(int(rest >= 1))
        rest -= digits[-1]
    ones = 0
    for bits in product((0, 1), repeat=precision):
        differs = [place for place in range(precision) if bits[place] != digits[place]]
        ones += 1 - bits[differs[0]] if differs else 1
    return Fraction(ones, 2**precision)


def bit_chance(scale: Fraction, bit: int) -> Fraction:
    """1/(1 + e^(2^bit/scale)), to 60 digits."""
    with localcontext() as context:
        context.prec = _DIGITS
        power = Decimal(2**bit * scale.denominator) / Decimal(scale.numerator)
        return Fraction(1 / (1 + power.exp()))


def geometric(scale: Fraction, width: int, precision: int) -> Law:
    """The law of a number of ``width`` bits, each by a comparator, from every outcome."""
    ones = [compared(bit_chance(scale, bit), precision) for bit in range(width)]
    law: Law = {}
    for bits in product((0, 1), repeat=width):
        value = sum(bit << place for place, bit in enumerate(bits))
        law[value] = math.prod(
            (one if bit else 1 - one for bit, one in zip(bits, ones, strict=True)), start=Fraction(1)
        )
    return law


def difference(one: Law, other: Law) -> Law:
    """The law of the difference of two independent numbers."""
    law: Counter[int] = Counter()
    for (x, chance), (y, also) in product(one.items(), other.items()):
        law[x - y] += chance * also  # type: ignore[assignment]  # a Counter counts fractions as well
    return dict(law)  # type: ignore[arg-type]


def lost(law: Law, epsilon: str, cells: int = 1, step: int = 1) -> Decimal:
    """The sum of max(0, Pr[x] - e^epsilon Pr'[x]) over all outputs, where the cells move by ``step`` in alternating directions."""
    with localcontext() as context:
        context.prec = _DIGITS
        factor, total = Decimal(epsilon).exp(), Decimal(0)
        points = sorted(set(law) | {value + step for value in law} | {value - step for value in law})
        for output in product(points, repeat=cells):
            here = math.prod((law.get(x, Fraction(0)) for x in output), start=Fraction(1))
            there = math.prod(
                (law.get(x - step * (-1) ** place, Fraction(0)) for place, x in enumerate(output)), start=Fraction(1)
            )
            total += max(Decimal(0), _decimal(here) - factor * _decimal(there))
        return total


def lost_by_sets(law: Law, epsilon: str, step: int = 1) -> Decimal:
    """The largest Pr[S] - e^epsilon Pr'[S] over every set of outputs, and with both tables exchanged; for tiny laws."""
    with localcontext() as context:
        context.prec = _DIGITS
        factor, worst = Decimal(epsilon).exp(), Decimal(0)
        for move in (step, -step):
            points = sorted(set(law) | {value + move for value in law})
            for chosen in chain.from_iterable(combinations(points, size) for size in range(len(points) + 1)):
                here = sum((law.get(x, Fraction(0)) for x in chosen), Fraction(0))
                there = sum((law.get(x - move, Fraction(0)) for x in chosen), Fraction(0))
                worst = max(worst, _decimal(here) - factor * _decimal(there))
        return worst


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
