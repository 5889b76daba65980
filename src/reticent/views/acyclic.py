"""Containment in an acyclic query by semijoins along a join tree. Source: [Yannakakis1981]; [Machanavajjhala2006].

Only the *containing* query must be acyclic; the facts are arbitrary (corrected: the figure of [Machanavajjhala2008]
names the contained query; its Theorem 2.11 has the right side). Head variables count as constants, so more queries
qualify.
"""

from __future__ import annotations

from collections.abc import Iterable

from reticent.views.homomorphism import Facts, bind_head, candidates
from reticent.views.integer_queries import CodedQuery, Fact


def join_tree(edges: list[frozenset[int]]) -> list[tuple[int, int | None]] | None:
    """Return (subgoal, parent) in the order of GYO ear removal, the root last without a parent; None if the hypergraph is cyclic."""
    left = dict(enumerate(edges))
    holders: dict[int, set[int]] = {}
    for index, edge in left.items():
        for code in edge:
            holders.setdefault(code, set()).add(index)
    order: list[tuple[int, int | None]] = []
    while len(left) > 1:
        ear = next(((index, parent) for index in left if (parent := _witness(index, left, holders)) is not None), None)
        if ear is None:
            return None
        order.append(ear)
        for code in left.pop(ear[0]):
            holders[code].discard(ear[0])
    return [*order, *((index, None) for index in left)]


def is_acyclic(query: CodedQuery, drop: Iterable[int] = ()) -> bool:
    """True if the query's hypergraph, without the dropped variables, is acyclic."""
    return join_tree(_edges(query, frozenset(drop))) is not None


def contained_in_acyclic(query: CodedQuery, facts: Facts, head: Fact) -> list[Fact] | None:
    """Return a fact for every subgoal such that the query returns ``head``, or None; the query must be acyclic.

    Semijoins towards the root keep only facts that extend downwards, so the final top-down pass never fails.
    """
    tree = join_tree(_edges(query, frozenset(query.head)))
    if tree is None:
        raise ValueError("the query is cyclic")
    binding = bind_head(query, head)
    rows = None if binding is None else candidates(query, facts, binding)
    if binding is None or rows is None:
        return None
    shared: dict[int, list[tuple[int, int]]] = {}
    for index, parent in tree:
        if parent is None:
            continue
        shared[index] = _common(query.atoms[index].terms, query.atoms[parent].terms)
        matching = {tuple(row[position] for position, _ in shared[index]) for row in rows[index]}
        rows[parent] = [
            row
            for row in rows[parent]
            if tuple(row[parent_position] for _, parent_position in shared[index]) in matching
        ]
        if not rows[parent]:
            return None
    chosen: dict[int, Fact] = {}
    for index, parent in reversed(tree):
        if parent is None:
            chosen[index] = rows[index][0]
            continue
        conditions = [(position, chosen[parent][parent_position]) for position, parent_position in shared[index]]
        chosen[index] = next(
            row for row in rows[index] if all(row[position] == value for position, value in conditions)
        )
    return [chosen[index] for index in range(len(query.atoms))]


def _edges(query: CodedQuery, drop: frozenset[int]) -> list[frozenset[int]]:
    return [frozenset(code for code in atom.terms if code >= 0) - drop for atom in query.atoms]


def _witness(index: int, left: dict[int, frozenset[int]], holders: dict[int, set[int]]) -> int | None:
    """Return a subgoal that contains all variables shared between this one and the rest."""
    shared = [holders[code] for code in left[index] if len(holders[code]) > 1]
    if not shared:
        return next(other for other in left if other != index)
    return min(set.intersection(*shared) - {index}, default=None)


def _common(child: Fact, parent: Fact) -> list[tuple[int, int]]:
    """Return one position in either subgoal for each common variable."""
    position_of = {code: position for position, code in enumerate(parent) if code >= 0}
    return [(position, position_of[code]) for position, code in enumerate(child) if code in position_of]
