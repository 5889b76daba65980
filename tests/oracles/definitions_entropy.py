"""Entropy diversity by whole-number powers, and don't-care counts lowered by a numerical optimizer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import minimize


def at_least(counts: Sequence[int], l: Fraction) -> bool:  # noqa: E741 - as in the spec
    """``N^N >= l^N * prod(n^n)``, in integers."""
    present = [count for count in counts if count > 0]
    total = sum(present)
    return (l.denominator * total) ** total >= l.numerator**total * math.prod(count**count for count in present)


def effective_l(counts: Sequence[float]) -> float:
    """exp of the entropy of some weights."""
    weights = np.array([count for count in counts if count > 0], dtype=float)
    shares = weights / weights.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def effective_l_with_dont_care(fixed: Sequence[int], spared: Sequence[int]) -> float:
    """Don't-care sets by their definition: the largest entropy when every don't-care count may be lowered to anything down to 0.

    Entropy is quasi-concave in the weights, so that a local search finds the global optimum; several starts make sure.
    """
    if not fixed:
        return math.inf
    if not spared:
        return effective_l(fixed)
    best = effective_l(fixed)
    for share in (1.0, 0.5, 0.05):
        found = minimize(
            lambda weights: -math.log(effective_l([*fixed, *weights])),
            x0=[count * share for count in spared],
            bounds=[(1e-12, count) for count in spared],
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000},
        )
        best = max(best, math.exp(-found.fun))
    return best
