"""Evidence: what a release is judged by. A bundle, since a release may be judged by several kinds at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.core.groups import Groups
from reticent.errors import DataError, PolicyError

Kind = Literal["groups", "plan", "history"]
Comparison = Literal["whole table", "published rows"]
Columns = tuple[str, ...]


class MechanismPlan(Protocol):
    """How a mechanism makes its releases, fixed before the data are read; each definition has its own protocol for it."""


class ReleaseHistory(Protocol):
    """All releases of a changing table, in order."""

    @property
    def releases(self) -> Sequence[Groups]:
        """The groups of each release."""


@dataclass(frozen=True)
class Patterns:
    """Patterns of published rows whose labels may cover the same people: suppressed cells that are read as wildcards.

    ``sizes[i]`` rows have exactly the labels of pattern ``i`` (distinct people if ``unit="person"``), and
    ``compatible[i] >= sizes[i]`` rows have labels that do not contradict them. A person may match several patterns, so
    these are not :class:`Groups`, and a definition of groups is applied to them only if it is proved for them.
    """

    sizes: NDArray[np.int64]
    compatible: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.compatible) or (self.compatible < self.sizes).any():
            raise DataError("Every pattern must be compatible with at least its own rows.")

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True)
class Evidence:
    """Everything a release is judged by; absent kinds are empty.

    ``groups`` has one entry for each set of quasi columns that an adversary may know, ``named`` those of sets that only
    a definition names. ``finest`` are the groups of all quasi columns together if no adversary knows all of them:
    nothing is guaranteed about these, but they are what was published. ``compared_with`` describes the ``reference`` of
    the groups. ``remainder`` is what the public files reveal about suppressed records: for each sensitive column whose
    whole-table histogram is published, their histogram as one group. ``alike`` is the evidence on matching records if
    these are not the groups that share sensitive values: definitions that hide identity are judged by it.
    """

    groups: Mapping[Columns, Groups] = field(default_factory=dict)
    named: Mapping[Columns, Groups] = field(default_factory=dict)
    patterns: Patterns | None = None
    plan: MechanismPlan | None = None
    history: ReleaseHistory | None = None
    remainder: Mapping[str, Groups] = field(default_factory=dict)
    compared_with: Comparison = "whole table"
    finest: Groups | None = None
    alike: Evidence | None = None

    @property
    def published(self) -> Groups:
        """The groups of all published quasi columns together."""
        if self.finest is not None:
            return self.finest
        if not self.groups:
            raise PolicyError("This release has no groups: its rows are randomized.")
        return next(iter(self.groups.values()))


def remainder_of(groups: Groups, columns: Sequence[str]) -> dict[str, Groups]:
    """The histograms of the rows outside the groups, by the whole table's histograms of some columns; empty if none were suppressed."""
    remainders = {}
    for name in columns:
        marginal = groups.marginal(name)
        lost = marginal.reference - marginal.histograms.total(len(marginal.reference))
        if lost.any():
            remainders[name] = Groups.single(lost, marginal.reference, marginal.domain.columns[0])
    return remainders
