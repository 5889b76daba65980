"""The privacy cost of a noisy release: bounds on its loss for a unit and a neighbour relation, sound conversions, and
composition.

All figures are exact fractions; results of exponentials and logarithms are rounded up, so a figure is never below the
proven bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

from reticent.base.cards import sentence_case
from reticent.base.exact import exact, one_of, whole
from reticent.errors import PolicyError

Relation = Literal["replace", "add/remove"]
"""Neighbouring tables: one unit's confidential values are replaced by others (bounded), or one unit is added or removed (unbounded)."""
RELATIONS: tuple[Relation, ...] = get_args(Relation)
ProtectedUnit = Literal["row", "person", "household"]
UNITS: tuple[ProtectedUnit, ...] = get_args(ProtectedUnit)
"""The unit in whose contribution neighbours differ, smallest first."""
_PRECISION, _DIGITS = 50, 18
# Errors of the last digits of a few decimal operations; arguments are below e^100.
_MARGIN = Decimal(10) ** -35
_LARGEST_EXPONENT = 10_000


@dataclass(frozen=True)
class Amounts(Mapping[str, Fraction]):
    """An epsilon and a delta, by attribute or by name."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __getitem__(self, name: str) -> Fraction:
        if name not in ("epsilon", "delta"):
            raise KeyError(name)
        return self.epsilon if name == "epsilon" else self.delta

    def __iter__(self) -> Iterator[str]:
        return iter(("epsilon", "delta"))

    def __len__(self) -> int:
        return 2

    def within(self, total: Amounts) -> bool:
        """True if both are at most those of ``total``."""
        return self.epsilon <= total.epsilon and self.delta <= total.delta


@dataclass(frozen=True)
class LossBound:
    """A bound on the privacy loss between neighbours, in two forms that hold simultaneously.

    The mechanism is (``epsilon``, ``delta``)-indistinguishable; and it is ``rho_delta``-approximate ``rho``-zero-concentrated. Without ``rho`` the second
    follows from the first: (epsilon, delta)-indistinguishable distributions are mixtures, with weights 1 - delta and delta, whose first
    components are epsilon-indistinguishable ([Kairouz2015], simulation of theorem 3.3), hence (epsilon^2/2)-zero-concentrated ([Bun2016],
    proposition 3.3). A mechanism with a rho of its own (Gaussian noise) supplies it, with a ``rho_delta`` of 0.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    rho_delta: Fraction | None = None

    def __post_init__(self) -> None:
        """Store the bounds exactly; without ``rho``, derive it from ``epsilon``, with ``delta`` as its ``rho_delta``."""
        for name, low in (("epsilon", 0), ("delta", 0)):
            object.__setattr__(self, name, exact(getattr(self, name), name, low=low))
        rho = self.epsilon**2 / 2 if self.rho is None else exact(self.rho, "rho", low=0)
        derived_delta = self.delta if self.rho is None else 0
        rho_delta = derived_delta if self.rho_delta is None else self.rho_delta
        object.__setattr__(self, "rho", rho)
        object.__setattr__(self, "rho_delta", exact(rho_delta, "rho_delta", low=0))

    @property
    def concentrated(self) -> tuple[Fraction, Fraction]:
        """Rho and its delta."""
        assert self.rho is not None
        assert self.rho_delta is not None
        return self.rho, self.rho_delta

    def times(self, size: int) -> LossBound:
        """The loss between tables that are ``size`` neighbours apart (group privacy).

        Along a path of c neighbours, Pr[S] <= e^epsilon Pr'[S] + delta is applied c times: (c epsilon, delta (1 + e^epsilon + ... + e^((c-1) epsilon))). Rho grows with c^2
        if it has no delta ([Bun2016], proposition 1.9); with one it is derived from the epsilon of the group.
        """
        whole(size, "size", low=1)
        if size == 1:
            return self
        power = exponential_above(self.epsilon) if self.delta else Fraction(1)
        delta = _rounded_up(self.delta * sum((power**step for step in range(size)), Fraction(0)))
        rho, beside = self.concentrated
        if beside:
            return LossBound(size * self.epsilon, delta)
        return LossBound(size * self.epsilon, delta, size**2 * rho, Fraction(0))


@dataclass(frozen=True)
class PrivacyCost:
    """What one release costs the account of its data set.

    ``losses`` are the proven bounds for one ``unit``, by neighbour relation; empty if the release has no bound, so no
    account can pay for it. A larger unit consists of at most ``most`` of these units, if known. Samples that are stored
    and published again cost nothing more: a cost named ``once`` is charged to an account the first time only.
    """

    purpose: str
    losses: Mapping[Relation, LossBound]
    unit: ProtectedUnit = "row"
    most: Mapping[ProtectedUnit, int] = field(default_factory=dict)
    once: str | None = None

    def __post_init__(self) -> None:
        for relation in self.losses:
            one_of(relation, "relation", RELATIONS)
        one_of(self.unit, "unit", UNITS)

    @property
    def relation(self) -> Relation:
        """The relation of an account that this release opens: the one it was made for."""
        return next(iter(self.losses))

    def under(self, unit: ProtectedUnit, relation: Relation) -> LossBound:
        """The loss for one ``unit`` and neighbours under ``relation``. Raises :class:`PolicyError` if no bound is proven.

        *Bounded from unbounded*: replacing a unit is removing it and adding another, two steps: (2 epsilon, (1 +
        e^epsilon) delta) and 4 rho. *Unbounded from bounded* has no bound in general: a mechanism may publish the
        number of units. *Larger units* are groups of at most ``most`` smaller ones. *Smaller units*: replacing one row
        of a person is replacing the person's rows; adding or removing one is removing the person and adding her with
        other rows, two steps. A bound for replaced units alone does not cover it: the number of rows may be public.
        """
        if not self.losses:
            raise PolicyError(
                f"{sentence_case(self.purpose)} has no finite epsilon, so it cannot be charged to an account, and these people have one. Choose a plan that hides every row (s below 1)."
            )
        loss = self.losses.get(relation)
        two_steps = UNITS.index(unit) < UNITS.index(self.unit) if relation == "add/remove" else loss is None
        if two_steps and "add/remove" in self.losses:
            loss = self.losses["add/remove"].times(2)
        if loss is None:
            raise PolicyError(
                f"{sentence_case(self.purpose)} has no bounded cost under the relation add/remove: the release reveals the number of {self.unit}s, or is not proven to hide it. "
                "Declare the account with relation = 'replace' before its first release, or use a method for UnboundedDP."
            )
        if UNITS.index(unit) <= UNITS.index(self.unit):
            return loss
        size = self.most.get(unit)
        if size is None:
            raise PolicyError(
                f"{sentence_case(self.purpose)} protects one {self.unit}, but the account protects one {unit}, who may have any number of {self.unit}s. Publish a table with unit={unit!r}, or one that "
                f"bounds them (rows_per_person=)."
            )
        return loss.times(size)


@dataclass(frozen=True)
class DeclaredBudget:
    """The totals that all noisy releases of a data set may cost together, and, if declared, the unit and the relation of the account."""

    total: Amounts
    unit: ProtectedUnit | None = None
    relation: Relation | None = None

    @classmethod
    def of(cls, declared: object, owner: str) -> DeclaredBudget | None:
        """The budget from a mapping such as ``{"epsilon": 10, "delta": "1e-4"}``, or None. Raises :class:`PolicyError` otherwise."""
        if declared is None or isinstance(declared, DeclaredBudget):
            return declared
        if not isinstance(declared, Mapping) or not {"epsilon"} <= set(declared) <= {
            "epsilon",
            "delta",
            "unit",
            "relation",
        }:
            raise PolicyError(
                f"{owner}: budget must name the totals of epsilon and delta, such as {{'epsilon': 10, 'delta': '1e-4'}}, and optionally unit and relation, but it is {declared!r}.",
                setting=("budget",),
                value=declared,
            )
        unit, relation = declared.get("unit"), declared.get("relation")
        if unit is not None:
            one_of(unit, f"{owner}: budget: unit", UNITS)
        if relation is not None:
            one_of(relation, f"{owner}: budget: relation", RELATIONS)
        epsilon, delta = (
            exact(declared.get(name, 0), f"{owner}: budget: {name}", low=0) for name in ("epsilon", "delta")
        )
        return cls(Amounts(epsilon, delta), unit, relation)


def concentrated_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon such that a rho-zero-concentrated mechanism is (epsilon, delta)-indistinguishable, rounded up.

    For every order a > 1, epsilon = a rho + (ln(1/delta) + a ln(1 - 1/a) - ln(a - 1))/(a - 1) holds ([Canonne2020],
    proposition 12 and corollary 13). The order is optimized with floats, whose error can only enlarge the figure; the
    figure itself is computed in decimals and rounded up.
    """
    exact(delta, "delta", above=0, below=1)
    if not rho:
        return Fraction(0)
    logarithm, near = -_log_float(delta), float(rho)

    def figure(log_step: float) -> float:
        """Return epsilon for the order 1 + e^``log_step``, in floats."""
        step = math.exp(log_step)
        order = 1 + step
        return order * near + (logarithm - order * math.log1p(1 / step) - math.log(step)) / step

    step = _best_order(figure)
    with localcontext() as context:
        context.prec = _PRECISION
        small, order = _decimal(step), 1 + _decimal(step)
        numerator = -_decimal(delta).ln() + order * (small / order).ln() - small.ln()
        return max(Fraction(0), _ceiled(order * _decimal(rho) + numerator / small))


def concentrated_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """A delta such that a rho-zero-concentrated mechanism is (epsilon, delta)-indistinguishable, rounded up; the inverse of :func:`concentrated_epsilon`.

    For every order a > 1, delta = exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1) holds ([Canonne2020], corollary 13).
    """
    if not rho:
        return Fraction(0)

    def figure(log_step: float) -> float:
        """Return the logarithm of delta for the order 1 + e^``log_step``, in floats."""
        step = math.exp(log_step)
        order = 1 + step
        return step * (order * float(rho) - float(epsilon)) - order * math.log1p(1 / step) - log_step

    step = _best_order(figure)
    with localcontext() as context:
        context.prec = _PRECISION
        small, order = _decimal(step), 1 + _decimal(step)
        exponent = small * (order * _decimal(rho) - _decimal(epsilon)) + order * (small / order).ln() - small.ln()
        if exponent >= 0:
            return Fraction(1)
        return min(Fraction(1), _rounded_up(Fraction(exponent.exp() * (1 + _MARGIN))))


@lru_cache(maxsize=256)
def concentrated_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho, nearly the largest, such that every rho-zero-concentrated mechanism is (epsilon, delta)-indistinguishable."""
    low, high = Fraction(0), exact(epsilon, "epsilon", above=0)
    while concentrated_epsilon(high, delta) <= epsilon:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if concentrated_epsilon(middle, delta) <= epsilon else (low, middle)
    return low


def _best_order(figure: Callable[[float], float]) -> Fraction:
    """Return the order minus 1 that nearly minimizes ``figure``, a unimodal function of its logarithm, by ternary
    search.
    """
    low, high = -20.0, 40.0
    for _ in range(200):
        third = (high - low) / 3
        low, high = (low, high - third) if figure(low + third) < figure(high - third) else (low + third, high)
    return Fraction(math.exp((low + high) / 2)).limit_denominator(10**6) or Fraction(1, 10**6)


def exponential_above(value: Fraction) -> Fraction:
    """A decimal of at least e^value, with relative error below 10^-15."""
    if value > _LARGEST_EXPONENT:
        raise PolicyError(f"epsilon = {float(value):g} is too large to be converted.")
    with localcontext() as context:
        context.prec = _PRECISION
        return Fraction(_decimal(value).exp() * (1 + _MARGIN))


def logarithm_above(ratio: Fraction) -> Fraction:
    """A decimal of at least ln(ratio)."""
    with localcontext() as context:
        context.prec = _PRECISION
        return _ceiled(_decimal(exact(ratio, "ratio", above=0)).ln())


def _log_float(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _ceiled(value: Decimal) -> Fraction:
    """A result of a few decimal operations, rounded up beyond their errors."""
    with localcontext() as context:
        context.prec = _PRECISION
        return Fraction((value + abs(value) * _MARGIN + _MARGIN).quantize(Decimal(10) ** -_DIGITS, ROUND_CEILING))


def _rounded_up(value: Fraction) -> Fraction:
    """The fraction rounded up to 18 significant digits."""
    if not value or value.denominator < 10**_DIGITS:
        return value
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_CEILING
        return Fraction(Decimal(value.numerator) / Decimal(value.denominator))
