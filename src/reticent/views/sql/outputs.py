"""The SELECT list: the outputs of a block, and which of them are outside the exact fragment."""

from __future__ import annotations

from sqlglot import exp

from reticent.views.sql.dialect import Unsupported, fold, where
from reticent.views.sql.row_conditions import Computed, Hidden, Output, shown
from reticent.views.sql.scopes import OtherPiece, RowScope, Sources, TranslatorProtocol

_ONE_TO_ONE = (exp.Neg, exp.Paren)


def select_list(
    node: exp.Select, sources: Sources, owner: TranslatorProtocol, outer: RowScope | None
) -> tuple[tuple[str, ...], list[list[tuple[Output, ...]]]]:
    """Return the column names of a SELECT list, and its outputs for every row: listed by union, and by disjunct within
    it, of the first group of joined tables.
    """
    names: list[str] = []
    pickers: list[exp.Expr] = []
    for expression in node.expressions:
        star = expression if isinstance(expression, exp.Star) else expression.this
        if isinstance(expression, exp.Star) or (isinstance(expression, exp.Column) and isinstance(star, exp.Star)):
            excluded = {item.name.lower() for item in star.args.get("except_") or star.args.get("except") or []}
            alias = expression.table if isinstance(expression, exp.Column) else ""
            for item, _, name in sources.visible(alias):
                if name.lower() not in excluded:
                    names.append(name)
                    pickers.append(exp.column(name, item.alias))
        else:
            names.append(expression.alias_or_name or f"column{len(names) + 1}")
            pickers.append(expression.unalias())
    piece = sources.pieces[0]
    rows = [
        [tuple(_output(picker, RowScope(owner, sources, 0, row, outer)) for picker in pickers) for row in part]
        for part in piece.parts
    ]
    return tuple(names), rows


def beyond_positive(node: exp.Select, text: str) -> str | None:
    """Return what in a SELECT, beyond FROM and WHERE, prevents an exact translation (such as an aggregate), with its
    position; None if nothing does.
    """
    for expression in [*node.expressions, node.args.get("having")]:
        for part in outside_subqueries(expression):
            if isinstance(part, exp.Window):
                return f"a window function{where(part, text)}"
            if isinstance(part, exp.AggFunc):
                return f"the aggregate {part.sql_name()}{where(part, text)}"
            if isinstance(part, exp.Query):
                return f"a scalar subquery{where(part, text)}"
            if isinstance(part, exp.Explode | exp.Unnest | exp.UDTF):
                return f"a set-returning function{where(part, text)}"
    group = node.args.get("group")
    if group is not None and any(value for key, value in group.args.items() if key != "expressions"):
        return f"GROUPING SETS, ROLLUP or CUBE{where(group, text)}"
    for name, expression in _around(node):
        if any(isinstance(part, exp.Query) for part in outside_subqueries(expression)):
            return f"a nested query in {name}{where(expression, text)}"
    if _orders_by_more(node):
        return f"ORDER BY on columns that are not shown{where(node.args['order'], text)}"
    distinct_on = node.args.get("distinct") and node.args["distinct"].args.get("on")
    for clause, name in (
        ("having", "HAVING"),
        ("qualify", "QUALIFY"),
        ("connect", "CONNECT BY"),
        ("pivots", "PIVOT"),
    ):
        if node.args.get(clause):
            part = node.args[clause]
            return f"{name}{where(part, text)}" if isinstance(part, exp.Expression) else name
    return f"DISTINCT ON{where(distinct_on, text)}" if distinct_on else None


def beside_from(node: exp.Select) -> list[exp.Expr]:
    """Return every expression of a block outside FROM and WHERE: the answer may depend on whatever it reads."""
    clauses = [node.args.get("having"), node.args.get("qualify"), *(expression for _, expression in _around(node))]
    return [*node.expressions, *(clause for clause in clauses if clause is not None)]


def _around(node: exp.Select) -> list[tuple[str, exp.Expr]]:
    """Return the clauses that group, order and number the output of a block."""
    distinct_on = node.args["distinct"].args.get("on") if node.args.get("distinct") else None
    named = [("GROUP BY", node.args.get("group")), ("DISTINCT ON", distinct_on), ("ORDER BY", node.args.get("order"))]
    named += [("WINDOW", window) for window in node.args.get("windows") or []]
    return [(name, expression) for name, expression in named if expression is not None]


def _orders_by_more(node: exp.Select) -> bool:
    """True if distinct rows are ordered by more than the output or grouping columns."""
    order, group = node.args.get("order"), node.args.get("group")
    if order is None or not (group or node.args.get("distinct")):
        return False
    if any(isinstance(part, exp.AggFunc | exp.Window | exp.Anonymous) for part in order.walk()):
        return True
    listed = [*node.expressions, *(group.expressions if group else [])]
    names = {item.alias_or_name.lower() for item in listed}
    names |= {part.name.lower() for item in listed for part in [item.unalias()] if isinstance(part, exp.Column)}
    if any(item.find(exp.Star) for item in node.expressions):
        return False
    return any(part.name.lower() not in names for part in order.find_all(exp.Column))


def _output(node: exp.Expr, scope: RowScope) -> Output:
    """Return what an output expression can reveal about a row: a constant, a column, a function of columns, or
    something unknown.
    """
    node = node.unnest()
    constant_value = None if isinstance(node, exp.Column) else fold(node)
    if constant_value is not None:
        return constant_value
    inputs: list[Output] = []
    for column in [node] if isinstance(node, exp.Column) else _columns_of(node):
        try:
            inputs.append(scope.column(column))
        except OtherPiece:
            inputs.append(Hidden("another piece"))
        except Unsupported as error:
            inputs.append(Hidden(str(error)))
    if isinstance(node, exp.Column):
        return inputs[0]
    if any(isinstance(item, Hidden) for item in inputs):
        return Hidden("an expression over hidden columns")
    return Computed(shown(inputs), injective=len(inputs) == 1 and _is_one_to_one(node, scope))


def outside_subqueries(node: exp.Expr | None) -> list[exp.Expr]:
    """Return the nodes of an expression, including nested queries but not their contents."""
    nodes, waiting = [], [] if node is None else [node]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if not isinstance(node, exp.Query):
            waiting += reversed(list(node.iter_expressions()))
    return nodes


def _columns_of(node: exp.Expr) -> list[exp.Column]:
    return [node_found for node_found in outside_subqueries(node) if isinstance(node_found, exp.Column)]


def _is_one_to_one(node: exp.Expr, scope: RowScope) -> bool:
    """True if different inputs give different outputs: sign, adding or multiplying by a constant, a fixed prefix."""
    node = node.unnest()
    if isinstance(node, exp.Column):
        return True
    if isinstance(node, _ONE_TO_ONE):
        return _is_one_to_one(node.this, scope)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.DPipe):
        constants = [fold(side) for side in (node.left, node.right)]
        if constants.count(None) != 1:
            return False
        fixed = next(item for item in constants if item is not None)
        if isinstance(node, exp.Mul) and (fixed.kind != "number" or fixed.value == 0):
            return False
        return _is_one_to_one(node.left if constants[0] is None else node.right, scope)
    return False
