"""Group membership: people found in an unmodified table, or in a release by their published labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.frames import as_polars
from reticent.core import NOWHERE, SEVERAL, AdversaryView, Draft, Groups
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.knowledge.tiny_worlds import Predicate
from reticent.knowledge.whatif import WORLDS, WhatIf, explore
from reticent.release import Release, adversary_view_of, public_side
from reticent.table import PSEUDONYM, Table
from reticent.worst_case import BUDGET, Fact, GroupHistograms, Population

_GROUP = "(group)"
_WHY = {NOWHERE: "fits no group of the release", SEVERAL: "fits several groups of the release"}


def what_if(
    source: Any,
    know: Sequence[str | Fact | Predicate],
    ask: str | None = None,
    people: Any = None,
    *,
    key: str | None = None,
    column: str | None = None,
    levels: Mapping[str, int] | None = None,
    private: Mapping[str, pl.DataFrame] | None = None,
    budget: int = BUDGET,
    samples: int = WORLDS,
    seed: int = 0,
    context: Context | None = None,
) -> WhatIf:
    """Return the belief in ``ask`` of an adversary who knows the facts ``know`` about the people in a table or a
    release.

    A table is used unmodified (or with quasi-identifiers at coarser ``levels``): rows with equal quasi-identifiers are
    a group, and people are named by the table's key, or by its first identifier. For a release, ``people`` is a frame
    with a column of names (``key``, or the only column that is not published) and the quasi columns; without it the
    release needs its private side with pseudonyms (``private``, if that was read from a folder). ``column`` names the
    sensitive column if there are several. See :func:`reticent.knowledge.explore` for the rest.

    Example: ``what_if(table, know=["Hannah=Flu -> Charlie=Flu"], ask="Charlie=Flu").posterior``
    """
    population = population_of(source, people, key=key, column=column, levels=levels, private=private)
    return explore(population, know, ask, budget=budget, samples=samples, seed=seed, context=context)


def population_of(
    source: Any,
    people: Any = None,
    *,
    key: str | None = None,
    column: str | None = None,
    levels: Mapping[str, int] | None = None,
    private: Mapping[str, pl.DataFrame] | None = None,
) -> Population:
    """Return all nameable people, with their group and its histogram."""
    if isinstance(source, Population):
        return source
    if isinstance(source, Table):
        return _of_table(source, key, column, levels)
    seen = adversary_view_of(source, levels)
    groups = one_secret(seen, column)
    private_tables = private if private is not None else _private(source)
    if people is None and "people" not in private_tables:
        return _by_pseudonym(private_tables, source, seen, groups)
    frame = as_polars(private_tables["people"] if people is None else people)
    for name in seen.names:
        if name not in frame.columns:
            raise DataError(f"people has no column {name!r}.{did_you_mean(name, frame.columns)}")
    published = {*seen.names, *seen.sensitive, *(() if isinstance(source, Draft) else _columns(source))}
    names = frame[_name_column(frame, published, key)]
    return _named(names, seen.place(frame), groups, whole=False)


def _of_table(table: Table, key: str | None, column: str | None, levels: Mapping[str, int] | None) -> Population:
    """Return the people of an unmodified table, by their names in a column."""
    names = key or column_of_names(table)
    if names is None:
        raise PolicyError("Statements about people need names: pass key= or identifiers= to rt.Table.")
    if names not in table.schema:
        raise PolicyError(f"There is no column {names!r}.{did_you_mean(names, list(table.schema))}")
    check_rows_are_people(table)
    seen = adversary_view_of(table, levels)
    return _named(table.frame[names], seen.place(table.frame), one_secret(seen, column))


def _private(source: Any) -> Mapping[str, Any]:
    """Return the steward's lists of people, if the source is a release that was just made."""
    tables = source.private.tables if isinstance(source, Release) else {}
    return {name: pl.concat(rows.chunks()) for name, rows in tables.items()}


def _columns(source: Any) -> list[str]:
    """Return the names of all published columns."""
    return [column.name for column in public_side(source).manifest.columns]


def column_of_names(table: Table) -> str | None:
    """Return the column of people's names: the key, or else the first identifier."""
    return table.key or (table.identifiers[0] if table.identifiers else None)


def check_rows_are_people(table: Table) -> None:
    """Refuse tables with several rows per person."""
    if table.several_rows:
        raise DataError(
            "Some people have several rows, but background knowledge is measured on one row per person. Keep one row for each person."
        )


def one_secret(seen: AdversaryView, column: str | None) -> Groups:
    """Return the groups with the values of one sensitive column; ``column`` is needed if there are several."""
    groups = seen.true_groups
    columns = [sensitive_column.name for sensitive_column in groups.domain.columns]
    if not columns:
        raise PolicyError("There is no sensitive column. Declare one with sensitive=.")
    if column is None and len(columns) > 1:
        raise PolicyError(f"There are several sensitive columns ({', '.join(columns)}); choose one with column=.")
    return groups.marginal(column or columns[0])


def _by_pseudonym(private: Mapping[str, Any], source: Any, seen: AdversaryView, groups: Groups) -> Population:
    """Return people by the steward's list of pseudonyms, which is part of a release's private side."""
    if "pseudonyms" not in private or PSEUDONYM not in _columns(source):
        raise PolicyError(
            "A release does not name its people. Pass people=, a frame with a column of names and the quasi columns, or publish with "
            "pseudonyms and keep the private side."
        )
    rows = public_side(source).frame
    places = rows.select(PSEUDONYM).with_columns(pl.Series(_GROUP, seen.of_rows(rows)))
    joined = places.join(as_polars(private["pseudonyms"]), on=PSEUDONYM, how="inner")
    names = next(name for name in joined.columns if name not in (PSEUDONYM, _GROUP))
    return _named(joined[names], joined[_GROUP].to_numpy(), groups)


def _name_column(frame: pl.DataFrame, published: Collection[str], key: str | None) -> str:
    """Return the column that holds the names of people: ``key``, or the only one that is not published."""
    if key is not None:
        if key not in frame.columns:
            raise DataError(f"people has no column {key!r}.{did_you_mean(key, frame.columns)}")
        return key
    spare = [name for name in frame.columns if name not in published]
    if len(spare) != 1:
        raise PolicyError(
            "people must have one column of names besides the published ones, but it has "
            + (f"{len(spare)}: {', '.join(spare)}. Choose one with key=." if spare else "none.")
        )
    return spare[0]


def _named(names: pl.Series, where: NDArray[np.int64], groups: Groups, *, whole: bool = True) -> Population:
    """Return the people with unique names and their groups; ``where`` has the group of every name (negative: none, by a reason)."""
    texts = names.cast(pl.String)
    repeated = frozenset(texts.filter(texts.is_duplicated()).drop_nulls().unique().to_list())
    everybody = [
        (name, group)
        for name, group in zip(texts.to_list(), where.tolist(), strict=True)
        if name is not None and name not in repeated
    ]
    unplaced = {name: _WHY[group] for name, group in everybody if group < 0}
    return Population(
        GroupHistograms(groups),
        {name: group for name, group in everybody if group >= 0},
        ambiguous=repeated,
        whole=whole,
        unplaced=unplaced,
    )
