"""Domain counts against brute force."""

from __future__ import annotations

import itertools
import random

import numpy as np
import polars as pl
import pytest

from reticent.conditions import Condition, ConditionError
from reticent.errors import Infeasible
from reticent.methods.randomize import ViewDomain, count_domain
from reticent.methods.randomize import domain_counts as module
from reticent.methods.randomize.domain_counts import count_exactly, count_or_sample

VALUES = {"a": [0, 1, 2, 3, None], "b": [0, 1, 2], "c": [1, 3, 5, 7], "t": ["x", "y", None], "e": [2, 4]}
DOMAIN = ViewDomain.of(VALUES)
EVERYTHING = pl.DataFrame(list(itertools.product(*VALUES.values())), schema=list(VALUES), orient="row")
ATOMS = [
    "a < b",
    "a + b <= c",
    "c = 3",
    "t = 'x'",
    "t is null",
    "a is null",
    "2*a > c - e",
    "b in (0, 2)",
    "e <> a",
    "t like 'y%'",
]


def _random_condition(generator: random.Random, depth: int) -> str:
    if depth == 0:
        atom = generator.choice(ATOMS)
        return f"not ({atom})" if generator.random() < 0.3 else atom
    joined = f" {generator.choice(['and', 'or'])} ".join(
        _random_condition(generator, depth - 1) for _ in range(generator.randint(2, 3))
    )
    return f"not ({joined})" if generator.random() < 0.2 else f"({joined})"


@pytest.mark.parametrize("limit", [1 << 23, 20, 6])
def test_random_conditions_count_as_brute_force_does_whatever_fits_into_a_table(monkeypatch, limit):
    # Small limits force conjunctions apart and disjunctions through inclusion and exclusion.
    monkeypatch.setattr(module, "_LARGEST_PREDICATE", max(limit, 40) if limit == 6 else limit)
    generator, exact = random.Random(limit), 0
    for _ in range(60):
        text = _random_condition(generator, generator.randint(0, 2))
        want = int(Condition.parse(text).mask(EVERYTHING).sum())
        try:
            assert count_domain(text, DOMAIN) == want, text
            exact += 1
        except Infeasible:
            assert limit < 1 << 23
    assert exact >= 15


@pytest.mark.parametrize("most", [15, 0])
def test_disjunctions_of_wide_terms_agree_with_brute_force(monkeypatch, most):
    monkeypatch.setattr(module, "_LARGEST_PREDICATE", 5)
    monkeypatch.setattr(module, "_MOST_DISJUNCTS", most)
    generator = random.Random(most)
    singles = ["a = 1", "b >= 1", "c in (1, 7)", "t = 'x'", "e = 2", "a <> 0", "t is null", "b = 0"]
    for _ in range(30):
        terms = [
            " and ".join(generator.sample(singles, generator.randint(2, 4))) for _ in range(generator.randint(2, 4))
        ]
        text = " or ".join(f"({term})" for term in terms)
        assert count_domain(text, DOMAIN) == int(Condition.parse(text).mask(EVERYTHING).sum()), text


def test_weights_and_kept_columns_agree_with_brute_force():
    condition = Condition.parse("a + b <= c or t = 'y'")
    met = EVERYTHING.filter(condition.mask(EVERYTHING))
    assert count_exactly(condition, DOMAIN, weights={"c": VALUES["c"]}) == int(met["c"].sum())
    kept = count_exactly(condition, DOMAIN, keep=["b", "e"])
    for (i, b), (j, e) in itertools.product(enumerate(VALUES["b"]), enumerate(VALUES["e"])):
        assert kept[i, j] == met.filter((pl.col("b") == b) & (pl.col("e") == e)).height


def test_domains_larger_than_any_machine_integer_are_counted_exactly():
    domain = {f"c{i}": list(range(50)) for i in range(40)}
    assert count_domain("c1 < c2 and c3 = 4", domain) == 1225 * 50**37
    assert count_domain("c1 < c2 or c3 < c4", domain) == 50**40 - 1275**2 * 50**36


def test_what_cannot_be_counted_exactly_is_sampled_and_says_so():
    domain = ViewDomain.of({f"c{i}": range(1000) for i in range(4)})
    condition = Condition.parse("c0 + c1 + c2 + c3 < 2000")
    with pytest.raises(Infeasible, match="sampling"):
        count_domain("c0 + c1 + c2 + c3 < 2000", domain)
    found = count_or_sample(condition, domain, samples=20_000)
    assert not found.is_exact
    sums = np.convolve(np.convolve(np.ones(1000), np.ones(1000)), np.convolve(np.ones(1000), np.ones(1000)))
    assert abs(float(found.value) - sums[:2000].sum()) < 5 * found.standard_error


def test_an_unknown_column_is_pointed_at():
    with pytest.raises(ConditionError, match="Did you mean 'score'"):
        count_domain("scor < 3", {"score": range(5)})


def test_kept_columns_never_wrap_around():
    # 3 * 5^27 passes a machine integer although 5^27 does not: numpy would wrap around in silence.
    domain = ViewDomain.of({f"c{i}": range(5) for i in range(29)})
    kept = count_exactly(Condition.parse("c1 < 3"), domain, keep=["c0"])
    assert kept.tolist() == [3 * 5**27] * 5
