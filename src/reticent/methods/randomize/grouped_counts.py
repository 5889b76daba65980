"""Many counts at once: one for every combination of some columns' values, equal to the single estimates.

All but exact intervals is vectorised over the cells, in floating point. Cells with equal published counts and equal
domain counts have the same exact interval, which is computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import Condition
from reticent.errors import PolicyError
from reticent.methods.randomize.domain_counts import checked, count_or_refuse, masker
from reticent.methods.randomize.error_bounds import bernstein_many
from reticent.methods.randomize.linear_queries import in_chunks
from reticent.methods.randomize.view_domain import Keys, ViewDomain

LARGEST_CELLS = 1 << 24
FIGURES = ("shown", "value", "standard_error", "clipped", "bound", "low", "high")

Floats = NDArray[np.floating]
Interval = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Layer:
    """A stratum of many counts; see :class:`~reticent.methods.randomize.estimators.Stratum` for a single one.

    ``noise`` is the expected published count of each if no tuple were true; between ``least`` and ``most`` tuples of
    the table can meet it. ``gain``, ``kept`` and ``absent`` are those of a stratum. A single tuple changes the
    published count by at most ``jump``.
    """

    shown: NDArray[np.int64]
    noise: Floats | float
    most: Floats | float
    gain: float
    kept: Floats | float
    absent: Floats | float = 0.0
    least: Floats | float = 0.0
    jump: Floats | float = 1.0

    @classmethod
    def uniform(
        cls, shown: NDArray[np.int64], totals: NDArray[Any], n: int, present: Fraction, absent: Fraction
    ) -> Layer:
        """Return the stratum in which true tuples are included with ``present`` and all others with ``absent``."""
        noise, kept = times(totals, absent), float(present * (1 - present))
        return cls(shown, noise, at_most(n, totals), float(present - absent), kept, float(absent))

    @cached_property
    def values(self) -> Floats:
        """Unbiased contribution of this stratum to each answer."""
        return (self.shown - self.noise) * (1 / self.gain)

    def variances(self) -> Floats:
        """Variances of :attr:`values`, with the clipped estimate in place of the truth."""
        true: Floats = np.clip(self.values, self.least, self.most)
        return np.maximum(self.spread(true), 0.0) * (1 / self.gain**2)

    def bounds(self, error: Fraction) -> Floats:
        """Return the errors of :attr:`values` that are each exceeded with probability at most ``error`` (Bernstein)."""
        return np.asarray(bernstein_many(np.asarray(self.widest()), self.gain, error, self.jump))

    def spread(self, true: Floats | float) -> Floats:
        """Return the variance of each published count if ``true`` tuples meet it."""
        return np.asarray(true * (self.kept - self.absent * (1 - self.absent)) + (1 - self.absent) * self.noise)

    def widest(self) -> Floats | float:
        """Return an upper bound of the variance: that of all true tuples plus that of all noise."""
        return self.most * self.kept + (1 - self.absent) * self.noise


@dataclass(frozen=True)
class QueryCells:
    """The cells of a GROUP BY: all combinations of the values of ``names``, occurring or not, for tuples that meet a condition."""

    asked: Condition
    domain: ViewDomain
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise PolicyError(
                f"group_by needs at least one column, each once, but got {', '.join(self.names) or 'none'}."
            )
        if math.prod(self.shape) > LARGEST_CELLS:
            raise PolicyError(
                f"{' x '.join(self.names)} has {math.prod(self.shape):,} combinations; group by fewer columns."
            )
        reserved = [name for name in self.names if name in FIGURES]
        if reserved:
            raise PolicyError(
                f"The column {reserved[0]!r} has the name of a result column, so it cannot be a grouping column. Use estimate(...) for its values."
            )

    @classmethod
    def of(cls, condition: str | Condition, domain: ViewDomain, columns: str | Sequence[str]) -> QueryCells:
        """Return the cells of one column or several."""
        return cls(checked(condition, domain), domain, (columns,) if isinstance(columns, str) else tuple(columns))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of every column."""
        return tuple(self.domain[name].size for name in self.names)

    @cached_property
    def totals(self) -> NDArray[Any]:
        """Number of tuples of the domain in each cell; Python objects if they exceed 64 bits."""
        return self.weighed({})

    def weighed(self, weights: Mapping[str, Sequence[int]]) -> NDArray[Any]:
        """Return the cells' totals with weights for the values of some columns."""
        return np.asarray(count_or_refuse(self.asked, self.domain, "groups", keep=self.names, weights=weights)).ravel()

    def shown(self, keys: Keys) -> NDArray[np.int64]:
        """Return the number of rows in each cell."""
        counts = np.zeros(math.prod(self.shape), dtype=np.int64)
        masked = masker(self.asked, self.domain)
        for part in in_chunks(keys):
            mask = masked(part)
            met = part if mask.all() else part[mask]
            counts += np.bincount(self._places(met), minlength=len(counts))
        return counts

    def _places(self, keys: Keys) -> NDArray[np.int64]:
        """Return the flat cell index of every key, in row-major order."""
        indices = self.domain.codes(keys, self.names[0])
        for name in self.names[1:]:
            indices = indices * self.domain[name].size
            indices += self.domain.codes(keys, name)
        return indices

    def figures(
        self, layers: Sequence[Layer], error: Fraction, lowest: Floats | float, highest: Floats | float
    ) -> dict[str, NDArray[Any]]:
        """Return the estimates of all cells except intervals; each count is clipped to ``lowest``..``highest``."""
        values = reduce(add, (layer.values for layer in layers))
        return {
            "shown": reduce(add, (layer.shown for layer in layers)),
            "value": values,
            "standard_error": np.sqrt(reduce(add, (layer.variances() for layer in layers))),
            "clipped": np.clip(values, lowest, highest),
            "bound": reduce(add, (layer.bounds(error / len(layers)) for layer in layers)),
        }

    def frame(self, figures: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
        """Return figures as a frame with the cells' values."""
        codes = np.unravel_index(np.arange(math.prod(self.shape)), self.shape)
        labels = [self.domain[name].decode(code) for name, code in zip(self.names, codes, strict=True)]
        return pl.DataFrame([*labels, *(pl.Series(name, column) for name, column in figures.items())])

    def exact_intervals(self, shown: NDArray[np.int64], interval: Interval) -> dict[str, NDArray[Any]]:
        """Return the exact interval of every cell, computed once for each pair of published count and domain count."""
        distinct, total_index = np.unique(self.totals, return_inverse=True)
        width = int(shown.max()) + 1
        pairs, pair_index = np.unique(total_index * width + shown, return_inverse=True)
        ends = [interval(pair % width, int(distinct[pair // width])) for pair in pairs.tolist()]
        low, high = np.array(ends, dtype=np.int64).T
        return {"low": low[pair_index], "high": high[pair_index]}


def bernstein_intervals(figures: Mapping[str, NDArray[Any]], most: Floats) -> dict[str, NDArray[Any]]:
    """Return value plus and minus bound, rounded outwards and clipped to the feasible range."""
    low = np.floor(figures["value"] - figures["bound"]).clip(0, most)
    high = np.ceil(figures["value"] + figures["bound"]).clip(0, most)
    return {"low": low.astype(np.int64), "high": high.astype(np.int64)}


def at_most(n: int, totals: NDArray[Any]) -> Floats:
    """Return the largest number of ``n`` distinct tuples that each domain count can contain."""
    return np.asarray(np.minimum(n, totals), dtype=np.float64)


def times(totals: NDArray[Any], chance: Fraction) -> Floats:
    """Return a probability times domain counts, which may exceed the floating-point range."""
    if totals.dtype != object:
        return float(chance) * totals
    return np.asarray(totals * chance.numerator / chance.denominator, dtype=np.float64)
