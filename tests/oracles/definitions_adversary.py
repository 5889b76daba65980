"""An adversary who tries everything: every target value, every set of values ruled out. Shares no code with the product."""

from __future__ import annotations

from collections.abc import Mapping, Set
from fractions import Fraction
from itertools import combinations


def surest(histogram: Mapping[str, int], exclusions: int, dont_care: Set[str] = frozenset()) -> Fraction:
    """The largest chance of a value that matters, over all ways to rule out ``exclusions`` other values (or all others)."""
    present = {value: count for value, count in histogram.items() if count > 0}
    best = Fraction(0)
    for target, count in present.items():
        if target in dont_care:
            continue
        others = [value for value in present if value != target]
        for excluded in combinations(others, min(exclusions, len(others))):
            possible = count + sum(present[value] for value in others if value not in excluded)
            best = max(best, Fraction(count, possible))
    return best


def withstands(histogram: Mapping[str, int], c: Fraction, l: int, dont_care: Set[str] = frozenset()) -> bool:  # noqa: E741 - as in the spec
    """Semantic (c,l)-diversity: nobody who rules out l-2 values is ``c/(c+1)`` sure or more."""
    return l == 1 or surest(histogram, l - 2, dont_care) < c / (c + 1)


def keeps_possible(histogram: Mapping[str, int], percent: Fraction, must_keep: Set[str]) -> bool:
    """Every must-keep value has at least ``percent`` percent of the rows."""
    size = sum(histogram.values())
    return all(Fraction(100 * histogram.get(value, 0), size) >= percent for value in must_keep)
