"""The noise of the reference 0-sample: the closed-form criterion of [Machanavajjhala2008b], certified by exact tails."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from reticent.errors import PolicyError
from reticent.methods.synthesize.beta_binomial import log_mass
from reticent.methods.synthesize.least_scale import least_scales
from reticent.methods.synthesize.required_noise import RequiredNoise, short

_BISECTIONS = 200


def thesis_scale(need: RequiredNoise) -> Fraction:
    """Return the noise of the published closed-form criterion (the 'reference 0-sample'), raised if exact tails do not certify it.

    Its theorem requires a threshold of more than 3 times, uniform weights, and as many synthetic as real rows.
    """
    if need.ratio <= 3:
        raise PolicyError(
            "mode 'thesis' needs e^epsilon > 3, that is an epsilon above 1.0987: its theorem assumes it. Use mode 'tight'.",
            setting=("mode",),
            value="thesis",
        )
    if need.drawn != need.size or len(need.classes) > 1:
        raise PolicyError(
            "mode 'thesis' needs uniform weights and as many synthetic as real rows: its theorem assumes it. Use mode 'tight'.",
            setting=("mode",),
            value="thesis",
        )
    if need.size == 1 or not need.delta:
        return need.enough
    reference = _reference_scale(need)
    return reference if need.holds(reference) else least_scales([need], [reference])[0]


def _reference_scale(need: RequiredNoise) -> Fraction:
    """Return the smallest noise that meets the published privacy criterion, found by bisection and rounded up."""
    excess, size, value_count, ratio = float(need.excess), need.size, float(need.classes[0].count), float(need.ratio)
    constant = math.log(2 * value_count * ratio / (ratio - 2)) - math.log(float(need.delta))
    low, high = 0.0, float(need.enough)
    for _ in range(_BISECTIONS):
        if high - low <= 1e-11 * high:
            break
        middle = (low + high) / 2
        if log_reference_mass(size, size, middle, (need.total - 1) * middle, excess) + constant > 0:
            low = middle
        else:
            high = middle
    return min(short(Fraction(high)), need.enough)


def log_reference_mass(size: int, drawn: int, inside: float, outside: float, excess: float) -> float:
    """Return the log of the largest beta-binomial mass at the threshold f(x), over all numbers x of people with one value;
    minus infinity if there is none.
    """
    people = np.arange(min(size, math.ceil(drawn / excess - inside + 1)) + 1, dtype=np.float64)
    thresholds = excess * (inside + np.maximum(people - 1, 0))
    people, thresholds = people[thresholds < drawn], thresholds[thresholds < drawn]
    if not len(people):
        return -math.inf
    masses = log_mass(np.array(float(drawn)), people + inside, size - people + outside, thresholds)
    return float(masses.max())
