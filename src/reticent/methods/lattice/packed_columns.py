"""Runs of columns: neighbouring columns packed into one code, so that several are looked up at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import Codes

# A run's table is rebuilt for every sum: it must be small compared with the points, and fit in the cache.
_SHORTEST, _LONGEST = 64, 4096


@dataclass(frozen=True)
class Runs:
    """For every point one code per run; ``cards`` are the columns' numbers of parts, run by run."""

    cards: tuple[tuple[int, ...], ...]
    codes: tuple[NDArray[np.intp], ...]

    @classmethod
    def of_columns(cls, columns: Sequence[Codes], cards: Sequence[int]) -> Runs:
        """Return the codes of runs of neighbouring columns, packed from one code per column."""
        runs, codes, start = _cut(cards, len(columns[0])), [], 0
        for run in runs:
            code = columns[start].astype(np.intp)
            for column, card in zip(columns[start + 1 : start + len(run)], run[1:], strict=True):
                code *= card
                code += column
            codes.append(code)
            start += len(run)
        return cls(runs, tuple(codes))

    @classmethod
    def of_keys(cls, keys: NDArray[Any], cards: Sequence[int]) -> Runs:
        """Return the codes of runs of neighbouring columns from keys that combine all columns, the first as the highest digit."""
        runs, codes, remaining = _cut(cards, len(keys)), [], keys
        for run in reversed(runs[1:]):
            remaining, code = np.divmod(remaining, prod(run))
            codes.append(code.astype(np.intp, copy=False))
        codes.append(remaining.astype(np.intp, copy=False))
        return cls(runs, tuple(reversed(codes)))

    def added(self, tables: Sequence[NDArray[Any]], chosen: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Return for every point (or the chosen ones) the sum over the columns of one number per part, ``tables[column][part]``."""
        total: NDArray[Any] | None = None
        start = 0
        for run, codes in zip(self.cards, self.codes, strict=True):
            table = reduce(_outer_sum, tables[start : start + len(run)])
            start += len(run)
            run_sums = table.take(codes if chosen is None else codes.take(chosen))
            total = run_sums if total is None else np.add(total, run_sums, out=total)
        assert total is not None
        return total


def _outer_sum(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    summed: NDArray[Any] = first[:, None] + second
    return summed.ravel()


def _cut(cards: Sequence[int], points: int) -> tuple[tuple[int, ...], ...]:
    """Return the columns' numbers of values (``cards``) in runs of neighbouring columns; the tables of a run, one entry per
    combination of values, are small compared with the number of ``points``.
    """
    limit = min(max(points // 8, _SHORTEST), _LONGEST)
    runs: list[tuple[int, ...]] = []
    for card in cards:
        if runs and prod(runs[-1]) * card <= limit:
            runs[-1] = (*runs[-1], card)
        else:
            runs.append((card,))
    return tuple(runs)
