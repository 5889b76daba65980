"""Probabilistic auditors behind the service: bounded columns, rounds that count, and restarts that decide alike."""

from __future__ import annotations

import polars as pl
import pytest

from .conftest import POLICY

CHANCE = """\
[sensitive.salary]
auditor = "probabilistic"
lambda = 1
beta = 5
delta = 0.1
rounds = 10
prior = { kind = "normal", mean = 50, deviation = 10 }
"""
NORMAL = POLICY.replace('[sensitive.salary]\nbounds = "ignored"\n', CHANCE)
UNIFORM = NORMAL.replace('kind = "normal", mean = 50, deviation = 10', 'kind = "uniform", low = 0, high = 100')
COUNT = 200


@pytest.fixture
def table(simple):
    rows = range(COUNT)
    frame = pl.DataFrame(
        {
            "id": rows,
            "department": "a",
            "city": "b",
            "age": rows,
            "salary": [30 + (37 * row) % 41 for row in rows],
            "bonus": 1,
        }
    )
    return simple.fill(frame)


def decided(service, condition: str, function: str = "SUM") -> tuple[bool, str]:
    answer = service.ask(f"SELECT {function}(salary) FROM staff WHERE {condition}").rows[0].answers[0]
    return answer.answered, answer.rule


@pytest.mark.parametrize("policy", [NORMAL, UNIFORM], ids=["normal", "uniform"])
def test_large_sums_are_answered_and_small_ones_are_not(table, policy):
    # QA-G12: with these parameters the auditor denies 20 people and answers 50.
    service = table.service(policy)
    assert decided(service, "age < 5") == (False, "unsafe")
    assert decided(service, "age < 60") == (True, "safe")
    assert decided(service, "age >= 60 and age < 130")[0]


def test_denied_rounds_count_and_a_restart_goes_on_where_it_was(table):
    service = table.service(NORMAL)
    for age in range(9):
        assert decided(service, f"age = {age}") == (False, "exposes")
    with table.service(NORMAL) as again:
        assert decided(again, "age >= 0 and age < 100") == (True, "safe")
        assert decided(again, "age > 100") == (False, "rounds-used")
    assert decided(service, "age > 101") == (False, "rounds-used")


def test_the_promise_does_not_end_when_the_table_changes(table):
    """Everybody's value moves by a little: the old total still tells of whom a new sum leaves out."""
    service = table.service(NORMAL)
    assert decided(service, "age >= 0") == (True, "safe")
    assert not decided(service, "age > 0")[0]
    table.run("UPDATE staff SET salary = salary + 1")
    assert decided(service, "age > 0") == (False, "changed")
    assert decided(service, "age >= 0") == (False, "changed")
    assert "no further query is answered" in " ".join(service.guarantee("salary"))


def test_an_overlapping_sum_is_decided_by_certified_draws(table):
    service = table.service(UNIFORM)
    assert decided(service, "age < 100") == (True, "safe")
    (answer,) = service.ask("SELECT SUM(salary) FROM staff WHERE age > 50 AND age < 150").rows[0].answers
    assert (answer.answered, answer.rule) == (False, "unsafe")
    assert "exact samples, wrong with a probability of at most" in answer.reason


def test_maxima_are_answered_where_the_top_is_crowded(table):
    service = table.service(UNIFORM)
    assert not decided(service, "age < 20", "MAX")[0]
    assert service.ask("SELECT SUM(salary), COUNT(*) FROM staff").rows[0].answers[1].value == COUNT


def test_the_guarantee_is_said_in_words(table):
    said = table.service(NORMAL).guarantee("salary")
    assert said[0].startswith(
        "With probability at least 1 - 1/10 no answer of 10 rounds changes a belief about any person"
    )


@pytest.mark.parametrize(
    ("salaries", "function"),
    [
        ([500] * COUNT, "SUM"),
        ([99 if row < 2 else row % 90 for row in range(COUNT)], "MAX"),
        ([1 if row < 2 else 5 + row % 90 for row in range(COUNT)], "MIN"),
    ],
    ids=["outside the prior", "the same maximum twice", "the same minimum twice"],
)
def test_answers_that_contradict_the_prior_end_the_column_and_not_the_service(table, salaries, function):
    rows = pl.Series(range(COUNT))
    frame = pl.DataFrame({"id": rows, "department": "a", "city": "b", "age": rows % 2, "salary": salaries, "bonus": 1})
    service = table.fill(frame).service(UNIFORM)
    for condition in ("age = 0", "age = 1", "age >= 0"):
        last = decided(service, condition, function)
    assert last == (False, "contradicted")
    with table.service(UNIFORM) as again:
        assert decided(again, "age < 1 OR age > 0", function) == (False, "contradicted")
        assert again.ask("SELECT COUNT(*), SUM(bonus) FROM staff").ok
