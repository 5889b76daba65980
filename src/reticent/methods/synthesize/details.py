"""Manifest details of a synthetic release: the guarantee, the noise by group size, and the replacement of values outside the domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from reticent.base.exact import exact, whole
from reticent.definitions import ProbabilisticDP, certainty
from reticent.methods.synthesize.declared import DeclaredDomain, DeclaredGroups
from reticent.methods.synthesize.groupwise_plan import AnyPlan, GroupwisePlan, check_named
from reticent.methods.synthesize.plan import PlanOptions, SynthesisPlan, sizes_of

_LARGEST_ALPHA, _MOST_DRAWN = 10**12, 10**8


@dataclass(frozen=True)
class SynthesisDetails:
    """The part of a plan that the public tables do not contain; ``public`` names the sources of sizes and values."""

    value: str
    promise: ProbabilisticDP
    options: PlanOptions
    alpha: Mapping[int, Fraction]
    elsewhere: str | None = None
    missing: str | None = None
    public: str | None = None
    counted_by: bool = False
    drawn: Mapping[int, int] = field(default_factory=dict)
    by_group: Mapping[str, Mapping[int, Fraction]] = field(default_factory=dict)

    def noise_of(self, groups: DeclaredGroups) -> bool:
        """True if there is noise for exactly the sizes of these groups."""
        groups_by_keep = groups.by_keep or {"": np.arange(len(groups.sizes))}
        noise_by_keep = self.by_group or {"": self.alpha}
        return set(groups_by_keep) == set(noise_by_keep) and all(
            set(noise_by_keep[name]) == set(groups.sizes[indices].tolist()) for name, indices in groups_by_keep.items()
        )

    def plan(self, groups: DeclaredGroups, domain: DeclaredDomain) -> AnyPlan:
        """Return the complete plan, with the groups and the domain of the public tables."""
        check_named(groups, domain, self.options)
        if self.by_group:
            plans = {
                name: SynthesisPlan(
                    some := sizes_of(groups.sizes[groups.by_keep[name]].tolist()),
                    domain.prior_of(name),
                    alpha,
                    self.promise,
                    self.options,
                    {size: rows for size, rows in self.drawn.items() if size in some},
                    len(groups.sizes),
                )
                for name, alpha in self.by_group.items()
            }
            return GroupwisePlan(plans, self.promise, self.options, self.drawn)
        prior = self.options.applied(domain.prior)
        sizes = sizes_of(groups.sizes.tolist())
        return SynthesisPlan(sizes, prior, self.alpha, self.promise, self.options, self.drawn)

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""
        return {
            "value": self.value,
            "promise": self.promise.parameters(),
            **self.options.as_json(),
            "alpha": _written(self.alpha),
            **(
                {"alpha_by_group": {name: _written(alpha_of_group) for name, alpha_of_group in self.by_group.items()}}
                if self.by_group
                else {}
            ),
            "elsewhere": self.elsewhere,
            "missing": self.missing,
            "declared_public": self.public,
            "rows_counted_by_weight": self.counted_by,
            **({"drawn": {str(size): rows for size, rows in self.drawn.items()}} if self.drawn else {}),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> SynthesisDetails:
        """The details that :meth:`as_json` wrote."""
        return cls(
            str(written["value"]),
            ProbabilisticDP(**written["promise"]),
            PlanOptions.from_json(written),
            _read(written["alpha"]),
            written["elsewhere"],
            written["missing"],
            written["declared_public"],
            written["rows_counted_by_weight"],
            {
                whole(int(size), "drawn", low=1): whole(rows, f"drawn of size {size}", low=1, high=_MOST_DRAWN)
                for size, rows in written.get("drawn", {}).items()
            },
            {str(name): _read(alpha_of_group) for name, alpha_of_group in written.get("alpha_by_group", {}).items()},
        )

    def words(self, rows: int, groups: int, plan: AnyPlan) -> str:
        """Describe the release in plain language."""
        where = f" ({self.public})" if self.public else ""
        return (
            f"{rows:,} synthetic rows in {groups:,} groups. Groups and their sizes were declared public{where} and are as in the original table; "
            f"{self.value!r} was drawn for every synthetic row by a mechanism that hides any single person: about {plan.real_share:.1%} of the rows repeat real ones, "
            "the others come from the public domain. An attacker who considers two values of a person equally likely is at most "
            f"{certainty(plan.epsilon)} sure of it after seeing this."
        )


def _written(alpha: Mapping[int, Fraction]) -> dict[str, str]:
    return {str(size): str(value) for size, value in alpha.items()}


def _read(written: Mapping[str, Any]) -> dict[int, Fraction]:
    """Return the noise by group size that the details store."""
    return {
        whole(int(size), "alpha", low=1): exact(value, f"alpha of size {size}", above=0, high=_LARGEST_ALPHA)
        for size, value in written.items()
    }
