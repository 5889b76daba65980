"""The exact disclosure test of one output if values were dropped: its likelihood ratio between neighbouring tables.

The probability of an output is a mean over the retained values. A person who moves from o to v changes it by a factor
for o, a factor for v, and the mean of G(Z) = Gamma(n + Z)/Gamma(n + Z + |m|) over the weight Z of retained values,
where o need not be retained any more and v must be, if they are not in the output. The tables compared are the true one
with one row replaced, and all that are one row from each other. The result depends on the confidential rows and is
private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np

from reticent.definitions import exceeds_exponential
from reticent.methods.synthesize.beta_binomial import Floats
from reticent.methods.synthesize.prior import PublicPrior

Ratio = Fraction | float
Mean = Callable[[int | None, int | None], Any]
# Limits up to which means are computed in fractions; beyond, floats decide unless they are closer to the threshold than
# this.
_MOST_TERMS, _MARGIN = 200_000, 1e-9
_DROP, _HALVINGS, _AGREE = 40.0, 8, 1e-11


@dataclass
class _Moves:
    """Moves that change the probability of the output equally, leaving a value or joining one: by ``factor``, and with
    a value of the class ``kind`` that is not in the output and then may be dropped, or must be retained. ``values`` are
    at most two of them; None is a value that nobody has and that is not in the output."""

    factor: Fraction
    kind: int | None
    values: list[Any] = field(default_factory=list)

    def some_other(self, value: Any) -> bool:
        """True if one of them is not ``value``."""
        return any(member is None or member != value for member in self.values)


class DroppedOutput:
    """An ``output`` of a group with these ``counts``, both by index in the domain of ``prior``; ``scale`` is the noise of weight 1."""

    def __init__(
        self, counts: Mapping[int, int], output: Mapping[int, int], scale: Fraction, prior: PublicPrior
    ) -> None:
        """Prepare sums over classes of weight and retention probability: ``free`` counts the values of each that occur neither in counts nor output, ``sure`` is the noise of the others, which are retained."""
        self.counts = {value: people for value, people in counts.items() if people}
        self.output = {value: times for value, times in output.items() if times}
        self.size, self.drawn = sum(self.counts.values()), sum(self.output.values())
        self.prior = prior
        self.alphas = [scale * record_class.weight for record_class in prior.classes]
        self.keeps = [record_class.keep for record_class in prior.classes]
        touched = list(dict.fromkeys([*self.counts, *self.output]))
        self.classes = dict(zip(touched, prior.class_of[touched].tolist(), strict=True)) if touched else {}
        present = np.bincount(list(self.classes.values()), minlength=len(prior.classes)).tolist()
        self.free = tuple(
            record_class.count - occurring for record_class, occurring in zip(prior.classes, present, strict=True)
        )
        self.sure = sum((self.alphas[kind] for kind in self.classes.values()), Fraction(0))

    def discloses(self, epsilon: Fraction) -> tuple[bool, float]:
        """Return whether two neighbours differ by more than e^epsilon, and the ratio. What floats cannot decide is decided
        in fractions; in a domain too large for these, a ratio within 1e-9 of the limit counts as exceeding it.
        """
        worst = float(self.worst(self.near_mean))
        log_distance = np.log(worst) - float(epsilon)
        if abs(log_distance) > _MARGIN:
            return bool(log_distance > 0), worst
        if math.prod(free + 2 for free in self.free) * (self.drawn + 1) > _MOST_TERMS:
            return True, worst
        return exceeds_exponential(Fraction(self.worst(self.exact_mean)), epsilon), worst

    def worst(self, mean: Mean) -> Ratio:
        """Return the largest ratio of the output's probability between neighbouring tables, each within one row of the true
        one. ``mean(a, b)`` is the output's probability, averaged over the retained values, if one more value of class a
        may be dropped and one of class b must be retained (None: no change).
        """
        mean = cache(mean)
        unchanged: Ratio = mean(None, None)
        largest = unchanged
        for leaving in self.leaving:
            for value in leaving.values:
                # A person with this value moves elsewhere, or stays.
                ratios = [
                    leaving.factor * coming.factor * mean(leaving.kind, coming.kind)
                    for coming in self.coming
                    if coming.some_other(value)
                ]
                largest = max(largest, _spread([unchanged, *ratios]))
        for coming in self.coming:
            for value in coming.values:
                # A person joins this value, from anywhere else.
                ratios = [
                    leaving.factor * mean(leaving.kind, coming.kind)
                    for leaving in self.leaving
                    if leaving.some_other(value)
                ]
                largest = max(largest, _spread(ratios or [unchanged]))
        return largest

    @cached_property
    def leaving(self) -> list[_Moves]:
        """Return the moves of a person away from a value, grouped by their effect on the output's probability."""
        moves: dict[tuple[Fraction, int | None], _Moves] = {}
        for value, people in self.counts.items():
            kind, times_shown = self.classes[value], self.output.get(value, 0)
            weight_after = people - 1 + self.alphas[kind]
            factor = (
                weight_after / (weight_after + times_shown) * (self.keeps[kind] if people == 1 and times_shown else 1)
            )
            _listed(moves, factor, kind if people == 1 and not times_shown else None, value)
        return list(moves.values())

    @cached_property
    def coming(self) -> list[_Moves]:
        """Return the moves of a person to a value, grouped by their effect on the output's probability."""
        moves: dict[tuple[Fraction, int | None], _Moves] = {}
        for value, kind in self.classes.items():
            people, times_shown = self.counts.get(value, 0), self.output.get(value, 0)
            weight_before = people + self.alphas[kind]
            _listed(
                moves, (weight_before + times_shown) / weight_before / (1 if people else self.keeps[kind]), None, value
            )
        for kind, free in enumerate(self.free):
            if free:
                _listed(moves, Fraction(1), kind, None)
        return list(moves.values())

    def exact_mean(self, dropped: int | None, added: int | None) -> Fraction:
        """Return the mean of G over retained values, relative to that of the true table, in fractions."""
        return self._exact(dropped, added) / self._whole_mean

    def near_mean(self, dropped: int | None, added: int | None) -> float:
        """Return the mean over retained values, relative to the unchanged one, in floats, if a value of class ``dropped`` may
        be dropped and one of ``added`` must be retained.

        The probability of an output given the retained weight Z is an integral of t^(n + Z - 1) (1 - t)^(|m| - 1) up to a
        factor, so a mean over retained values is an integral of a product over values.
        """
        density, drop_factors = self._density
        integrand = density
        if dropped is not None:
            integrand = integrand * drop_factors[dropped]
        if added is not None:
            integrand = integrand / drop_factors[added]
        return float(integrand.sum())

    @cached_property
    def _whole_mean(self) -> Fraction:
        return self._exact(None, None)

    def _exact(self, dropped: int | None, added: int | None) -> Fraction:
        """Return the mean over retained values, exactly, if a value of class ``dropped`` may be dropped and one of ``added`` must be retained."""
        free, sure = list(self.free), self.sure
        if dropped is not None:
            free[dropped] += 1
            sure -= self.alphas[dropped]
        if added is not None:
            free[added] -= 1
            sure += self.alphas[added]
        total = Fraction(0)
        for retained_counts in product(
            *(
                range(free_count + 1) if keep < 1 else (free_count,)
                for free_count, keep in zip(free, self.keeps, strict=True)
            )
        ):
            chance = math.prod(
                (
                    math.comb(free_count, retained_count)
                    * keep**retained_count
                    * (1 - keep) ** (free_count - retained_count)
                    for free_count, retained_count, keep in zip(free, retained_counts, self.keeps, strict=True)
                ),
                start=Fraction(1),
            )
            urn_weight = (
                self.size
                + sure
                + sum(
                    (
                        retained_count * alpha
                        for retained_count, alpha in zip(retained_counts, self.alphas, strict=True)
                    ),
                    Fraction(0),
                )
            )
            total += chance / math.prod((urn_weight + j for j in range(self.drawn)), start=Fraction(1))
        return total

    @cached_property
    def _density(self) -> tuple[Floats, list[Floats]]:
        """Return the nodes of the trapezoidal rule over the logit of t with their shares of the integral, and for each
        class (1 - f + f t^alpha)/t^alpha at them.

        The integrand is smooth and decays exponentially on both sides, so that halving the step converges quickly.
        """
        step, nodes = self._width / 4, self._nodes(self._width / 4)
        for _ in range(_HALVINGS):
            finer = self._nodes(step := step / 2)
            coarse_means, finer_means = (
                [float((density * factor).sum()) for factor in drop_factors] for density, drop_factors in (nodes, finer)
            )
            nodes = finer
            if np.allclose(coarse_means, finer_means, rtol=_AGREE, atol=0):
                break
        return nodes

    @cached_property
    def _width(self) -> float:
        """Return an upper bound of the integrand's width, and of the rate of change of its factors."""
        weight = self.size + float(self.sure)
        narrowest = weight * self.drawn / (weight + self.drawn)
        return min(1 / math.sqrt(narrowest), 1 / max(1.0, *map(float, self.alphas)))

    @cached_property
    def _mode(self) -> float:
        """Return the logit of t at which the integrand is largest, by ternary search."""
        low, high = -60.0, 60.0
        for _ in range(200):
            third = (high - low) / 3
            heights = self._logarithm(np.array([low + third, high - third]))
            low, high = (low + third, high) if heights[0] < heights[1] else (low, high - third)
        return (low + high) / 2

    def _nodes(self, step: float) -> tuple[Floats, list[Floats]]:
        """Return each node's share of the integral, for nodes ``step`` apart, and for each class the factor at the nodes by
        which the integrand changes if one more of its values may be dropped.
        """
        top = float(self._logarithm(np.array([self._mode]))[0])
        ends = []
        for direction in (-1, 1):
            reach = step
            while self._highest(self._mode + direction * reach) > top - _DROP:
                reach *= 1.5
            ends.append(int(reach / step) + 1)
        x = self._mode + step * np.arange(-ends[0], ends[1] + 1, dtype=np.float64)
        logs = self._logarithm(x)
        density = np.exp(logs - logs.max())
        drop_factors = [
            keep + (1 - keep) * np.exp(-float(alpha) * _log_share(x))
            for alpha, keep in zip(self.alphas, map(float, self.keeps), strict=True)
        ]
        return density / density.sum(), drop_factors

    def _highest(self, x: float) -> float:
        """Return the log of the integrand at a point, times the largest factor of dropping a value."""
        points = np.array([x])
        largest_alpha = max(
            (float(self.alphas[move.kind]) for move in self.leaving if move.kind is not None), default=0.0
        )
        return float((self._logarithm(points) - largest_alpha * _log_share(points))[0])

    def _logarithm(self, x: Floats) -> Floats:
        """Return the log of the integrand t^(n + s) (1 - t)^m prod_c (1 - f_c + f_c t^alpha_c)^free_c at the logit ``x`` of t.

        Its integral is, up to a factor, the probability of the output, averaged over which of the ``free`` values that
        neither people nor the output have are retained (with probability f); s is the noise of the others.
        """
        log_t, log_rest = _log_share(x), _log_share(-x)
        logarithm = (self.size + float(self.sure)) * log_t + self.drawn * log_rest
        for free, alpha, keep in zip(self.free, map(float, self.alphas), map(float, self.keeps), strict=True):
            logarithm = logarithm + free * (alpha * log_t if keep == 1 else np.log1p(keep * np.expm1(alpha * log_t)))
        return np.asarray(logarithm)


def _log_share(x: Floats) -> Floats:
    """Return ln of 1/(1 + e^-x)."""
    return np.asarray(-np.logaddexp(0.0, -x))


def _listed(
    moves_by_effect: dict[tuple[Fraction, int | None], _Moves], factor: Fraction, kind: int | None, value: Any
) -> None:
    """Add a value to the moves with this effect; two values per effect suffice."""
    moves = moves_by_effect.setdefault((factor, kind), _Moves(factor, kind))
    if len(moves.values) < 2:
        moves.values.append(value)


def _spread(listed: Iterable[Ratio]) -> Ratio:
    values = list(listed)
    return max(values) / min(values)
