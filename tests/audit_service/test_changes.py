"""A table that changes: a variable is one value of one person, and what was answered about it counts for ever."""

from __future__ import annotations

import os

import polars as pl
import pytest

from reticent.audit.service.column_guarantee import guarantee
from reticent.errors import DataError, LedgerError

from .conftest import PEOPLE, POLICY

UNKNOWN = POLICY.replace("[sensitive.salary]\n", '[sensitive.salary]\nchanges = "unknown"\n')
DISTINCT = POLICY.replace("[sensitive.salary]\n", '[sensitive.salary]\nduplicates = "distinct"\n')


def value(service, condition: str, function: str = "SUM(salary)"):
    """The value of one question, None where it was denied."""
    return service.ask(f"SELECT {function} FROM staff WHERE {condition}").rows[0].answers[0].value


def test_an_inserted_row_is_a_new_variable(place):
    service = place.service()
    assert value(service, "age > 0") == 32400
    place.run("INSERT INTO staff VALUES (9, 'hr', 'Bonn', 35, 9000, 90)")
    assert service.sync() == {"salary": 1, "bonus": 1}
    assert service.sync() == {"salary": 0, "bonus": 0}
    # The old total and the new one differ by exactly the newcomer's salary.
    assert value(service, "age > 0") is None
    assert value(service, "department = 'hr'") == 12600


def test_the_variable_of_a_deleted_row_stays(place):
    service = place.service()
    assert value(service, "department = 'it'") == 13700
    place.run("DELETE FROM staff WHERE id = 7")
    # What is left of the department, taken from the total before, would be the salary of who left.
    assert value(service, "department = 'it'") is None
    assert value(service, "department = 'it' or department = 'hr'") == 13400


def test_a_modified_value_is_a_new_variable_and_the_old_one_stays(place):
    service = place.service()
    assert value(service, "department = 'it'") == 13700
    place.run("UPDATE staff SET salary = 4000 WHERE id = 7")
    assert service.sync() == {"salary": 1, "bonus": 0}
    assert value(service, "department = 'it'") == 13800
    assert value(service, "department = 'it' and city = 'Bonn'") is None


def test_a_value_that_comes_back_is_the_variable_that_it_was(place):
    service = place.service()
    assert value(service, "age > 0") == 32400
    place.run("UPDATE staff SET salary = 1 WHERE id = 8")
    service.sync()
    place.run("UPDATE staff SET salary = 3600 WHERE id = 8")
    assert service.sync() == {"salary": 0, "bonus": 0}
    assert value(service, "department <> 'hr'") is None


def test_a_table_that_is_emptied_and_filled_again_has_not_forgotten(place):
    if place.kind == "csv":
        pytest.skip("a CSV file without rows tells no types")
    service = place.service()
    assert value(service, "age > 0") == 32400
    place.run("DELETE FROM staff")
    service.sync()
    place.fill()
    assert service.sync() == {"salary": 0, "bonus": 0}
    assert value(service, "department <> 'hr'") is None


def test_a_person_who_moves_to_another_department_keeps_the_variable(place):
    service = place.service()
    assert value(service, "department = 'sales'") == 15100
    place.run("UPDATE staff SET department = 'hr' WHERE id = 1")
    assert service.sync() == {"salary": 0, "bonus": 0}
    assert value(service, "department = 'sales'") is None
    assert value(service, "department = 'hr'") == 6600


def test_changes_are_noticed_by_a_running_service_without_being_told(place):
    service = place.service()
    assert value(service, "department = 'it'", "COUNT(*)") == 3
    place.run("INSERT INTO staff VALUES (9, 'it', 'Bonn', 35, 9000, 90)")
    assert value(service, "department = 'it'", "COUNT(*)") == 4
    assert value(service, "department = 'it'") == 22700


def test_maxima_survive_changes(place):
    service = place.service()
    assert value(service, "department = 'sales'", "MAX(salary)") == 5200
    place.run("UPDATE staff SET salary = 9999 WHERE id = 4")
    assert value(service, "department = 'sales'", "MAX(salary)") in (9999, None)
    again = place.service()
    assert [entry.answer for entry in again.decisions()] == [entry.answer for entry in service.decisions()]


def test_a_table_may_move_from_a_file_to_a_server_without_being_forgotten(make_place):
    file = make_place("csv").fill()
    with file.service() as service:
        assert value(service, "age > 0") == 32400
    server = make_place("postgres").fill(PEOPLE)
    server.folder = file.folder
    assert server.service().new_values == {"salary": 0, "bonus": 0}
    assert value(server.service(), "department <> 'hr'") is None


def test_the_ledger_holds_no_value_and_no_key_of_a_person(simple):
    frame = PEOPLE.with_columns(
        salary=pl.Series([812345671 + 13 * row for row in range(8)]),
        id=pl.Series([f"person-{row}" for row in range(8)]),
    )
    with simple.fill(frame).service() as service:
        value(service, "age = 61")
    content = (simple.folder / "ledger.sqlite").read_bytes()
    assert b"person-" not in content
    assert not [row for row in frame["salary"] if str(row).encode() in content]


def test_without_its_key_file_a_ledger_is_not_used(simple):
    simple.service().close()
    key = simple.folder / "ledger.sqlite-key"
    kept = key.read_bytes()
    assert len(kept) == 32
    assert key.stat().st_mode & 0o777 == 0o600
    key.unlink()
    with pytest.raises(LedgerError, match=r"key file .* is missing.*every value would look new"):
        simple.service()
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    with pytest.raises(LedgerError, match="not what was written with this key"):
        simple.service()
    key.write_bytes(kept[:5])
    with pytest.raises(LedgerError, match="damaged"):
        simple.service()
    key.write_bytes(kept)
    simple.service()


def test_a_column_declared_distinct_must_be(place):
    assert value(place.service(DISTINCT), "department = 'it'", "MAX(salary)") == 5100
    place.run("UPDATE staff SET salary = 5100 WHERE id = 1")
    with pytest.raises(Exception, match="is declared duplicates = 'distinct', but people share values"):
        place.service(DISTINCT)


def test_values_of_different_times_need_not_be_distinct_and_no_error_tells_that_they_are_equal(place):
    service = place.service(DISTINCT)
    assert value(service, "department = 'it'", "MAX(salary)") == 5100
    # Somebody else has the 5100 now. An auditor that believed both were there together would find a contradiction.
    place.run("UPDATE staff SET salary = 5101 WHERE id = 6")
    place.run("UPDATE staff SET salary = 5100 WHERE id = 4")
    denied = service.ask("SELECT MAX(salary) FROM staff WHERE department = 'sales'").rows[0].answers[0]
    assert (denied.answered, denied.rule) == (False, "changed")
    assert value(service, "department = 'it'", "COUNT(*)") == 3
    place.run("UPDATE staff SET salary = 5200 WHERE id = 4")
    place.run("UPDATE staff SET salary = 5100 WHERE id = 6")
    assert value(service, "age BETWEEN 27 AND 42 AND department <> 'it'", "MAX(salary)") == 4100


def test_that_changed_values_differ_from_the_old_ones_determines_nobody(place):
    """Two people explain at most two of three equal maxima with values that all differ, so the third would be somebody else's."""
    service = place.service()
    answers = []
    for salaries in ((9000, 1), (2, 9000), (3, 4)):
        for person, salary in enumerate(salaries, start=1):
            place.run(f"UPDATE staff SET salary = {salary} WHERE id = {person}")
        if salaries == (3, 4):
            place.run("UPDATE staff SET salary = 9000 WHERE id = 3")
        answers.append(
            value(service, "age IN (31, 42)" if salaries != (3, 4) else "age IN (31, 42, 27)", "MAX(salary)")
        )
    assert answers.count(9000) < 3


def test_maxima_of_a_table_that_changes_all_over_are_answered_while_there_are_people_enough(place):
    service = place.service(UNKNOWN)
    answers = []
    for month in range(8):
        place.run(f"UPDATE staff SET salary = {month} + 100 * (id + {month}) - 800 * ((id + {month}) / 9)")
        answers.append(value(service, "age > 0", "MAX(salary)"))
    assert None not in answers[:3]


def test_a_raise_that_everybody_knows_gives_nobody_away(simple):
    """SUM(all) before and SUM(all but one) after a raise of 100 would tell the one: the old total plus all raises, minus the new sum."""
    service = simple.service()
    assert value(service, "age > 0") == 32400
    simple.run("UPDATE staff SET salary = salary + 100")
    assert value(service, "age < 61") is None
    assert value(service, "age > 0") == 33200
    assert "know by how much values changed" in " ".join(service.guarantee("salary"))


def test_a_percentage_that_everybody_got_gives_nobody_away(simple):
    service = simple.service()
    assert value(service, "age > 0") == 32400
    simple.run("UPDATE staff SET salary = salary * 5 / 4")
    assert value(service, "age > 0") == 40500
    assert value(service, "age < 61") is None


def test_where_the_percentage_of_one_person_may_be_known_sums_stop_at_a_change(simple):
    """Two totals around a known raise of 10 % for one person tell the salary: ten times their difference."""
    service = simple.service(POLICY.replace("[sensitive.salary]\n", '[sensitive.salary]\nchanges = "any"\n'))
    assert value(service, "age > 0") == 32400
    simple.run("UPDATE staff SET salary = 3960 WHERE id = 8")
    (answer,) = service.ask("SELECT SUM(salary) FROM staff").rows[0].answers
    assert (answer.answered, answer.rule) == (False, "changed")
    assert "Once a value that was part of an answer changes, no further query" in " ".join(service.guarantee("salary"))
    assert "percentage by which single values changed" in " ".join(
        guarantee(simple.policy().settings.sensitive["salary"], "linear")
    )


def test_the_page_says_that_answers_stop_only_where_they_do(simple):
    """It said so before the first answer, and to whoever may not see earlier ones; then sums were answered after a change all the same."""
    service = simple.service()

    def told() -> str:
        return " ".join(service.describe(history=False)["sensitive"][0]["guarantee"])

    assert "Where sums are answered, queries are still answered after values change" in told()
    assert value(service, "age > 0") == 32400
    simple.run("UPDATE staff SET salary = salary + 100")
    assert value(service, "age > 0") == 33200
    assert "Where sums are answered, queries are still answered after values change" in told()
    assert " ".join(service.guarantee("salary")).count("Queries are still answered after values change") == 1
    assert "no further query is answered" not in " ".join(service.guarantee("salary"))


def test_where_maxima_are_answered_a_change_stops_them_as_said(simple):
    service = simple.service()
    assert value(service, "age > 0", "MAX(salary)") is not None
    assert "Once a value that was part of an answer changes, no further query is answered" in " ".join(
        service.guarantee("salary")
    )
    simple.run("UPDATE staff SET salary = salary + 100")
    assert value(service, "age > 0", "MAX(salary)") is None


@pytest.mark.parametrize("duplicates", ["allowed", "distinct"])
@pytest.mark.parametrize("changes", ["known", "any", "unknown"])
@pytest.mark.parametrize("function", ["SUM(salary)", "MAX(salary)"])
def test_the_page_says_when_answers_stop_and_when_they_go_on_again(simple, function, changes, duplicates):
    """A changed value, one that is back, and one that is gone: a question is refused for them where the page says so, and only there."""
    declared = f'[sensitive.salary]\nchanges = "{changes}"\nduplicates = "{duplicates}"\n'
    service = simple.service(POLICY.replace("[sensitive.salary]\n", declared))

    def is_stopped(condition: str) -> bool:
        (answer,) = service.ask(f"SELECT {function} FROM staff WHERE {condition}").rows[0].answers
        return answer.rule == "changed"

    assert not is_stopped("age > 0")
    told = " ".join(service.guarantee("salary"))
    stops = "changes, no further query is answered until it is restored" in told
    stops_when_gone = (
        "while a value that was part of an answer is missing from the table, no maxima or minima are answered" in told
    )
    simple.run("UPDATE staff SET salary = salary + 1 WHERE id = 8")
    assert is_stopped("age > 0") == (stops or stops_when_gone)
    simple.run("UPDATE staff SET salary = salary - 1 WHERE id = 8")
    assert not is_stopped("age > 0")
    simple.run("DELETE FROM staff WHERE id = 8")
    assert is_stopped("department <> 'it'") == stops_when_gone


def test_without_knowledge_of_changes_new_values_are_new_numbers(simple):
    service = simple.service(UNKNOWN)
    assert value(service, "age > 0") == 32400
    simple.run("UPDATE staff SET salary = salary + 100")
    assert value(service, "age < 61") is not None
    assert "no one knows how values change" in " ".join(service.guarantee("salary"))


def test_maxima_stop_where_a_change_may_be_known(simple):
    service = simple.service()
    assert value(service, "age > 0", "MAX(salary)") is not None
    simple.run("UPDATE staff SET salary = salary + id")
    (answer,) = service.ask("SELECT MAX(salary) FROM staff WHERE age > 30").rows[0].answers
    assert (answer.answered, answer.rule) == (False, "changed")


def test_a_restarted_service_counts_rivals_alike(place):
    service = place.service(UNKNOWN)
    for salaries in ("5000 + 0 * id", "id"):
        place.run(f"UPDATE staff SET salary = {salaries}")
        place.run("UPDATE staff SET salary = 5000 WHERE id = 8")
        value(service, "age > 28", "MAX(salary)")
    asked = [f"SELECT MAX(salary) FROM staff WHERE age > {age}" for age in range(28, 60)]
    again = place.service(UNKNOWN)
    assert [again.would_answer(text).describe() for text in asked] == [
        service.would_answer(text).describe() for text in asked
    ]


def test_a_connection_that_breaks_is_told_and_made_again(make_place):
    place = make_place("postgres").fill()
    service = place.service()
    assert value(service, "department = 'it'") == 13700
    place.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    with pytest.raises(DataError, match="PostgreSQL"):
        value(service, "department = 'sales'")
    assert value(service, "department = 'sales'") == 15100
    assert value(service, "department = 'it'") == 13700


def test_a_view_can_be_audited_and_its_changes_are_noticed(make_place):
    import psycopg

    place = make_place("postgres").fill()
    table, place.table = place.table, f"view_of_{place.table}"
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(f"CREATE VIEW {place.table} AS SELECT * FROM {table} WHERE age < 60")
        service = place.service()
        assert value(service, "age > 0") == 28800
        connection.execute(f"UPDATE {table} SET salary = salary + 1 WHERE id = 1")
    assert value(service, "age > 0") == 28801
    assert service.sync() == {"salary": 0, "bonus": 0}


def test_a_percent_sign_in_a_column_of_postgres_is_a_character_like_any_other(make_place):
    renamed = {"salary": "pay 100%s", "age": "%age", "id": "%(id)s"}
    text = (
        POLICY.replace('"age"', '"%age"')
        .replace("[sensitive.salary]", '[sensitive."pay 100%s"]')
        .replace('"id"', '"%(id)s"')
    )
    place = make_place("postgres").fill(PEOPLE.rename(renamed))
    service = place.service(text)
    found = service.ask('SELECT SUM("pay 100%s") FROM staff WHERE "%age" > 20').rows[0].answers[0]
    assert found.value == sum(PEOPLE["salary"])
