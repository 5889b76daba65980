"""Hierarchies built from an order of the values: neighbours merged, or the first values kept longest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from reticent.base.exact import whole
from reticent.errors import PolicyError
from reticent.table.hierarchies.hierarchy import BoundHierarchy, Hierarchy, Level, unused
from reticent.table.hierarchies.leaves import leaves_of
from reticent.table.hierarchies.levels import group, identity, optional, suppressed, values_of


@dataclass(frozen=True)
class OrderGroups(Hierarchy):
    """Neighbours in the order of ``values``, merged in groups of ``sizes[i]`` at level i + 1, then suppressed.

    Each size is a multiple of the previous one, so levels nest. Groups are labelled by their first and last value
    unless ``labels`` names them.
    """

    sizes: tuple[int, ...]
    values: tuple[Any, ...] | None = None
    labels: tuple[tuple[str, ...], ...] | None = None
    from_data: bool = False

    def __post_init__(self) -> None:
        """Check that the sizes nest, and that the labels fit."""
        sizes = [whole(size, "order: sizes", low=2) for size in self.sizes]
        if not sizes:
            raise PolicyError("order: sizes is empty. Give at least one, such as [2, 4].", setting=("sizes",))
        for low, high in pairwise(sizes):
            if high % low or high == low:
                raise PolicyError(
                    f"order: size {high} is not a larger multiple of size {low}, so the levels would not nest. Choose sizes such as 2, 4, 8.",
                    setting=("sizes",),
                    value=high,
                )
        if self.labels is not None:
            self._check_labels(self.labels)

    def _check_labels(self, labels: Sequence[Sequence[str]]) -> None:
        """Raise unless the labels name every group of every level once."""
        if self.values is None:
            raise PolicyError("order: labels name groups of values, so values must be given too.", setting=("labels",))
        expected = [-(-len(self.values) // size) for size in self.sizes]
        counts = [len(level) for level in labels]
        if counts != expected or any(len(set(level)) != len(level) for level in labels):
            raise PolicyError(
                f"order: labels must name every group of every level once. The levels have {expected} groups, but there are {counts} labels.",
                setting=("labels",),
            )

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Return the hierarchy for a column: at every level groups of ``size`` consecutive values."""
        leaves = leaves_of(series, self.values, column)
        levels = [identity(leaves)]
        texts = leaves.cast(pl.String).to_list()
        for number, size in enumerate(self.sizes):
            parts = (np.arange(len(leaves)) // size).astype(np.int32)
            count = -(-len(leaves) // size)
            names = _runs(texts, size) if self.labels is None else list(self.labels[number])
            levels.append(Level(parts, _made_distinct(names), values_of(parts, count, leaves)))
        levels.append(suppressed(leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.values is None or self.from_data)

    def describe(self) -> dict[str, Any]:
        named = None if self.labels is None else [list(level) for level in self.labels]
        source = {"from_data": True} if self.from_data else {}
        return {"kind": "order", "sizes": list(self.sizes), **optional(values=self.values, labels=named), **source}


@dataclass(frozen=True)
class PriorityList(Hierarchy):
    """At level i + 1 the first ``keep[i]`` of the ``values`` remain, and the rest is one group, ``other``; then suppressed."""

    keep: tuple[int, ...]
    values: tuple[Any, ...]
    other: str = "Other"
    from_data: bool = False

    def __post_init__(self) -> None:
        """Check that fewer values are kept at each level."""
        sizes = [whole(number, "priority: keep", low=1) for number in self.keep]
        if not sizes or sizes != sorted(set(sizes), reverse=True):
            raise PolicyError(
                f"priority: keep must be descending, such as [8, 4, 2], but it is {list(self.keep)}.", setting=("keep",)
            )
        if sizes[0] >= len(self.values):
            raise PolicyError(
                f"priority: keep begins with {sizes[0]}, but there are {len(self.values)} values; fewer must remain at the first level.",
                setting=("keep",),
                value=sizes[0],
            )

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Return the hierarchy for a column: at every level the first values are kept, and the rest are one category."""
        leaves = leaves_of(series, self.values, column)
        texts = leaves.cast(pl.String).to_list()
        other = unused(self.other, texts)
        levels = [identity(leaves)]
        for size in self.keep:
            labels, parts = group([text if rank < size else other for rank, text in enumerate(texts)])
            levels.append(Level(parts, tuple(labels), values_of(parts, len(labels), leaves)))
        levels.append(suppressed(leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.from_data)

    def describe(self) -> dict[str, Any]:
        source = {"from_data": True} if self.from_data else {}
        return {"kind": "priority", "keep": list(self.keep), "values": list(self.values), "other": self.other, **source}


def _runs(texts: Sequence[str], size: int) -> list[str]:
    """Groups of consecutive values, labelled by their first and last value."""
    runs = [texts[start : start + size] for start in range(0, len(texts), size)]
    return [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]


def _made_distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels made distinct: a value may be spelled like a group of others."""
    distinct: dict[str, None] = {}
    for label in labels:
        distinct[unused(label, distinct)] = None
    return tuple(distinct)
