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
    people_of_point = sum_by(ids, units.people, points)
    offers = _choices(units.select(firsts), people_of_point)
    context.check("solving exactly")
    choices, classes = len(offers.point), offers.classes
    choice_indexes = np.arange(choices)
    ones = np.ones(choices)
    by_point = coo_array((ones, (offers.point, choice_indexes)), shape=(points, choices))
    by_class = coo_array((ones, (offers.klass, choice_indexes)), shape=(classes, choices))
    single = coo_array((ones, (choice_indexes, choice_indexes)), shape=(choices, choices))
    opened = coo_array(
        (-people_of_point[offers.point].astype(np.float64), (choice_indexes, offers.klass)), shape=(choices, classes)
    )
    least_sizes = coo_array((np.full(classes, -float(units.least)), (np.arange(classes), np.arange(classes))))
    no_classes = coo_array((points, classes))
    solved = milp(
        np.concatenate([offers.price.astype(np.float64), np.zeros(classes)]),
        integrality=np.ones(choices + classes, dtype=np.int8),
        bounds=Bounds(0, np.concatenate([people_of_point[offers.point].astype(np.float64), np.ones(classes)])),
        constraints=[
            LinearConstraint(hstack([by_point, no_classes]).tocsr(), people_of_point, people_of_point),
            LinearConstraint(hstack([by_class, least_sizes]).tocsr(), 0, np.inf),
            LinearConstraint(hstack([single, opened]).tocsr(), -np.inf, 0),
        ],
        options={"mip_rel_gap": 0},
    )
    if solved.x is None:
        raise Infeasible(f"The exact search found no partition: {solved.message}")
    shares = np.rint(solved.x[:choices]).astype(np.int64)
    return _dealt(ids, offers, shares)


def _choices(points: Units, people_of_point: Ids) -> _Choices:
    """Return all choices of the classes with enough people, by pattern, cheapest first; too many are refused."""
    points_chosen, classes, price, count = [], [], [], 0
    all_points = np.arange(len(points))
    for cost, pattern in cheapest_patterns(points.ladders):
        ids, groups = points.alike(pattern, all_points)
        large = sum_by(ids, people_of_point, groups) >= points.least
        points_in_large = np.flatnonzero(large[ids])
        class_numbers = count + np.cumsum(large) - 1
        points_chosen.append(points_in_large)
        classes.append(class_numbers[ids[points_in_large]])
        price.append(np.full(len(points_in_large), cost))
        count += int(large.sum())
        if sum(map(len, points_chosen)) > MOST_CHOICES:
            raise PolicyError(
                f"exact=True: this table has more than {MOST_CHOICES:,} choices of cells, too many for an exact search. "
                "Publish without exact=True; the cost is then compared with a lower bound.",
                setting=("exact",),
            )
    return _Choices(np.concatenate(points_chosen), np.concatenate(classes), np.concatenate(price), count)


def _dealt(ids: Ids, offers: _Choices, shares: Ids) -> Ids:
    """Return the class of every unit: ``ids`` is the point of each, and ``shares`` how many units of a point make each choice."""
    order = np.lexsort((offers.klass, offers.point))
    classes = np.repeat(offers.klass[order], shares[order])
    group = np.empty(len(ids), dtype=np.int64)
    group[np.argsort(ids, kind="stable")] = classes
    return np.unique(group, return_inverse=True)[1].astype(np.int64)
