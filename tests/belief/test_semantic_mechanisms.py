"""(rho1, rho2), gamma-amplification, differential and perfect privacy as entries of the semantic engine."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

from reticent.belief import (
    RandomSetting,
    SemanticAdversary,
    differential_privacy,
    gamma_amplification,
    perfect_privacy,
    rho_privacy,
)
from reticent.errors import PolicyError


def coins(keep: Fraction, people: int) -> RandomSetting:
    """Everybody answers truthfully with chance ``keep``."""
    possible = tuple(itertools.product("ny", repeat=people))
    chances = {
        "".join(said): [
            math.prod((keep if one == other else 1 - keep) for one, other in zip(said, true, strict=True))
            for true in possible
        ]
        for said in possible
    }
    return RandomSetting(possible, chances)


def drawn(rng: random.Random) -> RandomSetting:
    """A mechanism drawn at random, with chances that may be 0."""
    possible = tuple(itertools.product("ab", repeat=rng.randint(1, 2)))
    columns = []
    for _ in possible:
        parts = [rng.randint(0 if rng.random() < 0.1 else 1, 6) for _ in range(3)]
        parts[0] += not any(parts)
        columns.append([Fraction(part, sum(parts)) for part in parts])
    return RandomSetting(possible, {f"o{i}": [column[i] for column in columns] for i in range(3)})


def largest_ratio(setting: RandomSetting, neighbours: bool) -> Fraction | float:
    worst: Fraction | float = Fraction(1)
    for first, second in itertools.permutations(range(len(setting.possible)), 2):
        apart = sum(a != b for a, b in zip(setting.possible[first], setting.possible[second], strict=True))
        if neighbours and apart != 1:
            continue
        for listed in setting.chances.values():
            if listed[first]:
                worst = max(worst, Fraction(listed[first]) / Fraction(listed[second]) if listed[second] else math.inf)
    return worst


def test_odds_grow_by_the_largest_ratio_of_chances():
    rng = random.Random(1)
    for _ in range(60):
        setting = drawn(rng)
        for wanted in (Fraction(2), Fraction(5, 2), Fraction(4)):
            assert gamma_amplification(setting, wanted).assess(setting).holds is (
                largest_ratio(setting, False) <= wanted
            )
            epsilon = Fraction(str(round(math.log(wanted), 6)))
            near = largest_ratio(setting, True)
            decided = differential_privacy(setting, epsilon).assess(setting).holds
            assert decided is (near == 1 or (near != math.inf and math.log(near) <= float(epsilon)))


def test_a_tie_of_amplification_holds_and_a_hair_less_does_not():
    setting = coins(Fraction(3, 4), 2)
    assert gamma_amplification(setting, 9).assess(setting).holds
    assert not gamma_amplification(setting, Fraction(9) - Fraction(1, 10**12)).assess(setting).holds
    assert differential_privacy(setting, "1.0986122886681097").assess(setting).holds
    assert not differential_privacy(setting, "1.0986122886681096").assess(setting).holds
    found = differential_privacy(setting, 1).assess(setting)
    assert (found.prior, found.posterior) == (Fraction(1, 2), Fraction(3, 4))


def test_amplification_bounds_every_breach_whatever_the_prior():
    rng = random.Random(2)
    for _ in range(25):
        setting = drawn(rng)
        gamma = largest_ratio(setting, False)
        if gamma == math.inf:
            continue
        weights = [Fraction(rng.randint(1, 9)) for _ in setting.possible]
        prior = SemanticAdversary("drawn", lambda database, s=setting, w=weights: w[s.possible.index(database)])
        low = Fraction(rng.randint(1, 9), 20)
        # The least rho2 that gamma allows: rho2 (1 - rho1) / (rho1 (1 - rho2)) = gamma.
        high = gamma * low / (1 - low + gamma * low)
        if low < high:
            every = [setting.is_database(database) for database in setting.possible]
            assert rho_privacy([prior], every, low, high).assess(setting).holds


def test_a_breach_needs_a_small_belief_before():
    setting = coins(Fraction(3, 4), 1)
    yes = setting.is_database(("y",))
    seldom = SemanticAdversary("one in four", lambda database: Fraction(1 if database == ("y",) else 3))
    often = SemanticAdversary("even", lambda database: Fraction(1))
    assert rho_privacy([seldom], [yes], "1/4", "1/2").assess(setting).holds
    broken = rho_privacy([seldom], [yes], "1/4", "0.49").assess(setting)
    assert (broken.holds, broken.prior, broken.posterior) == (False, Fraction(1, 4), Fraction(1, 2))
    assert rho_privacy([often], [yes], "1/4", "0.49").assess(setting).holds
    with pytest.raises(PolicyError, match="rho1 must be below rho2"):
        rho_privacy([often], [yes], "1/2", "1/2")


def test_perfect_privacy_is_independence_under_every_product_distribution():
    rng, seen = random.Random(3), set()
    names = ["a", "b", "c"]
    subsets = [frozenset(each) for size in range(4) for each in itertools.combinations(names, size)]
    for _ in range(150):
        queries = []
        for _ in range(2):
            looks = rng.sample(names, rng.randint(1, 2))
            table = {each: rng.randint(0, 1) for each in {subset & frozenset(looks) for subset in subsets}}
            queries.append(lambda rows, looks=frozenset(looks), table=table: table[rows & looks])
        secret, view = queries
        found = perfect_privacy(names, secret, view)
        chances = [{name: Fraction(rng.randint(1, 96), 97) for name in names} for _ in range(3)]
        assert found.holds is all(_independent(subsets, each, secret, view) for each in chances)
        assert found.holds or found.prior != found.posterior
        seen.add(found.holds)
    assert seen == {True, False}


def _independent(subsets, chances, secret, view) -> bool:
    def weigh(wanted) -> Fraction:
        return sum(
            (
                math.prod((chance if name in each else 1 - chance) for name, chance in chances.items())
                for each in subsets
                if wanted(each)
            ),
            start=Fraction(0),
        )

    return all(
        weigh(lambda rows: secret(rows) == s and view(rows) == v)  # noqa: B023 - used at once
        == weigh(lambda rows: secret(rows) == s) * weigh(lambda rows: view(rows) == v)  # noqa: B023 - used at once
        for s, v in itertools.product((0, 1), repeat=2)
    )


def test_wrong_mechanisms_are_refused():
    with pytest.raises(PolicyError, match="add up to 1/2"):
        RandomSetting((("a",),), {"x": ["1/2"]})
    with pytest.raises(PolicyError, match="needs a chance for each of 2"):
        RandomSetting((("a",), ("b",)), {"x": [1]})
    with pytest.raises(PolicyError, match="different databases"):
        RandomSetting((("a",), ("a",)), {"x": [1, 1]})
    with pytest.raises(PolicyError, match="too many"):
        perfect_privacy([str(i) for i in range(30)], len, len)
