"""Questions in SQL: what is answered, what is denied, and what is remembered; on every kind of database."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest

from reticent.audit.offline import check_log, parse_log
from reticent.audit.service import Forbidden, QuotaUsed
from reticent.audit.service.export import log_lines
from reticent.errors import DataError, PolicyError

from .conftest import PEOPLE, POLICY


def values(reply) -> list:
    """The values of a reply, row after row; None where denied."""
    return [answer.value for row in reply.rows for answer in row.answers]


def rules(reply) -> list[str]:
    return [answer.rule for row in reply.rows for answer in row.answers]


def test_sums_averages_and_counts_are_exact(place):
    reply = place.service().ask(
        "SELECT SUM(salary), AVG(salary) AS mean, COUNT(*), COUNT(salary) FROM staff WHERE department = 'it'"
    )
    assert values(reply) == [13700, Fraction(13700, 3), 3, 3]
    assert [answer.label for answer in reply.rows[0].answers] == ["SUM(salary)", "mean", "COUNT(*)", "COUNT(salary)"]
    assert reply.rows[0].answers[1].describe()["value"] == "13700/3"
    assert reply.rows[0].answers[1].describe()["decimal"] == "4566.6666666666666667"


def test_a_sum_that_would_tell_a_value_is_denied_and_its_reason_names_no_value(place):
    service = place.service()
    assert values(service.ask("SELECT SUM(salary) FROM staff")) == [32400]
    denied = service.ask("SELECT SUM(salary) FROM staff WHERE department <> 'hr'")
    assert not denied.ok
    assert rules(denied) == ["exposes"]
    assert denied.rows[0].answers[0].reason == (
        "Together with the answers given before, it would determine a person's value."
    )


def test_sum_count_and_max_under_one_condition_max_is_refused_by_the_family_rule_whatever_the_values_are(place):
    # QA-G1 in SQL: a refusal that depended on the values would tell that all three are equal.
    for salaries in ([5, 5, 5], [4, 5, 6]):
        frame = PEOPLE.with_columns(salary=pl.Series([9, 9, 9, 9, *salaries, 9]))
        # A ledger of its own for each: the same people under another name are recognised.
        service = place.fill(frame).service(POLICY.replace("ledger.sqlite", f"ledger {sum(salaries[:1])}.sqlite"))
        reply = service.ask("SELECT SUM(salary), COUNT(*), MAX(salary) FROM staff WHERE department = 'it'")
        assert values(reply) == [15, 3, None]
        assert rules(reply) == ["safe", "public", "other-family"]
        assert service.family("salary") == "linear"
        assert rules(service.ask("SELECT MIN(salary) FROM staff")) == ["other-family"]


def test_maxima_and_minima_are_audited_in_columns_of_their_own(place):
    service = place.service()
    assert values(service.ask("SELECT MAX(salary), MIN(bonus) FROM staff WHERE department = 'sales'")) == [5200, 10]
    # QA-G2: whoever is left out of a smaller maximum could be the one who had it.
    assert not service.ask("SELECT MAX(salary) FROM staff WHERE department = 'sales' AND age > 30").ok
    assert not service.ask("SELECT MIN(bonus) FROM staff WHERE department = 'sales' AND age > 30").ok
    assert rules(service.ask("SELECT SUM(salary), SUM(bonus) FROM staff")) == ["other-family", "other-family"]
    assert values(service.ask("SELECT MAX(salary) FROM staff WHERE department = 'it'")) == [5100]


def test_a_single_person_is_denied_and_an_empty_selection_has_a_public_count(place):
    service = place.service()
    assert rules(service.ask("SELECT SUM(salary), AVG(salary), COUNT(*) FROM staff WHERE age = 61")) == [
        "exposes",
        "exposes",
        "public",
    ]
    empty = service.ask("SELECT SUM(salary), COUNT(*) FROM staff WHERE age > 100")
    assert values(empty) == [None, 0]
    assert rules(empty) == ["empty", "public"]
    assert empty.ok


def test_cells_are_queries_of_their_own_in_the_order_of_their_public_values(place):
    frame = PEOPLE.sample(fraction=1.0, shuffle=True, seed=5)
    service = place.fill(frame).service()
    reply = service.ask("SELECT city, department, SUM(salary), COUNT(*) FROM staff GROUP BY department, city")
    assert [tuple(row.group.values()) for row in reply.rows] == [
        ("hr", "Köln"), ("it", "Bonn"), ("it", "Köln"), ("sales", "Bonn"), ("sales", "Köln"),
    ]  # fmt: skip
    assert values(reply) == [None, 1, 9800, 2, None, 1, 5800, 2, 9300, 2]
    assert [entry.number for entry in service.decisions()] == [1, 2, 3, 4, 5]


def test_a_repeated_query_however_it_is_written_returns_its_decision_and_answer(place):
    service = place.service()
    first = service.ask("SELECT SUM(salary) FROM staff WHERE department = 'it'")
    again = service.ask("select avg(t.SALARY) from Staff as t where t.age in (38, 44, 29) or age = 1000")
    assert again.rows[0].answers[0].decision == first.rows[0].answers[0].decision
    assert values(again) == [Fraction(13700, 3)]
    denied = service.ask("SELECT SUM(salary) FROM staff WHERE age = 61")
    assert (
        service.ask("SELECT SUM(salary) FROM staff WHERE department = 'hr'").rows[0].answers[0]
        == denied.rows[0].answers[0]
    )
    assert len(service.decisions()) == 2


def test_a_restarted_service_remembers_everything(place):
    with place.service() as service:
        service.ask("SELECT SUM(salary), MAX(bonus) FROM staff")
    service = place.service()
    assert (service.family("salary"), service.family("bonus")) == ("linear", "max")
    assert not service.ask("SELECT SUM(salary) FROM staff WHERE department <> 'hr'").ok
    assert values(service.ask("SELECT MAX(bonus) FROM staff WHERE age > 0")) == [80]
    assert len(service.decisions()) == 3


def test_one_history_counts_for_all_users_and_each_sees_only_their_own(place):
    service = place.service()
    assert service.ask("SELECT SUM(salary) FROM staff", "alice").ok
    assert not service.ask("SELECT SUM(salary) FROM staff WHERE department <> 'hr'", "bob").ok
    assert [question.text for question in service.history("bob")] == [
        "SELECT SUM(salary) FROM staff WHERE department <> 'hr'"
    ]
    assert [question.asker for question in service.history()] == ["bob", "alice"]
    (shown,) = service.history("alice")[0].decisions
    assert service.decision(shown, "alice").answer == 32400
    assert service.decision(shown, "bob") is None
    assert service.decision(1).answer == 32400


def test_a_repeated_question_does_not_tell_that_somebody_asked_it_before(place):
    service = place.service()
    text = "SELECT SUM(salary), SUM(bonus) FROM staff"
    first, again, mine = (service.ask(text, user) for user in ("alice", "bob", "bob"))
    numbers = [answer.decision for reply in (first, again, mine) for answer in reply.rows[0].answers]
    assert len(set(numbers)) == 6
    question = service.history("bob", limit=1)[0]
    assert set(question.decisions) == {answer.decision for answer in mine.rows[0].answers}
    for number in question.decisions:
        assert service.decision(number, "bob").made == question.made
        assert service.decision(number, "alice") is None
    assert len(service.decisions()) == 2
    assert service.history("bob", limit=1)[0].decisions != service.history("alice")[0].decisions
    assert service.decision(99) is None


def test_a_dry_run_says_what_would_be_decided_and_changes_nothing(place):
    service = place.service()
    text = "SELECT SUM(salary), COUNT(*) FROM staff WHERE department = 'it'"
    for _ in range(2):
        reply = service.would_answer(text)
        assert rules(reply) == ["safe", "public"]
        assert values(reply) == [None, None]
    assert service.decisions() == []
    assert service.history() == []
    service.ask("SELECT SUM(salary) FROM staff")
    assert not service.would_answer("SELECT SUM(salary) FROM staff WHERE department <> 'hr'").ok


def test_a_dry_run_is_allowed_to_whoever_may_ask_and_counts_as_a_question(simple):
    """What would be decided follows from answers that others were given."""
    service = simple.service()
    with pytest.raises(Forbidden, match="may not query column 'salary'"):
        service.would_answer("SELECT SUM(salary) FROM staff", "carol")
    service.would_answer("SELECT COUNT(*) FROM staff", "carol")
    assert len(service.history("carol")) == 1
    for _ in range(2):
        service.would_answer("SELECT COUNT(*) FROM staff", "carol")
    with pytest.raises(QuotaUsed):
        service.would_answer("SELECT COUNT(*) FROM staff", "carol")


def test_roles_say_who_may_ask_what(simple):
    service = simple.service()
    with pytest.raises(Forbidden, match="may not use MAX"):
        service.ask("SELECT MAX(bonus) FROM staff", "carol")
    with pytest.raises(Forbidden, match="may not query column 'salary'"):
        service.ask("SELECT SUM(salary) FROM staff", "carol")
    assert service.ask("SELECT COUNT(salary) FROM staff", "carol").ok
    assert service.ask("SELECT SUM(bonus) FROM staff", "carol").ok
    with pytest.raises(PolicyError, match=r"There is no user 'carl'\. Did you mean 'carol'"):
        service.ask("SELECT COUNT(*) FROM staff", "carl")


def test_a_quota_counts_denied_questions_too_and_only_ones_own(simple):
    service = simple.service()
    service.ask("SELECT COUNT(*) FROM staff", "alice")
    for text in ("COUNT(*)", "SUM(bonus)", "SUM(bonus)"):
        service.ask(f"SELECT {text} FROM staff WHERE age = 61", "carol")
    with pytest.raises(QuotaUsed, match="3 queries in 24 hours are allowed"):
        service.ask("SELECT COUNT(*) FROM staff", "carol")
    assert service.ask("SELECT COUNT(*) FROM staff", "alice").ok


def test_reserved_questions_are_answered_before_anybody_asks(simple):
    reserved = POLICY + "[reserved]\nqueries = [\"SELECT SUM(salary) FROM staff WHERE department <> 'hr'\"]\n"
    service = simple.service(reserved)
    assert [reply.ok for reply in service.reserved] == [True]
    assert not service.ask("SELECT SUM(salary) FROM staff", "alice").ok
    assert values(service.ask("SELECT SUM(salary) FROM staff WHERE age < 61", "bob")) == [28800]


def test_a_bounded_column_gives_no_exact_sum_and_says_why(place):
    # QA-G16: if everybody may have 0, even the sum over everybody could tell every value.
    service = place.service(
        POLICY.replace('[sensitive.salary]\nbounds = "ignored"', "[sensitive.salary]\nbounds = [0, 100000]")
    )
    reply = service.ask("SELECT SUM(salary), MAX(salary), COUNT(*) FROM staff")
    assert rules(reply) == ["bounded", "bounded", "public"]
    reason = reply.rows[0].answers[0].reason
    assert "auditor = 'probabilistic'" in reason
    assert "bounds = 'ignored'" in reason


def test_after_any_session_an_offline_audit_finds_nobody_exposed(place):
    service = place.service()
    for text in (
        "SELECT department, SUM(salary), MAX(bonus) FROM staff GROUP BY department",
        "SELECT city, SUM(salary), MAX(bonus) FROM staff GROUP BY city",
        "SELECT SUM(salary), MAX(bonus) FROM staff WHERE age > 30",
        "SELECT SUM(salary), MAX(bonus) FROM staff WHERE age < 45 OR city = 'Bonn'",
        "SELECT SUM(salary), MAX(bonus) FROM staff",
    ):
        service.ask(text)
    lines = [line.decode() for line in log_lines(service.decisions())]
    for column in ("salary", "bonus"):
        report = check_log(parse_log(lines, column=column), n=8)
        assert report.log.entries
        assert report.exposed == {}


def test_dates_truth_values_unicode_and_nulls_choose_rows_alike_everywhere(place):
    frame = PEOPLE.with_columns(
        city=pl.Series(["Bonn", "Köln", "東京", "O'Hara", None, "Bonn", 'say "no"', "%"]),
        hired=pl.Series([datetime.date(2020, 1, day) for day in range(1, 9)]),
        remote=pl.Series([True, False] * 4),
        share=pl.Series([0.5, 0.25, 0.75, 0.1, 0.2, 0.3, 0.4, 0.6]),
    )
    public = POLICY.replace('"age"]', '"age", "hired", "remote", "share"]')
    service = place.fill(frame).service(public)
    for condition, size in (
        ("hired between '2020-01-03' and '2020-01-05'", 3),
        ("remote and share < 0.45", 2),
        ("not remote", 4),
        ("city = '東京' or city = 'O''Hara' or city = 'say \"no\"'", 3),
        ("city is null", 1),
        ("city <> 'Bonn'", 5),
        ("city like 'B%'", 2),
        ("city = '%'", 1),
        ("age * 2 - 10 > 80", 2),
        ("age = 99999999999999999999999999", 0),
        ("share = 0.1", 1),
    ):
        assert values(service.ask(f"SELECT COUNT(*) FROM staff WHERE {condition}")) == [size], condition
    cells = service.ask("SELECT city, remote, COUNT(*) FROM staff GROUP BY city, remote").rows
    assert cells[-1].group == {"city": None, "remote": True}


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_huge_and_fixed_point_values_are_added_exactly(make_place, kind):
    place = make_place(kind).fill()
    place.run("ALTER TABLE staff ALTER COLUMN bonus TYPE NUMERIC(38, 2)")
    place.run("UPDATE staff SET bonus = 100000000000000000000000000000.01 + id")
    reply = place.service().ask("SELECT SUM(bonus), AVG(bonus) FROM staff")
    total = sum(Fraction(Decimal("100000000000000000000000000000.01")) + each for each in range(1, 9))
    assert values(reply) == [total, total / 8]
    assert reply.rows[0].answers[0].describe()["decimal"] == "800000000000000000000000000036.08"


def test_floating_point_values_are_exact_with_declared_decimals_and_refused_without(place):
    frame = PEOPLE.with_columns(salary=pl.Series([0.1, 0.2, 0.3, 0.7, 1e6 + 0.01, 2.5, 3.99, -0.29]))
    place.fill(frame)
    with pytest.raises(DataError, match=r"holds floating-point numbers, whose sums depend on the order.*decimals = 2"):
        place.service()
    declared = POLICY.replace("[sensitive.salary]\n", "[sensitive.salary]\ndecimals = 2\n")
    assert values(place.service(declared).ask("SELECT SUM(salary) FROM staff")) == [Fraction("1000007.51")]
    with pytest.raises(DataError, match="values of column 'salary' have more than 1 decimal places"):
        place.service(declared.replace("decimals = 2", "decimals = 1"))


def test_truth_values_can_be_counted_as_sums(place):
    frame = PEOPLE.with_columns(bonus=pl.Series([True, False] * 4))
    assert values(place.fill(frame).service().ask("SELECT SUM(bonus), AVG(bonus) FROM staff")) == [4, Fraction(1, 2)]


def test_missing_values_are_refused_unless_everybody_may_know_who_has_none(place):
    place.fill(PEOPLE.with_columns(salary=pl.Series([1, 2, None, 4, 5, None, 7, 8])))
    with pytest.raises(DataError, match="'salary' is missing in 2 rows"):
        place.service()
    service = place.service(POLICY.replace("[sensitive.salary]\n", '[sensitive.salary]\nnulls = "public"\n'))
    assert values(service.ask("SELECT SUM(salary), COUNT(salary), COUNT(*), AVG(salary) FROM staff")) == [
        27,
        6,
        8,
        Fraction(27, 6),
    ]
    assert rules(service.ask("SELECT SUM(salary) FROM staff WHERE age in (27, 44)")) == ["empty"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": [1, 1, 3, 4, 5, 6, 7, 8]}, "The person key 'id' is not unique: 8 rows have 7 different keys"),
        ({"id": [None, 2, 3, 4, 5, 6, 7, 8]}, "The person key 'id' is missing in 1 rows"),
        ({"salary": list("abcdefgh")}, "'salary' has type .* Only numbers can be added"),
    ],
)
def test_tables_that_cannot_be_audited_are_refused_at_the_start(place, change, message):
    place.fill(PEOPLE.with_columns(**{name: pl.Series(column) for name, column in change.items()}))
    with pytest.raises(DataError, match=message):
        place.service()


def test_a_column_that_is_not_there_is_named(place):
    with pytest.raises(DataError, match=r"no column 'bonuses'\. Did you mean 'bonus'"):
        place.service(POLICY.replace("[sensitive.bonus]", "[sensitive.bonuses]").replace('["bonus"]', '["bonuses"]'))


def test_too_many_cells_are_refused(simple):
    frame = pl.DataFrame(
        {"id": range(1200), "department": "x", "city": "y", "age": range(1200), "salary": 1, "bonus": 2}
    )
    with pytest.raises(PolicyError, match="GROUP BY age gives 1200 cells, and at most 1000 answers"):
        simple.fill(frame).service().ask("SELECT COUNT(*) FROM staff GROUP BY age")


def test_one_question_cannot_keep_the_service_busy(simple):
    service = simple.service()
    many = ", ".join(["MAX(bonus)"] * 400)
    with pytest.raises(
        PolicyError, match="GROUP BY department gives 3 cells with 400 aggregates each, and at most 1000 answers"
    ):
        service.would_answer(f"SELECT {many} FROM staff GROUP BY department")
    many = ",".join(["COUNT(*)"] * 1001)
    with pytest.raises(PolicyError, match="The query has 1001 aggregates, and at most 1000 answers"):
        service.ask(f"SELECT {many} FROM staff")


def test_an_empty_table_can_be_asked(place):
    service = place.fill(PEOPLE.clear()).service() if place.kind != "csv" else None
    if service is None:
        pytest.skip("a CSV file without rows tells no types")
    assert rules(service.ask("SELECT SUM(salary), COUNT(*) FROM staff")) == ["empty", "public"]
    assert service.ask("SELECT city, SUM(salary) FROM staff GROUP BY city").rows == ()


def test_a_parquet_file_is_as_good_as_any(make_place):
    service = make_place("parquet").fill().service()
    assert values(service.ask("SELECT department, SUM(salary) FROM staff GROUP BY department")) == [None, 13700, 15100]


def test_a_table_without_public_columns_can_be_asked_about_everybody(place):
    service = place.service(POLICY.replace('public = ["department", "city", "age"]\n', ""))
    assert values(service.ask("SELECT SUM(salary), COUNT(*) FROM staff WHERE 1 = 1")) == [32400, 8]
    assert values(service.ask("SELECT COUNT(*) FROM staff WHERE 1 = 2")) == [0]
