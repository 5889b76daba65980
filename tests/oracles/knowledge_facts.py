"""The belief that follows from clauses, by placing people one after the other as the specification writes it down.

Plain recursion over fractions, no merging of states and no components. ``worst_by_exchange`` tries every set of
antecedents over a few labelled people of each (possibly large) bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

Atom = tuple[int, int, int]
"""(bucket, person, value)."""
Clause = tuple[tuple[Atom, ...], tuple[Atom, ...]]
"""(antecedents, consequents)."""


def belief(histograms: Sequence[Sequence[int]], clauses: Sequence[Clause], target: Atom) -> tuple[Fraction, Fraction]:
    """(chance of the clauses, chance of the clauses and the target)."""
    mentioned = sorted({atom[:2] for given, then in clauses for atom in (*given, *then)} | {target[:2]})
    values = {
        bucket: sorted(
            {atom[2] for given, then in clauses for atom in (*given, *then) if atom[0] == bucket}
            | ({target[2]} if target[0] == bucket else set())
        )
        for bucket in {bucket for bucket, _ in mentioned}
    }
    urns: dict[int, dict[int | None, int]] = {}
    for bucket, named in values.items():
        urns[bucket] = {value: histograms[bucket][value] if value < len(histograms[bucket]) else 0 for value in named}
        urns[bucket][None] = sum(histograms[bucket]) - sum(urns[bucket].values())
    left = {bucket: sum(histograms[bucket]) for bucket in values}
    assigned: dict[tuple[int, int], int | None] = {}
    total = [Fraction(0), Fraction(0)]

    def false(clause: Clause) -> bool:
        given, then = clause
        return all(atom[:2] in assigned and assigned[atom[:2]] == atom[2] for atom in given) and all(
            atom[:2] in assigned and assigned[atom[:2]] != atom[2] for atom in then
        )

    def place(turn: int, weight: Fraction) -> None:
        if turn == len(mentioned):
            total[0] += weight
            total[1] += weight if assigned[target[:2]] == target[2] else 0
            return
        person = mentioned[turn]
        bucket = person[0]
        for value, count in list(urns[bucket].items()):
            if not count:
                continue
            assigned[person] = value
            if not any(false(clause) for clause in clauses):
                urns[bucket][value] -= 1
                left[bucket] -= 1
                place(turn + 1, weight * Fraction(count, left[bucket] + 1))
                urns[bucket][value] += 1
                left[bucket] += 1
            del assigned[person]

    place(0, Fraction(1))
    return total[0], total[1]


def worst_by_exchange(histograms: Sequence[Sequence[int]], k: int) -> Fraction:
    """The greatest belief over all ``k`` simple implications with a common consequent, ``k + 1`` people a bucket."""
    atoms = [
        (bucket, person, value)
        for bucket, counts in enumerate(histograms)
        for person in range(min(k + 1, sum(counts)))
        for value in range(len(counts))
    ]
    best = Fraction(0)
    for consequent in (atom for atom in atoms if atom[1] == 0):
        for antecedents in combinations([atom for atom in atoms if atom != consequent], k):
            clauses = [((atom,), (consequent,)) for atom in antecedents]
            both, target = belief(histograms, clauses, consequent)
            if both:
                best = max(best, target / both)
    return best
