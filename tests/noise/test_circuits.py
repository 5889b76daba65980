"""Biased coins and exponential noise: exact laws by enumeration, golden values."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from reticent.noise import field as gf
from reticent.noise.circuits import CoinTree, at_most, exponential_noise, products_of_comparison
from reticent.noise.laws import ExponentialLaw


class PlainArithmetic:
    """HeldShares of degree zero: everybody has the value."""

    def __init__(self):
        self.products = self.rounds = 0

    async def open(self, item, shares):
        return shares

    async def multiply(self, item, one, other):
        self.products += len(one)
        self.rounds += 1
        return one * other % gf.PRIME


def compared(precision, limit):
    """For every number of ``precision`` bits whether it is at most the limit, and what that took."""
    bits = np.array(list(itertools.product((0, 1), repeat=precision))).T.astype(np.int64)
    limits = np.array([[limit >> (precision - 1 - k) & 1] for k in range(precision)]).repeat(bits.shape[1], axis=1)
    plain = PlainArithmetic()
    return asyncio.run(at_most(plain, "test", bits, limits)), plain, bits.shape[1]


@pytest.mark.parametrize("precision", [1, 2, 3, 4, 5, 7])
def test_the_comparison_is_right_for_every_number_and_every_limit(precision):
    """DN-G8 and more: Pr[1] = (limit + 1) / 2^d exactly; a tie gives 1 (E7)."""
    for limit in range(1 << precision):
        found, plain, count = compared(precision, limit)
        assert found.tolist() == [int(number <= limit) for number in range(count)]
        assert plain.products == products_of_comparison(precision) * count
        assert plain.rounds == (precision - 1).bit_length()


def test_the_comparator_as_printed_gives_the_complement():
    """E7: 'outputs 0 iff b precedes p' would give a coin of bias 1 - p."""
    found, _, count = compared(3, 4)
    literal = [0 if number < 5 else 1 for number in range(8)]
    assert Fraction(int(found.sum()), count) == Fraction(5, 8)
    assert Fraction(sum(literal), 8) == Fraction(3, 8)


@pytest.mark.parametrize(
    ("scale", "width", "precision"),
    [(Fraction(1), 2, 2), (Fraction(3, 2), 1, 4), (Fraction(2), 2, 3), (Fraction(1, 2), 3, 2)],
)
def test_the_law_of_exponential_noise_is_exactly_that_of_the_plan(scale, width, precision):
    """Every combination of hidden bits, once: the counts are the weights of :class:`ExponentialLaw`."""
    law = ExponentialLaw(scale, width, precision)
    total = 2 * width * precision
    sums = 1 << total
    numbers = np.arange(sums)
    # A column for each coin of each sum, in the circuit's order: geometric, sum, bit of the geometric.
    bits = np.zeros((precision, 2, sums, width), dtype=np.int64)
    for place, (row, side, column) in enumerate(itertools.product(range(precision), range(2), range(width))):
        bits[row, side, :, column] = numbers >> place & 1
    thresholds = tuple(one - 1 for one in law.ones)
    noise = asyncio.run(exponential_noise(PlainArithmetic(), "test", bits, thresholds, precision, sums))
    counts = Counter(gf.signed(noise).tolist())
    most = (1 << width) - 1
    weights = list(law.weights())
    unit = Fraction(sum(weights), sums)
    assert [counts[value] * unit for value in range(-most, most + 1)] == weights


def test_a_sign_bit_would_double_the_weight_of_zero():
    """E9, DN-G4: at R = 1/ln 2 the ratio of 0 to 1 is 4 with a sign bit and 2 with a difference of two geometric numbers."""
    geometric = [Fraction(1, 2 ** (k + 1)) for k in range(60)]
    signed = [geometric[0], geometric[1] / 2]
    assert signed[0] / signed[1] == 4
    difference = [sum(geometric[k] * geometric[k + gap] for k in range(60 - gap)) for gap in (0, 1)]
    assert abs(difference[0] / difference[1] - 2) < Fraction(1, 10**15)


def one_after_the_other(bits, bias):
    """The sequential process in the clear: coins, and how many bits of the bias are matched at the end."""
    coins, matched = [], 0
    for bit in bits:
        if bit != bias[matched]:
            coins.append(1 - bit)
            matched = 0
        elif matched + 1 == len(bias):
            coins.append(1)
            matched = 0
        else:
            matched += 1
    return tuple(coins), matched


def test_the_hierarchical_circuit_gives_the_golden_coins():
    """DN-G7."""
    tree = CoinTree.of([1, 1, 0, 1, 0, 1, 1, 0], [1, 0, 1])
    assert tree.coins == (0, 1, 1)
    assert tree.progress == 2


@pytest.mark.parametrize("precision", [1, 2, 3, 5])
def test_the_hierarchical_circuit_is_the_sequential_process(precision):
    """Every string of up to eight bits, and longer ones at random, for each of some biases."""
    random = np.random.default_rng(precision)
    for bias in itertools.islice(itertools.product((0, 1), repeat=precision), 4):
        for length in range(1, 9):
            for bits in itertools.product((0, 1), repeat=length):
                tree = CoinTree.of(bits, bias)
                assert (tree.coins, tree.progress) == one_after_the_other(bits, bias)
        for _ in range(20):
            bits = random.integers(0, 2, int(random.integers(9, 200))).tolist()
            tree = CoinTree.of(bits, bias)
            assert (tree.coins, tree.progress) == one_after_the_other(bits, bias)


@pytest.mark.parametrize("bias", [(0, 1, 1), (1, 0, 1, 0, 1), (0, 0, 0)])
def test_a_coin_takes_few_bits_whatever_its_bias(bias):
    """2 - 2^(1-d) bits a coin in expectation, and Pr[1] = (floor(p 2^d) + 1)/2^d: all strings of d bits, cut where the first coin falls."""
    used = ones = 0
    for bits in itertools.product((0, 1), repeat=len(bias)):
        place = next(k for k in range(1, len(bias) + 1) if one_after_the_other(bits[:k], bias)[0])
        used += place
        ones += one_after_the_other(bits[:place], bias)[0][0]
    total = 2 ** len(bias)
    assert Fraction(used, total) == 2 - Fraction(2, total)
    assert Fraction(ones, total) == Fraction(int("".join(map(str, bias)), 2) + 1, total)
