"""The method ``RPlusTree``: the spatial index that was used for k-anonymity before Bang, to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import whole
from reticent.core import FrequencySet
from reticent.definitions import Definition, KAnonymity, require_feasible
from reticent.engine import count_table
from reticent.methods.grouping import (
    Grouping,
    GroupMethod,
    GroupRun,
    PublishedGroups,
    ShownGroups,
    SuppressedGroups,
    local_grouping,
    order_of,
)
from reticent.table import BoundHierarchy, Table

# In which order points are inserted is fixed, so that the tree does not depend on the order of the rows; it protects nobody.
_ORDER = 0
# Missing values lie beyond all others.
_BEYOND = 1.25


@dataclass(frozen=True)
class RPlusTree(GroupMethod):
    """Local recoding by a tree of disjoint boxes (a bucketed kd-B-tree in the manner of an R+-tree), published as the least boxes around its rows.

    Points are inserted one by one into leaves for ``2 * minimum`` rows; a leaf that overflows is cut between its two farthest points, with at least ``minimum`` rows on both sides. Rows that
    are alike in all quasi columns are one point. For a larger k, leaves that follow each other in the tree are put together until they have k rows; ``minimum`` is k if not given.

    A baseline for comparisons, which the choice of a default method does not try: Mondrian keeps any definition, and cuts with all rows in view.
    Guarantee: KAnonymity, and no other definition. Adversary: the definition's. Boxes show true extremes.
    Cost: O(points x (depth + minimum x columns)). Source: Iwuchukwu, Naughton, K-anonymization as spatial indexing (2007), with corrections.

    Parameters:
        minimum: the smallest number of rows in a leaf; by default k.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness")
        >>> rt.publish(table, rt.KAnonymity(2), method=rt.RPlusTree(minimum=2)).groups.sizes.sum().item()
        4
    """

    minimum: int | None = None

    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.minimum is not None:
            whole(self.minimum, "RPlusTree: minimum", low=1)

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """It counts rows, and nothing else."""
        if not all(isinstance(part, KAnonymity) for part in definition.parts()):
            return (
                f"RPlusTree is a baseline for KAnonymity(k) and does not support {definition}. Use Mondrian or Lattice."
            )
        if table.several_rows:
            return "RPlusTree counts rows, but people of this table may have several. Use Mondrian or Lattice."
        k = _least(definition)
        if self.minimum is not None and self.minimum > k:
            return f"RPlusTree: leaves of at least {self.minimum} rows are too coarse for k = {k}. Use minimum={k}, or a smaller one."
        return None

    def grouped(self, run: GroupRun) -> Grouping:
        """The leaves of the tree, or runs of them, with their boxes."""
        units = count_table(run.table, run.context)
        require_feasible(units.groups(), run.definition)
        k = _least(run.definition)
        run.context.step("inserting points")
        leaf = tree_leaves(units, k if self.minimum is None else self.minimum)
        group = joined_leaves(np.bincount(leaf, weights=units.sizes).astype(np.int64), k)[leaf]
        run.context.step("drawing boxes")
        shown = ShownGroups.of(units, [(tuple(range(len(units.codes))), group)], "ranges")
        published = PublishedGroups.of(run.table, run.definition, shown.groups, shown.seen, 0)
        return local_grouping(run, shown, published, SuppressedGroups(np.zeros(len(shown), dtype=bool)))


def tree_leaves(units: FrequencySet, minimum: int) -> NDArray[np.int64]:
    """The leaf of every point, numbered along the tree; each has at least ``minimum`` rows, if all have."""
    # The compiler is loaded where it is needed.
    from reticent.baselines.rtree._kernels import leaves_of

    points = np.column_stack(
        [_places(hierarchy)[codes] for hierarchy, codes in zip(units.hierarchies, units.codes, strict=True)]
    )
    order = np.random.default_rng(_ORDER).permutation(len(units))
    rows = np.ascontiguousarray(units.sizes, dtype=np.int64)
    found: NDArray[np.int64] = leaves_of(points, rows, order, minimum, 2 * minimum)
    return found


def joined_leaves(rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """For each leaf the run of following leaves that it is published in: each run has at least ``k`` rows by count, and what is left at the end joins the last."""
    run_of, run, held = np.zeros(len(rows), dtype=np.int64), 0, 0
    for leaf, count in enumerate(rows.tolist()):
        run_of[leaf] = run
        held += count
        if held >= k:
            run, held = run + 1, 0
    if held and run:
        run_of[run_of == run] = run - 1
    return run_of


def _places(hierarchy: BoundHierarchy) -> NDArray[np.float64]:
    """Where every leaf of a column lies between 0 and 1: numbers by their size, categories in the order of the tree."""
    numbers = hierarchy.numbers() if hierarchy.is_numeric else order_of(hierarchy, along_tree=True).astype(np.float64)
    if hierarchy.null_leaf is not None:
        numbers = numbers.copy()
        numbers[hierarchy.null_leaf] = np.nan
    low, high = (float(each) for each in (np.nanmin(numbers), np.nanmax(numbers))) if not np.isnan(numbers).all() else (0.0, 0.0)  # fmt: skip
    scaled = (numbers - low) / (high - low) if high > low else numbers - low
    return np.where(np.isnan(scaled), _BEYOND, scaled)


def _least(definition: Definition) -> int:
    """The k of a k-anonymity, or the largest of several."""
    return max(part.k for part in definition.parts() if isinstance(part, KAnonymity))
