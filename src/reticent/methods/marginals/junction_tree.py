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
    near: dict[str, set[str]] = {name: {name} for name in sizes}
    for clique in cliques:
        for name in clique:
            near[name].update(clique)
    cells = {name: math.prod(sizes[each] for each in joined) for name, joined in near.items()}
    found = []
    while near:
        name = min(near, key=lambda each: cells[each])
        joined = near.pop(name)
        found.append((name, frozenset(joined)))
        for other in joined - {name}:
            near[other] = (near[other] | joined) - {name}
            cells[other] = math.prod(sizes[each] for each in near[other])
    return found


def model_cells(sizes: Mapping[str, int], cliques: Iterable[Clique]) -> int:
    """The number of cells of a junction tree for ``cliques``, which is the memory size of a model."""
    joined = [each for _, each in elimination_cliques(sizes, cliques)]
    largest = [each for each in set(joined) if not any(each < other for other in joined)]
    return sum(math.prod(sizes[name] for name in each) for each in largest)


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
        place = {name: number for number, (name, _) in enumerate(eliminated)}
        node: dict[str, int] = {}
        joined: list[frozenset[str]] = []
        parents: list[int] = []
        for name, columns in reversed(eliminated):
            rest = columns - {name}
            parent = node[min(rest, key=lambda each: place[each])] if rest else -1
            if parent >= 0 and joined[parent] < columns:
                joined[parent], node[name] = columns, parent
                continue
            node[name] = len(joined)
            parents.append(parent if parent >= 0 or not joined else 0)
            joined.append(columns)
        return cls(sizes, tuple(tuple(name for name in sizes if name in each) for each in joined), tuple(parents))

    @property
    def cells(self) -> int:
        """The number of cells of all cliques."""
        return sum(math.prod(self.sizes[name] for name in clique) for clique in self.cliques)

    def home(self, columns: Iterable[str]) -> int | None:
        """The index of a smallest clique with all of ``columns``; None if there is none."""
        wanted = set(columns)
        fitting = [number for number, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(fitting, key=lambda number: self._sizes[number], default=None)

    @cached_property
    def _sizes(self) -> list[int]:
        return [math.prod(self.sizes[name] for name in clique) for clique in self.cliques]

    def shape(self, clique: Clique, columns: Iterable[str]) -> tuple[int, ...]:
        """The shape in which an array over ``columns`` (in the order of the clique) is added to one over the clique."""
        kept = set(columns)
        return tuple(self.sizes[name] if name in kept else 1 for name in clique)

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
        found = []
        for child, parent in list(enumerate(self.parents))[1:]:
            shared = set(self.separators[child])
            found.append(
                (
                    child,
                    parent,
                    others(self.cliques[child], shared),
                    others(self.cliques[parent], shared),
                    self.shape(self.cliques[child], shared),
                    self.shape(self.cliques[parent], shared),
                )
            )
        return tuple(found)

    def probabilities(self, logarithms: Sequence[Array]) -> list[Array]:
        """The distribution of every clique, where the whole distribution is proportional to the exponential of the sum of ``logarithms``, one array for each clique (minus infinity: impossible)."""
        collected = list(logarithms)
        weights, sums = list(collected), list(collected)
        for child, parent, summed, _, _, beside_parent in reversed(self._edges):
            weights[child], sums[child], message = _summed_out(collected[child], summed)
            collected[parent] = collected[parent] + message.reshape(beside_parent)
        top = np.exp(collected[0] - collected[0].max())
        found: list[Array] = [top / top.sum()] * len(self.cliques)
        for child, parent, _, summed, beside_child, _ in self._edges:
            shared = found[parent].sum(axis=summed)
            ratio = np.divide(shared, sums[child], out=np.zeros_like(shared), where=sums[child] > 0)
            found[child] = weights[child] * ratio.reshape(beside_child)
        return found


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
