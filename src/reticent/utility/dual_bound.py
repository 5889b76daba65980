"""A lower bound on loss by linear programming, with a certificate in whole numbers; for tables of some dozens of records.

Let every group ``G`` of at least ``k`` records cost ``|G| * cost(G)``, and every suppressed record 1. Choosing groups that hold each record once is a set partition; its relaxation has the
dual: prices ``y`` of the records, at most 1 each, such that no group is worth more than it costs, ``sum of y over G <= |G| * cost(G)``. Any such prices add up to at most the cost of any partition,
so their mean is a lower bound of the loss.

*Groups of k to 2k - 1 records suffice.* A larger group splits into two of at least ``k`` records, whose labels cover no more: if neither is worth more than it costs, nor is the whole.

*Column generation.* All these groups are enumerated, but the linear program is solved over some of them; groups that are worth more than they cost at its prices join until there is none. *Certificate.* Prices are
rounded down to whole multiples of ``1 / scale``, costs to whole multiples of the same; :func:`is_dual_feasible` compares whole numbers, group by group, and prices that fail are lowered
together until they pass. Solver and floats are not trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from reticent.utility.lower_bound import LabelSpace

Ids = NDArray[np.int64]

_MOST_GROUPS = 200_000
"""Maximum number of groups that are enumerated and compared, within about a second."""
_SCALE = 1 << 40
_ADDED = 300
_ROUNDS = 60
_SLACK = 1e-9


@dataclass(frozen=True)
class DualCertificate:
    """Prices of the records in multiples of ``1 / scale``: no group of at least ``rows`` records is worth more than it costs, so ``value`` bounds the loss from below."""

    prices: tuple[int, ...]
    scale: int
    rows: int

    @property
    def value(self) -> Fraction:
        """The bound: the mean of the prices."""
        return Fraction(sum(self.prices), self.scale * len(self.prices))


def is_affordable(records: int, rows: int) -> bool:
    """Whether the groups of a table with this many records can be enumerated."""
    return 1 < rows <= records and sum(comb(records, size) for size in _sizes(records, rows)) <= _MOST_GROUPS


def dual_certificate(space: LabelSpace, point_of: Ids, rows: int) -> DualCertificate:
    """Prices that prove a lower bound for groups of at least ``rows`` records; ``point_of`` is the point of every record."""
    groups = list(_groups(space, point_of, rows))
    prices = _solved(groups, len(point_of))
    whole = np.floor(np.clip(prices, 0, 1) * _SCALE).astype(np.int64)
    while not is_dual_feasible(whole, groups):
        whole = whole - (whole >> 20) - 1
        whole[whole < 0] = 0
    return DualCertificate(tuple(whole.tolist()), _SCALE, rows)


@dataclass(frozen=True)
class SizedGroups:
    """All groups of one size: their ``members``, one group per row, and their costs."""

    members: Ids
    costs: NDArray[np.float64]

    @property
    def whole_costs(self) -> Ids:
        """Costs in multiples of ``1 / scale``, rounded down by more than the error of their floats."""
        return np.floor(self.costs * (1 - 1e-12) * _SCALE).astype(np.int64)


def is_dual_feasible(prices: Ids, groups: list[SizedGroups]) -> bool:
    """Whether no record costs more than 1 and no group is worth more than it costs, in whole numbers."""
    if (prices < 0).any() or (prices > _SCALE).any():
        return False
    return all((prices[each.members].sum(axis=1) <= each.whole_costs).all() for each in groups)


def _sizes(records: int, rows: int) -> range:
    return range(rows, min(2 * rows - 1, records) + 1)


def _groups(space: LabelSpace, point_of: Ids, rows: int) -> Iterator[SizedGroups]:
    """All groups of ``rows`` to ``2 * rows - 1`` records with their costs."""
    for size in _sizes(len(point_of), rows):
        members = np.array(list(combinations(range(len(point_of)), size)), dtype=np.int64)
        costs = np.zeros(len(members))
        for column, weight in enumerate(space.weights):
            values = np.sort(space.codes[point_of, column][members], axis=1).astype(np.int64)
            missing = (values < 0).any(axis=1) if space.spanned[column] else np.zeros(len(members), dtype=bool)
            if space.spanned[column]:
                known = values >= 0
                low = np.where(known, values, np.iinfo(np.int64).max).min(axis=1)
                covered = np.where(known.any(axis=1), values[:, -1] - low + 1, 0) + missing
            else:
                covered = 1 + (np.diff(values, axis=1) != 0).sum(axis=1)
            costs += weight * (covered - 1)
        yield SizedGroups(members, size * costs)


def _solved(groups: list[SizedGroups], records: int) -> NDArray[np.float64]:
    """Prices that maximize the dual objective, by column generation; those of the last round if it does not converge."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    # The program starts with the cheapest groups of each size.
    chosen = [np.argsort(each.costs, kind="stable")[:_ADDED] for each in groups]
    prices = np.zeros(records)
    for _ in range(_ROUNDS):
        parts = [(each.members[some], each.costs[some]) for each, some in zip(groups, chosen, strict=True)]
        columns = np.concatenate([members.ravel() for members, _ in parts])
        lengths = np.concatenate([np.full(len(members), members.shape[1]) for members, _ in parts])
        rows: Any = csr_array(
            (np.ones(len(columns)), columns, np.concatenate([[0], np.cumsum(lengths)])), shape=(len(lengths), records)
        )
        solved = linprog(
            -np.ones(records),
            A_ub=rows,
            b_ub=np.concatenate([costs for _, costs in parts]),
            bounds=(0, 1),
            method="highs",
        )
        if solved.x is None:
            return prices
        prices, added = solved.x, False
        for number, each in enumerate(groups):
            worth = prices[each.members].sum(axis=1) - each.costs
            over = np.argsort(-worth, kind="stable")[:_ADDED]
            over = over[worth[over] > _SLACK]
            added |= len(over) > 0
            chosen[number] = np.union1d(chosen[number], over)
        if not added:
            break
    return prices
