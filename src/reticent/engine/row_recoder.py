"""Recoding rows: labels in, identifiers out. Release puts the rows into an order of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import Codes, Distinct, is_dense, pack, present
from reticent.base.randomness import Randomness
from reticent.core import BATCH, BUCKET, COUNT, Allocation, Coupled, Deal, Levels, Recoded, Recoding
from reticent.table import PSEUDONYM, CodedRows, FrameRows, RepeatedRows, Rows, StreamRows, Table

Encode = Callable[[Table, tuple[int, ...]], Sequence[Codes]]
"""Gives every quasi column of a part of a table as part numbers."""
Secrets = Callable[[Table], tuple[Codes | None, int]]
"""Gives the joint sensitive value of every row as a number, and how many values there are; None where no column is sensitive."""


def recode_frame(table: Table, recoding: Recoding, encode: Encode, secrets: Secrets, randomness: Randomness) -> Recoded:
    """The public rows of a table in memory, and what stays private: pseudonyms, and who is where."""
    group = _groups(table, recoding, encode)
    if recoding.exact:
        return _bucketized(table, group, randomness, counted=isinstance(recoding, Deal))
    if isinstance(recoding, Coupled):
        return _in_batches(table, group, recoding, randomness)
    kept = np.flatnonzero(group >= 0)
    private: dict[str, Rows] = {}
    repeated = None if table.declared or table.pseudonyms else _repeated(group, kept, *secrets(table))
    chosen, times = repeated if repeated is not None else (kept, None)
    unchanged = [table.frame[name] for name in (*table.sensitive, *table.declared)]
    if len(chosen) < len(group):
        group, unchanged = group[chosen], [each[chosen] for each in unchanged]
    data = recoding.shown(group, coded=True).hstack(unchanged)
    if listed_columns(table) or table.pseudonyms:
        data, private = _pseudonymized(table, table.frame[kept], data, randomness)
    rows = CodedRows(data)
    return Recoded({"data": rows if times is None else RepeatedRows(rows, times)}, private)


def _groups(part: Table, recoding: Recoding, encode: Encode) -> NDArray[np.int64]:
    """The published group of every row of a part of a table; -1 where it has none."""
    if isinstance(recoding, Allocation | Deal) and recoding.rows is not None:
        return recoding.rows
    return recoding.groups_of(encode(part, recoding.coded_at))


def _repeated(
    group: NDArray[np.int64], kept: NDArray[np.int64], secret: Codes | None, secrets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """One of each kind of published row, and how many there are of it; None where most are the only ones of their kind."""
    groups = int(group.max(initial=-1)) + 1
    columns = [group] if secret is None else [group, secret]
    if len(kept) < len(group):
        columns = [each[kept] for each in columns]
    keys, space = pack(columns, [groups, secrets][: len(columns)], len(kept))
    if is_dense(space, len(keys)) and 2 * np.count_nonzero(present(keys, space)) > len(kept):
        return None
    found = Distinct(keys, space)
    return None if 2 * len(found.sizes) > len(kept) else (kept[found.firsts], found.sizes)


def recode_parts(table: Table, recoding: Recoding, encode: Encode, randomness: Randomness) -> Recoded:
    """The same of a table whose rows are looked at part by part, whenever they are read."""

    def published(part: Table) -> pl.DataFrame:
        group = _groups(part, recoding, encode)
        kept = np.flatnonzero(group >= 0)
        unchanged = [part.frame[name][kept] for name in (*table.sensitive, *table.declared)]
        return recoding.shown(group[kept]).with_columns(unchanged)

    def people(part: Table) -> pl.DataFrame:
        return part.frame.select(listed).filter(pl.Series(_groups(part, recoding, encode) >= 0))

    listed = listed_columns(table)
    private: dict[str, Rows] = {"people": _mapped(table, people, _typed(table, listed))} if listed else {}
    if isinstance(recoding, Levels) and recoding.exact:
        return Recoded(_bucketized_parts(table, recoding, encode, randomness), private)
    shown = recoding.shown(np.zeros(0, dtype=np.int64)).schema
    data = _mapped(table, published, pl.Schema({**shown, **_typed(table, [*table.sensitive, *table.declared])}))
    return Recoded({"data": data}, private)


def _typed(table: Table, columns: Sequence[str]) -> pl.Schema:
    return pl.Schema({name: table.schema[name] for name in columns})


def _bucketized_parts(table: Table, recoding: Levels, encode: Encode, randomness: Randomness) -> dict[str, Rows]:
    """The two tables of buckets, which are numbered at random. Files have the rows of each in the order of their values, so that nothing else connects the two."""
    names = randomness.order(len(recoding.published[0])) + 1

    def named(part: Table) -> pl.DataFrame:
        bucket = _groups(part, recoding, encode)
        return part.frame.with_columns(pl.Series(BUCKET, names[bucket])).filter(pl.Series(bucket >= 0))

    def shown(*columns: str) -> StreamRows:
        types = pl.Schema({name: pl.Int64() if name == BUCKET else table.schema[name] for name in columns})
        return _mapped(table, lambda part: named(part).select(columns), types)

    return {"quasi": shown(*table.quasi, *table.declared, BUCKET), "sensitive": shown(BUCKET, *table.sensitive)}


def _mapped(table: Table, made: Callable[[Table], pl.DataFrame], schema: pl.Schema) -> StreamRows:
    """What is made of each part of a table, as rows of ``schema``."""

    def make(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return (made(part).select(columns) for part in table.parts())

    return StreamRows(schema, make)


def _bucketized(
    table: Table, bucket: NDArray[np.int64], randomness: Randomness, *, counted: bool, called: str = BUCKET
) -> Recoded:
    """Two tables joined by a bucket number only: exact quasi values, and sensitive values in random order (R-WK-23).

    Buckets are numbered at random, and the sensitive rows of a bucket are shuffled by the operating system's randomness, so
    that nothing but the bucket's histogram connects the two. ``counted``: equal values of a bucket are one row with their number (R-PM-34).
    """
    rows = table.frame.filter(pl.Series(bucket >= 0))
    names = pl.Series(called, randomness.order(int(bucket.max()) + 1)[bucket[bucket >= 0]] + 1)
    quasi = rows.select([*table.quasi, *table.declared]).with_columns(names)
    quasi, private = _pseudonymized(table, rows, quasi, randomness)
    if counted:
        histograms = rows.select(names, *table.sensitive).group_by(called, *table.sensitive).len(COUNT)
        values = histograms.with_columns(pl.col(COUNT).cast(pl.Int64)).sort(pl.all())
        return Recoded({"quasi": FrameRows(quasi), "sensitive": FrameRows(values)}, private)
    shuffled = randomness.order(len(rows))
    sensitive = rows.select(list(table.sensitive)).with_columns(names)[shuffled].sort(called, maintain_order=True)
    shuffled_values = sensitive.select([called, *table.sensitive])
    return Recoded({"quasi": FrameRows(quasi), "sensitive": FrameRows(shuffled_values)}, private)


def _in_batches(table: Table, group: NDArray[np.int64], recoding: Coupled, randomness: Randomness) -> Recoded:
    """Labels with the number of a batch in one table, and how often each sensitive value occurs in a batch in another (R-PM-36)."""
    dealt = _bucketized(table, recoding.batches.groups_of([group]), randomness, counted=True, called=BATCH)
    beside = dealt.tables["quasi"].frame().drop(*table.quasi)
    labelled = recoding.shown(group).with_columns(beside.get_columns())
    return Recoded({"generalized": FrameRows(labelled), "sensitive": dealt.tables["sensitive"]}, dealt.private)


def _pseudonymized(
    table: Table, rows: pl.DataFrame, data: pl.DataFrame, randomness: Randomness
) -> tuple[pl.DataFrame, dict[str, Rows]]:
    """A random name for each row's person, and what stays private: the list that translates it back, and who is where."""
    listed = listed_columns(table)
    private: dict[str, Rows] = {"people": FrameRows(rows.select(listed))} if listed else {}
    if not table.pseudonyms:
        return data, private
    people = rows.select(table.pseudonyms).unique(maintain_order=True)
    translation = people.with_columns(pl.Series(PSEUDONYM, randomness.tokens(len(people))))
    names = rows.select(table.pseudonyms).join(
        translation, on=list(table.pseudonyms), how="left", maintain_order="left", nulls_equal=True
    )
    return data.with_columns(names[PSEUDONYM]), {**private, "pseudonyms": FrameRows(translation)}


def listed_columns(table: Table) -> list[str]:
    """What is kept of each published person: the key (or first identifier) and the raw quasi values."""
    name = table.key if table.key is not None else next(iter(table.identifiers), None)
    return [] if name is None else list(dict.fromkeys([name, *table.quasi]))
