"""Semantic definitions: what must not become likely, to whom, and how likely is too much (R-LD-40).

A small exact engine: it enumerates all databases, so it is for tables of a few people. It is what the syntactic definitions are
checked against; each is offered only with a semantic statement that it is equivalent to, or bounds.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.exact import Number, exact, whole

Database = tuple[str, ...]
Measure = Literal["positive", "at_least", "negative", "difference", "ratio"]
_MOST_DATABASES = 500_000


@dataclass(frozen=True)
class Predicate:
    """Something about a database that is to be protected, such as ``X[S] = flu``."""

    name: str
    holds: Callable[[Database], bool]


@dataclass(frozen=True)
class Adversary:
    """What somebody believes before: a weight for each database; these need not add up to 1."""

    name: str
    weight: Callable[[Database], Fraction]


@dataclass(frozen=True)
class Setting:
    """The people of a table, in groups that a release shows with their histograms of values.

    A database gives every person a value; the release rules out those that do not show its histograms.
    """

    groups: tuple[tuple[str, ...], ...]
    released: tuple[Mapping[str, int], ...]
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.groups) != len(self.released):
            raise PolicyError("A setting needs one released histogram for each group of people.")
        for members, histogram in zip(self.groups, self.released, strict=True):
            if len(members) != sum(histogram.values()):
                raise PolicyError(
                    f"The group of {', '.join(members)} has {len(members)} people and {sum(histogram.values())} values."
                )
            for value in histogram:
                if value not in self.values:
                    raise PolicyError(f"The value {value!r} is not in the domain.{did_you_mean(value, self.values)}")
        if len(self.values) ** len(self.people) > _MOST_DATABASES:
            raise PolicyError(
                f"{len(self.values)} values for {len(self.people)} people are more than {_MOST_DATABASES} databases. "
                "The semantic engine is for small tables; use the definitions of reticent.definitions for others."
            )

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody, group by group."""
        return tuple(person for members in self.groups for person in members)

    def databases(self) -> Iterator[Database]:
        """Every way to give everybody a value."""
        return itertools.product(self.values, repeat=len(self.people))

    def shows(self, database: Database) -> bool:
        """Whether a database gives the released histograms."""
        start = 0
        for members, histogram in zip(self.groups, self.released, strict=True):
            if Counter(database[start : start + len(members)]) != Counter(histogram):
                return False
            start += len(members)
        return True

    def value_of(self, person: str, value: str) -> Predicate:
        """That a person has a value."""
        return self.value_in(person, (value,), f"{person}={value}")

    def value_in(self, person: str, values: Sequence[str], name: str | None = None) -> Predicate:
        """That a person's value is one of several: a range, or a category of values that mean nearly the same."""
        place, chosen = self.people.index(person), frozenset(values)
        return Predicate(name or f"{person} in {{{', '.join(values)}}}", lambda database: database[place] in chosen)

    def ruling_out(self, person: str, values: Sequence[str]) -> Adversary:
        """Somebody who knows that a person does not have some values, and thinks all other databases equally likely."""
        place, excluded = self.people.index(person), frozenset(values)
        name = f"{person} has none of {{{', '.join(sorted(excluded))}}}" if excluded else "knows nothing more"
        return Adversary(name, lambda database: Fraction(database[place] not in excluded))


@dataclass(frozen=True)
class Verdict:
    """Whether the definition holds, and the worst that there is: which adversary, which predicate, which beliefs."""

    holds: bool
    adversary: str
    predicate: str
    prior: Fraction
    posterior: Fraction


@dataclass(frozen=True)
class SemanticDefinition:
    """Pairs of an adversary and a predicate, and a measure that none of them may violate (R-LD-40).

    ``positive``: no belief above ``limit`` (``at_least``: none of ``limit`` or more); ``negative``: none below; ``difference``, ``ratio``: no
    belief farther from the one before than ``limit``.
    """

    pairs: tuple[tuple[Adversary, Predicate], ...]
    measure: Measure
    limit: Fraction

    def __post_init__(self) -> None:
        if self.measure not in get_args(Measure):
            raise PolicyError(f"There is no measure {self.measure!r}.{did_you_mean(self.measure, get_args(Measure))}")
        if not self.pairs:
            raise PolicyError("A semantic definition needs at least one adversary with something to learn.")

    def assess(self, setting: Setting) -> Verdict:
        """Decide exactly, by all databases. An adversary whose knowledge contradicts the release learns nothing from it."""
        databases = list(setting.databases())
        shown = [database for database in databases if setting.shows(database)]
        compares = self.measure in ("difference", "ratio")
        worst: tuple[Fraction | float, Adversary, Predicate, Fraction] | None = None
        for adversary, predicate in self.pairs:
            after = probability(shown, adversary, predicate)
            if after is None:
                continue
            badness = self._badness(_before(databases, adversary, predicate) if compares else after, after)
            if worst is None or badness > worst[0]:
                worst = (badness, adversary, predicate, after)
        if worst is None:
            raise DataError("What every adversary knows contradicts the release.")
        badness, adversary, predicate, after = worst
        before = _before(databases, adversary, predicate)
        return Verdict(not self._violated(badness), adversary.name, predicate.name, before, after)

    def _badness(self, before: Fraction, after: Fraction) -> Fraction | float:
        if self.measure in ("positive", "at_least"):
            return after
        if self.measure == "negative":
            return -after
        if self.measure == "difference":
            return abs(after - before)
        if before == after:
            return Fraction(1)
        return max(after / before, before / after) if before and after else float("inf")

    def _violated(self, badness: Fraction | float) -> bool:
        if self.measure == "at_least":
            return badness >= self.limit
        return badness > (-self.limit if self.measure == "negative" else self.limit)


def probability(databases: Sequence[Database], adversary: Adversary, predicate: Predicate) -> Fraction | None:
    """The chance of a predicate among databases, as the adversary weighs them; None where all weigh nothing."""
    weighed = [(database, adversary.weight(database)) for database in databases]
    total = sum((weight for _, weight in weighed), start=Fraction(0))
    if total == 0:
        return None
    return sum((weight for database, weight in weighed if predicate.holds(database)), start=Fraction(0)) / total


def _before(databases: Sequence[Database], adversary: Adversary, predicate: Predicate) -> Fraction:
    """The belief before the release, of an adversary who thinks some database that shows it possible."""
    belief = probability(databases, adversary, predicate)
    assert belief is not None
    return belief


def semantic_diversity(setting: Setting, c: Number, l: int, dont_care: Sequence[str] = ()) -> SemanticDefinition:  # noqa: E741 - as in the definition
    """What recursive (c,l)-diversity means: who rules out any ``l - 2`` values is less than ``c/(c + 1)`` sure of any other.

    (The thesis prints c; R-LD-40 corrects it.) Values in ``dont_care`` are not protected.
    """
    ratio = exact(c, "semantic_diversity: c", low=0)
    whole(l, "semantic_diversity: l", low=2)
    pairs = []
    for person, value in itertools.product(setting.people, setting.values):
        if value in dont_care:
            continue
        others = [other for other in setting.values if other != value]
        for excluded in itertools.combinations(others, min(l - 2, len(others))):
            pairs.append((setting.ruling_out(person, excluded), setting.value_of(person, value)))
    if not pairs:
        raise PolicyError("semantic_diversity: every value is a don't-care value, so there is nothing to protect.")
    return SemanticDefinition(tuple(pairs), "at_least", ratio / (ratio + 1))


def semantic_sets(setting: Setting, c: Number, sets: Sequence[Sequence[str]]) -> SemanticDefinition:
    """What range and category predicates mean: nobody is ``c`` sure or more that a person's value is in one of the sets."""
    pairs = [
        (setting.ruling_out(person, ()), setting.value_in(person, each)) for person in setting.people for each in sets
    ]
    return SemanticDefinition(tuple(pairs), "at_least", exact(c, "semantic_sets: c", low=0, high=1))


def semantic_negative(setting: Setting, c: Number, values: Sequence[str]) -> SemanticDefinition:
    """What must-keep values mean: nobody's belief that a person has one of these values falls below ``c``."""
    pairs = [
        (setting.ruling_out(person, ()), setting.value_of(person, value))
        for person in setting.people
        for value in values
    ]
    return SemanticDefinition(tuple(pairs), "negative", exact(c, "semantic_negative: c", low=0, high=1))
