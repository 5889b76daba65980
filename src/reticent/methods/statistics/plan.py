"""The plan of a release of statistics: every noisy step, its sensitivity to one unit, and the exact composed privacy cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

from reticent.base.exact import exact, one_of, whole
from reticent.base.privacy_cost import Relation, exponential_above
from reticent.errors import DataError
from reticent.noise import CURRENCIES, ComposedPlan, Contribution, Currency

StepKind = Literal["keys", "bounds", "count", "sum", "centred", "squares", "tree", "products"]
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)
RELATIONS: tuple[Relation, ...] = get_args(Relation)
MOST_STEPS = 10_000


@dataclass(frozen=True)
class StatisticStep:
    """One query on the data: noise of a ``scale`` on numbers to which one record adds its ``contribution``; with a ``threshold`` only keys whose noisy count reaches it are published."""

    kind: StepKind
    scale: Fraction
    contribution: Contribution
    threshold: int | None = None

    def __post_init__(self) -> None:
        one_of(self.kind, "step", STEP_KINDS)
        exact(self.scale, "scale", above=0)
        if (self.kind == "keys") != (self.threshold is not None):
            raise DataError("A step that chooses keys has a threshold, and no other step.")

    def cost(self, currency: Currency, rows: int, relation: Relation) -> Fraction:
        """The privacy cost: Gaussian noise of scale s costs (L2 sensitivity)^2/(2 s^2), Laplace noise (L1 sensitivity)/s."""
        total, squared = self.contribution.moves(rows, relation)
        return total / self.scale if currency == "epsilon" else squared / (2 * self.scale**2)

    def failure(self, rows: int, relation: Relation) -> Fraction:
        """The probability, rounded up, that a key of only one unit is published.

        The unit's records are in at most ``rows`` keys, each with at most ``rows`` of them; a key is published if its noise is at least threshold - rows. Discrete Gaussian noise of scale s is at least
        m >= 1 with a chance of at most exp(-(m - 1)^2/(2 s^2))/2 [Canonne, Kamath and Steinke 2020, proposition 25, with the Gaussian's own bound]. A unit that is replaced has keys before and after.
        """
        if self.threshold is None:
            return Fraction(0)
        above = self.threshold - rows - 1
        if above < 0:
            return Fraction(1)
        keys = rows * (2 if relation == "replace" else 1)
        return min(Fraction(1), keys * exponential_above(-Fraction(above**2) / (2 * self.scale**2)) / 2)


@dataclass(frozen=True)
class StatisticsPlan(ComposedPlan):
    """All noisy steps of a release, in order, for a unit of at most ``rows`` records."""

    currency: Currency
    rows: int
    steps: tuple[StatisticStep, ...]

    def __post_init__(self) -> None:
        one_of(self.currency, "currency", CURRENCIES)
        whole(self.rows, "rows", low=1)
        if not self.steps or len(self.steps) > MOST_STEPS:
            raise DataError(
                f"A release of statistics has between 1 and {MOST_STEPS:,} noisy steps, not {len(self.steps):,}."
            )
        if self.currency == "epsilon" and any(step.threshold is not None for step in self.steps):
            raise DataError("Keys are selected with Gaussian noise and a delta, but the plan has an epsilon only.")

    @cached_property
    def _costs(self) -> Mapping[Relation, Fraction]:
        return {
            relation: sum((step.cost(self.currency, self.rows, relation) for step in self.steps), Fraction(0))
            for relation in RELATIONS
        }

    def cost(self, relation: Relation) -> Fraction:
        return self._costs[relation]

    def failure(self, relation: Relation) -> Fraction:
        return sum((step.failure(self.rows, relation) for step in self.steps), Fraction(0))


def threshold_for(failure: Fraction, scale: Fraction, rows: int, relation: Relation) -> int:
    """The smallest threshold at which a step that selects keys fails with probability at most ``failure``."""

    def fails(threshold: int) -> bool:
        return StatisticStep("keys", scale, Contribution(), threshold).failure(rows, relation) > failure

    high = rows + 2
    while fails(high):
        high *= 2
    low = rows
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return high
