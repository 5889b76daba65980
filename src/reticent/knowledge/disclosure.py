"""How sure an attacker with k facts can become about anybody: the maximum disclosure D(B, k), exactly.

*Guarantee*: every number is an exact fraction; a verdict compares fractions, never floats (R-WK-7, R-WK-24).
*Adversary*: knows who is in which bucket, all non-sensitive data, and any k basic implications about the sensitive
values (if these people have those values, then one of those people has one of those values); random-worlds prior.
*Cost*: one float pass over the buckets, then exact arithmetic on the few that can matter.
*Source*: R-WK-3..8. By F2 and F3 the worst facts are ``A_i -> A`` with one common consequent and give 1 / (1 + R), R
the least Pr(no atom holds) / Pr(A). Corrected against the source: the recursion ends in 1 and starts without A
(errata 2, 3), its cost is k^2 a bucket (erratum 5), and Figure 3 at k = 1 is 2/3, not 10/19 (erratum 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reticent.errors import PolicyError
from reticent.exact import Number, exact, whole
from reticent.knowledge.buckets import Buckets, Integers, Measured
from reticent.knowledge.minimize import AtomTable, atom_table
from reticent.knowledge.screen import UNDERFLOW, Mask, Uses, first_of_each_key, screen, slack

DEEPEST = 128
"""How many facts a breaking point is looked for at most, unless the caller says otherwise."""


def curve(histograms: Measured, k: int) -> list[Fraction]:
    """D(B, j) for j = 0..``k``: how sure an attacker with j facts can become, at worst (R-WK-5).

    >>> [str(value) for value in curve([(2, 2, 1), (2, 1, 1, 1)], k=3)]
    ['2/5', '2/3', '1', '1']
    """
    buckets, k = Buckets.of(histograms), facts(k)
    return disclosures(ratios(buckets, k))


def negation_curve(histograms: Measured, k: int) -> list[Fraction]:
    """The same for an attacker who only knows j facts "this person does not have that value" (F8, R-WK-8).

    This is the attacker of l-diversity: never stronger, and often (not always: erratum 7) as strong.
    """
    buckets, k = Buckets.of(histograms), facts(k)
    everybody = np.arange(len(buckets))
    top, left = buckets.rank(0, everybody), buckets.sizes.copy()
    values = []
    for known in range(k + 1):
        if known:
            left -= buckets.rank(known, everybody)
        values.append(_largest_quotient(top, left)[0])
    return values


def negation_bucket(buckets: Buckets, k: int) -> int:
    """The first bucket where ``k`` negations disclose most."""
    known = buckets.top(k + 1)
    return _largest_quotient(known[0], buckets.sizes - known[1:].sum(axis=0))[1]


def certainty_point(histograms: Measured) -> int:
    """The least k with D(B, k) = 1: one less than the number of values in the poorest bucket (F6)."""
    return Buckets.of(histograms).fewest_values - 1


def breaking_point(histograms: Measured, c: Number, limit: int = DEEPEST) -> int | None:
    """The least k with D(B, k) >= ``c``, or None when more than ``limit`` facts are needed (R-WK-7)."""
    buckets, threshold = Buckets.of(histograms), probability(c)
    certain = certainty_point(buckets)
    limit = min(whole(limit, "limit", low=0), certain)
    depth = min(limit, 7)
    while True:
        for known, value in enumerate(curve(buckets, depth)):
            if value >= threshold:
                return known
        if depth == limit:
            return None
        depth = min(limit, 2 * depth + 1)


@dataclass(frozen=True)
class Safety:
    """The verdict on (c, k)-safety, which asks for D(B, k) strictly below c.

    ``breaking_point`` is the least number of facts that reaches c (None: more than were looked at),
    ``certainty_point`` the least that makes somebody's value certain.
    """

    holds: bool
    c: Fraction
    k: int
    disclosure: Fraction
    breaking_point: int | None
    certainty_point: int

    @property
    def margin(self) -> Fraction:
        """c - D: how far the release is from the threshold, negative when it is beyond it."""
        return self.c - self.disclosure


def safe(histograms: Measured, c: Number, k: int) -> Safety:
    """Whether ``k`` facts keep everybody's disclosure strictly below ``c``, exactly (R-WK-7).

    >>> safe([(2, 2, 1), (2, 1, 1, 1)], c="2/3", k=1).holds, safe([(2, 2, 1), (2, 1, 1, 1)], c="0.67", k=1).holds
    (False, True)
    """
    buckets, threshold, k = Buckets.of(histograms), probability(c), facts(k)
    values = curve(buckets, k)
    broken = next((known for known, value in enumerate(values) if value >= threshold), None)
    if broken is None:
        broken = breaking_point(buckets, threshold, limit=max(DEEPEST, k))
    return Safety(values[-1] < threshold, threshold, k, values[-1], broken, certainty_point(buckets))


def holds(histograms: Buckets, c: Fraction, k: int) -> bool:
    """``D(B, k) < c``, decided exactly but computed exactly only when the screen leaves a doubt."""
    if c <= 0 or k >= histograms.fewest_values - 1:
        return c > 1
    needed = (1 - c) / c
    verdict = screened_verdict(float(screen(histograms, k).ratios[k]), needed, k)
    return ratios(histograms, k)[k] > needed if verdict is None else verdict


def screened_verdict(about: float, needed: Fraction, k: int) -> bool | None:
    """Whether a ratio of about ``about`` exceeds ``needed``; None when rounding may have changed its side."""
    limit = float(needed)
    if about > limit * slack(k) ** 2 + UNDERFLOW:
        return True
    if UNDERFLOW < about < limit / slack(k) ** 2:
        return False
    return None


def ratios(histograms: Buckets, k: int) -> list[Fraction]:
    """R(j) for j = 0..``k``, the least Pr(not A, no antecedent) / Pr(A); 0 from the certainty point on."""
    below = min(k, histograms.fewest_values - 2)
    if below < 0:
        return [Fraction(0)] * (k + 1)
    uses = screen(histograms, below).uses()
    contenders = strongest(histograms, uses, below)
    return _sweep(contenders, below) + [Fraction(0)] * (k - below)


def disclosures(least: Sequence[Fraction]) -> list[Fraction]:
    """1 / (1 + R) for every ratio (F3)."""
    return [1 / (1 + ratio) for ratio in least]


@dataclass(frozen=True)
class Contender:
    """A bucket that may be part of an optimum: its exact table and the uses that survived the screen."""

    bucket: int
    table: AtomTable
    aside: tuple[int, ...]
    holding: tuple[int, ...]


def strongest(histograms: Buckets, uses: Uses, k: int, *, by_people: bool = False) -> list[Contender]:
    """Of the surviving uses the ``k + 1`` best of each kind, in bucket order; more can never be needed at once.

    ``by_people`` breaks exact ties for fewer people and then the lower bucket, which a witness asks for (R-WK-6);
    a curve does not care which of equals it gets.
    """
    aside, holding = uses.aside.copy(), uses.holding.copy()
    for taken in range(k + 1):
        _thin(histograms, uses.buckets, aside[:, taken], taken, k, by_people, plus_top=False)
        _thin(histograms, uses.buckets, holding[:, taken], taken + 1, k, by_people, plus_top=True)
    found = []
    for row in np.flatnonzero(aside.any(axis=1) | holding.any(axis=1)).tolist():
        bucket = int(uses.buckets[row])
        found.append(
            Contender(
                bucket,
                _table(histograms, bucket, k + 1),
                tuple(np.flatnonzero(aside[row]).tolist()),
                tuple(np.flatnonzero(holding[row]).tolist()),
            )
        )
    return found


def _thin(
    histograms: Buckets, buckets: Integers, chosen: Mask, atoms: int, k: int, by_people: bool, *, plus_top: bool
) -> None:
    """Keep the ``k + 1`` exactly smallest of the ``chosen`` uses with ``atoms`` atoms; the mask is changed in place."""
    rows = np.flatnonzero(chosen)
    if len(rows) <= k + 1:
        return
    chosen[rows] = False
    rows = rows[first_of_each_key(histograms, buckets[rows], atoms, k + 1)]
    ranked = []
    for row in rows.tolist():
        table = _table(histograms, int(buckets[row]), atoms)
        value = table.holding(atoms - 1) if plus_top else table.least(atoms)
        ranked.append((value, table.people(atoms) if by_people else 0, row))
    ranked.sort()
    chosen[[row for _, _, row in ranked[: k + 1]]] = True


def _table(histograms: Buckets, bucket: int, atoms: int) -> AtomTable:
    first = int(histograms.offsets[bucket])
    distinct = int(histograms.distinct[bucket])
    counts = tuple(histograms.counts[first : first + min(distinct, atoms + 1)].tolist())
    return atom_table(int(histograms.sizes[bucket]), counts, atoms)


def _sweep(contenders: Iterable[Contender], k: int) -> list[Fraction]:
    """The corrected MINIMIZE2 in its forward form: the whole curve in one pass (R-WK-4, R-WK-5)."""
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
    return [value for value in with_a if value is not None]


def _least(best: Fraction | None, reached: Sequence[Fraction | None], place: int, factor: Fraction) -> Fraction | None:
    before = reached[place] if place >= 0 else None
    if before is None or (best is not None and before * factor >= best):
        return best
    return before * factor


def _largest_quotient(parts: Integers, wholes: Integers) -> tuple[Fraction, int]:
    """The exact maximum of ``parts / wholes`` and where it first stands.

    A float division is correctly rounded, hence monotone, so only its ties have to be compared.
    """
    about = parts / wholes
    ties = np.flatnonzero(about == about.max())
    pairs, firsts = np.unique(np.stack([parts[ties], wholes[ties]]), axis=1, return_index=True)
    exactly = [Fraction(part, whole) for part, whole in pairs.T.tolist()]
    best = max(exactly)
    return best, min(int(ties[first]) for first, value in zip(firsts, exactly, strict=True) if value == best)


def facts(k: object) -> int:
    """``k`` as a number of facts, or a PolicyError (R-WK-28)."""
    return whole(k, "k (the number of facts an attacker knows)", low=0)


def probability(c: Number) -> Fraction:
    """``c`` as an exact probability, or a PolicyError (R-WK-28)."""
    try:
        return exact(c, "c (the disclosure that must not be reached)", low=0, high=1)
    except PolicyError as error:
        raise PolicyError(f"{error} Use a probability such as '0.6' or '2/3'.") from None
