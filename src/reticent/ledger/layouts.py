"""The tables of the ledger's file. Each layout is the previous one plus a change; an older file is upgraded in one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache

# Append-only tables whose rows are links of the chain, by their number in the chain.
SEALED = (
    "datasets",
    "entries",
    "states",
    "people",
    "budgets",
    "spendings",
    "answers",
    "audit_variables",
    "audit_decisions",
    "audit_tokens",
    "accounts",
    "charges",
)
Schema = list[tuple[str, str, str | None]]
"""Kind, name and definition of every table and index."""
UNJUDGED = (
    "Recorded by an earlier version of Reticent, as another release of its data set: they were not judged together."
)

_FIRST = """
CREATE TABLE datasets (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, made TEXT NOT NULL
) STRICT;
CREATE TABLE releases (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, number INTEGER NOT NULL,
    content TEXT NOT NULL, certificate TEXT NOT NULL, made TEXT NOT NULL,
    UNIQUE (dataset, number), UNIQUE (dataset, content)
) STRICT;
CREATE TABLE views (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, kind TEXT NOT NULL,
    content TEXT NOT NULL, details TEXT NOT NULL, made TEXT NOT NULL
) STRICT;
CREATE TABLE answers (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, kind TEXT NOT NULL,
    question TEXT NOT NULL, decision TEXT NOT NULL, answer TEXT, made TEXT NOT NULL
) STRICT;
CREATE TABLE budgets (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, scope TEXT NOT NULL, name TEXT NOT NULL,
    total TEXT NOT NULL, spent TEXT NOT NULL, made TEXT NOT NULL,
    UNIQUE (dataset, scope, name)
) STRICT;
CREATE TABLE spendings (
    id INTEGER PRIMARY KEY, budget INTEGER NOT NULL REFERENCES budgets, amount TEXT NOT NULL,
    purpose TEXT NOT NULL, made TEXT NOT NULL
) STRICT;
CREATE INDEX views_of_dataset ON views (dataset, kind);
CREATE INDEX answers_of_dataset ON answers (dataset, kind);
"""
_SECOND = """
CREATE TABLE audit_variables (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, column TEXT NOT NULL,
    first INTEGER NOT NULL, secret TEXT NOT NULL, hashes BLOB NOT NULL, made TEXT NOT NULL,
    UNIQUE (dataset, column, first)
) STRICT;
CREATE TABLE audit_decisions (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, column TEXT NOT NULL, function TEXT NOT NULL,
    identity TEXT NOT NULL, size INTEGER NOT NULL, answered INTEGER NOT NULL, rule TEXT NOT NULL, reason TEXT NOT NULL,
    members BLOB, answer TEXT, made TEXT NOT NULL,
    UNIQUE (dataset, column, function, identity)
) STRICT;
CREATE TABLE audit_questions (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, asker TEXT NOT NULL, text TEXT NOT NULL,
    made TEXT NOT NULL
) STRICT;
CREATE TABLE audit_asked (
    question INTEGER NOT NULL REFERENCES audit_questions, decision INTEGER NOT NULL REFERENCES audit_decisions,
    PRIMARY KEY (question, decision)
) STRICT, WITHOUT ROWID;
CREATE TABLE audit_tokens (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, asker TEXT NOT NULL, name TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL, made TEXT NOT NULL, revoked TEXT
) STRICT;
CREATE INDEX audit_questions_of_asker ON audit_questions (dataset, asker);
"""
_THIRD = """
CREATE TABLE chain (
    id INTEGER PRIMARY KEY, tab INTEGER NOT NULL, row INTEGER NOT NULL, dataset INTEGER NOT NULL, digest BLOB NOT NULL,
    link BLOB NOT NULL
) STRICT;
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, kind TEXT NOT NULL, number INTEGER NOT NULL,
    status TEXT NOT NULL, content TEXT NOT NULL, certificate TEXT NOT NULL, note TEXT NOT NULL, details TEXT NOT NULL,
    made TEXT NOT NULL, changed TEXT NOT NULL, reason TEXT NOT NULL,
    UNIQUE (dataset, number)
) STRICT;
CREATE UNIQUE INDEX entries_content ON entries (dataset, content) WHERE status != 'withdrawn';
CREATE TABLE states (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, series TEXT NOT NULL, version TEXT NOT NULL,
    details TEXT NOT NULL, entry INTEGER NOT NULL REFERENCES entries,
    UNIQUE (dataset, series, version)
) STRICT;
CREATE TABLE people (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, kind TEXT NOT NULL, level INTEGER NOT NULL,
    marks BLOB NOT NULL, made TEXT NOT NULL
) STRICT;
ALTER TABLE spendings ADD COLUMN dataset INTEGER NOT NULL DEFAULT 0;
"""
_FOLDED = """
DROP TABLE releases;
DROP TABLE views;
"""
# A decision names the question that led to it first, and has no index: earlier decisions are found through the chain.
# Both would cost one more page write per decision. Its members come last, so the rest is read without them.
_FOURTH = """
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, question INTEGER REFERENCES audit_questions,
    column TEXT NOT NULL, function TEXT NOT NULL, identity TEXT NOT NULL, size INTEGER NOT NULL, answered INTEGER NOT NULL,
    rule TEXT NOT NULL, reason TEXT NOT NULL, answer TEXT, made TEXT NOT NULL, members BLOB
) STRICT;
INSERT INTO decisions
    SELECT id, dataset, NULL, column, function, identity, size, answered, rule, reason, answer, made, members FROM audit_decisions;
CREATE TABLE asked_again (
    question INTEGER NOT NULL REFERENCES audit_questions, decision INTEGER NOT NULL REFERENCES decisions,
    PRIMARY KEY (question, decision)
) STRICT, WITHOUT ROWID;
INSERT INTO asked_again SELECT question, decision FROM audit_asked;
DROP TABLE audit_asked;
DROP TABLE audit_decisions;
ALTER TABLE decisions RENAME TO audit_decisions;
ALTER TABLE asked_again RENAME TO audit_asked
"""
_FIFTH = """
CREATE TABLE accounts (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, unit TEXT NOT NULL, relation TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, reason TEXT NOT NULL, made TEXT NOT NULL
) STRICT;
CREATE TABLE charges (
    id INTEGER PRIMARY KEY, dataset INTEGER NOT NULL REFERENCES datasets, epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    rho TEXT NOT NULL, rho_delta TEXT NOT NULL, purpose TEXT NOT NULL, once TEXT NOT NULL, entry INTEGER, made TEXT NOT NULL
) STRICT
"""
_CHAINED, _REARRANGED, VERSION = 3, 4, 5


def is_chained(layout: int) -> bool:
    """True if files of a layout have a chain."""
    return layout >= _CHAINED


def upgrade(connection: sqlite3.Connection, layout: int) -> None:
    """Upgrade a file of an older layout (0: an empty one), inside the caller's transaction."""
    if layout > 0:
        _change(connection, layout)
        return
    # The same tables without those dropped by later layouts: an index comes after its table.
    for _, _, statement in sorted(expected_schema(), key=lambda each: each[0] == "index"):
        if statement is not None:
            connection.execute(statement)


def _change(connection: sqlite3.Connection, layout: int) -> None:
    """Bring the tables of an older layout to the newest one, step by step."""
    for number, statements in enumerate((_FIRST, _SECOND, _THIRD), start=1):
        if layout < number:
            _run(connection, statements)
    if not is_chained(layout):
        _fold(connection)
        _run(connection, _FOLDED)
    if layout < _REARRANGED:
        _run(connection, _FOURTH)
    _run(connection, _FIFTH)


def rows_to_seal(connection: sqlite3.Connection, layout: int) -> Iterator[tuple[str, int]]:
    """The rows that must be linked into the chain after an upgrade, in order."""
    changed = () if layout >= _REARRANGED else ("audit_decisions",)
    for table in changed if is_chained(layout) else SEALED:
        for (number,) in connection.execute(f"SELECT id FROM {table} ORDER BY id").fetchall():
            yield table, number


def schema_of(connection: sqlite3.Connection) -> Schema:
    """The definitions of all tables and indexes."""
    return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()


@cache
def expected_schema() -> Schema:
    """The definitions of a ledger of this layout."""
    with closing(_fresh()) as fresh:
        return schema_of(fresh)


@cache
def columns_of(table: str) -> tuple[str, ...]:
    """The column names of a table, in order."""
    with closing(_fresh()) as fresh:
        return tuple(name for _, name, *_ in fresh.execute(f"PRAGMA table_info({table})"))


@cache
def types_of(table: str) -> dict[str, type]:
    """The Python types of a table's columns."""
    kinds = {"INTEGER": int, "TEXT": str, "BLOB": bytes}
    with closing(_fresh()) as fresh:
        return {name: kinds[kind] for _, name, kind, *_ in fresh.execute(f"PRAGMA table_info({table})")}


def _fresh() -> sqlite3.Connection:
    """An empty ledger in memory."""
    fresh = sqlite3.connect(":memory:")
    _change(fresh, 0)
    return fresh


def _run(connection: sqlite3.Connection, statements: str) -> None:
    # No statement here contains a semicolon.
    for statement in statements.split(";"):
        connection.execute(statement)


def _fold(connection: sqlite3.Connection) -> None:
    """Convert releases, views, audited answers, grants and budgets of older layouts to entries."""
    connection.execute(
        "INSERT INTO entries (dataset, kind, number, status, content, certificate, note, details, made, changed, reason) "
        "SELECT dataset, 'release', number, 'given out', content, certificate, iif(number > 1, ?, ''), '{}', made, made, '' "
        "FROM releases ORDER BY id",
        (UNJUDGED,),
    )
    # A view was recorded twice: as a release, and with its plan. A kill between the two left only the release.
    for dataset, kind, content, details, made in connection.execute(
        "SELECT dataset, kind, content, details, made FROM views ORDER BY id"
    ).fetchall():
        changed = connection.execute(
            "UPDATE entries SET kind = ?, details = ? WHERE dataset = ? AND content = ?",
            (kind, details, dataset, content),
        ).rowcount
        if not changed:
            _add(connection, dataset, kind, content, details, made)
    for kind, query in (
        ("answers", "SELECT dataset, min(made) FROM audit_decisions WHERE answered GROUP BY dataset"),
        ("grant", "SELECT dataset, min(made) FROM answers WHERE decision LIKE '%\"allowed\": true%' GROUP BY dataset"),
        (
            "budget",
            "SELECT budgets.dataset, min(spendings.made) FROM spendings JOIN budgets ON budgets.id = budget "
            "WHERE budgets.dataset NOT IN (SELECT dataset FROM audit_decisions) GROUP BY budgets.dataset",
        ),
    ):
        for dataset, made in connection.execute(query).fetchall():
            _add(connection, dataset, kind, kind, json.dumps({}), made)
    connection.execute("UPDATE spendings SET dataset = (SELECT dataset FROM budgets WHERE budgets.id = budget)")


def _add(connection: sqlite3.Connection, dataset: int, kind: str, content: str, details: str, made: str) -> None:
    """Insert an entry of an older layout, with the next number of its data set."""
    number = connection.execute(
        "SELECT coalesce(max(number), 0) + 1 FROM entries WHERE dataset = ?", (dataset,)
    ).fetchone()[0]
    connection.execute(
        "INSERT INTO entries (dataset, kind, number, status, content, certificate, note, details, made, changed, reason) "
        "VALUES (?, ?, ?, 'given out', ?, '', ?, ?, ?, ?, '')",
        (dataset, kind, number, content, UNJUDGED if number > 1 else "", details, made, made),
    )
