"""The difference of two releases of a growing table, as anyone can compute it: the new people of every class.

Both have regions from the same halvings, so their regions together are nested. A block of the union belongs to one
class of each release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from reticent.core import Evidence, Groups
from reticent.definitions import Definition, judge, verdict
from reticent.errors import DataError
from reticent.methods.bang.format import bound_columns
from reticent.methods.bang.nested_regions import Ids, NestedRegions, SteppedColumn
from reticent.release import PublicSide

_CLASS, _LEVEL, _ROWS = "the class", "the level", "the rows"


def check_growth(earlier: Sequence[PublicSide], public: PublicSide, number: int, definition: Definition) -> None:
    """Refuse a release whose classes are not unions of earlier ones, or whose new people do not satisfy the definition on their own."""
    series = [side.form.place_in_series(side) for side in earlier]
    if series != list(range(1, number)):
        raise DataError(
            f"This is release {number} of a growing table, but the folders before it are not its {number - 1} predecessors."
        )
    new_people = newcomers(earlier[-1], public)
    assessment = verdict(definition, judge(definition, Evidence({public.manifest.named("quasi"): new_people})))
    if not assessment.holds:
        reason = "" if assessment.witness is None else f" {assessment.witness.text}"
        raise DataError(
            f"People who are new since release {number - 1} do not satisfy {definition} on their own.{reason}"
        )


def newcomers(before: PublicSide, after: PublicSide) -> Groups:
    """Return the people who are new since the previous release, by class; classes without any are omitted."""
    sensitive = list(after.manifest.named("sensitive"))
    if any(before.manifest.named(role) != after.manifest.named(role) for role in ("quasi", "sensitive")):
        raise DataError("The previous release has other quasi or sensitive columns.")
    inside = class_map(before, after)
    rows_before, rows_now = (_rows_by_class(side) for side in (before, after))
    rows_before = rows_before.with_columns(pl.col(_CLASS).replace_strict(inside), -pl.col(_ROWS))
    new_rows = (
        pl.concat([rows_now, rows_before])
        .group_by(_CLASS, *sensitive)
        .agg(pl.col(_ROWS).sum())
        .filter(pl.col(_ROWS) != 0)
    )
    if (new_rows[_ROWS] < 0).any():
        raise DataError("Rows of the previous release are missing: rows were not only added.")
    classes = new_rows[_CLASS].unique().sort()
    ids = new_rows[_CLASS].replace_strict(classes, pl.Series(range(len(classes)), dtype=pl.Int64)).to_numpy()
    columns = after.seen.true_groups.domain.columns
    codes = [column.codes(new_rows[column.name]) for column in columns]
    return Groups.of_rows(ids, len(classes), columns, codes, new_rows[_ROWS].to_numpy())


def _rows_by_class(side: PublicSide) -> pl.DataFrame:
    """Count the rows of each class by sensitive values."""
    (number,), sensitive = side.manifest.named("group"), list(side.manifest.named("sensitive"))
    counted, counts = side.rows["data"].counted([number, *sensitive])
    return counted.select(
        pl.col(number).cast(pl.Int64).alias(_CLASS), *sensitive, pl.Series(counts, dtype=pl.Int64).alias(_ROWS)
    )


def class_map(before: PublicSide, after: PublicSide) -> dict[int, int]:
    """Map each class of the previous release to the class of this one that contains it; a :class:`DataError` if there is none."""
    quasi, count = after.manifest.named("quasi"), before.rows["regions"].height
    both_regions = [_regions_of(side) for side in (before, after)]
    if (
        not before.rows["places"].frame().equals(after.rows["places"].frame())
        or both_regions[0].schema != both_regions[1].schema
    ):
        raise DataError("The previous release has another order of values, or other bounds.")
    regions, (column, value, rank_column) = pl.concat(both_regions), after.manifest.named("place")
    value_ranks, bounds = after.rows["places"].frame().sort(rank_column), bound_columns(after.manifest)
    columns = [
        SteppedColumn.of(
            name,
            after.manifest.column(name).kind,
            regions.select(bounds[name]),
            value_ranks.filter(pl.col(column) == name)[value].to_list(),
        )
        for name in quasi
    ]
    boxes = np.stack([ends for column in columns for ends in (column.lows, column.highs)])
    distinct, box_of = np.unique(boxes, axis=1, return_inverse=True)
    level = np.zeros(distinct.shape[1], dtype=np.int64)
    np.maximum.at(level, box_of.ravel(), regions[_LEVEL].to_numpy())
    box_columns = tuple(
        replace(column, lows=distinct[2 * index], highs=distinct[2 * index + 1]) for index, column in enumerate(columns)
    )
    joint_regions = NestedRegions(box_columns, level, pl.Series(level), {})
    filled = np.flatnonzero(
        joint_regions.blocks([np.ones(len(box_column.steps), dtype=bool) for box_column in box_columns]) > 0
    )
    groups = regions[_CLASS].to_numpy()
    class_before, class_now = (
        _innermost(joint_regions, box_of.ravel()[side_regions], groups[side_regions], filled)
        for side_regions in (slice(count), slice(count, None))
    )
    pairs = np.unique(np.stack([class_before, class_now]), axis=1)
    ambiguous = np.flatnonzero(pairs[0, 1:] == pairs[0, :-1])
    if len(ambiguous):
        raise DataError(
            f"Class {pairs[0, ambiguous[0]]} of the previous release is not inside one class of this release."
        )
    return dict(zip(*pairs.tolist(), strict=True))


def _regions_of(side: PublicSide) -> pl.DataFrame:
    """Return class, level and plain bounds of every region."""
    (number,), (level,) = side.manifest.named("group"), side.manifest.named("level")
    bounds = [name for bound_column in bound_columns(side.manifest).values() for name in bound_column]
    frame = side.rows["regions"].frame()
    return frame.select(
        pl.col(number).cast(pl.Int64).alias(_CLASS), pl.col(level).cast(pl.Int64).alias(_LEVEL), *bounds
    )


def _innermost(joint_regions: NestedRegions, region_indices: Ids, groups: Ids, blocks: Ids) -> Ids:
    """Return the class that each of ``blocks`` (regions of both releases together) has in one release, whose regions are at
    ``region_indices`` with the classes ``groups``: that of the innermost enclosing region of the release.
    """
    class_of = np.full(len(joint_regions.level), -1, dtype=np.int64)
    class_of[region_indices] = groups
    enclosing = blocks.copy()
    while (class_of[enclosing] < 0).any():
        enclosing = np.where(class_of[enclosing] < 0, joint_regions.encloser[enclosing], enclosing)
        if (enclosing < 0).any():
            raise DataError("The regions of a release do not cover everything.")
    return class_of[enclosing]
