"""The format ``bucketize``: exact quasi values in one table and sensitive values in another, which share only a bucket; a bucket is a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft
from reticent.errors import DataError, PolicyError
from reticent.methods.anatomy.recoding import DRAWN
from reticent.release import Manifest, ManifestColumn, PublishedAs
from reticent.release.format import CHOSEN, Answer, GroupFormat, Words
from reticent.table import FrameRows, Rows, Table, in_order, unused

if TYPE_CHECKING:
    from reticent.release import PublicSide


_ATTESTED = (
    "Mechanism attested, not checkable from files: that which values meet in a bucket followed from the numbers of all values alone, and that who went to which bucket was drawn "
    "at random among the people who share a value."
)
_DRAWN_RISK = (
    "Neither presence nor identity is protected. The claims about values also hold for an attacker who knows how buckets are made, since people were assigned to them at random; they "
    "hold for one who considers all assignments of a bucket's values to its people equally likely, and knows no one's value."
)


class Bucketize(GroupFormat):
    """Two tables that share only a bucket number. The sensitive table may count rows in a column of its own.

    The details state whether people were assigned at random (``drawn``), independent of their quasi values, or are
    empty: then buckets contain people with similar values.
    """

    name: ClassVar[str] = "bucketize"
    alike: ClassVar[str] = "the records of a bucket"
    tables: ClassVar[tuple[str, ...]] = ("quasi", "sensitive")
    roles: ClassVar[tuple[str, ...]] = ("bucket", "count")
    streams: ClassVar[bool] = True
    hides_identity: ClassVar[bool] = False
    shows: ClassVar[PublishedAs] = "values"

    def own_columns(self, draft: Draft, hidden: Sequence[str]) -> Mapping[str, str]:
        """Return the role of the column of bucket numbers, and of that of counts if there is one."""
        quasi, sensitive = (list(draft.tables[name].schema) for name in self.tables)
        shared = [name for name in quasi if name in sensitive]
        if len(shared) != 1:
            raise PolicyError(
                f"The two tables of a bucketized draft must share one column, the bucket, but they share {shared}."
            )
        counts = [name for name in sensitive if name not in hidden and name not in shared]
        return {shared[0]: "bucket", **dict.fromkeys(counts[:1], "count")}

    def arranged(self, rows: Mapping[str, Rows], draft: Draft, table: Table) -> Mapping[str, Rows]:
        """Return the tables with buckets numbered in an order that reveals nothing about the source."""
        frames = {name: row.frame() for name, row in rows.items() if isinstance(row, FrameRows)}
        if len(frames) < len(rows):
            # Engines number the buckets of rows that are not in memory at random.
            return rows
        bucket = next(iter(self.own_columns(draft, list(table.sensitive))))
        return {name: FrameRows(frame) for name, frame in _renumbered(frames, bucket).items()}

    def check(self, public: PublicSide) -> None:
        """Raise unless both tables have exactly their columns, and as many rows in every bucket."""
        manifest = public.manifest
        if manifest.details not in ({}, DRAWN):
            raise DataError(
                f"manifest.json: the details of a bucketized release are empty or {DRAWN}, but they are {dict(manifest.details)}."
            )
        if len(manifest.named("bucket")) != 1 or len(manifest.named("count")) > 1:
            raise DataError("manifest.json: a bucketized release has one bucket column and at most one count column.")
        bucket = bucket_of(manifest)
        if any(bucket not in table.columns for table in manifest.tables.values()):
            raise DataError("manifest.json: both tables of a bucketized release need the bucket column.")
        quasi, sensitive = (set(manifest.tables[name].columns) for name in self.tables)
        expected = {bucket, *manifest.named("sensitive"), *manifest.named("count")}
        if sensitive != expected or quasi & sensitive != {bucket}:
            raise DataError(f"manifest.json: the table {self.tables[1]!r} must have exactly the sensitive columns.")
        people_counts, values = _people_in(public.rows[self.tables[0]], bucket), _values_in(public, bucket)
        if any(table[bucket].null_count() for table in (people_counts, values)):
            raise DataError("A row of a bucketized release has no bucket.")
        mismatched = people_counts.join(values, on=bucket, how="full", coalesce=True).filter(
            pl.col("rows").ne_missing(pl.col("counts"))
        )
        if mismatched.height:
            number, rows, counted_rows = mismatched.sort(bucket).select(bucket, "rows", "counts").row(0)
            raise DataError(
                f"{bucket.capitalize()} {number} has {rows or 0} rows in the table {self.tables[0]!r} and {counted_rows or 0} in the table {self.tables[1]!r}."
            )
        super().check(public)

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the adversary view: people with exact quasi values, and the sensitive values of their buckets."""
        quasi = {column.name: column.labels for column in columns if column.role == "quasi"}
        sensitive, bucket, count = (
            [column.name for column in columns if column.role == role] for role in ("sensitive", "bucket", "count")
        )
        main, hidden = (rows[name] for name in self.tables)
        people, people_counts = main.counted([*quasi, *bucket])
        values, multiplicities = hidden.counted([*bucket, *sensitive, *count])
        value_counts = multiplicities * values[count[0]].to_numpy().astype(np.int64) if count else multiplicities
        return AdversaryView.in_buckets(people, values, quasi, sensitive, bucket[0], value_counts, people_counts)

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        """Count the people who meet a condition on quasi values and on the sensitive values of their buckets."""
        from reticent.methods.anatomy.counts import count_buckets

        bucket_columns: dict[str, Any] = {"bucket": bucket_of(public.manifest), "counts": public.manifest.only("count")}
        return count_buckets(public.rows, public.meanings, condition, estimator, **bucket_columns, **self.known(public))

    def drawn(self, public: PublicSide) -> bool:
        """True if people were assigned to buckets at random."""
        return public.manifest.details == DRAWN

    def attested(self, public: PublicSide) -> str:
        return _ATTESTED if self.drawn(public) else ""

    def words(self, public: PublicSide) -> Words:
        """Return what was done to the table, what an attacker can learn, and the residual risks."""
        return Words(
            "Values that could identify a person are in one table and sensitive values in another; only groups connect the two."
            + self.coarsened(public),
            (
                *self.own_numbers(public),
                *self.missing_values(public),
                "Quasi-identifying values are published exactly, so that anybody can see whether a person with certain values is in the table; "
                "only the link to the sensitive values is hidden.",
                _DRAWN_RISK if self.drawn(public) else CHOSEN,
            ),
            group="An attacker who finds a person's row finds a bucket with this many people, each of whom may have any of its values.",
            attacked="Buckets show quasi values exactly, so people can be found in them; what they hide is whose of a bucket's values is whose.",
        )


def bucket_of(manifest: Manifest) -> str:
    """The column that joins the two tables."""
    return manifest.named("bucket")[0]


def _people_in(quasi: Rows, bucket: str) -> pl.DataFrame:
    """Return the number of rows of each bucket in the quasi table."""
    buckets, row_counts = quasi.counted([bucket])
    return buckets.with_columns(pl.Series("rows", row_counts))


def _values_in(public: PublicSide, bucket: str) -> pl.DataFrame:
    """Return the number of rows of each bucket counted in the sensitive table."""
    count_columns = public.manifest.named("count")
    distinct, multiplicities = public.rows[public.form.tables[1]].counted([bucket, *count_columns])
    if count_columns and distinct[count_columns[0]].null_count():
        raise DataError("The sensitive table has a row without a count.")
    counts = (
        distinct[count_columns[0]].to_numpy().astype(np.int64)
        if count_columns
        else np.ones(distinct.height, dtype=np.int64)
    )
    if (counts < 1).any():
        raise DataError(f"The sensitive table counts {int(counts.min())} rows for a value; a count must be at least 1.")
    counted = distinct.select(bucket).with_columns(pl.Series("counts", counts * multiplicities))
    return counted.group_by(bucket).agg(pl.col("counts").sum())


def _renumbered(tables: Mapping[str, pl.DataFrame], bucket: str) -> dict[str, pl.DataFrame]:
    """Number buckets from 1 by their content; buckets with equal content are indistinguishable."""
    keys = pl.DataFrame({bucket: pl.concat([frame[bucket] for frame in tables.values()]).unique()})
    for name, frame in tables.items():
        rows, kind = frame.drop(bucket), unused("kind", frame.columns)
        kinds = in_order(rows.unique()).with_row_index(kind)
        contents = (
            frame.join(kinds, on=rows.columns, how="left", nulls_equal=True)
            .group_by(bucket)
            .agg(pl.col(kind).sort())
            .select(bucket, pl.col(kind).cast(pl.List(pl.String)).list.join(",").alias(f"contents of {name}"))
        )
        keys = keys.join(contents, on=bucket, how="left")
    order = [column for column in keys.columns if column != bucket]
    numbers = keys.sort([*order, bucket]).select(bucket).with_row_index("number", offset=1)
    return {
        name: frame.with_columns(
            frame[bucket].replace_strict(numbers[bucket], numbers["number"], return_dtype=pl.Int64).alias(bucket)
        )
        for name, frame in tables.items()
    }


BUCKETIZE = Bucketize()
