"""Which marginals to measure: AIM, MST, or a fixed list, each spending a fixed budget on a :class:`NoisyTable`.

Sources: McKenna, Mullins, Sheldon and Miklau 2022, AIM: an adaptive and iterative mechanism for differentially private synthetic data; McKenna, Miklau and Sheldon 2021,
Winning the NIST contest: a scalable and general approach to differentially private synthetic data (MST).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.methods.marginals.domain_compression import DomainCompression, MergedCells, rare_groups
from reticent.methods.marginals.graphical_model import GraphicalModel, ImpossibleCells, fitted
from reticent.methods.marginals.junction_tree import Clique, model_cells
from reticent.methods.marginals.noisy_table import MOST_CELLS, Measurement, NoisyTable
from reticent.methods.noisy_columns import PublicColumn

_FINAL_ROUNDS = 1000
_CELLS_VISITED, _LEAST_ROUNDS = 20_000_000, 25
"""A model is fitted in fewer rounds where it has many cells: fits start from the last one, so that some rounds after each measurement are enough."""
_NEAR_ENOUGH = 0.3
"""The loss of a cell at which the fit of a list ends: a model with less follows the noise. Errors on Adult and on tracts of Rhode Island were least at 0.25 to 0.35, and grew again after."""


@dataclass(frozen=True)
class PublicInputs:
    """What is public of a table before anything is measured: its ``columns``, the ``total`` number of records if it is public, and the structural zeros (``excluded``)."""

    columns: Sequence[PublicColumn]
    total: float | None = None
    excluded: Sequence[ImpossibleCells] = ()


@dataclass(frozen=True)
class Fit:
    """All measurements, the model fitted to them, and the cells that were merged in it."""

    measurements: tuple[Measurement, ...]
    model: GraphicalModel
    compression: DomainCompression = field(default_factory=DomainCompression)

    def records(self, count: int, seed: int) -> dict[str, NDArray[np.int64]]:
        """``count`` synthetic records as category codes of the declared cells."""
        return self.compression.expanded(self.model.records(count, seed), (seed, 1))


class MarginalSelection(ABC):
    """A strategy to select marginals."""

    name: ClassVar[str]

    @abstractmethod
    def fit(self, table: NoisyTable, public: PublicInputs, context: Context) -> Fit:
        """Spend the table's budget, and fit a model to the measurements."""

    @abstractmethod
    def first_cost(self, total: Fraction, columns: Collection[str]) -> Fraction:
        """The part of a budget that the first marginal gets, from the plan alone."""


@dataclass(frozen=True)
class FixedWorkload(MarginalSelection):
    """The marginals of a public list and of all single columns. Listed marginals, and columns in none of them, are measured with the same noise; the other single columns, which listed marginals
    already cover, share a tenth of the budget."""

    cliques: tuple[Clique, ...]

    name: ClassVar[str] = "workload"
    _on_covered: ClassVar[Fraction] = Fraction(1, 10)

    def costs(self, total: Fraction, columns: Collection[str]) -> dict[Clique, Fraction]:
        """The part of a budget for each marginal, single columns first."""
        requested = dict.fromkeys(self.cliques)
        covered = {name for clique in requested for name in clique}
        implied = [(name,) for name in columns if name in covered and (name,) not in requested]
        measured = dict.fromkeys([*((name,) for name in columns if (name,) not in implied), *requested])
        on_implied = self._on_covered * total if implied else Fraction(0)
        return {
            **{clique: on_implied / len(implied) for clique in implied},
            **{clique: (total - on_implied) / len(measured) for clique in measured},
        }

    def first_cost(self, total: Fraction, columns: Collection[str]) -> Fraction:
        return next(iter(self.costs(total, columns).values()))

    def fit(self, table: NoisyTable, public: PublicInputs, context: Context) -> Fit:
        """Measure the listed marginals, each with its share of the budget, and fit a model to them."""
        costs = self.costs(table.left, table.sizes)
        measured = []
        for number, (clique, cost) in enumerate(costs.items()):
            context.step("measuring", number, len(costs), " x ".join(clique))
            measured.append(table.measured(clique, cost))
        context.step("fitting a model")
        rounds, near = _FINAL_ROUNDS, _NEAR_ENOUGH
        model = fitted(table.sizes, measured, public.total, public.excluded, rounds=rounds, context=context, near=near)
        return Fit(tuple(measured), model)


@dataclass(frozen=True)
class MaximumSpanningTree(MarginalSelection):
    """MST: all single columns, then the pairs of a tree over the columns, selected one by one by their deviation from independence; a third of the budget for each of the three steps.

    Pairs are selected and counted in a compressed domain: values that are rare by the noisy count of their column are one cell.
    """

    name: ClassVar[str] = "mst"

    def first_cost(self, total: Fraction, columns: Collection[str]) -> Fraction:
        return total / (3 if len(columns) > 1 else 1) / len(columns)

    def fit(self, table: NoisyTable, public: PublicInputs, context: Context) -> Fit:
        """Measure single columns and the pairs of a spanning tree that differ most from independence, and fit a model to them."""
        names = list(table.sizes)
        share = table.left / 3 if len(names) > 1 else table.left
        context.step("measuring single columns")
        singles = [table.measured((name,), share / len(names)) for name in names]
        compression = self._compression(table, singles, public, context)
        merged = compression.columns
        compressed = table.compressed(merged)
        fitting = [
            single.merged(merged[single.columns[0]]) if single.columns[0] in merged else single for single in singles
        ]
        context.step("choosing pairs of columns")
        pairs = self._pairs(compressed, fitting, 2 * share, public, context)
        context.step("fitting a model")
        model = fitted(
            compressed.sizes, [*fitting, *pairs], public.total, public.excluded, rounds=_FINAL_ROUNDS, context=context
        )
        return Fit((*singles, *pairs), model, compression)

    def _pairs(
        self,
        table: NoisyTable,
        singles: Sequence[Measurement],
        budget: Fraction,
        public: PublicInputs,
        context: Context,
    ) -> list[Measurement]:
        """The measured pairs of a spanning tree over the columns that have more than one cell; half of the ``budget`` is for choosing them."""
        names = [name for name, size in table.sizes.items() if size > 1]
        if len(names) < 2:
            return []
        cost = budget / 2 / (len(names) - 1)
        independent = fitted(table.sizes, singles, public.total, public.excluded, context=context)
        missed: dict[Clique, float] = {
            pair: float(np.abs(table.exact(pair) - independent.marginal(pair)).sum())
            for pair in combinations(names, 2)
            if table.cells(pair) <= MOST_CELLS
        }
        return [table.measured(pair, cost) for pair in self._spanning_tree(table, missed, cost, context)]

    def _compression(
        self, table: NoisyTable, singles: Sequence[Measurement], public: PublicInputs, context: Context
    ) -> DomainCompression:
        """The rare cells of every column, by its noisy counts; columns with structural zeros keep all their cells, so that none of these gets a record."""
        kept = {name for zeros in public.excluded for name in zeros.columns}
        groups = {
            column.name: rare_groups(column, single.counts, single.deviation)
            for column, single in zip(public.columns, singles, strict=True)
            if column.name not in kept and len(singles) > 1
        }
        merged = {name: MergedCells(table.sizes[name], group) for name, group in groups.items() if group}
        alone = {
            single.columns[0]: fitted(table.sizes, [single], public.total, rounds=_FINAL_ROUNDS, context=context)
            for single in singles
            if single.columns[0] in merged
        }
        return DomainCompression(merged, {name: model.marginal((name,)) for name, model in alone.items()})

    def _spanning_tree(
        self, table: NoisyTable, missed: Mapping[Clique, float], cost: Fraction, context: Context
    ) -> Iterable[Clique]:
        """The pairs of a spanning tree, each the noisy maximum of the deviation from independence among pairs that connect two components. Pairs with more cells than can be measured are no
        candidates, so that a very wide column may stay alone."""
        joined = dict.fromkeys(name for pair in missed for name in pair)
        component_of = {name: component for component, name in enumerate(joined)}
        tree: list[Clique] = []
        while open_ := [pair for pair in missed if component_of[pair[0]] != component_of[pair[1]]]:
            context.step("choosing pairs of columns", len(tree), len(component_of) - 1)
            first, second = open_[table.chosen([missed[pair] for pair in open_], cost)]
            tree.append((first, second))
            component_of = {
                name: component_of[first] if component == component_of[second] else component
                for name, component in component_of.items()
            }
        return tree


@dataclass(frozen=True)
class AdaptiveIterations(MarginalSelection):
    """AIM: in each round the marginal with the largest error of the current model beyond its expected noise; the noise is reduced when a round improved the model little.

    ``degree`` is the largest number of columns of a marginal, ``megabytes`` the largest size of the model. The budget is planned for 16 rounds per column.
    """

    degree: int = 2
    megabytes: float = 16.0

    name: ClassVar[str] = "aim"
    _rounds: ClassVar[int] = 16
    _on_counts: ClassVar[Fraction] = Fraction(9, 10)
    _fit_rounds: ClassVar[int] = 150

    def first_cost(self, total: Fraction, columns: Collection[str]) -> Fraction:
        return self._on_counts * total / (self._rounds * len(columns))

    def fit(self, table: NoisyTable, public: PublicInputs, context: Context) -> Fit:
        """Measure single columns, and then, round by round, the marginal that the model misses most, until the budget is spent (AIM)."""
        names = list(table.sizes)
        weights = _workload_weights(names, min(self.degree, len(names)))
        cost = table.left / (self._rounds * len(names))
        context.step("measuring single columns")
        measured = [table.measured((name,), self._on_counts * cost) for name in names]
        model = fitted(table.sizes, measured, public.total, public.excluded, rounds=self._fit_rounds, context=context)
        largest = max(weights.values())
        while table.left > 0:
            if table.left < 2 * cost:
                cost = table.left
            context.step("measuring marginals", float(table.spent), float(table.total))
            limit = self.megabytes * float((table.spent + cost) / table.total)
            candidates = [
                clique for clique in weights if model.supports(clique) or model.megabytes_with(clique) <= limit
            ]
            candidates = candidates or [(name,) for name in names]
            noise = table.mean_error(table.scale("measure", self._on_counts * cost))
            scores = [
                weights[clique] / largest * (_distance(table, model, clique) - noise * table.cells(clique))
                for clique in candidates
            ]
            clique = candidates[table.chosen(scores, (1 - self._on_counts) * cost)]
            before = model.marginal(clique)
            measured.append(table.measured(clique, self._on_counts * cost))
            last = table.left < cost / 1000
            rounds = self._rounds_of(model, clique, last)
            model = fitted(table.sizes, measured, public.total, public.excluded, model, rounds, context)
            if last:
                break
            if np.abs(model.marginal(clique) - before).sum() <= noise * table.cells(clique):
                cost = cost * (4 if table.currency == "rho" else 2)
        return Fit(tuple(measured), model)

    def _rounds_of(self, model: GraphicalModel, clique: Clique, last: bool) -> int:
        """The rounds of fitting a model with one more marginal: 1,000 for the published one and 150 for the others, fewer of each for a large model."""
        most, visited = (_FINAL_ROUNDS, 8 * _CELLS_VISITED) if last else (self._fit_rounds, _CELLS_VISITED)
        cells = model_cells(model.sizes, [*model.tree.cliques, clique])
        return min(most, max(_LEAST_ROUNDS, visited // cells))


def _distance(table: NoisyTable, model: GraphicalModel, clique: Clique) -> float:
    return float(np.abs(table.exact(clique) - model.marginal(clique)).sum())


def _workload_weights(columns: Sequence[str], degree: int) -> dict[Clique, float]:
    """Every marginal of at most ``degree`` columns with its weight: the number of columns that it shares with all marginals of exactly ``degree`` columns."""
    workload = [frozenset(columns_of_one) for columns_of_one in combinations(columns, degree)]
    cliques = [clique for size in range(1, degree + 1) for clique in combinations(columns, size)]
    return {clique: float(sum(len(columns_of_one & set(clique)) for columns_of_one in workload)) for clique in cliques}
