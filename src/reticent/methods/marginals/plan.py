"""The plan of a release of marginals: every noisy count and every noisy choice, and their exact composed privacy cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

from reticent.base.exact import exact, one_of, whole
from reticent.base.privacy_cost import Relation
from reticent.errors import DataError
from reticent.noise import CURRENCIES, ComposedPlan, Currency

StepKind = Literal["measure", "choose", "cut"]
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)
MOST_STEPS = 100_000
ROUNDING = Fraction(1, 1 << 20)
"""Scores are sums of floats: an upper bound on what rounding adds to their sensitivity."""


@dataclass(frozen=True)
class NoisyStep:
    """One query on the data: counts of all cells of some ``columns`` with noise of a ``scale`` (``measure``; ``cut`` if bins are placed by them), or a noisy
    maximum of scores with sensitivity at most 1 (``choose``)."""

    kind: StepKind
    columns: tuple[str, ...]
    scale: Fraction

    def __post_init__(self) -> None:
        one_of(self.kind, "step", STEP_KINDS)
        exact(self.scale, "scale", above=0)

    def cost(self, currency: Currency, rows: int, relation: Relation) -> Fraction:
        """The privacy cost of the step for one unit of at most ``rows`` records.

        *Counts*: adding or removing the unit's records moves the counts by at most ``rows`` in all, so by at most ``rows`` in Euclidean distance; replacing them moves as much down as up, in
        different cells: twice the sum and sqrt(2) times the distance. Gaussian noise of scale s costs distance^2/(2 s^2), Laplace noise sum/s.
        *Choices*: a score changes by at most ``rows``, and twice that where records are replaced. A maximum under Gumbel noise of scale s is 2 change/s-bounded in range, which costs
        that epsilon, and (2 change/s)^2/8 [Cesar and Rogers 2021, section 4].
        """
        replaced = relation == "replace"
        if self.kind == "choose":
            change = (rows * (2 if replaced else 1)) * (1 + ROUNDING)
            ratio = 2 * change / self.scale
            return ratio if currency == "epsilon" else ratio**2 / 8
        if currency == "epsilon":
            return Fraction(rows * (2 if replaced else 1)) / self.scale
        return Fraction(rows**2 * (2 if replaced else 1)) / (2 * self.scale**2)

    def as_json(self) -> dict[str, Any]:
        """The step as plain data."""
        return {"step": self.kind, "columns": list(self.columns), "scale": str(self.scale)}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> NoisyStep:
        """The step that :meth:`as_json` wrote."""
        return cls(written["step"], tuple(map(str, written["columns"])), Fraction(written["scale"]))


@dataclass(frozen=True)
class MarginalsPlan(ComposedPlan):
    """All noisy steps of a release, in order, for a unit of at most ``rows`` records. Synthetic records and noisy totals are computed from their answers."""

    currency: Currency
    rows: int
    steps: tuple[NoisyStep, ...]

    def __post_init__(self) -> None:
        one_of(self.currency, "currency", CURRENCIES)
        whole(self.rows, "rows", low=1)
        if not self.steps or len(self.steps) > MOST_STEPS:
            raise DataError(
                f"A release of marginals has between 1 and {MOST_STEPS:,} noisy steps, not {len(self.steps):,}."
            )

    @cached_property
    def _costs(self) -> dict[Relation, Fraction]:
        """Return the cost of all steps for each relation of neighbours."""
        relations: tuple[Relation, ...] = ("add/remove", "replace")
        return {
            relation: sum((step.cost(self.currency, self.rows, relation) for step in self.steps), Fraction(0))
            for relation in relations
        }

    def cost(self, relation: Relation) -> Fraction:
        return self._costs[relation]

    def as_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {"currency": self.currency, "rows": self.rows, "steps": [step.as_json() for step in self.steps]}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> MarginalsPlan:
        """The plan that :meth:`as_json` wrote."""
        return cls(written["currency"], written["rows"], tuple(NoisyStep.from_json(step) for step in written["steps"]))
