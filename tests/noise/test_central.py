"""Noise by a trusted curator: OpenDP draws it, its law is the one that is stated, and joint noise is compared with it."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from reticent.errors import PolicyError
from reticent.noise import central_noise, noisy_total, plan
from reticent.noise.laws import HISTOGRAM, NoiseLaw


def chi_square(draws: list[int], law: NoiseLaw) -> tuple[float, int]:
    """The statistic over values that are expected at least ten times, the rest together; and its degrees of freedom."""
    low, chances = law.chances()
    seen = Counter(draws)
    expected = {low + place: len(draws) * chance for place, chance in enumerate(chances)}
    common = {value: times for value, times in expected.items() if times >= 10}
    rest = len(draws) - sum(common.values()), len(draws) - sum(seen[value] for value in common)
    found = sum((seen[value] - times) ** 2 / times for value, times in common.items())
    return found + ((rest[1] - rest[0]) ** 2 / rest[0] if rest[0] > 1 else 0), len(common)


@pytest.mark.parametrize("epsilon", ["1/2", "1", "3"])
def test_opendp_draws_by_the_law_that_is_stated(epsilon):
    noise = central_noise(2, Fraction(epsilon))
    found, freedom = chi_square(noise.added([0] * 2_500), noise.law)
    # A chi-square with f degrees has mean f and variance 2f: five standard deviations.
    assert abs(found - freedom) < 5 * math.sqrt(2 * freedom)


def test_the_law_keeps_what_is_paid_for_and_hardly_more():
    for distance, epsilon in ((1, "1"), (2, "1/3"), (2, "0.1")):
        law = central_noise(distance, Fraction(epsilon)).law
        assert law.scale >= distance / Fraction(epsilon)
        assert law.scale - distance / Fraction(epsilon) < Fraction(1, 10**9)
    assert central_noise(2, Fraction(1)).law.delta(1, HISTOGRAM) == 0


def test_noise_on_cells_is_drawn_apart():
    noise = central_noise(2, Fraction(1))
    drawn = np.array([noise.added([0, 0]) for _ in range(800)])
    share = math.exp(-1 / float(noise.law.scale))
    variance = 2 * share / (1 - share) ** 2
    assert abs((drawn[:, 0] * drawn[:, 1]).mean()) < 5 * variance / math.sqrt(800)


@pytest.mark.parametrize("query", ["count", "histogram"])
@pytest.mark.parametrize("epsilon", ["0.3", "1", "2"])
def test_joint_exponential_noise_has_nearly_the_curators_law(query, epsilon):
    """The laws of both, value by value: total variation within what is cut and rounded, and the same spread within 1 %."""
    joint = plan(epsilon, query=query, law="exponential").published_law
    central = central_noise(2 if query == "histogram" else 1, Fraction(epsilon)).law
    (low, one), (start, other) = joint.chances(), central.chances()
    inside = other[low - start : low - start + len(one)]
    assert np.abs(one - inside).sum() + 1 - inside.sum() < 2e-3
    assert float(joint.variance) == pytest.approx(central.variance, rel=0.011)


def test_joint_binomial_noise_costs_accuracy_that_the_plan_states():
    """Nobody may know more than their own coins: at epsilon = 1, delta = 1e-6 seven parties give about 2.6 times the curator's deviation."""
    joint, central = plan(query="histogram").published_law, central_noise(2, Fraction(1)).law
    assert math.sqrt(joint.variance / central.variance) == pytest.approx(2.58, abs=0.02)


def test_an_audited_total_gets_the_law_that_is_paid_for():
    draws = [int(noisy_total(Fraction(0), Fraction(0), Fraction(2), Fraction(1, 2), Fraction(1))) for _ in range(1_200)]
    found, freedom = chi_square(draws, central_noise(2, Fraction(1, 2)).law)
    assert abs(found - freedom) < 5 * math.sqrt(2 * freedom)


def test_nothing_below_the_unit_of_a_noisy_total_gets_through():
    for _ in range(50):
        total = noisy_total(Fraction("7.123"), Fraction(0), Fraction(2), Fraction(1, 2), Fraction(1, 10))
        assert total * 10 % 1 == 0
    with pytest.raises(PolicyError, match="range is too wide"):
        noisy_total(Fraction(0), Fraction(0), Fraction(10**15), Fraction(1, 10), Fraction(1, 10**6))


def test_without_opendp_the_way_out_is_named():
    code = (
        "import sys; sys.modules['opendp'] = None\n"
        "from fractions import Fraction\nfrom reticent.noise import central_noise\nfrom reticent.errors import MissingPackage\n"
        "try:\n    central_noise(1, Fraction(1))\nexcept MissingPackage as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'reticent[noise]'" in done.stdout
