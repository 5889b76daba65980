"""Bands: a column of few values, each of which stands for one stretch of some numbers."""

from __future__ import annotations

from math import lgamma

import numpy as np
from numpy.typing import NDArray

from reticent.table.relations.column_forms import Codes
from reticent.table.relations.relation import Numbers

MOST_BANDS = 100

_EVIDENCE = 40.0
_ALLOWED, _FEWER = 0.12, 0.25
_TIED = 1e-9


def may_be_banded(numbers: Numbers, codes: Codes) -> NDArray[np.bool_]:
    """Which rows of numbers may tell the values of a column by bands: in the order of the numbers, the value changes hardly more often than it must, and far less often than by chance."""
    known = codes > 0
    numbers, codes = numbers[:, known], codes[known]
    shares = np.bincount(codes) / max(len(codes), 1)
    distinct, changing = int((shares > 0).sum()), 1 - float((shares**2).sum())
    if distinct < 2 or not len(numbers) or evidence(codes) < _EVIDENCE / 2:
        return np.zeros(len(numbers), dtype=bool)
    order = np.argsort(numbers, axis=1)
    placed = np.take_along_axis(numbers, order, axis=1)
    scale = np.nanmax(np.abs(np.where(np.isnan(numbers), 0.0, numbers)), axis=1, keepdims=True)
    changes = (np.diff(codes[order], axis=1) != 0) & ~np.isnan(placed[:, 1:])
    tied = changes & (np.diff(placed, axis=1) <= _TIED * scale)
    most = min(distinct - 1 + _ALLOWED * len(codes), distinct - 1 + _FEWER * (changing * len(codes) - distinct + 1))
    enough = 2 * np.isnan(numbers).sum(axis=1) <= len(codes)
    found: NDArray[np.bool_] = (changes.sum(axis=1) <= most) & (tied.sum(axis=1) <= _ALLOWED * len(codes) / 2) & enough
    return found


def evidence(codes: Codes) -> float:
    """How little it is chance that every value of a column stands in one stretch: the logarithm of the number of orders of its rows, over those in which it does."""
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    return lgamma(len(codes) + 1) - sum(lgamma(int(each) + 1) for each in counts) - lgamma(len(counts) + 1)


def band_errors(numbers: Numbers, codes: Codes) -> tuple[float, float] | None:
    """The share of rows outside of the band of their value, with the best ends of bands, where both are known, and what a guess of the most frequent value gets wrong there; None where that shows nothing."""
    known = np.flatnonzero(~np.isnan(numbers) & (codes > 0))
    if 2 * len(known) < len(codes) or evidence(codes[known]) < _EVIDENCE:
        return None
    order = known[np.argsort(numbers[known], kind="stable")]
    shown, placed = codes[order], numbers[order]
    middles = {code: float(np.median(np.flatnonzero(shown == code))) for code in np.unique(shown).tolist()}
    listed = sorted(middles, key=middles.__getitem__)
    if len(listed) < 2 or len(listed) > MOST_BANDS:
        return None
    # The best first number of each band: as many as possible of the values before it, and as few as possible of those behind.
    firsts: list[float] = []
    for number in range(len(listed) - 1):
        gain = np.cumsum(np.where(np.isin(shown, listed[: number + 1]), 1, -1))
        firsts.append(float(placed[min(int(np.argmax(gain)) + 1, len(placed) - 1)]))
    told = np.array(listed)[np.searchsorted(np.maximum.accumulate(firsts), placed, side="right")]
    return float((told != shown).mean()), 1 - int(np.bincount(shown).max()) / len(shown)
