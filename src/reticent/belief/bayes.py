"""The Bayes-optimal belief of an adversary who knows the population's joint counts, and that the person is in the
table. Source: [Machanavajjhala2007].

The table is a simple random sample of the population. Possible worlds are the assignments of sensitive values to the
population that fit its counts, together with the sample; all are equally likely. The belief in a value is its share
among the worlds with the released histogram. Everything is exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import polars as pl

from reticent.base.exact import Number, exact
from reticent.errors import DataError, PolicyError, did_you_mean

Quasi = Hashable
Value = Hashable
Distance = Literal["difference", "ratio", "variation"]


@dataclass(frozen=True)
class PopulationModel:
    """The joint counts (or weights) of quasi-identifiers and sensitive values in the population."""

    counts: Mapping[Quasi, Mapping[Value, Fraction]]

    @classmethod
    def of(cls, counts: Mapping[Quasi, Mapping[Value, Number]]) -> PopulationModel:
        """Return a model from numbers; weights need not be normalized."""
        read = {
            quasi: {value: exact(count, f"weight of {quasi!r}, {value!r}", low=0) for value, count in row.items()}
            for quasi, row in counts.items()
        }
        for quasi, row in read.items():
            if not any(row.values()):
                raise DataError(f"The population has no one with {quasi!r}, so there is no belief about such a person.")
        return cls(read)

    @classmethod
    def from_frame(cls, people: pl.DataFrame, quasi: Sequence[str], sensitive: str) -> PopulationModel:
        """Return the model of a listed population: one row per person."""
        for name in (*quasi, sensitive):
            if name not in people.columns:
                raise DataError(f"The population has no column {name!r}.{did_you_mean(name, people.columns)}")
        cells = people.group_by([*quasi, sensitive]).agg(pl.len().alias("people of the cell"))
        counts: dict[Quasi, dict[Value, Fraction]] = {}
        for row in cells.iter_rows():
            counts.setdefault(row[: len(quasi)], {})[row[-2]] = Fraction(row[-1])
        return cls(counts)

    def prior(self, quasi: Quasi) -> dict[Value, Fraction]:
        """Return ``f(s | q)``: the prior."""
        row = self.counts.get(quasi)
        if row is None:
            raise DataError(f"The population has no one with {quasi!r}.")
        total = sum(row.values(), start=Fraction(0))
        return {value: weight / total for value, weight in row.items()}

    def weight(self, quasi: Iterable[Quasi], value: Value) -> Fraction:
        """Return ``f(q*, s)``: the weight of a value among all people whose quasi-identifiers fall into a group."""
        return sum(
            (self.counts.get(combination, {}).get(value, Fraction(0)) for combination in quasi), start=Fraction(0)
        )


@dataclass(frozen=True)
class ReleasedGroup:
    """A group: its released histogram, and the weights of the people it covers.

    ``everybody`` has the weight ``f(q*, s)`` of each released value among the people whom the group covers.
    """

    released: Mapping[Value, int]
    everybody: Mapping[Value, Fraction]

    @classmethod
    def of(
        cls, model: PopulationModel, fitting: Iterable[Quasi], released: Mapping[Value, int], name: str = "that group"
    ) -> ReleasedGroup:
        """Return the group that covers the points ``fitting`` of a population; ``name`` is used in the error for an inconsistent population."""
        points = list(fitting)
        positive = {value: count for value, count in released.items() if count}
        weights = {value: model.weight(points, value) for value in positive}
        for value, weight in weights.items():
            if weight == 0:
                raise DataError(
                    f"The release shows {value!r}, but the stated population has no one in {name} who could have it. "
                    "The population must contain the people of the table, with the values that they have there."
                )
        return cls(positive, weights)

    def weights(self, person_counts: Mapping[Value, Fraction]) -> dict[Value, Fraction]:
        """Return ``n(g,s) f(q,s)/f(g,s)`` for every value: the expected number of its rows of people with the counts ``person_counts``."""
        return {
            value: count * person_counts.get(value, Fraction(0)) / self.everybody[value]
            for value, count in self.released.items()
        }


def posterior(
    model: PopulationModel, quasi: Quasi, fitting: Sequence[Quasi], released: Mapping[Value, int]
) -> dict[Value, Fraction]:
    """Return the posterior about a person with ``quasi`` whose group covers the points ``fitting`` and was released
    with these counts.

    ``n(q*,s) f(q,s)/f(q*,s)``, normalised. A released value that no one in the group can have contradicts the
    population.
    """
    if quasi not in fitting:
        raise PolicyError(f"{quasi!r} does not fall into the group, so there is no belief from it.")
    return posterior_among(model, quasi, [ReleasedGroup.of(model, fitting, released)])


def posterior_among(model: PopulationModel, quasi: Quasi, groups: Sequence[ReleasedGroup]) -> dict[Value, Fraction]:
    """Return the posterior about a person who may be in any of several groups, as in local recoding with overlapping
    labels.

    Each of the ``n(g,s)`` rows of a group is as likely that of any of its ``f(g,s)`` people with the value, so the
    expected number of rows of people like this one is ``n(g,s) f(q,s)/f(g,s)``, summed over the groups and normalised.
    With one group this is exact. With several, groups are treated independently: that a person is in only one group is
    not used.
    """
    person_counts = model.counts.get(quasi, {})
    weights: dict[Value, Fraction] = {}
    for group in groups:
        for value, weight in group.weights(person_counts).items():
            weights[value] = weights.get(value, Fraction(0)) + weight
    total = sum(weights.values(), start=Fraction(0))
    if total == 0:
        raise DataError(f"By the stated population, no one with {quasi!r} can have any of the released values.")
    return {value: weight / total for value, weight in weights.items()}


def may_be_among(model: PopulationModel, quasi: Quasi, groups: Sequence[ReleasedGroup]) -> bool:
    """True if a person with these quasi-identifiers can have a value of the groups; otherwise no such person is in the table."""
    person_counts = model.counts.get(quasi, {})
    return any(weight for group in groups for weight in group.weights(person_counts).values())


def independent(released: Mapping[Value, int]) -> dict[Value, Fraction]:
    """Return the belief if sensitive values and quasi-identifiers are independent: the shares of the group."""
    total = sum(released.values())
    return {value: Fraction(count, total) for value, count in released.items()}


@dataclass(frozen=True)
class Belief:
    """The prior and posterior belief in one value of one person."""

    quasi: Quasi
    value: Value
    prior: Fraction
    posterior: Fraction


def believe(
    model: PopulationModel, quasi: Quasi, fitting: Sequence[Quasi], released: Mapping[Value, int]
) -> tuple[Belief, ...]:
    """Return the beliefs about a person, value by value."""
    return beliefs(model, quasi, posterior(model, quasi, fitting, released))


def beliefs(model: PopulationModel, quasi: Quasi, after: Mapping[Value, Fraction]) -> tuple[Belief, ...]:
    """Return the beliefs about a person value by value, given the posteriors."""
    before = model.prior(quasi)
    values = dict.fromkeys([*before, *after])
    return tuple(
        Belief(quasi, value, before.get(value, Fraction(0)), after.get(value, Fraction(0))) for value in values
    )


def positive(belief: Belief, delta: Number) -> bool:
    """True for a positive disclosure: a posterior above ``1 - delta``.

    It concerns a person only if a row of the table has these quasi-identifiers and this value, and is new only if the
    prior was not as high.
    """
    return belief.posterior > 1 - exact(delta, "delta", low=0, high=1)


def negative(belief: Belief, epsilon: Number) -> bool:
    """True for a negative disclosure: a posterior below ``epsilon``."""
    return belief.posterior < exact(epsilon, "epsilon", low=0, high=1)


def breach(belief: Belief, before: Number, after: Number) -> bool:
    """True for a (rho1, rho2)-breach: an unlikely value becomes likely, or a likely one unlikely."""
    rho1, rho2 = bounds(before, after)
    rises = belief.prior < rho1 and belief.posterior > rho2
    falls = belief.prior > 1 - rho1 and belief.posterior < 1 - rho2
    return rises or falls


def bounds(before: Number, after: Number) -> tuple[Fraction, Fraction]:
    """Return rho1 and rho2 of a breach; if rho1 were larger, unchanged beliefs would be breaches."""
    rho1, rho2 = exact(before, "rho1", low=0, high=1), exact(after, "rho2", low=0, high=1)
    if rho1 > rho2:
        raise PolicyError(f"rho1 must be at most rho2 = {after}, but it is {before}.")
    return rho1, rho2


def distance(beliefs: Sequence[Belief], kind: Distance = "variation") -> Fraction | float:
    """Return how far the release moves the beliefs about one person; the uninformative principle bounds it.

    ``difference`` and ``ratio`` are the maximum over values, ``variation`` is half the sum of differences. A ratio is
    infinite if a value becomes possible or impossible.
    """
    if kind not in get_args(Distance):
        raise PolicyError(f"There is no distance {kind!r}.{did_you_mean(kind, get_args(Distance))}")
    moves = [abs(belief.posterior - belief.prior) for belief in beliefs]
    if kind == "variation":
        return sum(moves, start=Fraction(0)) / 2
    if kind == "difference":
        return max(moves, default=Fraction(0))
    ratios = [
        float("inf")
        if not (belief.prior and belief.posterior)
        else max(belief.posterior / belief.prior, belief.prior / belief.posterior)
        for belief in beliefs
        if belief.prior != belief.posterior
    ]
    return max(ratios, default=Fraction(1))
