"""What-if: golden G1 to the fraction, costs, contradictions, estimates that say so, functions as knowledge."""

from __future__ import annotations

from fractions import Fraction

import pytest

from reticent.errors import PolicyError
from reticent.knowledge import explore
from reticent.knowledge.world_samples import chernoff_interval
from reticent.worst_case import BudgetExceeded, PersonValue, Population
from tests.knowledge.conftest import golden


@pytest.mark.parametrize("case", golden("whatif"), ids=lambda case: f"{case['know']} ? {case['ask']}")
def test_golden_beliefs(flu, case):
    found = explore(flu, case["know"], case["ask"])
    assert found.cost == case["cost"]
    assert found.exact
    if case["answer"] is None:
        assert found.contradiction
        assert found.posterior is None
        assert "contradict the release" in found.sentence()
    else:
        assert not found.contradiction
        assert found.posterior == Fraction(case["answer"])
        assert isinstance(found.posterior, Fraction)


def test_the_best_implication_across_buckets_is_weaker_than_the_worst_fact(flu):
    found = explore(flu, ["Hannah=Flu -> Charlie=Flu"], "Charlie=Flu")
    assert (found.posterior, found.prior, found.cost) == (Fraction(10, 19), Fraction(2, 5), 1)
    assert found.sentence() == (
        "Charlie=Flu has probability 10/19 = 0.5263 (without the facts: 2/5 = 0.4000); the facts cost 1."
    )


@pytest.mark.parametrize(
    ("fact", "cost"),
    [
        ("!Ed=Flu", 1),
        ("Ed=Flu", 2),
        ("Irma=Flu", 3),
        ("Ed in {Flu, Mumps}", 1),
        ("Irma in {Flu, BreastCancer}", 2),
        ("Irma in {Flu, BreastCancer, HeartDisease, OvarianCancer}", 0),
        ("Bob=Flu & Ed=Flu -> Irma=Flu | Karen=Flu", 1),
        ("Ed=Flu -> !Bob=Flu", 1),
        ("!Ed=Flu -> Irma=Flu", 2),
        ("!Ed=Flu & !Bob=Flu", 2),
    ],
)
def test_what_a_fact_costs(flu, fact, cost):
    found = explore(flu, [fact], "Ed=Flu")
    assert found.cost == cost
    assert found.costs == ((fact, cost),)


def test_a_positive_fact_is_worth_the_negations_that_it_stands_for(flu):
    plain = explore(flu, ["Ed=Flu"], "Bob=Flu")
    spelled = explore(flu, ["!Ed=LungCancer", "!Ed=Mumps"], "Bob=Flu")
    assert plain.posterior == spelled.posterior == Fraction(1, 4)
    assert plain.cost == spelled.cost == 2


def test_without_a_question_the_surest_statement_is_named(flu):
    found = explore(flu, ["Ed != Flu"])
    assert (found.asked, found.posterior, found.prior) == ("Ed=LungCancer", Fraction(2, 3), Fraction(2, 5))
    assert explore(flu, ["Bob != Flu", "Charlie != Flu", "Dave != Flu", "Ed != Flu"]).contradiction


def test_questions_may_be_any_statement(flu):
    assert explore(flu, [], "Ed in {Flu, Mumps}").posterior == Fraction(3, 5)
    assert explore(flu, [], "!Ed=Flu").posterior == Fraction(3, 5)
    assert explore(flu, [], "Ed=Flu & Bob=Flu").posterior == Fraction(1, 10)
    assert explore(flu, [], PersonValue("Ed", "Flu")).posterior == Fraction(2, 5)
    assert explore(flu, "Ed != Flu", "Ed=LungCancer").posterior == Fraction(2, 3)
    assert explore(flu, [], "Ed=BreastCancer").posterior == 0


def test_capitals_are_forgiven_where_they_leave_no_doubt(flu):
    assert explore(flu, ["hannah=flu -> CHARLIE=flu"], "Charlie=flu").posterior == Fraction(10, 19)


@pytest.mark.parametrize(
    ("know", "ask", "message"),
    [
        (["Eddie=Flu"], "Ed=Flu", "There is no person called 'Eddie'"),
        (["Ed=Flue"], "Ed=Flu", "There is no value 'Flue'. Did you mean 'Flu'"),
        ([], "Ed=Measles", "There is no value 'Measles'"),
        ([], "Ed", "Expected '='"),
    ],
)
def test_unknown_people_and_values_are_refused(flu, know, ask, message):
    with pytest.raises(PolicyError, match=message):
        explore(flu, know, ask)


def test_somebody_with_two_rows_cannot_be_asked_about():
    people = Population.of([[("Al", "flu"), ("Al", "gout"), ("Bo", "flu")]])
    with pytest.raises(PolicyError, match="several rows"):
        explore(people, [], "Al=flu")
    assert explore(people, [], "Bo=flu").posterior == Fraction(2, 3)


def test_beyond_the_budget_an_estimate_is_labelled_and_covers_the_truth(flu):
    found = explore(flu, ["Hannah=Flu -> Charlie=Flu"], "Charlie=Flu", budget=1, seed=5)
    assert not found.exact
    assert isinstance(found.posterior, float)
    assert found.interval is not None
    assert found.interval[0] < 10 / 19 < found.interval[1]
    assert found.interval[1] - found.interval[0] < 0.02
    assert found.sentence().startswith("NOT EXACT")
    assert found.cost == 1
    assert found == explore(flu, ["Hannah=Flu -> Charlie=Flu"], "Charlie=Flu", budget=1, seed=5)


def test_beyond_the_budget_without_samples_the_work_is_refused(flu):
    with pytest.raises(BudgetExceeded):
        explore(flu, ["Hannah=Flu -> Charlie=Flu"], "Charlie=Flu", budget=1, samples=0)


def test_when_no_random_world_fits_the_answer_is_undecided(flu):
    know = ["Bob != Flu", "Charlie != Flu", "Dave != Flu", "Ed != Flu"]
    found = explore(flu, know, "Frank=Flu", budget=1, samples=500)
    assert found.posterior is None
    assert not found.contradiction
    assert not found.exact
    assert found.sentence().startswith("Undecided")


def test_a_contradiction_elsewhere_contradicts_everything(flu):
    know = ["Bob != Flu", "Charlie != Flu", "Dave != Flu", "Ed != Flu"]
    assert explore(flu, know, "Irma=Flu").contradiction
    assert explore(flu, ["Ed=BreastCancer"], "Irma=Flu").contradiction


def test_facts_elsewhere_do_not_move_the_answer_and_need_no_budget(flu):
    know = ["Irma != Flu", "Karen=Flu -> Hannah=Flu"]
    assert explore(flu, know, "Ed=Flu").posterior == Fraction(2, 5)


def test_a_function_as_knowledge_costs_the_worlds_it_forbids(flu):
    found = explore(flu, [lambda world: world["Ed"] != world["Bob"]], "Ed=Flu")
    assert found.posterior == Fraction(3, 8)
    assert found.cost == 360
    assert explore(flu, [lambda world: False], "Ed=Flu").contradiction
    mixed = explore(flu, [lambda world: True, "Ed != Flu"], "Ed=LungCancer")
    assert (mixed.posterior, mixed.cost) == (Fraction(2, 3), 1)
    with pytest.raises(PolicyError, match="needs a statement to evaluate"):
        explore(flu, [lambda world: True])


def test_a_function_needs_a_tiny_table():
    people = Population([{"a": 20, "b": 20}], {"Ed": 0})
    with pytest.raises(PolicyError, match="needs an enumeration of all possible worlds"):
        explore(people, [lambda world: True], "Ed=a")


def test_the_interval_is_a_valid_chernoff_interval():
    assert chernoff_interval(0, 100, 0.99)[0] == 0
    assert chernoff_interval(100, 100, 0.99)[1] == 1
    low, high = chernoff_interval(50, 100, 0.99)
    assert low < 0.38
    assert high > 0.62
    assert low + high == pytest.approx(1)
