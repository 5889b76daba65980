"""Containment if no subgoal has more than two candidate facts, by 2-SAT. Source: [Saraiya1990]; [Aspvall1979]."""

from __future__ import annotations

from reticent.views.homomorphism import Facts, bind_head, candidates
from reticent.views.integer_queries import CodedQuery, Fact


class NotApplicable(Exception):
    """Some subgoal has more than two candidate facts."""


def contained_by_two_sat(query: CodedQuery, facts: Facts, head: Fact) -> list[Fact] | None:
    """Return a fact (row) for every subgoal such that the query returns ``head``, or None.

    Raises :class:`NotApplicable` if a subgoal has more than two candidates. The consequences of every choice are
    propagated; by the 2-SAT argument a choice whose propagation ends without conflict never has to be undone.
    """
    binding = bind_head(query, head)
    rows = None if binding is None else candidates(query, facts, binding)
    if rows is None:
        return None
    if any(len(options) > 2 for options in rows):
        raise NotApplicable
    agree = _Agreement(query)
    chosen: dict[int, Fact] = {}
    for index, options in enumerate(rows):
        if index in chosen:
            continue
        for row in options:
            implied = _propagate(index, row, rows, chosen, agree)
            if implied is not None:
                chosen.update(implied)
                break
        else:
            return None
    return [chosen[index] for index in range(len(query.atoms))]


class _Agreement:
    """The positions at which two subgoals have the same variable."""

    def __init__(self, query: CodedQuery) -> None:
        """For each pair of subgoals with common variables, list the positions of a variable in the first and in the
        second.
        """
        count = len(query.atoms)
        self.pairs: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for first in range(count):
            position_of = {code: position for position, code in enumerate(query.atoms[first].terms) if code >= 0}
            for second in range(count):
                if second != first:
                    terms = query.atoms[second].terms
                    common = [
                        (position_of[code], position) for position, code in enumerate(terms) if code in position_of
                    ]
                    if common:
                        self.pairs[first, second] = common
        self.neighbours = {
            first: [neighbour for subgoal, neighbour in self.pairs if subgoal == first] for first in range(count)
        }

    def holds(self, first: int, row: Fact, second: int, other: Fact) -> bool:
        return all(
            row[position] == other[other_position] for position, other_position in self.pairs.get((first, second), ())
        )


def _propagate(
    index: int, row: Fact, rows: list[list[Fact]], chosen: dict[int, Fact], agree: _Agreement
) -> dict[int, Fact] | None:
    """Return the facts (rows) to which other subgoals must be mapped if one is mapped to ``row``; None if they
    contradict each other or earlier choices.
    """
    implied = {index: row}
    pending = [index]
    while pending:
        current = pending.pop()
        for other in agree.neighbours[current]:
            fixed = implied.get(other, chosen.get(other))
            fitting = [option for option in rows[other] if agree.holds(current, implied[current], other, option)]
            if fixed is not None:
                if fixed not in fitting:
                    return None
            elif not fitting:
                return None
            elif len(fitting) == 1:
                implied[other] = fitting[0]
                pending.append(other)
    return implied
