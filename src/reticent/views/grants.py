"""Grants that preserve the guarantee of a PRIVATE verdict: the grantee sees the view's answer and nothing of the
underlying rows.

A verdict is about answers. A user of a view can add conditions, and a database may evaluate these on rows outside the
view: a function that prints its argument reveals them. A security barrier prevents that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from reticent.base.cards import Card
from reticent.errors import Denied, PolicyError, did_you_mean
from reticent.views.queries import Query
from reticent.views.sql.dialect import body_of, parse_statements
from reticent.views.sql_text import quoted_if_needed
from reticent.views.verdict import Verdict

_HEADS = {
    "postgres": "CREATE VIEW {view} WITH (security_barrier) AS",
    "mysql": "CREATE ALGORITHM = TEMPTABLE SQL SECURITY DEFINER VIEW {view} AS",
    "tsql": "CREATE VIEW {view} AS",
}
_LACKS = {
    "postgres": (
        "Functions marked LEAKPROOF run before the barrier: only a superuser can mark them, so look at what was marked (pg_proc.proleakproof).",
        "EXPLAIN shows row estimates from statistics of the whole table, and the duration of a query depends on rows that are not shown.",
        "A superuser, the owner of the view and members of the owner's role are not bound by it.",
    ),
    "mysql": (
        "The view is written to a temporary table before conditions of the grantee run; without ALGORITHM = TEMPTABLE they are merged with it.",
        "The duration of a query depends on rows that are not shown.",
    ),
    "tsql": (
        "SQL Server has no security barrier: a condition of the grantee that raises an error (1 / x) may run on rows outside the view. Publish the answer as a table instead (SELECT ... INTO), or through a stored procedure.",
    ),
}
_NO_RIGHTS = ("duckdb", "sqlite")


@dataclass(frozen=True)
class Grant:
    """The statements that grant a view, and what the database still does not hide from the grantee."""

    sql: str
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if there are statements: a view that may not be granted has none."""
        return True

    def card(self) -> Card:
        """Return the statements, and what they do not hide from the grantee."""
        return Card(self.sql, sentences=[f"- {line}" for line in self.warnings])

    def as_dict(self) -> dict[str, Any]:
        """Return the grant as plain data."""
        return {"sql": self.sql, "warnings": list(self.warnings)}


def grant(query: Query, verdicts: Sequence[Verdict], to: str, name: str, dialect: str = "postgres") -> Grant:
    """Return statements that create the view ``name`` as a barrier and grant it to ``to``; raise :class:`Denied` unless every verdict is PRIVATE."""
    if dialect in _NO_RIGHTS:
        raise PolicyError(
            f"{dialect} has no users and no privileges: anyone who opens the file can read every table. Publish the view's answer as a separate file."
        )
    if dialect not in _HEADS:
        raise PolicyError(
            f"Grants are written for {', '.join(_HEADS)}, not for {dialect!r}.{did_you_mean(dialect, _HEADS)}"
        )
    if query.language == "datalog":
        raise PolicyError("A grant needs the view as SQL, but it is Datalog.")
    for verdict in verdicts:
        if not verdict.private:
            raise Denied(f"{name} may not be granted: {verdict.status} against {verdict.secret}. {verdict.reason}")
    view, grantee = _identifier(name, dialect), _identifier(to, dialect)
    lines = [f"{_HEADS[dialect].format(view=view)}\n{_body(query.text, dialect)};"]
    lines += [f"REVOKE ALL ON {_identifier(table, dialect)} FROM {grantee};" for table in sorted(query.relations())]
    lines.append(f"GRANT SELECT ON {view} TO {grantee};")
    tables = ", ".join(sorted(query.relations()))
    rights = f"{to} must not have privileges on {tables} in another way: by PUBLIC, by a role, or by another view that was not checked."
    return Grant("\n".join(lines), (rights, *_LACKS[dialect]))


def _body(text: str, dialect: str) -> str:
    """Return the query as written; of a CREATE VIEW, the query inside."""
    (statement,) = parse_statements(text, dialect, "The view")
    inside = body_of(statement)
    return text.strip().rstrip(";").rstrip() if inside is statement else inside.sql(dialect)


def _identifier(name: str, dialect: str) -> str:
    """Return the name in the dialect's syntax, each part quoted if needed."""
    parts = [exp.to_identifier(part, quoted=quoted_if_needed(part) != part) for part in name.split(".")]
    return ".".join(part.sql(dialect) for part in parts)
