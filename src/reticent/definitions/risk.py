"""Re-identification risk: a bound on its average, the figures of three attacker models, and population uniqueness.

A *prosecutor* knows that the target is in the table, a *journalist* only that the target is in the population, and a
*marketer* wants as many correct matches as possible, of any people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.base.packing import Distinct, sum_by
from reticent.base.ragged import starts_of
from reticent.core import POPULATION, Groups
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, GroupDefinition, Witness
from reticent.definitions.diversity_figures import failures, occupied
from reticent.definitions.exchanges import Exchanges
from reticent.definitions.number_text import measured, shown
from reticent.definitions.scaled_comparison import at_most
from reticent.definitions.shares import share
from reticent.errors import PolicyError, did_you_mean

Model = Literal["pitman", "zayatz"]


@dataclass(frozen=True)
class AverageRisk(GroupDefinition):
    """The probability of matching a person to the right row, averaged over all people of the table, is at most ``limit``.

    A person in a group of n people is matched correctly with probability 1/n, so the average is the number of groups over the number of people.
    Guarantee: an adversary who tries to match all people is right in at most that share of cases (the marketer's risk).
    Adversary: knows the quasi values of all people in the table. Judged over all groups together.
    Monotone: a coarser grouping has no more groups.
    Not covered: single people may be at higher risk, and confidential values are not protected.
    Source: the marketer risk of [Dankar2012] and of statistical disclosure control, [Hundepool2012].

    Parameters:
        limit: the largest average, from 0 to 1.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 58]}, quasi=["age"])
        >>> rt.assess(table, rt.AverageRisk("1/2")).value
        Fraction(1, 2)
    """

    limit: Number

    local = False
    needs_sensitive = False
    hides_identity = True
    counts_people = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", share(self.limit, "AverageRisk: limit"))

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask of the smallest groups, as many as must be suppressed: each raises the average more than any larger one."""
        if groups.owners:
            raise PolicyError(
                "AverageRisk is an average over people with one row each, and some have several here. Use KAnonymity(k), or keep one row per person with rows_per_person=1."
            )
        failing = np.zeros(len(groups), dtype=bool)
        filled = np.flatnonzero(groups.sizes > 0)
        by_size = filled[np.argsort(groups.people[filled], kind="stable")]
        people = groups.people[by_size]
        remaining_people = int(people.sum()) - starts_of(people)
        remaining_groups = len(by_size) - np.arange(len(by_size) + 1)
        is_enough = at_most(remaining_groups, Fraction(self.limit), remaining_people)
        failing[by_size[: int(np.argmax(is_enough))]] = True
        return failing

    def assess(self, groups: Groups) -> Assessment:
        """Return the mean probability of a correct match, the verdict and the smallest group."""
        filled = occupied(groups)
        failing = self.failing(groups)
        average = Fraction(len(filled), int(groups.people[filled].sum()))
        smallest = int(filled[np.argmin(groups.people[filled])])
        text = f"People are matched correctly with a probability of {measured(average)} on average, which is above {shown(self.limit)}."
        witness = Witness(smallest, text) if average > Fraction(self.limit) else None
        diagnostics = {**failures(groups, failing), **reidentification(groups).as_dict()}
        return Assessment(self, witness is None, average, witness, diagnostics)

    def exchanges(self, rest: Groups, before: Groups, after: Groups) -> Exchanges:
        return RiskExchanges(Fraction(self.limit), rest, before, after)

    def knowledge(self, scope: ClaimScope) -> str:
        return f"{scope.known()}, and the same of everybody in the table,"

    def promise(self, scope: ClaimScope) -> str:
        people = {"record": "records", "person": "people", "household": "households"}[scope.unit]
        return f"and picks a record for each is right for at most {shown(self.limit)} of the {people}"

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        exposed = "" if scope.shared_value() is None else " Confidential values are not protected."
        single = "be unique" if scope.crowd < 2 else "be at more risk than others"
        return f"A bound on the average protects nobody in particular: single people may {single}.{exposed}"


class RiskExchanges(Exchanges):
    """The exchanges under :class:`AverageRisk`: each adds one group of the same people."""

    def __init__(self, limit: Fraction, rest: Groups, before: Groups, after: Groups) -> None:
        """Count how many more groups the average risk (groups per person) may have within the ``limit``."""
        super().__init__(rest, before, after)
        people = int(rest.people.sum() + before.people.sum())
        now = int((rest.sizes > 0).sum() + (before.sizes > 0).sum())
        self._groups_to_spare = math.floor(limit * people) - now

    def fits(self, level: int, block: int) -> bool:
        return int(self.made.sum()) + len(self.made[self.places(level, block)]) <= self._groups_to_spare


@dataclass(frozen=True)
class Figures:
    """The risk under one attacker model: the highest probability of a match, the average over people, and the share of people above a threshold."""

    highest: Fraction
    average: Fraction
    at_risk: Fraction


@dataclass(frozen=True)
class Reidentification:
    """The figures of all three attacker models. For the steward only.

    ``uniques`` are unique rows. Without a population the journalist equals the prosecutor, and ``population_known`` is
    False; a population can only lower the figures.
    """

    threshold: Fraction
    prosecutor: Figures
    journalist: Figures
    marketer: Fraction
    uniques: int
    population_known: bool

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data."""
        figures_by_name = {
            f"{attacker}_{figure}": getattr(figures, figure)
            for attacker, figures in (("prosecutor", self.prosecutor), ("journalist", self.journalist))
            for figure in ("highest", "average", "at_risk")
        }
        return {
            **figures_by_name,
            "marketer": self.marketer,
            "uniques": self.uniques,
            "population_known": self.population_known,
        }


def reidentification(groups: Groups, threshold: Number = "1/5") -> Reidentification:
    """Re-identification figures of the groups; people above the probability ``threshold`` count as at risk."""
    limit = exact(threshold, "reidentification: threshold", low=0, high=1)
    filled = occupied(groups)
    people = groups.people[filled]
    has_population = POPULATION in groups.extras
    # A population that lacks people of the table must not make them look safer than the table does.
    matching = np.maximum(groups.extras[POPULATION][filled], people) if has_population else people
    prosecutor = _figures(people, people, limit)
    journalist = _figures(people, matching, limit) if has_population else prosecutor
    return Reidentification(
        limit,
        prosecutor,
        journalist,
        marketer=journalist.average,
        uniques=int(groups.sizes[filled][people == 1].sum()),
        population_known=has_population,
    )


def _figures(people: NDArray[np.int64], candidates: NDArray[np.int64], limit: Fraction) -> Figures:
    """The figures if each person in a group is one of the given number of candidates."""
    total, (above, below) = int(people.sum()), limit.as_integer_ratio()
    alike = Distinct(candidates, int(candidates.max()) + 1)
    sizes, hidden = candidates[alike.firsts].tolist(), sum_by(alike.ids, people, len(alike.sizes)).tolist()
    # Over one common denominator: adding Fractions would reduce every partial sum.
    common = math.lcm(*sizes)
    expected = sum(count * (common // size) for size, count in zip(sizes, hidden, strict=True))
    return Figures(
        Fraction(1, min(sizes)),
        Fraction(expected, common * total),
        Fraction(sum(count for size, count in zip(sizes, hidden, strict=True) if size * above < below), total),
    )


@dataclass(frozen=True)
class Uniqueness:
    """An estimate, from a sample, of how many people of a population are unique in it by their quasi values.

    ``share`` is relative to the population; ``sample_uniques`` are unique in the table, and ``confirmed`` is the
    estimated share of these who are also unique in the population.
    """

    model: Model
    population: int
    uniques: float
    share: float
    sample_uniques: int
    confirmed: float


def population_uniqueness(groups: Groups, population: int, model: Model = "pitman") -> Uniqueness:
    """Estimate population uniqueness from the group sizes of a simple random sample of ``population`` people.

    ``pitman`` fits Pitman's sampling formula to the sizes by maximum likelihood; ``zayatz`` uses the sample's sizes as
    the population's and applies Bayes' rule. Measured on ten populations, skewed and even (table in
    docs/reference/definitions.md), the ratio of estimate to truth is between 0.8 and 3.1 for a sampling fraction of 1/5, and
    between 0.02 and 6 for 1/100: rough, usually too high, sometimes far too low. Estimates inform a risk assessment; no
    definition is decided by them.
    Source: [Pitman1995], [Zayatz1991].
    """
    if model not in get_args(Model):
        raise PolicyError(f"There is no model {model!r} of uniqueness.{did_you_mean(model, get_args(Model))}")
    filled = occupied(groups)
    people = groups.people[filled]
    rows = int(people.sum())
    whole(population, "population_uniqueness: population", low=rows)
    sizes, numbers = np.unique(people, return_counts=True)
    sample_uniques = int(numbers[0]) if sizes[0] == 1 else 0
    if population == rows:
        return Uniqueness(
            model,
            population,
            uniques=float(sample_uniques),
            share=sample_uniques / rows,
            sample_uniques=sample_uniques,
            confirmed=1.0 if sample_uniques else 0.0,
        )
    if model == "zayatz":
        confirmed = _zayatz(sizes, numbers, rows, population) if sample_uniques else 0.0
        uniques = confirmed * sample_uniques * population / rows
    else:
        uniques = _pitman(sizes, numbers, rows, population)
        confirmed = min(uniques * rows / population / sample_uniques, 1.0) if sample_uniques else 0.0
    return Uniqueness(
        model,
        population,
        uniques,
        share=uniques / population,
        sample_uniques=sample_uniques,
        confirmed=confirmed,
    )


def _zayatz(sizes: NDArray[np.int64], numbers: NDArray[np.int64], rows: int, population: int) -> float:
    """The probability that a sample unique is a population unique: Bayes over group sizes F with ``P(f = 1 | F) = F C(N-F, n-1)/C(N, n)``."""
    from scipy.special import gammaln

    def log_choose(total: NDArray[np.float64] | float, chosen: float) -> Any:
        """Return the logarithm of the binomial coefficient."""
        return gammaln(total + 1) - gammaln(chosen + 1) - gammaln(np.maximum(total - chosen, 0) + 1)

    large = sizes.astype(np.float64)
    possible = population - large >= rows - 1
    logs = np.log(large) + log_choose(population - large, rows - 1) - log_choose(float(population), rows)
    chances = np.where(possible, np.exp(logs), 0.0) * numbers
    return float(chances[0] / chances.sum())


def _pitman(sizes: NDArray[np.int64], numbers: NDArray[np.int64], rows: int, population: int) -> float:
    """Return the expected number of people who are unique in the population under Pitman's sampling formula, fitted to
    the group sizes.

    There are ``numbers[i]`` groups of ``sizes[i]`` in a sample of ``rows``. A person stays unique if each further
    person joins another group: ``prod over i < N of (theta + alpha + i - 1)/(theta + i)``.
    """
    from scipy.optimize import minimize
    from scipy.special import gammaln

    groups = int(numbers.sum())
    large = sizes.astype(np.float64)
    order = np.arange(1, groups, dtype=np.float64)

    def cost(point: NDArray[np.float64]) -> float:
        """Return the negative mean log likelihood of the group sizes; the point is (logit alpha, log theta)."""
        alpha, theta = 1 / (1 + math.exp(-point[0])), math.exp(point[1])
        within = numbers @ (gammaln(large - alpha) - gammaln(1 - alpha))
        between = np.log(theta + order * alpha).sum() - (gammaln(theta + rows) - gammaln(theta + 1))
        return float(-(within + between) / rows)

    bounds = [(-12.0, 12.0), (-10.0, math.log(rows) + 12)]
    fit = minimize(cost, x0=np.array([0.0, math.log(max(groups, 2))]), bounds=bounds, method="L-BFGS-B")
    alpha, theta = 1 / (1 + math.exp(-fit.x[0])), math.exp(fit.x[1])
    logs = gammaln(theta + alpha + population - 1) - gammaln(theta + alpha) + gammaln(theta + 1)
    return float(population * math.exp(float(logs - gammaln(theta + population))))
