"""The rates of the algorithm, alpha and beta, and how they are chosen, as exact fractions. Source: [Rastogi2007].

A true tuple is published with probability s = alpha + beta, any other tuple of the domain with beta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Literal, get_args

from reticent.base.exact import one_of, whole
from reticent.definitions import Adversary, Ratios, highest_allowed, posterior
from reticent.errors import Infeasible, PolicyError

Preset = Literal["paper", "tight", "max-utility", "floor"]
PRESETS: tuple[str, ...] = get_args(Preset)
_GRID = 2**64


@dataclass(frozen=True)
class Rates:
    """The inclusion probabilities of a series of at most ``views`` views.

    ``carry`` is the probability of a tuple that was in an earlier view but is not in the table now; unused with one
    view. In a ``frozen`` series the table never changes, and the probability of new noise falls from view to view.
    """

    alpha: Fraction
    beta: Fraction
    views: int = 1
    carry: Fraction = Fraction(0)
    frozen: bool = False

    def __post_init__(self) -> None:
        if self.alpha <= 0 or self.beta <= 0 or self.s > 1:
            raise Infeasible(
                f"alpha = {float(self.alpha):.6g} and beta = {float(self.beta):.6g} must be positive and add up to at most 1. Weaken the guarantee: a larger "
                "gamma, a smaller k or d, or fewer views."
            )
        whole(self.views, "views", low=1)
        if self.views > 1 and not 0 < self.carry < self.s:
            raise Infeasible(
                f"carry = {float(self.carry):.6g}, the probability of a tuple of earlier views that is not true, must be above 0 and below "
                f"s = {float(self.s):.6g}: without it a tuple that is included again is certainly true."
            )

    @property
    def s(self) -> Fraction:
        """Probability that a true tuple is published, alpha + beta."""
        return self.alpha + self.beta

    def noise(self, index: int) -> Fraction:
        """Return the probability of a tuple that is neither true nor in an earlier view, at view ``index`` (from 1)."""
        return (1 - self.s) ** (index - 1) * self.beta if self.frozen else self.beta

    def ratios(self, adversary: Adversary) -> Ratios:
        """Return the extreme likelihood ratios (see :mod:`reticent.definitions.mechanisms`), over all views and membership histories."""
        if adversary == "record":
            raise PolicyError(
                "An alpha-beta view has no rows about single people; the adversary 'record' is for Frapp."
            )
        if adversary == "independent":
            return self._independent()
        linked = Ratios(self.s * (1 - self.beta) / (self.beta * (1 - self.s)), None) if self.s < 1 else None
        if linked is None or self.views > 1:
            raise Infeasible("Against exclusive adversaries one view can be planned, and s must be below 1.")
        if adversary == "exclusive":
            return linked
        independent = self._independent()
        return Ratios(max(linked.highest, independent.highest), independent.lowest)

    def _independent(self) -> Ratios:
        """Return the extreme likelihood ratios against independent adversaries, over all patterns of views that include a
        tuple and all histories of its membership in the table.

        Computed from the last view backwards; the keys tell whether an earlier view has included the tuple.
        """
        one = Fraction(1)
        highest = {True: one, False: one}
        lowest = {True: one, False: one}
        for index in range(self.views, 0, -1):
            noise = self.noise(index)
            newly_included, still_included = self.s / noise, self.s / self.carry if self.carry else one
            newly_missing, no_longer_included = (1 - self.s) / (1 - noise), (1 - self.s) / (1 - self.carry)
            # A step without membership has ratio 1 in any case; a frozen table has no such step.
            without_membership = [] if self.frozen else [one]
            highest = {
                True: max(still_included, no_longer_included, *without_membership) * highest[True],
                False: max(
                    newly_included * highest[True],
                    newly_missing * highest[False],
                    *(ratio * max(highest.values()) for ratio in without_membership),
                ),
            }
            lowest = {
                True: min(still_included, no_longer_included, *without_membership) * lowest[True],
                False: min(
                    newly_included * lowest[True],
                    newly_missing * lowest[False],
                    *(ratio * min(lowest.values()) for ratio in without_membership),
                ),
            }
        return Ratios(highest[False], lowest[False], self.views > 1 and not self.frozen)

    def spread(self, true: Fraction, cells: Fraction) -> Fraction:
        """Return the variance of the number of published tuples in a query that ``true`` tuples of the table and ``cells`` of the domain meet."""
        return true * self.s * (1 - self.s) + (cells - true) * self.beta * (1 - self.beta)

    def most_spread(self, n: int, cells: int) -> Fraction:
        """Return an upper bound of :meth:`spread` over all tables of n tuples."""
        return min(n, cells) * self.s * (1 - self.s) + cells * self.beta * (1 - self.beta)

    def posterior(self, prior: Fraction, seen: bool) -> Fraction:
        """Return the exact posterior of a tuple after one view that includes it, or does not."""
        return posterior(prior, self.s / self.beta if seen else (1 - self.s) / (1 - self.beta))

    def swap_ratio(self) -> Fraction | None:
        """e^epsilon of differential privacy for replacing one tuple; None if unbounded."""
        return self.s * (1 - self.beta) / (self.beta * (1 - self.s)) if self.s < 1 else None

    def change_ratio(self) -> Fraction | None:
        """e^epsilon of differential privacy for adding or removing one tuple; None if unbounded."""
        return max(self.s / self.beta, (1 - self.beta) / (1 - self.s)) if self.s < 1 else None


def rates_for(
    d: Fraction,
    gamma: Fraction,
    preset: str = "tight",
    adversary: Adversary = "independent",
    *,
    floor: Fraction | None = None,
    views: int = 1,
    frozen: bool = False,
    counted: bool = False,
) -> Rates:
    """Return the rates of a preset, against an adversary, for a number of views.

    ``tight`` (s = 1/2, posterior exactly gamma), ``paper`` (s = 1/2, over-noised as printed), ``max-utility`` (the
    least variance), ``floor`` (the user chooses the smallest posterior/prior ratio). Against exclusive adversaries
    noise grows like 1/(s(1-s)), so that max-utility is s = 1/2 there. If a column of the view counts people
    (``counted``), a person who has one tuple instead of another changes two records, so each may have only the square
    root of the likelihood ratio.
    """
    one_of(preset, "preset", PRESETS)
    if (floor is not None) != (preset == "floor"):
        raise PolicyError("floor= is the smallest posterior/prior ratio of preset='floor'; pass both or neither.")
    if views > 1 and adversary != "independent":
        raise PolicyError(
            f"Several views are planned against independent adversaries only; with adversary={adversary!r} their number must be 1."
        )
    if views > 1 and preset == "paper":
        raise PolicyError(
            "The preset 'paper' is for one view: with several, the published noise level breaks the guarantee. Use 'tight'."
        )
    s = _kept(d, gamma, preset, adversary, floor, views)
    least_ratio = 1 / highest_allowed(d, gamma)
    allowed_ratio = _root_above(least_ratio, 2) if counted else least_ratio
    if preset == "paper":
        beta = {"independent": d / gamma, "exclusive": 2 * allowed_ratio, "both": max(d / gamma, 2 * allowed_ratio)}[
            adversary
        ]
        return Rates(s - beta, beta)
    carry = _up(s * _exponential_above(Fraction(-1, views))) if views > 1 else Fraction(0)
    beta = s * least_ratio if views == 1 else _up(s * least_ratio * (s / carry) ** (views - 1))
    if adversary in ("exclusive", "both"):
        odds = allowed_ratio * s / (1 - s)
        beta = max(beta if adversary == "both" else Fraction(0), odds / (1 + odds))
    return Rates(s - beta, beta, views, carry, frozen)


def _kept(
    d: Fraction, gamma: Fraction, preset: str, adversary: Adversary, floor: Fraction | None, views: int
) -> Fraction:
    """Return the probability ``s`` with which a preset keeps a true tuple: the largest that leaves the required doubt about tuples that are never published."""
    half, smallest = Fraction(1, 2), d / gamma
    if preset == "floor":
        assert floor is not None
        if not smallest <= floor < 1:
            raise PolicyError(
                f"floor must be at least d/gamma = {float(smallest):.6g} and below 1: less would break the definition, but it is {float(floor):.6g}."
            )
        return 1 - floor if views == 1 else 1 - _root_above(floor, views)
    if preset != "max-utility":
        return half
    largest = 1 - smallest if views == 1 else 1 - _root_above(smallest, views)
    return largest if adversary == "independent" else min(half, largest)


def _up(value: Fraction) -> Fraction:
    """Round a fraction up to 64 significant bits: noise is always rounded up."""
    grid = _GRID << max(0, value.denominator.bit_length() - value.numerator.bit_length())
    return Fraction(math.ceil(value * grid), grid)


def _exponential_above(power: Fraction) -> Fraction:
    """Return a fraction just above e^power."""
    with localcontext() as context:
        context.prec = 50
        value = (Decimal(power.numerator) / Decimal(power.denominator)).exp()
        return Fraction(value) * (1 + Fraction(1, 10**40))


def _root_above(value: Fraction, degree: int) -> Fraction:
    """Return the smallest multiple of 2^-64 whose ``degree``-th power is at least ``value``, which is at most 1."""
    low, high = 0, _GRID
    while high - low > 1:
        middle = (low + high) // 2
        if Fraction(middle, _GRID) ** degree >= value:
            high = middle
        else:
            low = middle
    return Fraction(high, _GRID)
