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
    """Return a join tree of the hypergraph whose edges are the variable sets of the subgoals; None if it is cyclic.

    The tree is given as (subgoal, parent) index pairs in the order of GYO ear removal; the root comes last, without a
    parent.
    """
    remaining = dict(enumerate(edges))
    edges_with: dict[int, set[int]] = {}
    for index, edge in remaining.items():
        for variable in edge:
            edges_with.setdefault(variable, set()).add(index)
    order: list[tuple[int, int | None]] = []
    while len(remaining) > 1:
        ear = next(
            ((index, parent) for index in remaining if (parent := _witness(index, remaining, edges_with)) is not None),
            None,
        )
        if ear is None:
            return None
        order.append(ear)
        for variable in remaining.pop(ear[0]):
            edges_with[variable].discard(ear[0])
    return [*order, *((index, None) for index in remaining)]


def is_acyclic(query: CodedQuery, drop: Iterable[int] = ()) -> bool:
    """True if the query's hypergraph, without the dropped variables, is acyclic."""
    return join_tree(_edges(query, frozenset(drop))) is not None


def contained_in_acyclic(query: CodedQuery, facts: Facts, head: Fact) -> list[Fact] | None:
    """Return a fact (row) for every subgoal such that the query returns ``head``, or None; the query must be acyclic.

    Semijoins towards the root of the join tree keep only facts that extend downwards, so the final top-down pass never
    fails.
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


def _witness(index: int, remaining: dict[int, frozenset[int]], edges_with: dict[int, set[int]]) -> int | None:
    """Return another remaining edge that contains all variables that this edge shares with others (the edge is then an
    ear); None if there is none.
    """
    shared = [edges_with[variable] for variable in remaining[index] if len(edges_with[variable]) > 1]
    if not shared:
        return next(other for other in remaining if other != index)
    return min(set.intersection(*shared) - {index}, default=None)


def _common(child: Fact, parent: Fact) -> list[tuple[int, int]]:
    """Return one position in either subgoal for each common variable."""
    position_of = {code: position for position, code in enumerate(parent) if code >= 0}
    return [(position, position_of[code]) for position, code in enumerate(child) if code in position_of]
