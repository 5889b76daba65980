"""Averages from a view: the ratio of two linear queries, with an interval that holds as promised.

Over the true tuples of a query the weights minus their average add up to exactly 0. So the averages that fit a view are those at which the
estimate of that sum is no farther from 0 than its bound; no delta method, and no count that must be large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from reticent.errors import PolicyError
from reticent.randomize.estimating import Stratum

_HALVINGS = 40


def average_of(condition: str, total: Fraction, count: Fraction) -> Fraction:
    """The ratio of an estimated sum and an estimated count, which must be above 0."""
    if count <= 0:
        raise PolicyError(
            f"The count of {condition!r} is estimated as {float(count):.4g}, so that there is no average. Ask for a larger part of the table."
        )
    return total / count


def average_interval(
    sums: Sequence[Stratum], counts: Sequence[Stratum], n: int, error: Fraction, least: Fraction, most: Fraction
) -> tuple[float, float]:
    """The averages in ``least``..``most`` (the extreme weights) that fit the view, from the strata of the sum and of the count of a query.

    Guarantee: the true average is inside with probability at least 1-error. The averages that one side rules out form an interval, because
    the bound is convex and the estimate linear in the average; so bisection finds its end. The count must be estimated above 0.
    """
    value = _estimate(sums) / _estimate(counts)
    tuples = min(Fraction(n), sum((each.total for each in counts), Fraction(0)))

    def is_too_far(at: Fraction) -> bool:
        largest = max(abs(least - at), abs(most - at))
        moved = [each.centred(count, at) for each, count in zip(sums, counts, strict=True)]
        level = error / len(moved)
        allowed = sum(each.bound(tuples * largest**2, level, largest) for each in moved)
        return abs(_estimate(moved)) > allowed

    return fitting(is_too_far, value, least, most)


def fitting(
    is_too_far: Callable[[Fraction], bool], value: Fraction, least: Fraction, most: Fraction
) -> tuple[float, float]:
    """The averages around an estimate that are not too far from it; those that are must form an interval on each side."""
    inside = max(least, min(value, most))
    if is_too_far(inside):
        # Every possible average is ruled out; the nearest one says so best.
        return float(inside), float(inside)
    return float(_end(is_too_far, least, inside)), float(_end(is_too_far, most, inside))


def _estimate(strata: Sequence[Stratum]) -> Fraction:
    return sum((each.value for each in strata), Fraction(0))


def _end(is_too_far: Callable[[Fraction], bool], outer: Fraction, inner: Fraction) -> Fraction:
    """The farthest from ``inner`` towards ``outer`` that is not too far, rounded outwards."""
    if not is_too_far(outer):
        return outer
    for _ in range(_HALVINGS):
        middle = Fraction(float((outer + inner) / 2))
        if middle in (outer, inner):
            break
        if is_too_far(middle):
            outer = middle
        else:
            inner = middle
    return outer
