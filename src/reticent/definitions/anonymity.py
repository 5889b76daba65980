"""k-anonymity: every equivalence class has at least k people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import whole
from reticent.core import Groups, Patterns
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, CountedRows, GroupDefinition, Witness
from reticent.definitions.value_sets import named_columns
from reticent.errors import DataError


@dataclass(frozen=True)
class KAnonymity(GroupDefinition):
    """Every group has at least ``k`` people.

    Guarantee: an adversary who knows all quasi values of a person finds at least ``k`` candidates.
    Adversary: knows quasi values, and that the person is in the table. Monotone and, where a row is a person, absorbing: groups only grow.
    Not covered: attribute disclosure (all records of a group may share a sensitive value), and adversaries with other columns.
    Where a person has several rows, a group has at least ``k`` different people, none of whom
    owns more than one in ``k`` of its rows. Then no row belongs to a given person with probability above 1/k, even for an adversary who knows
    the rows of all people. The same holds for households where these are the unit.
    Source: [Sweeney2002].

    Parameters:
        k: the smallest number of people in a group, at least 1.
        quasi: the columns that the adversary knows (default: all), with the columns that can be computed from them: ``KAnonymity(3) & KAnonymity(10, quasi=["age", "zip"])``.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 58]}, quasi=["age"])
        >>> rt.assess(table, rt.KAnonymity(3)).value
        1
    """

    k: int
    quasi: tuple[str, ...] | None = None

    absorbing = True
    needs_sensitive = False
    hides_identity = True
    counts_people = True

    def __post_init__(self) -> None:
        whole(self.k, "KAnonymity: k", low=1)
        if self.quasi is not None:
            object.__setattr__(self, "quasi", named_columns(self.quasi, "KAnonymity: quasi"))

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        return groups.people < self.k

    @property
    def crowd(self) -> int | None:
        return self.k if self.quasi is None else None

    def relaxation(self) -> GroupDefinition | None:
        """At least ``k`` different people: absorbing, unlike the limit on one person's share of the rows, which added rows may break."""
        return PeopleAtLeast(self.k, self.quasi)

    def least_rows(self) -> int:
        return self.k

    def assess(self, groups: Groups) -> Assessment:
        """Return the smallest group size, the verdict, and the smallest group as witness."""
        if len(groups) == 0:
            raise DataError("There are no groups, so there is no k: nothing would be published.")
        smallest = int(np.argmin(groups.people))
        achieved = int(groups.people[smallest])
        holds = achieved >= self.k
        failing = self.failing(groups)
        witness = (
            None
            if holds
            else Witness(
                smallest,
                f"{int(failing.sum())} of {len(groups)} groups have fewer than {self.k} people; the smallest has {achieved}.",
            )
        )
        diagnostics = {
            "groups": len(groups),
            "failing_groups": int(failing.sum()),
            "failing_rows": int(groups.sizes[failing].sum()),
            "unique_rows": int(groups.sizes[groups.distinct_people == 1].sum()),
        }
        return Assessment(self, holds, achieved, witness, diagnostics)

    def assess_patterns(self, patterns: Patterns) -> Assessment:
        """Judge overlapping patterns of rows by their own row counts, not by the number of compatible rows.

        Sound under either reading of a suppressed cell. Proof: knowledge of quasi values, of all people, only decides
        which *patterns* a person's row may have. Rows of one pattern have equal labels, so permuting them maps each
        consistent assignment of people to rows to another consistent one. Hence all rows of a pattern are equally
        likely to be hers: a given row is hers with probability at most 1 over the number of rows of its pattern, at
        most 1/k if every pattern has k rows.

        Counting compatible rows instead is not sound: of ``(a,*), (a,2), (a,2)`` each row is compatible with three, but
        a person with ``(a,1)`` matches only the first. That count is reported as ``compatible`` and never decides.
        """
        if len(patterns) == 0:
            raise DataError("There are no rows, so there is no k: nothing would be published.")
        smallest = int(np.argmin(patterns.sizes))
        achieved = int(patterns.sizes[smallest])
        failing_count = int((patterns.sizes < self.k).sum())
        text = f"{failing_count} of {len(patterns)} patterns of rows have fewer than {self.k} people; the smallest has {achieved}."
        witness = Witness(smallest, text) if failing_count else None
        return Assessment(self, not failing_count, achieved, witness, {"compatible": int(patterns.compatible.min())})

    def promise(self, scope: ClaimScope) -> str:
        return f"finds {scope.found(self.k)}"

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the guarantee does not cover, in words."""
        shared = scope.shared_value() if self.quasi is None or scope.whole else "a confidential value"
        other_risk = "use what is known about the others among the matching records"
        risk = (
            other_risk if shared is None else f"still learn {shared} that all matching records share, or {other_risk}"
        )
        return f"{scope.beyond(self.quasi)}An attacker may {risk}."


@dataclass(frozen=True)
class PeopleAtLeast(KAnonymity):
    """At least ``k`` different people in every group, with no limit on one person's rows: the absorbing relaxation of k-anonymity."""

    def absorbing_on(self, counted: CountedRows) -> bool:
        return True

    def relaxation(self) -> GroupDefinition | None:
        return self

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        return groups.distinct_people < self.k
