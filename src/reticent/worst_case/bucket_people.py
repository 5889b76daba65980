"""The bucket of each person, and the contents of buckets: what an attacker with full identification knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.worst_case.known_facts import Clause, Fact, PersonValue

if TYPE_CHECKING:
    from reticent.core import Groups


@dataclass(frozen=True)
class Population:
    """Buckets with labelled histograms, and the bucket of every person that can be named.

    ``ambiguous`` names identify several rows. With ``whole``, everyone in ``bucket_of`` is in the release, so no bucket
    has more of them than its size; otherwise they are candidates from some list. ``unplaced`` has the reason for people
    without a bucket.
    """

    histograms: Sequence[Mapping[str, int]]
    bucket_of: Mapping[str, int]
    ambiguous: frozenset[str] = field(default=frozenset())
    whole: bool = True
    unplaced: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse empty buckets, and buckets to which more people are assigned than they have."""
        if not isinstance(self.histograms, GroupHistograms):
            for bucket, histogram in enumerate(self.histograms):
                if not histogram or any(count < 1 for count in histogram.values()):
                    raise DataError(f"Bucket {bucket} is empty or has a count below 1. Remove it, or fix the grouping.")
        if self.whole:
            self.check_room(self.bucket_of)

    @classmethod
    def of(cls, buckets: Iterable[Sequence[tuple[str, str]]]) -> Population:
        """Build it from the confidential table: for every bucket its (person, value) pairs."""
        rows = [list(bucket) for bucket in buckets]
        names = Counter(person for bucket in rows for person, _ in bucket)
        repeated = frozenset(person for person, count in names.items() if count > 1)
        bucket_of = {
            person: bucket_index
            for bucket_index, bucket in enumerate(rows)
            for person, _ in bucket
            if person not in repeated
        }
        return cls([Counter(value for _, value in bucket) for bucket in rows], bucket_of, repeated)

    def check_room(self, people: Iterable[str]) -> None:
        """Raise if a bucket has more people than its size."""
        for bucket, named in Counter(self.bucket_of[person] for person in people).items():
            if not 0 <= bucket < len(self.histograms):
                raise DataError(
                    f"A person is assigned to bucket {bucket}, but there are {len(self.histograms)} buckets."
                )
            if named > self.size(bucket):
                raise DataError(
                    f"{named} people are assigned to bucket {bucket}, which holds only {self.size(bucket)}."
                )

    def size(self, bucket: int) -> int:
        """The number of people in a bucket."""
        if isinstance(self.histograms, GroupHistograms):
            return int(self.histograms.groups.sizes[bucket])
        return sum(self.histograms[bucket].values())

    @cached_property
    def values(self) -> list[str]:
        """Every value that occurs anywhere."""
        if isinstance(self.histograms, GroupHistograms):
            return self.histograms.values
        return sorted({value for histogram in self.histograms for value in histogram})

    @cached_property
    def _known_values(self) -> frozenset[str]:
        return frozenset(self.values)

    @cached_property
    def _folded(self) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
        """Return people and values by their spelling without case."""
        people: dict[str, list[str]] = {}
        values: dict[str, list[str]] = {}
        for person in self.bucket_of:
            people.setdefault(person.casefold(), []).append(person)
        for value in self.values:
            values.setdefault(value.casefold(), []).append(value)
        return people, values

    def prior(self, atom: PersonValue) -> Fraction:
        """The prior probability of an atom."""
        bucket = self.bucket_of[atom.person]
        return Fraction(self.histograms[bucket].get(atom.value, 0), self.size(bucket))

    def resolve(self, fact: Fact) -> Fact:
        """The fact with names and values in canonical spelling. Raises PolicyError for an unknown person or value.

        Spelling must agree, except for case if that is unambiguous.
        """
        clauses = tuple(
            Clause(frozenset(map(self._atom, clause.given)), frozenset(map(self._atom, clause.then)))
            for clause in fact.clauses
        )
        return Fact(fact.text, clauses)

    def cost(self, fact: Fact) -> int:
        """The number of basic implications that the fact is worth."""
        return sum(map(self._clause_cost, fact.clauses))

    def _clause_cost(self, clause: Clause) -> int:
        """Return how many basic facts express a clause about some person."""
        if clause.given:
            return 1
        prices = []
        for person in clause.people:
            listed = {atom.value for atom in clause.then if atom.person == person}
            prices.append(len(set(self.histograms[self.bucket_of[person]]) - listed))
        return min(prices)

    def _atom(self, atom: PersonValue) -> PersonValue:
        """Return a fact with the spelling of the table. Raises for an unknown or ambiguous person, and for an unknown value."""
        people, values = self._folded
        if atom.person in self.ambiguous:
            raise PolicyError(f"{atom.person!r} names several rows. Use a key that identifies people.")
        if atom.person in self.unplaced:
            raise PolicyError(f"{atom.person!r} {self.unplaced[atom.person]}, so no facts about them can be measured.")
        person = _settle(atom.person, self.bucket_of, people)
        if person is None:
            raise PolicyError(f"There is no person called {atom.person!r}.{did_you_mean(atom.person, self.bucket_of)}")
        value = _settle(atom.value, self._known_values, values)
        if value is None:
            raise PolicyError(
                f"There is no value {atom.value!r}.{did_you_mean(atom.value, self.values)} "
                f"The values are: {', '.join(self.values[:30])}{', ...' if len(self.values) > 30 else ''}."
            )
        return PersonValue(person, value)


class GroupHistograms(Sequence[Mapping[str, int]]):
    """The histograms of groups, each converted to text only on demand."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self._known: dict[int, Mapping[str, int]] = {}

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, bucket: Any) -> Any:
        """Return the histogram of a bucket; cached."""
        if bucket not in self._known:
            if not 0 <= bucket < len(self):
                raise IndexError(bucket)
            self._known[bucket] = self.groups.histogram(bucket)
        return self._known[bucket]

    @property
    def values(self) -> list[str]:
        """Every value that occurs anywhere."""
        column = self.groups.domain.columns[0]
        present = self.groups.histograms.total(column.size) > 0
        return [text for text, is_present in zip(column.texts, present, strict=True) if is_present]


def _settle(word: str, words_known: Container[str], folded: Mapping[str, list[str]]) -> str | None:
    """Return the known word that ``word`` means: itself, or the only one that differs in case; None if there is none."""
    if word in words_known:
        return word
    candidates = folded.get(word.casefold(), [])
    return candidates[0] if len(candidates) == 1 else None
