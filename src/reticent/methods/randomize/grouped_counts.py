"""Many counts at once: one for every combination of some columns' values, each what a single estimate would say.

Everything but exact intervals is made for all cells together, in floating point. QueryCells that show the same number out of equally many tuples have
the same exact interval, so that each is looked for once.
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
    """A stratum of many counts: what :class:`~reticent.methods.randomize.estimators.Stratum` is of one.

    ``noise`` is what would show of each if no tuple were true; between ``least`` and ``most`` tuples of the table can meet it. ``gain``,
    ``kept`` and ``absent`` are those of a stratum. What a single tuple shows varies by at most ``jump``.
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
        """The stratum in which true tuples show with ``present`` and all others with ``absent``."""
        noise, kept = times(totals, absent), float(present * (1 - present))
        return cls(shown, noise, at_most(n, totals), float(present - absent), kept, float(absent))

    @cached_property
    def values(self) -> Floats:
        """The part of each answer in this stratum, unbiased."""
        return (self.shown - self.noise) * (1 / self.gain)

    def variances(self) -> Floats:
        """The variances of :attr:`values`, with the estimate clipped to what is possible in place of the truth."""
        true: Floats = np.clip(self.values, self.least, self.most)
        return np.maximum(self.spread(true), 0.0) * (1 / self.gain**2)

    def bounds(self, error: Fraction) -> Floats:
        """What :attr:`values` are off by at most, each except with probability ``error`` (Bernstein)."""
        return np.asarray(bernstein_many(np.asarray(self.widest()), self.gain, error, self.jump))

    def spread(self, true: Floats | float) -> Floats:
        """The variance of what shows of each count, if ``true`` tuples meet it."""
        return np.asarray(true * (self.kept - self.absent * (1 - self.absent)) + (1 - self.absent) * self.noise)

    def widest(self) -> Floats | float:
        """A variance that none can pass: true tuples and noise both in full."""
        return self.most * self.kept + (1 - self.absent) * self.noise


@dataclass(frozen=True)
class QueryCells:
    """The combinations of the values of ``names``, seen or not, of tuples that meet a condition."""

    asked: Condition
    domain: ViewDomain
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise PolicyError(
                f"Groups are by at least one column, and by each once, but these are by {', '.join(self.names) or 'none'}."
            )
        if math.prod(self.shape) > LARGEST_CELLS:
            raise PolicyError(
                f"{' x '.join(self.names)} has {math.prod(self.shape):,} combinations; group by fewer columns."
            )
        taken = [name for name in self.names if name in FIGURES]
        if taken:
            raise PolicyError(
                f"The column {taken[0]!r} has the name of a figure in the answer, so it cannot be a grouping column. Use estimate(...) for its values."
            )

    @classmethod
    def of(cls, condition: str | Condition, domain: ViewDomain, columns: str | Sequence[str]) -> QueryCells:
        """The cells of one column or several."""
        return cls(checked(condition, domain), domain, (columns,) if isinstance(columns, str) else tuple(columns))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of every column."""
        return tuple(self.domain[name].size for name in self.names)

    @cached_property
    def totals(self) -> NDArray[Any]:
        """How many tuples of the domain each cell has; Python's own numbers where they pass 64 bits."""
        return self.weighed({})

    def weighed(self, weights: Mapping[str, Sequence[int]]) -> NDArray[Any]:
        """The same where the values of some columns have weights."""
        return np.asarray(count_or_refuse(self.asked, self.domain, "groups", keep=self.names, weights=weights)).ravel()

    def shown(self, keys: Keys) -> NDArray[np.int64]:
        """How many rows each cell has."""
        counts = np.zeros(math.prod(self.shape), dtype=np.int64)
        masked = masker(self.asked, self.domain)
        for part in in_chunks(keys):
            mask = masked(part)
            met = part if mask.all() else part[mask]
            counts += np.bincount(self._places(met), minlength=len(counts))
        return counts

    def _places(self, keys: Keys) -> NDArray[np.int64]:
        """The cell of every key, counted as the last column goes fastest."""
        places = self.domain.codes(keys, self.names[0])
        for name in self.names[1:]:
            places = places * self.domain[name].size
            places += self.domain.codes(keys, name)
        return places

    def figures(
        self, layers: Sequence[Layer], error: Fraction, least: Floats | float, most: Floats | float
    ) -> dict[str, NDArray[Any]]:
        """What is said of every cell but its interval; each count is at least ``least`` and at most ``most``."""
        values = reduce(add, (each.values for each in layers))
        return {
            "shown": reduce(add, (each.shown for each in layers)),
            "value": values,
            "standard_error": np.sqrt(reduce(add, (each.variances() for each in layers))),
            "clipped": np.clip(values, least, most),
            "bound": reduce(add, (each.bounds(error / len(layers)) for each in layers)),
        }

    def frame(self, figures: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
        """Figures beside the values that they are of."""
        codes = np.unravel_index(np.arange(math.prod(self.shape)), self.shape)
        labels = [self.domain[name].decode(code) for name, code in zip(self.names, codes, strict=True)]
        return pl.DataFrame([*labels, *(pl.Series(name, column) for name, column in figures.items())])

    def exact_intervals(self, shown: NDArray[np.int64], interval: Interval) -> dict[str, NDArray[Any]]:
        """The interval of every cell, made from what it shows and its domain count, once for each pair of them."""
        distinct, kinds = np.unique(self.totals, return_inverse=True)
        width = int(shown.max()) + 1
        pairs, places = np.unique(kinds * width + shown, return_inverse=True)
        ends = [interval(pair % width, int(distinct[pair // width])) for pair in pairs.tolist()]
        low, high = np.array(ends, dtype=np.int64).T
        return {"low": low[places], "high": high[places]}


def bernstein_intervals(figures: Mapping[str, NDArray[Any]], most: Floats) -> dict[str, NDArray[Any]]:
    """Value plus and minus bound, rounded outwards and cut to what is possible."""
    low = np.floor(figures["value"] - figures["bound"]).clip(0, most)
    high = np.ceil(figures["value"] + figures["bound"]).clip(0, most)
    return {"low": low.astype(np.int64), "high": high.astype(np.int64)}


def at_most(n: int, totals: NDArray[Any]) -> Floats:
    """How many of ``n`` different tuples each of some domain counts can hold."""
    return np.asarray(np.minimum(n, totals), dtype=np.float64)


def times(totals: NDArray[Any], chance: Fraction) -> Floats:
    """A chance times domain counts, which may pass every floating-point number."""
    if totals.dtype != object:
        return float(chance) * totals
    return np.asarray(totals * chance.numerator / chance.denominator, dtype=np.float64)
