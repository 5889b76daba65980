"""What survey weights tell about a population that nobody counted. Estimates are for judging a risk; no definition is decided by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from reticent.data import POPULATION, WEIGHT, Groups
from reticent.definitions.diagnostics import occupied
from reticent.definitions.risk import Reidentification, reidentification
from reticent.errors import PolicyError
from reticent.exact import Number


@dataclass(frozen=True)
class PopulationEstimate:
    """The population that the rows stand for: ``people`` of it, the figures of attackers among them, and who stands alone in it.

    ``sample_uniques`` stand alone in the table; ``confirmed`` is the share of these who are expected to stand alone in the population.
    """

    people: Fraction
    risk: Reidentification
    sample_uniques: int
    confirmed: Fraction

    def as_dict(self) -> dict[str, Any]:
        """The estimate as plain data."""
        journalist = self.risk.journalist
        return {
            "people": self.people,
            "journalist_highest": journalist.highest,
            "journalist_average": journalist.average,
            "journalist_at_risk": journalist.at_risk,
            "sample_uniques": self.sample_uniques,
            "confirmed": self.confirmed,
        }


def population_estimate(groups: Groups, unit: Fraction, threshold: Number = "1/5") -> PopulationEstimate:
    """Estimate the population from the weights of a sample; ``unit`` is what one count of weight stands for (``table.weights.unit``).

    A group stands for the sum of its weights, rounded down: so many candidates the journalist has, and never fewer than the table
    shows. Somebody who stands alone in the table with weight ``w`` was drawn with chance ``p = 1/w``, and stands alone in the population with
    that chance too: given one row, the size of the group is geometric with parameter ``p``, the posterior of Benedetti and Franconi's model.
    """
    if WEIGHT not in groups.extras:
        raise PolicyError(
            "The rows have no weights, so they say nothing about a population. Name their column with weight=."
        )
    if "persons" in groups.extras:
        raise PolicyError("Weights of rows do not say how many people stand behind somebody with several rows.")
    weights = groups.extras[WEIGHT]
    candidates = weights * unit.numerator // unit.denominator
    alone = occupied(groups)
    alone = alone[groups.sizes[alone] == 1]
    values, times = np.unique(weights[alone], return_counts=True)
    chances = [min(1 / (unit * value), Fraction(1)) if value else Fraction(1) for value in values.tolist()]
    expected = sum((chance * count for chance, count in zip(chances, times.tolist(), strict=True)), start=Fraction(0))
    return PopulationEstimate(
        unit * int(weights.sum()),
        reidentification(replace(groups, extras={**groups.extras, POPULATION: candidates}), threshold),
        len(alone),
        expected / len(alone) if len(alone) else Fraction(0),
    )
