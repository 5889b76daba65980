"""t-closeness: the sensitive values of every group are distributed nearly as in the whole table; (n,t)-closeness requires it of small groups."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.core import Groups
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, SensitiveDefinition, others_known
from reticent.definitions.diversity_figures import failures, occupied, witness_of
from reticent.definitions.number_text import measured, shown
from reticent.definitions.scaled_comparison import at_most, largest_ratio
from reticent.definitions.transport import (
    equal_work,
    hierarchical_work,
    most_rows_within,
    ordered_work,
    scales,
    tree_height,
)
from reticent.errors import PolicyError, did_you_mean
from reticent.table import SensitiveColumn

Distance = Literal["equal", "ordered", "hierarchical"]

_ROUNDING = 1e-6

_APART = {
    "equal": "any two values count as equally far apart",
    "ordered": "values are as far apart as they stand in their order",
    "hierarchical": "values are as far apart as their lowest common category is high in the hierarchy",
}


@dataclass(frozen=True)
class TCloseness(SensitiveDefinition):
    """The earth mover's distance from every group's sensitive values to those of the whole table is at most ``t``.

    The whole table includes suppressed rows. Ground distances are in [0, 1]: ``equal`` (1 between any two
    values), ``ordered`` (steps in the column's order over ``d - 1``, for the d values of its domain), ``hierarchical`` (level of the
    lowest common ancestor over the height of the column's hierarchy).

    Guarantee: knowing a person's quasi values changes the belief about the sensitive value by at most ``t``.
    Adversary: knows quasi values and the whole table's distribution. Monotone: the distance to a fixed distribution is
    convex. Not absorbing, and no absorbing definition follows from it without knowing the table.
    Not covered: what holds for the whole table, rare values (which may gain up to ``t``), and knowledge about particular people.
    Source: [Li2007].

    Parameters:
        t: the largest distance, from 0 to 1.
        distance: ``"equal"``, ``"ordered"`` or ``"hierarchical"``.
        column: the sensitive column; by default each sensitive column, with the others assumed known.
        alone: judge the column by itself, for adversaries who know quasi values only.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 50, 50], "illness": ["flu", "cold", "flu", "flu"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.TCloseness("0.25")).value
        Fraction(1, 4)
    """

    t: Number
    distance: Distance = "equal"
    column: str | None = None
    alone: bool = False

    needs_reference = True

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        object.__setattr__(self, "t", exact(self.t, "TCloseness: t", low=0, high=1))
        distances = get_args(Distance)
        if self.distance not in distances:
            raise PolicyError(
                f"TCloseness: distance must be one of {', '.join(map(repr, distances))}, but it is {self.distance!r}."
                f"{did_you_mean(self.distance, distances)}"
            )

    @property
    def convex(self) -> bool:
        """True: the distance to a fixed distribution is convex."""
        return True

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        work, scale = self.work(groups)
        return ~at_most(work, Fraction(self.t), scale)

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the largest distance of a group's distribution from the whole table's, the verdict and that group."""
        filled = occupied(groups)
        work, scale = self.work(groups)
        failing = ~at_most(work, Fraction(self.t), scale)
        index, farthest = largest_ratio(work[filled], scale[filled])
        text = f"values farther than {shown(self.t)} from the whole table's; the worst is {measured(Fraction(farthest))} away"
        witness = witness_of(groups, failing, int(filled[index]), text)
        return Assessment(self, witness is None, farthest, witness, failures(groups, failing))

    def doomed_in(self, groups: Groups) -> NDArray[np.float64]:
        """A lower bound on the failing rows. The distance is convex, so all passing parts of a group together are within
        ``t`` as well.

        For equal ground distances, :func:`most_rows_within` bounds the size of their union. For others: however a group
        of n rows at distance d is split, the average distance of its rows stays at least d. Rows that pass are at most
        ``t`` away and rows that fail at most 1, so at least ``n (d - t) / (1 - t)`` rows fail.
        """
        t = float(Fraction(self.t))
        if t >= 1:
            return np.zeros(len(groups))
        # The margins cover rounding; the bound must never be too high.
        if self.distance == "equal":
            kept_rows = most_rows_within(t, groups.histograms, groups.sizes, groups.reference)
            doomed: NDArray[np.float64] = groups.sizes.astype(np.float64) - np.floor(
                kept_rows + _ROUNDING * groups.sizes
            )
        else:
            work, scale = self.work(groups)
            distance = work.astype(np.float64) / np.maximum(scale.astype(np.float64), 1.0)
            doomed = np.ceil(groups.sizes * ((distance - t) / (1 - t) - _ROUNDING))
        return np.maximum(doomed, 0.0)

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        return (
            f"finds the values of {scope.secret(self.column, 'and')} among {scope.alike} distributed as in the whole table, up to a distance of {shown(self.t)} "
            f"(from 0 to 1; {_APART[self.distance]}){scope.beside(self.column, self.alone)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return others_known(self.alone) + (
            f"What holds for the whole table is not hidden, a rare value of {scope.secret(self.column)} may grow by up to {shown(self.t)}, and an attacker "
            "who knows about particular others is not covered."
        )

    def work(self, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        """The distance of every group as a numerator and a denominator."""
        return groups.found(("work", self.distance), lambda: self._measured(groups))

    def _measured(self, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return every group's earth mover's distance from the whole table as two integers, the work and the scale to
        divide it by, for the chosen ground distance.
        """
        column, histograms = groups.domain.columns[0], groups.histograms
        if self.distance == "equal":
            return equal_work(histograms, groups.sizes, groups.reference), scales(groups, 1)
        if self.distance == "ordered":
            work = ordered_work(histograms, groups.sizes, groups.reference, ranks_of(column))
            return work, scales(groups, max(column.size - 1, 1))
        if column.hierarchy is None:
            raise PolicyError(
                f"TCloseness: distance='hierarchical' needs a hierarchy of the sensitive column {column.name!r}. Declare one: "
                f"sensitive={{{column.name!r}: Hierarchy.taxonomy({{...}})}}."
            )
        work = hierarchical_work(histograms, groups.sizes, groups.reference, column.hierarchy)
        return work, scales(groups, max(tree_height(column.hierarchy), 1))


@dataclass(frozen=True)
class NTCloseness(SensitiveDefinition):
    """Every group of fewer than ``n`` people is at most ``t`` away from the whole table.

    (n,t)-closeness requires each group to be ``t``-close to some natural superset of at least ``n`` people. Two supersets count here: the
    group itself, if it is that large, and the whole table. This is stricter than the source, so it implies the source's definition for any
    family of supersets. Supersets in between, obtained by generalizing some columns, do not count, for two reasons. The definition would not
    be monotone (a coarser release can lose the superset that a finer one had; ``tests/definitions/test_nt_closeness.py`` has a counterexample
    with three people). And published files do not reveal the partial generalizations. :func:`reticent.release.natural_closeness` reports the
    definition with all supersets that the published rows do reveal.
    Guarantee: an adversary learns at most ``t`` about a group of fewer than n people beyond what holds for at least n people.
    Adversary: knows quasi values.
    Monotone: large groups only grow, and the distance is convex. Not absorbing.
    Not covered: what ``n`` or more matching records have in common, and what :class:`TCloseness` does not cover.
    Source: [Li2010].

    Parameters:
        n: the number of people at which a group passes by its size alone.
        t, distance: as in :class:`TCloseness`.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.NTCloseness(n=100, t="0.5")).holds
        True
    """

    n: int
    t: Number
    distance: Distance = "equal"
    column: str | None = None

    needs_reference = True
    counts_people = True

    def __post_init__(self) -> None:
        whole(self.n, "NTCloseness: n", low=1)
        object.__setattr__(self, "t", exact(self.t, "NTCloseness: t", low=0, high=1))
        self._close()

    def _close(self) -> TCloseness:
        return TCloseness(self.t, self.distance, self.column)

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        return self._close().failing_in(groups) & self._small(groups)

    def assess_in(self, groups: Groups) -> Assessment:
        """Assess one column. The value is the largest distance of a group of fewer than ``n`` people; 0 if there are none."""
        occupied(groups)
        failing = self.failing_in(groups)
        small = self._small(groups)
        if not small.any():
            return Assessment(self, True, 0, None, failures(groups, failing))
        work, scale = self._close().work(groups)
        index, farthest = largest_ratio(work[small], scale[small])
        text = f"fewer than {self.n} people and values farther than {shown(self.t)} from the whole table's"
        witness = witness_of(groups, failing, int(np.flatnonzero(small)[index]), text)
        return Assessment(self, witness is None, farthest, witness, failures(groups, failing))

    def promise(self, scope: ClaimScope) -> str:
        return f"{self._close().promise(scope)}, where these are fewer than {self.n}"

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return f"What {self.n} or more records that look alike have in common is not hidden. {self._close().not_covered(scope)}"

    def _small(self, groups: Groups) -> NDArray[np.bool_]:
        return (groups.distinct_people < self.n) & (groups.sizes > 0)


def ranks_of(column: SensitiveColumn) -> NDArray[np.int64]:
    """The rank of every value of a column in its declared order, or in the natural order of numbers and dates."""
    if not column.ordered:
        raise PolicyError(
            f"TCloseness: distance='ordered' needs an order of the sensitive column {column.name!r}, which is text. Declare its "
            f"values from lowest to highest: sensitive={{{column.name!r}: [...]}}, or use distance='equal'."
        )
    if column.labels.null_count():
        raise PolicyError(
            f"TCloseness: the missing values of column {column.name!r} have no rank in its order. Drop such rows with "
            "nulls='drop', or use distance='equal'."
        )
    if column.hierarchy is None:
        return np.arange(column.size)
    # A hierarchy file lists its leaves in any order.
    return (column.labels.rank("ordinal").cast(pl.Int64) - 1).to_numpy()
