"""The exact solver: the probability of a list of facts, and what follows from it.

*Guarantee*: exact rationals over all equally likely possible worlds. *Cost*: the problem is #P-complete; the work grows
with the people *mentioned*, not with the table. People are assigned values one by one; assignments that agree in the
remaining urn contents and in the open facts are counted together, so many facts about one bucket stay cheap where plain
enumeration would not. Facts without a common bucket are solved separately and multiplied. A budget bounds the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import perm
from typing import TYPE_CHECKING

from reticent.errors import ReticentError
from reticent.worst_case.bucket_people import Population
from reticent.worst_case.known_facts import Clause, PersonValue

if TYPE_CHECKING:
    from reticent.base.context import Context

BUDGET = 2_000_000
"""Maximum number of assignments that the exact solver tries."""

OTHER = None


class BudgetExceeded(ReticentError):
    """The exact answer would take more work than allowed."""

    exit_code = 1


@dataclass
class WorkBudget:
    """The remaining work, and whether to continue; shared by all counts behind one answer, hence mutable."""

    left: int = BUDGET
    context: Context | None = None

    def spend(self, placements: int) -> None:
        """Subtract ``placements`` from the budget of work. Raises :class:`BudgetExceeded` if too little is left."""
        if self.context is not None:
            self.context.check("going through the possible worlds")
        self.left -= placements
        if self.left < 0:
            raise BudgetExceeded(
                "The exact answer needs more work than the budget allows. Raise the budget, or accept an estimate."
            )


@dataclass(frozen=True)
class Component:
    """Facts that are connected through shared clauses or shared buckets."""

    clauses: tuple[Clause, ...]
    people: tuple[str, ...]


def components(population: Population, clauses: Sequence[Clause]) -> list[Component]:
    """Split clauses into independent components; people of one bucket always belong to one."""
    root: dict[int, int] = {}

    def find(bucket: int) -> int:
        """Return the representative of a bucket's component (union-find)."""
        while root.setdefault(bucket, bucket) != bucket:
            root[bucket] = bucket = root[root[bucket]]
        return bucket

    for clause in clauses:
        buckets = sorted({population.bucket_of[person] for person in clause.people})
        for bucket in buckets:
            root[find(bucket)] = find(buckets[0])
    clauses_by_root: dict[int, list[Clause]] = {}
    for clause in clauses:
        clauses_by_root.setdefault(find(population.bucket_of[min(clause.people)]), []).append(clause)
    return [Component(tuple(members), _order(population, members)) for members in clauses_by_root.values()]


def probability(population: Population, clauses: Sequence[Clause], budget: WorkBudget | None = None) -> Fraction:
    """The probability that all clauses hold in a random possible world: 0 exactly if they contradict the release."""
    budget = budget or WorkBudget()
    chance = Fraction(1)
    for component in components(population, tuple(dict.fromkeys(clauses))):
        chance *= _component_probability(population, component, budget)
        if not chance:
            break
    return chance


def conditional(
    population: Population, known: Sequence[Clause], conclusion: Sequence[Clause], budget: WorkBudget | None = None
) -> Fraction | None:
    """The probability of ``conclusion`` given ``known``, or None if ``known`` contradicts the release."""
    budget = budget or WorkBudget()
    consistent = probability(population, known, budget)
    return probability(population, [*known, *conclusion], budget) / consistent if consistent else None


def disclosure_risk(
    population: Population, known: Sequence[Clause], budget: WorkBudget | None = None
) -> tuple[Fraction, PersonValue] | None:
    """The highest certainty that ``known`` gives about any person, and its atom; None if it contradicts the release.

    People whom the facts do not mention are interchangeable within a bucket, so one per bucket is tried; values that
    are not mentioned in a bucket have probabilities proportional to their counts, so only the most frequent is tried.
    """
    budget = budget or WorkBudget()
    if not probability(population, known, budget):
        return None
    mentioned = {person for clause in known for person in clause.people}
    strangers: dict[int, str] = {}
    for person in sorted(population.bucket_of):
        if person not in mentioned:
            strangers.setdefault(population.bucket_of[person], person)
    best = Fraction(0), PersonValue("", "")
    touched = {population.bucket_of[person] for person in mentioned}
    for person in sorted(mentioned | set(strangers.values())):
        bucket = population.bucket_of[person]
        for value in _telling_values(population, bucket, known):
            atom = PersonValue(person, value)
            if bucket not in touched:
                chance = population.prior(atom)
            else:
                chance = conditional(population, known, [Clause(frozenset(), frozenset({atom}))], budget) or Fraction(0)
            if chance > best[0]:
                best = chance, atom
    return best


def _telling_values(population: Population, bucket: int, known: Sequence[Clause]) -> list[str]:
    """Return the values of a bucket that may be the most certain one: those mentioned in a fact, and the most frequent
    one of the others.
    """
    histogram = population.histograms[bucket]
    mentioned = {atom.value for clause in known for atom in clause.atoms if population.bucket_of[atom.person] == bucket}
    other_values = sorted(
        (value for value in histogram if value not in mentioned), key=lambda value: (-histogram[value], value)
    )
    return sorted(mentioned & set(histogram)) + other_values[:1]


_LARGE = 200


def _order(population: Population, clauses: Sequence[Clause]) -> tuple[str, ...]:
    """Return the people in the clauses in the order of assignment: greedily, so that few clauses are only partly
    assigned and people of one bucket are adjacent.
    """
    touching = _touching(clauses)
    if len(touching) > _LARGE:
        return tuple(sorted(touching, key=lambda name: (min(touching[name]), population.bucket_of[name], name)))
    unassigned = {number: set(clause.people) for number, clause in enumerate(clauses)}
    opened: set[int] = set()
    order: list[str] = []
    remaining = set(touching)
    last_bucket = -1
    while remaining:
        person = min(
            remaining,
            key=lambda name: (
                len(touching[name] - opened) - sum(unassigned[number] == {name} for number in touching[name]),
                population.bucket_of[name] != last_bucket,
                name,
            ),
        )
        remaining.remove(person)
        order.append(person)
        opened |= touching[person]
        for number in touching[person]:
            unassigned[number].discard(person)
        last_bucket = population.bucket_of[person]
    return tuple(order)


def _touching(clauses: Sequence[Clause]) -> dict[str, set[int]]:
    """For every person the indices of the clauses that mention them."""
    clauses_of: dict[str, set[int]] = {}
    for number, clause in enumerate(clauses):
        for person in clause.people:
            clauses_of.setdefault(person, set()).add(number)
    return clauses_of


Urn = tuple[int, ...]
State = tuple[tuple[Urn, ...], int]
"""The remaining urn contents, and the open clauses as bits."""


def _component_probability(population: Population, component: Component, budget: WorkBudget) -> Fraction:
    """Return the probability that all clauses of a component hold: people are assigned one after the other, and states that differ only in closed clauses are merged."""
    buckets = sorted({population.bucket_of[person] for person in component.people})
    index_of = {bucket: index for index, bucket in enumerate(buckets)}
    labels = [_labels(population, bucket, component.clauses) for bucket in buckets]
    urns = tuple(_urn(population.histograms[bucket], names) for bucket, names in zip(buckets, labels, strict=True))
    bucket_of_turn = [index_of[population.bucket_of[person]] for person in component.people]
    last_turn = {bucket: turn for turn, bucket in enumerate(bucket_of_turn)}
    turns = _turns(component, [labels[bucket] for bucket in bucket_of_turn])
    states: dict[State, int] = {(urns, (1 << len(component.clauses)) - 1): 1}
    for turn, bucket_index in enumerate(bucket_of_turn):
        step = turns[turn]
        next_states: dict[State, int] = {}
        for (urns, still_open), weight in states.items():
            urn = urns[bucket_index]
            budget.spend(len(urn))
            for choice, count in enumerate(urn):
                open_after = still_open & ~step.settled[choice]
                if not count or open_after & step.closing:
                    continue
                remaining_urn = (
                    () if last_turn[bucket_index] == turn else (*urn[:choice], count - 1, *urn[choice + 1 :])
                )
                state = (*urns[:bucket_index], remaining_urn, *urns[bucket_index + 1 :]), step.merged(open_after)
                next_states[state] = next_states.get(state, 0) + weight * count
        states = next_states
    worlds = 1
    for index, bucket in enumerate(buckets):
        worlds *= perm(population.size(bucket), bucket_of_turn.count(index))
    return Fraction(sum(states.values()), worlds)


@dataclass(frozen=True)
class _Turn:
    """The effect of assigning one person on the clauses: ``settled[choice]`` become true, ``closing`` must not stay open
    after it.

    ``alike`` pairs clauses that have become equal for everyone still to be assigned, so one bit serves both.
    """

    settled: tuple[int, ...]
    closing: int
    alike: tuple[tuple[int, int], ...]

    def merged(self, still_open: int) -> int:
        """Return the bits of the open clauses after each clause that has become equal to another is replaced by it."""
        for bit, representative in self.alike:
            if still_open & bit:
                still_open = still_open & ~bit | representative
        return still_open


def _turns(component: Component, labels: Sequence[Sequence[str | None]]) -> list[_Turn]:
    """Return, for every person in order, which clauses each value settles, which must be closed then, and which became equal."""
    clauses, touching = component.clauses, _touching(component.clauses)
    turn_of = {person: turn for turn, person in enumerate(component.people)}
    first_clause: dict[tuple[frozenset[PersonValue], frozenset[PersonValue]], int] = {}
    turns = []
    for turn, person in enumerate(component.people):
        numbers = sorted(touching[person])
        closing = 0
        for number in numbers:
            if max(turn_of[clause_person] for clause_person in clauses[number].people) == turn:
                closing |= 1 << number
        turns.append(
            _Turn(
                tuple(_settled(clauses, numbers, person, value) for value in labels[turn]),
                closing,
                _alike(clauses, numbers, turn_of, turn, first_clause),
            )
        )
    return turns


def _alike(
    clauses: Sequence[Clause],
    numbers: Sequence[int],
    turn_of: Mapping[str, int],
    turn: int,
    first_clause: dict[tuple[frozenset[PersonValue], frozenset[PersonValue]], int],
) -> tuple[tuple[int, int], ...]:
    """The clauses that this turn reduced to another existing clause.

    An open clause is equivalent to its literals on people still to be assigned; ``first_clause`` remembers the first clause
    with these.
    """
    pairs = []
    for number in numbers:
        clause = clauses[number]
        open_given, open_then = (
            frozenset(atom for atom in side if turn_of[atom.person] > turn) for side in (clause.given, clause.then)
        )
        first = first_clause.setdefault((open_given, open_then), number)
        if first != number:
            pairs.append((1 << number, 1 << first))
    return tuple(pairs)


def _labels(population: Population, bucket: int, clauses: Iterable[Clause]) -> list[str | None]:
    """Return the values mentioned about people of a bucket, and one label for all other values."""
    mentioned = {
        atom.value for clause in clauses for atom in clause.atoms if population.bucket_of[atom.person] == bucket
    }
    return [*sorted(mentioned), OTHER]


def _urn(histogram: Mapping[str, int], labels: Sequence[str | None]) -> Urn:
    named = [histogram.get(label, 0) for label in labels if label is not OTHER]
    return (*named, sum(histogram.values()) - sum(named))


def _settled(clauses: Sequence[Clause], numbers: Iterable[int], person: str, value: str | None) -> int:
    """Bits of the clauses that become true if this person has this value."""
    bits = 0
    for number in numbers:
        clause = clauses[number]
        denied = any(atom.person == person and atom.value != value for atom in clause.given)
        granted = any(atom.person == person and atom.value == value for atom in clause.then)
        bits |= (denied or granted) << number
    return bits
