"""The worst facts behind a disclosure: about whom, about which values, and in words.

A witness is k simple implications ``A_i -> A`` with one common consequent. Ties go to the fewest people, then to lower
buckets, then to earlier values, so the same release always yields the same witness. Facts without content (more atoms
than a bucket has values) are omitted, so a witness may have fewer than k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from reticent.worst_case.bucket_people import Population
from reticent.worst_case.contenders import Contender, strongest
from reticent.worst_case.disclosure import fact_count, worst_negations
from reticent.worst_case.histogram_buckets import Buckets, Measured
from reticent.worst_case.known_facts import Clause, PersonValue
from reticent.worst_case.screen import screen
from reticent.worst_case.solver import conditional

Name: TypeAlias = Callable[["RankedAtom"], tuple[str, str]]
"""The display names of an atom's person and value."""


@dataclass(frozen=True, order=True)
class RankedAtom:
    """The statement that person number ``person`` of ``bucket`` has its ``rank``-th most frequent value, from 0."""

    bucket: int
    person: int
    rank: int


@dataclass(frozen=True)
class WorstFacts:
    """Facts that raise the attacker's confidence in ``consequent`` to ``disclosure``.

    Every antecedent represents the fact "antecedent -> consequent"; for an antecedent about the same person as the
    consequent that is the negation "this person does not have that value".
    """

    consequent: RankedAtom
    antecedents: tuple[RankedAtom, ...]
    disclosure: Fraction

    @property
    def buckets(self) -> tuple[int, ...]:
        """The buckets that the facts are about."""
        return tuple(sorted({atom.bucket for atom in (self.consequent, *self.antecedents)}))

    @property
    def people(self) -> int:
        """The number of people that the facts are about."""
        return len({(atom.bucket, atom.person) for atom in (self.consequent, *self.antecedents)})

    def sentences(self, name: Name | None = None) -> list[str]:
        """The facts in words, one sentence each."""
        name = name or plain_name
        target, outcome = name(self.consequent)
        lines = []
        for atom in self.antecedents:
            person, value = name(atom)
            if (atom.bucket, atom.person) == (self.consequent.bucket, self.consequent.person):
                lines.append(f"{person} does not have {value}")
            else:
                lines.append(f"if {person} has {value} then {target} has {outcome}")
        return lines

    def replay(self, histograms: Measured) -> Fraction:
        """The disclosure recomputed by the exact solver for explicit facts, which is independent of the search."""
        buckets = Buckets.of(histograms)
        population = Population(
            [{str(rank): count for rank, count in enumerate(buckets[bucket])} for bucket in self.buckets],
            {
                f"{atom.bucket}/{atom.person}": self.buckets.index(atom.bucket)
                for atom in (self.consequent, *self.antecedents)
            },
        )
        target = _as_atom(self.consequent)
        known = [Clause(frozenset({_as_atom(atom)}), frozenset({target})) for atom in self.antecedents]
        disclosure = conditional(population, known, [Clause(frozenset(), frozenset({target}))])
        assert disclosure is not None, "a witness never contradicts the release"
        return disclosure

    def conclusion(self, name: Name | None = None) -> str:
        """The attacker's resulting belief, in words."""
        person, value = (name or plain_name)(self.consequent)
        decimal = "" if self.disclosure == 1 else f" = {float(self.disclosure):.4f}"
        return f"{person} has {value} with probability {self.disclosure}{decimal}"


def _as_atom(atom: RankedAtom) -> PersonValue:
    return PersonValue(f"{atom.bucket}/{atom.person}", str(atom.rank))


def plain_name(atom: RankedAtom) -> tuple[str, str]:
    """Names for buckets that have only counts."""
    return f"person {atom.person + 1} of bucket {atom.bucket + 1}", f"value {atom.rank + 1}"


def witness(histograms: Measured, k: int) -> WorstFacts:
    """The worst ``k`` facts about these buckets, and what they disclose.

    >>> worst = witness([(2, 2, 1), (2, 1, 1, 1)], k=1)
    >>> worst.sentences(), worst.conclusion()
    (['person 1 of bucket 1 does not have value 2'], 'person 1 of bucket 1 has value 1 with probability 2/3 = 0.6667')
    """
    buckets, k = Buckets.of(histograms), fact_count(k)
    if k >= buckets.fewest_values - 1:
        certain_bucket = int(np.flatnonzero(buckets.distinct <= k + 1)[0])
        ranks = range(1, int(buckets.distinct[certain_bucket]))
        return WorstFacts(
            RankedAtom(certain_bucket, 0, 0), tuple(RankedAtom(certain_bucket, 0, rank) for rank in ranks), Fraction(1)
        )
    contenders = strongest(buckets, screen(buckets, k).uses(fact_count=k), k, by_people=True)
    ratio, shares = _best_shares(contenders, k)
    consequent: RankedAtom | None = None
    antecedents: list[RankedAtom] = []
    for contender, antecedent_count, holds in shares:
        profile = contender.table.profile(antecedent_count + holds)
        atoms = [
            RankedAtom(contender.bucket, person, rank)
            for person, atom_count in enumerate(profile)
            for rank in range(atom_count)
        ]
        if holds:
            consequent, atoms = atoms[0], atoms[1:]
        antecedents += atoms
    assert consequent is not None, "every optimum places A"
    return WorstFacts(consequent, tuple(antecedents), 1 / (1 + ratio))


def negation_witness(histograms: Measured, k: int) -> WorstFacts:
    """The worst ``k`` facts of the form "this person does not have that value": the l-diversity counterpart."""
    buckets, k = Buckets.of(histograms), fact_count(k)
    disclosure, bucket = worst_negations(buckets, k)
    ranks = range(1, min(k + 1, int(buckets.distinct[bucket])))
    return WorstFacts(RankedAtom(bucket, 0, 0), tuple(RankedAtom(bucket, 0, rank) for rank in ranks), disclosure)


Share: TypeAlias = tuple[Contender, int, bool]
"""A bucket, the antecedents it takes, and whether it holds A."""


def _best_shares(contenders: Sequence[Contender], k: int) -> tuple[Fraction, list[Share]]:
    """Return the least ratio with ``k`` antecedents, and per bucket how many of them it takes and whether it holds the
    predicted atom A.

    Dynamic programming over the contenders from the last to the first: a state is (antecedents left to place, whether A
    is placed), its cost (ratio, people). Ties go to fewer people and then lower buckets.
    """
    State: TypeAlias = tuple[int, bool]
    Cost: TypeAlias = tuple[Fraction, int]
    tables: list[dict[State, Cost]] = [{(0, True): (Fraction(1), 0)}]
    for contender in reversed(contenders):
        later_costs = tables[-1]
        costs_here: dict[State, Cost] = {}
        for antecedents_left in range(k + 1):
            for placed in (False, True):
                options = [_cost(later_costs, share, antecedents_left, placed) for share in _shares(contender, placed)]
                feasible = [cost for cost in options if cost is not None]
                if feasible:
                    costs_here[antecedents_left, placed] = min(feasible)
        tables.append(costs_here)
    tables.reverse()

    shares: list[Share] = []
    antecedents_left, placed = k, False
    for index, contender in enumerate(contenders):
        for share in _shares(contender, placed):
            if _cost(tables[index + 1], share, antecedents_left, placed) == tables[index][antecedents_left, placed]:
                if share[1] or share[2]:
                    shares.append(share)
                antecedents_left, placed = antecedents_left - share[1], placed or share[2]
                break
    return tables[0][k, False][0], shares


def _shares(contender: Contender, placed: bool) -> list[Share]:
    """The possible shares of this bucket, in order of preference: A, then most antecedents, then nothing."""
    holding = [] if placed else [(contender, taken, True) for taken in reversed(contender.holding)]
    return [*holding, *((contender, taken, False) for taken in reversed(contender.aside)), (contender, 0, False)]


def _cost(
    after: Mapping[tuple[int, bool], tuple[Fraction, int]], share: Share, antecedents_left: int, placed: bool
) -> tuple[Fraction, int] | None:
    """Return (ratio, people) if a bucket takes this share of the antecedents and the later buckets are optimal; None if
    that is infeasible.
    """
    contender, antecedent_count, holds = share
    later_cost = after.get((antecedents_left - antecedent_count, placed or holds))
    if later_cost is None:
        return None
    factor = contender.table.holding(antecedent_count) if holds else contender.table.least(antecedent_count)
    return later_cost[0] * factor, later_cost[1] + contender.table.people(antecedent_count + holds)
