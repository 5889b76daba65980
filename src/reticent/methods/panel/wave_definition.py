"""A definition on groups of rows, judged on groups of people: it must hold among their rows at every wave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.core import Groups, Histograms, SensitiveDomain
from reticent.definitions import GENERAL, Assessment, ClaimScope, CountedRows, GroupDefinition, all_of

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WaveValues:
    """The sensitive values of people, wave by wave: ``values[w][p]`` is the joint value of person ``p`` at wave ``w``.

    ``domain`` and ``reference`` are those of the table's rows.
    """

    values: Sequence[Ids]
    domain: SensitiveDomain
    reference: NDArray[np.int64]

    def at(self, wave: int, groups: Groups) -> Groups:
        """Return groups of people as groups of their rows at one wave: the person numbers in the histograms of ``groups`` are
        replaced by the people's sensitive values at that wave.
        """
        cells = groups.histograms
        values = self.values[wave][cells.values]
        histograms = Histograms.from_cells(cells.owners, values, cells.counts, len(groups), self.domain.size)
        return Groups(groups.sizes, histograms, self.reference, self.domain)


@dataclass(frozen=True, eq=False)
class EveryWave(GroupDefinition):
    """``inner`` holds among the rows of a group at each of its waves. Monotone and absorbing if ``inner`` is: waves are judged separately."""

    inner: GroupDefinition
    waves: WaveValues

    def __post_init__(self) -> None:
        for trait in ("monotone", "absorbing", "needs_sensitive", "needs_reference", "hides_identity"):
            object.__setattr__(self, trait, getattr(self.inner, trait))

    @classmethod
    def of(cls, definition: GroupDefinition, waves: WaveValues) -> GroupDefinition:
        """Return every part of a definition applied at every wave."""
        return all_of(tuple(cls(part, waves) for part in definition.parts()))

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask the groups of people that fail the definition at some wave."""
        if not self.inner.needs_sensitive:
            return self.inner.failing(groups)
        failing = np.zeros(len(groups), dtype=bool)
        for wave in range(len(self.waves.values)):
            failing |= self.inner.failing(self.waves.at(wave, groups))
        return failing

    def assess(self, groups: Groups) -> Assessment:
        return self.inner.assess(self.waves.at(0, groups))

    def absorbing_on(self, counted: CountedRows) -> bool:
        return self.inner.absorbing and len(self.waves.domain.columns) <= 1

    def relaxation(self) -> GroupDefinition | None:
        relaxed = self.inner.relaxation()
        return None if relaxed is None else EveryWave(relaxed, self.waves)

    def least_rows(self) -> int:
        return self.inner.least_rows()

    def promise(self, scope: ClaimScope) -> str:
        return self.inner.promise(scope)

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return self.inner.not_covered(scope)

    def __str__(self) -> str:
        return str(self.inner)
