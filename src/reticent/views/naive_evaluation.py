"""Answers by the definition: every valuation of the subgoals over a small database. Slow, short, and easy to verify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reticent.views.constants import Constant
from reticent.views.queries import ConjunctiveQuery, Query, Term, Variable

LIMIT = 200_000
Rows = Mapping[str, Sequence[tuple[Constant, ...]]]


class TooManyAnswers(Exception):
    """Listing all valuations would take too long."""


def gains(query: Query, before: Rows, after: Rows, answer: tuple[Constant, ...]) -> bool:
    """True if ``answer``, a head tuple of one of the unions of the query, is returned by that union after, and was not
    before.
    """
    return any(
        len(part.disjuncts[0].head) == len(answer)
        and any(returns(rule, after, answer) for rule in part.disjuncts)
        and not any(returns(rule, before, answer) for rule in part.disjuncts)
        for part in query.parts
    )


def returns(rule: ConjunctiveQuery, database: Rows, answer: tuple[Constant, ...]) -> bool:
    """True if a rule returns ``answer`` on a database. Raises if that takes too many steps."""
    first = _match(rule.head, answer, {})
    bindings = [] if first is None else [first]
    steps = 0
    for atom in rule.body:
        steps += len(bindings) * len(database.get(atom.relation, ()))
        if steps > LIMIT:
            raise TooManyAnswers
        bindings = [
            extended
            for binding in bindings
            for row in database.get(atom.relation, [])
            if (extended := _match(atom.terms, row, binding)) is not None
        ]
    return any(
        all(binding[variable].kind != "null" for variable in rule.known if variable in binding)
        and all(
            _holds(_value(item.left, binding), item.operator, _value(item.right, binding)) for item in rule.comparisons
        )
        for binding in bindings
    )


def _match(
    terms: Sequence[Term], row: Sequence[Constant], binding: Mapping[Variable, Constant]
) -> dict[Variable, Constant] | None:
    """Extend a binding so that the terms equal the row; None if they cannot."""
    extended = dict(binding)
    for term, value in zip(terms, row, strict=True):
        expected = extended.setdefault(term, value) if isinstance(term, Variable) else term
        if expected != value:
            return None
    return extended


def _value(term: Term, binding: Mapping[Variable, Constant]) -> Constant:
    return binding[term] if isinstance(term, Variable) else term


def _holds(left: Constant, operator: str, right: Constant) -> bool:
    """Return the truth of a comparison of two constants."""
    if operator == "!=":
        return left != right
    if left.kind != right.kind or left.kind == "null":
        return False
    return bool(left.value < right.value or (operator == "<=" and left.value == right.value))
