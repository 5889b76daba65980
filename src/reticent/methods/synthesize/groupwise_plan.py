"""A plan in which groups have different retention probabilities: larger for values near a group than for distant ones, for example.

Groups are sampled independently, so each set of groups that names one column of probabilities has its own plan for the
full guarantee, and the release satisfies the weakest of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.cards import Card, CardTable
from reticent.definitions import ExpectedError, PrivacyLoss, ProbabilisticDP, certainty
from reticent.errors import PolicyError
from reticent.methods.synthesize.declared import GROUP_KEEP, DeclaredDomain, DeclaredGroups
from reticent.methods.synthesize.keep_probabilities import BY_GROUP
from reticent.methods.synthesize.plan import PlanOptions, PromisedNoise, SynthesisPlan, drawn_of, planned, sizes_of
from reticent.methods.synthesize.prior import PublicPrior


@dataclass(frozen=True, repr=False)
class GroupwisePlan(PromisedNoise):
    """A plan for every column of retention probabilities that groups name. Guarantee: the ``promise``, for every person:
    it is that of the plan of the person's group, and other groups are independent.
    """

    plans: Mapping[str, SynthesisPlan]
    promise: ProbabilisticDP
    options: PlanOptions
    drawn: Mapping[int, int] = field(default_factory=dict)

    @property
    def prior(self) -> PublicPrior:
        """One of the priors: they differ only in probabilities."""
        return next(iter(self.plans.values())).prior

    @property
    def groups(self) -> int:
        """The number of groups."""
        return sum(plan.groups for plan in self.plans.values())

    @property
    def rows(self) -> int:
        """The number of real rows."""
        return sum(plan.rows for plan in self.plans.values())

    @property
    def synthetic_rows(self) -> int:
        """The number of synthetic rows."""
        return sum(plan.synthetic_rows for plan in self.plans.values())

    def rows_drawn(self, size: int) -> int:
        """Return how many rows are sampled for a group of this size."""
        return self.drawn.get(size, size)

    @cached_property
    def real_share(self) -> float:
        """The expected share of all synthetic rows that repeat real ones."""
        return math.fsum(plan.rows * plan.real_share for plan in self.plans.values()) / self.rows

    def expected_error(self) -> ExpectedError:
        """Return how many rows repeat real ones, and the standard error of a count that half of the rows of every group meet."""
        spread = math.sqrt(
            math.fsum(plan.expected_error().figures["standard_error"] ** 2 for plan in self.plans.values())
        )
        return ExpectedError(
            {"real_share": self.real_share, "standard_error": spread},
            f"About {self.real_share:.1%} of {self.synthetic_rows:,} rows would repeat real ones; the others come from the public domain. A count that half of all rows meet is estimated with a "
            f"standard error of about {spread:,.1f}.",
        )

    def privacy_loss(self) -> PrivacyLoss:
        """The largest loss certified by the noise of a group."""
        losses = [plan.privacy_loss() for plan in self.plans.values()]
        return PrivacyLoss(max(loss.ratio for loss in losses), max(loss.delta for loss in losses))

    @property
    def warnings(self) -> list[str]:
        """Return warnings for the steward before choosing this plan, each about one of its parts."""
        return list(dict.fromkeys(warning for plan in self.plans.values() for warning in plan.warnings))

    def describe(self) -> dict[str, Any]:
        """The plan as plain data, with that of every column of probabilities."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            **self.options.as_json(),
            "groups": self.groups,
            "rows": self.rows,
            "domain": self.prior.size,
            "real_share": self.real_share,
            "by_group": {name: plan.describe() for name, plan in self.plans.items()},
            "warnings": self.warnings,
        }

    def card(self) -> Card:
        """Summarise for display: guarantee and cost by column of probabilities."""
        listed = [
            (name, f"{plan.groups:,}", f"{plan.rows:,}", f"{plan.real_share:.1%}") for name, plan in self.plans.items()
        ]
        return Card(
            f"{self.groups:,} groups, {self.rows:,} rows, {self.prior.size:,} values",
            {
                "epsilon": float(self.epsilon),
                "delta": float(self.delta),
                "certainty from even odds": certainty(self.epsilon),
                "real share": f"{self.real_share:.1%}",
            },
            tables=[CardTable(("keep", "groups", "rows", "real share"), listed, "By column of probabilities")],
            notes=self.warnings,
        )


AnyPlan = SynthesisPlan | GroupwisePlan


def planned_by_group(
    groups: DeclaredGroups, domain: DeclaredDomain, promise: ProbabilisticDP, options: PlanOptions, drawn: Any = None
) -> AnyPlan:
    """Return the plan with the least noise for declared groups and a domain, with common or different retention probabilities."""
    sizes = sizes_of(groups.sizes.tolist())
    check_named(groups, domain, options)
    if options.keep != BY_GROUP:
        return planned(sizes, domain.prior, promise, options, drawn_of(drawn, sizes))
    plans = {}
    for name, group_indexes in groups.by_keep.items():
        sizes_in_part = sizes_of(groups.sizes[group_indexes].tolist())
        rows_drawn = {size: row_count for size, row_count in drawn_of(drawn, sizes).items() if size in sizes_in_part}
        plans[name] = planned(sizes_in_part, domain.prior_of(name), promise, options, rows_drawn, len(groups.sizes))
    return GroupwisePlan(plans, promise, options, drawn_of(drawn, sizes))


def check_named(groups: DeclaredGroups, domain: DeclaredDomain, options: PlanOptions) -> None:
    """Refuse unused columns of probabilities, and groups that name none."""
    if options.keep == BY_GROUP:
        if not groups.by_keep:
            raise PolicyError(
                f"keep is {BY_GROUP!r}, but groups has no column 'keep' to name a column keep_NAME of the domain for every group.",
                setting=("keep",),
            )
        for name in groups.by_keep:
            domain.prior_of(name)
        unused = sorted(set(domain.by_group) - set(groups.by_keep))
        if unused:
            raise PolicyError(
                f"No group names the column keep_{unused[0]} of the domain.", setting=("domain",), value=unused[0]
            )
    elif groups.by_keep or domain.by_group:
        where = (
            f"groups has a column {GROUP_KEEP if GROUP_KEEP in groups.frame.columns else 'keep'!r}"
            if groups.by_keep
            else "the domain has columns 'keep_...'"
        )
        raise PolicyError(f"Probabilities by group need keep={BY_GROUP!r}: {where}.", setting=("keep",))


def parts_of(plan: AnyPlan, groups: DeclaredGroups) -> Iterator[tuple[NDArray[np.int64], SynthesisPlan]]:
    """Yield the indexes of groups that share a plan, with the plan."""
    if isinstance(plan, SynthesisPlan):
        yield np.arange(len(groups.sizes)), plan
        return
    for name, group_indexes in groups.by_keep.items():
        yield group_indexes, plan.plans[name]
