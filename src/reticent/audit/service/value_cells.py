"""Cells of the values of a protected column that noisy counts are about: those that meet a condition, or the buckets of a histogram."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import Condition
from reticent.table import ValueType


@dataclass(frozen=True)
class ValueCells:
    """Disjoint cells of the values of ``column``: one for those that meet the ``condition``, or the buckets between
    ``edges``, with one below and one above, as ``WIDTH_BUCKET`` numbers them. ``label`` names a histogram's cells.
    """

    column: str
    condition: Condition | None = None
    edges: tuple[Fraction, ...] = ()
    label: str = ""

    def __post_init__(self) -> None:
        if self.condition is not None:
            self.condition.check({self.column: ValueType.REAL})

    @property
    def size(self) -> int:
        """The number of cells."""
        return 1 if self.condition is not None else len(self.edges) + 1

    @property
    def identity(self) -> str:
        """A text that is the same for the same cells."""
        return str(self.condition.node) if self.condition is not None else " ".join(map(str, self.edges))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of every bucket; empty for a condition."""
        if self.condition is not None:
            return ()
        ends = [f"{float(edge):.15g}" for edge in self.edges]
        inner = (f"[{low}, {high})" for low, high in pairwise(ends))
        return (f"< {ends[0]}", *inner, f">= {ends[-1]}")

    def counts(self, numbers: pl.Series) -> NDArray[np.int64]:
        """The number of values in every cell."""
        if self.condition is not None:
            met = self.condition.mask(numbers.alias(self.column).to_frame())
            return np.array([int(met.sum())], dtype=np.int64)
        edges = np.array([float(edge) for edge in self.edges])
        buckets = np.searchsorted(edges, numbers.to_numpy(), side="right")
        return np.bincount(buckets, minlength=self.size).astype(np.int64)
