"""The generic containment test: is the frozen head an answer of the query over the frozen facts? Source: [Chandra1977]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from reticent.views.budget import SearchBudget
from reticent.views.integer_queries import NULL_CODE, CodedQuery, Fact

Facts = dict[str, list[Fact]]
Compare = Callable[[str, int, int], bool]


def gather(rows: Iterable[tuple[str, Fact]]) -> Facts:
    """Return distinct facts by relation."""
    facts: dict[str, dict[Fact, None]] = {}
    for relation, row in rows:
        facts.setdefault(relation, {})[row] = None
    return {relation: list(rows_by_fact) for relation, rows_by_fact in facts.items()}


def bind_head(query: CodedQuery, head: Fact) -> dict[int, int] | None:
    """Return the bindings that make the query's head equal to ``head``; None if a constant or a repeated variable prevents it."""
    binding: dict[int, int] = {}
    for term, value in zip(query.head, head, strict=True):
        if (term if term < 0 else binding.setdefault(term, value)) != value:
            return None
    if any(binding.get(variable) == NULL_CODE for variable in query.required):
        return None
    return binding


def candidates(
    query: CodedQuery, facts: Facts, binding: dict[int, int], budget: SearchBudget | None = None
) -> list[list[Fact]] | None:
    """Return for each subgoal the facts that it can map to by itself; None as soon as one has none."""
    options = []
    for atom in query.atoms:
        if budget is not None:
            budget.look_at_the_clock()
        rows = [row for row in facts.get(atom.relation, ()) if _fits(atom.terms, row, binding, query.required)]
        if not rows:
            return None
        options.append(rows)
    return options


def find_homomorphism(
    query: CodedQuery,
    facts: Facts,
    head: Fact,
    budget: SearchBudget,
    compare: Compare | None = None,
) -> list[Fact] | None:
    """Return a fact (row) for every subgoal such that the query returns ``head`` through them; None if there is no
    homomorphism.

    Backtracking over subgoals, the most constrained first, with forward checking. ``compare`` evaluates comparisons on
    ground values; without it the query must have none.
    """
    binding = bind_head(query, head)
    if binding is None or (compare is not None and not _comparisons_hold(query, binding, binding, compare)):
        return None
    rows = candidates(query, facts, binding, budget)
    if rows is None:
        return None
    chosen: dict[int, Fact] = {}
    if not _extend(query, rows, binding, chosen, budget, compare):
        return None
    return [chosen[index] for index in range(len(query.atoms))]


def _extend(
    query: CodedQuery,
    rows: Sequence[list[Fact] | None],
    binding: dict[int, int],
    chosen: dict[int, Fact],
    budget: SearchBudget,
    compare: Compare | None,
) -> bool:
    """Map the remaining subgoals by backtracking, the one with the fewest facts first; ``chosen`` collects the facts."""
    index, options = -1, None
    for subgoal, facts_left in enumerate(rows):
        if facts_left is not None and (options is None or len(facts_left) < len(options)):
            index, options = subgoal, facts_left
            if len(facts_left) == 1:
                break
    if options is None:
        return True
    terms = query.atoms[index].terms
    for row in options:
        budget.tick()
        fresh = {term: value for term, value in zip(terms, row, strict=True) if term >= 0 and term not in binding}
        extended = {**binding, **fresh} if fresh else binding
        if compare is not None and fresh and not _comparisons_hold(query, extended, fresh, compare):
            continue
        narrowed = _narrow(query, rows, index, fresh)
        if narrowed is None:
            continue
        chosen[index] = row
        if _extend(query, narrowed, extended, chosen, budget, compare):
            return True
    return False


def _narrow(
    query: CodedQuery,
    rows: Sequence[list[Fact] | None],
    mapped: int,
    fresh: dict[int, int],
) -> list[list[Fact] | None] | None:
    """Return the facts (rows) that each subgoal can still map to after the ``fresh`` variables were bound; None if one
    has none left.

    Subgoals that are mapped already have None in place of a list.
    """
    narrowed: list[list[Fact] | None] = list(rows)
    narrowed[mapped] = None
    if not fresh:
        return narrowed
    for subgoal, facts_left in enumerate(narrowed):
        if facts_left is None:
            continue
        terms = query.atoms[subgoal].terms
        touched = [(position, fresh[term]) for position, term in enumerate(terms) if term in fresh]
        if not touched:
            continue
        matching = [row for row in facts_left if all(row[position] == value for position, value in touched)]
        if not matching:
            return None
        narrowed[subgoal] = matching
    return narrowed


def _comparisons_hold(query: CodedQuery, binding: dict[int, int], fresh: dict[int, int], compare: Compare) -> bool:
    """Return whether all comparisons that involve the ``fresh`` variables, and whose terms are bound, are true."""
    for operator, left, right in query.comparisons:
        if left in fresh or right in fresh:
            low = left if left < 0 else binding.get(left)
            high = right if right < 0 else binding.get(right)
            if low is not None and high is not None and not compare(operator, low, high):
                return False
    return True


def _fits(terms: Fact, row: Fact, binding: dict[int, int], required: frozenset[int]) -> bool:
    """Return whether a subgoal can be mapped to a row, given the values bound so far."""
    local: dict[int, int] = {}
    for term, value in zip(terms, row, strict=True):
        expected = term if term < 0 else binding.get(term, local.setdefault(term, value))
        if expected != value or (value == NULL_CODE and term in required):
            return False
    return True
