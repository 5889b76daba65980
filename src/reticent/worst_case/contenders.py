"""Exact arithmetic on the few buckets that the screen could not exclude."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reticent.worst_case.fraction_order import ascending, least_chances_exactly
from reticent.worst_case.histogram_buckets import Buckets, Integers
from reticent.worst_case.minimize1 import AtomTable, atom_table
from reticent.worst_case.screen import Mask, Uses, first_of_each_key


@dataclass(frozen=True)
class Contender:
    """A bucket that may be part of an optimum: its exact table and the uses that survived the screen."""

    bucket: int
    table: AtomTable
    aside: tuple[int, ...]
    holding: tuple[int, ...]


def strongest(buckets: Buckets, uses: Uses, k: int, *, by_people: bool = False) -> list[Contender]:
    """The ``k + 1`` best surviving uses of each kind, in bucket order; more can never be needed at once.

    ``by_people`` breaks exact ties in favour of fewer people and then the lower bucket, as a witness requires; a curve
    does not depend on the choice.
    """
    aside, holding = uses.aside.copy(), uses.holding.copy()
    for taken in range(k + 1):
        _thin(buckets, uses.buckets, aside[:, taken], taken, k, by_people, plus_top=False)
        _thin(buckets, uses.buckets, holding[:, taken], taken + 1, k, by_people, plus_top=True)
    contenders = []
    for row in np.flatnonzero(aside.any(axis=1) | holding.any(axis=1)).tolist():
        bucket = int(uses.buckets[row])
        contenders.append(
            Contender(
                bucket,
                table_of(buckets, bucket, k + 1),
                tuple(np.flatnonzero(aside[row]).tolist()),
                tuple(np.flatnonzero(holding[row]).tolist()),
            )
        )
    return contenders


def _thin(
    buckets: Buckets, numbers: Integers, chosen: Mask, atoms: int, k: int, by_people: bool, *, plus_top: bool
) -> None:
    """Keep the ``k + 1`` exactly smallest of the ``chosen`` uses with ``atoms`` atoms; the mask is changed in place."""
    rows = np.flatnonzero(chosen)
    if len(rows) <= k + 1:
        return
    chosen[rows] = False
    rows = rows[first_of_each_key(buckets, numbers[rows], atoms, k + 1)]
    some = numbers[rows]
    top = np.stack([buckets.rank(rank, some) for rank in range(atoms)])
    numerators, denominators = least_chances_exactly(buckets.sizes[some], top)
    if plus_top:
        numerators = numerators.astype(object) * buckets.sizes[some]
        denominators = denominators.astype(object) * top[0]
    kept: list[int] = []
    for equal in ascending(numerators, denominators):
        if by_people and len(kept) + len(equal) > k + 1:
            equal = sorted(equal, key=lambda place: table_of(buckets, int(some[place]), atoms).people(atoms))
        kept += equal[: k + 1 - len(kept)]
        if len(kept) == k + 1:
            break
    chosen[rows[kept]] = True


def table_of(buckets: Buckets, bucket: int, atoms: int) -> AtomTable:
    """The exact table of one bucket; buckets with equal keys share it."""
    first = int(buckets.offsets[bucket])
    distinct = int(buckets.distinct[bucket])
    counts = tuple(buckets.counts[first : first + min(distinct, atoms + 1)].tolist())
    return atom_table(int(buckets.sizes[bucket]), counts, atoms)


def sweep(contenders: Iterable[Contender], k: int) -> list[Fraction]:
    """The corrected MINIMIZE2 in its forward form: the whole curve in one pass."""
    without: list[Fraction | None] = [Fraction(1)] + [None] * k
    with_a: list[Fraction | None] = [None] * (k + 1)
    for contender in contenders:
        aside = [(taken, contender.table.least(taken)) for taken in contender.aside]
        holding = [(taken, contender.table.holding(taken)) for taken in contender.holding]
        for known in range(k, -1, -1):
            for taken, factor in holding:
                with_a[known] = _least(with_a[known], without, known - taken, factor)
            for taken, factor in aside:
                with_a[known] = _least(with_a[known], with_a, known - taken, factor)
                without[known] = _least(without[known], without, known - taken, factor)
    curve = [value for value in with_a if value is not None]
    assert len(curve) == k + 1, "the screen keeps an optimum for every number of facts"
    return curve


def _least(best: Fraction | None, reached: Sequence[Fraction | None], place: int, factor: Fraction) -> Fraction | None:
    before = reached[place] if place >= 0 else None
    if before is None or (best is not None and before * factor >= best):
        return best
    return before * factor
