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
    """Return the buckets with one of the ``k + 1`` smallest factors for some number of antecedents, with or without the
    predicted atom; more can never be needed at once.

    In bucket order. ``by_people`` breaks exact ties in favour of fewer people and then the lower bucket, as a witness
    requires; a curve does not depend on the choice.
    """
    aside, holding = uses.aside.copy(), uses.holding.copy()
    for atoms in range(k + 1):
        _keep_smallest(buckets, uses.buckets, aside[:, atoms], atoms, k, by_people, plus_top=False)
        _keep_smallest(buckets, uses.buckets, holding[:, atoms], atoms + 1, k, by_people, plus_top=True)
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


def _keep_smallest(
    buckets: Buckets, numbers: Integers, is_chosen: Mask, atoms: int, k: int, by_people: bool, *, plus_top: bool
) -> None:
    """Restrict the mask ``is_chosen`` to the ``k + 1`` buckets with exactly the smallest factor for this number of
    atoms; changed in place.

    ``numbers`` are the indices of the buckets. With ``plus_top`` the predicted atom is one of the atoms, so the factor
    is divided by the share of the most frequent value. ``by_people`` breaks ties in favour of fewer people.
    """
    rows = np.flatnonzero(is_chosen)
    if len(rows) <= k + 1:
        return
    is_chosen[rows] = False
    rows = rows[first_of_each_key(buckets, numbers[rows], atoms, k + 1)]
    candidates = numbers[rows]
    top = np.stack([buckets.rank(rank, candidates) for rank in range(atoms)])
    numerators, denominators = least_chances_exactly(buckets.sizes[candidates], top)
    if plus_top:
        numerators = numerators.astype(object) * buckets.sizes[candidates]
        denominators = denominators.astype(object) * top[0]
    smallest: list[int] = []
    for equal in ascending(numerators, denominators):
        if by_people and len(smallest) + len(equal) > k + 1:
            equal = sorted(equal, key=lambda index: table_of(buckets, int(candidates[index]), atoms).people(atoms))
        smallest += equal[: k + 1 - len(smallest)]
        if len(smallest) == k + 1:
            break
    is_chosen[rows[smallest]] = True


def table_of(buckets: Buckets, bucket: int, atoms: int) -> AtomTable:
    """Return the exact table of minimum probabilities of one bucket; buckets of equal size and top counts share it."""
    first = int(buckets.offsets[bucket])
    distinct = int(buckets.distinct[bucket])
    counts = tuple(buckets.counts[first : first + min(distinct, atoms + 1)].tolist())
    return atom_table(int(buckets.sizes[bucket]), counts, atoms)


def sweep(contenders: Iterable[Contender], k: int) -> list[Fraction]:
    """Return for j = 0..``k`` facts the minimum of Pr(A and all antecedents are false) / Pr(A): the corrected MINIMIZE2
    [Martin2007].

    A is the atom that the attacker predicts. The buckets are added one by one: each takes some antecedents (``aside``),
    or A and some antecedents (``holding``). ``without[j]`` and ``with_a[j]`` are the minima with j antecedents in the
    buckets so far, before and after A is placed.
    """
    without: list[Fraction | None] = [Fraction(1)] + [None] * k
    with_a: list[Fraction | None] = [None] * (k + 1)
    for contender in contenders:
        aside = [(antecedents, contender.table.least(antecedents)) for antecedents in contender.aside]
        holding = [(antecedents, contender.table.holding(antecedents)) for antecedents in contender.holding]
        for facts in range(k, -1, -1):
            for antecedents, factor in holding:
                with_a[facts] = _smaller(with_a[facts], without, facts - antecedents, factor)
            for antecedents, factor in aside:
                with_a[facts] = _smaller(with_a[facts], with_a, facts - antecedents, factor)
                without[facts] = _smaller(without[facts], without, facts - antecedents, factor)
    curve = [value for value in with_a if value is not None]
    assert len(curve) == k + 1, "the screen keeps an optimum for every number of facts"
    return curve


def _smaller(
    best: Fraction | None, reached: Sequence[Fraction | None], index: int, factor: Fraction
) -> Fraction | None:
    """Return the smaller of ``best`` and ``reached[index]``, the minimum with fewer facts, times ``factor``; None is infinite."""
    previous = reached[index] if index >= 0 else None
    if previous is None or (best is not None and previous * factor >= best):
        return best
    return previous * factor
