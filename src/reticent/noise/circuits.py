"""Biased coins and exponential noise from secret-shared random bits.

*Guarantee*: the noise has exactly the distribution that the plan states: the difference of two geometric numbers, each
bit of which is an independent coin. *Adversary*: that of the arithmetic; every coin uses all its bits, so that the
communication does not depend on the outcome. *Cost*: ``precision`` hidden bits and fewer than 2 ``precision`` products
per coin, in ceil(log2(precision)) rounds. *Source*: [Dwork2006b]; the bits of a geometric number are independent.
Corrected: a difference is used, since a sign bit would double the probability of zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reticent.noise import field as gf
from reticent.noise.field import Elements
from reticent.noise.multiplication import SharedArithmetic


def products_of_comparison(precision: int) -> int:
    """Return the number of products for comparing a hidden number of ``precision`` bits with a public one."""
    total, length = 0, precision
    while length > 1:
        merges = length // 2
        # The last merge of a level has the lowest bits, where equality is not needed, unless a single bit remains below
        # it.
        total += 2 * merges - (length % 2 == 0)
        length -= merges
    return total


async def at_most(arithmetic: SharedArithmetic, item: str, bits: Elements, limits: Elements) -> Elements:
    """Return shares of 1 where the hidden number (``bits[0]`` its highest bit) is at most the public one with bits ``limits``, and of 0 elsewhere.

    A tie gives 1. Adjacent segments of bits are merged in parallel: the number is greater if its high segment is, or
    that is equal and the low segment greater.
    """
    greater = bits * (1 - limits) % gf.PRIME
    equal = np.where(limits == 1, bits, 1 - bits) % gf.PRIME
    level = 0
    while len(greater) > 1:
        level += 1
        merges = len(greater) // 2
        high, low = slice(0, 2 * merges, 2), slice(1, 2 * merges, 2)
        equality_merges = merges - (len(greater) % 2 == 0)
        width = bits.shape[1]
        factors = np.concatenate([equal[high], equal[high][:equality_merges]]).reshape(-1)
        cofactors = np.concatenate([greater[low], equal[low][:equality_merges]]).reshape(-1)
        products = (await arithmetic.multiply(f"{item}/{level}", factors, cofactors)).reshape(-1, width)
        rest_greater, rest_equal = greater[2 * merges :], equal[2 * merges :]
        greater = np.concatenate([(greater[high] + products[:merges]) % gf.PRIME, rest_greater])
        # Equality of the lowest segment is never needed.
        unused = np.zeros((merges - equality_merges, width), dtype=np.int64)
        equal = np.concatenate([products[merges:], unused, rest_equal])
    result: Elements = (1 - greater[0]) % gf.PRIME
    return result


async def exponential_noise(
    arithmetic: SharedArithmetic, item: str, bits: Elements, thresholds: Sequence[int], precision: int, sums: int
) -> Elements:
    """Return secret shares of ``sums`` independent samples of two-sided geometric noise, each the difference of two
    geometric samples.

    Bit i of a geometric sample is 1 iff its uniform random number of ``precision`` ``bits`` is at most
    ``thresholds[i]``.
    """
    width = len(thresholds)
    limits = np.array(
        [[threshold >> (precision - 1 - bit) & 1 for threshold in thresholds] for bit in range(precision)]
    )
    coins = await at_most(
        arithmetic, item, bits.reshape(precision, 2 * sums * width), np.tile(limits, (1, 2 * sums)).astype(np.int64)
    )
    weights = np.array([1 << exponent for exponent in range(width)], dtype=np.int64)
    magnitudes = (coins.reshape(2, sums, width) * weights % gf.PRIME).sum(axis=-1) % gf.PRIME
    noise: Elements = (magnitudes[0] - magnitudes[1]) % gf.PRIME
    return noise


@dataclass(frozen=True)
class CoinTree:
    """Coins of one bias from a segment of bits: for each number j of matched bits of the bias before the segment, the
    resulting coins and the number of matched bits after it.

    Segments can be joined without knowing the state of the left one, so a tree of depth log2(bits) replaces the
    sequential process. On shares every join would select among as many states as the bias has bits: worthwhile only if
    random bits cost far more than products, which is not the case here. Used in the clear, to compare costs.
    """

    outcomes: tuple[tuple[tuple[int, ...], int], ...]

    @staticmethod
    def of(bits: Sequence[int], bias: Sequence[int]) -> CoinTree:
        """Build the tree of a segment of bits; ``bias`` are the binary digits of the bias after the point, highest first."""
        if len(bits) == 1:
            return CoinTree(tuple(_leaf(bits[0], state, bias) for state in range(len(bias))))
        half = len(bits) // 2
        return CoinTree.of(bits[:half], bias).joined(CoinTree.of(bits[half:], bias))

    def joined(self, other: CoinTree) -> CoinTree:
        """Return this segment followed by another one."""
        outcomes = []
        for coins, matched in self.outcomes:
            further_coins, after = other.outcomes[matched]
            outcomes.append(((*coins, *further_coins), after))
        return CoinTree(tuple(outcomes))

    @property
    def coins(self) -> tuple[int, ...]:
        """Return the coins if no bits were matched before."""
        return self.outcomes[0][0]

    @property
    def progress(self) -> int:
        """Return the number of matched bits in that case."""
        return self.outcomes[0][1]


def _leaf(bit: int, matched: int, bias: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Return the decided output bits (none or one) and the number of bits of ``bias`` matched so far, after reading one
    random bit.

    The output is the complement of the first bit that differs from the bias, and 1 if all are equal.
    """
    if bit != bias[matched]:
        return (1 - bit,), 0
    return ((1,), 0) if matched + 1 == len(bias) else ((), matched + 1)
