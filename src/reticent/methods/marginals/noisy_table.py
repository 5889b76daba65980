"""Budgeted access to a table: the only queries that the selection of marginals can make, each one noisy, charged and recorded."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.privacy_cost import Relation
from reticent.errors import PolicyError
from reticent.methods.marginals.domain_compression import MergedCells
from reticent.methods.marginals.plan import MarginalsPlan, NoisyStep, StepKind
from reticent.noise import Currency, WholeNoise, least_scale, opendp_core

Counts = NDArray[np.int64]
Codes = NDArray[np.int64]
MOST_CELLS = 5_000_000


@dataclass(frozen=True)
class Measurement:
    """Noisy counts of all cells of some columns, in the order of the domain (the last column varies fastest), and the standard deviation of the noise.

    ``summed`` is given where cells were merged: how many noisy counts each of ``counts`` is the sum of.
    """

    columns: tuple[str, ...]
    counts: Counts
    deviation: float
    summed: Counts | None = None

    @property
    def precision(self) -> float | NDArray[np.float64]:
        """The inverse of the variance of the counts; one number if it is that of all cells."""
        precision = self.deviation**-2
        return precision if self.summed is None else precision / self.summed

    def merged(self, cells: MergedCells) -> Measurement:
        """The same measurement of a single column, as one of its merged ``cells``."""
        counts = np.zeros(cells.merged_size, dtype=np.int64)
        np.add.at(counts, cells.codes, self.counts)
        return replace(self, counts=counts, summed=np.bincount(cells.codes))


@dataclass
class _Spending:
    """What a budget paid for. Mutable: grows with every step."""

    spent: Fraction = Fraction(0)
    steps: list[NoisyStep] = field(default_factory=list)


class NoisyTable:
    """Noisy queries on the records of a table, as cells of public columns, within a budget.

    Mutable: every call of :meth:`measured` and :meth:`chosen` is a step that is charged before it is executed; a step that exceeds the budget is refused.
    *Guarantee*: everything that the methods return together costs at most ``total`` for one unit of at most ``rows`` records, by :class:`MarginalsPlan`. Noise and choices are OpenDP's,
    from the operating system's randomness; from a seed, for tests, they are numpy's.
    """

    def __init__(
        self,
        codes: Mapping[str, Codes],
        sizes: Mapping[str, int],
        currency: Currency,
        total: Fraction,
        rows: int,
        relation: Relation,
        context: Context,
    ) -> None:
        self._codes, self.sizes = dict(codes), dict(sizes)
        self.currency, self.total, self.rows, self.relation = currency, total, rows, relation
        self._spending = _Spending()
        self._exact: dict[tuple[str, ...], Counts] = {}
        self._source = context.randomness.repeatable()

    @property
    def spent(self) -> Fraction:
        """The part of the budget that is used up."""
        return self._spending.spent

    @property
    def steps(self) -> list[NoisyStep]:
        """The steps so far, in order."""
        return self._spending.steps

    @property
    def left(self) -> Fraction:
        """The remaining budget."""
        return self.total - self.spent

    @property
    def plan(self) -> MarginalsPlan:
        """The steps so far."""
        return MarginalsPlan(self.currency, self.rows, tuple(self.steps))

    def cells(self, columns: Sequence[str]) -> int:
        """The number of cells of some columns together."""
        return math.prod(self.sizes[name] for name in columns)

    def replaced(self, name: str, codes: Codes, size: int) -> None:
        """Replace the cells of a column (by bins at noisy quantiles)."""
        self._codes[name], self.sizes[name] = codes, size
        self._exact = {columns: counts for columns, counts in self._exact.items() if name not in columns}

    def compressed(self, columns: Mapping[str, MergedCells]) -> NoisyTable:
        """The same table, paid by the same budget, with the cells of some ``columns`` merged; this one stays as it is."""
        merged_table = copy.copy(self)
        merged_table._codes, merged_table.sizes, merged_table._exact = dict(self._codes), dict(self.sizes), {}
        for name, merged in columns.items():
            merged_table.replaced(name, merged.codes[self._codes[name]], merged.merged_size)
        return merged_table

    def scale(self, kind: StepKind, cost: Fraction) -> Fraction:
        """The smallest noise scale, with few binary digits, that costs at most ``cost``."""

        def price(scale: Fraction) -> Fraction:
            return NoisyStep(kind, (), scale).cost(self.currency, self.rows, self.relation)

        return least_scale(price, self.currency, cost)

    def deviation(self, scale: Fraction) -> float:
        """The standard deviation of noise with this scale."""
        return WholeNoise(self.currency, scale).deviation

    def mean_error(self, scale: Fraction) -> float:
        """The mean absolute noise of a cell."""
        return WholeNoise(self.currency, scale).mean_size

    def measured(self, columns: tuple[str, ...], cost: Fraction, kind: StepKind = "measure") -> Measurement:
        """The counts of all cells of ``columns`` with noise that costs at most ``cost``."""
        if self.cells(columns) > MOST_CELLS:
            raise PolicyError(
                f"The marginal of {', '.join(columns)} has {self.cells(columns):,} cells; at most {MOST_CELLS:,} can be measured. Use fewer columns, or coarser bins."
            )
        scale = self._pay(kind, columns, cost)
        noisy = WholeNoise(self.currency, scale).added(self.exact(columns), self._source)
        return Measurement(columns, noisy, self.deviation(scale))

    def chosen(self, scores: Sequence[float], cost: Fraction) -> int:
        """The index of the noisy maximum of the scores, each of which has sensitivity at most 1."""
        scale = float(self._pay("choose", (), cost))
        if self._source is not None:
            return int(np.argmax(np.asarray(scores) + self._source.gumbel(0.0, scale, len(scores))))
        dp = opendp_core()
        divergence = dp.zero_concentrated_divergence() if self.currency == "rho" else dp.max_divergence()
        space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.linf_distance(T="f64")
        return int(dp.m.make_noisy_max(*space, output_measure=divergence, scale=scale)(list(map(float, scores))))

    def exact(self, columns: tuple[str, ...]) -> Counts:
        """The true counts; input of scores and noise only, never published."""
        if columns not in self._exact:
            keys = np.zeros(len(next(iter(self._codes.values()))), dtype=np.int64)
            for name in columns:
                keys = keys * self.sizes[name] + self._codes[name]
            self._exact[columns] = np.bincount(keys, minlength=self.cells(columns)).astype(np.int64)
        return self._exact[columns]

    def _pay(self, kind: StepKind, columns: tuple[str, ...], cost: Fraction) -> Fraction:
        """Pay for a noisy step that may cost ``cost``; record it and return the scale of its noise. Raises if the budget is used up."""
        scale = self.scale(kind, cost)
        step = NoisyStep(kind, columns, scale)
        step_cost = step.cost(self.currency, self.rows, self.relation)
        if step_cost > self.left:
            raise PolicyError("The budget of this release cannot pay for another noisy step.")
        self._spending.spent += step_cost
        self._spending.steps.append(step)
        return scale
