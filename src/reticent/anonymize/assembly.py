"""From kept rows to public tables: labels in, identifiers out. Release puts the rows into an order of their own.

``generalized`` and ``bucketized`` are for rows in memory, ``streamed`` for a table that is looked at part by part; ``relabelled`` takes the one
that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import BoundHierarchy, Codes, Engine, StreamRows, Table
from reticent.data.meaning import Meaning
from reticent.randomness import Randomness

BUCKET = "bucket"


@dataclass(frozen=True)
class Assembled:
    """Public tables, and what must stay with the steward."""

    tables: Mapping[str, pl.DataFrame | StreamRows]
    private: Mapping[str, pl.DataFrame | StreamRows]


Quasi = Callable[[Table], tuple[pl.DataFrame, NDArray[np.bool_]]]
"""Gives the labels of the kept rows of a part of a table, and which rows these are."""


def relabelled(table: Table, engine: Engine, quasi: Quasi, randomness: Randomness) -> Assembled:
    """One table, recoded row by row: at once where the rows are in memory, otherwise part by part."""
    if table.streamed:
        return streamed(table, engine, quasi)
    return generalized(table, *quasi(table), randomness)


def generalized(table: Table, quasi: pl.DataFrame, kept: NDArray[np.bool_], randomness: Randomness) -> Assembled:
    """One table: generalized quasi columns beside the sensitive and the other columns."""
    rows = table.frame.filter(pl.Series(kept))
    data = quasi.with_columns([rows[name] for name in (*table.sensitive, *table.other)])
    data, private = _pseudonymized(table, rows, data, randomness)
    return Assembled({"data": data}, private)


def streamed(table: Table, engine: Engine, quasi: Quasi) -> Assembled:
    """The same of a table whose rows are looked at part by part."""

    def publish(part: Table) -> pl.DataFrame:
        labels, kept = quasi(part)
        rows = part.frame.filter(pl.Series(kept))
        return labels.with_columns([rows[name] for name in (*table.sensitive, *table.other)])

    text = dict.fromkeys(table.quasi, pl.String())
    unchanged = {name: table.schema[name] for name in (*table.sensitive, *table.other)}
    data = engine.recoded(table, publish, pl.Schema({**text, **unchanged}))
    listed = _listed(table)
    if not listed:
        return Assembled({"data": data}, {})
    schema = pl.Schema({name: table.schema[name] for name in listed})
    return Assembled(
        {"data": data},
        {
            "people": engine.recoded(
                table, lambda part: part.frame.filter(pl.Series(quasi(part)[1])).select(listed), schema
            )
        },
    )


def bucketized(table: Table, buckets: NDArray[np.int64], kept: NDArray[np.bool_], randomness: Randomness) -> Assembled:
    """Two tables joined by a bucket number only: exact quasi values, and sensitive values in random order (R-WK-23).

    Buckets are numbered at random, and the sensitive rows of a bucket are shuffled by the operating system's randomness, so
    that nothing but the bucket's histogram connects the two.
    """
    rows = table.frame.filter(pl.Series(kept))
    _, numbers = np.unique(buckets[kept], return_inverse=True)
    count = int(numbers.max(initial=-1)) + 1
    names = pl.Series(BUCKET, randomness.order(count)[numbers] + 1)
    quasi = rows.select([*table.quasi, *table.other]).with_columns(names)
    quasi, private = _pseudonymized(table, rows, quasi, randomness)
    shuffled = randomness.order(len(rows))
    sensitive = rows.select(list(table.sensitive)).with_columns(names)[shuffled].sort(BUCKET, maintain_order=True)
    return Assembled({"quasi": quasi, "sensitive": sensitive.select([BUCKET, *table.sensitive])}, private)


def meanings(
    hierarchies: tuple[BoundHierarchy, ...], levels: tuple[int, ...], codes: Sequence[Codes]
) -> dict[str, dict[str, Meaning]]:
    """For each quasi column, the labels that occur among the published parts (``codes``) with their meaning."""
    found: dict[str, dict[str, Meaning]] = {}
    for hierarchy, number, parts in zip(hierarchies, levels, codes, strict=True):
        level = hierarchy.levels[number]
        known = {level.labels[part]: level.meanings[part] for part in np.unique(parts).tolist()}
        found[hierarchy.column] = {label: known[label] for label in sorted(known)}
    return found


def domains(hierarchies: tuple[BoundHierarchy, ...]) -> dict[str, list[Any]]:
    """The declared domains; one that was taken from the data stays private."""
    return {h.column: h.leaves.to_list() for h in hierarchies if not h.data_dependent}


def _pseudonymized(
    table: Table, rows: pl.DataFrame, data: pl.DataFrame, randomness: Randomness
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """A random name for each row's person, and what stays private: the list that translates it back, and who is where."""
    private = _people(table, rows)
    if not table.pseudonyms:
        return data, private
    people = rows.select(table.pseudonyms).unique(maintain_order=True)
    translation = people.with_columns(pl.Series("pseudonym", randomness.tokens(len(people))))
    names = rows.select(table.pseudonyms).join(
        translation, on=list(table.pseudonyms), how="left", maintain_order="left", nulls_equal=True
    )
    return data.with_columns(names["pseudonym"]), {**private, "pseudonyms": translation}


def _people(table: Table, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Who is where, for the steward's own questions."""
    listed = _listed(table)
    return {"people": rows.select(listed)} if listed else {}


def _listed(table: Table) -> list[str]:
    """What is kept of each published person: the key (or first identifier) and the raw quasi values."""
    name = table.key if table.key is not None else next(iter(table.identifiers), None)
    return [] if name is None else list(dict.fromkeys([name, *table.quasi]))
