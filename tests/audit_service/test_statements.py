"""SQL that is not answered: refused with a clear message that points into the text, and nothing of it reaches a database."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from reticent.audit.service import AuditService, Statement, StatementError
from reticent.conditions import ConditionError
from reticent.errors import PolicyError
from tests.sampling import examples

REFUSED = {
    "SELECT salary FROM staff": "'salary' is sensitive; SELECT takes public columns only",
    "SELECT department FROM staff": "'department' is not aggregated, so it must be in GROUP BY too",
    "SELECT department FROM staff GROUP BY department": "the SELECT list has no aggregate",
    "SELECT * FROM staff": "only SUM, AVG, COUNT, MAX and MIN of one column are answered",
    "SELECT SUM(age) FROM staff": "SUM needs a sensitive column (salary, bonus), but 'age' is not one",
    "SELECT COUNT(id) FROM staff": "'id' identifies people and cannot be queried",
    "SELECT SUM(salary + 1) FROM staff": "SUM takes the name of one column, nothing else",
    "SELECT SUM(salary) + 1 FROM staff": "only SUM, AVG, COUNT, MAX and MIN of one column",
    "SELECT SUM(DISTINCT salary) FROM staff": "DISTINCT depends on the protected values",
    "SELECT COUNT(DISTINCT salary) FROM staff": "DISTINCT depends on the protected values",
    "SELECT STDDEV_SAMP(salary) FROM staff": "only SUM, AVG, COUNT, MAX and MIN of one column",
    "SELECT MAX(salary, bonus) FROM staff": "only SUM, AVG, COUNT, MAX and MIN of one column",
    "SELECT SUM(salary) FILTER (WHERE salary > 3) FROM staff": "only SUM, AVG, COUNT, MAX and MIN of one column",
    "SELECT SUM(salary) OVER () FROM staff": "only SUM, AVG, COUNT, MAX and MIN of one column",
    "SELECT SUM(wages) FROM staff": "there is no column 'wages'",
    "SELECT SUM(salry) FROM staff": "there is no column 'salry'. Did you mean 'salary'?",
    "SELECT SUM(salary)": "FROM is missing",
    "SELECT SUM(salary) FROM stuff": "there is no table 'stuff'. Did you mean 'staff'?",
    "SELECT SUM(salary) FROM pg_catalog.staff": "db is not answered",
    "SELECT SUM(salary) FROM staff, staff AS s": "a join or a second table is not answered",
    "SELECT SUM(a.salary) FROM staff a JOIN staff b ON a.age = b.age": "a join or a second table is not answered",
    "SELECT SUM(salary) FROM (SELECT * FROM staff)": "no subquery and no function",
    "SELECT SUM(salary) FROM read_csv('/etc/passwd')": "only the table 'staff' can be queried",
    "SELECT SUM(salary) FROM staff TABLESAMPLE (50)": "sample",
    "SELECT SUM(x.salary) FROM staff": "there is no table 'x' here",
    "SELECT SUM(staff.salary) FROM staff AS s": "there is no table 'staff' here",
    "SELECT DISTINCT SUM(salary) FROM staff": "DISTINCT is not answered",
    "SELECT SUM(salary) FROM staff HAVING SUM(salary) > 3": "HAVING is not answered",
    "SELECT city, SUM(salary) FROM staff GROUP BY city ORDER BY SUM(salary)": "ORDER BY is not answered",
    "SELECT city, SUM(salary) FROM staff GROUP BY city LIMIT 1": "LIMIT is not answered",
    "SELECT SUM(salary) FROM staff OFFSET 1": "not",
    "WITH s AS (SELECT 1) SELECT SUM(salary) FROM staff": "WITH is not answered",
    "SELECT SUM(salary) FROM staff UNION SELECT 1": "only SELECT is answered",
    "SELECT SUM(salary) FROM staff GROUP BY salary": "'salary' is sensitive; GROUP BY takes public columns only",
    "SELECT SUM(salary) FROM staff GROUP BY id": "'id' identifies people; GROUP BY takes public columns only",
    "SELECT SUM(salary) FROM staff GROUP BY 1": "GROUP BY takes public columns by name",
    "SELECT SUM(salary) FROM staff GROUP BY age + 1": "GROUP BY takes public columns by name",
    "SELECT SUM(salary) FROM staff GROUP BY ROLLUP (city)": "GROUP BY takes public columns by name",
    "SELECT SUM(salary) FROM staff GROUP BY ALL": "GROUP BY ALL is not answered",
    "SELECT SUM(salary) FROM staff WHERE salary > 3000": "'salary' is sensitive; WHERE takes public columns only",
    "SELECT SUM(salary) FROM staff WHERE age > 30 AND bonus = 10": "'bonus' is sensitive; WHERE takes public columns only",
    "SELECT SUM(salary) FROM staff WHERE id = 3": "'id' identifies people; WHERE takes public columns only",
    "SELECT SUM(salary) FROM staff WHERE random() < 0.5": "this is not a column, a number or a text",
    "SELECT SUM(salary) FROM staff WHERE age > (SELECT 3)": "a condition cannot contain another query",
    "SELECT SUM(salary) FROM staff WHERE EXISTS (SELECT 1 FROM staff WHERE salary > 3)": "takes public columns only",
    "SELECT SUM(salary) FROM staff WHERE age IN (SELECT age FROM staff)": "a condition cannot contain another query",
    "SELECT SUM(salary) FROM staff WHERE lower(city) = 'bonn'": "this is not a column, a number or a text",
    "SELECT SUM(salary) FROM staff WHERE current_date > '2020-01-01'": "this is not a column, a number or a text",
    "SELECT SUM(salary) FROM staff WHERE age / 0 = 1": "this is not a column, a number or a text",
    "SELECT SUM(salary) FROM staff WHERE city ~ 'B.*'": "",
    "SELECT SUM(salary) FROM staff WHERE age = 'Bonn'": "column 'age' holds numbers, but 'Bonn' is a text",
    "SELECT SUM(salary) FROM staff WHERE 1": "kind of condition is not supported",
    "SELECT SUM(salary) FROM staff WHERE city = \"Bonn\"": "If it is a text value, put it in single quotes: 'Bonn'",
    "SELECT SUM(salary) FROM staff; DROP TABLE staff": "one statement is expected",
    "SELECT SUM(salary) FROM staff -- WHERE age > 3": "comments are not supported",
    "SELECT SUM(salary) /* hello */ FROM staff": "comments are not supported",
    "SELECT SUM(salary) FROM staff WHERE city = 'x' OR 1=1 --'": "comments are not supported",
    "DROP TABLE staff": "only SELECT is answered",
    "INSERT INTO staff VALUES (1)": "only SELECT is answered",
    "UPDATE staff SET salary = 0": "only SELECT is answered",
    "PRAGMA database_list": "only SELECT is answered",
    "COPY staff TO '/tmp/x'": "only SELECT is answered",
    "ATTACH 'x.duckdb'": "only SELECT is answered",
    "EXPLAIN SELECT SUM(salary) FROM staff": "only SELECT is answered",
    "SELECT SUM(salary) FROM staff FOR UPDATE": "",
    "SELECT SUM(salary) INTO x FROM staff": "INTO is not answered",
    "SELECT pg_sleep(10)": "FROM is missing",
    "SELECT SUM(salary) FROM staff WHERE pg_sleep(10) IS NULL": "this is not a column, a number or a text",
    "hello": "only SELECT is answered",
    "SELECT": "",
    "SELECT SUM(salary FROM staff": "it cannot be read as SQL",
    "SELECT SUM(salary) FROM staff WHERE city = 'Bonn": "it cannot be read as SQL",
    "   ": "it is empty",
    "": "it is empty",
    "\x00": "a character here is not valid text",
    "SELECT SUM(salary) FROM staff WHERE city = '\ud800'": "a character here is not valid text",
    f"SELECT SUM(salary) FROM staff WHERE {'(' * 3000}age = 1{')' * 3000}": "",
    "SELECT SUM(salary) FROM staff WHERE " + " OR ".join(["age = 1"] * 2000): "it has 22032 characters, more than 10000",
    # Ten characters that would take an hour to write out, and chains whose reading grows with the square of their length.
    "SELECT SUM(salary) FROM staff WHERE age < 1e999999999": "numbers must be between 1e-10000 and 1e10000",
    "SELECT SUM(salary) FROM staff WHERE age > 1E-999999999": "numbers must be between 1e-10000 and 1e10000",
    "SELECT SUM(salary) FROM staff WHERE " + "age * " * 1500 + "1 = 1": "it is nested more than 40 deep",
    "SELECT SUM(salary) FROM staff WHERE 1 = " + "age + " * 1500 + "1": "it is nested more than 40 deep",
}  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> AuditService:
    from .conftest import Place

    place = Place("csv", tmp_path_factory.mktemp("statements"), None).fill()
    yield place.service()
    place.close()


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: ascii(text[:60]))
def test_what_is_not_answered_is_refused_with_a_reason(service, text):
    before = (len(service.decisions()), len(service.history()), service.statements)
    with pytest.raises(PolicyError) as caught:
        service.ask(text)
    assert REFUSED[text] in str(caught.value)
    assert isinstance(caught.value, ConditionError)
    str(caught.value).encode()
    assert (len(service.decisions()), len(service.history()), service.statements) == before


def test_long_chains_of_and_and_or_are_read(service):
    text = "SELECT COUNT(*) FROM staff WHERE " + " OR ".join(f"age = {age} AND 1 = 1" for age in range(30, 150))
    assert service.ask(text).rows[0].answers[0].value == 6


def test_what_is_no_select_is_refused_without_a_word_from_the_parser(service, caplog):
    with pytest.raises(StatementError, match="only SELECT is answered"):
        service.ask("EXPLAIN SELECT SUM(salary) FROM staff")
    assert not caplog.records


def test_a_message_points_at_the_part_that_is_wrong(service):
    with pytest.raises(StatementError) as caught:
        service.ask("SELECT SUM(salary) FROM staff\nWHERE age > 3 AND bonus = 4")
    assert str(caught.value) == (
        "In the question, line 2, column 19: 'bonus' is sensitive; WHERE takes public columns only.\n"
        "  WHERE age > 3 AND bonus = 4\n"
        "                    ^^^^^"
    )


def test_names_are_found_in_any_case_and_with_quotes_as_they_are(service):
    parsed = Statement.parse('SELECT Sum("salary") FROM STAFF s WHERE s.AGE > 3 GROUP BY CITY, city', service.settings)
    assert (parsed.aggregates[0].column, parsed.groups, parsed.condition.scope) == ("salary", ("city",), ("age",))
    with pytest.raises(StatementError, match="there is no column 'Salary'"):
        Statement.parse('SELECT SUM("Salary") FROM staff', service.settings)


INJECTIONS = (
    "x' OR '1'='1", "'; DROP TABLE people; --", "x\\' OR 1=1", "') UNION SELECT salary FROM people --", "$1", "%s", "?", ":name",
    "${jndi}", "{0}", "\"; SELECT 1; \"", "/*", "0x41", "x'; ATTACH 'y' AS z; --", "😀", "\u202e", "ﬀ", "‘", "%' ESCAPE '\\",
)  # fmt: skip


@pytest.mark.parametrize("attack", INJECTIONS)
def test_a_text_in_quotes_is_a_text_and_nothing_else(service, attack):
    quoted = attack.replace("'", "''")
    before = set(service.statements)
    reply = service.ask(
        f"SELECT COUNT(*) FROM staff WHERE city = '{quoted}' OR city IN ('{quoted}') OR department = 'hr'"
    )
    assert reply.rows[0].answers[0].value == 1
    assert set(service.statements) == before


def test_only_our_own_texts_are_sent_to_the_database(place):
    service = place.service()
    marker = "mark4711"
    service.ask(f"SELECT SUM(salary) AS {marker} FROM staff AS {marker}x WHERE city <> '{marker}' AND age <> 4711")
    service.ask(f"SELECT MAX(bonus) FROM staff WHERE city <> '{marker}'")
    assert service.statements
    assert not [text for text in service.statements if "4711" in text or marker in text]
    # The same statement whoever is chosen: rows are named by number or key, as parameters.
    asked = [text for text in service.statements if re.search(r"\bsum\b", text, re.IGNORECASE)]
    service.ask("SELECT SUM(salary) FROM staff WHERE department = 'it'")
    assert set(service.statements) >= set(asked)
    # Inside our own DuckDB the column has a name of our own.
    named = "alary" if place.kind == "postgres" else "sum(value_0)"
    assert (
        len({text for text in service.statements if "sum(" in text and named in text and "hashtext" not in text}) == 1
    )


WORDS = (
    "SELECT", "SUM", "(", ")", "salary", "bonus", "FROM", "staff", "WHERE", "age", "city", "=", ">", "'Bonn'", "30", "AND", "OR",
    "NOT", "GROUP BY", "department", "COUNT", "*", ",", "AVG", "MAX", "MIN", "IN", "BETWEEN", "LIKE", "'B%'", "IS", "NULL", ".", ";",
    "HAVING", "ORDER BY", "LIMIT", "DISTINCT", "JOIN", "ON", "UNION", "AS", "s", "--", "/*", "*/", "CASE", "WHEN", "THEN", "END", "CAST",
    "::", "int", "WITH", "EXISTS", "OVER", "FILTER", "random", "id", "\"", "'", "1e400", "0.1", "-", "+", "||", "[", "]", "{", "}", "@x",
    "$$", "\\", "TRUE", "staff.", "x.y.z", "VALUES", "INTERVAL", "DATE", "EXTRACT", "ESCAPE", "COLLATE", "~", "!", "%", "^", "&", "<<",
)  # fmt: skip


def ask_safely(service: AuditService, text: str) -> None:
    """Whatever is asked, there is an answer or a :class:`PolicyError`, and a message that can be sent."""
    before = set(service.statements)
    try:
        service.would_answer(text).describe()
    except PolicyError as error:
        str(error).encode()
    assert set(service.statements) == before


@pytest.mark.parametrize("text", ["", " ", "-- all of it", "/* all of it */", ";"])
def test_a_text_without_a_statement_is_refused(service: AuditService, text: str) -> None:
    with pytest.raises(StatementError, match=r"statement is expected|cannot be read|only SELECT|empty"):
        service.would_answer(text)


@examples(120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.sampled_from(WORDS), max_size=25))
def test_random_sql_words_are_answered_or_refused_and_nothing_else(service, words):
    ask_safely(service, " ".join(words))


@examples(100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.sampled_from(WORDS), max_size=12))
def test_random_conditions_are_answered_or_refused_and_nothing_else(service, words):
    ask_safely(service, f"SELECT SUM(salary), COUNT(*) FROM staff WHERE {' '.join(words)}")


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_random_text_is_answered_or_refused_and_nothing_else(service, text):
    ask_safely(service, text)
    ask_safely(service, f"SELECT SUM(salary) FROM staff WHERE city = '{text}'")


def test_garbage_that_sqlglot_writes_itself_is_refused_and_never_fails(service):
    # Expressions of every kind that sqlglot knows, put where a column or a condition belongs.
    from sqlglot import exp

    chance = random.Random(7)
    kinds = [kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Expression)]
    for kind in chance.sample(kinds, 120):
        arguments = {
            name: exp.column(chance.choice(["age", "salary", "city"])) if name != "expressions" else [exp.column("age")]
            for name in kind.arg_types
        }
        try:
            written = kind(**arguments).sql(dialect=chance.choice(["sqlite", "postgres", "duckdb"]))
        except Exception:  # sqlglot cannot write every random tree, and then there is nothing to ask
            continue
        ask_safely(service, f"SELECT SUM(salary) FROM staff WHERE {written} = 1")
        ask_safely(service, f"SELECT {written} FROM staff")
        ask_safely(service, written)


@pytest.mark.slow
def test_thousands_of_random_statements_are_answered_or_refused_and_nothing_else(service):
    chance = random.Random(11)
    for _ in range(5_000):
        words = " ".join(chance.choices(WORDS, k=chance.randint(1, 20)))
        ask_safely(service, words)
        ask_safely(service, f"SELECT SUM(salary), COUNT(*) FROM staff WHERE {words}")
