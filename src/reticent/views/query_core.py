"""The core of a query: an equivalent query with fewer subgoals. Source: [Chandra1977]."""

from __future__ import annotations

from dataclasses import replace

from reticent.views.budget import SearchBudget
from reticent.views.critical import Setting, is_plain
from reticent.views.homomorphism import find_homomorphism, gather
from reticent.views.integer_queries import Codebook, CodedQuery, encode
from reticent.views.queries import ConjunctiveQuery, Query, Union
from reticent.views.schema import Schema

MOST_SUBGOALS = 40


def minimized(query: Query, schema: Schema, budget: SearchBudget) -> Query:
    """Return ``query`` with redundant subgoals dropped.

    Heads already list what bag semantics counts, so this is sound for both semantics. Parts with comparisons, finite
    domains or keys are unchanged, and so are rules that are too long for it to pay.
    """
    return replace(query, parts=tuple(_minimized(part, schema, budget) for part in query.parts))


def _minimized(part: Union, schema: Schema, budget: SearchBudget) -> Union:
    """Return a union with redundant subgoals removed; unchanged if keys, comparisons or its size rule that out."""
    book = Codebook()
    (coded,) = encode(Query("", (part,)), schema, book)
    keyed = any(schema.relation(atom.relation).keys for rule in part.disjuncts for atom in rule.body)
    if (
        keyed
        or max(len(rule.body) for rule in part.disjuncts) > MOST_SUBGOALS
        or not is_plain(coded, Setting(schema, book))
    ):
        return part
    rules = zip(part.disjuncts, coded.disjuncts, strict=True)
    return Union(tuple(dict.fromkeys(_core(rule, query, budget) for rule, query in rules)))


def _core(rule: ConjunctiveQuery, query: CodedQuery, budget: SearchBudget) -> ConjunctiveQuery:
    """Drop subgoals one by one while a homomorphism shows that the smaller query is equivalent."""
    needed = list(range(len(query.atoms)))
    for index in range(len(query.atoms)):
        others = [kept_index for kept_index in needed if kept_index != index]
        if query.atoms[index].relation not in {query.atoms[other].relation for other in others}:
            continue
        facts = gather((query.atoms[other].relation, query.atoms[other].terms) for other in others)
        if find_homomorphism(query, facts, query.head, budget) is not None:
            needed = others
    body = tuple(rule.body[index] for index in needed)
    variables = {variable for atom in body for variable in atom.variables()}
    return ConjunctiveQuery(rule.head, body, rule.comparisons, rule.known & variables)
