"""Rows on their way into a release: what a recoding needs of a table to make its public tables, in memory or in chunks.

Identifiers are dropped here. The release sorts the rows afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import Codes, Distinct, is_dense, pack, present
from reticent.base.randomness import Randomness
from reticent.table import PSEUDONYM, CodedRows, FrameRows, RepeatedRows, Rows, StreamRows, Table

Ids = NDArray[np.int64]
BUCKET, BATCH, COUNT = "bucket", "batch", "count"


class GroupDisplay(Protocol):
    """Returns the published columns of rows, given their groups; text may be ``coded`` as enums with sorted categories."""

    def __call__(self, groups: Ids, *, coded: bool = False) -> pl.DataFrame: ...


@dataclass(frozen=True)
class Recoded:
    """The output of an engine for a table: its public rows by table name, and what must stay with the steward."""

    tables: Mapping[str, Rows]
    private: Mapping[str, Rows]


@dataclass(frozen=True)
class RowsToRecode:
    """The rows of a table in memory with the published group of each (-1: suppressed).

    ``joint_secret`` returns the joint sensitive value of every row as a code, and the number of values; None without
    sensitive columns.
    """

    table: Table
    group: Ids
    randomness: Randomness
    joint_secret: Callable[[], tuple[Codes | None, int]]

    def labelled(self, shown: GroupDisplay) -> Recoded:
        """One table ``data``: the published columns of each row's group, with sensitive and declared columns. If most rows
        repeat, each distinct row is made once.
        """
        table, group = self.table, self.group
        published_rows = np.flatnonzero(group >= 0)
        distinct_rows = None if table.declared or table.pseudonyms else self._repeated(published_rows)
        chosen, multiplicities = distinct_rows if distinct_rows is not None else (published_rows, None)
        unchanged = [table.frame[name] for name in (*table.sensitive, *table.declared)]
        if len(chosen) < len(group):
            group, unchanged = group[chosen], [series[chosen] for series in unchanged]
        data = shown(group, coded=True).hstack(unchanged)
        private: dict[str, Rows] = {}
        if listed_columns(table) or table.pseudonyms:
            data, private = self._pseudonymized(table.frame[published_rows], data)
        rows = CodedRows(data)
        return Recoded({"data": rows if multiplicities is None else RepeatedRows(rows, multiplicities)}, private)

    def in_buckets(self, *, counted: bool, bucket: str = BUCKET) -> Recoded:
        """Two tables linked by a bucket number only: exact quasi values, and sensitive values in random order.

        Bucket numbers are random, and the sensitive rows of a bucket are shuffled with the operating system's
        randomness, so only the bucket's histogram connects the two. ``counted``: equal values of a bucket are one row
        with a count.
        """
        table, group = self.table, self.group
        rows = table.frame.filter(pl.Series(group >= 0))
        numbers = pl.Series(bucket, self.randomness.order(int(group.max()) + 1)[group[group >= 0]] + 1)
        quasi, private = self._pseudonymized(rows, rows.select([*table.quasi, *table.declared]).with_columns(numbers))
        if counted:
            histograms = rows.select(numbers, *table.sensitive).group_by(bucket, *table.sensitive).len(COUNT)
            values = histograms.with_columns(pl.col(COUNT).cast(pl.Int64)).sort(pl.all())
            return Recoded({"quasi": FrameRows(quasi), "sensitive": FrameRows(values)}, private)
        order = self.randomness.order(len(rows))
        sensitive = rows.select(list(table.sensitive)).with_columns(numbers)[order].sort(bucket, maintain_order=True)
        shuffled = sensitive.select([bucket, *table.sensitive])
        return Recoded({"quasi": FrameRows(quasi), "sensitive": FrameRows(shuffled)}, private)

    def _repeated(self, published_rows: Ids) -> tuple[Ids, Ids] | None:
        """Return the index of one row of each distinct published row, and its multiplicity; None if most rows are
        distinct.
        """
        secret, secrets = self.joint_secret()
        groups = int(self.group.max(initial=-1)) + 1
        columns = [self.group] if secret is None else [self.group, secret]
        if len(published_rows) < len(self.group):
            columns = [codes[published_rows] for codes in columns]
        keys, space = pack(columns, [groups, secrets][: len(columns)], len(published_rows))
        if is_dense(space, len(keys)) and 2 * np.count_nonzero(present(keys, space)) > len(published_rows):
            return None
        distinct = Distinct(keys, space)
        return (
            None if 2 * len(distinct.sizes) > len(published_rows) else (published_rows[distinct.firsts], distinct.sizes)
        )

    def _pseudonymized(self, rows: pl.DataFrame, data: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Rows]]:
        """``data`` with a random pseudonym for each row's person, and the private tables: the pseudonym list, and the group of each person."""
        table, listed = self.table, listed_columns(self.table)
        private: dict[str, Rows] = {"people": FrameRows(rows.select(listed))} if listed else {}
        if not table.pseudonyms:
            return data, private
        people = rows.select(table.pseudonyms).unique(maintain_order=True)
        translation = people.with_columns(pl.Series(PSEUDONYM, self.randomness.tokens(len(people))))
        names = rows.select(table.pseudonyms).join(
            translation, on=list(table.pseudonyms), how="left", maintain_order="left", nulls_equal=True
        )
        return data.with_columns(names[PSEUDONYM]), {**private, "pseudonyms": FrameRows(translation)}


@dataclass(frozen=True)
class PartsToRecode:
    """A table whose rows are recoded in chunks whenever they are read; ``groups`` returns the published group of every row of a chunk."""

    table: Table
    groups: Callable[[Table], Ids]
    randomness: Randomness

    def labelled(self, shown: GroupDisplay) -> Recoded:
        """One table ``data``: the published columns of each row's group, with sensitive and declared columns."""
        unchanged = (*self.table.sensitive, *self.table.declared)

        def published(part: Table) -> pl.DataFrame:
            """Return the published rows of one part of the table."""
            group = self.groups(part)
            published_rows = np.flatnonzero(group >= 0)
            return shown(group[published_rows]).with_columns([part.frame[name][published_rows] for name in unchanged])

        schema = pl.Schema({**shown(np.zeros(0, dtype=np.int64)).schema, **self._typed(unchanged)})
        return Recoded({"data": self._mapped(published, schema)}, self._people())

    def in_buckets(self, buckets: int) -> Recoded:
        """Two tables linked by a random bucket number only. Each file is sorted by value, so nothing else connects the two."""
        table = self.table
        numbers = self.randomness.order(buckets) + 1

        def numbered(part: Table) -> pl.DataFrame:
            """Return the published rows of one part of the table with the random number of their bucket."""
            bucket = self.groups(part)
            return part.frame.with_columns(pl.Series(BUCKET, numbers[bucket])).filter(pl.Series(bucket >= 0))

        def select(*columns: str) -> StreamRows:
            types = pl.Schema({name: pl.Int64() if name == BUCKET else table.schema[name] for name in columns})
            return self._mapped(lambda part: numbered(part).select(columns), types)

        tables = {"quasi": select(*table.quasi, *table.declared, BUCKET), "sensitive": select(BUCKET, *table.sensitive)}
        return Recoded(tables, self._people())

    def _people(self) -> dict[str, Rows]:
        """The group of each person; private."""
        listed = listed_columns(self.table)

        def people(part: Table) -> pl.DataFrame:
            return part.frame.select(listed).filter(pl.Series(self.groups(part) >= 0))

        return {"people": self._mapped(people, self._typed(listed))} if listed else {}

    def _typed(self, columns: Sequence[str]) -> pl.Schema:
        return pl.Schema({name: self.table.schema[name] for name in columns})

    def _mapped(self, transform: Callable[[Table], pl.DataFrame], schema: pl.Schema) -> StreamRows:
        """The transformed chunks of the table, as rows of ``schema``."""

        def make(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
            return (transform(part).select(columns) for part in self.table.parts())

        return StreamRows(schema, make)


def listed_columns(table: Table) -> list[str]:
    """The columns stored for each published person: the key (or first identifier) and the raw quasi values."""
    name = table.key if table.key is not None else next(iter(table.identifiers), None)
    return [] if name is None else list(dict.fromkeys([name, *table.quasi]))
