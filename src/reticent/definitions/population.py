"""Hiding among people who need not be in the table: k-map and delta-presence."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.core import POPULATION, Groups
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, GroupDefinition, Witness
from reticent.definitions.diversity_figures import failures, occupied
from reticent.definitions.number_text import measured, shown
from reticent.definitions.scaled_comparison import at_most, largest_ratio, less
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.table import Table


class PopulationDefinition(GroupDefinition):
    """A definition that compares every group with the matching people of a population.

    The population is a table or a frame with the quasi columns of the table (or the path of a file). It is not part of
    what a certificate states: a verifier supplies one.
    """

    population: Any

    needs_sensitive = False
    needs_population = True
    hides_identity = True

    def counting(self, table: Table) -> Table:
        """The table with population counts; definitions joined by ``&`` share one population."""
        people = loaded(self.population)
        if people is None or people is table.population_source:
            return table
        beside = table.with_population(people)
        require_same(table.population, beside.population)
        return beside

    def people(self, groups: Groups) -> NDArray[np.int64]:
        """The number of people of the population who match each group."""
        if POPULATION not in groups.extras:
            raise PolicyError(
                f"{self.name} compares with a population, and none was counted. Give one, a frame or a file: "
                f"{self.name}(..., population='people.csv')."
            )
        return groups.extras[POPULATION]


@dataclass(frozen=True)
class KMap(PopulationDefinition):
    """Every group is matched by at least ``k`` people of the population, in the table or not.

    Guarantee: an adversary who knows all quasi values of a person, but not that the person is in the table, finds at least k candidates.
    Adversary: knows quasi values of all people in the population (the journalist model of re-identification). Monotone and absorbing: groups
    only grow.
    Not covered: an adversary who knows that a person is in the table (weaker than k-anonymity), and attribute disclosure.
    Source: [Sweeney2001].

    Parameters:
        k: the minimum number of matching people in the population.
        population: a table or frame with the same quasi columns.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 58]}, quasi=["age"])
        >>> rt.assess(table, rt.KMap(2, population={"age": [30, 30, 58, 58]})).holds
        True
    """

    k: int
    population: Any = field(default=None, compare=False, repr=False)

    absorbing = True

    def __post_init__(self) -> None:
        whole(self.k, "KMap: k", low=1)

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        return (self.people(groups) < self.k) & (groups.sizes > 0)

    def assess(self, groups: Groups) -> Assessment:
        """Return the smallest number of people of the population that match a group, the verdict and that group."""
        filled, failing, people = occupied(groups), self.failing(groups), self.people(groups)
        smallest = int(filled[np.argmin(people[filled])])
        achieved = int(people[smallest])
        text = (
            f"{int(failing.sum())} of {len(groups)} groups match fewer than {self.k} people of the population; the smallest "
            f"match is {achieved}."
        )
        witness = Witness(smallest, text) if failing.any() else None
        return Assessment(self, witness is None, achieved, witness, failures(groups, failing))

    def knowledge(self, scope: ClaimScope) -> str:
        return f"{scope.known()}, and the same of everybody in the population,"

    def promise(self, scope: ClaimScope) -> str:
        return f"finds at least {self.k} people of the population who fit each record"

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        shared = scope.shared_value()
        learns = "" if shared is None else f", or who learns {shared} that all matching records share,"
        return f"An attacker who knows that a person is in the table{learns} is not covered. The promise holds for the population that was counted."


@dataclass(frozen=True)
class DeltaPresence(PopulationDefinition):
    """In every group, between ``low`` and ``high`` of the people of the population who match it are in the table.

    Guarantee: an adversary who knows all people's quasi values is at least ``low`` and at most ``high`` sure that a person who matches a
    published group is in the table.
    Adversary: knows the population, which contains the table. Monotone if ``low`` is 0; otherwise not: people of the population who join a
    group without rows of their own lower its share. Judged for the groups that are published.
    Not covered: people who match no published record are known not to be among the published ones.
    Source: [Nergiz2007].

    Parameters:
        low, high: the bounds of the share, from 0 to 1.
        population: a table or frame with the same quasi columns.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 58]}, quasi=["age"])
        >>> rt.assess(table, rt.DeltaPresence(0, "1/2", population={"age": [30, 30, 58, 58]})).holds
        True
    """

    low: Number
    high: Number
    population: Any = field(default=None, compare=False, repr=False)

    counts_people = True

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        low, high = (exact(getattr(self, name), f"DeltaPresence: {name}", low=0, high=1) for name in ("low", "high"))
        if low > high:
            raise PolicyError(f"DeltaPresence: low must be at most high = {self.high}, but it is {self.low}.")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "monotone", low == 0)

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        rows, people = groups.distinct_people, self.people(groups)
        outside = less(rows, Fraction(self.low), people) | ~at_most(rows, Fraction(self.high), people)
        return outside & (groups.sizes > 0)

    def assess(self, groups: Groups) -> Assessment:
        """Judge the groups. The value is the smallest and the largest share; above 1 if the population does not contain the table."""
        filled, failing = occupied(groups), self.failing(groups)
        rows, people = groups.distinct_people[filled], self.people(groups)[filled]
        highest, largest = largest_ratio(rows, people)
        lowest, inverse = largest_ratio(people, rows)
        smallest = 1 / Fraction(inverse) if inverse else largest
        value = {"low": smallest, "high": largest}
        worst = highest if not isinstance(largest, Fraction) or largest > Fraction(self.high) else lowest
        text = (
            f"{int(failing.sum())} of {len(groups)} groups have a share outside {shown(self.low)} to {shown(self.high)} of the people who match "
            f"them; the shares range from {_said(smallest)} to {_said(largest)}."
        )
        witness = Witness(int(filled[worst]), text) if failing.any() else None
        return Assessment(self, witness is None, value, witness, failures(groups, failing))

    def knowledge(self, scope: ClaimScope) -> str:
        return f"{scope.known()}, and the same of everybody in the population,"

    def promise(self, scope: ClaimScope) -> str:
        return f"is at least {shown(self.low)} and at most {shown(self.high)} sure that a person who matches a published record is in the table"

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        shared = scope.shared_value()
        nor = "" if shared is None else f", nor {shared} that all matching records share"
        return f"It is not hidden that people who fit no published record are not among the published ones{nor}."


def require_same(first: pl.DataFrame | None, second: pl.DataFrame | None) -> None:
    """Raise if two definitions use different populations: groups have counts of one population only."""
    if first is not None and second is not None and not first.equals(second):
        raise PolicyError(
            "The definitions compare with two different populations, and groups are counted in one. Give them the same population, or assess "
            "them one by one."
        )


def loaded(population: Any) -> Any:
    """The population itself: a path is read, anything else is returned unchanged."""
    if not isinstance(population, str):
        return population
    from reticent.io import Source

    return Source(population).read()


def _said(ratio: Fraction | float) -> str:
    return measured(ratio) if isinstance(ratio, Fraction) else "nobody to compare with"
