"""Containment of frozen facts in a union of queries, by the cheapest exact test that applies. Source: [Chandra1977]."""

from __future__ import annotations

from reticent.views.acyclic import contained_in_acyclic, is_acyclic
from reticent.views.budget import SearchBudget
from reticent.views.homomorphism import Compare, Facts, find_homomorphism
from reticent.views.integer_queries import CodedQuery, CodedUnion, Fact
from reticent.views.two_sat import NotApplicable, contained_by_two_sat

_SMALL = 6


def answer_remains(
    union: CodedUnion, facts: Facts, head: Fact, budget: SearchBudget, compare: Compare | None = None, fast: bool = True
) -> tuple[int, list[Fact]] | None:
    """Return the disjunct, and the facts it maps to, through which ``head`` is still an answer; None if it is lost."""
    for index, query in enumerate(union.disjuncts):
        facts_used = _search(query, facts, head, budget, compare, fast)
        if facts_used is not None:
            return index, facts_used
    return None


def _search(
    query: CodedQuery, facts: Facts, head: Fact, budget: SearchBudget, compare: Compare | None, fast: bool
) -> list[Fact] | None:
    """Search for a homomorphism: small queries by plain search, long ones by a polynomial algorithm if one applies."""
    if not fast or compare is not None or len(query.atoms) <= _SMALL:
        return find_homomorphism(query, facts, head, budget, compare)
    budget.tick()
    try:
        return contained_by_two_sat(query, facts, head)
    except NotApplicable:
        if is_acyclic(query, query.head):
            return contained_in_acyclic(query, facts, head)
        return find_homomorphism(query, facts, head, budget)
