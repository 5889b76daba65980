"""Exact draws: the law of the urn is the formula's, and samplers follow it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp, lgamma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import reticent as rt
from reticent.base.randomness import Randomness, uniform_below, whole_below
from reticent.errors import PolicyError
from reticent.methods.synthesize.domain_reduction import binomials, draw_dropped
from reticent.methods.synthesize.prior import PublicPrior
from reticent.methods.synthesize.rejection import draw_screened
from reticent.methods.synthesize.urn import Pools, draw_urns
from tests.oracles.synthesize_enumeration import (
    dirichlet_multinomial,
    dropped_law,
    good,
    plain_law,
    rising,
    screened_law,
    tables,
    urn_law,
)

# Five sigma, two-sided.
UNLIKELY = 5.7e-7


def check_law(observed: Counter[tuple[int, ...]], law: dict[tuple[int, ...], Fraction], draws: int) -> None:
    """Pearson's test; outputs that are expected less than five times are put together."""
    rare = [out for out, chance in law.items() if chance * draws < 5]
    common = [out for out in law if out not in rare]
    expected = [float(law[out] * draws) for out in common] + [float(sum(law[out] for out in rare) * draws)]
    found = [observed[out] for out in common] + [sum(observed[out] for out in rare)]
    assert sum(found) == draws
    parts = [(e, f) for e, f in zip(expected, found, strict=True) if e > 0]
    statistic = sum((f - e) ** 2 / e for e, f in parts)
    assert chi2.sf(statistic, len(parts) - 1) > UNLIKELY


def outputs(codes: np.ndarray, draws: int, size: int, values: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(np.bincount(each, minlength=values).tolist()) for each in codes.reshape(draws, size))


def many(counts: tuple[int, ...], draws: int) -> Pools:
    people = np.repeat(np.arange(len(counts)), counts)
    return Pools(np.tile(people, draws), np.full(draws, sum(counts)))


@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=3).filter(any),
    st.integers(1, 4),
    st.lists(st.fractions(Fraction(1, 10), 3, max_denominator=20), min_size=3, max_size=3),
)
def test_the_urn_has_the_law_of_the_formula(counts, drawn, alpha):
    alpha = alpha[: len(counts)]
    law = urn_law(tuple(counts), drawn, alpha)
    assert sum(law.values()) == 1
    assert all(dirichlet_multinomial(tuple(counts), out, alpha) == chance for out, chance in law.items())


def test_two_tables_of_three_rows_have_their_golden_law():
    half = [Fraction(1, 2)] * 2
    assert [float(dirichlet_multinomial((3, 0), (i, 3 - i), half)) for i in range(4)] == [
        0.015625,
        0.065625,
        0.196875,
        0.721875,
    ]
    assert [float(dirichlet_multinomial((2, 1), (i, 3 - i), half)) for i in range(4)] == [
        0.109375,
        0.234375,
        0.328125,
        0.328125,
    ]


@pytest.mark.parametrize(
    ("counts", "alpha", "seed"),
    [((3, 0, 1), Fraction(1, 2), 11), ((0, 2, 2), Fraction("0.0304617033"), 12), ((1, 1, 1), Fraction(7, 3), 13)],
)
def test_a_sampler_of_uniform_noise_follows_its_law(counts, alpha, seed):
    draws, size = 8_000, sum(counts)
    codes = draw_urns(many(counts, draws), [alpha] * draws, np.full(draws, size), [3] * draws, Randomness(seed).words())
    check_law(outputs(codes, draws, size, 3), urn_law(counts, size, [alpha] * 3), draws)


def test_a_sampler_of_weighted_noise_follows_its_law():
    counts, weights, alpha, draws = (2, 0, 1), (1, 5, 2), Fraction(1, 3), 8_000
    codes = draw_urns(
        many(counts, draws), [alpha] * draws, np.full(draws, 3), [8] * draws, Randomness(5).words(), np.array(weights)
    )
    check_law(outputs(codes, draws, 3, 3), urn_law(counts, 3, [alpha * w for w in weights]), draws)


def test_urns_too_large_for_machine_integers_are_drawn_exactly_too():
    counts, alpha, draws = (2, 0, 1), Fraction(10**30 + 1, 3 * 10**30), 1_000
    codes = draw_urns(many(counts, draws), [alpha] * draws, np.full(draws, 3), [3] * draws, Randomness(6).words())
    check_law(outputs(codes, draws, 3, 3), urn_law(counts, 3, [alpha] * 3), draws)


def test_screened_draws_follow_their_law():
    counts, alpha, gamma, draws = (3, 1), Fraction(4, 5), Fraction(5, 2), 8_000
    codes = draw_screened(
        many(counts, draws), [alpha] * draws, np.full(draws, 4), PublicPrior(2), gamma, Randomness(7).words()
    )
    law = screened_law([alpha] * 2, 4, 64, lambda table, out: good(table, out, [alpha] * 2, gamma))
    check_law(outputs(codes, draws, 4, 2), {out: law(counts, out) for out in tables(4, 2)}, draws)


@pytest.mark.parametrize(
    ("weights", "keep"),
    [((1, 1, 1, 1), ("0.3",) * 4), ((1, 1, 1, 1), ("5/7", "0.1", "1", "0.4")), ((3, 1, 2, 5), ("0.5",) * 4), ((1, 4, 4, 4), ("0.9", "0.3", "0.3", "2/3"))],
)  # fmt: skip
def test_draws_from_fewer_values_follow_their_law(weights, keep):
    counts, alpha, draws = (2, 0, 1, 0), Fraction(1, 3), 2_500
    prior = PublicPrior.of(dict(enumerate(weights))).keeping(keep)
    codes = draw_dropped(many(counts, draws), [alpha] * draws, np.full(draws, 3), prior, Randomness(8).words())
    law = dropped_law([alpha * weight for weight in weights], [Fraction(each) for each in keep])
    check_law(outputs(codes, draws, 3, 4), {out: law(counts, out) for out in tables(3, 4)}, draws)


def test_values_with_probabilities_of_their_own_stay_as_often_as_these_say():
    prior, draws = PublicPrior(3).keeping(["0.9", "0.2", "0.2"]), 2_000
    people = Pools(np.zeros(draws, dtype=np.int64), np.ones(draws, dtype=np.int64))
    codes = draw_dropped(people, [Fraction(1000)] * draws, np.ones(draws, dtype=np.int64), prior, Randomness(9).words())
    # With so much noise the draw is uniform over what stayed: always 0, and 1 and 2 each with a chance of 1/5.
    expected = {0: Fraction(16, 25) + Fraction(8, 25) / 2 + Fraction(1, 25) / 3}
    expected |= dict.fromkeys((1, 2), (1 - expected[0]) / 2)
    found = Counter(codes.tolist())
    for value, chance in expected.items():
        assert abs(found[value] - draws * chance) < 5 * (draws * chance * (1 - chance)) ** 0.5 + draws / 400


@pytest.mark.parametrize(("trials", "chance"), [(1, "1/3"), (7, "1/3"), (130, "0.0378"), (64, "1/2"), (65, "63/64")])
def test_binomial_counts_are_exact(trials, chance, monkeypatch):
    monkeypatch.setattr("reticent.methods.synthesize.domain_reduction._WORDS_AT_ONCE", 100)
    words, p, draws = Randomness(10).words(), Fraction(chance), 400
    found = binomials(np.full(draws, trials), p, words)
    mean, deviation = draws * trials * p, (draws * trials * p * (1 - p)) ** 0.5
    assert abs(int(found.sum()) - mean) < 5 * deviation
    assert 0 <= found.min() <= found.max() <= trials
    expected = trials * p * (1 - p)
    assert abs(float(found.var()) - expected) < 5 * float(expected) * (2 / draws) ** 0.5 + 0.1
    assert binomials(np.array([trials, 0]), Fraction(1), words).tolist() == [trials, 0]
    assert binomials(np.array([0, 0]), p, words).tolist() == [0, 0]


def test_numbers_below_bounds_are_uniform():
    words = Randomness(3).words()
    for bound in (1, 2, 3, 7, 2**40 + 1, 2**63):
        drawn = uniform_below(np.full(4000, bound, dtype=np.uint64), words)
        assert int(drawn.max()) < bound
        assert abs(float(np.mean(drawn.astype(np.float64))) - (bound - 1) / 2) <= 5 * bound / (12 * 4000) ** 0.5
    assert {whole_below(10**25, words) < 10**25 for _ in range(50)} == {True}
    with pytest.raises(ValueError, match="between 1 and"):
        uniform_below(np.array([0], dtype=np.uint64), words)


def test_a_seed_repeats_and_the_operating_system_does_not():
    one, other = (rt.synthesize.sample({5: 40}, 1, 40, 1000, insecure_seed=4) for _ in range(2))
    assert one == other
    assert len({tuple(sorted(rt.synthesize.sample({5: 40}, 1, 40, 1000).items())) for _ in range(5)}) == 5


def test_the_rarest_output_has_its_golden_probability():
    alpha = Fraction("0.0182543")
    found = dirichlet_multinomial((20, 0), (0, 20), [alpha] * 2)
    assert float(found) > 0
    m, n, a = 20, 20, 0.0182543
    printed = exp(lgamma(n + 2 * a) + lgamma(m + a + 1) - lgamma(1 + a) - lgamma(m + n + 2 * a))
    assert printed == pytest.approx(1.50959e-11, rel=1e-4)


def test_the_largest_ratio_of_plain_noise_is_that_of_the_theorem():
    for counts, alpha, expected in [
        ((3, 0), ("0.5", "1"), 7),
        ((1, 2, 0), ("0.4",) * 3, 8.5),
        ((4, 0), ("2", "0.3"), 14.3333),
    ]:
        noise, size = [Fraction(each) for each in alpha], sum(counts)
        law = plain_law(tuple(noise))
        worst = max(
            law(one, out) / law(other, out)
            for one in tables(size, len(counts))
            for other in tables(size, len(counts))
            if sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 2
            for out in tables(size, len(counts))
        )
        assert float(worst) == pytest.approx(expected, rel=1e-5)
        assert worst == (size + min(noise)) / min(noise)


def test_bad_input_is_refused_by_name():
    for arguments, word in [
        (({"a": 1}, 1, 1, ["a"]), "a single value"), (({"c": 1}, 1, 1, ["a", "b"]), "not in the declared domain"),
        (({"a": -1}, 1, 1, ["a", "b"]), "at least 0"), (({"a": 1.5}, 1, 1, ["a", "b"]), "whole number"),
        (({"a": 1}, 0, 1, ["a", "b"]), "above 0"), (({"a": 1}, 1, -1, ["a", "b"]), "at least 0"),
        (({"a": 1}, 1, 1, 5), "List the values"), (({"a": 1}, 1, 1, "ab"), "must be a number of values"),
        (({"a": 1}, 1, 1, ["a", "a"]), "twice"), (({"a": 1}, 1, 1, {"a": 1, "b": 0}), "above 0"),
    ]:  # fmt: skip
        with pytest.raises(PolicyError, match=word):
            rt.synthesize.sample(*arguments)


def test_rising_factorials_are_those_of_gamma_functions():
    assert float(rising(Fraction(5, 2), 3)) == pytest.approx(exp(lgamma(5.5) - lgamma(2.5)))
