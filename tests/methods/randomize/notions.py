"""How the notions of privacy and utility translate into each other, rounded so that nothing is promised too much."""

from __future__ import annotations

import math
from fractions import Fraction

from reticent.base.exact import Number, exact
from reticent.definitions.mechanisms import highest_allowed


def relative_from_belief(d: Number, gamma: Number) -> Fraction:
    """e^delta of the relative privacy that (d, gamma)-privacy implies: posterior/prior within e^-delta and e^delta."""
    return highest_allowed(exact(d, "d"), exact(gamma, "gamma"))


def belief_from_relative(d: Number, ratio: Number) -> Fraction:
    """The gamma that relative privacy with e^delta = ``ratio`` implies for priors up to d."""
    return exact(d, "d") * exact(ratio, "ratio", low=1)


def indistinguishability_from_relative(delta: float) -> float:
    """The epsilon of indistinguishability that (d, delta)-relative privacy implies: 2 delta + 2 ln 2."""
    return math.nextafter(2 * delta + 2 * math.log(2), math.inf)


def is_meaningless_by_size(epsilon: float, n: int, size: int, constant: float = 1.0) -> bool:
    """Whether an epsilon-indistinguishable algorithm is meaningless by 3.8: e^epsilon <= c m/n^2. The constant is not known; a heuristic."""
    return epsilon <= math.log(constant * size) - 2 * math.log(n)


def useful_difference(error: Number) -> Fraction:
    """The statistical difference that a (rho, error)-useful algorithm with rho = o(sqrt n) passes: 2(1 - 2 error)."""
    return 2 * (1 - 2 * exact(error, "error", low=0, high=1))
