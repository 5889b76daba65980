"""The compiled loop that samples a column of synthetic records."""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled

MOST_DISTORTION = 4.0
"""A value is drawn with at most this many times, and at least this fraction of, its weight in the model: what is next to impossible stays so."""


@compiled
def diffused(order: Any, start: int, before: int, row_of: Any, shares: Any, uniform: Any) -> Any:
    """A value for every record in ``order``, drawn from its row of ``shares`` with error feedback: every value has a debt, which grows by its share at each record and falls by one when it is drawn, and
    values are drawn in proportion to their debts. So the counts of values among any records that follow one another stay close to the sums of their shares.

    The first ``before`` draws, for the records before ``start``, are not kept: they bring the debts into the state in which each record's value has the chance that its shares state.
    """
    count, size = len(order), shares.shape[1]
    debts, weights = np.zeros(size), np.zeros(size)
    drawn = np.empty(count, dtype=np.int64)
    for step in range(before + count):
        record = order[(start - before + step) % count]
        row = row_of[record]
        total = 0.0
        for value in range(size):
            share = shares[row, value]
            debts[value] += share
            weights[value] = min(max(debts[value], share / MOST_DISTORTION), share * MOST_DISTORTION)
            total += weights[value]
        left, chosen = uniform[step] * total, -1
        for value in range(size):
            if weights[value] > 0:
                chosen = value
                left -= weights[value]
                if left < 0:
                    break
        debts[chosen] -= 1
        drawn[record] = chosen
    return drawn
