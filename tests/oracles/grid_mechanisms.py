"""Both mechanisms on public grids, row by row: every sample and every tree is enumerated, with exact chances. Shares nothing with the code.

A table is a list of cells, one for each row. ``sample_outputs`` goes through all subsets of the rows; ``tree_chances`` through all trees.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product

import mpmath


def sample_outputs(rows: list[str], beta: Fraction, least: int) -> dict[tuple, Fraction]:
    """The chance of every release: cells with enough kept rows, and their numbers."""
    found: dict[tuple, Fraction] = defaultdict(Fraction)
    for kept in product((False, True), repeat=len(rows)):
        chance = Fraction(1)
        for each in kept:
            chance *= beta if each else 1 - beta
        counts = Counter(cell for cell, each in zip(rows, kept, strict=True) if each)
        shown = tuple(sorted((cell, count) for cell, count in counts.items() if count >= least))
        found[shown] += chance
    return dict(found)


def hockey_stick(one: Mapping[tuple, Fraction], other: Mapping[tuple, Fraction], epsilon: float) -> mpmath.mpf:
    """The sum over all outputs of max(0, Pr - e^epsilon Pr')."""
    factor = mpmath.exp(mpmath.mpf(epsilon))
    total = mpmath.mpf(0)
    for output in {*one, *other}:
        mine, theirs = (_float(law.get(output, Fraction(0))) for law in (one, other))
        total += max(mpmath.mpf(0), mine - factor * theirs)
    return total


def largest_loss(sizes: Iterable[int], beta: Fraction, least: int, epsilon: float) -> mpmath.mpf:
    """The largest delta over tables of one cell with so many rows and one fewer, both ways."""
    worst = mpmath.mpf(0)
    for size in sizes:
        with_row, without = (sample_outputs(["a"] * rows, beta, least) for rows in (size, size - 1))
        worst = max(worst, hockey_stick(with_row, without, epsilon), hockey_stick(without, with_row, epsilon))
    return worst


def tree_chances(cells: list[int], many: int, depth: int, scale: float, stop: int) -> dict[tuple, mpmath.mpf]:
    """For a grid of one column: the chance of every partition that halving can leave, by its leaves (first cell, one after the last)."""

    def of(low: int, high: int, left: int) -> dict[tuple, mpmath.mpf]:
        leaf = ((low, high),)
        if left == 0 or high - low == 1:
            return {leaf: mpmath.mpf(1)}
        on = at_least(stop - sum(low <= cell < high for cell in cells), scale)
        middle = (low + high) // 2
        found = defaultdict(mpmath.mpf, {leaf: 1 - on})
        for lower, a in of(low, middle, left - 1).items():
            for upper, b in of(middle, high, left - 1).items():
                found[lower + upper] += on * a * b
        return dict(found)

    return of(0, many, depth)


def at_least(limit: int, scale: float) -> mpmath.mpf:
    """The chance that discrete Laplace noise is at least ``limit``."""
    share = mpmath.exp(-1 / mpmath.mpf(scale))
    above = share ** max(limit, 1 - limit) / (1 + share)
    return above if limit > 0 else 1 - above


def _float(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator
