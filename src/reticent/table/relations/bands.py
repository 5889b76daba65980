"""Bands: a column of few values, each of which represents one interval of some numbers."""

from __future__ import annotations

from functools import cached_property
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from reticent.table.relations.column_forms import Codes
from reticent.table.relations.relation import Numbers

MOST_BANDS = 100

_EVIDENCE, _EXACT_EVIDENCE = 40.0, 24.0
_ALLOWED, _FEWER = 0.12, 0.25
_TIED = 1e-9


class OrderedNumbers:
    """Rows of numbers with their sort order, in which the values of many columns are searched for bands."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self._numbers, axis=1)

    def may_band(self, codes: Codes, exact: bool = False) -> NDArray[np.bool_]:
        """Return a mask of the rows of numbers (one per formula or column) whose intervals may determine the values
        ``codes`` of a column.

        Sorted by the numbers, the value changes hardly more often than necessary (with ``exact``, no more often), and
        far less often than by chance. Code 0 is a missing value.
        """
        known, rows = codes > 0, len(self._numbers)
        count, counts = int(known.sum()), np.bincount(codes[known])
        shares = counts / max(count, 1)
        distinct, chance_of_change = int((shares > 0).sum()), 1 - float((shares**2).sum())
        if distinct < 2 or not rows or evidence(codes[known]) < _EVIDENCE / 4:
            return np.zeros(rows, dtype=bool)
        order = self._order if count == len(codes) else self._order[known[self._order]].reshape(rows, count)
        excess = 0 if exact else min(_ALLOWED * count, _FEWER * (chance_of_change * count - distinct + 1))
        limit = distinct - 1 + excess
        changes = np.diff(codes[order], axis=1) != 0
        # Missing numbers sort last, and at most half may be missing: too many changes before them already exclude the
        # row.
        candidates: NDArray[np.bool_] = changes[:, : max(count // 2 - 1, 0)].sum(axis=1) <= limit
        rows_left = np.flatnonzero(candidates)
        numbers, changes = self._numbers[rows_left][:, known], changes[rows_left]
        sorted_numbers = np.take_along_axis(self._numbers[rows_left], order[rows_left], axis=1)
        changes &= ~np.isnan(sorted_numbers[:, 1:])
        scale = np.nanmax(np.abs(np.where(np.isnan(numbers), 0.0, numbers)), axis=1, keepdims=True)
        is_tied = changes & (np.diff(sorted_numbers, axis=1) <= _TIED * scale)
        has_enough = 2 * np.isnan(numbers).sum(axis=1) <= count
        candidates[rows_left] = (
            (changes.sum(axis=1) <= limit) & (is_tied.sum(axis=1) <= _ALLOWED * count / 2) & has_enough
        )
        return candidates


def evidence(codes: Codes) -> float:
    """Evidence against chance that every value occupies one interval: the logarithm of the number of row orders over those in which it does."""
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    return lgamma(len(codes) + 1) - sum(lgamma(int(count) + 1) for count in counts) - lgamma(len(counts) + 1)


def rows_of_rare_values(codes: Codes, sampled_codes: Codes, limit: int) -> Codes | None:
    """Return at most ``limit`` rows in which all values of a column are about equally frequent; None if they are not
    needed or do not help.

    They are needed if the sample (``sampled_codes``) has too few rows of the rare values, and help if all rows have
    enough.
    """
    known_rows = np.flatnonzero(codes > 0)
    if evidence(sampled_codes[sampled_codes > 0]) >= _EVIDENCE / 2 or evidence(codes[known_rows]) < _EXACT_EVIDENCE:
        return None
    shuffled = np.random.default_rng(0).permutation(known_rows)
    by_value = shuffled[np.argsort(codes[shuffled], kind="stable")]
    counts = np.bincount(codes[known_rows])
    rank_in_value = np.arange(len(by_value)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows: Codes = np.sort(by_value[np.argsort(rank_in_value, kind="stable")[:limit]])
    return rows


def band_errors(numbers: Numbers, codes: Codes) -> tuple[float, float] | None:
    """Return the share of rows outside the interval of their value, with optimal interval bounds, and the error of
    guessing the most frequent value.

    None if there is no evidence; a handful of rows in an interval of their own are evidence only if no row is outside
    its interval.
    """
    known_rows = np.flatnonzero(~np.isnan(numbers) & (codes > 0))
    evidence_found = evidence(codes[known_rows])
    if 2 * len(known_rows) < len(codes) or evidence_found < _EXACT_EVIDENCE:
        return None
    order = known_rows[np.argsort(numbers[known_rows], kind="stable")]
    sorted_codes, sorted_numbers = codes[order], numbers[order]
    middles = {
        code: float(np.median(np.flatnonzero(sorted_codes == code))) for code in np.unique(sorted_codes).tolist()
    }
    by_median = sorted(middles, key=middles.__getitem__)
    if len(by_median) < 2 or len(by_median) > MOST_BANDS:
        return None
    # The optimal start of each band: as many as possible of its values after it, and as few as possible before.
    firsts: list[float] = []
    for number in range(len(by_median) - 1):
        balance = np.cumsum(np.where(np.isin(sorted_codes, by_median[: number + 1]), 1, -1))
        firsts.append(float(sorted_numbers[min(int(np.argmax(balance)) + 1, len(sorted_numbers) - 1)]))
    predicted = np.array(by_median)[np.searchsorted(np.maximum.accumulate(firsts), sorted_numbers, side="right")]
    wrong_share = float((predicted != sorted_codes).mean())
    if wrong_share and evidence_found < _EVIDENCE:
        return None
    guessing_error = 1 - int(np.bincount(sorted_codes).max()) / len(sorted_codes)
    return wrong_share, guessing_error
