"""(n,t)-closeness: what holds for many people may be learned, what holds for few may not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reticent.data import Groups
from reticent.definitions.base import Assessment, SensitiveDefinition
from reticent.definitions.closeness import Distance, TCloseness
from reticent.definitions.comparison import largest_ratio
from reticent.definitions.diagnostics import failures, occupied, witness_of
from reticent.definitions.wording import shown
from reticent.exact import Number, exact, whole


@dataclass(frozen=True)
class NTCloseness(SensitiveDefinition):
    """Every group of fewer than ``n`` people is at most ``t`` away from the whole table (R-PM-8).

    (n,t)-closeness asks that each group be ``t``-close to some natural superset of at least ``n`` people. Two supersets count here, the
    group itself, where it is so large, and the whole table (R-PM-8 compares with the table's distribution). Whatever passes therefore passes
    the definition with any others; with one column that is kept or suppressed there are no others. Supersets in between, made by widening
    some columns, do not count, for two reasons: the definition would not be monotone with them (a coarser release can lose the superset that a
    finer one had; ``tests/definitions/test_nt_closeness.py`` has three people for whom it does), and nobody could check it from published files, which do
    not tell how columns might have been widened.
    Guarantee: about fewer than n people nobody learns more than ``t`` beyond what holds for at least n. Adversary: knows quasi values.
    Monotone: large groups only grow, and the distance of close ones is convex. Not absorbing.
    """

    n: int
    t: Number
    distance: Distance = "equal"
    column: str | None = None

    needs_reference = True
    counts_people = True

    def __post_init__(self) -> None:
        whole(self.n, "NTCloseness: n", low=1)
        object.__setattr__(self, "t", exact(self.t, "NTCloseness: t", low=0, high=1))
        self._close()

    def _close(self) -> TCloseness:
        return TCloseness(self.t, self.distance, self.column)

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        return self._close().failing_in(groups) & self._small(groups)

    def assess_in(self, groups: Groups) -> Assessment:
        """The achieved t is the largest distance among groups of fewer than ``n`` people; 0 where there are none."""
        occupied(groups)
        failing = self.failing_in(groups)
        small = self._small(groups)
        if not small.any():
            return Assessment(self, True, 0, None, failures(groups, failing))
        work, scale = self._close().work(groups)
        place, farthest = largest_ratio(work[small], scale[small])
        text = f"fewer than {self.n} people and values farther than {shown(self.t)} from the whole table's"
        witness = witness_of(groups, failing, int(np.flatnonzero(small)[place]), text)
        return Assessment(self, witness is None, farthest, witness, failures(groups, failing))

    def meaning(self) -> str:
        return f"{self._close().meaning()} What holds for a group of at least {self.n} people may be learned about it."

    def not_covered(self) -> str:
        return f"What a group of {self.n} or more people has in common is not hidden. {self._close().not_covered()}"

    def _small(self, groups: Groups) -> NDArray[np.bool_]:
        return (groups.people < self.n) & (groups.sizes > 0)

    def _refined(self, groups: Groups) -> Iterator[Groups]:
        """Where several rows may be one person, nobody counted how many people a part of a group is about; then no part counts as large."""
        for refined in super()._refined(groups):
            if refined is groups or "persons" not in groups.extras:
                yield refined
            else:
                yield replace(refined, extras={**refined.extras, "persons": np.ones_like(refined.sizes)})
