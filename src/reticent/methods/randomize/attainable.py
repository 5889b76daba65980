"""Feasibility of a view: guaranteed, open, or impossible. Decided from public facts in exact arithmetic. Source: [Rastogi2007]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from reticent.base.exact import Number, exact, whole
from reticent.errors import Infeasible, PolicyError
from reticent.methods.randomize.error_bounds import Law, bernstein
from reticent.methods.randomize.rates import rates_for
from reticent.methods.randomize.view_domain import ViewDomain


@dataclass(frozen=True)
class Feasibility:
    """The verdict with its reason.

    ``threshold`` is the prior d above which no private algorithm is meaningful, with the constant of that theorem taken
    as 1; ``threshold_k`` is the same in units of k.
    """

    verdict: Literal["guaranteed", "open", "impossible"]
    reason: str
    threshold: float
    threshold_k: float


def is_above_wall(n: int, size: int, d: Fraction, gamma: Fraction) -> bool:
    """True if d >= gamma/(1-gamma) n/sqrt(m), squared to avoid the root."""
    return d * d * size * (1 - gamma) ** 2 >= gamma**2 * n**2


def judge(n: int, size: int, d: Fraction, gamma: Fraction, rates: Law | None, error: Fraction) -> Feasibility:
    """Return whether a guarantee for ``n`` rows and ``size`` possible tuples is feasible with useful accuracy.

    Priors are at most ``d``, posteriors at most ``gamma``; ``rates`` are inclusion probabilities that satisfy this, None
    if there are none; ``error`` is the probability with which the error bound may fail.
    """
    smallest_error = float(gamma / (1 - gamma)) * n / math.sqrt(size)
    multiple = smallest_error * size / n
    if d >= gamma:
        return Feasibility(
            "impossible", "The prior (d) is not below the allowed posterior (gamma).", smallest_error, multiple
        )
    if is_above_wall(n, size, d, gamma):
        reason = (
            f"d = {float(d):.4g} is above {smallest_error:.4g}, where no useful view is private (a heuristic: the constant of that theorem is not "
            "known and was taken as 1)."
        )
        return Feasibility("impossible", reason, smallest_error, multiple)
    if rates is None:
        return Feasibility("open", "No rates satisfy the definition with this preset.", smallest_error, multiple)
    error_bound = bernstein(rates, n, size, error)
    if error_bound < n / 2:
        share = float(100 * (1 - error))
        reason = f"The guarantee holds, and the error of a count of the whole table is below n/2 (by {error_bound:.4g} at {share:g}%)."
        return Feasibility("guaranteed", reason, smallest_error, multiple)
    reason = (
        f"The guarantee holds, but the error of a count of the whole table may be {error_bound:.4g} for n = {n}: too much to be useful. Choose a smaller k or a "
        "larger gamma, or publish more rows."
    )
    return Feasibility("open", reason, smallest_error, multiple)


def feasibility(
    n: int,
    domain: ViewDomain | Mapping[str, Any],
    gamma: Number,
    *,
    k: Number | None = None,
    d: Number | None = None,
    preset: str = "tight",
    error: Number = "0.05",
) -> Feasibility:
    """Judge whether a view of ``n`` tuples can be private and useful, without making a plan; a negative answer is no error.

    The prior is given as ``d``, or as ``k`` times the average density; posteriors are at most ``gamma``.
    """
    size = ViewDomain.of(domain).size
    rows = whole(n, "n", low=1)
    prior, belief = prior_of(rows, size, k, d), exact(gamma, "gamma")
    rates = None
    if prior < belief < 1:
        with suppress(Infeasible):
            rates = rates_for(prior, belief, preset)
    return judge(rows, size, prior, belief, rates, exact(error, "error"))


def prior_of(n: int, size: int, k: Number | None, d: Number | None) -> Fraction:
    """Return the given prior d, or k times the average density n/m."""
    if (k is None) == (d is None):
        raise PolicyError(
            "Pass either k (an outsider's prior in units of the average density) or d (the prior itself)."
        )
    if d is not None:
        return exact(d, "d", low=0)
    multiple = exact(k if k is not None else 0, "k")
    if multiple < 1:
        raise PolicyError(f"k must be at least 1, since no prior is below the average on every tuple, but it is {k}.")
    return multiple * n / size
