"""A lower bound on loss by linear programming, with a certificate in whole numbers; for tables of some dozens of records.

Let every group ``G`` of at least ``k`` records cost ``|G| * cost(G)``, and every suppressed record 1. Choosing groups that hold each record once is a set partition; its relaxation has the
dual: prices ``y`` of the records, at most 1 each, such that no group is worth more than it costs, ``sum of y over G <= |G| * cost(G)``. Any such prices add up to at most the cost of any partition,
so their mean is a lower bound of the loss.

*Groups of k to 2k - 1 records suffice.* A larger group splits into two of at least ``k`` records, whose labels cover no more: if neither is worth more than it costs, nor is the whole.

*Sensitive values.* If a group must also hold ``l`` different values of a sensitive column, only groups that do are enumerated, and larger ones need not split into two such groups. Let ``S`` be at least ``k`` and the number of
records that suffices for any record beside the demanded values of every sensitive column (``l``, or ``1 + sum of (l - 1)`` for several). A larger group that meets the demand holds, around each of its records, a part of ``S`` records
that meets it and whose labels cover no more. So each of its records costs at least as much as in the cheapest enumerated group of ``S`` records that holds it. No price may exceed this *cap*, by which no larger group is worth more than it costs.

*Column generation.* All these groups are enumerated, but the linear program is solved over some of them; groups that are worth more than they cost at its prices join until there is none. *Certificate.* Prices are
rounded down to whole multiples of ``1 / scale``, costs to whole multiples of the same; :func:`is_dual_feasible` compares whole numbers, group by group, and prices that fail are lowered
together until they pass. Solver and floats are not trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """Prices of the records in multiples of ``1 / scale``: no group of at least ``rows`` records with the demanded sensitive values is worth more than it costs, so ``value`` bounds the loss from below."""

    prices: tuple[int, ...]
    scale: int
    rows: int

    @property
    def value(self) -> Fraction:
        """The bound: the mean of the prices."""
        return Fraction(sum(self.prices), self.scale * len(self.prices))


@dataclass(frozen=True)
class DemandedValues:
    """Different values that a group must hold in one sensitive column: how many are ``needed``, and the value ``of`` every record."""

    needed: int
    of: Ids


def is_affordable(records: int, rows: int, values: Sequence[int] = ()) -> bool:
    """Whether few enough groups must be enumerated for a table of this many records, for groups of at least ``rows`` records and so many different ``values`` of each sensitive column."""
    sizes = _sizes(records, rows, values)
    return 1 < sizes.start <= records and sum(comb(records, size) for size in sizes) <= _MOST_GROUPS


def dual_certificate(
    space: LabelSpace, point_of: Ids, rows: int, values: Sequence[DemandedValues] = ()
) -> DualCertificate:
    """Prices that prove a lower bound for groups of at least ``rows`` records with the demanded ``values``; ``point_of`` is the point of every record."""
    groups = list(_groups(space, point_of, rows, values))
    larger = bool(values) and groups[-1].members.shape[1] < len(point_of)
    caps = _caps(groups[-1], len(point_of)) if larger else np.full(len(point_of), _SCALE)
    prices = _solved(groups, caps / _SCALE)
    whole_prices = np.minimum(np.floor(np.clip(prices, 0, 1) * _SCALE).astype(np.int64), caps)
    while not is_dual_feasible(whole_prices, groups, caps):
        whole_prices = whole_prices - (whole_prices >> 20) - 1
        whole_prices[whole_prices < 0] = 0
    return DualCertificate(tuple(whole_prices.tolist()), _SCALE, rows)


@dataclass(frozen=True)
class SizedGroups:
    """All groups of one size: their ``members``, one group per row, and their costs."""

    members: Ids
    costs: NDArray[np.float64]

    @property
    def whole_costs(self) -> Ids:
        """Costs in multiples of ``1 / scale``, rounded down by more than the error of their floats."""
        return np.floor(self.costs * (1 - 1e-12) * _SCALE).astype(np.int64)


def is_dual_feasible(prices: Ids, groups: list[SizedGroups], caps: Ids) -> bool:
    """Whether prices of the records prove a lower bound, in whole numbers: none exceeds its cap, and the records of no group are together worth more than the group costs."""
    if (prices < 0).any() or (prices > caps).any():
        return False
    return all((prices[sized.members].sum(axis=1) <= sized.whole_costs).all() for sized in groups)


def _caps(largest: SizedGroups, records: int) -> Ids:
    """The price cap of every record: the cost per record in the cheapest of the largest groups that holds it, at most 1, in multiples of ``1 / scale`` rounded down."""
    caps = np.full(records, _SCALE)
    size = largest.members.shape[1]
    np.minimum.at(caps, largest.members.ravel(), np.repeat(largest.whole_costs // size, size))
    return caps


def _sizes(records: int, rows: int, values: Sequence[int] = ()) -> range:
    """The sizes of the groups that are enumerated, for ``rows`` records and ``values`` different values of each sensitive column; larger groups follow from these."""
    smallest, largest_needed = max([rows, *values]), 1 + sum(needed - 1 for needed in values)
    return range(smallest, min(max(2 * smallest - 1, largest_needed), records) + 1)


def _groups(
    space: LabelSpace, point_of: Ids, rows: int, demanded: Sequence[DemandedValues] = ()
) -> Iterator[SizedGroups]:
    """All groups (sets of records) of the enumerated sizes that hold the demanded values, with their costs: the number of records times the cost of the labels that cover them."""
    for size in _sizes(len(point_of), rows, [demand.needed for demand in demanded]):
        members = np.array(list(combinations(range(len(point_of)), size)), dtype=np.int64)
        for demand in demanded:
            held_values = np.sort(demand.of[members], axis=1)
            members = members[1 + (np.diff(held_values, axis=1) != 0).sum(axis=1) >= demand.needed]
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


def _solved(groups: list[SizedGroups], caps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Prices of the records, up to their caps, with the greatest sum at which no group is worth more than it costs; by linear programming with column generation. The result of the last round if it does not converge."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    # The program starts with the cheapest groups of each size.
    records = len(caps)
    chosen = [np.argsort(sized.costs, kind="stable")[:_ADDED] for sized in groups]
    prices = np.zeros(records)
    for _ in range(_ROUNDS):
        chosen_groups = [
            (sized.members[indices], sized.costs[indices]) for sized, indices in zip(groups, chosen, strict=True)
        ]
        columns = np.concatenate([members.ravel() for members, _ in chosen_groups])
        lengths = np.concatenate([np.full(len(members), members.shape[1]) for members, _ in chosen_groups])
        rows: Any = csr_array(
            (np.ones(len(columns)), columns, np.concatenate([[0], np.cumsum(lengths)])), shape=(len(lengths), records)
        )
        solved = linprog(
            -np.ones(records),
            A_ub=rows,
            b_ub=np.concatenate([costs for _, costs in chosen_groups]),
            bounds=[(0.0, cap) for cap in caps.tolist()],
            method="highs",
        )
        if solved.x is None:
            return prices
        prices, added = solved.x, False
        for number, sized in enumerate(groups):
            worth = prices[sized.members].sum(axis=1) - sized.costs
            overpriced = np.argsort(-worth, kind="stable")[:_ADDED]
            overpriced = overpriced[worth[overpriced] > _SLACK]
            added |= len(overpriced) > 0
            chosen[number] = np.union1d(chosen[number], overpriced)
        if not added:
            break
    return prices
