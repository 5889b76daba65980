"""The wildcard count: the number of suppressed cells if a star matched any value. For comparison with other tools, never a claim.

Under this reading every released row must be *compatible* with k released rows. That is not k-anonymity: of (a,*),
(a,2), (a,2) each is compatible with three, but a person with (a,1) matches only the first.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from reticent.base.context import Context
from reticent.base.packing import first_rows, sum_by
from reticent.methods.suppress.ladders import Ids, Pattern, Units

_MOST_COLUMNS, _MOST_POINTS = 10, 100_000


def wildcard_count(units: Units, context: Context) -> int | None:
    """Return the suppressed cells of a simple greedy under the wildcard reading; None if there are too many columns or rows for it.

    Every row with too few compatible rows is suppressed in the fewest columns that help, given the stars set before;
    whole points at a time.
    """
    ids, count = units.points
    if len(units.ladders) > _MOST_COLUMNS or count > _MOST_POINTS:
        return None
    points = units.select(first_rows(ids, count))
    return _Wildcards(points, sum_by(ids, units.people, count), sum_by(ids, units.rows, count)).run(context)


class _Wildcards:
    """The stars of every point. Mutable: they are set one pattern after the other."""

    def __init__(self, points: Units, people: Ids, rows: Ids) -> None:
        """Start without stars: ``_stars`` has the points of each pattern of suppressed columns, ``_starred`` the number of these columns."""
        self._points, self._people, self._rows = points, people, rows
        self._free = [column for column, ladder in enumerate(points.ladders) if ladder.top > 0]
        self._tops = tuple(ladder.top for ladder in points.ladders)
        self._stars: dict[Pattern, Ids] = {}
        self._starred = np.zeros(len(points), dtype=np.int64)

    def run(self, context: Context) -> int:
        """Set stars until every point has enough compatible people, fewest stars first; return the number of suppressed cells of all rows."""
        plain = (0,) * len(self._tops)
        self._stars = {plain: np.arange(len(self._points))}
        failing = self._few(plain, np.arange(len(self._points)))
        for stars in range(1, len(self._free) + 1):
            # Stars set for others may have helped already.
            failing = self._few(plain, failing)
            for columns in combinations(self._free, stars):
                context.check("counting wildcards")
                if not len(failing):
                    return int(self._starred @ self._rows)
                pattern = tuple(top if column in columns else 0 for column, top in enumerate(self._tops))
                helped = np.setdiff1d(failing, self._few(pattern, failing), assume_unique=True)
                self._set(pattern, helped, stars)
                failing = np.setdiff1d(failing, helped, assume_unique=True)
        return int(self._starred @ self._rows)

    def _set(self, pattern: Pattern, chosen: Ids, stars: int) -> None:
        """Suppress the pattern's columns of the ``chosen`` points; ``stars`` is the number of these columns."""
        if len(chosen):
            plain = (0,) * len(self._tops)
            self._stars[plain] = np.setdiff1d(self._stars[plain], chosen, assume_unique=True)
            self._stars[pattern] = np.union1d(self._stars.get(pattern, np.zeros(0, dtype=np.int64)), chosen)
            self._starred[chosen] = stars

    def _few(self, pattern: Pattern, chosen: Ids) -> Ids:
        """Return the points that would have too few compatible people under a pattern."""
        compatible = np.zeros(len(chosen), dtype=np.int64)
        for other, starred_points in self._stars.items():
            joint_pattern: Pattern = tuple(map(max, pattern, other))
            both_points = np.concatenate([chosen, starred_points])
            ids, count = self._points.alike(joint_pattern, both_points)
            counts = sum_by(ids[len(chosen) :], self._people[starred_points], count)
            compatible += counts[ids[: len(chosen)]]
        return chosen[compatible < self._points.least]
