"""Recodings that assign rows to buckets or batches, independent of their quasi values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import Codes
from reticent.core import BATCH, BUCKET, Carried, Recoded, Recoding, RowsToRecode, Unseen, carried_from, read_recoding
from reticent.errors import DataError
from reticent.table import FrameRows, Table, plain

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
DRAWN = {"people": "drawn"}
"""Manifest details of buckets to which people were assigned at random."""


@dataclass(frozen=True, eq=False)
class Deal(Recoding):
    """Rows assigned to buckets one by one, independent of their quasi values, which are published unchanged.

    ``entries`` has for every row its quasi values (``value 0`` ...), its sensitive values (``secret 0`` ...) and its
    ``bucket``, numbered from 0 in an internal order: the published numbers differ. ``rows`` has the buckets alone, in
    the order of the original table; it is not saved. No bucket has room for a later row.
    """

    kind: ClassVar[str] = "dealt"

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    entries: pl.DataFrame
    carried: Carried = field(default_factory=dict)
    rows: Ids | None = None
    exact: bool = field(default=True, init=False)

    @classmethod
    def of(cls, table: Table, rows: Ids) -> Deal:
        """Build from the rows of a table with the bucket of each."""
        quasi, sensitive = tuple(table.quasi), tuple(table.sensitive)
        entries = cls._keyed(table.frame, quasi, sensitive).with_columns(pl.Series(BUCKET, rows))
        return cls(quasi, sensitive, entries, table.carried, rows)

    @staticmethod
    def _keyed(frame: pl.DataFrame, quasi: Sequence[str], sensitive: Sequence[str]) -> pl.DataFrame:
        """Return the columns by which rows are matched, under internal names."""
        values = [plain(frame[name]).alias(f"value {index}") for index, name in enumerate(quasi)]
        secrets = [plain(frame[name]).alias(f"secret {index}") for index, name in enumerate(sensitive)]
        return pl.DataFrame([*values, *secrets])

    @property
    def names(self) -> tuple[str, ...]:
        """The columns by which rows are matched to buckets."""
        return (*self.quasi, *self.sensitive)

    @property
    def coded_at(self) -> tuple[int, ...]:
        """The positions of columns coded by value."""
        return (0,) * len(self.quasi)

    def groups_of(self, codes: Sequence[Codes]) -> Ids:
        """Return the bucket of every row of the table; codes do not determine it, since people with equal values are in different buckets."""
        if self.rows is None or len(codes[0]) != len(self.rows):
            raise DataError(
                "The assignment of rows to buckets belongs to its own table and cannot be used with another."
            )
        return self.rows

    def recoded(self, rows: RowsToRecode) -> Recoded:
        """Return buckets in which equal sensitive values are one row with their count."""
        return rows.in_buckets(counted=True)

    def shown(self, groups: Ids, *, coded: bool = False) -> pl.DataFrame:
        """Return the number of each row's bucket, from 1."""
        return pl.DataFrame({BUCKET: groups + 1})

    def _placed(self, rows: pl.DataFrame, unseen: Unseen) -> tuple[pl.DataFrame, Mask]:
        """Return the published columns of the rows that have a bucket, and the mask of these rows.

        The i-th of several equal rows gets the bucket of the i-th equal row of the original table; further ones have none.
        """
        keys = [name for name in self.entries.columns if name != BUCKET]
        keyed = self._keyed(rows, self.quasi, self.sensitive)
        keyed = keyed.with_columns(pl.col(name).cast(self.entries.schema[name], strict=False) for name in keys)
        rank = pl.int_range(pl.len()).over(keys).alias("turn")
        matched = keyed.with_columns(rank).join(
            self.entries.with_columns(rank), on=[*keys, "turn"], how="left", maintain_order="left", nulls_equal=True
        )
        group = matched[BUCKET].fill_null(-1).to_numpy().astype(np.int64)
        if unseen == "error" and (group < 0).any():
            raise DataError(
                f"Row {int(np.argmax(group < 0)) + 1} is not a published row, and the buckets of this release have no room for later ones: which values "
                "share a bucket was decided for all rows together. Pass unseen='suppress' to suppress such rows, or publish again."
            )
        return self.shown(group[group >= 0]), group >= 0

    def as_json(self) -> dict[str, Any]:
        """The names of the columns."""
        return {**self._head([{"name": name} for name in self.quasi]), "secrets": list(self.sensitive)}

    def stored(self) -> pl.DataFrame:
        """Return every row with its bucket."""
        return self.entries

    @classmethod
    def from_json(cls, payload: Mapping[str, Any], stored: pl.DataFrame, where: str) -> Deal:
        """The recoding that was saved."""
        quasi, sensitive = tuple(item["name"] for item in payload["columns"]), tuple(payload["secrets"])
        keys = [*(f"value {i}" for i in range(len(quasi))), *(f"secret {i}" for i in range(len(sensitive)))]
        if stored[BUCKET].dtype != pl.Int64:
            raise DataError(f"{where} is damaged: the numbers of buckets are not whole numbers.")
        return cls(quasi, sensitive, stored.select(*keys, BUCKET), carried_from(payload, where))


@dataclass(frozen=True, eq=False)
class Coupled(Recoding):
    """Rows show the ``labels`` of one recoding and the number of the batch assigned by another, independently of each other."""

    kind: ClassVar[str] = "coupled"

    labels: Recoding
    batches: Deal
    carried: Carried = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are recoded, and those by which rows are matched to batches."""
        return tuple(dict.fromkeys([*self.labels.names, *self.batches.names]))

    @property
    def coded_at(self) -> tuple[int, ...]:
        """As for the labels."""
        return self.labels.coded_at

    def groups_of(self, codes: Sequence[Codes]) -> Ids:
        """Return the group of labels."""
        return self.labels.groups_of(codes)

    def recoded(self, rows: RowsToRecode) -> Recoded:
        """Return labels with the number of a batch in one table, and the counts of sensitive values in a batch in another."""
        batches = replace(rows, group=self.batches.groups_of([rows.group]))
        dealt = batches.in_buckets(counted=True, bucket=BATCH)
        beside = dealt.tables["quasi"].frame().drop(*rows.table.quasi)
        labelled = self.shown(rows.group).with_columns(beside.get_columns())
        return Recoded({"generalized": FrameRows(labelled), "sensitive": dealt.tables["sensitive"]}, dealt.private)

    def shown(self, groups: Ids, *, coded: bool = False) -> pl.DataFrame:
        """The labels."""
        return self.labels.shown(groups, coded=coded)

    def _placed(self, rows: pl.DataFrame, unseen: Unseen) -> tuple[pl.DataFrame, Mask]:
        """Return the labels and the batch number of the rows that have both, and the mask of these rows.

        Rows without labels are not looked up among the batches.
        """
        labels, is_labelled = self.labels.place(rows, unseen)
        batch, has_batch = self.batches.place(rows.filter(pl.Series(is_labelled)), unseen)
        has_both = is_labelled.copy()
        has_both[is_labelled] = has_batch
        return labels.filter(pl.Series(has_batch)).with_columns(batch[BUCKET].alias(BATCH)), has_both

    def as_json(self) -> dict[str, Any]:
        """Both recodings, and how many rows of the large part are whose."""
        recodings = {"labels": self.labels.as_json(), "batches": self.batches.as_json()}
        return {**self._head(()), **recodings, "rows": len(self.labels.stored())}

    def stored(self) -> pl.DataFrame:
        """Return the large parts of both recodings, concatenated, in separate columns."""
        labels, batches = self.labels.stored(), self.batches.stored()
        named = [
            labels.select(pl.all().name.prefix("labels ")),
            batches.select(pl.all().name.prefix("batches ")),
        ]
        return pl.concat(named, how="diagonal")

    @classmethod
    def from_json(cls, payload: Mapping[str, Any], stored: pl.DataFrame, where: str) -> Coupled:
        """The recoding that was saved."""
        parts = {
            prefix: stored.select(
                pl.col(name).alias(name.removeprefix(prefix)) for name in stored.columns if name.startswith(prefix)
            )
            for prefix in ("labels ", "batches ")
        }
        labels = read_recoding(payload["labels"], parts["labels "].head(payload["rows"]), where)
        batches = Deal.from_json(payload["batches"], parts["batches "].slice(payload["rows"]), where)
        return cls(labels, batches, carried_from(payload, where))
