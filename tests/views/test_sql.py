"""SQL in: DDL, queries, files, and what is refused with which words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reticent import views
from reticent.errors import PolicyError
from reticent.views.checker import Checker
from reticent.views.constants import constant
from reticent.views.replay import replayed
from reticent.views.sql.ddl import read_schema
from reticent.views.sql.query_files import read_queries
from tests.views.goldens import FIXTURES

DDL = """
CREATE TABLE P (pid INT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE D (pid INT NOT NULL REFERENCES P, diagnosis TEXT NOT NULL, ward INT);
"""
SECRET = "SELECT name FROM P JOIN D USING (pid) WHERE diagnosis = 'cancer'"
TPCH = FIXTURES / "tpch"


def test_ddl_says_what_it_says() -> None:
    schema = read_schema(
        """
        CREATE TYPE mood AS ENUM ('low', 'high');
        CREATE TABLE public.t (
            id BIGINT PRIMARY KEY, m mood NOT NULL, ok BOOLEAN, rank INT CHECK (rank BETWEEN 1 AND 3),
            code TEXT NOT NULL UNIQUE, email TEXT UNIQUE, price NUMERIC(10,2) CHECK (price > 0), day DATE,
            CONSTRAINT pair UNIQUE (m, code));
        CREATE TABLE u (id INT, t_id BIGINT, CONSTRAINT f FOREIGN KEY (t_id) REFERENCES public.t (id));
        ALTER TABLE ONLY public.u ADD CONSTRAINT u_pk PRIMARY KEY (id);
        CREATE UNIQUE INDEX u_t ON u (t_id);
        CREATE VIEW v AS SELECT id FROM t;
        INSERT INTO u VALUES (1, 2);
        """
    )
    t, u = schema.relation("t"), schema.relation("u")
    by_name = {column.name: column for column in t.columns}
    assert by_name["m"].domain == (constant("low"), constant("high"))
    assert by_name["ok"].domain == (constant(False), constant(True))
    assert by_name["rank"].domain == tuple(map(constant, (1, 2, 3)))
    assert [(key.columns, key.partial) for key in t.keys] == [((0,), False), ((4,), False), ((5,), True)]
    assert (by_name["id"].nullable, by_name["code"].nullable, by_name["email"].nullable) == (False, False, True)
    assert (by_name["id"].whole, by_name["price"].whole, by_name["day"].kind) == (True, False, "date")
    assert [(key.columns, key.partial) for key in u.keys] == [((0,), False), ((1,), True)]
    assert [link.text for link in schema.foreign_keys] == ["u(t_id) references t"]
    assert schema.notes == ("CHECK (price > 0) of t",)
    assert schema.find("public.t") is t
    assert schema.find_view("v") is not None


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("SELECT nme FROM P", "There is no column nme at line 1, column 8. Did you mean 'name'?"),
        ("SELECT p.nme\nFROM P p", "p has no column 'nme' at line 1, column 8. Did you mean 'name'?"),
        ("SELECT name\nFROM Q", "There is no table or view 'Q' at line 2, column 6."),
        ("SELECT pid FROM P, D", "The column 'pid' at line 1, column 8 is ambiguous; it may belong to P or D."),
        ("SELECT name FROM P, P", "The name 'P' denotes two tables"),
        ("SELECT name FROM", "cannot be read as SQL"),
        ("SELECT 'a FROM P", "cannot be read as SQL"),
        ("DELETE FROM P", "is a DELETE statement; only a SELECT"),
        ("SELECT 1 FROM P; SELECT 2 FROM P", "holds 2 statements"),
        ("SELECT x FROM read_csv('f') t(x)", "which may read anything"),
        ("SELECT pid FROM P UNION SELECT pid, ward FROM D", "have 1 and 2 columns"),
        ("SELECT name FROM P JOIN D USING (ward)", "no table before it has that column"),
        ("SELECT name FROM P WHERE pid < 'x'", "compares the number column pid"),
    ],
)
def test_sql_that_makes_no_sense_is_refused_where_it_stands(view: str, words: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(words)):
        views.check(SECRET, view, schema=DDL)


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("SELECT diagnosis, COUNT(*) FROM D GROUP BY 1", "the aggregate COUNT at line 1, column 19"),
        ("SELECT pid FROM D WHERE diagnosis LIKE '%c%'", "LIKE in a condition at line 1, column 25"),
        (
            "SELECT pid FROM D\nWHERE lower(diagnosis) = 'cancer'",
            "the function LOWER() in a condition at line 2, column 7",
        ),
        ("SELECT pid FROM D WHERE f(ward)", "the function f() in a condition at line 1, column 25"),
        ("SELECT pid FROM D ORDER BY ward LIMIT 3", "LIMIT at line 1, column 39"),
        ("SELECT pid, RANK() OVER (ORDER BY ward) FROM D", "a window function at line 1, column 13"),
        ("SELECT (SELECT MAX(ward) FROM D)", "a scalar subquery at line 1"),
        ("SELECT P.pid FROM P FULL JOIN D ON P.pid = D.pid", "a FULL outer join"),
        ("SELECT DISTINCT ON (pid) pid, ward FROM D", "DISTINCT ON"),
        ("SELECT pid FROM D WHERE ward = ALL (SELECT ward FROM D)", "ALL"),
        ("SELECT pid FROM D TABLESAMPLE SYSTEM (5)", "TABLESAMPLE"),
        ("SELECT D.pid FROM D, LATERAL (SELECT 1 AS x FROM P WHERE P.pid = D.pid) l", "LATERAL"),
        (
            "WITH RECURSIVE r (n) AS (SELECT pid FROM D UNION SELECT n + 1 FROM r) SELECT n FROM r",
            "a recursive query",
        ),
        ("SELECT CASE WHEN ward = 1 THEN 1 END FROM D GROUP BY 1", "GROUP BY with a computed key"),
        ("SELECT pid FROM P EXCEPT SELECT pid FROM D", "EXCEPT"),
    ],
)
def test_what_is_outside_the_fragment_is_named_with_its_place(view: str, words: str) -> None:
    verdict = views.check(SECRET, view, schema=DDL)
    is_undecided = words.startswith(("TABLESAMPLE", "a recursive query", "the function f()"))
    assert verdict.status == ("UNKNOWN" if is_undecided else "DISCLOSES")
    assert words in verdict.reason


@pytest.mark.parametrize("view", ["SELECT P.* FROM P NATURAL JOIN D", "SELECT * EXCEPT (ward) FROM D", "TABLE D"])
def test_less_common_ways_to_say_the_same_are_read(view: str) -> None:
    dialect = "bigquery" if "EXCEPT (" in view else "postgres"
    assert views.check(SECRET, view, schema=DDL, dialect=dialect).status == "DISCLOSES"


def test_every_query_of_tpc_h_is_judged_or_its_construct_is_named() -> None:
    schema = views.load_schema(TPCH / "schema.sql")
    queries = read_queries(TPCH / "queries.sql", "postgres")
    assert len(queries) == 23
    secret = "SELECT c_name, c_acctbal FROM customer WHERE c_mktsegment = 'MACHINERY'"
    known, (hidden, *shown) = views.prepare([secret, *queries.values()], schema, names=["secret", *queries])
    checker = Checker(known, foreign_keys="ignored")
    verdicts = {query.name: checker.check(hidden, query) for query in shown}
    reads_customers = {"q03", "q05", "q07", "q10", "q13", "q18", "q22"}
    for name, verdict in verdicts.items():
        if name == "q07":
            # Six tables with two nations: random databases seldom have an answer.
            assert verdict.status in ("UNKNOWN", "DISCLOSES")
        elif name == "plain" or name in reads_customers:
            assert verdict.status == "DISCLOSES", name
            assert name == "plain" or re.search(
                r"(aggregate|outer join|LIMIT).* at line \d+, column \d+", verdict.reason
            )
        else:
            assert verdict.status == "PRIVATE"
            assert any("foreign key" in warning for warning in verdict.warnings)


def test_strict_turns_uncovered_dependencies_into_unknown() -> None:
    secret, view = "SELECT name FROM P", "SELECT diagnosis, ward FROM D"
    verdict = views.check(secret, view, schema=DDL, foreign_keys="ignored")
    assert verdict.status == "PRIVATE"
    assert any("D(pid) references P" in warning for warning in verdict.warnings)
    assert views.check(secret, view, schema=DDL).status == "DISCLOSES"
    strict = views.check(secret, view, schema=DDL, strict=True, foreign_keys="ignored")
    assert strict.status == "UNKNOWN"
    assert "D(pid) references P" in strict.reason


def test_sql_needs_a_schema_and_datalog_does_not() -> None:
    with pytest.raises(PolicyError, match="needs a schema"):
        views.check("SELECT a FROM R", "Q(x) :- R(x)")
    assert views.check("SELECT name FROM P", "Q(n) :- P(x,n)", schema=DDL).status == "DISCLOSES"


def test_a_schema_may_be_a_path(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(DDL)
    for given in (tmp_path / "schema.sql", str(tmp_path / "schema.sql")):
        assert views.check(SECRET, "SELECT ward FROM D WHERE diagnosis = 'flu'", schema=given).status == "DISCLOSES"
        found = views.check(SECRET, "SELECT 1 WHERE FALSE", schema=given)
        assert found.status == "PRIVATE"


def test_a_disclosure_is_replayed_with_the_users_own_text() -> None:
    """A witness that does not change both answers is our own failure, not a verdict."""
    schema, (secret, view) = views.prepare([SECRET, "SELECT pid FROM D WHERE ward = 3"], views.load_schema(DDL))
    witness = Checker(schema).check(secret, view).witness
    assert witness is not None
    assert (witness.engine, witness.secret_before, witness.view_before) == ("sqlite", (), ())
    assert len(witness.secret_after) == len(witness.view_after) == 1
    other = views.prepare([SECRET, "SELECT pid FROM D WHERE ward = 4"], views.load_schema(DDL))[1][1]
    with pytest.raises(RuntimeError, match="did not change both answers"):
        replayed(witness, secret, other, schema)


def test_duckdb_replays_what_sqlite_does_not_know() -> None:
    ddl = "CREATE TABLE t (id INT NOT NULL, name TEXT NOT NULL)"
    verdict = views.check("SELECT id FROM t", "SELECT list_value(id, 1) FROM t", schema=ddl, dialect="duckdb")
    assert verdict.status == "DISCLOSES"
    assert verdict.witness is not None
    assert verdict.witness.engine == "duckdb"


def test_queries_come_from_files_directories_and_models(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "sick.sql").write_text(
        "{{ config(materialized='view') }}\n{# who is ill #}\nSELECT pid FROM {{ ref('D') }} JOIN {{ source('raw', 'P') }} USING (pid)\n"
    )
    (tmp_path / "models" / "two.sql").write_text(
        "CREATE VIEW first AS SELECT pid FROM D;\n-- name: second\nSELECT ward FROM D;\nSELECT name FROM P"
    )
    (tmp_path / "models" / "rule.dl").write_text("Q(x) :- P(x,n)")
    found = read_queries(tmp_path / "models", "postgres")
    assert set(found) == {"sick", "first", "second", "two-3", "rule"}
    _, queries = views.prepare(list(found.values()), views.load_schema(DDL), names=list(found))
    assert all(query.parts for query in queries)
    (tmp_path / "loop.sql").write_text("SELECT 1\n{% for x in y %} {% endfor %}")
    with pytest.raises(PolicyError, match="line 2"):
        read_queries(tmp_path / "loop.sql", "postgres")


def test_long_lists_and_many_ors_end_in_a_footprint_and_not_in_an_explosion() -> None:
    ors = " AND ".join(f"(ward = {n} OR ward = {n + 100})" for n in range(12))
    verdict = views.check(SECRET, f"SELECT pid FROM D WHERE {ors}", schema=DDL)
    assert verdict.status == "PRIVATE"
    many = ", ".join(f"'d{n}'" for n in range(500))
    listed = f"SELECT pid FROM D WHERE diagnosis IN ({many})"
    # As with a short list: whoever has a row in D has one in P.
    for ties, status in (("known", "DISCLOSES"), ("ignored", "UNKNOWN")):
        verdict = views.check(SECRET, listed, schema=DDL, foreign_keys=ties)
        assert verdict.status == status
        assert "too many alternatives" in verdict.reason


def test_deep_nesting_is_refused_or_judged_but_never_crashes() -> None:
    deep = "SELECT pid FROM D"
    for number in range(60):
        deep = f"SELECT pid FROM ({deep}) x{number}"
    assert views.check(SECRET, deep, schema=DDL).status == "DISCLOSES"
    brackets = "(" * 40 + "ward = 1" + ")" * 40
    assert views.check(SECRET, f"SELECT pid FROM D WHERE {brackets}", schema=DDL).status == "DISCLOSES"


def test_thousands_of_brackets_are_an_answer_and_not_a_crash() -> None:
    brackets = "(" * 3000 + "ward = 1" + ")" * 3000
    with pytest.raises(PolicyError, match="nested too deeply"):
        views.check(SECRET, f"SELECT pid FROM D WHERE {brackets}", schema=DDL)


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("diagnosis = ANY (ARRAY['flu'::text, 'cold'::text])", "PRIVATE"),
        ("diagnosis = ANY (ARRAY['flu'::text, 'cancer'::text])", "DISCLOSES"),
        ("diagnosis::text = 'flu'::text", "PRIVATE"),
        ("ward::numeric = 7.5", "PRIVATE"),
        ("ward::numeric = 7.0", "DISCLOSES"),
        ("(diagnosis, ward) IN (('flu', 1), ('cold', 2))", "PRIVATE"),
        ("(diagnosis, ward) = ('cancer', 1)", "DISCLOSES"),
        ("ward IN (SELECT pid FROM P WHERE name = 'x') AND diagnosis = 'flu'", "DISCLOSES"),
        ("NOT (diagnosis <> 'flu' OR ward IS NULL)", "PRIVATE"),
        ("diagnosis BETWEEN 'd' AND 'e'", "PRIVATE"),
        ("diagnosis NOT BETWEEN 'd' AND 'e'", "DISCLOSES"),
        ("diagnosis > 'cancer' AND diagnosis < 'cancet'", "PRIVATE"),
        ("ward > 2 AND ward < 3", "PRIVATE"),
        ("1 = 0", "PRIVATE"),
        ("NULL", "PRIVATE"),
        ("ward = NULL", "PRIVATE"),
    ],
)
def test_conditions_as_postgresql_writes_them(condition: str, status: str) -> None:
    ddl = DDL.replace("diagnosis TEXT", 'diagnosis TEXT COLLATE "C"')
    view = f"SELECT pid FROM D WHERE {condition}"
    assert views.check(SECRET, view, schema=ddl, foreign_keys="ignored").status == status


@pytest.mark.parametrize(
    ("column", "first", "second"),
    [
        ("TIME", "'9:00'", "'09:00'"),
        ("UUID", "'AB'", "'ab'"),
        ("JSONB", "'{}'", "'{ }'"),
        ("INTERVAL", "'1 day'", "'24 hours'"),
    ],
)
def test_constants_of_types_that_are_not_known_prove_nothing(column: str, first: str, second: str) -> None:
    """Two texts may mean one value there, so different texts must not count as different."""
    ddl = f"CREATE TABLE t (id INT NOT NULL, c {column} NOT NULL)"
    verdict = views.check(f"SELECT id FROM t WHERE c = {first}", f"SELECT id FROM t WHERE c = {second}", schema=ddl)
    assert verdict.status == "UNKNOWN"
    assert "whose type is not known here at line 1, column 24" in verdict.reason
    joined = "SELECT DISTINCT x.id FROM t x JOIN t y ON x.c = y.c"
    assert views.check(joined, "SELECT id FROM t", schema=ddl).status == "DISCLOSES"


def test_moments_with_a_zone_are_compared_in_utc() -> None:
    ddl = "CREATE TABLE t (id INT NOT NULL, at TIMESTAMPTZ NOT NULL)"
    secret = "SELECT id FROM t WHERE at = '2020-01-01 12:00:00+02:00'"
    assert (
        views.check(secret, "SELECT id FROM t WHERE at = '2020-01-01 10:00:00+00:00'", schema=ddl).status == "DISCLOSES"
    )
    assert (
        views.check(secret, "SELECT id FROM t WHERE at > '2020-01-01 10:00:00+00:00'", schema=ddl).status == "PRIVATE"
    )


def test_texts_fold_case_where_the_dialect_does() -> None:
    ddl = "CREATE TABLE t (id INT NOT NULL, c VARCHAR(20) NOT NULL)"
    pair = ("SELECT id FROM t WHERE c = 'Cancer'", "SELECT id FROM t WHERE c = 'cancer'")
    assert views.check(*pair, schema=ddl).status == "PRIVATE"
    assert views.check(*pair, schema=ddl, dialect="mysql").status == "DISCLOSES"


def test_the_order_of_texts_is_an_assumption_that_is_told() -> None:
    ddl = 'CREATE TABLE t (id INT NOT NULL, c TEXT COLLATE "C" NOT NULL)'
    pair = ["SELECT id FROM t WHERE c < 'B'", "SELECT id FROM t WHERE c > 'a'"]
    verdict = views.check(*pair, schema=ddl)
    assert verdict.status == "PRIVATE"
    assert any("code point" in item for item in verdict.assumptions)
    elsewhere = views.check(*pair, schema=ddl.replace('COLLATE "C" ', ""))
    assert elsewhere.status == "UNKNOWN"
    assert "the order of texts in c, which its collation decides" in elsewhere.reason


def test_values_that_no_engine_holds_are_checked_by_definition() -> None:
    ddl = "CREATE TABLE t (id INT NOT NULL, n NUMERIC NOT NULL)"
    verdict = views.check("SELECT id FROM t", "SELECT id FROM t WHERE n = 1" + "0" * 400, schema=ddl)
    assert verdict.status == "DISCLOSES"
    assert verdict.witness is not None
    assert verdict.witness.engine == "definition"


def test_columns_shared_by_an_outer_join_are_not_ambiguous() -> None:
    for side in ("LEFT", "RIGHT", "FULL"):
        verdict = views.check(SECRET, f"SELECT pid FROM P {side} JOIN D USING (pid)", schema=DDL)
        assert verdict.status == "DISCLOSES"
        assert f"a {side} outer join" in verdict.reason


@pytest.mark.parametrize("word", ["OR", "AND", "OR NOT"])
def test_a_chain_of_thousands_of_conditions_is_judged(word: str) -> None:
    """Patients of ward 1 are in a union and not in an intersection of all wards. The search for a database that shows it ends by the clock, so that it may stay undecided."""
    chain = f" {word} ".join(f"ward = {number}" for number in range(2_000))
    verdict = views.check(f"SELECT pid FROM D WHERE {chain}", "SELECT pid FROM D WHERE ward = 1", schema=DDL)
    assert (verdict.status == "PRIVATE") == (word == "AND")
    assert (verdict.status == "DISCLOSES") == (verdict.witness is not None)


def test_queries_that_are_nested_too_deeply_are_refused_in_words() -> None:
    deep = "SELECT pid FROM D"
    for number in range(150):
        deep = f"SELECT pid FROM ({deep}) AS q{number} WHERE pid IN (SELECT pid FROM D WHERE NOT (ward = 1 OR (ward = 2 AND pid = 3)))"
    with pytest.raises(PolicyError, match=r"nested too deeply|more than \d+ tables"):
        views.check(deep, "SELECT pid FROM D", schema=DDL)
