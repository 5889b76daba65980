"""Compiled loops of the lower bound on loss: nearest records of many points, and nearest points with other sensitive values."""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled


@compiled
def column_difference(mine: int, other: int, spanned: bool) -> int:
    """Leaves beyond the first that a label needs to cover two values; -1 is a missing value, which lies in no range."""
    if mine == other:
        return 0
    return abs(mine - other) if spanned and mine >= 0 and other >= 0 else 1


@compiled
def nearest_shares(
    codes: Any, weights: Any, spanned: Any, sizes: Any, prices: Any, chosen: Any, others: int, sums: Any, last: Any
) -> None:
    """For each chosen point the sum of its shares in the cost of pairs with its ``others`` cheapest records (``sums``), and the largest of these shares (``last``)."""
    nearest = np.empty(others)
    for number in range(len(chosen)):
        point = chosen[number]
        nearest[:] = np.inf
        nearest[: min(sizes[point] - 1, others)] = 0.0
        for other in range(len(sizes)):
            if other == point:
                continue
            share, limit = prices[point] / (prices[point] + prices[other]), nearest[others - 1]
            cost = 0.0
            for c in range(len(weights)):
                cost += share * weights[c] * column_difference(codes[point, c], codes[other, c], spanned[c])
                if cost >= limit:
                    break
            for _ in range(min(sizes[other], others)):
                if cost >= nearest[others - 1]:
                    break
                place = others - 1
                while place > 0 and nearest[place - 1] > cost:
                    nearest[place] = nearest[place - 1]
                    place -= 1
                nearest[place] = cost
        sums[number], last[number] = nearest.sum(), nearest[others - 1]


@compiled
def value_distances(
    codes: Any, weights: Any, spanned: Any, owners: Any, values: Any, chosen: Any, needed: int, size: int, radius: Any
) -> None:
    """For each chosen point the distance within which there are ``needed`` different sensitive values: cell ``i`` is value ``values[i]`` of point ``owners[i]``."""
    for number in range(len(chosen)):
        point, nearest = chosen[number], np.full(size, np.inf)
        for cell in range(len(owners)):
            other, limit, cost = owners[cell], nearest[values[cell]], 0.0
            for c in range(len(weights)):
                cost += weights[c] * column_difference(codes[point, c], codes[other, c], spanned[c])
                if cost >= limit:
                    break
            if cost < limit:
                nearest[values[cell]] = cost
        radius[number] = np.sort(nearest)[needed - 1]
