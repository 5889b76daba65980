"""Semantic definitions: what must not become likely, to which adversary, and how likely is too much.

A small exact engine that enumerates all databases, so it is for tables of a few people. The syntactic definitions are
tested against it; each has a semantic statement that it is equivalent to, or bounds.
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
    """A property of a database to be protected, such as ``X[S] = flu``."""

    name: str
    holds: Callable[[Database], bool]


@dataclass(frozen=True)
class SemanticAdversary:
    """The prior of an adversary: a weight for each database, not necessarily normalized."""

    name: str
    weight: Callable[[Database], Fraction]


@dataclass(frozen=True)
class PossibleView:
    """A possible output, and its probability for each database."""

    name: str
    likelihood: Callable[[Database], Fraction]


class Knowable(Protocol):
    """The subject of a semantic definition: the possible databases and outputs."""

    def databases(self) -> Iterator[Database]:
        """Yield every possible database."""

    def views(self) -> tuple[PossibleView, ...]:
        """Return every possible output; each must be safe."""


@dataclass(frozen=True)
class RandomSetting:
    """A mechanism on a few databases: ``chances[output][i]`` is the probability of an output given the i-th of ``possible``."""

    possible: tuple[Database, ...]
    chances: Mapping[str, Sequence[Number]]

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        if len(set(self.possible)) != len(self.possible) or not self.possible:
            raise PolicyError("A mechanism needs different databases to run on.")
        exact_chances = {
            name: tuple(exact(chance, f"the chance of {name}", low=0, high=1) for chance in output_chances)
            for name, output_chances in self.chances.items()
        }
        object.__setattr__(self, "chances", exact_chances)
        for name, output_chances in exact_chances.items():
            if len(output_chances) != len(self.possible):
                raise PolicyError(f"The output {name!r} needs a chance for each of {len(self.possible)} databases.")
        for index, database in enumerate(self.possible):
            total = sum((output_chances[index] for output_chances in exact_chances.values()), start=Fraction(0))
            if total != 1:
                raise PolicyError(f"The chances of all outputs for {database} add up to {total}, not to 1.")

    def databases(self) -> Iterator[Database]:
        """Yield every possible database."""
        return iter(self.possible)

    def views(self) -> tuple[PossibleView, ...]:
        """Return one view per output."""
        index_of = {database: index for index, database in enumerate(self.possible)}

        def chance_of(output: str) -> Callable[[Database], Fraction]:
            output_chances = self.chances[output]
            return lambda database: Fraction(output_chances[index_of[database]])

        return tuple(PossibleView(name, chance_of(name)) for name in self.chances)

    def between(self, first: Database, second: Database) -> SemanticAdversary:
        """Return an adversary who knows that it is one of two databases, both equally likely."""
        return SemanticAdversary(f"{first} or {second}", lambda database: Fraction(database in (first, second)))

    def is_database(self, database_wanted: Database) -> Predicate:
        """Return the predicate that the database is this one."""
        return Predicate(f"the database is {database_wanted}", lambda database: database == database_wanted)


@dataclass(frozen=True)
class SemanticSetting:
    """The people of a table, in groups released with their histograms of values.

    A database assigns every person a value; the release excludes those with other histograms.
    """

    groups: tuple[tuple[str, ...], ...]
    released: tuple[Mapping[str, int], ...]
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check that people and released values agree group by group, and that the databases are few enough to be
        listed.
        """
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
        """All people, group by group."""
        return tuple(person for members in self.groups for person in members)

    def databases(self) -> Iterator[Database]:
        """Yield every assignment of values to people."""
        return itertools.product(self.values, repeat=len(self.people))

    def shows(self, database: Database) -> bool:
        """True if a database has the released histograms."""
        start = 0
        for members, histogram in zip(self.groups, self.released, strict=True):
            if Counter(database[start : start + len(members)]) != Counter(histogram):
                return False
            start += len(members)
        return True

    def views(self) -> tuple[PossibleView, ...]:
        """Return the only output, which is certain."""
        return (PossibleView("the release", lambda database: Fraction(self.shows(database))),)

    def value_of(self, person: str, value: str) -> Predicate:
        """Return the predicate that a person has a value."""
        return self.value_in(person, (value,), f"{person}={value}")

    def value_in(self, person: str, values: Sequence[str], name: str | None = None) -> Predicate:
        """Return the predicate that a person's value is one of several: a range, or a category of similar values."""
        index, values_in = self.people.index(person), frozenset(values)
        return Predicate(name or f"{person} in {{{', '.join(values)}}}", lambda database: database[index] in values_in)

    def ruling_out(self, person: str, values: Sequence[str]) -> SemanticAdversary:
        """Return an adversary who knows that a person does not have some values, and considers all other databases equally likely."""
        index, excluded = self.people.index(person), frozenset(values)
        name = f"{person} has none of {{{', '.join(sorted(excluded))}}}" if excluded else "knows nothing more"
        return SemanticAdversary(name, lambda database: Fraction(database[index] not in excluded))


@dataclass(frozen=True)
class SemanticVerdict:
    """Whether the definition holds, and the worst case: adversary, predicate, beliefs."""

    holds: bool
    adversary: str
    predicate: str
    prior: Fraction
    posterior: Fraction


@dataclass(frozen=True)
class SemanticDefinition:
    """Pairs of an adversary and a predicate, and a measure that none may violate.

    ``positive``: no belief above ``limit`` (``at_least``: none of ``limit`` or more); ``negative``: none below;
    ``difference``, ``ratio``: no belief farther from the one before than ``limit``; ``breach``: no belief of at most
    ``before`` grows beyond ``limit``; ``odds``: no odds grow by more than the factor ``limit``, ``log_odds``: by more
    than ``e^limit``. Decided exactly.
    """

    pairs: tuple[tuple[SemanticAdversary, Predicate], ...]
    measure: Measure
    limit: Fraction
    before: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Refuse an unknown measure, and a definition without an adversary."""
        if self.measure not in get_args(Measure):
            raise PolicyError(f"There is no measure {self.measure!r}.{did_you_mean(self.measure, get_args(Measure))}")
        if not self.pairs:
            raise PolicyError("A semantic definition needs at least one adversary with something to learn.")

    def assess(self, subject: Knowable) -> SemanticVerdict:
        """Decide exactly, over all databases and outputs. An adversary whose knowledge contradicts an output learns nothing from it."""
        databases = list(subject.databases())
        compares = self.measure not in ("positive", "at_least", "negative")
        worst: tuple[Fraction | float, SemanticAdversary, Predicate, Fraction] | None = None
        for view in subject.views():
            likely = [(database, view.likelihood(database)) for database in databases]
            possible = [(database, chance) for database, chance in likely if chance]
            for adversary, predicate in self.pairs:
                after = probability(possible, adversary, predicate)
                if after is None:
                    continue
                badness = self._badness(_before(databases, adversary, predicate) if compares else after, after)
                if worst is None or badness > worst[0]:
                    worst = (badness, adversary, predicate, after)
        if worst is None:
            raise DataError("What every adversary knows contradicts the release.")
        badness, adversary, predicate, after = worst
        before = _before(databases, adversary, predicate)
        return SemanticVerdict(
            not self._violated(badness), adversary.name, predicate=predicate.name, prior=before, posterior=after
        )

    def _badness(self, before: Fraction, after: Fraction) -> Fraction | float:
        """Return how badly a change of belief violates the measure; larger is worse."""
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
        """Return whether a change of belief exceeds the limit, exactly."""
        if self.measure == "log_odds":
            # The logarithm of a rational other than 1 is irrational, so there are no ties.
            return badness > 1 and (badness == _INFINITE or not exceeds_logarithm(self.limit, Fraction(badness)))
        if self.measure == "at_least":
            return badness >= self.limit
        return badness > (-self.limit if self.measure == "negative" else self.limit)


def probability(
    databases: Sequence[tuple[Database, Fraction]], adversary: SemanticAdversary, predicate: Predicate
) -> Fraction | None:
    """Return the probability of a predicate over databases, weighted by the adversary and by their likelihood; None if all weights are 0."""
    weighed = [(database, chance * adversary.weight(database)) for database, chance in databases]
    total = sum((weight for _, weight in weighed), start=Fraction(0))
    if total == 0:
        return None
    return sum((weight for database, weight in weighed if predicate.holds(database)), start=Fraction(0)) / total


def _before(databases: Sequence[Database], adversary: SemanticAdversary, predicate: Predicate) -> Fraction:
    """Return the prior of an adversary who considers some database with this output possible."""
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
    """Return the semantics of recursive (c,l)-diversity: an adversary who excludes any ``l - 2`` values has a belief
    below ``c/(c + 1)`` in any other.

    Corrected: the source prints c. Values in ``dont_care`` are not protected. Source: [Machanavajjhala2007].
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
    """Return the semantics of range and category predicates: no belief of ``c`` or more that a person's value is in one of the sets."""
    pairs = [
        (setting.ruling_out(person, ()), setting.value_in(person, value_set))
        for person in setting.people
        for value_set in sets
    ]
    return SemanticDefinition(tuple(pairs), "at_least", exact(c, "semantic_sets: c", low=0, high=1))


def semantic_negative(setting: SemanticSetting, c: Number, values: Sequence[str]) -> SemanticDefinition:
    """Return the semantics of must-keep values: no belief below ``c`` that a person has one of these values."""
    pairs = [
        (setting.ruling_out(person, ()), setting.value_of(person, value))
        for person in setting.people
        for value in values
    ]
    return SemanticDefinition(tuple(pairs), "negative", exact(c, "semantic_negative: c", low=0, high=1))


def rho_privacy(
    priors: Sequence[SemanticAdversary], predicates: Sequence[Predicate], rho1: Number, rho2: Number
) -> SemanticDefinition:
    """(rho1, rho2)-privacy: no belief of at most ``rho1`` grows above ``rho2`` (no upward breach). Source:
    [Evfimievski2003].

    Predicates and their complements together bound both directions: a downward breach of one is an upward breach of the
    other.
    """
    low, high = exact(rho1, "rho_privacy: rho1", low=0, high=1), exact(rho2, "rho_privacy: rho2", low=0, high=1)
    if not low < high:
        raise PolicyError(f"rho_privacy: rho1 must be below rho2, but they are {low} and {high}.")
    return SemanticDefinition(tuple(itertools.product(priors, predicates)), "breach", high, low)


def gamma_amplification(setting: RandomSetting, gamma: Number) -> SemanticDefinition:
    """gamma-amplification: no output is more than ``gamma`` times as likely for one database as for another.

    In terms of belief: for an adversary who knows that it is one of two databases no odds grow by more than ``gamma``,
    for any two databases. It bounds every (rho1, rho2) with ``rho2 (1 - rho1) / (rho1 (1 - rho2)) >= gamma``, whatever
    the prior.
    """
    return SemanticDefinition(
        _of_two(setting, setting.possible, lambda first, second: True),
        "odds",
        exact(gamma, "gamma_amplification: gamma", low=1),
    )


def differential_privacy(setting: RandomSetting, epsilon: Number) -> SemanticDefinition:
    """epsilon-differential privacy: no output is more than ``e^epsilon`` times as likely after one person's value
    changed.

    In terms of belief: for an adversary who knows all people except one no odds about that one grow by more than
    ``e^epsilon``; equivalently, the belief in every set of values changes at most by that factor. Databases are
    neighbours if they differ in one person. Source: [Dwork2006].
    """
    return SemanticDefinition(
        _of_two(setting, setting.possible, _differ_in_one),
        "log_odds",
        exact(epsilon, "differential_privacy: epsilon", low=0),
    )


def _differ_in_one(first: Database, second: Database) -> bool:
    """True if two databases of equal size differ in the value of exactly one person."""
    return (
        len(first) == len(second)
        and sum(first_value != second_value for first_value, second_value in zip(first, second, strict=True)) == 1
    )


def _of_two(
    setting: RandomSetting, databases: Sequence[Database], is_chosen: Callable[[Database, Database], bool]
) -> tuple[tuple[SemanticAdversary, Predicate], ...]:
    """Return adversaries who hesitate between two databases, with the first as the predicate."""
    pairs = [(first, second) for first, second in itertools.permutations(databases, 2) if is_chosen(first, second)]
    return tuple((setting.between(first, second), setting.is_database(first)) for first, second in pairs)


def perfect_privacy(
    tuples: Sequence[str],
    secret: Callable[[frozenset[str]], object],
    view: Callable[[frozenset[str]], object],
) -> SemanticVerdict:
    """Perfect privacy: for every product distribution of the tuples, no answer of ``view`` changes the probability of
    any answer of ``secret``. Source: [Miklau2004].

    Adversaries assign each tuple an independent probability. Decided by critical tuples: a tuple is critical for a
    query if adding it to some database changes the answer, and privacy is perfect exactly if no tuple is critical for
    both. If it is not, the verdict names a distribution (probabilities with small denominators) under which a belief
    changes, and both beliefs.
    """
    if 2 ** len(tuples) > _MOST_DATABASES:
        raise PolicyError(f"{len(tuples)} tuples are too many: all their subsets are enumerated.")
    chosen = [frozenset(subset) for size in range(len(tuples) + 1) for subset in itertools.combinations(tuples, size)]
    answers = {subset: (secret(subset), view(subset)) for subset in chosen}
    shared = [
        tuple_name
        for tuple_name in tuples
        if _is_critical(tuple_name, answers, 0) and _is_critical(tuple_name, answers, 1)
    ]
    if not shared:
        return SemanticVerdict(
            True, "every product distribution", predicate="every answer", prior=Fraction(1), posterior=Fraction(1)
        )
    for denominator in itertools.count(2):
        for numerators in itertools.product(range(1, denominator), repeat=len(tuples)):
            chances = {
                name: Fraction(numerator, denominator) for name, numerator in zip(tuples, numerators, strict=True)
            }
            changed = _changed_belief(answers, chances)
            if changed is not None:
                prior, after, answer_text = changed
                distribution = ", ".join(f"{name} {chance}" for name, chance in chances.items())
                return SemanticVerdict(False, distribution, predicate=answer_text, prior=prior, posterior=after)
    raise AssertionError("a common critical tuple discloses under some product distribution")


def _is_critical(name: str, answers: Mapping[frozenset[str], tuple[object, object]], query: int) -> bool:
    """Return whether adding the tuple ``name`` to some table changes the answer of a query; ``answers`` has both answers for every table."""
    return any(answer[query] != answers[table | {name}][query] for table, answer in answers.items())


def _changed_belief(
    answers: Mapping[frozenset[str], tuple[object, object]], chances: Mapping[str, Fraction]
) -> tuple[Fraction, Fraction, str] | None:
    """Return the probability of some answer of the secret query before and after some answer of the view changes it,
    and both answers in words; None if none changes.

    ``answers`` has the answers of secret and view for each table (a set of tuples); a tuple is in the table with its
    probability in ``chances``.
    """
    joint: dict[tuple[object, object], Fraction] = {}
    for present, answer in answers.items():
        weight = Fraction(1)
        for name, chance in chances.items():
            weight *= chance if name in present else 1 - chance
        joint[answer] = joint.get(answer, Fraction(0)) + weight
    secrets: dict[object, Fraction] = {}
    views: dict[object, Fraction] = {}
    for (secret_answer, view_answer), weight in joint.items():
        secrets[secret_answer] = secrets.get(secret_answer, Fraction(0)) + weight
        views[view_answer] = views.get(view_answer, Fraction(0)) + weight
    for secret_answer, view_answer in itertools.product(secrets, views):
        after = joint.get((secret_answer, view_answer), Fraction(0)) / views[view_answer]
        if after != secrets[secret_answer]:
            return secrets[secret_answer], after, f"the secret is {secret_answer} where the view is {view_answer}"
    return None
