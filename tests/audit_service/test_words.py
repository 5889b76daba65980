"""Audited SQL about columns that are called by words of SQL: bare where they are columns of the table, in quotes anyhow."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from reticent.audit.service import AuditService, ProtectedColumn, Settings, Statement, StatementError
from reticent.conditions import ConditionError
from reticent.io import Source
from reticent.policy.audit_policy import AuditPolicy
from tests.conditions.test_words import WORDS

NEEDING_QUOTES = {
    "and",
    "as",
    "between",
    "false",
    "from",
    "in",
    "is",
    "like",
    "not",
    "null",
    "or",
    "select",
    "true",
    "where",
}
COMMANDS = [
    "Alter",
    "use",
    "SET",
    "show",
    "call",
    "load",
    "comment",
    "case",
    "cast",
    "interval",
    "date",
    "div",
    "having",
    "limit",
    "join",
    "sum",
]
FORM = "SELECT SUM({s}) AS total, {p}, COUNT(*) FROM {v} WHERE {p} > 1 AND city = 'Bonn' OR {p} IN (1, 2) GROUP BY city, {p}"


def settings(public: str = "age", sensitive: str = "pay", view: str = "staff") -> Settings:
    return Settings(
        "staff", Source({"x": [1]}), view, "id", ("city", public), {sensitive: ProtectedColumn(sensitive, "ignored")}
    )


def asked(public: str, sensitive: str, view: str, quote: str) -> tuple[object, ...]:
    p, s, v = (f"{quote}{name}{quote}" for name in (public, sensitive, view))
    read = Statement.parse(FORM.format(p=p, s=s, v=v), settings(public, sensitive, view))
    assert read.condition is not None
    assert set(read.condition.scope) == {public, "city"}
    assert read.groups == ("city", public)
    assert [(each.function, each.column) for each in read.aggregates] == [("sum", sensitive), ("count", None)]
    return read.aggregates, read.groups, read.condition.node


def check_words(words: list[str]) -> None:
    for word in words:
        quoted = asked(word, "pay", "staff", '"')
        if word not in NEEDING_QUOTES:
            assert asked(word, "pay", "staff", "") == quoted
            asked("age", word, "staff", "")
            asked("age", "pay", word, "")


def test_words_that_begin_statements_are_columns_or_the_table() -> None:
    check_words(COMMANDS)


@pytest.mark.slow
def test_every_word_of_sql_is_a_column_or_the_table() -> None:
    check_words(WORDS)


def test_words_in_any_case_are_found() -> None:
    read = Statement.parse("SELECT SUM(LOAD) FROM Staff WHERE ALTER > 3", settings("Alter", "load"))
    assert read.aggregates[0].column == "load"
    assert read.condition is not None
    assert read.condition.scope == ("Alter",)


@pytest.mark.parametrize("word", sorted(NEEDING_QUOTES - {"true", "false", "in", "is"}))
def test_a_word_that_needs_quotes_is_refused_without_them(word: str) -> None:
    with pytest.raises(ConditionError):
        Statement.parse(f"SELECT SUM(pay) FROM staff WHERE {word} IN (3)", settings(word))


@pytest.mark.parametrize(
    "clause", ["HAVING SUM(pay) > 3", "ORDER BY 1", "LIMIT 1", "UNION SELECT 1", "OFFSET 1", "WINDOW w AS ()"]
)
def test_a_clause_is_refused_although_a_column_has_its_name(clause: str) -> None:
    word = clause.split()[0].lower()
    with pytest.raises(StatementError):
        Statement.parse(f"SELECT SUM(pay) FROM staff WHERE city = 'Bonn' {clause}", settings(word))


def test_a_table_whose_columns_are_words_is_asked(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {
            "id": range(8),
            "Alter": [30, 31, 32, 33, 40, 41, 42, 43],
            "use": ["a", "b"] * 4,
            "load": [10 * n for n in range(8)],
        }
    )
    rows.write_csv(tmp_path / "show.csv")
    text = """
dataset = "show"
ledger = "ledger.sqlite"
[database]
source = "show.csv"
key = "id"
public = ["Alter", "use"]
[sensitive.load]
bounds = "ignored"
"""
    with AuditService(AuditPolicy.parse(text, "policy.toml", tmp_path).settings) as service:
        reply = service.ask("SELECT use, SUM(load) FROM show WHERE Alter < 50 GROUP BY use")
        assert {row.group["use"]: row.answers[0].value for row in reply.rows} == {"a": 120, "b": 160}
