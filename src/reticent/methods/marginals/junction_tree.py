"""Junction trees: exact sums over a distribution that is a product of small factors, by passing messages between overlapping sets of columns.

Source: [Koller2009], chapters 9 and 10 (elimination orders, calibration of a clique tree).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Clique = tuple[str, ...]
Array = NDArray[np.float64]


def elimination_cliques(sizes: Mapping[str, int], cliques: Iterable[Clique]) -> list[tuple[str, frozenset[str]]]:
    """An elimination order: each column with the clique that summing it out creates, greedily by the fewest cells."""
    neighbours: dict[str, set[str]] = {name: {name} for name in sizes}
    for clique in cliques:
        for name in clique:
            neighbours[name].update(clique)
    cells = {name: math.prod(sizes[column] for column in joined) for name, joined in neighbours.items()}
    order = []
    while neighbours:
        name = min(neighbours, key=lambda column: cells[column])
        joined = neighbours.pop(name)
        order.append((name, frozenset(joined)))
        for other in joined - {name}:
            neighbours[other] = (neighbours[other] | joined) - {name}
            cells[other] = math.prod(sizes[column] for column in neighbours[other])
    return order


def model_cells(sizes: Mapping[str, int], cliques: Iterable[Clique]) -> int:
    """The number of cells of a junction tree for ``cliques``, which is the memory size of a model."""
    created = [clique for _, clique in elimination_cliques(sizes, cliques)]
    largest = [clique for clique in set(created) if not any(clique < other for other in created)]
    return sum(math.prod(sizes[name] for name in clique) for clique in largest)


@dataclass(frozen=True)
class JunctionTree:
    """Sets of columns (``cliques``) joined to a tree in which every column's cliques are connected; a clique comes after its ``parents`` entry, the first one has none (-1)."""

    sizes: Mapping[str, int]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]

    @classmethod
    def over(cls, sizes: Mapping[str, int], cliques: Iterable[Clique]) -> JunctionTree:
        """A junction tree in which each of ``cliques`` is contained in a clique; components without common columns have empty separators."""
        eliminated = elimination_cliques(sizes, cliques)
        elimination_rank = {name: number for number, (name, _) in enumerate(eliminated)}
        node: dict[str, int] = {}
        tree_cliques: list[frozenset[str]] = []
        parents: list[int] = []
        for name, columns in reversed(eliminated):
            neighbours = columns - {name}
            parent = node[min(neighbours, key=lambda column: elimination_rank[column])] if neighbours else -1
            if parent >= 0 and tree_cliques[parent] < columns:
                tree_cliques[parent], node[name] = columns, parent
                continue
            node[name] = len(tree_cliques)
            parents.append(parent if parent >= 0 or not tree_cliques else 0)
            tree_cliques.append(columns)
        return cls(
            sizes, tuple(tuple(name for name in sizes if name in column) for column in tree_cliques), tuple(parents)
        )

    @property
    def cells(self) -> int:
        """The number of cells of all cliques."""
        return sum(math.prod(self.sizes[name] for name in clique) for clique in self.cliques)

    def home(self, columns: Iterable[str]) -> int | None:
        """The index of a smallest clique with all of ``columns``; None if there is none."""
        wanted_columns = set(columns)
        containing = [number for number, clique in enumerate(self.cliques) if wanted_columns <= set(clique)]
        return min(containing, key=lambda number: self._sizes[number], default=None)

    @cached_property
    def _sizes(self) -> list[int]:
        return [math.prod(self.sizes[name] for name in clique) for clique in self.cliques]

    def shape(self, clique: Clique, columns: Iterable[str]) -> tuple[int, ...]:
        """The shape in which an array over ``columns`` (in the order of the clique) is added to one over the clique."""
        kept_columns = set(columns)
        return tuple(self.sizes[name] if name in kept_columns else 1 for name in clique)

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        """The columns that each clique shares with its parent."""
        return tuple(
            () if parent < 0 else tuple(name for name in clique if name in set(self.cliques[parent]))
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def _edges(self) -> tuple[tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...]:
        """For each clique but the first: its index, its parent, the axes of each that are summed for the separator, and the separator's broadcast shape for each."""
        edges = []
        for child, parent in list(enumerate(self.parents))[1:]:
            shared = set(self.separators[child])
            edges.append(
                (
                    child,
                    parent,
                    others(self.cliques[child], shared),
                    others(self.cliques[parent], shared),
                    self.shape(self.cliques[child], shared),
                    self.shape(self.cliques[parent], shared),
                )
            )
        return tuple(edges)

    def probabilities(self, logarithms: Sequence[Array]) -> list[Array]:
        """The distribution of every clique, where the whole distribution is proportional to the exponential of the sum of ``logarithms``, one array for each clique (minus infinity: impossible)."""
        collected = list(logarithms)
        weights, sums = list(collected), list(collected)
        for child, parent, summed, _, _, beside_parent in reversed(self._edges):
            weights[child], sums[child], message = _summed_out(collected[child], summed)
            collected[parent] = collected[parent] + message.reshape(beside_parent)
        root = np.exp(collected[0] - collected[0].max())
        distributions: list[Array] = [root / root.sum()] * len(self.cliques)
        for child, parent, _, summed, beside_child, _ in self._edges:
            shared = distributions[parent].sum(axis=summed)
            ratio = np.divide(shared, sums[child], out=np.zeros_like(shared), where=sums[child] > 0)
            distributions[child] = weights[child] * ratio.reshape(beside_child)
        return distributions


def others(clique: Clique, kept: Iterable[str]) -> tuple[int, ...]:
    """The axes of an array over ``clique`` that are summed to leave ``kept``."""
    columns = set(kept)
    return tuple(axis for axis, name in enumerate(clique) if name not in columns)


def _summed_out(logarithms: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Weights with a largest of 1 for each cell of the remaining axes (0 where all are impossible), their sums over ``axes``, and the logarithms of the sums of exponentials."""
    largest = logarithms.max(axis=axes, keepdims=True)
    largest[np.isneginf(largest)] = 0.0
    weights = np.exp(logarithms - largest)
    sums = weights.sum(axis=axes)
    with np.errstate(divide="ignore"):
        return weights, sums, np.log(sums) + largest.reshape(sums.shape)
