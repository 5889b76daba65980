"""Whether computed numbers equal those of a column, at the column's own resolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.table.relations.column_forms import ColumnForm, middle
from reticent.table.relations.relation import Numbers

FEWEST_ROWS = 20
"""Minimum number of rows as evidence of a relation."""

_MOST_WRONG, _THIRD = 0.05, 1 / 3
_NARROW = 0.02


@dataclass(frozen=True)
class Agreement:
    """The agreement of a column with computed values: the share of ``wrong`` rows, whether it is evidence of a relation,
    and whether the computed values had to be ``rounded``.

    It is ``shown`` if at most 5 % of the rows with known values differ at the column's resolution (rounded or
    truncated), and at most a third as many as the error of guessing the most frequent value; or if the middle 95 % of
    the differences span less than 2 % of those of the column.
    """

    wrong: float
    shown: bool
    rounded: bool = False

    @property
    def exact(self) -> bool:
        """True if no row differs."""
        return self.wrong == 0


NONE = Agreement(1.0, False)


def agreement(computed: Numbers, column: ColumnForm) -> Agreement:
    """Compare computed numbers with those of a column, where both are known."""
    assert column.numbers is not None
    is_known = np.isfinite(computed) & ~np.isnan(column.numbers)
    if int(is_known.sum()) < FEWEST_ROWS:
        return NONE
    numbers = column.numbers[is_known]
    difference = computed[is_known] - numbers
    wrong_share = min(
        float((np.abs(rounding[is_known] - numbers) > column.precision).mean()) for rounding in column.rounded(computed)
    )
    is_narrow = middle(difference) < _NARROW * middle(numbers)
    is_rounded = bool(np.abs(difference).max() > column.precision) and wrong_share == 0
    is_evident = is_shown(wrong_share, guessing_error(numbers)) or is_narrow
    return Agreement(wrong_share, shown=is_evident, rounded=is_rounded)


def is_shown(wrong: float, guessed_wrong: float) -> bool:
    """True if few enough rows are wrong to exclude guessing."""
    return wrong <= _MOST_WRONG and wrong <= _THIRD * guessed_wrong


def guessing_error(values: NDArray[np.generic]) -> float:
    """The share of rows that a guess of the most frequent value gets wrong."""
    _, counts = np.unique(values, return_counts=True)
    return 1 - int(counts.max()) / len(values)
