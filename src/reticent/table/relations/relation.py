"""A relation between columns: one of them can be computed from others, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
RelationKind = Literal["formula", "band", "lookup", "missing"]

SHAPES: Mapping[str, tuple[str, Callable[[Numbers], Numbers]]] = {
    "line": ("{}", lambda x: x),
    "square": ("the square of {}", np.square),
    "log": ("the natural logarithm of {}", np.log),
    "root": ("the square root of {}", np.sqrt),
    "inverse": ("1 / {}", lambda x: 1 / x),
    "exponential": ("e to the power of {}", np.exp),
}
"""Functions of one number, each with its wording."""


@dataclass(frozen=True)
class RelationFormula:
    """``slope`` times a function of the source (``shape``) plus ``intercept``."""

    shape: str
    slope: float
    intercept: float

    def of(self, numbers: Numbers) -> Numbers:
        """The derived numbers."""
        with np.errstate(all="ignore"):
            derived: Numbers = self.slope * SHAPES[self.shape][1](numbers) + self.intercept
        return derived

    def words(self, source: str) -> str:
        """The formula, to be read after "is"."""
        return linear_words(self.slope, SHAPES[self.shape][0].format(source), self.intercept)


@dataclass(frozen=True)
class ColumnRelation:
    """``derived`` can be computed from ``sources``; ``how`` describes it in words, to be read after the name of the
    column.

    A ``formula`` is arithmetic, or a part of a date or text, that can be computed without the data. A ``band`` maps
    intervals of the sources, or their order, to values, so it needs the interval boundaries. A ``lookup`` is a
    functional dependency, so it needs a list of pairs, such as codes and their labels; a lookup about ``missing``
    determines where another column is null. ``exact``: no row contradicts it; otherwise almost none does, or a number
    is approximate. ``both``: each of two columns determines the other. ``rule`` is the formula of a number that follows
    from one other.
    """

    derived: str
    sources: tuple[str, ...]
    how: str
    kind: RelationKind = "formula"
    exact: bool = True
    both: bool = False
    rule: RelationFormula | None = None

    @property
    def words(self) -> str:
        """The relation as a sentence without its full stop."""
        return f"{self.derived!r} {self.how}"


def linear_words(slope: float, what: str, intercept: float) -> str:
    """``slope`` times ``what`` plus ``intercept``, in short words."""
    scaled = what if slope == 1 else f"{slope:g} times {what}"
    if intercept == 0:
        return scaled
    return f"{scaled} {'plus' if intercept > 0 else 'minus'} {abs(intercept):g}"


def short_number(number: float, scale: float = 0.0) -> float:
    """A number rounded to its precision: least squares return 0.9999999 for 1. Below a millionth of ``scale`` it is 0."""
    if abs(number) <= 1e-6 * scale:
        return 0.0
    return next(
        (near for digits in range(1, 8) if abs((near := float(f"{number:.{digits}g}")) - number) <= 1e-6 * abs(number)),
        float(f"{number:.7g}"),
    )
