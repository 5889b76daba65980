"""The printed procedures fail where the spec says so, and ours do not (section 9, errata 7, 8 and 12)."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2, poisson

from reticent.methods.randomize import NoiseSource, SourceRates, ViewDomain, count_domain
from reticent.methods.randomize.draws import Draws
from tests.oracles.randomize_printed import Bag, printed_chances, printed_noise, printed_probability, printed_union

TARGET = [Fraction(text) for text in ("3/5", "1/5", "1/10", "3/50", "1/25")]
NONE = np.empty(0, dtype=np.int64)


def _rates() -> SourceRates:
    """beta(t) = TARGET, but for a billionth of uniform noise, without which no source is accepted."""
    weights = tuple(int(100 * each) for each in TARGET)
    return SourceRates(
        NoiseSource(ViewDomain.of({"a": 5}), {"a": weights}, Fraction(1, 10**9)), Fraction(1, 5), Fraction(1)
    )


def test_the_printed_sampler_misses_its_chances_by_exact_sums():
    # The spec measured .487, .242, .137, .082, .057 for .6, .2, .1, .06, .04; the exact chances are close to that and far from the target.
    found = printed_chances(TARGET, Fraction(1))
    assert [float(each) for each in found] == pytest.approx([0.487, 0.242, 0.137, 0.082, 0.057], abs=0.006)
    assert found[0] < TARGET[0] - Fraction(11, 100)
    assert all(each > target for each, target in zip(found[1:], TARGET[1:], strict=True))


def test_the_printed_sampler_fails_the_joint_law_and_ours_keeps_it():
    runs, generator, draws, rates = 5_000, np.random.default_rng(2), Draws(2), _rates()
    law = {}
    for bits in itertools.product([False, True], repeat=5):
        view = frozenset(t for t, seen in enumerate(bits) if seen)
        law[view] = math.prod(float(p if t in view else 1 - p) for t, p in enumerate(TARGET))
    printed = Counter(printed_noise([float(p) for p in TARGET], 1.0, generator) for _ in range(runs))
    ours = Counter(frozenset(rates.fakes(NONE, draws).tolist()) for _ in range(runs))
    assert _surprise(printed, law, runs) < 1e-100
    assert _surprise(ours, law, runs) > 1e-6
    # The oracle's simulation and its exact sums are of the same procedure.
    share = sum(count for view, count in printed.items() if 0 in view) / runs
    exactly = float(printed_chances(TARGET, Fraction(1))[0])
    assert abs(share - exactly) < 5 * math.sqrt(exactly * (1 - exactly) / runs)


def _surprise(seen: Counter, law: dict, runs: int) -> float:
    """The tail of chi-square over the joint law; views that are expected fewer than five times are taken together."""
    rare = [view for view, p in law.items() if runs * p < 5]
    cells = [(seen[view], runs * p) for view, p in law.items() if view not in rare]
    cells.append((sum(seen[view] for view in rare), runs * sum(law[view] for view in rare)))
    return float(chi2.sf(sum((count - mean) ** 2 / mean for count, mean in cells), len(cells) - 1))


def test_the_printed_counting_procedure_gives_more_than_certainty():
    # G9: 16 of 60 tuples meet a <= b and b < c; the printed procedure says 16/15.
    domain = {"a": range(4), "b": range(3), "c": range(5)}
    tree = Bag(("b", "c"), lambda b, c: b < c, (Bag(("a", "b"), lambda a, b: a <= b),))
    assert printed_probability(tree, domain) == Fraction(16, 15)
    assert Fraction(count_domain("a <= b and b < c", domain), 60) == Fraction(4, 15)


def test_the_printed_counting_procedure_fails_on_random_trees_and_ours_does_not():
    generator, wrong, possible = random.Random(4), 0, 0
    for _ in range(25):
        domain = {name: range(generator.randint(2, 5)) for name in "abcd"}
        shifts = [generator.randint(-1, 2) for _ in range(3)]
        root = Bag(
            ("a", "b"),
            lambda a, b, k=shifts[0]: a < b + k,
            (
                Bag(("b", "c"), lambda b, c, k=shifts[1]: b < c + k),
                Bag(("b", "d"), lambda b, d, k=shifts[2]: b < d + k),
            ),
        )
        true = sum(
            a < b + shifts[0] and b < c + shifts[1] and b < d + shifts[2]
            for a, b, c, d in itertools.product(*domain.values())
        )
        text = " and ".join(f"{x} < {y} + {k}" for (x, y), k in zip(["ab", "bc", "bd"], shifts, strict=True))
        assert count_domain(text.replace("+ -", "- "), domain) == true
        possible += true > 0
        wrong += true > 0 and printed_probability(root, domain) != Fraction(true, math.prod(map(len, domain.values())))
    assert wrong == possible >= 15


def test_inclusion_and_exclusion_over_all_subsets_counts_the_domain_once_too_little():
    # Erratum 8: the empty subset contributes minus the whole domain.
    domain = {"a": range(6), "b": range(7)}
    terms = ["a < 3", "b < 2", "a > b"]

    def together(chosen: tuple[int, ...]) -> int:
        return count_domain(" and ".join(terms[each] for each in chosen) or "true", domain)

    true = sum(a < 3 or b < 2 or a > b for a, b in itertools.product(*domain.values()))
    assert count_domain(" or ".join(terms), domain) == true
    assert printed_union(together, 3) == true - 42


def test_the_poisson_limit_is_as_close_as_le_cam_says():
    # for m = 10^6 and beta = 1e-4 the total variation is 2.4e-5, below beta.
    counts = np.arange(400)
    distance = np.abs(binom.pmf(counts, 10**6, 1e-4) - poisson.pmf(counts, 100)).sum() / 2
    assert distance == pytest.approx(2.4e-5, abs=5e-7)
    assert distance <= 1e-4
