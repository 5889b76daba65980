"""The smallest certified noise: an exhaustive search, for all group sizes at once.

The probability of an output that is not representative is saw-toothed in the scale of the noise, so bisection does not
find the smallest scale. Here intervals of scales are excluded from the left, by lower bounds that hold everywhere in
them, and halved if that does not exclude them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.methods.synthesize.beta_binomial import Floats, relative_error
from reticent.methods.synthesize.required_noise import RequiredNoise, short, tails_of

# Relative tolerance of the result; narrower intervals than the finest are not examined.
PRECISION, FINEST = 5e-4, 2e-6
_NUDGE = 1e-11
_PEOPLE = (0, 1, 2, 3)


def least_scales(needs: Sequence[RequiredNoise], starts: Sequence[Fraction] | None = None) -> list[Fraction]:
    """Return for each requirement the smallest certified scale of at least its start, within 0.1 percent of the smallest
    that the bound on the disclosure set allows.

    The requirements differ only in sizes and charges. The result is rounded up to a short decimal and certified itself,
    with exact thresholds.
    """
    if not needs or not needs[0].delta:
        return [need.enough for need in needs]
    return _Search(needs, [0.0] * len(needs) if starts is None else [float(start) for start in starts]).run()


class _Search:
    """For every requirement a stack of intervals still to examine, leftmost on top, all advanced one step at a time.
    Mutable: intervals are popped and split.

    ``people`` are the numbers of people with one value used for bounds; a missing one is added when a scale fails
    certification.
    """

    def __init__(self, needs: Sequence[RequiredNoise], starts: Sequence[float]) -> None:
        """Start with the interval from each start to the scale that certainly suffices (``top``)"""
        self.needs, self.one = needs, needs[0]
        self.size = np.array([need.size for need in needs])
        self.drawn = np.array([need.drawn for need in needs])
        self.top = np.array([float(need.enough) for need in needs])
        self.people = np.array([[*(min(x, need.size) for x in _PEOPLE), min(1, need.size)] for need in needs])
        self.limit = np.array(
            [
                float(need.delta) / (1 + relative_error(need.size + need.drawn + top * need.total))
                for need, top in zip(needs, self.top, strict=True)
            ]
        )
        self.first = np.array([[float(excess) for excess in need.excesses] for need in needs])
        self.later = np.array([float(need.excess) for need in needs])
        self.stacks = [
            [(start, top)] if start < top else [] for start, top in zip(starts, self.top.tolist(), strict=True)
        ]
        self.found = [need.enough for need in needs]

    def run(self) -> list[Fraction]:
        """Return the smallest certified scale of every requirement, all searched at the same time."""
        active = [number for number, stack in enumerate(self.stacks) if stack]
        while active:
            self._step(np.array(active))
            active = [number for number in active if self.stacks[number]]
        return self.found

    def _step(self, active: NDArray[np.int64]) -> None:
        """Examine the leftmost interval of scales of each active requirement: exclude it, halve it, or accept its left end as the result."""
        low, high = np.array([self.stacks[number].pop() for number in active]).T
        least_between, at_low, at_high = (
            self._between(active, low, high),
            self._at(active, low),
            self._at(active, high),
        )
        limit = self.limit[active]
        for index, number in enumerate(active.tolist()):
            left, right = float(low[index]), float(high[index])
            if at_low[index] <= limit[index] and self._answers(number, left):
                self.stacks[number].clear()
                continue
            is_narrow = right <= left * (1 + PRECISION) and at_high[index] <= limit[index]
            if least_between[index] > limit[index] or is_narrow or right <= left * (1 + FINEST):
                continue
            middle = self._middle(left, right, self.first[number] * self.one.weights)
            self.stacks[number] += [(middle, right), (left, middle)]

    def _answers(self, number: int, scale: float) -> bool:
        """True if this scale, rounded up, is certified, and then recorded as the result; otherwise the number of people for
        which it fails worst joins those that later bounds consider.
        """
        if scale <= 0:
            return False
        need, rounded = self.needs[number], short(Fraction(scale))
        if need.holds(rounded):
            self.found[number] = min(rounded, need.enough)
            return True
        self.people[number, -1] = max(need.worst(rounded), min(1, need.size))
        return False

    def _middle(self, low: float, high: float, steps: Floats) -> float:
        """Return the split point of an interval: a scale at which a threshold for zero or one person steps, if there is one."""
        middle = np.sqrt(low * high) if low > 0 else high / 4
        near = np.rint(middle * steps) / steps
        inner = near[(near > low) & (near < high)]
        return float(inner[np.abs(inner - middle).argmin()]) if len(inner) else float(middle)

    def _between(self, active: NDArray[np.int64], low: Floats, high: Floats) -> Floats:
        """Return a lower bound of the failure probability at every scale in [``low``, ``high``).

        With a scale in between, a draw hits a value with x people after h hits of t draws with probability at least (x
        + low w + h)/(n + high W + t): that of an urn that starts with x + low w inside and n + high W in all.
        Thresholds are at most those just below ``high``. Fewer numbers of people lower the bound.
        """
        thresholds_at_high = self._share(active, high)
        return self._bounds(active, low, high, np.maximum(np.ceil(thresholds_at_high * (1 - _NUDGE)) - 1, 0))

    def _at(self, active: NDArray[np.int64], scale: Floats) -> Floats:
        """Return the failure probability at one scale, for these numbers of people."""
        return self._bounds(active, scale, scale, np.floor(self._share(active, scale) * (1 + _NUDGE)))

    def _share(self, active: NDArray[np.int64], scale: Floats) -> Floats:
        """Return how often a value may occur in a representative output, c (alpha + [x - 1]+), by requirement, weight class
        and number x of people who have the value.
        """
        people = self.people[active][:, None, :]
        excess = np.where(people <= 1, self.first[active][:, :, None], self.later[active][:, None, None])
        return np.asarray(excess * (scale[:, None, None] * self.one.weights[None, :, None] + np.maximum(people - 1, 0)))

    def _bounds(self, active: NDArray[np.int64], low: Floats, high: Floats, thresholds: Floats) -> Floats:
        """Return the union bound of the failure probability of each requirement, from urns with at least the noise ``low``
        inside and at most ``high`` in all, and the ``thresholds`` above which a value is too frequent.
        """
        people, size = self.people[active], self.size[active][:, None, None]
        inside = np.maximum(people[:, None, :] + low[:, None, None] * self.one.weights[None, :, None], 1e-300)
        outside = size + high[:, None, None] * self.one.totals[None, :, None] - inside
        tails = tails_of(self.drawn[active][:, None, None], inside, outside, thresholds)
        return self.one.bound(self.size[active], people, tails)
