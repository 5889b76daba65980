"""Publishers for growing tables after [Sweeney2002] and [Byun2006], which precede signature-based series.

They partition people into groups, release by release; :meth:`History.import_release` imports their groups, so that the
series can be attacked and compared with others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import one_of, whole
from reticent.errors import DataError, Infeasible

Ints = NDArray[np.int64]
Points = NDArray[np.float64]
_CHUNK = 1 << 22


@dataclass(frozen=True)
class IncrementalRelease:
    """One release: the ``rows`` of everyone in it, the ``group`` of each, numbered from 0, and the rows of people still ``waiting``."""

    rows: pl.DataFrame
    group: Ints
    waiting: pl.DataFrame


@dataclass(frozen=True)
class NewRows:
    """A growing table as arrays: scaled quasi values (``points``), codes of the sensitive ``value``, the first release
    (``cohort``) of each row, and its ``group`` so far (-1: none).
    """

    points: Points
    value: Ints
    cohort: Ints
    group: Ints


class IncrementalPublisher(Protocol):
    """Assigns every row of a growing table to a group; rows that have one stay together as the publisher allows, and rows
    that cannot be published yet get -1.
    """

    def place(self, rows: NewRows) -> Ints:
        """Return the group of every row in the next release."""
        ...


@dataclass(frozen=True)
class SweeneyGroups:
    """Groups of at least ``k`` people after Sweeney's two policies for later releases.

    ``policy="never finer"``: a person's published box never gets finer. A new row joins the smallest box that contains
    it; others form new groups, or extend the box that grows least. ``policy="all quasi"``: after the first release
    every published column counts as known, so groups also have a single sensitive value.

    Guarantee: groups of k people, and no box that gets finer. Adversary: links people by quasi values. Not covered:
    homogeneous groups, and differences of releases, which disclose the values of newcomers. Source: [Sweeney2002],
    attacks on releases over time, as [Anjum2013] reports them.

    Example:
        >>> import reticent as rt
        >>> rt.baselines.SweeneyGroups(k=3)
        SweeneyGroups(k=3, policy='never finer')
    """

    k: int
    policy: Literal["never finer", "all quasi"] = "never finer"

    def __post_init__(self) -> None:
        whole(self.k, "SweeneyGroups: k", low=2)
        one_of(self.policy, "SweeneyGroups: policy", ("never finer", "all quasi"))

    def place(self, rows: NewRows) -> Ints:
        """Return the group of every row: new rows join the groups whose box contains them, and the others form new groups."""
        group = rows.group.copy()
        is_first_release = not (group >= 0).any()
        new = np.flatnonzero(group < 0)
        if self.policy == "never finer" or is_first_release:
            return self._joined(rows.points, group, new)
        for value in np.unique(rows.value):
            # Groups of one value do not include those of the first release, formed before the value counted as known.
            new_of_value = new[rows.value[new] == value]
            groups_of_value = np.flatnonzero((rows.value == value) & (rows.cohort > 0))
            known_groups = np.where(np.isin(np.arange(len(group)), groups_of_value), group, -1)
            placed = self._joined(rows.points, known_groups, new_of_value)
            is_new_group = placed[new_of_value] > int(known_groups.max(initial=-1))
            group[new_of_value] = np.where(
                is_new_group,
                placed[new_of_value] - int(known_groups.max(initial=-1)) + int(group.max()),
                placed[new_of_value],
            )
        return group

    def _joined(self, points: Points, group: Ints, new: Ints) -> Ints:
        """Return ``group`` with the ``new`` rows assigned: to the group whose box contains them; the others form new groups
        if they are at least ``k``, otherwise they join the nearest box.
        """
        group = group.copy()
        count = int(group.max(initial=-1)) + 1
        covering_group, _ = _nearest_boxes(points, group, new)
        group[new] = covering_group
        uncovered = new[covering_group < 0]
        if len(uncovered) >= self.k:
            group[uncovered] = count + _halved(points, uncovered, lambda part: len(part) >= self.k)
        elif len(uncovered) and count:
            group[uncovered] = _nearest_boxes(points, group, uncovered)[1]
        return group


@dataclass(frozen=True)
class ByunGroups:
    """Groups with at least ``l`` distinct values after [Byun2006], for growing tables.

    New rows join the nearest group if the new rows there have ``l`` distinct values, form new groups if they have, and
    wait otherwise (possibly forever). Groups are split if in both parts the rows of every cohort have ``l`` distinct
    values.

    Guarantee: an adversary who compares all releases finds at least ``l`` values for everybody. Adversary: knows who is
    in which group of every release, and who came when. Not covered: values that most of a group share (distinct
    diversity ignores frequencies), people who leave, return or change. Source: [Byun2006], as reported by [Anjum2013];
    distinguishing rows by cohort is our addition.

    Example:
        >>> import reticent as rt
        >>> rt.baselines.ByunGroups(l=3)
        ByunGroups(l=3)
    """

    l: int  # noqa: E741  # the name of the parameter in the literature

    def __post_init__(self) -> None:
        whole(self.l, "ByunGroups: l", low=2)

    def place(self, rows: NewRows) -> Ints:
        """Return the group of every row: new rows join the nearest group if it stays diverse; large groups are split."""
        group = rows.group.copy()
        new = np.flatnonzero(group < 0)
        if (group >= 0).any() and len(new):
            nearest = _nearest_boxes(rows.points, group, new)[1]
            joins = self._diverse(nearest, rows.value[new])
            group[new[joins]] = nearest[joins]
        ungrouped = np.flatnonzero(group < 0)
        if len(np.unique(rows.value[ungrouped])) >= self.l:
            group[ungrouped] = int(group.max(initial=-1)) + 1
        return self._split(rows, group)

    def _diverse(self, group: Ints, value: Ints) -> NDArray[np.bool_]:
        """Mask the rows in groups with enough distinct values."""
        rows_of_groups = pl.DataFrame({"group": group, "value": value})
        return (rows_of_groups.select(pl.col("value").n_unique().over("group"))["value"] >= self.l).to_numpy()

    def _split(self, rows: NewRows, group: Ints) -> Ints:
        """Return the group of every row (-1: none) after splitting groups at medians while, in both halves, the rows of every
        first release ('cohort') have enough distinct values.
        """
        split, count = np.full(len(group), -1, dtype=np.int64), 0
        inside = np.flatnonzero(group >= 0)
        order = inside[np.argsort(group[inside], kind="stable")]
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))

        def passes(part: Ints) -> bool:
            """True if the rows of every first release ('cohort') in a part have at least ``l`` distinct values."""
            return all(
                len(np.unique(rows.value[part[rows.cohort[part] == cohort]])) >= self.l
                for cohort in np.unique(rows.cohort[part])
            )

        for members in np.split(order, starts[1:]) if len(order) else ():
            parts = _halved(rows.points, members, passes)
            split[members] = count + parts
            count += int(parts.max()) + 1
        return split


def publish_incrementally(
    publisher: IncrementalPublisher, frames: Iterable[pl.DataFrame], key: str, quasi: Sequence[str], sensitive: str
) -> list[IncrementalRelease]:
    """Return the releases of a growing table: each of the ``frames`` contains all rows of the previous one, unchanged.

    Parameters:
        publisher: :class:`SweeneyGroups` or :class:`ByunGroups`.
        frames: the table at each release.
        key: the column that identifies people.
        quasi: the columns that others may know; numbers, or anything that has an order.
        sensitive: the sensitive column.

    Example:
        >>> import polars as pl
        >>> import reticent as rt
        >>> rows = pl.DataFrame({"id": range(8), "age": range(30, 38), "ill": ["flu", "cold"] * 4})
        >>> months = rt.baselines.publish_incrementally(rt.baselines.ByunGroups(2), [rows[:4], rows], "id", ["age"], "ill")
        >>> [len(set(each.group)) for each in months]
        [2, 4]
    """
    releases: list[IncrementalRelease] = []
    previous: pl.DataFrame | None = None
    cohort, group = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for number, frame in enumerate(frames):
        rows = _grown(previous, frame.select(key, *quasi, sensitive), key)
        added = rows.height - len(cohort)
        cohort = np.concatenate([cohort, np.full(added, number)])
        group = np.concatenate([group, np.full(added, -1)])
        value = rows[sensitive].rank("dense").cast(pl.Int64).to_numpy() - 1
        # The cohort of a waiting row is the release that first publishes it.
        cohort = np.where(group < 0, number, cohort)
        group = publisher.place(NewRows(_scaled(rows, quasi), value, cohort, group))
        published = np.flatnonzero(group >= 0)
        if not len(published):
            raise Infeasible(
                f"None of the {rows.height} people can be published with {publisher!r} yet. Start with more rows."
            )
        group_numbers = np.unique(group[published], return_inverse=True)[1]
        releases.append(IncrementalRelease(rows[published], group_numbers, rows[np.flatnonzero(group < 0)]))
        group[published] = group_numbers
        previous = rows
    return releases


def _grown(before: pl.DataFrame | None, frame: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return the table with the previous rows first; a lost or changed row raises a :class:`DataError`."""
    if frame[key].n_unique() < frame.height:
        raise DataError(f"Column {key!r} has a value more than once. One row per person is needed.", column=key)
    if before is None:
        return frame
    unchanged = before.join(frame, on=frame.columns, how="semi", maintain_order="left")
    if unchanged.height < before.height:
        raise DataError(
            "A row of the previous table is missing or was changed, but these publishers support only tables that grow. Use republish for other changes."
        )
    return pl.concat([before, frame.join(before, on=key, how="anti", maintain_order="left")])


def _scaled(rows: pl.DataFrame, quasi: Sequence[str]) -> Points:
    """Return quasi values scaled to [0, 1], rows by columns: numbers by their range, others by rank."""
    columns = [rows[name] if rows[name].dtype.is_numeric() else rows[name].rank("dense") for name in quasi]
    matrix = np.stack([column.cast(pl.Float64).to_numpy() for column in columns], axis=1)
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    return np.asarray((matrix - low) / np.where(high > low, high - low, 1.0))


def _nearest_boxes(points: Points, group: Ints, new: Ints) -> tuple[Ints, Ints]:
    """Return for each new row the group with the smallest box that contains it (-1: none), and the group whose box would grow least."""
    count = int(group.max(initial=-1)) + 1
    inside, nearest = np.full(len(new), -1, dtype=np.int64), np.full(len(new), -1, dtype=np.int64)
    if not count or not len(new):
        return inside, nearest
    grouped = np.flatnonzero(group >= 0)
    low, high = np.full((count, points.shape[1]), np.inf), np.full((count, points.shape[1]), -np.inf)
    np.minimum.at(low, group[grouped], points[grouped])
    np.maximum.at(high, group[grouped], points[grouped])
    has_box = np.isfinite(low).all(axis=1)
    sides = np.where(has_box, (high - low).sum(axis=1), np.inf)
    step = max(1, _CHUNK // (count * points.shape[1]))
    for begin in range(0, len(new), step):
        batch = points[new[begin : begin + step], None, :]
        with np.errstate(invalid="ignore"):
            growth = (np.maximum(low - batch, 0) + np.maximum(batch - high, 0)).sum(axis=2)
        growth = np.where(has_box, growth, np.inf)
        nearest[begin : begin + step] = np.argmin(growth, axis=1)
        smallest_box = np.argmin(np.where(growth == 0, sides, np.inf), axis=1)
        inside[begin : begin + step] = np.where(
            growth[np.arange(len(smallest_box)), smallest_box] == 0, smallest_box, -1
        )
    return inside, nearest


def _halved(points: Points, members: Ints, passes: Callable[[Ints], bool]) -> Ints:
    """Return the part number of each of ``members``, from halving them at the median of the widest column, or of the next
    one, while both halves pass (Mondrian).
    """
    part = np.zeros(len(members), dtype=np.int64)
    pending: list[Ints] = [np.arange(len(members))]
    count = 0
    while pending:
        subset = pending.pop()
        halves = _median_halves(points, members, subset, passes)
        if halves is None:
            part[subset] = count
            count += 1
        else:
            pending += halves
    return part


def _median_halves(points: Points, members: Ints, subset: Ints, passes: Callable[[Ints], bool]) -> list[Ints] | None:
    """Return two halves of a subset that both pass, split at the median of the widest column for which that is possible; None if there is none."""
    member_points = points[members[subset]]
    for column in np.argsort(member_points.min(axis=0) - member_points.max(axis=0), kind="stable").tolist():
        low = member_points[:, column] < np.median(member_points[:, column])
        low = low if low.any() else member_points[:, column] <= np.median(member_points[:, column])
        halves: list[Any] = [subset[low], subset[~low]]
        if all(len(half) and passes(members[half]) for half in halves):
            return halves
    return None
