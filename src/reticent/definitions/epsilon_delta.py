"""What definitions with an epsilon and a delta have in common, whatever neighbours they speak of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from reticent.base.exact import Number, exact
from reticent.definitions.definition import PlanDefinition


@dataclass(frozen=True)
class EpsilonDelta(PlanDefinition):
    """A bound e^``epsilon`` on a ratio of chances that may fail by ``delta``. Both are kept exactly; epsilon is at most ``largest``."""

    epsilon: Number
    delta: Number = 0

    largest: ClassVar[int]

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "epsilon", exact(self.epsilon, f"{name}: epsilon", above=0, high=self.largest))
        object.__setattr__(self, "delta", exact(self.delta, f"{name}: delta", low=0, below=1))

    @property
    def amounts(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta."""
        return exact(self.epsilon, "epsilon"), exact(self.delta, "delta")

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": str(self.epsilon), "delta": str(self.delta)}
