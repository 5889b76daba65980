"""Choice of the algorithm that partitions the units, on the whole or by parts, and the proven factor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from reticent.base.context import Context
from reticent.methods.suppress.cell_search import improved
from reticent.methods.suppress.factors import by_factor
from reticent.methods.suppress.forest import by_forest
from reticent.methods.suppress.ladders import Ids, Units
from reticent.methods.suppress.leftovers import settled
from reticent.methods.suppress.optimum import least_cost
from reticent.methods.suppress.patterns import Passing, PatternGreedy, enough_people

Algorithm = Literal["auto", "forest", "factor", "patterns"]
Solver = Callable[[Units, Context], Ids]

_SMALL, _SMALL_FACTOR = 1_500, 60
"""Up to this many rows ``auto`` runs the algorithms with proven factors too."""
_PART, _PART_FACTOR = 4_000, 150
"""Larger blocks are split into parts of at most this many rows, which are solved one by one."""


@dataclass(frozen=True)
class PartitionResult:
    """The class of every unit (-1: none), and the proven factor: the cost is at most ``factor`` times the optimum, in each
    of ``parts`` parts separately.
    """

    group: Ids
    factor: Fraction | None = None
    parts: int = 1


def solve_exactly(units: Units, context: Context) -> PartitionResult:
    """Return a partition of minimal cost."""
    return PartitionResult(least_cost(units, context), Fraction(1))


def solve_by_size(units: Units, algorithm: Algorithm, context: Context) -> PartitionResult:
    """Return classes of at least k single rows. The result of an algorithm with a proven factor is improved, which preserves the factor."""
    passing = enough_people(units)
    results: list[PartitionResult] = []
    names = (algorithm,) if algorithm != "auto" else ("factor", "forest")
    for name in names:
        if name == "forest" and (algorithm == "forest" or len(units) <= _SMALL):
            results.append(_in_parts(units, by_forest, _forest_factor, _PART, context))
        if name == "factor" and (algorithm == "factor" or (units.least in (2, 3) and len(units) <= _SMALL_FACTOR)):
            results.append(_in_parts(units, by_factor, _factor_factor, _PART_FACTOR, context))
    if algorithm in ("auto", "patterns"):
        results.append(PartitionResult(settled(units, _by_points(units, context), passing, context)))
    best = min(results, key=lambda result: units.cost(result.group))
    with_factor = [result for result in results if result.factor is not None]
    group = best.group
    if (group >= 0).all():
        group = improved(units, group, context)
    if not with_factor:
        return PartitionResult(group)
    strongest = min(with_factor, key=lambda result: (result.parts, result.factor))
    return PartitionResult(group, strongest.factor, strongest.parts)


def solve_by_judgement(units: Units, passing: Passing, context: Context) -> PartitionResult:
    """Return classes that pass an arbitrary check, by patterns; without a proven factor."""
    group = PatternGreedy(units, passing, context).run()
    return PartitionResult(settled(units, group, passing, context))


def _by_points(units: Units, context: Context) -> Ids:
    """Return the class of every unit by the greedy on points (all units with equal values together), which are far fewer than rows."""
    ids, count = units.points
    firsts = np.full(count, -1, dtype=np.int64)
    firsts[ids[::-1]] = np.arange(len(units))[::-1]
    rows, people = (
        np.bincount(ids, weights=amounts, minlength=count).astype(np.int64) for amounts in (units.rows, units.people)
    )
    points = Units(units.ladders, tuple(code[firsts] for code in units.codes), rows, people, units.least)
    return PatternGreedy(points, enough_people(points), context).run()[ids]


def _in_parts(
    units: Units, solver: Solver, proven: Callable[[Units], Fraction | None], largest_part: int, context: Context
) -> PartitionResult:
    """Return the partition from solving parts of at most about ``largest_part`` units separately, with the largest factor proven for a part."""
    group, count, factors = np.full(len(units), -1, dtype=np.int64), 0, []
    parts = list(_parts(units, largest_part))
    for index, part in enumerate(parts):
        context.step("solving parts", index, len(parts))
        part_units = units.select(part)
        if len(part) < units.least:
            continue
        part_classes = solver(part_units, context)
        group[part] = count + part_classes
        count += int(part_classes.max(initial=-1)) + 1
        factors.append(proven(part_units))
    proven_factors = [factor for factor in factors if factor is not None]
    return PartitionResult(
        group,
        max(proven_factors) if proven_factors and len(proven_factors) == len(factors) else None,
        max(len(factors), 1),
    )


def _parts(units: Units, most: int) -> Iterator[Ids]:
    """Yield the units of every block in parts of about ``most``, sorted by content, the columns with the fewest values first; sizes are balanced."""
    block, blocks = units.apart
    many_last = sorted(range(len(units.codes)), key=lambda column: len(np.unique(units.codes[column])), reverse=True)
    order = np.lexsort([*(units.codes[column] for column in many_last), block])
    ends = np.searchsorted(block[order], np.arange(blocks + 1))
    for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        pieces = max(-(-(high - low) // most), 1)
        yield from (part for part in np.array_split(order[low:high], pieces) if len(part))


def _forest_factor(units: Units) -> Fraction:
    return Fraction(max(2 * units.least - 1, 3 * units.least - 5))


def _factor_factor(units: Units) -> Fraction | None:
    """Return the proven factor: for pairs 2, or 3/2 if every column is binary; for triples 2 if every column is binary, otherwise None."""
    binary = all(len(np.unique(codes)) <= 2 for codes in units.codes)
    if units.least == 2:
        return Fraction(3, 2) if binary else Fraction(2)
    return Fraction(2) if binary else None
