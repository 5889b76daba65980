"""(X,Y)-privacy: what an adversary who knows X can infer about Y."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, whole
from reticent.core import Columns, Groups
from reticent.definitions.claim_scope import ClaimScope, Openness, column_list, plural
from reticent.definitions.conjunction import Conjunction, inverse
from reticent.definitions.definition import Assessment, CountedRows, GroupDefinition
from reticent.definitions.diversity import DistinctLDiversity, ProbabilisticLDiversity
from reticent.definitions.number_text import shown
from reticent.definitions.shares import share
from reticent.errors import PolicyError


@dataclass(frozen=True)
class XYPrivacy(Conjunction):
    """Every value of X is linked to at least ``k`` different values of Y, and to none with a confidence above ``h``.

    Guarantee: an adversary who knows X of a person is left with at least k values of Y, and infers none with a confidence above ``h``.
    Adversary: knows X, or some columns of it, whose groups are unions. Monotone, for the same reason.
    Not covered: an adversary who can rule values out, or knows columns outside X.
    Source: [Wang2006].

    Parameters:
        k: the smallest number of values of Y.
        h: the largest confidence.
        column: the sensitive column Y; without ``column`` and ``y``, each sensitive column by itself.
        y: the sensitive columns Y, judged jointly.
        x: sensitive columns that belong to X in addition to the quasi columns, with all that can be computed from X; by default all but Y.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.XYPrivacy(k=3, h="1/2")).holds
        True
    """

    k: int
    h: Number
    column: str | None = None
    y: tuple[str, ...] | None = None
    x: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        whole(self.k, "XYPrivacy: k", low=1)
        object.__setattr__(self, "h", share(self.h, "XYPrivacy: h"))
        for name in ("y", "x"):
            object.__setattr__(self, name, _columns(getattr(self, name), f"XYPrivacy: {name}"))
        if self.y is None and self.x is not None:
            raise PolicyError(
                "XYPrivacy: x names what is known in addition to the quasi columns; pass y=, the columns to protect."
            )
        if self.y is not None and (self.column is not None or not self.y):
            raise PolicyError(
                "XYPrivacy: y must name at least one sensitive column, and cannot be combined with column."
            )
        for name in set(self.x or ()) & set(self.y or ()):
            raise PolicyError(f"XYPrivacy: column {name!r} is in x and in y at once.")
        self.adopt_traits()
        if self.y is not None:
            object.__setattr__(self, "absorbing", False)

    def members(self) -> Mapping[str, GroupDefinition]:
        """Return the two definitions that it combines, by parameter."""
        return {
            "k": DistinctLDiversity(self.k, self.column),
            "h": ProbabilisticLDiversity(1 / Fraction(self.h), self.column),
        }

    def achieved(self, name: str, found: Any) -> Any:
        return inverse(found) if name == "h" else found

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        if self.y is None:
            return super().promise(scope)
        known = self.x if self.x is not None else tuple(name for name in scope.sensitive if name not in self.y)
        beside = f", even with {column_list(known)} known too" if known else ""
        secret = f"{column_list(self.y)} together"
        return (
            f"cannot narrow {secret} to fewer than {self.k} {plural(self.k, 'value')}, and is right about {secret} for at most {shown(self.h)} of "
            f"{scope.alike}{beside}"
        )

    def guarded(self, sensitive: Columns) -> Columns:
        return super().guarded(sensitive) if self.y is None else self.y

    def leaves_open(self, column: str) -> Openness:
        """Nothing for several columns Y: all but one of them may have a single value."""
        return super().leaves_open(column) if self.y in (None, (column,)) else Openness.NOTHING

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask the groups of which a part, refined by the values of ``x``, fails."""
        if self.y is None:
            return super().failing(groups)
        refined, parents = self._refined(groups)
        failing = np.zeros(len(groups), dtype=bool)
        failing[parents[super().failing(refined)]] = True
        return failing

    def assess(self, groups: Groups) -> Assessment:
        """Return the verdict; with ``y``, groups are refined by the values of ``x`` first."""
        if self.y is None:
            return super().assess(groups)
        refined, parents = self._refined(groups)
        assessment = super().assess(refined)
        if assessment.witness is None:
            return assessment
        return replace(assessment, witness=replace(assessment.witness, group=int(parents[assessment.witness.group])))

    def absorbing_on(self, counted: CountedRows) -> bool:
        return self.y is None and super().absorbing_on(counted)

    def relaxation(self) -> GroupDefinition | None:
        """None for several columns Y: nothing about a single column follows from their joint values."""
        return super().relaxation() if self.y is None else None

    def doomed(self, groups: Groups) -> NDArray[np.float64]:
        return super().doomed(groups) if self.y is None else np.zeros(len(groups))

    def least_rows(self) -> int:
        return max(self.k, super().least_rows())

    def _refined(self, groups: Groups) -> tuple[Groups, NDArray[np.int64]]:
        """The histograms of Y that an adversary who knows X sees, by group, and the group that each was split from."""
        assert self.y is not None
        known = self.x
        if known is None:
            known = tuple(column.name for column in groups.domain.columns if column.name not in self.y)
        refined = groups.refined(known, self.y)
        return replace(refined, extras={}), refined.parents()


def _columns(given: str | Iterable[str] | None, name: str) -> tuple[str, ...] | None:
    """Column names, or None; a single name may be given as a string."""
    if given is None:
        return None
    listed = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else given
    if not isinstance(listed, tuple) or not all(isinstance(each, str) for each in listed):
        raise PolicyError(f"{name} must be a list of names of sensitive columns, but it is {given!r}.")
    return listed
