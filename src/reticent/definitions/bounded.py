"""Two shapes shared by many definitions: a bounded share of a set of rows in every group, and a figure that only grows when rows join."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.core import Groups, Histograms
from reticent.definitions.definition import Assessment, GroupDefinition, SensitiveDefinition
from reticent.definitions.diversity_figures import failures, occupied, witness_of
from reticent.definitions.scaled_comparison import at_most, largest_ratio, less

_ROUNDING = 1e-6


class LargestShare(SensitiveDefinition):
    """In every group, the largest of some sets of rows (values, categories, ranges) has a share of at most ``limit``."""

    @property
    @abstractmethod
    def limit(self) -> Fraction:
        """The maximum share of a set."""

    @abstractmethod
    def largest(self, groups: Groups) -> NDArray[np.int64]:
        """The number of rows in the largest set of every group."""

    @abstractmethod
    def _complaint(self, largest: Fraction) -> str:
        """The witness text for the largest share."""

    def within(self, rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mask: ``rows`` of a group are within the limit."""
        return at_most(rows, self.limit, sizes)

    def achieved(self, largest: Fraction) -> Fraction:
        """The largest share, expressed as the parameter of the definition."""
        return largest

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        return self._too_full(groups, self.largest(groups))

    def doomed_in(self, groups: Groups) -> NDArray[np.float64]:
        if not self.monotone:
            return super().doomed_in(groups)
        return rows_over(self.largest(groups), float(self.limit), groups.sizes)

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the largest share in a group, the verdict and that group."""
        filled, rows = occupied(groups), self.largest(groups)
        failing = self._too_full(groups, rows)
        index, ratio = largest_ratio(rows[filled], groups.sizes[filled])
        largest = Fraction(ratio)
        witness = witness_of(groups, failing, int(filled[index]), self._complaint(largest))
        return Assessment(self, witness is None, self.achieved(largest), witness, failures(groups, failing))

    def _too_full(self, groups: Groups, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        return ~self.within(rows, groups.sizes) & (groups.sizes > 0)


class LeastFigure(SensitiveDefinition):
    """A figure of every group is at least ``needed``. It never decreases when rows join: monotone and, with one sensitive column, absorbing."""

    absorbing = True

    @property
    @abstractmethod
    def needed(self) -> Fraction:
        """The minimum figure that passes."""

    @abstractmethod
    def figures(self, groups: Groups) -> tuple[NDArray[Any], int]:
        """The figure of every group as an integer, and the integer that represents 1."""

    @abstractmethod
    def _complaint(self, least: Fraction) -> str:
        """The witness text for the smallest figure."""

    def relaxation(self) -> GroupDefinition | None:
        """None: with several columns, nothing absorbing follows from it without the column's values."""
        return None

    def doomed_in(self, groups: Groups) -> NDArray[np.float64]:
        """All rows of a failing group: none of its subsets has a larger figure."""
        return np.where(self.failing_in(groups), groups.sizes, 0).astype(np.float64)

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        return self._too_small(groups, *self.figures(groups))

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the smallest figure of a group, the verdict and that group."""
        filled, (figures, unit) = occupied(groups), self.figures(groups)
        failing = self._too_small(groups, figures, unit)
        worst_group = int(filled[np.argmin(figures[filled])])
        minimum = Fraction(int(figures[worst_group]), unit)
        witness = witness_of(groups, failing, worst_group, self._complaint(minimum))
        return Assessment(self, witness is None, minimum, witness, failures(groups, failing))

    def _too_small(self, groups: Groups, figures: NDArray[Any], unit: int) -> NDArray[np.bool_]:
        return less(figures, self.needed * unit, np.ones_like(groups.sizes)) & (groups.sizes > 0)


def rows_in(histograms: Histograms, member: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number of rows of every group whose value is marked in ``member``."""
    rows: NDArray[np.int64] = histograms.add_cells(np.where(member[histograms.values], histograms.counts, 0))
    return rows


def rows_over(
    rows: NDArray[np.int64], limit: float | NDArray[np.float64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Lower bound on how many of ``rows`` must be removed from groups of ``sizes`` so that they are at most ``limit`` of
    the rest.

    At best only such rows are removed: ``v - f <= limit (n - f)`` needs ``f >= (v - limit n) / (1 - limit)``.
    """
    slack = np.maximum(1 - np.asarray(limit), _ROUNDING)
    # The margin covers rounding; the bound must never be too high.
    removed: NDArray[np.float64] = np.ceil((rows - limit * sizes) / slack - _ROUNDING * sizes)
    return np.clip(removed, 0, sizes)
