"""The common part of definitions with an epsilon and a delta, for any neighbour relation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from reticent.base.exact import Number, exact
from reticent.definitions.definition import Assessment, PlanDefinition, Witness


@dataclass(frozen=True)
class EpsilonDelta(PlanDefinition):
    """A bound e^``epsilon`` on a probability ratio that may fail by ``delta``. Both are stored exactly; epsilon is at most ``largest``."""

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

    @property
    def odds(self) -> tuple[float, str]:
        """The factor e^epsilon, rounded up to hundredths, and the slack delta in words."""
        epsilon, delta = self.amounts
        return math.ceil(
            100 * math.exp(epsilon)
        ) / 100, f", but for a chance of at most {float(delta):.3g}" if delta else ""

    def judged(self, holds: bool, reached: Fraction, failing: str) -> Assessment:
        """The assessment of a plan: the verdict, the delta ``reached`` at the guaranteed epsilon, and ``failing``, the explanation of a failure."""
        return Assessment(self, holds, reached, None if holds else Witness(0, failing))

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": str(self.epsilon), "delta": str(self.delta)}
