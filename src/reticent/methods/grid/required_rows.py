"""The cost of a guarantee for a grid sample, before there is a table: the minimum number of rows of a published cell."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from reticent.base.cards import SaidInLines
from reticent.base.exact import Number, exact
from reticent.errors import Infeasible, PolicyError
from reticent.methods.grid.sample_law import Certified, SamplePlan, least_cell, least_epsilon

_KNOWN = {
    "exact": "the exact least delta",
    "bound": "the bound of the literature",
    "tail": "a tail bound",
}


@dataclass(frozen=True)
class GridPlan(SaidInLines):
    """Publishing cells with at least ``least`` rows of a sample with probability ``sample`` satisfies (epsilon,
    ``delta``); ``known`` is how delta was derived, ``bound`` the Chernoff bound."""

    sample: Fraction
    epsilon: Fraction
    least: int
    delta: Fraction
    known: Certified
    bound: Fraction

    def lines(self) -> list[str]:
        """Human-readable lines."""
        return [
            f"Cells with at least {self.least:,} rows of a sample of {self.sample} satisfy epsilon = {self.epsilon}, delta = {float(self.delta):.4g} ({_KNOWN[self.known]}).",
            f"The bound of the literature is {float(self.bound):.4g}. A row that is added or removed is covered; further samples add up.",
        ]

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "sample": str(self.sample),
            "epsilon": str(self.epsilon),
            "least": self.least,
            "delta": float(self.delta),
            "known": self.known,
            "bound": float(self.bound),
        }


def plan(sample: Number, epsilon: Number, delta: Number | None = None, least: int | None = None) -> GridPlan:
    """Return the guarantee of a grid sample: the delta for ``least`` rows per published cell, or the minimum number of rows for a ``delta``.

    Exact where that can be certified; delta is rounded up.
    """
    share, loss = exact(sample, "sample", above=0, below=1), exact(epsilon, "epsilon", above=0, high=50)
    if (delta is None) == (least is None):
        raise PolicyError("Pass either delta, to compute the number of rows, or least, to compute delta.")
    if not SamplePlan(1, share).covers_removal(loss):
        raise Infeasible(
            f"A sample of {share} needs an epsilon of at least {least_epsilon(share):.4g} (-ln(1 - sample)). Use a smaller sample, or a larger epsilon."
        )
    if least is None:
        delta_exact = exact(delta if delta is not None else 0, "delta", above=0, below=1)
        if delta_exact >= share:
            raise Infeasible(f"delta = {float(delta_exact):.3g} must be below the sampling probability {share}: otherwise rows could be published unchanged.")  # fmt: skip
        least = least_cell(share, loss, delta_exact)
        if least is None:
            raise Infeasible(
                "No number of rows per cell satisfies this. Use a smaller sample, or a larger epsilon or delta."
            )
    sample_plan = SamplePlan(least, share)
    loss_reached = sample_plan.added_row_loss(loss)
    return GridPlan(share, loss, least, loss_reached.delta, loss_reached.known, sample_plan.bound(loss))
