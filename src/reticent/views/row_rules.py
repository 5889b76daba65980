"""CHECK constraints as public knowledge about each row: a query reads only rows that satisfy them.

A CHECK concerns one row. So possible databases consist of possible rows, rows stay independent of each other, and a
condition that every row satisfies may be added to every query without changing an answer. Results about critical rows
are then results about possible rows. A CHECK that cannot be parsed admits impossible rows: PRIVATE stays sound, and a
witness is tried in a database that enforces it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from sqlglot import exp

from reticent.errors import ReticentError
from reticent.views.constants import NULL, Constant
from reticent.views.naive_evaluation import returns
from reticent.views.queries import Atom, ConjunctiveQuery, Term, TermComparison, Union, Variable
from reticent.views.schema import Relation, Schema

_READABLE = (
    exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Like, exp.Column, exp.Identifier, exp.Literal, exp.Boolean,
    exp.Neg, exp.DataType,
)  # fmt: skip
MOST = 32
"""The maximum number of alternatives into which the rules of its tables may split a disjunct; beyond it they are not used."""


def rule_of(relation: Relation, dialect: str) -> Union | None:
    """Return, as a union of conjunctive queries, the rows that satisfy all CHECK constraints of a table; None if that
    is not exact.

    A CHECK is satisfied if it is not false, so unknown counts as satisfied.
    """
    from reticent.views.sql.dialect import parse_statements
    from reticent.views.sql.translate import translate

    nullable = {column.name.lower() for column in relation.columns if column.nullable}
    try:
        conditions = []
        for check in relation.checks:
            (statement,) = parse_statements(f"SELECT 1 WHERE {check}", dialect, "CHECK")
            where = statement.find(exp.Where)
            if where is None or not _is_readable(where.this):
                return None
            conditions.append(f"({_not_false(where.this, nullable).sql(dialect)})")
        quoted = exp.Table(this=exp.to_identifier(relation.name.rsplit(".", 1)[-1], quoted=True)).sql(dialect)
        single_table = replace(relation, name=relation.name.rsplit(".", 1)[-1], rule=None, reads=(), ties=())
        text = f"SELECT * FROM {quoted} WHERE {' AND '.join(conditions)}"
        query = translate(text, "CHECK", Schema({single_table.name.lower(): single_table}), dialect)
    except (ReticentError, RecursionError):
        return None
    if query.inexact or query.boundless or len(query.parts) != 1 or len(query.parts[0].disjuncts) > MOST:
        return None
    return query.parts[0]


def _is_readable(node: exp.Expr) -> bool:
    """True if a condition is unknown only where one of its columns is NULL: it has columns and constants, and no other
    NULL (``a IN (0, NULL)`` is never false).
    """
    return all(
        isinstance(child, _READABLE) or (isinstance(child, exp.Null) and isinstance(child.parent, exp.Is))
        for child in node.walk()
    )


def _not_false(node: exp.Expr, nullable: set[str], is_positive: bool = True) -> exp.Expr:
    """Return a condition that is true wherever ``node`` (or its negation) is not false."""
    node = node.unnest()
    if isinstance(node, exp.Not):
        return _not_false(node.this, nullable, not is_positive)
    if isinstance(node, exp.And | exp.Or):
        sides = [_not_false(side, nullable, is_positive) for side in (node.left, node.right)]
        return (exp.and_ if isinstance(node, exp.And) == is_positive else exp.or_)(*sides)
    leaf = node.copy() if is_positive else exp.not_(node.copy())
    if isinstance(node, exp.Is):
        return leaf
    columns = {column.name.lower(): column for column in node.find_all(exp.Column)}
    empty = [exp.Is(this=column.copy(), expression=exp.Null()) for name, column in columns.items() if name in nullable]
    return exp.or_(leaf, *empty) if empty else leaf


def satisfies_checks(relation: Relation, row: tuple[Constant, ...]) -> bool:
    """True if a row may exist; a CHECK that cannot be parsed is evaluated by SQLite, and counts as violated if that fails too."""
    if not relation.checks:
        return True
    if relation.rule is not None:
        return any(returns(rule, {rule.body[0].relation: [row]}, row) for rule in relation.rule.disjuncts)
    from reticent.views.replay import NotReplayed, TookTooLong, holds_in_sqlite

    try:
        return all(holds_in_sqlite(relation, check, row) for check in relation.checks)
    except (NotReplayed, TookTooLong):
        return False


def alternatives(query: ConjunctiveQuery, schema: Schema) -> Iterator[ConjunctiveQuery]:
    """Yield conjunctive queries whose answers together are those of ``query`` on all databases that satisfy the CHECK
    constraints.
    """
    rules = [schema.relation(atom.relation).rule for atom in query.body]
    disjuncts = [[None] if rule is None else list(rule.disjuncts) for rule in rules]
    count = 1
    for options in disjuncts:
        count *= len(options)
    if count > MOST or all(rule is None for rule in rules):
        yield query
        return
    for chosen in product(*disjuncts):
        restricted: ConjunctiveQuery | None = query
        for index, disjunct in enumerate(chosen):
            if disjunct is not None and restricted is not None:
                restricted = _restricted(restricted, index, disjunct)
        if restricted is not None:
            yield restricted


def _restricted(query: ConjunctiveQuery, index: int, rule: ConjunctiveQuery) -> ConjunctiveQuery | None:
    """Return the query with the CHECK condition ``rule`` imposed on one subgoal; None if the subgoal cannot satisfy it."""
    (pattern,) = rule.body
    binding: dict[Variable, Term] = {}
    equal: list[tuple[Term, Term]] = []
    for rule_term, term in zip(pattern.terms, query.body[index].terms, strict=True):
        if isinstance(rule_term, Constant):
            equal.append((rule_term, term))
        elif rule_term in binding:
            equal.append((binding[rule_term], term))
        else:
            binding[rule_term] = term
    known = {*query.known, *(binding[variable] for variable in rule.known if variable in binding)}
    comparisons = [*query.comparisons, *(_replaced(item, binding) for item in rule.comparisons)]
    substitution: dict[Variable, Term] = {}
    for left, right in equal:
        first, second = _resolved(left, substitution), _resolved(right, substitution)
        if isinstance(first, Variable):
            substitution[first] = second
        elif isinstance(second, Variable):
            substitution[second] = first
        elif first != second:
            return None
    filled = {_resolved(term, substitution) for term in known}
    if NULL in filled:
        return None
    resolved_terms = {variable: _resolved(variable, substitution) for variable in substitution}
    return ConjunctiveQuery(
        tuple(resolved_terms.get(term, term) if isinstance(term, Variable) else term for term in query.head),
        tuple(
            Atom(atom.relation, tuple(_resolved(term, resolved_terms) for term in atom.terms), atom.alias)
            for atom in query.body
        ),
        tuple(dict.fromkeys(_replaced(item, resolved_terms) for item in comparisons)),
        frozenset(term for term in filled if isinstance(term, Variable)),
    )


def _replaced(item: TermComparison, meaning: Mapping[Variable, Term]) -> TermComparison:
    return replace(item, left=_resolved(item.left, meaning), right=_resolved(item.right, meaning))


def _resolved(term: Term, meaning: Mapping[Variable, Term]) -> Term:
    while isinstance(term, Variable) and term in meaning and meaning[term] != term:
        term = meaning[term]
    return term
