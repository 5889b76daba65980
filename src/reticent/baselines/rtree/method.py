"""The method ``RPlusTree``: k-anonymity by an R+-tree, for comparison with Bang. Source: [Iwuchukwu2007]."""

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

# The insertion order is fixed, so that the tree does not depend on the row order; it protects nobody.
_ORDER = 0
# Missing values come after all others.
_BEYOND = 1.25


@dataclass(frozen=True)
class RPlusTree(GroupMethod):
    """Local recoding by a tree of disjoint boxes (a bucketed kd-B-tree in the manner of an R+-tree), published as the bounding boxes of its rows.

    Points are inserted one by one into leaves for ``2 * minimum`` rows; an overflowing leaf is split between its two
    farthest points, with at least ``minimum`` rows on both sides. Rows with equal quasi values are one point. For a
    larger k, consecutive leaves are merged until they have k rows; ``minimum`` defaults to k.

    A baseline that the default choice of methods does not try: Mondrian supports any definition, and splits with all rows in view.
    Guarantee: KAnonymity, and no other definition. Adversary: the definition's. Boxes show true extremes.
    Cost: O(points x (depth + minimum x columns)). Source: [Iwuchukwu2007], with corrections.

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
        """Return why the request is not supported: only k-anonymity counting rows is."""
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
        """Return the leaves of the tree, or merged runs of them, with their boxes."""
        units = count_table(run.table, run.context)
        require_feasible(units.groups(), run.definition)
        k = _least(run.definition)
        run.context.step("inserting points")
        leaf = tree_leaves(units, k if self.minimum is None else self.minimum)
        group = joined_leaves(np.bincount(leaf, weights=units.sizes).astype(np.int64), k)[leaf]
        run.context.step("drawing boxes")
        labelled = ShownGroups.of(units, [(tuple(range(len(units.codes))), group)], "ranges")
        published = PublishedGroups.of(run.table, run.definition, labelled.groups, labelled.seen, 0)
        return local_grouping(run, labelled, published, SuppressedGroups(np.zeros(len(labelled), dtype=bool)))


def tree_leaves(units: FrequencySet, minimum: int) -> NDArray[np.int64]:
    """Return the leaf of every point, numbered in tree order; each has at least ``minimum`` rows, if the table has."""
    # The compiler is loaded only when needed.
    from reticent.baselines.rtree._kernels import leaves_of

    points = np.column_stack(
        [_places(hierarchy)[codes] for hierarchy, codes in zip(units.hierarchies, units.codes, strict=True)]
    )
    order = np.random.default_rng(_ORDER).permutation(len(units))
    rows = np.ascontiguousarray(units.sizes, dtype=np.int64)
    leaves: NDArray[np.int64] = leaves_of(points, rows, order, minimum, 2 * minimum)
    return leaves


def joined_leaves(rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return for each leaf the run of consecutive leaves that it is published in: each run has at least ``k`` rows, and
    the remainder joins the last.
    """
    run_of, run, rows_held = np.zeros(len(rows), dtype=np.int64), 0, 0
    for leaf, count in enumerate(rows.tolist()):
        run_of[leaf] = run
        rows_held += count
        if rows_held >= k:
            run, rows_held = run + 1, 0
    if rows_held and run:
        run_of[run_of == run] = run - 1
    return run_of


def _places(hierarchy: BoundHierarchy) -> NDArray[np.float64]:
    """Return the position of every leaf of a column in [0, 1]: numbers by value, categories in hierarchy order."""
    numbers = hierarchy.numbers() if hierarchy.is_numeric else order_of(hierarchy, along_tree=True).astype(np.float64)
    if hierarchy.null_leaf is not None:
        numbers = numbers.copy()
        numbers[hierarchy.null_leaf] = np.nan
    low, high = (float(end) for end in (np.nanmin(numbers), np.nanmax(numbers))) if not np.isnan(numbers).all() else (0.0, 0.0)  # fmt: skip
    scaled = (numbers - low) / (high - low) if high > low else numbers - low
    return np.where(np.isnan(scaled), _BEYOND, scaled)


def _least(definition: Definition) -> int:
    """Return the k of a k-anonymity, or the largest of several."""
    return max(part.k for part in definition.parts() if isinstance(part, KAnonymity))
