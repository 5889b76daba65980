"""Evidence: what a release is judged by. A bundle, since a release may be judged by several kinds of it at once."""

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
    """How a mechanism makes its releases, fixed before the data were touched; each definition says which calls it wants of it."""


class ReleaseHistory(Protocol):
    """All releases of a changing table, in their order."""

    @property
    def releases(self) -> Sequence[Groups]:
        """The groups of each release."""


@dataclass(frozen=True)
class Patterns:
    """Kinds of published rows whose labels may cover the same people: starred cells that are read as wildcards.

    ``sizes[i]`` rows have exactly the labels of kind ``i`` (distinct people where ``unit="person"``), and ``compatible[i] >= sizes[i]`` rows have
    labels that do not contradict them. A person may fit several kinds, so these are not :class:`Groups`, and a definition of groups is not asked
    about them unless it was shown right for them.
    """

    sizes: NDArray[np.int64]
    compatible: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.compatible) or (self.compatible < self.sizes).any():
            raise DataError("Every kind of row is compatible with at least its own rows.")

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True)
class Evidence:
    """What a release is judged by; parts that it does not have are empty.

    ``groups`` has one entry for each set of quasi columns that an adversary may hold, ``named`` those of sets that only a definition names. ``finest`` are the groups of all quasi columns together where
    no adversary holds all of them: nothing is promised about these, but they are what was published. ``compared_with`` says what the ``reference`` of
    the groups is. ``remainder`` is what the public side shows about those left out: for each sensitive column whose whole-table histogram is published,
    their histogram as one group. ``alike`` is the evidence on who looks like whom, where rows that do are not the groups that share their sensitive values:
    definitions that hide identity are judged by it.
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
    """What the whole table's histograms of some columns tell about those who are not in the groups; nothing where nobody was left out."""
    found = {}
    for name in columns:
        own = groups.marginal(name)
        lost = own.reference - own.histograms.total(len(own.reference))
        if lost.any():
            found[name] = Groups.single(lost, own.reference, own.domain.columns[0])
    return found
