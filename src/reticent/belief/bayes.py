"""The Bayes-optimal belief of an adversary who knows the whole population's joint counts, and that the person is in the table.

The table is a simple random sample of the population. Worlds are the assignments of sensitive values to the population that fit
its counts, together with the sample; all are equally likely. Among those that show the released histogram, the share in which the person
has a value is the belief. Everything is exact.
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
    """The joint counts (or weights) of quasi and sensitive values in the population."""

    counts: Mapping[Quasi, Mapping[Value, Fraction]]

    @classmethod
    def of(cls, counts: Mapping[Quasi, Mapping[Value, Number]]) -> PopulationModel:
        """A model from numbers as they are written; weights need not add up to anything."""
        read = {
            quasi: {value: exact(count, f"weight of {quasi!r}, {value!r}", low=0) for value, count in row.items()}
            for quasi, row in counts.items()
        }
        for quasi, row in read.items():
            if not any(row.values()):
                raise DataError(f"The population has nobody with {quasi!r}, so there is no belief about such a person.")
        return cls(read)

    @classmethod
    def from_frame(cls, people: pl.DataFrame, quasi: Sequence[str], sensitive: str) -> PopulationModel:
        """The model of a listed population: one row a person."""
        for name in (*quasi, sensitive):
            if name not in people.columns:
                raise DataError(f"The population has no column {name!r}.{did_you_mean(name, people.columns)}")
        cells = people.group_by([*quasi, sensitive]).agg(pl.len().alias("people of the cell"))
        counts: dict[Quasi, dict[Value, Fraction]] = {}
        for row in cells.iter_rows():
            counts.setdefault(row[: len(quasi)], {})[row[-2]] = Fraction(row[-1])
        return cls(counts)

    def prior(self, quasi: Quasi) -> dict[Value, Fraction]:
        """``f(s | q)``: the belief before the release."""
        row = self.counts.get(quasi)
        if row is None:
            raise DataError(f"The population has nobody with {quasi!r}.")
        total = sum(row.values(), start=Fraction(0))
        return {value: weight / total for value, weight in row.items()}

    def weight(self, quasi: Iterable[Quasi], value: Value) -> Fraction:
        """``f(q*, s)``: the weight of a value among everybody whose quasi values fall into a group."""
        return sum((self.counts.get(each, {}).get(value, Fraction(0)) for each in quasi), start=Fraction(0))


@dataclass(frozen=True)
class ReleasedGroup:
    """A group as the release and the population tell it: how many of its rows have each value, and how many people could.

    ``everybody`` has the weight ``f(q*, s)`` of each released value among the people whom the group covers.
    """

    released: Mapping[Value, int]
    everybody: Mapping[Value, Fraction]

    @classmethod
    def of(
        cls, model: PopulationModel, fitting: Iterable[Quasi], released: Mapping[Value, int], name: str = "that group"
    ) -> ReleasedGroup:
        """The group that covers the points ``fitting`` of a population; ``name`` is for the error of a population that contradicts it."""
        points = list(fitting)
        shown = {value: count for value, count in released.items() if count}
        everybody = {value: model.weight(points, value) for value in shown}
        for value, weight in everybody.items():
            if weight == 0:
                raise DataError(
                    f"The release shows {value!r}, but the stated population has nobody in {name} who could have it. "
                    "The population must contain the people of the table, with the values that they have there."
                )
        return cls(shown, everybody)

    def weights(self, mine: Mapping[Value, Fraction]) -> dict[Value, Fraction]:
        """``n(g,s) f(q,s)/f(g,s)`` for every value: how many of its rows are, on average, of people with the counts ``mine``."""
        return {
            value: count * mine.get(value, Fraction(0)) / self.everybody[value]
            for value, count in self.released.items()
        }


def posterior(
    model: PopulationModel, quasi: Quasi, fitting: Sequence[Quasi], released: Mapping[Value, int]
) -> dict[Value, Fraction]:
    """The belief about a person with ``quasi`` whose group covers the points ``fitting`` and was released with these counts.

    ``n(q*,s) f(q,s)/f(q*,s)``, normalised. A released value that nobody of the group can have contradicts the population.
    """
    if quasi not in fitting:
        raise PolicyError(f"{quasi!r} does not fall into the group, so there is no belief from it.")
    return posterior_among(model, quasi, [ReleasedGroup.of(model, fitting, released)])


def posterior_among(model: PopulationModel, quasi: Quasi, groups: Sequence[ReleasedGroup]) -> dict[Value, Fraction]:
    """The belief about a person who may be in any of several groups, as local recoding with overlapping labels makes them.

    Each of the ``n(g,s)`` rows of a group is as likely that of any of its ``f(g,s)`` people with the value, so ``n(g,s) f(q,s)/f(g,s)`` of
    them are of people like this one; these are added over the groups and normalised. With one group that is the share of the value in it, exactly. With
    several, groups are taken one by one: that a person is in one group only is not used.
    """
    mine = model.counts.get(quasi, {})
    weights: dict[Value, Fraction] = {}
    for group in groups:
        for value, weight in group.weights(mine).items():
            weights[value] = weights.get(value, Fraction(0)) + weight
    total = sum(weights.values(), start=Fraction(0))
    if total == 0:
        raise DataError(f"Nobody with {quasi!r} can have any of the released values, by the stated population.")
    return {value: weight / total for value, weight in weights.items()}


def may_be_among(model: PopulationModel, quasi: Quasi, groups: Sequence[ReleasedGroup]) -> bool:
    """Whether somebody with these quasi values can have a value that the groups show; otherwise no such person is in the table."""
    mine = model.counts.get(quasi, {})
    return any(weight for group in groups for weight in group.weights(mine).values())


def independent(released: Mapping[Value, int]) -> dict[Value, Fraction]:
    """The belief where sensitive and quasi values are independent, or alike for all who fit: the shares of the group."""
    total = sum(released.values())
    return {value: Fraction(count, total) for value, count in released.items()}


@dataclass(frozen=True)
class Belief:
    """What is believed of one person and one value, before and after."""

    quasi: Quasi
    value: Value
    prior: Fraction
    posterior: Fraction


def believe(
    model: PopulationModel, quasi: Quasi, fitting: Sequence[Quasi], released: Mapping[Value, int]
) -> tuple[Belief, ...]:
    """The beliefs about a person, value by value."""
    return beliefs(model, quasi, posterior(model, quasi, fitting, released))


def beliefs(model: PopulationModel, quasi: Quasi, after: Mapping[Value, Fraction]) -> tuple[Belief, ...]:
    """What is believed of a person value by value, given what is believed after the release."""
    before = model.prior(quasi)
    values = dict.fromkeys([*before, *after])
    return tuple(
        Belief(quasi, value, before.get(value, Fraction(0)), after.get(value, Fraction(0))) for value in values
    )


def positive(belief: Belief, delta: Number) -> bool:
    """Whether the value is nearly certain after the release: belief above ``1 - delta``.

    It discloses somebody only if a row of the table has these quasi values and this value, and it is news only where the belief before was
    not as high already.
    """
    return belief.posterior > 1 - exact(delta, "delta", low=0, high=1)


def negative(belief: Belief, epsilon: Number) -> bool:
    """Whether the value is nearly excluded after the release: belief below ``epsilon``."""
    return belief.posterior < exact(epsilon, "epsilon", low=0, high=1)


def breach(belief: Belief, before: Number, after: Number) -> bool:
    """A (rho1, rho2)-breach: an unlikely value becomes likely, or a likely one unlikely."""
    rho1, rho2 = bounds(before, after)
    rises = belief.prior < rho1 and belief.posterior > rho2
    falls = belief.prior > 1 - rho1 and belief.posterior < 1 - rho2
    return rises or falls


def bounds(before: Number, after: Number) -> tuple[Fraction, Fraction]:
    """rho1 and rho2 of a breach; were rho1 the larger, beliefs that do not change would be breaches."""
    rho1, rho2 = exact(before, "rho1", low=0, high=1), exact(after, "rho2", low=0, high=1)
    if rho1 > rho2:
        raise PolicyError(f"rho1 must be at most rho2 = {after}, but it is {before}.")
    return rho1, rho2


def distance(beliefs: Sequence[Belief], kind: Distance = "variation") -> Fraction | float:
    """How far the release moves the beliefs about one person; the uninformative principle bounds it.

    ``difference`` and ``ratio`` are the largest over values, ``variation`` is half the sum of differences. A ratio is infinite where a
    value becomes possible or impossible.
    """
    if kind not in get_args(Distance):
        raise PolicyError(f"There is no distance {kind!r}.{did_you_mean(kind, get_args(Distance))}")
    moves = [abs(each.posterior - each.prior) for each in beliefs]
    if kind == "variation":
        return sum(moves, start=Fraction(0)) / 2
    if kind == "difference":
        return max(moves, default=Fraction(0))
    ratios = [
        float("inf")
        if not (each.prior and each.posterior)
        else max(each.posterior / each.prior, each.prior / each.posterior)
        for each in beliefs
        if each.prior != each.posterior
    ]
    return max(ratios, default=Fraction(1))
