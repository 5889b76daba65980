"""Published formats: how the groups that a definition judges are read off the public tables, and off nothing else.

``generalize``  one table ``data``: rows with the same labels are a group
``bucketize``   ``quasi`` has exact labels with a bucket, ``sensitive`` the sensitive values of each bucket: a bucket is a group
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import Groups, Histograms, SensitiveColumn, SensitiveDomain
from reticent.data.keys import first_rows, number, pack, sum_by
from reticent.data.sensitive import bind_sensitive
from reticent.errors import DataError
from reticent.release.manifest import Manifest
from reticent.release.rows import group_rows
from reticent.release.stored import counted

Frames = Mapping[str, pl.DataFrame]
Columns = Sequence[SensitiveColumn]
References = Mapping[str, NDArray[np.int64]]


class PublishedFormat(Protocol):
    """What every published format knows about itself."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its tables; the first is the main one."""

    @property
    def sensitive_table(self) -> str:
        """The table that has the sensitive columns."""

    @property
    def hides_identity(self) -> bool:
        """Whether people of a group look alike, so that quasi values do not single anybody out."""

    @property
    def streams(self) -> bool:
        """Whether tables that are too large for memory can be judged where they lie."""

    def check(self, tables: Frames, manifest: Manifest) -> None:
        """Whether the tables fit together; a :class:`DataError` says where they do not."""

    def cells(self, tables: Frames, manifest: Manifest, quasi: Sequence[str]) -> Cells:
        """The rows by group and sensitive values, for an adversary who knows some ``quasi`` columns."""


@dataclass(frozen=True)
class Cells:
    """Rows by group and sensitive values: ``ids[i]`` is the group of cell ``i``, ``values`` its row of sensitive columns, and
    ``counts`` how many rows it stands for, if not one.
    """

    ids: NDArray[Any]
    groups: int
    values: pl.DataFrame
    counts: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Generalized:
    """One table of labels and sensitive values."""

    tables: tuple[str, ...] = ("data",)
    sensitive_table: str = "data"
    hides_identity: bool = True
    streams: bool = True

    def check(self, tables: Frames, manifest: Manifest) -> None:
        if manifest.bucket is not None or manifest.count is not None:
            raise DataError("manifest.json: a generalized release has neither a bucket nor a count column.")
        if any(column.exact for column in manifest.columns):
            raise DataError("manifest.json: the quasi columns of a generalized release are published as labels.")

    def cells(self, tables: Frames, manifest: Manifest, quasi: Sequence[str]) -> Cells:
        sensitive = manifest.named("sensitive")
        rows, times = counted(tables, "data", [*quasi, *sensitive])
        ids, groups = group_rows([rows[name] for name in quasi], rows.height)
        return Cells(ids, groups, rows.select(sensitive), times)


@dataclass(frozen=True)
class Bucketized:
    """Two tables that share only a bucket number."""

    tables: tuple[str, ...] = ("quasi", "sensitive")
    sensitive_table: str = "sensitive"
    hides_identity: bool = False
    streams: bool = False

    def check(self, tables: Frames, manifest: Manifest) -> None:
        bucket = manifest.bucket
        if bucket is None or any(bucket not in table.columns for table in manifest.tables.values()):
            raise DataError("manifest.json: both tables of a bucketized release need the bucket column.")
        quasi, sensitive = (set(manifest.tables[name].columns) for name in self.tables)
        expected = {bucket, *manifest.named("sensitive"), *([manifest.count] if manifest.count is not None else [])}
        if sensitive != expected or quasi & sensitive != {bucket}:
            raise DataError("manifest.json: the sensitive columns, and nothing else, stand in the sensitive table.")
        if any(table[bucket].null_count() for table in tables.values()):
            raise DataError("A row of a bucketized release has no bucket.")
        counts = self._counts(tables, manifest)
        if (counts < 1).any():
            raise DataError(f"The sensitive table counts {int(counts.min())} rows for a value; a count is at least 1.")
        shown = tables["quasi"].group_by(bucket).agg(pl.len().cast(pl.Int64).alias("rows"))
        values = (
            tables["sensitive"].select(bucket, counts=pl.Series(counts)).group_by(bucket).agg(pl.col("counts").sum())
        )
        wrong = shown.join(values, on=bucket, how="full", coalesce=True).filter(
            pl.col("rows").ne_missing(pl.col("counts"))
        )
        if wrong.height:
            number, rows, counted_rows = wrong.sort(bucket).select(bucket, "rows", "counts").row(0)
            raise DataError(
                f"Bucket {number} has {rows or 0} rows in the quasi table and {counted_rows or 0} in the sensitive table."
            )

    def cells(self, tables: Frames, manifest: Manifest, quasi: Sequence[str]) -> Cells:
        # Whatever part of the quasi values is known, they lead to buckets and no further.
        table = tables["sensitive"]
        ids, groups = group_rows([table[str(manifest.bucket)]], table.height)
        return Cells(ids, groups, table.select(manifest.named("sensitive")), self._counts(tables, manifest))

    @staticmethod
    def _counts(tables: Frames, manifest: Manifest) -> NDArray[np.int64]:
        table = tables["sensitive"]
        if manifest.count is None:
            return np.ones(table.height, dtype=np.int64)
        counts = table[manifest.count]
        if counts.null_count():
            raise DataError("The sensitive table has a row without a count.")
        return counts.to_numpy()


FORMATS: Mapping[str, PublishedFormat] = {"generalize": Generalized(), "bucketize": Bucketized()}


def format_of(name: str) -> PublishedFormat:
    """A published format by name."""
    if name not in FORMATS:
        raise DataError(f"{name!r} is not a published format that this version knows ({', '.join(FORMATS)}).")
    return FORMATS[name]


def groups_from(
    tables: Frames,
    manifest: Manifest,
    quasi: Sequence[str] | None = None,
    columns: Columns | None = None,
    reference: References | None = None,
) -> Groups:
    """The groups that the public tables show to somebody who knows the ``quasi`` columns (all of them, if not said).

    ``columns`` are the sensitive columns' domains (those that occur, if not given) and ``reference`` the whole table's
    histograms where these were published; without them the published rows are the whole table.
    """
    form = format_of(manifest.format)
    cells = form.cells(tables, manifest, manifest.named("quasi") if quasi is None else quasi)
    bound = columns if columns is not None else occurring(tables, manifest)
    return groups_of_cells(cells, bound, reference)


def occurring(tables: Frames, manifest: Manifest) -> tuple[SensitiveColumn, ...]:
    """The sensitive columns with the values that occur."""
    rows, _ = counted(tables, format_of(manifest.format).sensitive_table, manifest.named("sensitive"))
    return tuple(bind_sensitive(name, None, rows[name]) for name in manifest.named("sensitive"))


def groups_of_cells(cells: Cells, columns: Columns, reference: References | None = None) -> Groups:
    """Groups from rows (or counted cells) with the domains of the sensitive columns; see :func:`groups_from`."""
    sizes = sum_by(cells.ids, cells.counts, cells.groups)
    codes = [column.codes(cells.values[column.name]) for column in columns]
    if not columns:
        domain, joint = SensitiveDomain.none(), np.zeros(len(cells.ids), dtype=np.int64)
    elif len(columns) == 1:
        domain, joint = SensitiveDomain.single(columns[0]), codes[0].astype(np.int64)
    else:
        joint, count = number(*pack(codes, [column.size for column in columns], len(cells.ids)))
        firsts = first_rows(joint, count)
        domain = SensitiveDomain(tuple(columns), np.stack([each[firsts] for each in codes], axis=1).astype(np.int32))
    histograms = Histograms.from_cells(cells.ids, joint, cells.counts, cells.groups, domain.size)
    published = histograms.total(domain.size)
    if not reference:
        return Groups(sizes, histograms, published, domain)
    if len(columns) == 1:
        return Groups(sizes, histograms, reference[columns[0].name], domain)
    whole, total = _joint_reference(domain, published, reference)
    return Groups(sizes, histograms, total, whole)


def _joint_reference(
    domain: SensitiveDomain, published: NDArray[np.int64], reference: References
) -> tuple[SensitiveDomain, NDArray[np.int64]]:
    """A joint histogram that contains the published rows and has the reference histograms as its marginals.

    Definitions look at a column's marginal only, so any such histogram gives the same verdict; the rows that were not published
    are matched column by column in order. A column without a reference gets its first value.
    """
    missing = [
        reference[column.name] - sum_by(domain.joint[:, place], published, column.size)
        for place, column in enumerate(domain.columns)
        if column.name in reference
    ]
    rows = int(missing[0].sum())
    if any((each < 0).any() or int(each.sum()) != rows for each in missing):
        raise DataError("The reference histograms of the sensitive columns do not fit the published rows.")
    edges = np.unique(np.concatenate([[0], *(np.cumsum(each) for each in missing)]))
    starts, lengths = edges[:-1], np.diff(edges)
    extra = np.zeros((len(starts), len(domain.columns)), dtype=np.int32)
    with_reference = [place for place, column in enumerate(domain.columns) if column.name in reference]
    for place, each in zip(with_reference, missing, strict=True):
        extra[:, place] = np.searchsorted(np.cumsum(each), starts, side="right")
    joint = np.concatenate([domain.joint, extra])
    return SensitiveDomain(domain.columns, joint), np.concatenate([published, lengths])
