"""Whether numbers that were computed are those of a column, at the column's own resolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.table.relations.column_forms import ColumnForm, middle
from reticent.table.relations.relation import Numbers

FEWEST_ROWS = 20
"""Fewer rows show no relation."""

_MOST_WRONG, _THIRD = 0.05, 1 / 3
_NARROW = 0.02


@dataclass(frozen=True)
class Agreement:
    """How a column agrees with what was computed for it: the share of ``wrong`` rows, whether it is shown at all, and whether what was computed had to be ``rounded`` to agree.

    It is ``shown`` where at most 5 % of the rows with known values differ at the column's resolution (rounded, or cut off), and at most a third as many as a guess of the most frequent value
    gets wrong; or where the middle 95 % of the differences spans less than 2 % of that of the column.
    """

    wrong: float
    shown: bool
    rounded: bool = False

    @property
    def exact(self) -> bool:
        """Whether no row differs."""
        return self.wrong == 0


NONE = Agreement(1.0, False)


def agreement(computed: Numbers, column: ColumnForm) -> Agreement:
    """Compare computed numbers with those of a column, where both are known."""
    assert column.numbers is not None
    known = np.isfinite(computed) & ~np.isnan(column.numbers)
    if int(known.sum()) < FEWEST_ROWS:
        return NONE
    numbers = column.numbers[known]
    difference = computed[known] - numbers
    wrong = min(float((np.abs(each[known] - numbers) > column.precision).mean()) for each in column.rounded(computed))
    narrow = middle(difference) < _NARROW * middle(numbers)
    rounded = bool(np.abs(difference).max() > column.precision) and wrong == 0
    return Agreement(wrong, is_shown(wrong, guessing_error(numbers)) or narrow, rounded)


def is_shown(wrong: float, guessed_wrong: float) -> bool:
    """Whether so few rows are wrong that it is no guess."""
    return wrong <= _MOST_WRONG and wrong <= _THIRD * guessed_wrong


def guessing_error(values: NDArray[np.generic]) -> float:
    """The share of rows that a guess of the most frequent value gets wrong."""
    _, counts = np.unique(values, return_counts=True)
    return 1 - int(counts.max()) / len(values)
