"""Manifest details of both kinds of grid releases: the public grid, and the plan that definitions judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from reticent.base.exact import exact, whole
from reticent.errors import DataError, PolicyError
from reticent.methods.grid.axes import Grid
from reticent.methods.grid.sample_law import SamplePlan
from reticent.noise import DiscreteLaplaceLaw

SAMPLED_ROWS, NOISY_COUNT = "sampled_rows", "noisy_count"
DEEPEST = 20
WIDEST_SCALE = 2**16
_LARGEST_STOP = 2**50


@dataclass(frozen=True)
class SampleDetails:
    """The grid, and the rule for publishing its cells."""

    grid: Grid
    plan: SamplePlan

    def in_order_of(self, names: Sequence[str]) -> SampleDetails:
        """Return the details with columns in the order of the published table."""
        return replace(self, grid=self.grid.in_order_of(names))

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""
        sample = self.plan.sample
        return {
            "grid": self.grid.as_json(),
            "least": self.plan.least,
            "sample": None if sample is None else str(sample),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> SampleDetails:
        """The details that :meth:`as_json` wrote."""
        sample = written["sample"]
        share = None if sample is None else exact(sample, "sample", above=0, below=1)
        return cls(Grid.from_json(written["grid"]), SamplePlan(written["least"], share))


@dataclass(frozen=True)
class BisectionPlan:
    """Noise on counts of a bisected grid: on each of up to ``depth`` counts that decide about one row's boxes, on that of
    the final box, and on a histogram of each box if there is one.

    One more row changes one box per level by one, so its losses are the inverse scales, and add up; boxes of a level
    are disjoint and cost nothing more. The published count of a box is sampled afresh: the one that stopped its halving
    is biased downwards.
    """

    depth: int
    decisions: DiscreteLaplaceLaw
    counts: DiscreteLaplaceLaw
    histogram: DiscreteLaplaceLaw | None = None

    def __post_init__(self) -> None:
        whole(self.depth, "depth", low=0, high=DEEPEST)

    @property
    def epsilon(self) -> Fraction:
        """The total epsilon for one more row."""
        values = 0 if self.histogram is None else 1 / self.histogram.scale
        return self.depth / self.decisions.scale + 1 / self.counts.scale + values

    def keeps_added_row(self, epsilon: Fraction, delta: Fraction) -> bool:
        """True if the losses of all levels together are within epsilon; there is no delta."""
        return self.epsilon <= epsilon

    def added_row_delta(self, epsilon: Fraction) -> Fraction:
        """Return 0 from its own epsilon on, and 1 below."""
        return Fraction(0) if self.epsilon <= epsilon else Fraction(1)


@dataclass(frozen=True)
class BisectionDetails:
    """The grid, the noise, the noisy count from which boxes are halved (``stop``), and the column whose values are counted in each box."""

    grid: Grid
    plan: BisectionPlan
    stop: int
    histogram: str | None = None

    def __post_init__(self) -> None:
        if (self.histogram is None) != (self.plan.histogram is None):
            raise DataError("A histogram and its noise distribution must be given together.")
        if self.histogram is not None and self.histogram not in self.grid.names:
            raise DataError(f"The grid has no column {self.histogram!r} for the histogram.")
        check_depth(self.halved, self.plan.depth)

    @property
    def halved(self) -> Grid:
        """The columns that are halved."""
        return self.grid.without(self.histogram)

    def in_order_of(self, names: Sequence[str]) -> BisectionDetails:
        """Return the details with columns in the order of the published table."""
        return replace(self, grid=self.grid.in_order_of(names))

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""
        plan = self.plan
        return {
            "grid": self.grid.as_json(),
            "depth": plan.depth,
            "stop": self.stop,
            "histogram": self.histogram,
            "scales": {
                "decisions": str(plan.decisions.scale),
                "counts": str(plan.counts.scale),
                "histogram": None if plan.histogram is None else str(plan.histogram.scale),
            },
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> BisectionDetails:
        """The details that :meth:`as_json` wrote; scales are bounded, since they may be forged."""
        laws = {
            name: None
            if scale is None
            else DiscreteLaplaceLaw(exact(scale, f"scale of {name}", above=0, high=WIDEST_SCALE))
            for name, scale in written["scales"].items()
        }
        decisions, counts = laws["decisions"], laws["counts"]
        if decisions is None or counts is None:
            raise DataError("The noise of decisions and counts must be stated.")
        stop = whole(written["stop"], "stop", low=0, high=_LARGEST_STOP)
        plan = BisectionPlan(written["depth"], decisions, counts, laws["histogram"])
        return cls(Grid.from_json(written["grid"]), plan, stop, written["histogram"])


def check_depth(grid: Grid, depth: int) -> None:
    """Refuse more halvings than a grid can have, or than can be written, before counting."""
    whole(depth, "depth", low=0, high=DEEPEST)
    if depth > grid.deepest:
        raise PolicyError(f"A grid of {grid.size:,} cells can be halved at most {grid.deepest} times, not {depth} times.", setting=("depth",))  # fmt: skip
