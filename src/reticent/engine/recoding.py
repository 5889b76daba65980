"""Recoding rows: labels in, identifiers out. Release puts the rows into an order of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import (
    BUCKET,
    Allocation,
    CodedRows,
    Codes,
    FrameRows,
    Levels,
    Recoded,
    Recoding,
    Regions,
    Rows,
    StreamRows,
    Table,
)
from reticent.randomness import Randomness

PSEUDONYM = "pseudonym"

Mask = NDArray[np.bool_]
Encode = Callable[[Table, tuple[int, ...]], Sequence[Codes]]
"""Gives every quasi column of a part of a table as part numbers."""


def recode_frame(table: Table, recoding: Recoding, encode: Encode, randomness: Randomness) -> Recoded:
    """The public rows of a table in memory, and what stays private: pseudonyms, and who is where."""
    if isinstance(recoding, Levels) and recoding.exact:
        return _bucketized(table, recoding, encode, randomness)
    labels, kept = _recoded(table, recoding, encode, coded=True)
    rows = table.frame if kept.all() else table.frame.filter(pl.Series(kept))
    data = labels.with_columns([rows[name] for name in (*table.sensitive, *table.other)])
    data, private = _pseudonymized(table, rows, data, randomness)
    return Recoded({"data": CodedRows(data)}, private)


def _recoded(part: Table, recoding: Recoding, encode: Encode, coded: bool = False) -> tuple[pl.DataFrame, Mask]:
    """The published quasi columns of the kept rows of a part of a table, and which rows these are."""
    if isinstance(recoding, Levels):
        codes = encode(part, tuple(recoding.levels.values()))
        if recoding.complete:
            return recoding.shown(codes, coded=coded), np.ones(part.rows, dtype=bool)
        kept = recoding.groups_of(codes) >= 0
        return recoding.shown([parts[kept] for parts in codes], coded=coded), kept
    assert isinstance(recoding, Regions)
    if isinstance(recoding, Allocation) and recoding.rows is not None:
        group = recoding.rows
    else:
        group = recoding.groups_of(encode(part, (0,) * len(recoding.columns)))
    return recoding.shown(group[group >= 0], coded=coded), group >= 0


def recode_parts(table: Table, recoding: Recoding, encode: Encode) -> Recoded:
    """The same of a table whose rows are looked at part by part, whenever they are read."""

    def published(part: Table) -> pl.DataFrame:
        labels, kept = _recoded(part, recoding, encode)
        rows = part.frame.filter(pl.Series(kept))
        return labels.with_columns([rows[name] for name in (*table.sensitive, *table.other)])

    def people(part: Table) -> pl.DataFrame:
        return part.frame.filter(pl.Series(_recoded(part, recoding, encode)[1])).select(listed)

    listed = _listed(table)
    text = dict.fromkeys(table.quasi, pl.String())
    unchanged = {name: table.schema[name] for name in (*table.sensitive, *table.other)}
    data = _mapped(table, published, pl.Schema({**text, **unchanged}))
    private = {"people": _mapped(table, people, pl.Schema({name: table.schema[name] for name in listed}))}
    return Recoded({"data": data}, private if listed else {})


def _mapped(table: Table, made: Callable[[Table], pl.DataFrame], schema: pl.Schema) -> StreamRows:
    """What is made of each part of a table, as rows of ``schema``."""

    def make(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return (made(part).select(columns) for part in table.parts())

    return StreamRows(schema, make)


def _bucketized(table: Table, recoding: Levels, encode: Encode, randomness: Randomness) -> Recoded:
    """Two tables joined by a bucket number only: exact quasi values, and sensitive values in random order (R-WK-23).

    Buckets are numbered at random, and the sensitive rows of a bucket are shuffled by the operating system's randomness, so
    that nothing but the bucket's histogram connects the two.
    """
    buckets = recoding.groups_of(encode(table, tuple(recoding.levels.values())))
    rows = table.frame.filter(pl.Series(buckets >= 0))
    names = pl.Series(BUCKET, randomness.order(len(recoding.published[0]))[buckets[buckets >= 0]] + 1)
    quasi = rows.select([*table.quasi, *table.other]).with_columns(names)
    quasi, private = _pseudonymized(table, rows, quasi, randomness)
    shuffled = randomness.order(len(rows))
    sensitive = rows.select(list(table.sensitive)).with_columns(names)[shuffled].sort(BUCKET, maintain_order=True)
    shuffled_values = sensitive.select([BUCKET, *table.sensitive])
    return Recoded({"quasi": FrameRows(quasi), "sensitive": FrameRows(shuffled_values)}, private)


def _pseudonymized(
    table: Table, rows: pl.DataFrame, data: pl.DataFrame, randomness: Randomness
) -> tuple[pl.DataFrame, dict[str, Rows]]:
    """A random name for each row's person, and what stays private: the list that translates it back, and who is where."""
    listed = _listed(table)
    private: dict[str, Rows] = {"people": FrameRows(rows.select(listed))} if listed else {}
    if not table.pseudonyms:
        return data, private
    people = rows.select(table.pseudonyms).unique(maintain_order=True)
    translation = people.with_columns(pl.Series(PSEUDONYM, randomness.tokens(len(people))))
    names = rows.select(table.pseudonyms).join(
        translation, on=list(table.pseudonyms), how="left", maintain_order="left", nulls_equal=True
    )
    return data.with_columns(names[PSEUDONYM]), {**private, "pseudonyms": FrameRows(translation)}


def _listed(table: Table) -> list[str]:
    """What is kept of each published person: the key (or first identifier) and the raw quasi values."""
    name = table.key if table.key is not None else next(iter(table.identifiers), None)
    return [] if name is None else list(dict.fromkeys([name, *table.quasi]))
