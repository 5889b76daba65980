"""k-anonymity: nobody stands in a group of fewer than k people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.data.groups import Groups
from reticent.definitions.base import Assessment, Definition, Witness
from reticent.errors import DataError
from reticent.exact import whole


@dataclass(frozen=True)
class KAnonymity(Definition):
    """Every group has at least ``k`` people (R-LD-4, R-PM-1).

    Guarantee: somebody who knows all quasi values of a person finds at least ``k`` candidates.
    Adversary: knows quasi values, and that the person is in the table. Monotone and absorbing: groups only grow.
    Where rows are not people (``unit="person"``), distinct people are counted.
    """

    k: int

    absorbing = True
    needs_sensitive = False
    hides_identity = True
    counts_people = True

    def __post_init__(self) -> None:
        whole(self.k, "KAnonymity: k", low=1)

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        return groups.people < self.k

    def least_rows(self) -> int:
        return self.k

    def assess(self, groups: Groups) -> Assessment:
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
            "unique_rows": int(groups.sizes[groups.people == 1].sum()),
        }
        return Assessment(self, holds, achieved, witness, diagnostics)

    def meaning(self) -> str:
        return (
            f"Somebody who knows every quasi-identifying value of a person finds at least {self.k} people who fit, "
            f"and picks the right one with a chance of at most 1/{self.k}."
        )

    def not_covered(self) -> str:
        return (
            "k-anonymity alone does not stop anybody from learning a sensitive value that a whole group shares, nor from using "
            "what they know about the others in the group."
        )
