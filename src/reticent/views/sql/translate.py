"""The query of an SQL text: one statement, with a choice of duplicate semantics."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from reticent.base.exact import one_of
from reticent.errors import PolicyError
from reticent.views.constants import Constant
from reticent.views.queries import Query, Term, Variable
from reticent.views.schema import Schema
from reticent.views.sql.dialect import body_of, parse_statements
from reticent.views.sql.failing_expressions import may_fail
from reticent.views.sql.row_conditions import NamedRows, as_unions, resolve, shown
from reticent.views.sql.translator import Translator, unknown_functions

SEMANTICS = ("sql", "set", "bag")


def translate(text: str, name: str, schema: Schema, dialect: str = "postgres", semantics: str = "sql") -> Query:
    """Translate an SQL text to a query. ``semantics``: ``sql`` keeps duplicates unless the text removes them, ``set``
    never keeps them, ``bag`` keeps them even at a top-level DISTINCT.
    """
    one_of(semantics, "semantics", SEMANTICS)
    statements = parse_statements(text, dialect, name or "The query")
    if len(statements) != 1:
        raise PolicyError(f"{name or 'The query'} holds {len(statements)} statements; pass exactly one query.")
    node = body_of(statements[0])
    if not isinstance(node, exp.Query):
        raise PolicyError(
            f"{name or 'The query'} is a {statements[0].key.upper()} statement; only a SELECT, or a view made of one, is supported."
        )
    if semantics == "bag":
        node = _keeping_duplicates(node)
    translator = Translator(schema, text, dialect)
    try:
        table = translator.query(node, {}, None)
        table = translator.with_failures(table, [*may_fail(node, text, dialect, schema), *translator.failing])
    except RecursionError:
        raise PolicyError(f"{name or 'The query'} is nested too deeply; split it into views.") from None
    removes = _removes_duplicates(node)
    if semantics == "set" and not removes:
        table = translator.distinct(table)
    return Query(
        name,
        as_unions(table),
        text.strip(),
        dialect,
        duplicates=semantics != "set" and not removes,
        inexact=tuple(dict.fromkeys(table.inexact)),
        boundless=tuple(dict.fromkeys((*unknown_functions(node, text), *translator.boundless))),
        outputs=_shown_by_single(table),
    )


def _shown_by_single(table: NamedRows) -> tuple[Term, ...]:
    """Return the output terms of a single SELECT that shows plain columns and constants only; empty for any other
    query.
    """
    rows = [row for part in table.parts for row in part]
    if len(rows) != 1 or not all(isinstance(item, Variable | Constant) for item in rows[0].outputs):
        return ()
    rule = resolve(replace(rows[0], counted=shown(rows[0].outputs)))
    return rule.head if rule is not None else ()


def _removes_duplicates(node: exp.Expr) -> bool:
    inside = node.unnest() if isinstance(node, exp.Subquery) else node
    return bool(inside.args.get("distinct"))


def _keeping_duplicates(node: exp.Expr) -> exp.Expr:
    """Return a copy of a query without DISTINCT."""
    copied = node.copy()
    if isinstance(copied, exp.Select):
        copied.set("distinct", None)
    elif isinstance(copied, exp.Union):
        copied.set("distinct", False)
    return copied
