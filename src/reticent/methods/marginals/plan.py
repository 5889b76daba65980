"""The plan of a release of marginals: every noisy count and every noisy choice that it is made of, and what they cost together, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

from reticent.base.exact import exact, one_of, whole
from reticent.base.privacy_cost import (
    LossBound,
    Relation,
    concentrated_delta,
    concentrated_epsilon,
)
from reticent.errors import DataError

Currency = Literal["rho", "epsilon"]
"""How losses are counted: zero-concentrated differential privacy (Gaussian noise), or pure epsilon (Laplace noise)."""
CURRENCIES: tuple[Currency, ...] = get_args(Currency)
StepKind = Literal["measure", "choose", "cut"]
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)
MOST_STEPS = 100_000
ROUNDING = Fraction(1, 1 << 20)
"""Scores are sums of floats: what rounding can add to the change that one record makes in them."""


@dataclass(frozen=True)
class NoisyStep:
    """One access to the data: counts of all cells of some ``columns`` with noise of a ``scale`` (``measure``; ``cut`` where bins are placed by them), or a noisy
    maximum among scores that one record changes by at most 1 (``choose``)."""

    kind: StepKind
    columns: tuple[str, ...]
    scale: Fraction

    def __post_init__(self) -> None:
        one_of(self.kind, "step", STEP_KINDS)
        exact(self.scale, "scale", above=0)

    def cost(self, currency: Currency, rows: int, relation: Relation) -> Fraction:
        """What the step costs one unit of at most ``rows`` records.

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
class MarginalsPlan:
    """All noisy steps of a release, in order, for a unit of at most ``rows`` records.

    The total was fixed before the first step, and each step was chosen by what earlier noisy answers showed: adaptive composition within a budget (a privacy filter) holds for both currencies
    [Whitehouse and others 2023]. Synthetic records and noisy totals are computed from the answers, and cost nothing more.
    """

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
        relations: tuple[Relation, ...] = ("add/remove", "replace")
        return {
            relation: sum((step.cost(self.currency, self.rows, relation) for step in self.steps), Fraction(0))
            for relation in relations
        }

    def cost(self, relation: Relation) -> Fraction:
        """The sum of all steps, in the plan's currency."""
        return self._costs[relation]

    def loss(self, relation: Relation, delta: Fraction) -> LossBound:
        """What the release costs an account, with a ``delta`` to convert with."""
        total = self.cost(relation)
        if self.currency == "epsilon":
            return LossBound(total)
        return LossBound(concentrated_epsilon(total, delta), delta, total, Fraction(0))

    def within(self, relation: Relation, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether the release is (epsilon, delta)-indistinguishable for neighbours by ``relation``."""
        total = self.cost(relation)
        if self.currency == "epsilon":
            return total <= epsilon
        return delta > 0 and concentrated_epsilon(total, delta) <= epsilon

    def delta_at(self, relation: Relation, epsilon: Fraction) -> Fraction:
        """A delta that holds at epsilon, rounded up."""
        total = self.cost(relation)
        if self.currency == "epsilon":
            return Fraction(0 if total <= epsilon else 1)
        return concentrated_delta(total, epsilon)

    def rho(self, relation: Relation) -> Fraction:
        """A rho of zero-concentrated differential privacy that holds."""
        total = self.cost(relation)
        return total if self.currency == "rho" else total**2 / 2

    def keeps_added_row(self, epsilon: Fraction, delta: Fraction) -> bool:
        """For :class:`reticent.definitions.UnboundedDP`."""
        return self.within("add/remove", epsilon, delta)

    def added_row_delta(self, epsilon: Fraction) -> Fraction:
        """For :class:`reticent.definitions.UnboundedDP`."""
        return self.delta_at("add/remove", epsilon)

    def keeps_replaced_row(self, epsilon: Fraction, delta: Fraction) -> bool:
        """For :class:`reticent.definitions.BoundedDP`."""
        return self.within("replace", epsilon, delta)

    def replaced_row_delta(self, epsilon: Fraction) -> Fraction:
        """For :class:`reticent.definitions.BoundedDP`."""
        return self.delta_at("replace", epsilon)

    def as_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {"currency": self.currency, "rows": self.rows, "steps": [step.as_json() for step in self.steps]}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> MarginalsPlan:
        """The plan that :meth:`as_json` wrote."""
        return cls(written["currency"], written["rows"], tuple(NoisyStep.from_json(step) for step in written["steps"]))
