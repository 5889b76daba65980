"""Homogeneity: whole groups that share a sensitive value give it away, however large they are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reticent.attack.base import Findings
from reticent.attack.published import Published
from reticent.errors import PolicyError
from reticent.exact import Number, exact


@dataclass(frozen=True)
class Homogeneity:
    """Somebody who knows which group a person is in reads off a value that (almost) all of the group share (R-LD-5).

    A group is affected when its most frequent value reaches the share ``threshold`` of it, decided in integers. All people of
    an affected group are hit, a deviating minority included: to be wrongly believed ill is harm too.
    """

    threshold: Number = 1
    column: str | None = None

    name = "homogeneity"

    def __post_init__(self) -> None:
        share = exact(self.threshold, "Homogeneity: threshold", low=0, high=1)
        if share == 0:
            raise PolicyError("Homogeneity: threshold must be above 0, or every group would count.")
        object.__setattr__(self, "threshold", share)

    def attack(self, published: Published) -> Findings:
        """Find the groups that give a value away."""
        sensitive = published.sensitive(self.column)
        if sensitive is None:
            raise PolicyError("Homogeneity: no sensitive column was published, so no value can be given away.")
        groups = published.groups.marginal(sensitive)
        share = Fraction(self.threshold)
        top, sizes = groups.histograms.top, groups.sizes
        affected = (top * share.denominator >= sizes * share.numerator) & (sizes > 0)
        return Findings(
            self.name,
            "the published labels of each person, and that they are in the data",
            f"have their {sensitive} given away by their group",
            int(sizes[affected].sum()),
            int(sizes.sum()),
            self._example(published, affected, sensitive),
            details={
                "groups": len(groups),
                "affected_groups": int(affected.sum()),
                "largest_affected": int(sizes[affected].max(initial=0)),
                "threshold": str(share),
            },
        )

    def _example(
        self, published: Published, affected: np.ndarray[tuple[int], np.dtype[np.bool_]], sensitive: str
    ) -> str:
        groups = published.groups.marginal(sensitive)
        if not affected.any():
            least = int(groups.histograms.distinct.min())
            return f"Every group has at least {least} different values of {sensitive}."
        group = int(np.argmax(np.where(affected, groups.sizes, -1)))
        value, count = next(iter(groups.histogram(group).items()))
        size = int(groups.sizes[group])
        if size == 1:
            return f"Each affected person stands alone: whoever recognises one of them reads off {sensitive}, {value!r} for instance."
        return f"{count} of {size} people who look alike in the published columns have {sensitive} {value!r}."
