"""Linear regression from noisy sums of products: the design of a query, its sums, and coefficients with intervals that follow from noisy sums.

Every variable z is an integer from -RADIUS to RADIUS: 1 is RADIUS, numbers are scaled between their bounds, and a column of cells is one indicator for each cell but the first. A record adds z_i z_j to the sum of each pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import PolicyError
from reticent.methods.noisy_columns import PublicColumn
from reticent.methods.statistics.statistic_query import StatisticQuery
from reticent.noise import Bounds, Contribution, Estimates, WholeNoise

RADIUS = 2**14
MOST_COVARIATES = 50
_CERTAIN = 8.0
Whole = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class RegressionDesign:
    """The variables of a linear regression: numbers by their bounds, and columns of cells by indicators."""

    outcome: str
    covariates: tuple[str, ...]
    bounds: Mapping[str, Bounds]
    columns: Mapping[str, PublicColumn]

    def __post_init__(self) -> None:
        if len(self.terms) > MOST_COVARIATES + 1:
            raise PolicyError(
                f"A linear regression on {', '.join(self.covariates)} has {len(self.terms) - 1} variables, and at most {MOST_COVARIATES} are allowed: each has noisy numbers with all others. Use fewer columns or cells.",
                setting=("queries",),
            )

    @classmethod
    def of(
        cls, query: StatisticQuery, bounds: Mapping[str, Bounds], columns: Mapping[str, PublicColumn]
    ) -> RegressionDesign:
        """The design of a query; a covariate with bounds is a number."""
        return cls(str(query.column), query.on, bounds, columns)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The name of every coefficient: the intercept is that of 1."""
        names = ["1"]
        for name in self.covariates:
            labels = [] if name in self.bounds else self.columns[name].labels[1:]
            names += [name] if name in self.bounds else [f"{name} = {label}" for label in labels]
        return tuple(names)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of variables whose products are added up; the outcome is the last variable, and its square is not needed."""
        size = len(self.terms)
        return [(first, second) for first in range(size) for second in range(first, size + 1)]

    def contribution(self, single: bool, optional: bool) -> Contribution:
        """A record adds a product of at most RADIUS^2 in size to the sum of every pair."""
        return Contribution(-(RADIUS**2), RADIUS**2, single, optional, len(self.pairs))

    def sums(self, frame: pl.DataFrame, group: Whole, groups: int) -> Whole:
        """The sums of products of all pairs, one row per group. The variables of ``frame`` are not missing."""
        variables = [np.full(frame.height, RADIUS, dtype=np.int64)]
        for name in self.covariates:
            if name in self.bounds:
                variables.append(scaled(self.bounds[name], frame[name]))
            else:
                column = self.columns[name]
                codes = column.encode(frame[name])
                variables += [np.where(codes == cell, RADIUS, 0) for cell in range(1, column.size)]
        variables.append(scaled(self.bounds[self.outcome], frame[self.outcome]))
        sums = np.zeros((groups, len(self.pairs)), dtype=np.int64)
        for pair_number, (first, second) in enumerate(self.pairs):
            np.add.at(sums[:, pair_number], group, variables[first] * variables[second])
        return sums

    def estimates(self, sums: Whole, noise: WholeNoise) -> list[Estimates]:
        """The estimates of every coefficient in the units of the columns, each for all groups; NaN where noise leaves no usable estimate.

        With noisy sums A of pairs of variables and b of pairs with the outcome, A^-1 b has the error A^-1 (e - E beta) to first order in the noise E and e, which is linear in independent noise of a known deviation.
        Where the smallest eigenvalue of A is not well above the norm of E, no interval would hold.
        """
        by_group = np.array([self._coefficients(row.astype(np.float64), noise) for row in sums])
        values, errors = by_group[:, 0], by_group[:, 1]
        reach = noise.quantile * errors
        return [
            Estimates(
                values[:, term], errors[:, term], values[:, term] - reach[:, term], values[:, term] + reach[:, term]
            )
            for term in range(len(self.terms))
        ]

    def _coefficients(self, sums: Reals, noise: WholeNoise) -> Reals:
        """The coefficients of one group, and their standard errors."""
        size = len(self.terms)
        products, outcome = np.zeros((size, size)), np.zeros(size)
        for (first, second), total in zip(self.pairs, sums.tolist(), strict=True):
            if second == size:
                outcome[first] = total
            else:
                products[first, second] = products[second, first] = total
        if np.linalg.eigvalsh(products)[0] < _CERTAIN * noise.deviation * np.sqrt(size):
            return np.full((2, size), np.nan)
        inverse = np.linalg.inv(products)
        slopes = inverse @ outcome
        units, constant = self._units_and_constant
        scaled_inverse = units @ inverse
        variance = np.zeros(size)
        for first, second in self.pairs:
            if second == size:
                error_weights = scaled_inverse[:, first]
            elif first == second:
                error_weights = -scaled_inverse[:, first] * slopes[first]
            else:
                error_weights = -scaled_inverse[:, first] * slopes[second] - scaled_inverse[:, second] * slopes[first]
            variance += error_weights**2
        return np.array([units @ slopes + constant, noise.deviation * np.sqrt(variance)])

    @cached_property
    def _units_and_constant(self) -> tuple[Reals, Reals]:
        """The matrix and the constant that turn coefficients of scaled variables into those of the columns."""
        middles, halves = [0.0], [1.0]
        for name in self.covariates:
            if name in self.bounds:
                middle, half = _ends(self.bounds[name])
                middles.append(middle)
                halves.append(half)
            else:
                cells = self.columns[name].size - 1
                middles += [0.0] * cells
                halves += [1.0] * cells
        middle, half = _ends(self.bounds[self.outcome])
        units = np.diag([half / scale for scale in halves])
        units[0, 1:] = [-half * centre / scale for centre, scale in zip(middles[1:], halves[1:], strict=True)]
        constant = np.zeros(len(middles))
        constant[0] = middle
        return units, constant


def _ends(bounds: Bounds) -> tuple[float, float]:
    """The middle of the bounds, and half their distance."""
    return float((bounds.low + bounds.high) / 2), float((bounds.high - bounds.low) / 2)


def scaled(bounds: Bounds, values: pl.Series) -> Whole:
    """Values clamped to their bounds, from -RADIUS at the lower to RADIUS at the upper."""
    middle, half = _ends(bounds)
    shares = (values.cast(pl.Float64).to_numpy() - middle) / half
    return np.rint(np.clip(shares, -1.0, 1.0) * RADIUS).astype(np.int64)


def coefficient_error(deviation: float, records: float, half: Fraction) -> float:
    """The standard error of a coefficient for half the range of its covariate, if covariates are spread evenly and uncorrelated: their scaled variance is RADIUS^2/3."""
    return deviation / (records * RADIUS**2 / 3) * float(half)
