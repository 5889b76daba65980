"""Answers by the definition: every valuation of the subgoals over a small database. Slow, short, and easy to believe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reticent.views.query import Atom, ConjunctiveQuery, Query, Term, Variable
from reticent.views.values import Constant

LIMIT = 20_000
Rows = Mapping[str, Sequence[tuple[Constant, ...]]]


class TooManyAnswers(Exception):
    """Listing all valuations would take too long."""


def answers(query: Query, database: Rows) -> list[set[tuple[Constant, ...]]]:
    """The answers of every part; heads list what is counted, so sets of them are what duplicates come to."""
    return [set().union(*(_evaluate(rule, database) for rule in part.disjuncts)) for part in query.parts]


def _evaluate(rule: ConjunctiveQuery, database: Rows) -> set[tuple[Constant, ...]]:
    partial: list[dict[Variable, Constant]] = [{}]
    for atom in rule.body:
        partial = [
            extended
            for binding in partial
            for row in database.get(atom.relation, [])
            if (extended := _match(atom, row, binding)) is not None
        ]
        if len(partial) > LIMIT:
            raise TooManyAnswers
    return {
        tuple(_value(term, binding) for term in rule.head)
        for binding in partial
        if all(binding[variable].kind != "null" for variable in rule.known if variable in binding)
        and all(
            _holds(_value(item.left, binding), item.operator, _value(item.right, binding)) for item in rule.comparisons
        )
    }


def _match(atom: Atom, row: tuple[Constant, ...], binding: dict[Variable, Constant]) -> dict[Variable, Constant] | None:
    extended = dict(binding)
    for term, value in zip(atom.terms, row, strict=True):
        wanted = extended.setdefault(term, value) if isinstance(term, Variable) else term
        if wanted != value:
            return None
    return extended


def _value(term: Term, binding: Mapping[Variable, Constant]) -> Constant:
    return binding[term] if isinstance(term, Variable) else term


def _holds(left: Constant, operator: str, right: Constant) -> bool:
    if operator == "!=":
        return left != right
    if left.kind != right.kind or left.kind == "null":
        return False
    return bool(left.value < right.value or (operator == "<=" and left.value == right.value))
