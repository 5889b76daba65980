"""Noisy answers beside the audited ones: from a budget, remembered, marked, and with the law that is claimed."""

from __future__ import annotations

from fractions import Fraction

import pytest

import reticent as rt
from reticent.base.disclosures import unjudged
from reticent.base.privacy_cost import Amounts, DeclaredBudget
from reticent.errors import PolicyError
from reticent.ledger import Ledger

from .conftest import PEOPLE, POLICY

NOISE = '\n[sensitive.salary.noise]\nepsilon = "1"\neach = "1/4"\nrange = [0, 10000]\n'
NOISY = POLICY.replace('[sensitive.salary]\nbounds = "ignored"\n', f'[sensitive.salary]\nbounds = "ignored"\n{NOISE}')


def ask(service, condition: str, function: str = "SUM(salary)", **options):
    return service.ask(f"SELECT {function} FROM staff WHERE {condition}", **options).rows[0].answers[0]


def test_a_denied_sum_gets_a_noisy_answer_only_if_it_is_asked_for(place):
    service = place.service(NOISY)
    assert not ask(service, "age = 61").answered
    answer = ask(service, "age = 61", allow_noise=True)
    assert (answer.answered, answer.noisy, answer.rule) == (True, True, "noisy")
    assert answer.value.denominator == 1
    exact = ask(service, "department = 'it'", allow_noise=True)
    assert (exact.noisy, exact.value) == (False, 13700)


def test_the_same_question_never_gets_fresh_noise_and_pays_once(place):
    service = place.service(NOISY)
    first = ask(service, "age = 61", allow_noise=True)
    assert ask(service, "department = 'hr'", "AVG(salary)", allow_noise=True).value == first.value
    again = place.service(NOISY)
    assert ask(again, "age > 60", allow_noise=True).value == first.value
    with Ledger(place.folder / "ledger.sqlite") as ledger:
        assert ledger.budgets.of("staff", "noise", column="salary").spent == Fraction(1, 4)


def test_the_budget_ends_and_then_only_the_audited_answers_are_left(place):
    service = place.service(NOISY)
    ages = [61, 31, 42, 27, 55]
    given = [ask(service, f"age = {age}", allow_noise=True) for age in ages]
    assert [answer.noisy for answer in given] == [True] * 4 + [False]
    assert not given[-1].answered
    assert ask(service, "department = 'it'", allow_noise=True).value == 13700
    with Ledger(place.folder / "ledger.sqlite") as ledger:
        assert ledger.budgets.of("staff", "noise", column="salary").left == 0


def test_noisy_answers_are_not_part_of_the_audited_history(place):
    service = place.service(NOISY)
    ask(service, "department <> 'hr'")
    ask(service, "age = 61", allow_noise=True)
    assert not ask(service, "age > 0").answered
    assert not ask(place.service(NOISY), "age > 0").answered


def test_maxima_have_no_noisy_form(simple):
    assert not ask(simple.service(NOISY), "age = 61", "MAX(salary)", allow_noise=True).answered


def test_a_column_can_give_noisy_answers_only(simple):
    only = NOISY.replace("range = [0, 10000]", 'range = [0, 10000]\nwhen = "always"')
    service = simple.service(only)
    assert ask(service, "age > 0").rule == "noise-only"
    assert ask(service, "age > 0", allow_noise=True).noisy
    assert service.guarantee("salary")[0] == "Column 'salary' gives noisy answers only."


def test_values_are_cut_to_the_declared_range(place, monkeypatch):
    from reticent.audit.service import service as module

    seen = []
    monkeypatch.setattr(module, "noisy_total", lambda total, *_: seen.append(total) or total)
    narrow = place.service(NOISY.replace("range = [0, 10000]", "range = [3950, 4000.5]"))
    ask(narrow, "department = 'it'")
    ask(narrow, "city = 'Bonn' and department = 'it' or age = 61", allow_noise=True)
    ask(narrow, "department = 'it' and age < 40", allow_noise=True)
    assert seen[-1] in (Fraction("4000.5") + 3950, Fraction("4000.5") * 2 + 3950)


def account_of(place, dataset: str = "staff"):
    return rt.ledger.account(dataset, ledger=place.folder / "ledger.sqlite")


def declare(place, dataset: str = "staff", epsilon: str = "1/2", **more) -> None:
    with Ledger(place.folder / "ledger.sqlite") as ledger:
        ledger.accounts.declare(dataset, DeclaredBudget(Amounts(Fraction(epsilon)), **more))


def test_noisy_sums_draw_on_the_account_of_the_data_set(simple):
    both = NOISY.replace(
        '[sensitive.bonus]\nbounds = "ignored"\n',
        '[sensitive.bonus]\nbounds = "ignored"\n' + NOISE.replace("salary", "bonus"),
    )
    service = simple.service(both)
    ask(service, "age = 61", allow_noise=True)
    ask(service, "age = 61", "SUM(bonus)", allow_noise=True)
    ask(service, "age = 61", allow_noise=True)
    account = account_of(simple)
    assert (account.unit, account.relation, account.total.epsilon) == ("person", "replace", 2)
    assert [each.purpose for each in account.charges] == [
        "a noisy sum of column 'salary'",
        "a noisy sum of column 'bonus'",
    ]
    assert (account.spent.epsilon, account.left.epsilon) == (Fraction(1, 2), Fraction(3, 2))


def test_releases_and_noisy_sums_spend_one_total(simple):
    """A release used half of what the steward declared, so two noisy sums of the four that the column's budget allows are left."""
    declare(simple, epsilon="1")
    table = rt.Table(PEOPLE, quasi=["department"], sensitive="city", identifiers=["id"], dataset="staff")
    cells = {"department": ["sales", "it", "hr"], "city": ["Bonn", "Köln"]}
    counts = rt.CentralCounts(domain=cells)
    rt.publish(table, rt.NoisyCounts("1/2"), counts, ledger=simple.folder / "ledger.sqlite")
    service = simple.service(NOISY.replace('dataset = "staff"\n', 'dataset = "staff"\nbeside = "allow"\n'))
    given = [ask(service, f"age = {age}", allow_noise=True) for age in (61, 31, 42)]
    assert [answer.noisy for answer in given] == [True, True, False]
    assert (given[2].answered, account_of(simple).left.epsilon) == (False, 0)
    with pytest.raises(rt.LedgerError, match="cannot pay for noisy counts: its epsilon runs out"):
        rt.publish(table, rt.NoisyCounts("1/9"), counts, ledger=simple.folder / "ledger.sqlite", again=True)


def test_noisy_sums_draw_on_the_account_of_the_same_people_under_another_name(simple):
    declare(simple, "payroll")
    with Ledger(simple.folder / "ledger.sqlite") as ledger:
        from reticent.table import marks_of_columns

        ids = PEOPLE["id"].cast(str)
        ledger.know("payroll", marks_of_columns([ids], PEOPLE.get_columns()[1:], ledger.people_key))
    service = simple.service(NOISY)
    given = [ask(service, f"age = {age}", allow_noise=True) for age in (61, 31, 42)]
    assert [answer.noisy for answer in given] == [True, True, False]
    assert account_of(simple, "payroll").left.epsilon == 0


def test_an_account_that_noisy_sums_cannot_be_charged_to_is_refused_at_the_start(simple):
    declare(simple, relation="add/remove")
    with pytest.raises(
        PolicyError,
        match="A noisy sum of column 'salary' has no bounded cost under the relation add/remove",
    ):
        simple.service(NOISY)


def test_noisy_sums_of_an_earlier_version_count(simple):
    with Ledger(simple.folder / "ledger.sqlite") as ledger:
        ledger.budgets.open("staff", "noise", 1, column="salary")
        ledger.spend("staff", "noise", "1/2", "noisy sum of 3 people", column="salary", beside=unjudged)
        assert ledger.accounts.of("staff").spent.epsilon == Fraction(1, 2)
    service = simple.service(NOISY.replace('dataset = "staff"\n', 'dataset = "staff"\nbeside = "allow"\n'))
    assert ask(service, "age = 61", allow_noise=True).noisy
    assert (account_of(simple).total.epsilon, account_of(simple).spent.epsilon) == (1, Fraction(3, 4))
