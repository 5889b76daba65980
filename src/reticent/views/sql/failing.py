"""Expressions that may raise an error: the error tells of rows that the answer does not show (R-PP-23)."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from reticent.views.schema import Schema
from reticent.views.sql.dialect import where

# What never raises an error, whatever the values: comparisons, logic, choices, texts. Aggregates read what the conditions left.
_NEVER_FAILS = (
    exp.Connector, exp.Predicate, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.DPipe,
    exp.AggFunc, exp.Dot,
)  # fmt: skip
_PATTERNS = (exp.Like, exp.ILike, exp.SimilarTo, exp.RegexpLike, exp.RegexpILike)
_SHOWN = ("expressions", "order", "limit", "offset", "distinct", "having", "group")


def may_fail(query: exp.Expr, text: str, dialect: str, schema: Schema, shown: bool = True) -> list[str]:
    """Expressions over columns that raise an error for some values: ``1 / b``, a cast, an overflow, a subquery of several rows.

    A database may evaluate a condition on rows that other conditions exclude, and an inner block before the conditions around it; an error
    then tells of such a row. What the outermost block shows (unless not ``shown``) is computed for the rows that are left.
    """
    found = [node for part in _evaluated_early(query, shown) for node in part.walk() if _fails(node, dialect, schema)]
    return [f"the expression {node.sql()[:60]}, which may raise an error{where(node, text)}" for node in found[:1]]


def _evaluated_early(query: exp.Expr, shown: bool) -> Iterator[exp.Expr]:
    if shown and isinstance(query, exp.SetOperation):
        yield from _evaluated_early(query.this, shown)
        yield from _evaluated_early(query.expression, shown)
        with_clause = query.args.get("with_") or query.args.get("with")
        yield from [with_clause] if with_clause is not None else []
    elif shown and isinstance(query, exp.Select):
        for name, value in query.args.items():
            children = value if isinstance(value, list) else [value]
            for child in children:
                if not isinstance(child, exp.Expression):
                    continue
                yield from [child] if name not in _SHOWN else child.find_all(exp.Query)
    else:
        yield query


def _fails(node: exp.Expr, dialect: str, schema: Schema) -> bool:
    if isinstance(node, exp.Subquery | exp.Select) and _is_scalar(node):
        return True
    if isinstance(node, _PATTERNS):
        return node.expression.find(exp.Column) is not None
    if isinstance(node, _NEVER_FAILS) or not node.find(exp.Column):
        return False
    if isinstance(node, exp.Cast) and not node.to.expressions and _widens(node, schema):
        return False
    # SQLite computes NULL or another number instead of failing.
    arithmetic = isinstance(node, exp.Binary | exp.Neg | exp.Cast)
    return arithmetic if dialect != "sqlite" and arithmetic else isinstance(node, exp.Func) and not arithmetic


def _widens(cast: exp.Cast, schema: Schema) -> bool:
    """Whether a cast takes every value: to text, or a number to an exact number without a limit of digits."""
    if cast.to.this in exp.DataType.TEXT_TYPES:
        return True
    column = cast.this.unnest()
    if cast.to.this != exp.DataType.Type.DECIMAL or not isinstance(column, exp.Column):
        return False
    places = [(relation, relation.position(column.name)) for relation in schema.relations.values()]
    return all(relation.columns[place].kind == "number" for relation, place in places if place is not None)


def _is_scalar(node: exp.Expr) -> bool:
    """Whether a nested query stands for a value, and may have several rows."""
    if not isinstance(node.parent, exp.Binary) or isinstance(node.parent, exp.SetOperation):
        return False
    inside = node.unnest()
    if not isinstance(inside, exp.Select) or inside.args.get("group"):
        return True
    return not inside.expressions[0].find(exp.AggFunc) and inside.args.get("limit") is None
