"""What the manifest of a synthetic release holds beside its tables: the promise, the noise by group size, and how values outside the domain are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from reticent.base.exact import exact, whole
from reticent.definitions import ProbabilisticDP, certainty
from reticent.methods.synthesize.declared import DeclaredDomain, DeclaredGroups
from reticent.methods.synthesize.plan import PlanOptions, SynthesisPlan, sizes_of

_LARGEST_ALPHA, _MOST_DRAWN = 10**12, 10**8


@dataclass(frozen=True)
class SynthesisDetails:
    """The plan of a release as far as its tables do not show it; ``public`` names where the public sizes and values come from."""

    value: str
    promise: ProbabilisticDP
    options: PlanOptions
    alpha: Mapping[int, Fraction]
    elsewhere: str | None = None
    missing: str | None = None
    public: str | None = None
    counted_by: bool = False
    drawn: Mapping[int, int] = field(default_factory=dict)

    def plan(self, groups: DeclaredGroups, domain: DeclaredDomain) -> SynthesisPlan:
        """The whole plan, with the groups and the domain that the public tables show."""
        prior = self.options.applied(domain.prior)
        sizes = sizes_of(groups.sizes.tolist())
        return SynthesisPlan(sizes, prior, self.alpha, self.promise, self.options, self.drawn)

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""
        return {
            "value": self.value,
            "promise": self.promise.parameters(),
            **self.options.as_json(),
            "alpha": {str(size): str(alpha) for size, alpha in self.alpha.items()},
            "elsewhere": self.elsewhere,
            "missing": self.missing,
            "declared_public": self.public,
            "rows_counted_by_weight": self.counted_by,
            **({"drawn": {str(size): rows for size, rows in self.drawn.items()}} if self.drawn else {}),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> SynthesisDetails:
        """The details that :meth:`as_json` wrote."""
        alpha = {
            whole(int(size), "alpha", low=1): exact(each, f"alpha of size {size}", above=0, high=_LARGEST_ALPHA)
            for size, each in written["alpha"].items()
        }
        return cls(
            str(written["value"]),
            ProbabilisticDP(**written["promise"]),
            PlanOptions.from_json(written),
            alpha,
            written["elsewhere"],
            written["missing"],
            written["declared_public"],
            written["rows_counted_by_weight"],
            {
                whole(int(size), "drawn", low=1): whole(rows, f"drawn of size {size}", low=1, high=_MOST_DRAWN)
                for size, rows in written.get("drawn", {}).items()
            },
        )

    def words(self, rows: int, groups: int, plan: SynthesisPlan) -> str:
        """What the release is, in plain language."""
        where = f" ({self.public})" if self.public else ""
        return (
            f"{rows:,} synthetic rows in {groups:,} groups. Groups and their sizes were declared public{where} and are as in the original table; "
            f"{self.value!r} was drawn for every synthetic row by a mechanism that hides any single person: about {plan.real_share:.1%} of the rows repeat real ones, "
            "the others come from the public domain. Somebody who thinks that a person has one of two values with equal chances is at most "
            f"{certainty(plan.epsilon)} sure of it after seeing this."
        )
