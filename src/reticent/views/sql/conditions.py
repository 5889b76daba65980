"""Search conditions as alternatives, in SQL's three-valued logic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sqlglot import exp

from reticent.views.constants import NULL, Constant
from reticent.views.queries import Term, TermComparison, Variable, comparison
from reticent.views.schema import SchemaColumn
from reticent.views.sql.dialect import Unsupported, fold
from reticent.views.sql.row_conditions import (
    ALWAYS,
    NEVER,
    TYPED,
    Alternative,
    Disjunct,
    NamedRows,
    Output,
    both,
    capped,
)

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
# In other dialects LIKE may ignore case.
_CASE_SENSITIVE = ("postgres", "duckdb")
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class UnknownType(Exception):
    """The meaning of a constant for this column type is unknown (times, intervals, JSON ...)."""


class Scope(Protocol):
    """What a condition needs from the enclosing query."""

    text: str
    dialect: str

    def column(self, node: exp.Column) -> Output:
        """Return the output that a column reference denotes."""
        ...

    def column_type(self, variable: Variable) -> SchemaColumn | None:
        """Return the base column behind a variable."""
        ...

    def subquery(self, node: exp.Expr) -> NamedRows:
        """Return a nested query, which may use this scope's columns."""
        ...

    def cast_kind(self, node: exp.DataType) -> str | None:
        """Return the kind of value of an SQL type."""
        ...


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """Return the conjuncts of an AND."""
    return _tied(node, exp.And)


def _tied(node: exp.Expr, by: type[exp.Connector]) -> list[exp.Expr]:
    """Return the operands of a chain of one connector, from left to right; without recursion, for chains of thousands."""
    operands, waiting = [], [node]
    while waiting:
        node = waiting.pop().unnest()
        if isinstance(node, by):
            waiting += [node.right, node.left]
        else:
            operands.append(node)
    return operands


def alternatives(node: exp.Expr, scope: Scope, is_true: bool = True) -> tuple[Alternative, ...]:
    """Return conjunctions of atomic conditions of which one holds iff the SQL condition evaluates to ``is_true``
    (unknown is neither).

    Raises Unsupported if that cannot be expressed exactly.
    """
    node = node.unnest()
    if isinstance(node, exp.Not):
        return alternatives(node.this, scope, not is_true)
    if isinstance(node, exp.And | exp.Or):
        is_conjunction = isinstance(node, exp.And) == is_true
        combined: tuple[Alternative, ...] = ALWAYS if is_conjunction else NEVER
        for side in _tied(node, type(node)):
            side_alternatives = alternatives(side, scope, is_true)
            combined = both(combined, side_alternatives) if is_conjunction else capped([*combined, *side_alternatives])
        return combined
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise Unsupported(f"{_describe(node)} in a condition", node, scope.text)
    try:
        return handler(node, scope, is_true)
    except UnknownType:
        raise Unsupported("a comparison of values whose type is not known here", node, scope.text) from None


def compare(left: Term, operator: str, right: Term, scope: Scope) -> tuple[Alternative, ...]:
    """Return the conjunctions of conditions of which one must hold for an SQL comparison to be true: both sides are
    non-NULL, and it holds.
    """
    left, right = _typed(left, right, scope, operator), _typed(right, left, scope, operator)
    if NULL in (left, right):
        return NEVER
    if any(isinstance(term, Constant) and term.kind in TYPED for term in (left, right)):
        raise UnknownType
    if (
        isinstance(left, Constant)
        and isinstance(right, Constant)
        and (left.kind != right.kind or left.kind == "text")
        and left != right
    ):
        # Whether 'a' equals 'A', or '1' equals 1, depends on the database.
        raise UnknownType
    columns = [column for term in (left, right) if isinstance(term, Variable) and (column := scope.column_type(term))]
    if not alike(columns):
        raise UnknownType
    kinds = {column.kind for column in columns}
    if operator not in ("=", "!=") and any(column.enumerated for column in columns):
        raise UnknownType
    if "other" in kinds and (operator not in ("=", "!=") or isinstance(left, Constant) or isinstance(right, Constant)):
        raise UnknownType
    known = frozenset(term for term in (left, right) if isinstance(term, Variable))
    if operator == "=":
        return (Alternative(equal=((left, right),), known=known),)
    if left == right and operator == "!=":
        return NEVER
    return (Alternative(comparisons=(comparison(left, operator, right),), known=known),)


def alike(columns: Sequence[SchemaColumn]) -> bool:
    """True if equal values of these columns have the same representation: a date and a timestamp, exact and binary
    numbers, or texts of different collations do not.
    """
    return len({(column.kind, column.folds_case, column.loose, column.form) for column in columns if column.kind}) <= 1


def operand(node: exp.Expr, scope: Scope) -> Term:
    """Return the term on one side of a comparison."""
    node = node.unnest()
    if isinstance(node, exp.Column):
        column_term = scope.column(node)
        if isinstance(column_term, Variable | Constant):
            return column_term
        raise Unsupported(f"a condition on the computed column {node.sql()}", node, scope.text)
    item = fold(node)
    if item is not None:
        return item
    if isinstance(node, exp.Cast) and isinstance(node.this.unnest(), exp.Column):
        term = operand(node.this, scope)
        column = scope.column_type(term) if isinstance(term, Variable) else None
        if column is not None and _keeps_value(column, node.to, scope):
            return term
    raise Unsupported(f"{_describe(node)} in a condition", node, scope.text)


def _keeps_value(column: SchemaColumn, to: exp.DataType, scope: Scope) -> bool:
    """True if casting the column is lossless: same type family, no length limit, no loss of precision."""
    if column.kind != scope.cast_kind(to) or to.expressions:
        return False
    if column.kind == "number":
        return column.whole and (to.this == exp.DataType.Type.DECIMAL or to.this in exp.DataType.INTEGER_TYPES)
    return column.kind not in ("timestamp", "moment") or to.this != exp.DataType.Type.DATE


def _comparison(node: exp.Expr, scope: Scope, is_true: bool) -> tuple[Alternative, ...]:
    """Return the conjunctions of conditions of which one must hold for a comparison to be true, or false."""
    operator = _OPERATORS[type(node)]
    right = node.args["expression"].unnest()
    left = node.this.unnest()
    if isinstance(right, exp.Any) and is_true:
        return _any(left, operator, right, scope)
    if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple) and operator == "=" and is_true:
        return _tuple_equal(left.expressions, right.expressions, node, scope)
    return compare(operand(left, scope), operator if is_true else _OPPOSITE[operator], operand(right, scope), scope)


def _like(node: exp.Expr, scope: Scope, is_true: bool) -> tuple[Alternative, ...]:
    """Translate LIKE with a prefix, ``'ab%'``, to the texts from ``'ab'`` up to ``'ac'`` by code point, and whole texts
    to equality; ``'%'`` matches every text.

    Other patterns, and columns whose texts are not compared by code point, are unsupported.
    """
    # The parser's representation of NOT LIKE.
    is_true = is_true != bool(node.args.get("negate"))
    term, pattern = operand(node.this, scope), fold(node.args["expression"].unnest())
    column = scope.column_type(term) if isinstance(term, Variable) else None
    if (
        scope.dialect not in _CASE_SENSITIVE
        or pattern is None
        or pattern.kind != "text"
        or column is None
        or column.kind != "text"
        or column.folds_case
    ):
        raise Unsupported("LIKE in a condition", node, scope.text)
    prefix = pattern.value.removesuffix("%")
    if column.loose or column.domain is not None or any(sign in prefix for sign in "%_\\"):
        raise Unsupported("LIKE in a condition", node, scope.text)
    if prefix == pattern.value:
        return compare(term, "=" if is_true else "!=", pattern, scope)
    known = frozenset((term,)) if isinstance(term, Variable) else frozenset()
    if not prefix:
        return (Alternative(known=known),) if is_true else NEVER
    following = chr(ord(prefix[-1]) + 1)
    if "\ud800" <= following <= "\udfff" or not prefix.isascii():
        raise Unsupported("LIKE in a condition", node, scope.text)
    low, high = Constant("text", prefix), Constant("text", prefix[:-1] + following)
    from_prefix, before_following = TermComparison(low, "<=", term, True), TermComparison(term, "<", high, True)
    if is_true:
        return (Alternative(comparisons=(from_prefix, before_following), known=known),)
    before_prefix, from_following = TermComparison(term, "<", low, True), TermComparison(high, "<=", term, True)
    return tuple(
        Alternative(comparisons=(comparison_side,), known=known) for comparison_side in (before_prefix, from_following)
    )


def _tuple_equal(
    left: Sequence[exp.Expr], right: Sequence[exp.Expr], node: exp.Expr, scope: Scope
) -> tuple[Alternative, ...]:
    """Return the conjunctions of conditions of which one must hold for two tuples to be equal."""
    if len(left) != len(right):
        raise Unsupported("a comparison of tuples of different lengths", node, scope.text)
    combined: tuple[Alternative, ...] = ALWAYS
    for first, second in zip(left, right, strict=True):
        combined = both(combined, compare(operand(first, scope), "=", operand(second, scope), scope))
    return combined


def _between(node: exp.Expr, scope: Scope, is_true: bool) -> tuple[Alternative, ...]:
    """Return the conjunctions of conditions of which one must hold for BETWEEN to be true, or false."""
    term = operand(node.this, scope)
    low, high = operand(node.args["low"], scope), operand(node.args["high"], scope)
    if node.args.get("symmetric"):
        raise Unsupported("BETWEEN SYMMETRIC", node, scope.text)
    if is_true:
        return both(compare(term, ">=", low, scope), compare(term, "<=", high, scope))
    return capped([*compare(term, "<", low, scope), *compare(term, ">", high, scope)])


def _in(node: exp.Expr, scope: Scope, is_true: bool) -> tuple[Alternative, ...]:
    """Return the conjunctions of conditions of which one must hold for IN, with a list or a subquery, to be true, or
    false.
    """
    inner = node.args.get("query")
    if inner is not None:
        if not is_true:
            raise Unsupported("NOT IN with a subquery", node, scope.text)
        return _any(node.this.unnest(), "=", inner, scope)
    left = node.this.unnest()
    combined: tuple[Alternative, ...] = NEVER if is_true else ALWAYS
    for item in node.expressions:
        if isinstance(left, exp.Tuple) and isinstance(item, exp.Tuple):
            if not is_true:
                raise Unsupported("NOT IN with tuples", node, scope.text)
            combined = capped([*combined, *_tuple_equal(left.expressions, item.expressions, node, scope)])
            continue
        item_alternatives = compare(operand(left, scope), "=" if is_true else "!=", operand(item, scope), scope)
        combined = capped([*combined, *item_alternatives]) if is_true else both(combined, item_alternatives)
    return combined


def _any(left: exp.Expr, operator: str, node: exp.Expr, scope: Scope) -> tuple[Alternative, ...]:
    """Translate ``x op ANY (subquery)`` and ``x IN (subquery)``: a row of the subquery must match, but it is not
    counted in the answer.
    """
    inner = node.find(exp.Select, exp.SetOperation)
    array = node.find(exp.Array)
    if inner is None and array is not None:
        values = [operand(item, scope) for item in array.expressions]
        return capped(
            [alternative for value in values for alternative in compare(operand(left, scope), operator, value, scope)]
        )
    if inner is None:
        raise Unsupported(f"{_describe(node)} in a condition", node, scope.text)
    sides = left.expressions if isinstance(left, exp.Tuple) else [left]
    terms = [operand(side, scope) for side in sides]

    def matches(disjunct: Disjunct) -> tuple[Alternative, ...]:
        """Return the conjunctions of conditions of which one must hold for the terms to compare with one row of the
        subquery.
        """
        if len(disjunct.outputs) != len(terms):
            raise Unsupported("IN with a different number of columns", node, scope.text)
        combined: tuple[Alternative, ...] = (disjunct.when,)
        for term, output in zip(terms, disjunct.outputs, strict=True):
            if not isinstance(output, Variable | Constant):
                raise Unsupported("IN with a computed column", node, scope.text)
            combined = both(combined, compare(term, operator, output, scope))
        return combined

    return _semijoin(inner, scope, node, matches)


def _exists(node: exp.Expr, scope: Scope, is_true: bool) -> tuple[Alternative, ...]:
    """Return the conjunctions of conditions of which one must hold for EXISTS to be true."""
    if not is_true:
        raise Unsupported("NOT EXISTS", node, scope.text)
    inner = node.this.unnest()
    limit = inner.args.get("limit")
    if (
        limit is not None
        and not inner.args.get("offset")
        and fold(limit.expression) not in (None, Constant("number", 0))
    ):
        inner = inner.copy()
        inner.set("limit", None)
    return _semijoin(inner, scope, node, lambda disjunct: (disjunct.when,))


def _semijoin(
    inner: exp.Expr,
    scope: Scope,
    node: exp.Expr,
    matches: Callable[[Disjunct], tuple[Alternative, ...]],
) -> tuple[Alternative, ...]:
    """Return the conjunctions of conditions of which one must hold for a row of a subquery to exist; ``matches`` gives
    those for one row.
    """
    table = scope.subquery(inner)
    if table.inexact:
        raise Unsupported(f"a subquery with {table.inexact[0]},", node, scope.text)
    return capped([alternative for part in table.parts for disjunct in part for alternative in matches(disjunct)])


def _is(node: exp.Expr, scope: Scope, is_true: bool) -> tuple[Alternative, ...]:
    """Return the conjunctions of conditions of which one must hold for IS NULL, IS TRUE or IS NOT DISTINCT FROM to be
    true, or false.
    """
    right = node.args["expression"].unnest()
    if node.args.get("negate"):
        is_true = not is_true
    if isinstance(right, exp.Null):
        return _is_null(operand(node.this, scope), is_true)
    if isinstance(right, exp.Boolean):
        truth = bool(right.this)
        if is_true:
            return alternatives(node.this, scope, truth)
        if not isinstance(node.this.unnest(), exp.Column):
            raise Unsupported(f"IS NOT {str(truth).upper()} of an expression", node, scope.text)
        return capped([*alternatives(node.this, scope, not truth), *_is_null(operand(node.this, scope), True)])
    return _same(node, scope, is_true)


def _is_null(term: Term, is_null: bool) -> tuple[Alternative, ...]:
    if isinstance(term, Constant):
        return ALWAYS if (term == NULL) == is_null else NEVER
    return (Alternative(equal=((term, NULL),)) if is_null else Alternative(known=frozenset({term})),)


def _same(node: exp.Expr, scope: Scope, is_equal: bool) -> tuple[Alternative, ...]:
    """Translate IS NOT DISTINCT FROM, or negated IS DISTINCT FROM: NULL is an ordinary value."""
    if isinstance(node, exp.NullSafeNEQ):
        is_equal = not is_equal
    left, right = operand(node.this, scope), operand(node.args["expression"], scope)
    if any(isinstance(term, Constant) and term.kind == "boolean" for term in (left, right)) and "boolean" not in {
        column.kind for term in (left, right) if isinstance(term, Variable) and (column := scope.column_type(term))
    }:
        # SQLite reads it as IS TRUE, which any number except 0 satisfies.
        raise UnknownType
    if NULL not in (left, right):
        compare(left, "=", right, scope)
    left, right = _typed(left, right, scope), _typed(right, left, scope)
    if is_equal:
        return (Alternative(equal=((left, right),)),)
    return NEVER if left == right else (Alternative(comparisons=(comparison(left, "!=", right),)),)


def _truth_value(node: exp.Expr, scope: Scope, is_true: bool) -> tuple[Alternative, ...]:
    """Return the conjunctions of conditions of which one must hold for a Boolean column or constant to be true, or
    false.
    """
    if isinstance(node, exp.Column):
        term = operand(node, scope)
        column = scope.column_type(term) if isinstance(term, Variable) else None
        if column is not None and column.kind not in (None, "boolean"):
            raise UnknownType
        return compare(term, "=", Constant("boolean", is_true), scope)
    item = fold(node)
    if item is None or item.kind not in ("boolean", "null", "number"):
        raise Unsupported(f"{_describe(node)} as a condition", node, scope.text)
    return ALWAYS if item != NULL and bool(item.value) == is_true else NEVER


def _typed(term: Term, other: Term, scope: Scope, operator: str = "=") -> Term:
    """Return a constant as the column that it is compared with stores it.

    A constant that cannot be parsed may still be valid: databases accept more spellings of a date, a Boolean or a
    number ('1999-1-8', 'on', 'NaN'), and some convert any text to a number. In an order comparison it is refused later,
    by name.
    """
    column = scope.column_type(other) if isinstance(other, Variable) else None
    if isinstance(term, Constant) and column is not None:
        try:
            return column.read(term)
        except ValueError:
            if (
                operator in ("=", "!=")
                or column.kind in ("text", "timestamp", "moment")
                or column.form
                or term.kind != "text"
            ):
                raise UnknownType from None
    return term


def _describe(node: exp.Expr) -> str:
    """Return an SQL expression in words, for messages."""
    names = {exp.Like: "LIKE", exp.ILike: "ILIKE", exp.Case: "CASE", exp.Subquery: "a scalar subquery", exp.All: "ALL"}
    if type(node) in names:
        return names[type(node)]
    if isinstance(node, exp.Query):
        return "a scalar subquery"
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name}()"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name()}()"
    return f"the expression {node.sql()[:60]}"


_HANDLERS: dict[type[exp.Expr], Callable[[exp.Expr, Scope, bool], tuple[Alternative, ...]]] = {
    **dict.fromkeys(_OPERATORS, _comparison),
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.Exists: _exists,
    exp.Is: _is,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: _same,
    exp.Column: _truth_value,
    exp.Boolean: _truth_value,
    exp.Null: _truth_value,
    exp.Literal: _truth_value,
}
