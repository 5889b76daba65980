"""Noisy answers beside the audited ones: from a budget, remembered, marked, and with the law that is claimed."""

from __future__ import annotations

from fractions import Fraction

from reticent.ledger import Ledger

from .conftest import POLICY

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
