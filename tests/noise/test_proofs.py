"""Proofs that shared values are bits or products: completeness, soundness, and views that show nothing."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.noise import field as gf
from reticent.noise.proofs import BatchLayout, BatchSection, product, proved_bits, proved_triples
from reticent.noise.secret_sharing import DealerSide
from tests.noise.test_secret_sharing import enumerated


def residues(layout: BatchLayout, polynomials, points):
    dealing = DealerSide.of(polynomials)
    return [layout.first_unproved(point, dealing.part(point - 1)) for point in points]


@pytest.mark.parametrize("faults", [1, 2, 3, 4])
def test_bits_and_triples_pass_at_every_point(faults):
    """The identity of the bit proof for t = 1..4, and its twin for products."""
    bits = np.array([0, 1, 1, 0, 1])
    layout = BatchLayout((BatchSection("bits", 5), BatchSection("products", 7)), faults)
    polynomials = np.concatenate([proved_bits(bits, faults), proved_triples(7, faults)], axis=-1)
    assert polynomials.shape[-1] == layout.size
    assert residues(layout, polynomials, range(1, 3 * faults + 2)) == [None] * (3 * faults + 1)
    part = DealerSide.of(polynomials).part(0)
    assert layout.values(part, 0).shape == (1, 5)
    assert layout.values(part, 1).shape == (3, 7)


@given(st.integers(1, 3), st.integers(2, gf.PRIME - 1), st.integers(0, 2**32))
def test_a_value_that_is_no_bit_passes_at_no_more_than_2t_points(faults, secret, seed):
    """Whatever the dealer shares as D_k: here honest D_k of the wrong value, changed at random."""
    polynomials = proved_bits(np.array([secret]), faults)
    random = np.random.default_rng(seed)
    polynomials[:, 1:] = (polynomials[:, 1:] + random.integers(0, 2, polynomials[:, 1:].shape)) % gf.PRIME
    found = residues(BatchLayout((BatchSection("bits", 1),), faults), polynomials, range(1, 3 * faults + 2))
    assert found.count(None) <= 2 * faults
    assert found.count(0) >= faults + 1


@pytest.mark.parametrize("holder", [0, 1, 2, 3])
def test_one_holder_sees_the_same_for_zero_and_one(monkeypatch, holder):
    """Exhaustive over GF(5), t = 1: parts of the bit and of its proof."""
    views = []
    for secret in (0, 1):
        with monkeypatch.context() as patch:
            count = enumerated(patch, 5, 5)
            polynomials = proved_bits(np.full(count, secret), 1)
            both = np.concatenate([polynomials[:, :count], polynomials[:, count:]], axis=0).reshape(2, 2, count)
            parts = [DealerSide.of(each).part(holder) for each in both]
            seen = np.concatenate([half for part in parts for half in (part.rows, part.columns)])
            views.append(Counter(map(tuple, seen.T.tolist())))
    assert views[0] == views[1]


def test_two_holders_see_the_same_for_zero_and_one(monkeypatch):
    """Exhaustive over GF(7), t = 2: shares of the bit and of D_1 and D_2, for every pair of holders."""
    for pair in itertools.combinations(range(1, 7), 2):
        views = []
        for secret in (0, 1):
            with monkeypatch.context() as patch:
                count = enumerated(patch, 7, 4)
                polynomials = proved_bits(np.full(count, secret), 2).reshape(3, 3, count)
                seen = [gf.evaluate(polynomials[:, k], point).tolist() for k in range(3) for point in pair]
                views.append(Counter(zip(*seen, strict=True)))
        assert views[0] == views[1]


def test_opening_the_square_itself_would_show_the_bit(monkeypatch):
    """Why a proof of bits is needed: the polynomial f^2 - f, opened, beside a single share tells 0 from 1."""
    seen = []
    for secret in (0, 1):
        with monkeypatch.context() as patch:
            count = enumerated(patch, 5, 1)
            own = np.stack([np.full(count, secret), gf.drawn(1, count)[0]])
            high = product(own, own)
            high[:2] = (high[:2] - own) % 5
            shown = np.concatenate([high, gf.evaluate(own, 1)[None]])
            seen.append(Counter(map(tuple, shown.T.tolist())))
    assert seen[0] != seen[1]


def test_a_statement_is_found_by_its_first_sharing():
    layout = BatchLayout((BatchSection("bits", 2), BatchSection("plain", 3), BatchSection("products", 2)), 1)
    assert layout.size == 4 + 3 + 8
    assert layout.statement(1) == ("bits", [1, 3])
    assert layout.statement(2) is None
    assert layout.statement(5) is None
    assert layout.statement(8) == ("products", [8, 10, 12, 14])
