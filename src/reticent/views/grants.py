"""Grants that keep what a PRIVATE verdict promises: the grantee sees the view's answer and nothing of the rows behind it.

A verdict speaks of answers. Whoever may query a view can add conditions of their own, and a database may run these on rows that the view
leaves out: a function that prints its argument shows them. A security barrier keeps such conditions outside.
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
        "EXPLAIN shows row estimates from statistics of the whole table, and the time of a query depends on rows that are not shown.",
        "A superuser, the owner of the view and members of the owner's role are not bound by it.",
    ),
    "mysql": (
        "The view is written to a temporary table before conditions of the grantee run; without ALGORITHM = TEMPTABLE they are merged with it.",
        "The time of a query depends on rows that are not shown.",
    ),
    "tsql": (
        "SQL Server has no security barrier: a condition of the grantee that raises an error (1 / x) may run on rows that the view leaves out. "
        "Give the answer as a table instead (SELECT ... INTO), or through a stored procedure.",
    ),
}
_NO_RIGHTS = ("duckdb", "sqlite")


@dataclass(frozen=True)
class Grant:
    """The statements that grant a view, and what the engine does not keep from the grantee all the same."""

    sql: str
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """What may not be granted has no statements."""
        return True

    def card(self) -> Card:
        """The statements, and what they do not keep from the grantee."""
        return Card(self.sql, sentences=[f"- {line}" for line in self.warnings])

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for machines."""
        return {"sql": self.sql, "warnings": list(self.warnings)}


def grant(query: Query, verdicts: Sequence[Verdict], to: str, name: str, dialect: str = "postgres") -> Grant:
    """Statements that create the view ``name`` as a barrier and grant it to ``to``; :class:`Denied` unless every verdict is PRIVATE."""
    if dialect in _NO_RIGHTS:
        raise PolicyError(
            f"{dialect} has no users and no rights: whoever opens the file reads every table. Give the view's answer as a file of its own."
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
    rights = f"{to} must not hold rights on {tables} in another way: by PUBLIC, by a role, or by another view that was not checked."
    return Grant("\n".join(lines), (rights, *_LACKS[dialect]))


def _body(text: str, dialect: str) -> str:
    """The query as it was written; of a CREATE VIEW, the query inside."""
    (statement,) = parse_statements(text, dialect, "The view")
    inside = body_of(statement)
    return text.strip().rstrip(";").rstrip() if inside is statement else inside.sql(dialect)


def _identifier(name: str, dialect: str) -> str:
    """The name as the dialect writes it, each part quoted where it must be."""
    parts = [exp.to_identifier(part, quoted=quoted_if_needed(part) != part) for part in name.split(".")]
    return ".".join(part.sql(dialect) for part in parts)
