"""The optimal cost by mixed-integer programming, for small tables.

A row chooses one of the patterns, and rows with the same pattern and the same values there are a class. A class is open
or closed; an open one has at least k rows. This is equivalent to a partition of the rows: a class that shows less than
its rows agree on is never cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reticent.base.context import Context
from reticent.base.packing import first_rows, sum_by
from reticent.errors import Infeasible, PolicyError
from reticent.methods.suppress.ladders import Ids, Units
from reticent.methods.suppress.patterns import cheapest_patterns

MOST_CHOICES = 60_000


@dataclass(frozen=True)
class _Choices:
    """Choice ``c`` lets rows of the point ``point[c]`` show what class ``klass[c]`` shows, for ``price[c]`` units per row."""

    point: Ids
    klass: Ids
    price: Ids
    classes: int


def least_cost(units: Units, context: Context) -> Ids:
    """Return the class of every unit in a partition of minimal cost; needs single rows. Too many choices are refused before solving."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, hstack

    ids, points = units.points
    firsts = first_rows(ids, points)
    held = sum_by(ids, units.people, points)
    found = _choices(units.select(firsts), held)
    context.check("solving exactly")
    choices, classes = len(found.point), found.classes
    every = np.arange(choices)
    ones = np.ones(choices)
    by_point = coo_array((ones, (found.point, every)), shape=(points, choices))
    by_class = coo_array((ones, (found.klass, every)), shape=(classes, choices))
    single = coo_array((ones, (every, every)), shape=(choices, choices))
    opened = coo_array((-held[found.point].astype(np.float64), (every, found.klass)), shape=(choices, classes))
    least = coo_array((np.full(classes, -float(units.least)), (np.arange(classes), np.arange(classes))))
    nothing = coo_array((points, classes))
    solved = milp(
        np.concatenate([found.price.astype(np.float64), np.zeros(classes)]),
        integrality=np.ones(choices + classes, dtype=np.int8),
        bounds=Bounds(0, np.concatenate([held[found.point].astype(np.float64), np.ones(classes)])),
        constraints=[
            LinearConstraint(hstack([by_point, nothing]).tocsr(), held, held),
            LinearConstraint(hstack([by_class, least]).tocsr(), 0, np.inf),
            LinearConstraint(hstack([single, opened]).tocsr(), -np.inf, 0),
        ],
        options={"mip_rel_gap": 0},
    )
    if solved.x is None:
        raise Infeasible(f"The exact search found no partition: {solved.message}")
    shares = np.rint(solved.x[:choices]).astype(np.int64)
    return _dealt(ids, found, shares)


def _choices(points: Units, held: Ids) -> _Choices:
    chosen, classes, price, count = [], [], [], 0
    everybody = np.arange(len(points))
    for cost, pattern in cheapest_patterns(points.ladders):
        ids, groups = points.alike(pattern, everybody)
        large = sum_by(ids, held, groups) >= points.least
        there = np.flatnonzero(large[ids])
        numbers = count + np.cumsum(large) - 1
        chosen.append(there)
        classes.append(numbers[ids[there]])
        price.append(np.full(len(there), cost))
        count += int(large.sum())
        if sum(map(len, chosen)) > MOST_CHOICES:
            raise PolicyError(
                f"exact=True: this table has more than {MOST_CHOICES:,} choices of cells, too many for an exact search. "
                "Publish without exact=True; the cost is then compared with a lower bound.",
                setting=("exact",),
            )
    return _Choices(np.concatenate(chosen), np.concatenate(classes), np.concatenate(price), count)


def _dealt(ids: Ids, found: _Choices, shares: Ids) -> Ids:
    """Return the class of every unit, with the units of a point distributed over its classes in order."""
    order = np.lexsort((found.klass, found.point))
    classes = np.repeat(found.klass[order], shares[order])
    group = np.empty(len(ids), dtype=np.int64)
    group[np.argsort(ids, kind="stable")] = classes
    return np.unique(group, return_inverse=True)[1].astype(np.int64)
