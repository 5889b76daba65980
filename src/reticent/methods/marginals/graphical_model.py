"""A distribution over all columns that fits noisy marginals, and records sampled from it. Everything here is postprocessing of noisy answers, and so is public.

The model is the one of Private-PGM [McKenna2019], estimated by entropic mirror descent as the library `mbi` does; that library compiles a program for every set of marginals, which takes nine tenths of the time of
AIM, so numpy is used here. A test compares the results of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.errors import PolicyError
from reticent.methods.marginals.junction_tree import Array, Clique, JunctionTree, model_cells, others
from reticent.methods.marginals.model_records import model_records
from reticent.methods.marginals.noisy_table import Measurement

MOST_MODEL_CELLS = 100_000_000
_MEGABYTE = 2**20
_LOOK_EVERY = 25
_STILL = 1e-5
"""Descent stops when this many rounds have lowered the loss by no more than this share of it."""


@dataclass(frozen=True)
class ImpossibleCells:
    """Combinations of ``cells`` of some ``columns``, one per row, that no record can have (structural zeros)."""

    columns: Clique
    cells: NDArray[np.int64]


@dataclass(frozen=True)
class GraphicalModel:
    """A Markov random field over the columns with an estimated ``total`` of records: ``factors`` are logarithms, one for each measured set of columns; ``excluded`` cells have no records."""

    sizes: Mapping[str, int]
    total: float
    factors: Mapping[Clique, Array] = field(repr=False)
    excluded: tuple[ImpossibleCells, ...] = ()

    @cached_property
    def tree(self) -> JunctionTree:
        """The junction tree of all factors."""
        return JunctionTree.over(self.sizes, [*self.factors, *(zeros.columns for zeros in self.excluded)])

    @cached_property
    def _shares(self) -> list[Array]:
        return self.tree.probabilities(_Factors(self.tree, self.factors, self.excluded).summed(self.factors))

    def marginal(self, columns: Clique) -> Array:
        """The estimated counts of all cells of some columns, in the order of :class:`Measurement`.

        Columns that no clique has together are joined along the part of the tree between them.
        """
        subtree = self._between(columns)
        wanted_columns = set(columns)
        axis_label = {name: number for number, name in enumerate(self.sizes)}
        operands: list[Any] = []
        for number in subtree:
            clique, parent = self.tree.cliques[number], self.tree.parents[number]
            inside = {other for other in subtree if self.tree.parents[other] == number}
            shared = set(self.tree.separators[number]) if parent in subtree else set()
            open_columns = wanted_columns | shared | {name for other in inside for name in self.tree.separators[other]}
            left_columns = [name for name in clique if name in open_columns]
            share = self._shares[number].sum(axis=others(clique, open_columns))
            if shared:
                conditions = share.sum(axis=others(tuple(left_columns), shared), keepdims=True)
                share = np.divide(share, conditions, out=np.zeros_like(share), where=conditions > 0)
            operands += [share, [axis_label[name] for name in left_columns]]
        joined = np.einsum(*operands, [axis_label[name] for name in columns], optimize="greedy")
        counts: Array = self.total * np.asarray(joined, dtype=np.float64).ravel()
        return counts

    def _between(self, columns: Clique) -> set[int]:
        """The smallest connected subtree that contains all of ``columns``."""
        home = self.tree.home(columns)
        if home is not None:
            return {home}
        subtree = set(range(len(self.tree.cliques)))
        wanted_columns = set(columns)
        while True:
            leaves = [number for number in subtree if self._neighbours(number, subtree) < 2]
            for number in leaves:
                elsewhere = {name for other in subtree - {number} for name in self.tree.cliques[other]}
                if not wanted_columns & set(self.tree.cliques[number]) - elsewhere:
                    subtree.remove(number)
                    break
            else:
                return subtree

    def _neighbours(self, number: int, subtree: set[int]) -> int:
        return (self.tree.parents[number] in subtree) + sum(self.tree.parents[other] == number for other in subtree)

    def supports(self, columns: Clique) -> bool:
        """Whether a clique of the model contains all of ``columns``, so that fitting them too does not enlarge the model."""
        return self.tree.home(columns) is not None

    def megabytes_with(self, columns: Clique) -> float:
        """The size that the model would have with one more marginal."""
        return 8 * model_cells(self.sizes, [*self.tree.cliques, columns]) / _MEGABYTE

    def records(self, count: int, seed: int) -> dict[str, NDArray[np.int64]]:
        """``count`` synthetic records as category codes of cells (:func:`model_records`)."""
        return model_records(self.tree, self._shares, count, seed)


@dataclass(frozen=True)
class _Factors:
    """Sums of log factors over some columns on the cliques of a junction tree."""

    tree: JunctionTree
    cliques: Mapping[Clique, Array]
    excluded: Sequence[ImpossibleCells]

    @cached_property
    def homes(self) -> dict[Clique, int]:
        """The clique of the tree that each factor is added to."""
        return {clique: self._home(clique) for clique in self.cliques}

    def _home(self, columns: Clique) -> int:
        home = self.tree.home(columns)
        assert home is not None
        return home

    @cached_property
    def _fixed(self) -> list[Array]:
        """Log factors of structural zeros: minus infinity for excluded cells, else 0."""
        log_factors = [np.zeros([self.tree.sizes[name] for name in clique]) for clique in self.tree.cliques]
        for zeros in self.excluded:
            log_allowed = np.zeros([self.tree.sizes[name] for name in zeros.columns])
            log_allowed[tuple(zeros.cells.T)] = -np.inf
            home = self._home(zeros.columns)
            log_factors[home] = log_factors[home] + self._placed(log_allowed, zeros.columns, home)
        return log_factors

    def _placed(self, factor: Array, columns: Clique, home: int) -> Array:
        clique = self.tree.cliques[home]
        ordered = factor.transpose([columns.index(name) for name in clique if name in columns])
        return ordered.reshape(self.tree.shape(clique, columns))

    def summed(self, factors: Mapping[Clique, Array]) -> list[Array]:
        """The sum of factors on every clique of the tree."""
        sums = [fixed.copy() for fixed in self._fixed]
        for columns, factor in factors.items():
            home = self.homes[columns]
            sums[home] += self._placed(factor, columns, home)
        return sums

    def marginals(self, shares: Sequence[Array], total: float) -> dict[Clique, Array]:
        """The counts of every factor's columns."""
        counts_by_columns = {}
        for columns, home in self.homes.items():
            clique = self.tree.cliques[home]
            ordered = tuple(name for name in clique if name in columns)
            counts = shares[home].sum(axis=others(clique, columns))
            counts_by_columns[columns] = total * counts.transpose([ordered.index(name) for name in columns])
        return counts_by_columns


@dataclass(frozen=True)
class _MeanCounts:
    """All measurements of some columns combined: their precision-weighted mean, and its precision, of each cell if cells differ."""

    counts: Array
    precision: float | Array

    @property
    def total_precision(self) -> float:
        """The precision of the sum of all counts."""
        return float(1 / np.sum(np.broadcast_to(1 / np.asarray(self.precision), self.counts.shape)))


def _together(sizes: Mapping[str, int], measurements: Sequence[Measurement]) -> dict[Clique, _MeanCounts]:
    """Return one mean per set of columns for measurements of the same columns, weighted by their precision, and its precision."""
    sums: dict[Clique, tuple[Array, float | Array]] = {}
    for measurement in measurements:
        precision = measurement.precision
        summed_before, weight = sums.get(measurement.columns, (np.zeros(len(measurement.counts)), 0.0))
        sums[measurement.columns] = summed_before + precision * measurement.counts, weight + precision
    shapes = {columns: [sizes[name] for name in columns] for columns in sums}
    return {
        columns: _MeanCounts(
            (summed / weight).reshape(shapes[columns]),
            weight if isinstance(weight, float) else weight.reshape(shapes[columns]),
        )
        for columns, (summed, weight) in sums.items()
    }


def _estimated_total(means: Mapping[Clique, _MeanCounts]) -> float:
    """The precision-weighted estimate of the number of records from all measurements."""
    weights = np.array([mean.total_precision for mean in means.values()])
    return max(1.0, float(weights @ [mean.counts.sum() for mean in means.values()] / weights.sum()))


def fitted(
    sizes: Mapping[str, int],
    measurements: Sequence[Measurement],
    total: float | None = None,
    excluded: Sequence[ImpossibleCells] = (),
    before: GraphicalModel | None = None,
    rounds: int = 1000,
    context: Context | None = None,
    near: float = 0.0,
) -> GraphicalModel:
    """The model that fits noisy ``measurements`` best by weighted least squares, starting from the model ``before``, after at most ``rounds`` of mirror descent; ``total`` is the number of records if it is
    public. ``excluded`` combinations get no records. Descent stops early when the mean loss per cell is at most ``near``; the true marginals have an expected loss of 1/2 per cell from noise."""
    context = context or Context()
    means = _together(sizes, measurements)
    count = _estimated_total(means) if total is None else max(total, 1.0)
    cliques = [*means, *(zeros.columns for zeros in excluded)]
    if model_cells(sizes, cliques) > MOST_MODEL_CELLS:
        raise PolicyError(
            f"A model of the marginals {'; '.join(', '.join(columns) for columns in list(means)[-3:])} and the others would have {model_cells(sizes, cliques):,} cells; at most {MOST_MODEL_CELLS:,} can be "
            "fitted. List fewer marginals that overlap, or use coarser bins.",
            setting=("select",),
        )
    start_factors = {} if before is None else before.factors
    factors = {columns: start_factors.get(columns, np.zeros_like(mean.counts)) for columns, mean in means.items()}
    layout = _Factors(JunctionTree.over(sizes, cliques), factors, tuple(excluded))

    def judged(candidate_factors: Mapping[Clique, Array]) -> tuple[float, dict[Clique, Array], dict[Clique, Array]]:
        """The loss of a model, its marginals, and the gradient of the loss with respect to them."""
        estimated = layout.marginals(layout.tree.probabilities(layout.summed(candidate_factors)), count)
        errors = {columns: estimated[columns] - mean.counts for columns, mean in means.items()}
        gradient = {columns: means[columns].precision * error for columns, error in errors.items()}
        return sum(float(np.vdot(gradient[columns], errors[columns])) for columns in means) / 2, estimated, gradient

    step = 2 / (count * sum(float(np.max(mean.precision)) for mean in means.values()))
    growth, cells = 2.0, sum(mean.counts.size for mean in means.values())
    loss, estimated, gradient = judged(factors)
    loss_at_last_check = loss
    for round_number in range(1, rounds + 1):
        candidate_factors = {columns: factor - step * gradient[columns] for columns, factor in factors.items()}
        new_loss, new_estimated, new_slope = judged(candidate_factors)
        expected_gain = sum(
            float(np.vdot(gradient[columns], estimated[columns] - new_estimated[columns])) for columns in means
        )
        if loss - new_loss >= 0.5 * step * expected_gain:
            factors, loss, estimated, gradient = candidate_factors, new_loss, new_estimated, new_slope
            step *= growth
        else:
            step, growth = step / 2, 1.1
        if round_number % _LOOK_EVERY == 0:
            context.check("fitting a model")
            if loss_at_last_check - loss <= _STILL * loss or loss <= near * cells:
                break
            loss_at_last_check = loss
    return GraphicalModel(sizes, count, factors, tuple(excluded))
