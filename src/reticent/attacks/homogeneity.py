"""Homogeneity: groups that share a sensitive value disclose it, however large they are. Source: [Machanavajjhala2007]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reticent.attacks.adversary import Findings, draws_of_groups, needs_secret, secrets
from reticent.base.exact import Number, exact
from reticent.core import AdversaryView, Groups
from reticent.definitions import HomogeneityAudit, homogeneity_audit


@dataclass(frozen=True)
class Homogeneity:
    """An adversary who knows which group a person is in reads off a value that (almost) all of the group share.

    A group is affected if its most frequent value reaches the share ``threshold`` of it, decided in integers. All
    people of an affected group are hit, including a deviating minority: to be wrongly believed ill is harm too.
    *Baseline.* All people, if all published rows share the value; otherwise none.
    """

    threshold: Number = 1
    column: str | None = None

    name = "homogeneity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", exact(self.threshold, "Homogeneity: threshold", above=0, high=1))

    def needs(self, view: AdversaryView) -> str | None:
        """Require groups with a sensitive column."""
        return needs_secret(view, self.column, "Homogeneity")

    def attack(self, view: AdversaryView) -> Findings:
        """Find the groups that disclose a value."""
        sensitive, groups = secrets(view, self.column, "Homogeneity")
        audit = homogeneity_audit(groups, self.threshold)
        return Findings(
            self.name,
            "the published labels of each person, and that they are in the data",
            f"have their {sensitive} disclosed by their group",
            int(groups.people[audit.affected].sum()),
            int(groups.people.sum()),
            _example(groups, audit, sensitive, view.counted),
            details={
                "groups": len(groups),
                "affected_groups": audit.groups,
                "largest_affected": int(groups.sizes[audit.affected].max(initial=0)),
                "threshold": str(self.threshold),
            },
            baseline=1.0 if len(homogeneity_audit(groups.whole(), self.threshold).affected) else None,
            draws=draws_of_groups(groups.people, audit.affected),
        )


def _example(groups: Groups, audit: HomogeneityAudit, sensitive: str, counted: str) -> str:
    """Return a sentence about the largest group that discloses a value, or about how diverse groups are if none does."""
    if not audit.groups:
        return f"Every group has at least {int(groups.histograms.distinct.min())} different values of {sensitive}."
    largest = int(audit.affected[np.argmax(groups.sizes[audit.affected])])
    value, count = next(iter(groups.histogram(largest).items()))
    size = int(groups.sizes[largest])
    if size == 1:
        affected = "person" if counted == "people" else "record"
        return f"Each affected {affected} is unique: an attacker who recognises one of them learns {sensitive}, for instance {value!r}."
    alike = "people who" if counted == "people" else "records that"
    return f"{count} of {size} {alike} look alike in the published columns have {sensitive} {value!r}."
