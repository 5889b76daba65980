"""Noisy answers beside the audited ones: from a budget, remembered, marked, and with the law that is claimed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.audit.service import Forbidden, Noise, Statement
from reticent.audit.service.noisy_numbers import noisy_numbers
from reticent.base.disclosures import unjudged
from reticent.base.privacy_cost import Amounts, DeclaredBudget
from reticent.errors import PolicyError
from reticent.ledger import Ledger
from reticent.policy.audit_policy import AuditPolicy
from tests.methods.black_box import largest_violation

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
    from reticent.audit.service import noisy_numbers as module

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


# Statistics that have noisy answers only.

MANY = pl.DataFrame(
    {
        "id": range(2000),
        "department": ["sales", "it", "hr", "it"] * 500,
        "city": ["Bonn", "Köln"] * 1000,
        "age": [20 + number % 50 for number in range(2000)],
        "salary": [number * 5 for number in range(2000)],
        "bonus": [number % 80 for number in range(2000)],
    }
)
LOUD = NOISY.replace('epsilon = "1"\neach = "1/4"', 'epsilon = "40"\neach = "4"')


def rows(service, text: str, **options):
    return service.ask(text, allow_noise=True, **options).rows


def spent(place, column: str = "salary") -> Fraction:
    with Ledger(place.folder / "ledger.sqlite") as ledger:
        return ledger.budgets.of("staff", "noise", column=column).spent


@pytest.fixture
def many(make_place):
    return make_place("csv").fill(MANY)


ONLY_NOISY = {
    "SELECT COUNT(*) FROM staff WHERE salary >= 5000": 1000,
    "SELECT COUNT(*) FROM staff WHERE department = 'it' AND salary BETWEEN 100 AND 4999 AND NOT salary = 200": 490,
    "SELECT VAR_POP(salary) FROM staff": 25 * (2000**2 - 1) / 12,
    "SELECT MEDIAN(salary) FROM staff": 4997.5,
    "SELECT QUANTILE(salary, 0.9) FROM staff WHERE city = 'Bonn'": 8995,
}


@pytest.mark.parametrize("text", ONLY_NOISY)
def test_a_statistic_that_is_never_exact_has_a_noisy_answer_with_its_interval(many, text):
    service = many.service(LOUD)
    (denied,) = service.ask(text).rows[0].answers
    assert (denied.answered, denied.rule, denied.value) == (False, "noise-only", None)
    (answer,) = rows(service, text)[0].answers
    low, high = answer.interval
    assert (answer.answered, answer.noisy) == (True, True)
    assert low <= answer.value <= high
    assert low - (high - low) <= ONLY_NOISY[text] <= high + (high - low)
    again = many.service(LOUD)
    assert rows(again, text)[0].answers == (answer,) or rows(again, text)[0].answers[0].value == answer.value
    assert spent(many) == 4


def test_the_quantiles_of_one_selection_are_paid_once(many):
    service = many.service(LOUD)
    shown = rows(service, "SELECT QUANTILE(salary, 0.1), MEDIAN(salary), QUANTILE(salary, 0.9) FROM staff")[0].answers
    assert [each.label for each in shown] == ["QUANTILE(salary, 0.1)", "MEDIAN(salary)", "QUANTILE(salary, 0.9)"]
    assert shown[0].value < shown[1].value < shown[2].value
    assert spent(many) == 4


def test_a_histogram_is_paid_once_and_counts_disjoint_groups_together(many):
    service = many.service(LOUD)
    text = "SELECT department, WIDTH_BUCKET(salary, 0, 10000, 4), COUNT(*) FROM staff GROUP BY department, WIDTH_BUCKET(salary, 0, 10000, 4)"
    shown = rows(service, text)
    assert len(shown) == 3 * 6
    assert [row.group["WIDTH_BUCKET(salary, 0, 10000, 4)"] for row in shown[:6]] == [
        "< 0", "[0, 2500)", "[2500, 5000)", "[5000, 7500)", "[7500, 10000)", ">= 10000",
    ]  # fmt: skip
    true = {"hr": 125, "it": 250, "sales": 125}
    for row in shown:
        bucket = row.group["WIDTH_BUCKET(salary, 0, 10000, 4)"]
        assert abs(row.answers[0].value - (true[row.group["department"]] if bucket.startswith("[") else 0)) <= 20
    assert spent(many) == 4
    assert not any(row.answers[0].answered for row in service.ask(text).rows)


def test_noisy_sums_of_disjoint_groups_are_paid_once_and_each_pays_in_a_query_of_its_own(simple):
    service = simple.service(NOISY.replace("range = [0, 10000]", 'range = [0, 10000]\nwhen = "always"'))
    grouped = rows(service, "SELECT department, SUM(salary), AVG(salary) FROM staff GROUP BY department")
    assert all(answer.noisy for row in grouped for answer in row.answers)
    assert spent(simple) == Fraction(1, 4)
    assert ask(service, "department = 'it'", allow_noise=True).value == grouped[1].answers[0].value
    ask(service, "age < 40", allow_noise=True)
    assert spent(simple) == Fraction(1, 2)


def test_intervals_hold_the_answers_of_the_values_as_often_as_they_say(make_place):
    """800 sums of one person in a group of their own, at once: each interval holds the value with probability 95 %."""
    place = make_place("csv").fill(MANY.head(800))
    service = place.service(
        NOISY.replace("range = [0, 10000]", 'range = [-50000, 50000]\nwhen = "always"').replace(
            'public = ["department", "city", "age"]', 'public = ["department", "city", "age", "id"]'
        )
    )
    shown = rows(service, "SELECT id, SUM(salary) FROM staff GROUP BY id")
    held = [answer.interval[0] <= row.group["id"] * 5 <= answer.interval[1] for row in shown for answer in row.answers]
    # Intervals are clipped to the public range, which loses nothing.
    assert 0.93 <= sum(held) / len(held) <= 0.99


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT MAX(salary) FROM staff WHERE age = 61", "no noisy maximum"),
        ("SELECT SUM(bonus) FROM staff WHERE age = 61", "no budget of noise"),
        ("SELECT VAR_POP(bonus) FROM staff", "no budget of noise"),
    ],
)
def test_a_denial_tells_why_there_is_no_noisy_answer_either(simple, text, said):
    (answer,) = rows(simple.service(NOISY), text)[0].answers
    assert not answer.answered
    assert said in answer.reason


def test_a_used_up_budget_is_named_in_the_denial(simple):
    service = simple.service(NOISY)
    for bound in (1, 2, 3, 4):
        assert rows(service, f"SELECT COUNT(*) FROM staff WHERE salary > {bound}")[0].answers[0].noisy
    (answer,) = rows(service, "SELECT COUNT(*) FROM staff WHERE salary > 5")[0].answers
    assert not answer.answered
    assert "is used up" in answer.reason
    with Ledger(simple.folder / "ledger.sqlite") as ledger:
        assert "noisy frequencies of column 'salary'" in [each.purpose for each in ledger.accounts.of("staff").charges]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT SUM(salary) FROM staff WHERE salary > 3", "WHERE takes public columns only"),
        ("SELECT COUNT(*) FROM staff WHERE bonus > 3", "WHERE takes public columns only"),
        ("SELECT COUNT(*) FROM staff WHERE salary > 3 OR age > 3", "by AND, not by OR"),
        ("SELECT COUNT(*) FROM staff WHERE salary = 'much'", "salary"),
        ("SELECT SUM(salary) FROM staff GROUP BY WIDTH_BUCKET(salary, 0, 10, 2)", r"COUNT\(\*\) only"),
        ("SELECT COUNT(*) FROM staff GROUP BY WIDTH_BUCKET(salary, 10, 0, 2)", "WIDTH_BUCKET takes"),
        ("SELECT COUNT(*) FROM staff GROUP BY WIDTH_BUCKET(salary, 0, 10, 1e9)", "WIDTH_BUCKET takes"),
        ("SELECT COUNT(*) FROM staff GROUP BY WIDTH_BUCKET(age, 0, 10, 2)", "WIDTH_BUCKET takes a protected column"),
        ("SELECT COUNT(*) FROM staff WHERE salary > 3 GROUP BY WIDTH_BUCKET(salary, 0, 10, 2)", "public columns only"),
        ("SELECT QUANTILE(salary, 2) FROM staff", "between 0 and 1"),
        ("SELECT QUANTILE(salary, age) FROM staff", "QUANTILE takes"),
        ("SELECT VARIANCE(salary) FROM staff", "Did you mean VAR_POP"),
        ("SELECT VAR_POP(age) FROM staff", "needs a sensitive column"),
    ],
)
def test_a_query_without_a_noisy_form_is_refused_with_a_place_in_its_text(simple, text, said):
    with pytest.raises(PolicyError, match=said):
        simple.service(NOISY).ask(text, allow_noise=True)


def test_a_role_without_the_column_gets_no_counts_of_its_values(simple):
    service = simple.service(NOISY)
    with pytest.raises(Forbidden, match="salary"):
        service.ask("SELECT COUNT(*) FROM staff WHERE salary > 3", "carol", allow_noise=True)


def test_denials_and_charges_do_not_depend_on_the_values(make_place):
    """Two tables with other salaries: the same decisions, the same statements to the database and the same charges."""
    told = []
    for frame in (PEOPLE, PEOPLE.with_columns(salary=pl.lit(7, pl.Int64))):
        place = make_place("csv").fill(frame)
        service = place.service(NOISY)
        seen = []
        for text in [*ONLY_NOISY, "SELECT SUM(salary) FROM staff WHERE age = 61", "SELECT MAX(salary) FROM staff"]:
            seen += [(each.answered, each.rule, each.reason) for row in rows(service, text) for each in row.answers]
        told.append((seen, [each.replace(str(place.folder), "") for each in service.statements], spent(place)))
    assert told[0] == told[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noisy variance", "noisy quantiles", "noisy frequencies", "a histogram"])
def test_no_noisy_number_tells_neighbours_apart_by_more_than_its_cost(kind):
    """10,000 runs on each of two tables in which the value of one person differs."""
    cells = None
    if kind in ("noisy frequencies", "a histogram"):
        parsed = AuditPolicy.parse(NOISY.replace("{source}", "x.csv").replace("{table}", ""), "p.toml", Path()).settings
        text = "WHERE salary > 5" if kind == "noisy frequencies" else "GROUP BY WIDTH_BUCKET(salary, 0, 10, 2)"
        cells = Statement.parse(f"SELECT COUNT(*) FROM staff {text}", parsed).aggregates[0].cells
    noise = Noise(Fraction(1), Fraction(1), Fraction(0), Fraction(10))
    tables = [pl.Series(["1", "2", last]) for last in ("0", "10")]

    def run(which: int) -> int:
        found = noisy_numbers("noisy frequencies" if cells else kind, tables[which], noise, cells)
        # The number that the value moves furthest, in steps of the noise.
        place = {"noisy variance": 0, "noisy quantiles": 0}.get(kind, -1 if kind == "noisy frequencies" else 1)
        return int(np.clip(np.floor(2 * float(found.numbers[place]) / float(found.scales[0])), -8, 8))

    assert largest_violation(run, 20_000, 1.0, 0.0) <= 0
