"""Public coins and coins in shares."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from reticent.noise import field as gf
from reticent.noise.coins import bits_of, elements_for, extracted, flipped


@pytest.mark.parametrize("faulty", [0, 1, 2, 3])
def test_public_elements_are_uniform_whatever_one_dealer_shares(monkeypatch, faulty):
    """Exhaustive for n = 4, t = 1 over GF(5): for every constant of the faulty dealer the three outputs take every value once."""
    monkeypatch.setattr(gf, "PRIME", 5)
    honest = np.array(list(itertools.product(range(5), repeat=3))).T
    for constant in range(5):
        parts = list(honest)
        parts.insert(faulty, np.full(125, constant))
        outputs = extracted(parts, 4, 1).reshape(3, 125)
        assert Counter(map(tuple, outputs.T.tolist())) == Counter(itertools.product(range(5), repeat=3))


def test_bits_come_from_elements_below_two_to_the_thirty_alone():
    elements = np.array([5, 1 << 30, gf.PRIME - 1, (1 << 30) - 1])
    bits = bits_of(elements, 60)
    assert bits is not None
    assert bits[:3].tolist() == [1, 0, 1]
    assert bits[3:30].sum() == 0
    assert bits[30:].all()
    assert bits_of(elements, 61) is None


@pytest.mark.parametrize("coins", [0, 1, 200, 200_000])
def test_enough_elements_are_dealt(coins):
    count = elements_for(coins)
    bits = bits_of(gf.drawn(count), coins)
    assert bits is not None
    assert len(bits) == coins
    assert count == 0 or count < 2.3 * coins / 30 + 400


def test_a_flipped_bit_is_the_exclusive_or():
    bits, coins = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    assert flipped(bits, coins).tolist() == [0, 1, 1, 0]


def test_coins_of_a_cheater_who_always_shares_the_same_are_uniform():
    """They were committed before the public coins came out: chi-square of heads among flipped constants."""
    public = bits_of(gf.drawn(elements_for(100_000)), 100_000)
    assert public is not None
    heads = int(flipped(np.ones(100_000, dtype=np.int64), public).sum())
    assert abs(heads - 50_000) < 5 * np.sqrt(25_000)


def test_an_unhalved_tally_tells_neighbours_apart_and_ours_does_not():
    """E10, DN-G3: +1 and -1 summed has one parity, so neighbouring answers have disjoint supports; heads minus half does not."""
    literal = {sum(each) for each in itertools.product((-1, 1), repeat=8)}
    ours = {sum(each) - 4 for each in itertools.product((0, 1), repeat=8)}
    assert literal == set(range(-8, 9, 2))
    assert not literal & {value + 1 for value in literal}
    assert ours == set(range(-4, 5))
    assert len(ours & {value + 1 for value in ours}) == 8
