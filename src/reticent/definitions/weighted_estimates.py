"""Population figures estimated from survey weights. They inform a risk assessment; no definition is decided by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact
from reticent.core import WEIGHT, Groups
from reticent.definitions.diversity_figures import occupied
from reticent.definitions.risk import Figures, Reidentification, reidentification
from reticent.errors import PolicyError


@dataclass(frozen=True)
class PopulationEstimate:
    """The population represented by the rows: its number of ``people``, the attackers' success figures in it, and unique
    people.

    The journalist of ``risk`` is right with probability equal to the expected value of 1 over a group's population
    size. ``sample_uniques`` are unique in the table; ``confirmed`` is the share of these expected to be unique in the
    population.
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
    """Estimate the population from the weights of a sample; ``unit`` is what one unit of weight counts
    (``table.weights.unit``).

    Each member of a population group is sampled with probability ``p``: the group's rows over the sum of their weights.
    Given the rows, the population size ``F`` of the group is negative binomial with parameter ``p``, the posterior of
    Benedetti and Franconi's model. The journalist's success probability is the mean of ``1/F``
    (:func:`individual_risk`), which exceeds 1 over the mean of ``F``: groups that happen to be small weigh more. A
    sample unique is a population unique with probability ``p``.
    Source: [Benedetti1998].
    """
    if WEIGHT not in groups.extras:
        raise PolicyError(
            "The rows have no weights, so a population cannot be estimated. Name the weight column with weight=."
        )
    if groups.owners:
        raise PolicyError(
            "A population cannot be estimated from row weights if people have several rows. Keep one row per person."
        )
    weights = groups.extras[WEIGHT]
    filled = occupied(groups)
    rows, stands_for = groups.sizes[filled], (weights[filled] * float(unit)).astype(np.float64)
    chances = individual_risk(rows, stands_for)
    limit = exact(threshold, "population_estimate: threshold", low=0, high=1)
    journalist = Figures(
        _near(chances.max()),
        _near(np.average(chances, weights=rows)),
        Fraction(int(rows[chances > float(limit)].sum()), int(rows.sum())),
    )
    alone = weights[filled[rows == 1]]
    values, times = np.unique(alone, return_counts=True)
    confirmed = [min(1 / (unit * value), Fraction(1)) if value else Fraction(1) for value in values.tolist()]
    expected = sum((chance * count for chance, count in zip(confirmed, times.tolist(), strict=True)), start=Fraction(0))
    return PopulationEstimate(
        unit * int(weights.sum()),
        replace(
            reidentification(groups, threshold),
            journalist=journalist,
            marketer=journalist.average,
            population_known=True,
        ),
        len(alone),
        expected / len(alone) if len(alone) else Fraction(0),
    )


def individual_risk(rows: NDArray[np.int64], stands_for: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected value of ``1/F``, F being the size of a population group of which ``rows`` are sampled and
    which ``stands_for`` w people by weight.

    With f rows this is ``p/f * 2F1(1, 1; f + 1; 1 - p)``, ``p = f/w``; for one row ``p/(1 - p) * log(1/p)``. Weights
    below the number of rows count as that number.
    """
    from scipy.special import hyp2f1

    drawn = rows / np.maximum(stands_for, rows)
    risk: NDArray[np.float64] = drawn / rows * hyp2f1(1, 1, rows + 1, 1 - drawn)
    return risk


def _near(chance: float) -> Fraction:
    return Fraction(float(chance)).limit_denominator(10**9)
