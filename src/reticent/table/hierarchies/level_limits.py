"""The finest and the coarsest publishable level of a hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reticent.base.exact import whole
from reticent.errors import PolicyError
from reticent.table.hierarchies.hierarchy import BoundHierarchy, Hierarchy
from reticent.table.hierarchies.levels import optional
from reticent.table.meaning import LeafIndex, Meaning


@dataclass(frozen=True)
class LimitedLevels(Hierarchy):
    """A hierarchy of which only the levels from ``min_level`` to ``max_level`` are published (level 0: the value itself)."""

    inner: Hierarchy
    min_level: int = 0
    max_level: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits without a level between them."""
        low = whole(self.min_level, "min_level", low=0)
        if self.max_level is not None and whole(self.max_level, "max_level", low=0) < low:
            raise PolicyError(
                f"min_level is {low} and max_level is {self.max_level}: there is no level between them.",
                setting=("max_level",),
                value=self.max_level,
            )

    @property
    def unlimited(self) -> Hierarchy:
        return self.inner.unlimited

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Bind the inner hierarchy, and keep its levels up to the coarsest publishable one."""
        bound = self.inner.bind(series, column)
        for name, level in (("min_level", self.min_level), ("max_level", self.max_level)):
            if level is not None and level > bound.height:
                raise PolicyError(
                    f"Column {column!r} has levels 0 to {bound.height}, but its {name} is {level}.",
                    setting=(name,),
                    column=column,
                    value=level,
                )
        top = bound.height if self.max_level is None else self.max_level
        capped = bound.capped or top < bound.height
        return replace(bound, levels=bound.levels[: top + 1], lowest=max(bound.lowest, self.min_level), capped=capped)

    def describe(self) -> dict[str, Any]:
        low = self.min_level or None
        return {**self.inner.describe(), **optional(min_level=low, max_level=self.max_level)}


def beyond_limits(hierarchy: BoundHierarchy, labels: Mapping[str, Meaning]) -> str | None:
    """The first of some published labels that is finer than the finest, or coarser than the coarsest, publishable level; None if there is none."""
    if not hierarchy.is_limited:
        return None
    index = LeafIndex.of(hierarchy.leaves, hierarchy.column)
    finest, coarsest = hierarchy.levels[hierarchy.lowest].parts, hierarchy.levels[-1].parts
    cover = hierarchy.cover(hierarchy.lowest)
    for label, meaning in labels.items():
        leaves = index.under(meaning)
        parts, leaf_counts = np.unique(finest[leaves], return_counts=True)
        if (leaf_counts < cover[parts]).any():
            return label
        if hierarchy.capped and len(np.unique(coarsest[leaves])) > 1:
            return label
    return None
