"""The confidential counts: how often each value occurs in each declared group. Rows that do not match the declarations are
refused here, before sampling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from reticent.errors import DataError
from reticent.methods.synthesize.declared import DeclaredDomain, DeclaredGroups, DeclaredParts, plain_type
from reticent.methods.synthesize.urn import Ints, Pools
from reticent.table import Table, unused

_NO_PART = "\0without a part: "


@dataclass(frozen=True, eq=False)
class GroupedCounts:
    """Value codes with the number of rows that have them (``times``), group by group; ``ends`` are the ends of the groups, ``sizes`` their rows."""

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
        """Count a table by its declared groups and values. A :class:`DataError` tells the steward what does not match; nothing is dropped."""
        _check_people(table, rows_per_person)
        coding = _Coding(groups, domain, elsewhere, missing, parts)
        parts_found = [
            coding.added(frame, counts) for frame, counts in _counted(table, [*groups.columns, domain.values.name])
        ]
        coding.check()
        cells, counts = _summed(parts_found)
        group, code = np.divmod(cells, len(domain.values))
        return cls(code, counts, np.cumsum(np.bincount(group, minlength=len(groups.sizes))), groups.sizes)

    def stretches(self, rows: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of groups (first, end) with about ``rows`` rows each, at least one group per range."""
        total = np.cumsum(self.sizes)
        start = 0
        while start < len(total):
            before = int(total[start - 1]) if start else 0
            stop = max(int(np.searchsorted(total, before + rows, side="right")), start + 1)
            yield start, stop
            start = stop

    def pools(self, start: int, stop: int) -> Pools:
        """Return the people of some groups."""
        first, last = int(self.ends[start - 1]) if start else 0, int(self.ends[stop - 1])
        return Pools(np.repeat(self.codes[first:last], self.times[first:last]), self.sizes[start:stop])


def _counted(table: Table, columns: list[str]) -> Iterator[tuple[pl.DataFrame, Ints]]:
    """Yield distinct rows of some columns with their multiplicities, a part of the table at a time; a weight column gives the multiplicity."""
    rows = unused("rows", [*columns, table.weight or ""])
    for chunk in table.held.chunks([*columns, *([] if table.weight is None else [table.weight])]):
        multiplicity = pl.lit(1, pl.Int64) if table.weight is None else _whole_weights(chunk[table.weight])
        chunk = chunk.select(*columns, multiplicity.alias(rows))
        distinct_rows = chunk.group_by(columns).agg(pl.col(rows).sum())
        yield distinct_rows.select(columns), distinct_rows[rows].to_numpy()


def _whole_weights(weights: pl.Series) -> pl.Series:
    """Return weights as whole numbers. Raises for fractions and negative ones."""
    whole_numbers = weights.cast(pl.Int64, strict=False)
    if whole_numbers.null_count() or (whole_numbers != weights).any() or (whole_numbers < 0).any():
        raise DataError(
            f"The weight column {weights.name!r} must hold whole numbers: a weight is a number of rows, and fractions of rows cannot be sampled. Drop the weight, "
            "or count the rows first.",
            column=weights.name,
        )
    return whole_numbers


def _summed(parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Return the distinct cells (indexes of pairs of group and value) of several parts, sorted, and the rows of each."""
    cells, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(cells, kind="stable")
    cells, counts = cells[order], counts[order]
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    return cells[first], np.add.reduceat(counts, first) if len(first) else counts


def _check_people(table: Table, rows_per_person: int) -> None:
    """Raise if a person has more rows than the plan allows."""
    if table.key is None:
        return
    _, row_counts = table.held.counted([table.key])
    if int(row_counts.max()) > rows_per_person:
        raise DataError(
            f"A person has {int(row_counts.max())} rows, but the plan allows at most {rows_per_person}. Pass rows_per_person={int(row_counts.max())}, which needs more noise, "
            "or keep fewer rows of each person.",
            setting=("rows_per_person",),
            value=rows_per_person,
        )


class _Coding:
    """Converts rows to cell indexes, a part of the table at a time: group index times the number of values, plus value
    index. Mutable: mismatches are counted, and reported after all rows.
    """

    def __init__(
        self,
        groups: DeclaredGroups,
        domain: DeclaredDomain,
        elsewhere: str | None,
        missing: str | None,
        parts: DeclaredParts | None,
    ) -> None:
        """Prepare lookups of groups and values; rows of unknown groups (``unknown``), missing values (``lost``) and values outside the domain (``outside``) are noted."""
        self.groups, self.domain, self.elsewhere, self.missing, self.parts = groups, domain, elsewhere, missing, parts
        self.value = domain.values.name
        self.columns = [*groups.columns, self.value]
        self.group, self.code, self.rows = (unused(name, self.columns) for name in ("group", "code", "rows"))
        self.listed = groups.frame.select(groups.columns).with_row_index(self.group)
        self.coded = domain.values.to_frame().with_row_index(self.code)
        self.sizes = np.zeros(len(groups.sizes), dtype=np.int64)
        self.unknown: dict[str, object] | None = None
        self.lost = self.outside = 0
        self.stranger: object = None

    def added(self, frame: pl.DataFrame, multiplicities: Ints) -> tuple[Ints, Ints]:
        """Count distinct rows with their multiplicities: return the cells (group index times number of values, plus value
        index) and the rows of each. Rows of unknown groups or values are remembered for :meth:`check`.
        """
        frame = frame.with_columns(pl.col(name).cast(plain_type(dtype)) for name, dtype in frame.schema.items())
        frame = frame.with_columns(pl.Series(self.rows, multiplicities))
        if self.groups.columns:
            frame = frame.join(self.listed, on=self.groups.columns, how="left", nulls_equal=True)
        else:
            frame = frame.with_columns(pl.lit(0, pl.UInt32).alias(self.group))
        unknown = frame.filter(pl.col(self.group).is_null())
        if unknown.height:
            self.unknown = self.unknown or unknown.select(self.groups.columns).row(0, named=True)
            frame = frame.filter(pl.col(self.group).is_not_null())
        np.add.at(self.sizes, frame[self.group].to_numpy(), frame[self.rows].to_numpy())
        frame = self._in_domain(_by_part(frame, self.value, self.parts))
        coded = frame.join(self.coded, on=self.value, how="inner").select(self.group, self.code, self.rows)
        cells = coded[self.group].to_numpy().astype(np.int64) * len(self.domain.values) + coded[self.code].to_numpy()
        return cells, coded[self.rows].to_numpy().astype(np.int64)

    def _in_domain(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows with every value in the domain: others are replaced by ``missing`` or ``elsewhere``."""
        values = frame[self.value]
        lost, outside = self.domain.strangers(values)
        if not lost.any() and not outside.any():
            return frame
        self.lost += int(frame.filter(lost)[self.rows].sum())
        self.outside += int(frame.filter(outside)[self.rows].sum())
        if self.stranger is None and outside.any():
            self.stranger = values.filter(outside)[0]
        return frame.with_columns(self.domain.shown(values, self.elsewhere, self.missing))

    def check(self) -> None:
        """Refuse groups or sizes that differ from the declared ones, and values without a replacement."""
        if self.unknown is not None:
            raise DataError(
                f"The table has the group {_named(self.unknown)}, which groups does not declare. Declare every group that is "
                "publicly known, with its public size; one that is not must not be published.",
                setting=("groups",),
            )
        wrong = np.flatnonzero(self.sizes != self.groups.sizes)
        if len(wrong):
            first = self.groups.frame.row(int(wrong[0]), named=True)
            raise DataError(
                f"{len(wrong):,} groups of the table do not have the declared size; the first is {_named({name: first[name] for name in self.groups.columns})}: declared "
                f"{int(self.groups.sizes[wrong[0]]):,}, found {int(self.sizes[wrong[0]]):,}. Only sizes that are already public and true can be published. This message "
                "is about the confidential rows; do not pass it on.",
                setting=("groups",),
            )
        if self.lost and self.missing is None:
            raise DataError(
                f"{self.lost:,} rows have no value in column {self.value!r}. Rows are never dropped: set a value to replace missing ones, Synthetic(missing=...).",
                setting=("missing",),
                column=self.value,
            )
        if self.outside and self.elsewhere is None:
            raise DataError(
                f"{self.outside:,} rows have a value in column {self.value!r} that is not in the declared domain, such as {str(self.stranger).removeprefix(_NO_PART)!r}. Rows are never dropped: declare every value that "
                "is possible, or set a value to replace all others, Synthetic(elsewhere=...). This message is about the confidential rows; do not pass it on.",
                setting=("elsewhere",),
                column=self.value,
            )


def _by_part(frame: pl.DataFrame, value: str, parts: DeclaredParts | None) -> pl.DataFrame:
    """Return rows with each value replaced by its public part; without parts, unchanged. A value that has no part keeps its
    text behind a prefix that no part has.
    """
    if parts is None:
        return frame
    part = unused("part", frame.columns)
    listed = parts.values.to_frame(value).with_columns(parts.parts.alias(part))
    joined = frame.join(listed, on=value, how="left", maintain_order="left")
    return joined.with_columns(
        # A value without a part is outside the domain, even if its name is that of a part.
        pl.coalesce(
            part, pl.when(pl.col(value).is_not_null()).then(pl.lit(_NO_PART) + pl.col(value).cast(pl.String))
        ).alias(value)
    ).drop(part)


def _named(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in values.items()) or "(all rows)"
