"""A distribution over all columns that fits noisy marginals: estimation and sampling by the library `mbi` (Private-PGM).

Source: McKenna, Sheldon and Miklau 2019, Graphical-model based estimation and inference for differential privacy. Everything here is computed from noisy answers, and so is public.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.extras import needed
from reticent.methods.marginals.noisy_table import Measurement

Clique = tuple[str, ...]
_MEGABYTE = 2**20


def library() -> Any:
    """The package `mbi`, in 64-bit mode: with 32 bits estimates of tables of more than a hundred thousand records stall."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    jax = needed("jax", "marginals", "Fitting marginals")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return needed("mbi", "marginals", "Fitting marginals")


@dataclass(frozen=True)
class ImpossibleCells:
    """Combinations of ``cells`` of some ``columns``, one a row, that no record can have."""

    columns: Clique
    cells: NDArray[np.int64]


@dataclass(frozen=True)
class GraphicalModel:
    """A Markov random field over the columns."""

    sizes: Mapping[str, int]
    field_: Any = field(repr=False)
    excluded: tuple[ImpossibleCells, ...] = ()

    @property
    def total(self) -> float:
        """The estimated number of records."""
        return float(self.field_.total)

    def marginal(self, columns: Clique) -> NDArray[np.float64]:
        """The estimated counts of all cells of some columns, in the order of :class:`Measurement`.

        Summing the product of all factors by numpy: the library compiles a program for every set of columns, which takes longer than all sums together.
        """
        contract = needed("opt_einsum", "marginals", "Fitting marginals").contract
        place = {name: number for number, name in enumerate(self.sizes)}
        operands: list[Any] = []
        for clique, factor in self._factors:
            operands += [factor, [place[name] for name in clique]]
        free = [name for name in columns if not any(name in clique for clique, _ in self._factors)]
        for name in free:
            operands += [np.ones(self.sizes[name]), [place[name]]]
        summed = np.asarray(contract(*operands, [place[name] for name in columns]), dtype=np.float64).ravel()
        scaled: NDArray[np.float64] = summed * (self.total / summed.sum())
        return scaled

    @cached_property
    def _factors(self) -> list[tuple[Clique, NDArray[np.float64]]]:
        """The factors of the distribution, each scaled so that its largest value is 1."""
        found = []
        for clique in self.field_.potentials.cliques:
            logarithms = np.asarray(self.field_.potentials[clique].values, dtype=np.float64)
            found.append((tuple(clique), np.exp(logarithms - logarithms.max())))
        for each in self.excluded:
            allowed = np.ones([self.sizes[name] for name in each.columns])
            allowed[tuple(each.cells.T)] = 0.0
            found.append((each.columns, allowed))
        return found

    def supports(self, columns: Clique) -> bool:
        """Whether a part of the model covers all of ``columns``, so that fitting them as well makes it no larger."""
        return any(set(columns) <= set(clique) for clique in self.field_.cliques)

    def megabytes_with(self, columns: Clique) -> float:
        """The size that the model would have with one more marginal."""
        mbi = library()
        domain = mbi.Domain.fromdict(dict(self.sizes))
        return float(mbi.junction_tree.hypothetical_model_size(domain, [*self.field_.cliques, columns]))

    def records(self, count: int, seed: int) -> dict[str, NDArray[np.int64]]:
        """So many synthetic records, as codes of cells; the counts of the model are rounded at random."""
        # The library draws from numpy's global generator.
        state = np.random.get_state()
        try:
            np.random.seed(seed)
            made = self.field_.synthetic_data(rows=count).to_dict()
        finally:
            np.random.set_state(state)
        return {name: np.asarray(made[name], dtype=np.int64) for name in self.sizes}


def fitted(
    sizes: Mapping[str, int],
    measurements: Sequence[Measurement],
    total: float | None = None,
    excluded: Sequence[ImpossibleCells] = (),
    before: GraphicalModel | None = None,
    rounds: int = 1000,
) -> GraphicalModel:
    """The model that fits noisy ``measurements`` best by weighted least squares, from the model ``before`` on; ``total`` where the number of records is public. ``excluded`` combinations get no records."""
    mbi = library()
    domain = mbi.Domain.fromdict(dict(sizes))
    given = [
        mbi.LinearMeasurement(each.counts.astype(np.float64), each.columns, stddev=each.deviation)
        for each in measurements
    ]
    constraints = [
        mbi.Constraint(domain.project(each.columns), invalid=each.cells) for each in excluded if len(each.cells)
    ]
    made = mbi.estimation.MirrorDescent().estimate(
        domain,
        given,
        known_total=total,
        constraints=constraints,
        iters=rounds,
        warm_start=None if before is None else before.field_,
    )
    return GraphicalModel(sizes, made, tuple(excluded))
