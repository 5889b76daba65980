"""Repairs: why a view discloses something about a secret, and the smallest changes of the view that make it private."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reticent.views.checker import Checker
from reticent.views.collision import Collision
from reticent.views.constants import Constant
from reticent.views.queries import ConjunctiveQuery, Query, Term, Union, Variable, comparison
from reticent.views.schema import Schema
from reticent.views.schema_fit import fit
from reticent.views.sql_text import select
from reticent.views.verdict import DISCLOSES, Verdict

if TYPE_CHECKING:
    from reticent.base.context import Context

ROUNDS = 4


@dataclass(frozen=True)
class Repair:
    """A changed view that is private against the secret, proved by the same engine."""

    what: str
    text: str


def causes(
    secret: Query, view: Query, schema: Schema, context: Context | None = None, foreign_keys: str = "known"
) -> tuple[str, ...]:
    """Return, in words, whether a key or the counting of duplicates is the only cause of a disclosure; empty if neither
    is.

    The adversary is that of the verdict: ``foreign_keys`` as in :class:`Checker`.
    """
    reasons = []
    without_keys = replace(
        schema, relations={name: replace(relation, keys=()) for name, relation in schema.relations.items()}
    )
    if (
        Checker(without_keys, replay="definition", context=context, foreign_keys=foreign_keys)
        .check(secret, view)
        .private
    ):
        reasons.append("only a key links the rows: without it the view would be private")
    if secret.duplicates or view.duplicates:
        as_sets = [_as_set(query, schema) for query in (secret, view)]
        if all(query is not None for query in as_sets):
            pair = [query for query in as_sets if query is not None]
            checker = Checker(schema, replay="definition", context=context, foreign_keys=foreign_keys)
            if checker.check(*pair).private:
                reasons.append("only duplicates disclose: with DISTINCT on both sides the view would be private")
    return tuple(reasons)


def possible_repairs(
    verdict: Verdict,
    secret: Query,
    view: Query,
    schema: Schema,
    context: Context | None = None,
    foreign_keys: str = "known",
) -> tuple[Repair, ...]:
    """Return changes of a disclosing view that are proved private against the adversary of the verdict: exclude rows,
    DISTINCT, drop a table.

    Only single SELECTs (or rules) without nested queries are repaired; the results are shown as SQL.
    """
    rule = _single(view)
    if verdict.status != DISCLOSES or rule is None:
        return ()
    checker = Checker(schema, replay="definition", context=context, foreign_keys=foreign_keys)
    repairs: list[Repair] = []
    for distinct in (not view.duplicates, True):
        for what, changed in _candidates(rule, secret, view, checker, distinct):
            label = f"{what}, with DISTINCT" if distinct and view.duplicates else what
            query = _query(changed, view, distinct, schema)
            if query is None or not checker.check(secret, query).private:
                continue
            text = select(changed, schema, distinct)
            if text not in {repair.text for repair in repairs}:
                repairs.append(Repair(label, text))
    return tuple(repairs)


def _candidates(
    rule: ConjunctiveQuery, secret: Query, view: Query, checker: Checker, distinct: bool
) -> Iterator[tuple[str, ConjunctiveQuery]]:
    """Yield changed views that may be private: fewer rows, fewer tables, or each answer once; each with its description."""
    if distinct and view.duplicates:
        yield "each answer once", replace(rule, head=_shown(view, rule))
    start = replace(rule, head=_shown(view, rule))
    yield from _without_rows(start, secret, view, checker, distinct)
    for index, atom in enumerate(rule.body):
        if len(rule.body) > 1 and atom.relation in secret.relations():
            smaller = _without_table(start, index)
            if smaller is not None:
                yield f"drop {atom.alias or atom.relation}", smaller
                for what, changed in _without_rows(smaller, secret, view, checker, distinct):
                    yield f"drop {atom.alias or atom.relation}, and {what}", changed


def _without_rows(
    rule: ConjunctiveQuery, secret: Query, view: Query, checker: Checker, distinct: bool
) -> Iterator[tuple[str, ConjunctiveQuery]]:
    """Yield the view without the rows that it shares with the secret: excluded one collision at a time, as long as a
    row has a constant to exclude it by.
    """
    conditions: list[str] = []
    for _ in range(ROUNDS):
        query = _query(rule, view, distinct, checker.schema)
        collision = checker.collide(secret, query) if query is not None else None
        if collision is None:
            return
        excluded = _exclusion(rule, collision, checker)
        if excluded is None:
            return
        what, rule = excluded
        conditions.append(what)
        yield "exclude the rows with " + " and with ".join(conditions), rule


def _exclusion(rule: ConjunctiveQuery, collision: Collision, checker: Checker) -> tuple[str, ConjunctiveQuery] | None:
    """Return a condition that excludes the secret's colliding row, in words, and the rule with it; None if no column has a constant."""
    columns = checker.schema.relation(collision.relation).columns
    subgoal = next(
        (atom for atom in rule.body if atom.relation == collision.relation and _meets(atom.terms, collision, checker)),
        None,
    )
    secret_row = collision.secret.atoms[min(collision.secret_gamma)].terms
    if subgoal is None:
        return None
    for code, term, column in zip(secret_row, subgoal.terms, columns, strict=True):
        if code < 0 and isinstance(term, Variable):
            item = checker.setting.book.constant(code)
            known = rule.known | {term}
            changed = replace(rule, comparisons=(*rule.comparisons, comparison(term, "!=", item)), known=known)
            return f"{column.name} = {item}", changed
    return None


def _meets(terms: tuple[Term, ...], collision: Collision, checker: Checker) -> bool:
    """Return whether a subgoal can be the critical row of a collision."""
    pattern = collision.pattern()
    return all(
        code >= 0 or not isinstance(term, Constant) or checker.setting.book.code(term) == code
        for code, term in zip(pattern, terms, strict=True)
    )


def _without_table(rule: ConjunctiveQuery, index: int) -> ConjunctiveQuery | None:
    """Return the rule without one subgoal and the variables that only it has; None if that leaves no output.

    If no variable of the head remains, the columns that the subgoal was joined by become the output.
    """
    body = rule.body[:index] + rule.body[index + 1 :]
    remaining_variables = {variable for atom in body for variable in atom.variables()}
    head = tuple(term for term in rule.head if not isinstance(term, Variable) or term in remaining_variables)
    comparisons = tuple(
        item for item in rule.comparisons if all(variable in remaining_variables for variable in item.variables())
    )
    if not any(isinstance(term, Variable) for term in head):
        head = tuple(
            dict.fromkeys(variable for variable in rule.body[index].variables() if variable in remaining_variables)
        )
    if not head:
        return None
    return ConjunctiveQuery(head, body, comparisons, rule.known & remaining_variables)


def _query(rule: ConjunctiveQuery, view: Query, distinct: bool, schema: Schema) -> Query | None:
    """Return the view with another rule, fitted to the schema; without ``distinct``, the head lists all variables, so
    that duplicates count.
    """
    head: tuple[Term, ...] = rule.head if distinct else (*rule.head, *rule.variables())
    changed = replace(rule, head=tuple(dict.fromkeys(head)) if not distinct else head)
    query = replace(view, parts=(Union((changed,)),), duplicates=not distinct, text="", warnings=())
    return fit(query, schema)


def _single(view: Query) -> ConjunctiveQuery | None:
    if view.inexact or len(view.parts) != 1 or len(view.parts[0].disjuncts) != 1:
        return None
    return view.parts[0].disjuncts[0]


def _shown(view: Query, rule: ConjunctiveQuery) -> tuple[Term, ...]:
    return view.outputs if view.outputs else rule.head


def _as_set(query: Query, schema: Schema) -> Query | None:
    """Return a query of one rule as one that returns each answer once; None for any other query."""
    rule = _single(query)
    if rule is None:
        return None
    return fit(replace(query, parts=(Union((replace(rule, head=_shown(query, rule)),)),), duplicates=False), schema)
