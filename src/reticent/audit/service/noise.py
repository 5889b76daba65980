"""Noisy answers from a budget: discrete Laplace noise by OpenDP, beside the audited answers.

*Guarantee*: the noisy answers of a column together are epsilon-differentially private for the whole budget, neighbours being tables in
which one person's value differs; who is in a row set is public. Repeating a question returns the same noise. *Adversary*: anybody,
who knows all other values. Beside exact answers the bound is for tables that agree with them: where a person's value is tied
to those of m others by exact answers, odds may move by a factor exp((m + 1) epsilon) instead of exp(epsilon).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

from reticent.audit.service.settings import Noise
from reticent.errors import PolicyError

_WIDEST = 2**50


def unit_of(decimals: int | None) -> Fraction:
    """The step of noisy answers: one unit of the column's last declared decimal place."""
    return Fraction(1, 10 ** (decimals or 0))


def noisy(total: Fraction, noise: Noise, unit: Fraction) -> Fraction:
    """The total of values cut to the noise's range, rounded down to whole units, with noise for one answer.

    Rounding down keeps the sensitivity: totals at most K units apart stay at most K apart for a whole number K.
    """
    sensitivity = math.ceil((noise.high - noise.low) / unit)
    drawn = int(_mechanism(sensitivity, noise.each)(0))
    return (math.floor(total / unit) + drawn) * unit


@lru_cache(maxsize=64)
def _mechanism(sensitivity: int, each: Fraction) -> Callable[[int], int]:
    """Discrete Laplace noise that costs at most ``each`` where one person moves the total by at most ``sensitivity`` units."""
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError:
        raise PolicyError(
            "Noisy answers need the package opendp, which is not installed. Install it with: pip install 'reticent[noise]'"
        ) from None
    dp.enable_features("contrib")
    scale = float(sensitivity / each)
    if scale > _WIDEST:
        raise PolicyError(
            "noise: range is too wide for its decimals and epsilon. Use fewer decimals, or a narrower range."
        )
    while True:
        made: Any = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=scale)
        # OpenDP rounds the loss up; the scale grows until even so it is within what is paid for.
        if Fraction(made.map(d_in=sensitivity)) <= each:
            return cast(Callable[[int], int], made)
        scale = math.nextafter(scale, math.inf)
