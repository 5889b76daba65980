"""How much a view says: against enumeration of every table, every view and every query."""

from __future__ import annotations

from fractions import Fraction

import pytest

from reticent.errors import Infeasible, PolicyError
from reticent.methods.randomize import Rates, plan
from reticent.methods.randomize.informativeness import is_meaningless, least_k, statistical_difference, view_meaning
from tests.methods.randomize.examples import ADULT, GOLDENS, scores_domain
from tests.oracles.randomize_enumeration import meaningless_queries, meaningless_share

CLEAR, DIM = Rates(Fraction(2, 5), Fraction(1, 10)), Rates(Fraction(1, 10), Fraction(2, 5))


@pytest.mark.parametrize("case", GOLDENS["difference"], ids=str)
def test_statistical_differences_are_those_of_the_table(case):
    rates = Rates(Fraction(case["alpha"]), Fraction(case["beta"]))
    assert statistical_difference(rates, case["m"], case["n"], case["m"] // 2) == Fraction(case["sd"])


@pytest.mark.parametrize("balance", ["0", "1/2"])
@pytest.mark.parametrize(("rates", "n"), [(CLEAR, 1), (CLEAR, 2), (DIM, 1), (DIM, 2)])
def test_an_algorithm_is_meaningless_when_two_thirds_of_the_queries_say_so(rates, n, balance):
    share = meaningless_queries(6, n, rates.s, rates.beta, Fraction(balance))
    assert is_meaningless(rates, 6, n, balance) is (share >= Fraction(2, 3))


def test_the_meaningless_setting_of_the_golden_examples_is_called_so():
    assert is_meaningless(DIM, 6, 2)
    assert not is_meaningless(CLEAR, 6, 2)


@pytest.mark.parametrize("rates", [CLEAR, DIM, Rates(Fraction(9, 10), Fraction(1, 20))], ids=["clear", "dim", "sharp"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (2, 2), (3, 3)])
def test_a_view_is_k_meaningless_as_enumeration_finds(rates, n, k):
    domain, table = list(range(6)), frozenset(range(n))
    for view in [
        frozenset(),
        frozenset({0}),
        frozenset({4}),
        frozenset({0, 1, 5}),
        frozenset({2, 3, 4, 5}),
        frozenset(domain),
    ]:
        kept = len(view & table)
        for balance in ("0", "2/3"):
            want = meaningless_share(view, table, k, domain, rates.s, rates.beta, Fraction(balance))
            found = view_meaning(rates, 6, n, k, shown=len(view), kept=kept, balance=balance)
            assert found.share == want
            assert found.is_meaningless is (want >= Fraction(2, 3))


def test_a_larger_k_is_easier_and_the_rule_of_thumb_lies_between():
    # Whoever knows all but one tuple learns little from a view; whoever knows nothing learns something. The rule holds within a factor of two.
    rates, size, n = Rates(Fraction(7, 18), Fraction(1, 9)), 60, 12
    shares = {k: view_meaning(rates, size, n, k, shown=11, kept=6).share for k in (1, 2, 3, 4, 6, 12)}
    assert list(shares.values()) == sorted(shares.values())
    assert shares[1] == 0
    assert shares[12] == 1
    first = next(k for k, share in shares.items() if share >= Fraction(2, 3))
    assert 1 / 2 <= least_k(rates, size, n) / first <= 2


def test_what_cannot_be_decided_is_refused_by_name():
    with pytest.raises(Infeasible, match="at most 128"):
        statistical_difference(CLEAR, 1000, 3, 500)
    with pytest.raises(PolicyError, match="must fit inside"):
        statistical_difference(CLEAR, 10, 6, 5)
    with pytest.raises(PolicyError, match="k must divide n = 6"):
        view_meaning(CLEAR, 20, 6, 4, shown=5, kept=3)
    with pytest.raises(PolicyError, match="No view"):
        view_meaning(CLEAR, 20, 6, 3, shown=5, kept=7)
    with pytest.raises(PolicyError, match="balance must be at most 1"):
        is_meaningless(CLEAR, 6, 2, 2)
    with pytest.raises(PolicyError, match="smaller than the domain"):
        is_meaningless(CLEAR, 6, 6)


def test_a_plan_says_how_much_its_views_can_say():
    small = plan(n=2, domain={"a": 6}, d="1/3", gamma="3/4", alpha="1/10", beta="2/5")
    assert small.is_meaningless is True
    assert "meaningless" in small.words()
    assert plan(n=6, domain=scores_domain(), k=1, gamma="1/3").is_meaningless is None
    adult = plan(n=ADULT["n"], domain=ADULT["domain"], k=10, gamma="1/5")
    assert adult.is_meaningless is None
    assert 34 < adult.meaningless_k < 35
    assert adult.as_dict()["meaningless_k"] == adult.meaningless_k
