"""Counting queries on nested regions: exact block by block if every condition is on one column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import Condition, Covers
from reticent.methods.bang.nested_regions import NestedRegions, split_by_column
from reticent.release import Count, CountQuery
from reticent.table import Meaning, Rows

_KIND, _INDEX = "_kind", "_index"


def count_regions(
    rows: Rows,
    regions: pl.DataFrame,
    nested: NestedRegions,
    meanings: Mapping[str, Mapping[str, Meaning]],
    condition: str | Condition,
    estimator: str = "uniform",
    **known: Any,
) -> Count:
    """Count the ``rows`` that meet a condition, where each row is in one of the blocks of its class; ``known`` as in :meth:`CountQuery.of`.

    ``regions`` has the class, level and labels of every region, and ``nested`` their nesting. A row certainly meets the
    condition if all blocks of its class do, and possibly if any block may. ``uniform`` spreads rows evenly over the
    blocks of their class. A condition that compares quasi columns with each other or with others is evaluated on
    regions instead of blocks, so its bounds may be wider than necessary.
    """
    group, level = regions.columns[:2]
    query = CountQuery.of(meanings, condition, estimator, **known)
    parsed = query.condition
    parsed.check_names([name for name in rows.schema.names() if name != group])
    quasi = [name for name in parsed.scope if name in meanings]
    if not quasi:
        return query.in_labels(rows)
    other_columns = [name for name in parsed.scope if name not in meanings]
    counted, multiplicities = rows.counted([group, *other_columns])
    split = split_by_column(parsed, list(meanings))
    if split is None:
        row_regions = counted.with_columns(pl.Series(_KIND, np.arange(counted.height))).join(
            regions.select(group, level, *quasi), on=group, how="left", maintain_order="left"
        )
        pairs = _each_covered(query, row_regions)
        covered = _of_regions(
            pairs, row_regions[_KIND].to_numpy(), np.ldexp(1.0, -row_regions[level].to_numpy()), len(multiplicities)
        )
    else:
        covered = _of_blocks(query, nested, regions, split, counted[group])
        if "" in split:
            is_met = split[""].mask(counted).to_numpy()
            multiplicities, covered = multiplicities[is_met], covered.at(is_met)
    return query.counted(multiplicities, covered, rows.height)


def _of_blocks(
    query: CountQuery, nested: NestedRegions, regions: pl.DataFrame, split: Mapping[str, Condition], classes: pl.Series
) -> Covers:
    """Return how a conjunction of conditions on single columns (``split``) covers the class of each row in ``classes``.

    A class possibly meets it if one of its blocks (regions without the regions inside) may, and certainly if all do,
    both exactly; the share of its volume that meets it is made consistent with this.
    """
    possible, certain = nested.met(split)
    all_steps = [np.ones(len(column.steps), dtype=bool) for column in nested.columns]
    may_meet, must_meet = nested.blocks(possible) > 0, nested.blocks(certain) == nested.blocks(all_steps)
    share, measured = np.ones(regions.height), np.ones(regions.height, dtype=bool)
    for column, steps_met, steps in zip(nested.columns, possible, all_steps, strict=True):
        if column.name not in split:
            continue
        if column.listed:
            share = share * column.held(steps_met) / column.held(steps)
        else:
            covered = _each_covered(replace(query, condition=split[column.name]), regions)
            share, measured = share * covered.share, measured & covered.measured
    distinct = nested.group.unique(maintain_order=True)
    numbers = pl.DataFrame({"group": distinct, "rank": np.arange(len(distinct))})
    class_of_region = (
        nested.group.to_frame("group").join(numbers, on="group", how="left", maintain_order="left")["rank"].to_numpy()
    )
    class_of_row = (
        classes.to_frame("group").join(numbers, on="group", how="left", maintain_order="left")["rank"].to_numpy()
    )
    region_counts, volumes = np.bincount(class_of_region), nested.volumes()
    volume_met, total_volume = (
        np.bincount(class_of_region, nested.volumes(share)),
        np.bincount(class_of_region, volumes),
    )
    possible_classes, certain_classes = (
        np.bincount(class_of_region, may_meet) > 0,
        np.bincount(class_of_region, must_meet) == region_counts,
    )
    # Labels may be less precise than blocks, and the remainder of a region is a difference of floats.
    uniform = np.clip(
        np.divide(volume_met, total_volume, out=np.zeros(len(region_counts)), where=total_volume > 0), 0.0, 1.0
    )
    shares = np.where(certain_classes, 1.0, np.where(possible_classes, uniform, 0.0))
    return Covers(
        shares, possible_classes, certain_classes, np.bincount(class_of_region, measured) == region_counts
    ).at(class_of_row)


def _each_covered(query: CountQuery, rows: pl.DataFrame) -> Covers:
    """Return how the condition covers each row of labels and values, computed once for equal rows."""
    scope = query.condition.scope
    distinct = rows.select(scope).with_row_index(_INDEX).group_by(scope, maintain_order=True).agg(_INDEX)
    rank = np.empty(rows.height, dtype=np.int64)
    rank[distinct[_INDEX].explode().to_numpy()] = np.repeat(
        np.arange(distinct.height), distinct[_INDEX].list.len().to_numpy()
    )
    return query.covers(distinct.select(scope)).at(rank)


def _of_regions(pairs: Covers, kind: NDArray[np.int64], volume: NDArray[np.float64], count: int) -> Covers:
    """Return how a condition covers each of ``count`` kinds of rows, which may be in several regions, from how it covers each
    pair of a kind and a region of some ``volume``.
    """
    certain_counts, possible_counts, measured_counts = (
        np.bincount(kind, mask, count) for mask in (pairs.certain, pairs.possible, pairs.measured)
    )
    region_counts = np.bincount(kind, minlength=count)
    share = np.bincount(kind, pairs.share * volume, count) / np.bincount(kind, volume, count)
    return Covers(share, possible_counts > 0, certain_counts == region_counts, measured_counts == region_counts)
