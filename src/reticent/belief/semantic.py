"""Semantic definitions: what must not become likely, to whom, and how likely is too much.

A small exact engine: it enumerates all databases, so it is for tables of a few people. It is what the syntactic definitions are
checked against; each is offered only with a semantic statement that it is equivalent to, or bounds.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, get_args

from reticent.base.exact import Number, exact, whole
from reticent.definitions import exceeds_logarithm
from reticent.errors import DataError, PolicyError, did_you_mean

Database = tuple[str, ...]
Measure = Literal["positive", "at_least", "negative", "difference", "ratio", "breach", "odds", "log_odds"]
_MOST_DATABASES = 500_000
_INFINITE = float("inf")


@dataclass(frozen=True)
class Predicate:
    """Something about a database that is to be protected, such as ``X[S] = flu``."""

    name: str
    holds: Callable[[Database], bool]


@dataclass(frozen=True)
class SemanticAdversary:
    """What an adversary believes before: a weight for each database; these need not add up to 1."""

    name: str
    weight: Callable[[Database], Fraction]


@dataclass(frozen=True)
class PossibleView:
    """Something that may be shown, and how likely each database shows it."""

    name: str
    likelihood: Callable[[Database], Fraction]


class Knowable(Protocol):
    """What a semantic definition is about: the databases that there may be, and what may be shown of them."""

    def databases(self) -> Iterator[Database]:
        """Every database that there may be."""

    def views(self) -> tuple[PossibleView, ...]:
        """Everything that may be shown; each must be safe."""


@dataclass(frozen=True)
class RandomSetting:
    """A mechanism on a few databases: ``chances[output][i]`` is the chance of an output if the i-th of ``possible`` is the database."""

    possible: tuple[Database, ...]
    chances: Mapping[str, Sequence[Number]]

    def __post_init__(self) -> None:
        if len(set(self.possible)) != len(self.possible) or not self.possible:
            raise PolicyError("A mechanism needs different databases to run on.")
        given = {
            name: tuple(exact(chance, f"the chance of {name}", low=0, high=1) for chance in listed)
            for name, listed in self.chances.items()
        }
        object.__setattr__(self, "chances", given)
        for name, listed in given.items():
            if len(listed) != len(self.possible):
                raise PolicyError(f"The output {name!r} needs a chance for each of {len(self.possible)} databases.")
        for place, database in enumerate(self.possible):
            total = sum((listed[place] for listed in given.values()), start=Fraction(0))
            if total != 1:
                raise PolicyError(f"The chances of all outputs for {database} add up to {total}, not to 1.")

    def databases(self) -> Iterator[Database]:
        """Every database that there may be."""
        return iter(self.possible)

    def views(self) -> tuple[PossibleView, ...]:
        """One view an output."""
        place_of = {database: place for place, database in enumerate(self.possible)}

        def chance_of(output: str) -> Callable[[Database], Fraction]:
            listed = self.chances[output]
            return lambda database: Fraction(listed[place_of[database]])

        return tuple(PossibleView(name, chance_of(name)) for name in self.chances)

    def between(self, first: Database, second: Database) -> SemanticAdversary:
        """An adversary who knows that it is one of two databases, and finds both equally likely."""
        return SemanticAdversary(f"{first} or {second}", lambda database: Fraction(database in (first, second)))

    def is_database(self, wanted: Database) -> Predicate:
        """That a database is the one."""
        return Predicate(f"the database is {wanted}", lambda database: database == wanted)


@dataclass(frozen=True)
class SemanticSetting:
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

    def views(self) -> tuple[PossibleView, ...]:
        """The one thing that is shown, for certain."""
        return (PossibleView("the release", lambda database: Fraction(self.shows(database))),)

    def value_of(self, person: str, value: str) -> Predicate:
        """That a person has a value."""
        return self.value_in(person, (value,), f"{person}={value}")

    def value_in(self, person: str, values: Sequence[str], name: str | None = None) -> Predicate:
        """That a person's value is one of several: a range, or a category of values that mean nearly the same."""
        place, chosen = self.people.index(person), frozenset(values)
        return Predicate(name or f"{person} in {{{', '.join(values)}}}", lambda database: database[place] in chosen)

    def ruling_out(self, person: str, values: Sequence[str]) -> SemanticAdversary:
        """An adversary who knows that a person does not have some values, and thinks all other databases equally likely."""
        place, excluded = self.people.index(person), frozenset(values)
        name = f"{person} has none of {{{', '.join(sorted(excluded))}}}" if excluded else "knows nothing more"
        return SemanticAdversary(name, lambda database: Fraction(database[place] not in excluded))


@dataclass(frozen=True)
class SemanticVerdict:
    """Whether the definition holds, and the worst that there is: which adversary, which predicate, which beliefs."""

    holds: bool
    adversary: str
    predicate: str
    prior: Fraction
    posterior: Fraction


@dataclass(frozen=True)
class SemanticDefinition:
    """Pairs of an adversary and a predicate, and a measure that none of them may violate.

    ``positive``: no belief above ``limit`` (``at_least``: none of ``limit`` or more); ``negative``: none below; ``difference``, ``ratio``: no
    belief farther from the one before than ``limit``; ``breach``: no belief of at most ``before`` grows beyond ``limit``; ``odds``: no odds grow
    by more than the factor ``limit``, ``log_odds``: by more than ``e^limit``. Decided exactly.
    """

    pairs: tuple[tuple[SemanticAdversary, Predicate], ...]
    measure: Measure
    limit: Fraction
    before: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.measure not in get_args(Measure):
            raise PolicyError(f"There is no measure {self.measure!r}.{did_you_mean(self.measure, get_args(Measure))}")
        if not self.pairs:
            raise PolicyError("A semantic definition needs at least one adversary with something to learn.")

    def assess(self, subject: Knowable) -> SemanticVerdict:
        """Decide exactly, by all databases and all views. An adversary whose knowledge contradicts a view learns nothing from it."""
        databases = list(subject.databases())
        compares = self.measure not in ("positive", "at_least", "negative")
        worst: tuple[Fraction | float, SemanticAdversary, Predicate, Fraction] | None = None
        for view in subject.views():
            likely = [(database, view.likelihood(database)) for database in databases]
            shown = [(database, chance) for database, chance in likely if chance]
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
        return SemanticVerdict(not self._violated(badness), adversary.name, predicate.name, before, after)

    def _badness(self, before: Fraction, after: Fraction) -> Fraction | float:
        if self.measure == "breach":
            return after if before <= self.before else Fraction(0)
        if self.measure in ("odds", "log_odds"):
            if not 0 < before < 1:
                return Fraction(0)
            return _INFINITE if after == 1 else _odds(after) / _odds(before)
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
        if self.measure == "log_odds":
            # The logarithm of a fraction other than 1 is never a fraction, so that nothing hangs on a tie.
            return badness > 1 and (badness == _INFINITE or not exceeds_logarithm(self.limit, Fraction(badness)))
        if self.measure == "at_least":
            return badness >= self.limit
        return badness > (-self.limit if self.measure == "negative" else self.limit)


def probability(
    databases: Sequence[tuple[Database, Fraction]], adversary: SemanticAdversary, predicate: Predicate
) -> Fraction | None:
    """The chance of a predicate among databases and how likely they are otherwise, as the adversary weighs them; None where all weigh nothing."""
    weighed = [(database, chance * adversary.weight(database)) for database, chance in databases]
    total = sum((weight for _, weight in weighed), start=Fraction(0))
    if total == 0:
        return None
    return sum((weight for database, weight in weighed if predicate.holds(database)), start=Fraction(0)) / total


def _before(databases: Sequence[Database], adversary: SemanticAdversary, predicate: Predicate) -> Fraction:
    """The belief before the release, of an adversary who thinks some database that shows it possible."""
    belief = probability([(database, Fraction(1)) for database in databases], adversary, predicate)
    assert belief is not None
    return belief


def _odds(belief: Fraction) -> Fraction:
    return belief / (1 - belief)


def semantic_diversity(
    setting: SemanticSetting,
    c: Number,
    l: int,  # noqa: E741 - as in the definition
    dont_care: Sequence[str] = (),
) -> SemanticDefinition:
    """What recursive (c,l)-diversity means: who rules out any ``l - 2`` values is less than ``c/(c + 1)`` sure of any other.

    (The source prints c.) Values in ``dont_care`` are not protected.
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


def semantic_sets(setting: SemanticSetting, c: Number, sets: Sequence[Sequence[str]]) -> SemanticDefinition:
    """What range and category predicates mean: nobody is ``c`` sure or more that a person's value is in one of the sets."""
    pairs = [
        (setting.ruling_out(person, ()), setting.value_in(person, each)) for person in setting.people for each in sets
    ]
    return SemanticDefinition(tuple(pairs), "at_least", exact(c, "semantic_sets: c", low=0, high=1))


def semantic_negative(setting: SemanticSetting, c: Number, values: Sequence[str]) -> SemanticDefinition:
    """What must-keep values mean: nobody's belief that a person has one of these values falls below ``c``."""
    pairs = [
        (setting.ruling_out(person, ()), setting.value_of(person, value))
        for person in setting.people
        for value in values
    ]
    return SemanticDefinition(tuple(pairs), "negative", exact(c, "semantic_negative: c", low=0, high=1))


def rho_privacy(
    priors: Sequence[SemanticAdversary], predicates: Sequence[Predicate], rho1: Number, rho2: Number
) -> SemanticDefinition:
    """(rho1, rho2)-privacy: nothing that was believed at most ``rho1`` is believed more than ``rho2`` after (no upward breach).

    Predicates and their complements together bound both directions: a downward breach of one is an upward breach of the other.
    """
    low, high = exact(rho1, "rho_privacy: rho1", low=0, high=1), exact(rho2, "rho_privacy: rho2", low=0, high=1)
    if not low < high:
        raise PolicyError(f"rho_privacy: rho1 must be below rho2, but they are {low} and {high}.")
    return SemanticDefinition(tuple(itertools.product(priors, predicates)), "breach", high, low)


def gamma_amplification(setting: RandomSetting, gamma: Number) -> SemanticDefinition:
    """gamma-amplification: no output is more than ``gamma`` times as likely for one database as for another.

    In terms of belief: an adversary who knows that it is one of two databases sees no odds grow by more than ``gamma``, whichever two these are. It
    bounds every (rho1, rho2) with ``rho2 (1 - rho1) / (rho1 (1 - rho2)) >= gamma``, whatever the prior.
    """
    return SemanticDefinition(
        _of_two(setting, setting.possible, lambda first, second: True),
        "odds",
        exact(gamma, "gamma_amplification: gamma", low=1),
    )


def differential_privacy(setting: RandomSetting, epsilon: Number) -> SemanticDefinition:
    """epsilon-differential privacy: no output is more than ``e^epsilon`` times as likely after one person's value changed.

    In terms of belief: an adversary who knows everybody but one sees no odds about that one grow by more than ``e^epsilon``; equivalently, every set
    of values keeps its belief up to that factor. Databases are neighbours where they differ in one place.
    """
    return SemanticDefinition(
        _of_two(setting, setting.possible, _differ_in_one),
        "log_odds",
        exact(epsilon, "differential_privacy: epsilon", low=0),
    )


def _differ_in_one(first: Database, second: Database) -> bool:
    return len(first) == len(second) and sum(one != other for one, other in zip(first, second, strict=True)) == 1


def _of_two(
    setting: RandomSetting, databases: Sequence[Database], chosen: Callable[[Database, Database], bool]
) -> tuple[tuple[SemanticAdversary, Predicate], ...]:
    """Adversaries who hesitate between two databases, each after the first of them."""
    pairs = [(one, other) for one, other in itertools.permutations(databases, 2) if chosen(one, other)]
    return tuple((setting.between(one, other), setting.is_database(one)) for one, other in pairs)


def perfect_privacy(
    tuples: Sequence[str],
    secret: Callable[[frozenset[str]], object],
    view: Callable[[frozenset[str]], object],
) -> SemanticVerdict:
    """Perfect privacy: whatever product distribution the tuples have, no answer of ``view`` changes the chance of any answer of ``secret``.

    Adversaries are all who give each tuple a chance of its own, independently. Decided by critical tuples: a tuple is critical for a query if
    adding it to some database changes the answer, and privacy is perfect exactly if no tuple is critical for both. Where it is not, the
    verdict names a distribution (chances with small denominators) under which a belief changes, and both beliefs.
    """
    if 2 ** len(tuples) > _MOST_DATABASES:
        raise PolicyError(f"{len(tuples)} tuples are too many: all their sets are looked at.")
    chosen = [frozenset(each) for size in range(len(tuples) + 1) for each in itertools.combinations(tuples, size)]
    answers = {each: (secret(each), view(each)) for each in chosen}
    shared = [each for each in tuples if _is_critical(each, answers, 0) and _is_critical(each, answers, 1)]
    if not shared:
        return SemanticVerdict(True, "every product distribution", "every answer", Fraction(1), Fraction(1))
    for denominator in itertools.count(2):
        for numerators in itertools.product(range(1, denominator), repeat=len(tuples)):
            chances = {name: Fraction(place, denominator) for name, place in zip(tuples, numerators, strict=True)}
            found = _changed_belief(answers, chances)
            if found is not None:
                prior, after, told = found
                named = ", ".join(f"{name} {chance}" for name, chance in chances.items())
                return SemanticVerdict(False, named, told, prior, after)
    raise AssertionError("a shared critical tuple makes some product distribution tell")


def _is_critical(name: str, answers: Mapping[frozenset[str], tuple[object, object]], query: int) -> bool:
    return any(answer[query] != answers[each | {name}][query] for each, answer in answers.items())


def _changed_belief(
    answers: Mapping[frozenset[str], tuple[object, object]], chances: Mapping[str, Fraction]
) -> tuple[Fraction, Fraction, str] | None:
    """An answer of the secret whose chance some answer of the view changes, before and after; None where there is none."""
    joint: dict[tuple[object, object], Fraction] = {}
    for each, answer in answers.items():
        weight = Fraction(1)
        for name, chance in chances.items():
            weight *= chance if name in each else 1 - chance
        joint[answer] = joint.get(answer, Fraction(0)) + weight
    secrets: dict[object, Fraction] = {}
    views: dict[object, Fraction] = {}
    for (told, shown), weight in joint.items():
        secrets[told] = secrets.get(told, Fraction(0)) + weight
        views[shown] = views.get(shown, Fraction(0)) + weight
    for told, shown in itertools.product(secrets, views):
        after = joint.get((told, shown), Fraction(0)) / views[shown]
        if after != secrets[told]:
            return secrets[told], after, f"the secret is {told} where the view is {shown}"
    return None
