"""The confidential side: how often each value occurs in each declared group. Whatever does not fit what was declared is refused here, before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from reticent.data import Table, unused
from reticent.errors import DataError
from reticent.synthesize.declared import DeclaredDomain, DeclaredGroups, DeclaredParts, plain_type
from reticent.synthesize.urn import Ints, Pools

_NO_PART = "\0without a part: "


@dataclass(frozen=True, eq=False)
class GroupedCounts:
    """Codes of values with the number of rows that have them (``times``), group after group; ``ends`` says where groups end, ``sizes`` how many rows they have."""

    codes: Ints = field(repr=False)
    times: Ints = field(repr=False)
    ends: Ints = field(repr=False)
    sizes: Ints = field(repr=False)

    @classmethod
    def of(
        cls,
        table: Table,
        groups: DeclaredGroups,
        domain: DeclaredDomain,
        elsewhere: str | None,
        missing: str | None,
        rows_per_person: int,
        parts: DeclaredParts | None = None,
    ) -> GroupedCounts:
        """Count a table by its declared groups and values. A :class:`DataError` tells the steward what does not fit; nothing is dropped."""
        _check_people(table, rows_per_person)
        value = domain.values.name
        frame, times = _counted(table, [*groups.columns, value])
        group, code, rows = (unused(name, frame.columns) for name in ("group", "code", "rows"))
        frame = frame.with_columns(pl.col(name).cast(plain_type(dtype)) for name, dtype in frame.schema.items())
        frame = frame.with_columns(pl.Series(rows, times))
        if groups.columns:
            listed = groups.frame.select(groups.columns).with_row_index(group)
            frame = frame.join(listed, on=groups.columns, how="left", nulls_equal=True)
        else:
            frame = frame.with_columns(pl.lit(0, pl.UInt32).alias(group))
        _check_groups(frame, group, rows, groups)
        frame = _in_domain(_by_part(frame, value, parts), value, rows, domain, elsewhere, missing)
        coded = domain.values.to_frame().with_row_index(code)
        frame = frame.join(coded, on=value, how="left").group_by(group, code).agg(pl.col(rows).sum()).sort(group, code)
        ends = np.cumsum(np.bincount(frame[group].to_numpy(), minlength=len(groups.sizes)))
        return cls(frame[code].to_numpy().astype(np.int64), frame[rows].to_numpy().astype(np.int64), ends, groups.sizes)

    def stretches(self, rows: int) -> Iterator[tuple[int, int]]:
        """Stretches of groups with about so many rows each, at least one group."""
        total = np.cumsum(self.sizes)
        start = 0
        while start < len(total):
            before = int(total[start - 1]) if start else 0
            stop = max(int(np.searchsorted(total, before + rows, side="right")), start + 1)
            yield start, stop
            start = stop

    def pools(self, start: int, stop: int) -> Pools:
        """The people of some groups."""
        first, last = int(self.ends[start - 1]) if start else 0, int(self.ends[stop - 1])
        return Pools(np.repeat(self.codes[first:last], self.times[first:last]), self.sizes[start:stop])


def _counted(table: Table, columns: list[str]) -> tuple[pl.DataFrame, Ints]:
    """Distinct rows of some columns and how many rows they stand for: with a weight, as many as it says."""
    if table.weight is None:
        return table.held.counted(columns)
    frame, times = table.held.counted([*columns, table.weight])
    weights = frame[table.weight]
    whole = weights.cast(pl.Int64, strict=False)
    if whole.null_count() or (whole != weights).any() or (whole < 0).any():
        raise DataError(
            f"The weight column {table.weight!r} must hold whole numbers: each row stands for so many, and a part of a row cannot be drawn. Leave the weight out, "
            "or count the rows first.",
            column=table.weight,
        )
    return frame.select(columns), times * whole.to_numpy()


def _check_people(table: Table, rows_per_person: int) -> None:
    if table.key is None:
        return
    _, times = table.held.counted([table.key])
    if int(times.max()) > rows_per_person:
        raise DataError(
            f"A person has {int(times.max())} rows, and the plan is for at most {rows_per_person}. Pass rows_per_person={int(times.max())}, which costs more noise, "
            "or keep fewer rows of each person.",
            setting=("rows_per_person",),
            value=rows_per_person,
        )


def _check_groups(frame: pl.DataFrame, group: str, rows: str, groups: DeclaredGroups) -> None:
    """The table has exactly the groups that were declared, of the declared sizes."""
    unknown = frame.filter(pl.col(group).is_null())
    if unknown.height:
        found = unknown.row(0, named=True)
        raise DataError(
            f"The table has the group {_named({name: found[name] for name in groups.columns})}, which groups does not declare. Declare every group that is "
            "publicly known, with its public size; one that is not must not be published.",
            setting=("groups",),
        )
    found_sizes = np.zeros(len(groups.sizes), dtype=np.int64)
    np.add.at(found_sizes, frame[group].to_numpy(), frame[rows].to_numpy())
    wrong = np.flatnonzero(found_sizes != groups.sizes)
    if len(wrong):
        first = groups.frame.row(int(wrong[0]), named=True)
        raise DataError(
            f"{len(wrong):,} groups of the table do not have the declared size; the first is {_named({name: first[name] for name in groups.columns})}: declared "
            f"{int(groups.sizes[wrong[0]]):,}, found {int(found_sizes[wrong[0]]):,}. Only sizes that are public already and true can be published. This message "
            "is about the confidential rows; do not pass it on.",
            setting=("groups",),
        )


def _by_part(frame: pl.DataFrame, value: str, parts: DeclaredParts | None) -> pl.DataFrame:
    """The counts with each value replaced by its part, beside whether it has one; without parts, by itself."""
    if parts is None:
        return frame
    part = unused("part", frame.columns)
    listed = parts.values.to_frame(value).with_columns(parts.parts.alias(part))
    joined = frame.join(listed, on=value, how="left", maintain_order="left")
    return joined.with_columns(
        # What has no part is outside of the domain, even if it is called as a part is.
        pl.coalesce(
            part, pl.when(pl.col(value).is_not_null()).then(pl.lit(_NO_PART) + pl.col(value).cast(pl.String))
        ).alias(value)
    ).drop(part)


def _in_domain(
    frame: pl.DataFrame, value: str, rows: str, domain: DeclaredDomain, elsewhere: str | None, missing: str | None
) -> pl.DataFrame:
    """The counts with every value in the domain: those that are not are shown as ``missing`` or ``elsewhere``, or refused."""
    lost = frame.filter(pl.col(value).is_null())
    if lost.height and missing is None:
        raise DataError(
            f"{int(lost[rows].sum()):,} rows have no value in column {value!r}. Rows are never dropped: name a value that stands for them, Synthetic(missing=...).",
            setting=("missing",),
            column=value,
        )
    outside = ~frame[value].is_in(domain.values.implode()) & frame[value].is_not_null()
    if outside.any() and elsewhere is None:
        count, first = int(frame.filter(outside)[rows].sum()), frame.filter(outside)[value][0]
        raise DataError(
            f"{count:,} rows have a value in column {value!r} that is not in the declared domain, such as {str(first).removeprefix(_NO_PART)!r}. Rows are never dropped: declare every value that "
            "is possible, or name a value that stands for all others, Synthetic(elsewhere=...). This message is about the confidential rows; do not pass it on.",
            setting=("elsewhere",),
            column=value,
        )
    if not lost.height and not outside.any():
        return frame
    shown = pl.Series([elsewhere, missing]).cast(domain.values.dtype)
    return frame.with_columns(
        pl.when(outside)
        .then(pl.lit(shown[0], dtype=domain.values.dtype))
        .when(pl.col(value).is_null())
        .then(pl.lit(shown[1], dtype=domain.values.dtype))
        .otherwise(pl.col(value))
        .alias(value)
    )


def _named(values: dict[str, object]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in values.items()) or "(all rows)"
