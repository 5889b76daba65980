"""Expressions that may raise an error: the error discloses rows that the answer does not show."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from sqlglot import exp

from reticent.views.constants import Constant
from reticent.views.schema import Schema, SchemaColumn
from reticent.views.sql.dialect import fold, where

# Never raise an error, whatever the values: comparisons, logic, CASE, texts. Aggregates read only the rows that satisfy
# the conditions.
_NEVER_FAILS = (
    exp.Connector, exp.Predicate, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.DPipe,
    exp.AggFunc, exp.Dot,
)  # fmt: skip
_PATTERNS = (exp.Like, exp.ILike, exp.SimilarTo, exp.RegexpLike, exp.RegexpILike)
_COMPARES = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between, exp.NullSafeEQ, exp.NullSafeNEQ)
# In these dialects a text column is converted to numbers when compared with one; elsewhere numbers become texts, or the
# comparison is refused.
_CONVERTS_COLUMNS = ("duckdb", "tsql")
_MOST_ALIASES = 8
_SHOWN = ("expressions", "order", "limit", "offset", "distinct", "having", "group")


def may_fail(query: exp.Expr, text: str, dialect: str, schema: Schema, output_shown: bool = True) -> list[str]:
    """Return expressions over columns that raise an error for some values: ``1 / b``, a cast, an overflow, a subquery
    of several rows.

    A database may evaluate a condition on rows that other conditions exclude, and an inner block before the conditions
    around it; an error then discloses such a row. The output of the outermost block (unless not ``output_shown``) is computed
    for the remaining rows only.
    """
    failing = [
        node for part in _evaluated_early(query, output_shown) for node in part.walk() if _fails(node, dialect, schema)
    ]
    return [f"the expression {node.sql()[:60]}, which may raise an error{where(node, text)}" for node in failing[:1]]


def _evaluated_early(query: exp.Expr, output_shown: bool) -> Iterator[exp.Expr]:
    """Yield the parts of a query that may be evaluated on rows that the answer excludes."""
    if output_shown and isinstance(query, exp.SetOperation):
        yield from _evaluated_early(query.this, output_shown)
        yield from _evaluated_early(query.expression, output_shown)
        with_clause = query.args.get("with_") or query.args.get("with")
        yield from [with_clause] if with_clause is not None else []
    elif output_shown and isinstance(query, exp.Select):
        for name, value in query.args.items():
            children = value if isinstance(value, list) else [value]
            for child in children:
                if not isinstance(child, exp.Expression):
                    continue
                yield from [child] if name not in _SHOWN else child.find_all(exp.Query)
    else:
        yield query


def _fails(node: exp.Expr, dialect: str, schema: Schema) -> bool:
    """True if evaluating this node alone may raise an error for some values of its columns."""
    if isinstance(node, _COMPARES) and dialect in _CONVERTS_COLUMNS:
        return _converts(node, schema)
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
    """True if a cast accepts every value: to text, or a number to an exact number without a digit limit."""
    if cast.to.this in exp.DataType.TEXT_TYPES:
        return True
    column = cast.this.unnest()
    if cast.to.this != exp.DataType.Type.DECIMAL or not isinstance(column, exp.Column):
        return False
    columns_of_name = [(relation, relation.position(column.name)) for relation in schema.relations.values()]
    return all(
        relation.columns[position].kind == "number" for relation, position in columns_of_name if position is not None
    )


def _converts(node: exp.Expr, schema: Schema) -> bool:
    """True if a comparison may convert a column to a type that not all of its values fit: texts to numbers, integers to decimals."""
    sides = [node.this, *(node.args.get(name) for name in ("expression", "low", "high", "query")), *node.expressions]
    operands = [
        operand
        for side in sides
        if isinstance(side, exp.Expression)
        for operand in _operands(side.unnest(), schema, node.root())
    ]
    return any(not _compares_as_they_are(first, second) for first, second in combinations(operands, 2))


def _compares_as_they_are(first: SchemaColumn | Constant | None, second: SchemaColumn | Constant | None) -> bool:
    """True if two operands are compared without converting a column."""
    if isinstance(first, Constant) and isinstance(second, Constant):
        return True
    if isinstance(second, SchemaColumn) and not isinstance(first, SchemaColumn):
        first, second = second, first
    if not isinstance(first, SchemaColumn) or second is None or first.kind in (None, "other"):
        return False
    if isinstance(second, SchemaColumn):
        exact = [column for column in (first, second) if column.form == ""]
        return first.kind == second.kind and (
            first.kind != "number" or len(exact) < 2 or all(column.whole for column in exact)
        )
    if second.kind == "null" or (first.kind == "timestamp" and second.kind == "date"):
        return True
    if second.kind not in (first.kind, "text", "string", "double"):
        return False
    try:
        stored = first.read(second)
    except ValueError:
        return False
    return stored.kind != "number" or first.form != "" or (not first.wide and _is_short(Fraction(stored.value)))


def _is_short(value: Fraction) -> bool:
    """True if a constant has so few digits that a decimal type which holds it also holds all values of columns that are not wide."""
    return abs(value) < 10**9 and (value * 10**6).denominator == 1


def _operands(node: exp.Expr, schema: Schema, root: exp.Expr, depth: int = 0) -> list[SchemaColumn | Constant | None]:
    """Return the columns and constants that an operand of a comparison may stand for; None for an unknown one.

    A column name stands for all columns of that name in the schema, and for expressions with this alias.
    """
    if depth > _MOST_ALIASES:
        return [None]
    if isinstance(node, exp.Any | exp.All | exp.Subquery):
        return _operands(node.this.unnest(), schema, root, depth + 1)
    if isinstance(node, exp.Select | exp.Tuple | exp.Array):
        return [
            operand
            for item in node.expressions
            for operand in _operands(item.unalias().unnest(), schema, root, depth + 1)
        ]
    if isinstance(node, exp.Column):
        declared = [
            relation.columns[position]
            for relation in schema.relations.values()
            if (position := relation.position(node.name)) is not None
        ]
        aliased = [item.this.unnest() for item in root.find_all(exp.Alias) if item.alias.lower() == node.name.lower()]
        renamed = [
            operand
            for item in aliased
            if not (isinstance(item, exp.Column) and item.name.lower() == node.name.lower())
            for operand in _operands(item, schema, root, depth + 1)
        ]
        return [*declared, *renamed] or [None]
    return [fold(node)]


def _is_scalar(node: exp.Expr) -> bool:
    """True if a nested query is used as a value, and may have several rows."""
    if not isinstance(node.parent, exp.Binary) or isinstance(node.parent, exp.SetOperation):
        return False
    inside = node.unnest()
    if not isinstance(inside, exp.Select) or inside.args.get("group"):
        return True
    return not inside.expressions[0].find(exp.AggFunc) and inside.args.get("limit") is None
