"""Who is in which group: people found in a table as it stands, or in a release by what is published about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import FrequencySet, Groups, Table
from reticent.data.frames import as_polars
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.knowledge.placing import GROUP, NOWHERE, SEVERAL, placed
from reticent.knowledge.whatif import WORLDS, WhatIf, explore
from reticent.knowledge.worlds import Predicate
from reticent.worst_case import BUDGET, Fact, GroupHistograms, Population

PSEUDONYM = "pseudonym"
_WHY = {NOWHERE: "fits no group of the release", SEVERAL: "fits several groups of the release"}


class PublishedRelease(Protocol):
    """What is needed of a release: its public tables, and what its manifest says about them."""

    @property
    def manifest(self) -> Any:
        """Roles, labels and their meanings."""

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The public tables."""

    @property
    def groups(self) -> Groups:
        """The groups that they show."""


def what_if(
    source: Table | PublishedRelease | Population,
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
) -> WhatIf:
    """The belief in ``ask`` of somebody who knows the facts ``know`` about the people in a table or a release.

    A table is taken as it stands (or with quasi columns at coarser ``levels``): rows with equal quasi values are a group, and people
    are called by the table's key, or by its first identifier. For a release, ``people`` is a frame with a column of names (``key``, or the only column that is not
    published) and the quasi columns; without it the release needs its private side with pseudonyms (``private``, where that was read
    from a folder). ``column`` names the sensitive column where there are several. See :func:`reticent.knowledge.explore` for the rest.

    Example: ``what_if(table, know=["Hannah=Flu -> Charlie=Flu"], ask="Charlie=Flu").posterior``
    """
    population = population_of(source, people, key=key, column=column, levels=levels, private=private)
    return explore(population, know, ask, budget=budget, samples=samples, seed=seed)


def population_of(
    source: Table | PublishedRelease | Population,
    people: Any = None,
    *,
    key: str | None = None,
    column: str | None = None,
    levels: Mapping[str, int] | None = None,
    private: Mapping[str, pl.DataFrame] | None = None,
) -> Population:
    """Everybody who can be named, with their group and its histogram."""
    if isinstance(source, Population):
        return source
    if isinstance(source, Table):
        return _of_table(source, key, column, levels or {})
    if hasattr(source, "manifest") and hasattr(source, "tables"):
        known = private if private is not None else getattr(getattr(source, "draft", None), "private", {})
        return _of_release(source, people, key, column, known)
    raise PolicyError(f"what_if needs a Table or a Release, but it got a {type(source).__name__}.")


def _of_table(table: Table, key: str | None, column: str | None, levels: Mapping[str, int]) -> Population:
    names = key or column_of_names(table)
    if names is None:
        raise PolicyError("To ask about people the table must name them: say key= or identifiers= when it is made.")
    if names not in table.frame.columns:
        raise PolicyError(f"There is no column {names!r}.{did_you_mean(names, table.frame.columns)}")
    points, rows = grouped(table, levels)
    return _named(table.frame[names], rows, judged(points.groups(), column))


def grouped(table: Table, levels: Mapping[str, int]) -> tuple[FrequencySet, NDArray[np.int64]]:
    """The groups of a table with some quasi columns at coarser levels, and the group of every row."""
    from reticent.engine import count_table, engine_of

    check_rows_are_people(table)
    finest = count_table(table)
    chosen = _levels(finest, levels)
    rows = np.concatenate(list(engine_of(table).points(table, finest)))
    if not any(chosen):
        return finest, rows
    return finest.generalize(chosen), finest.group_ids(chosen)[0].astype(np.int64)[rows]


def _levels(finest: FrequencySet, wanted: Mapping[str, int]) -> tuple[int, ...]:
    columns = [hierarchy.column for hierarchy in finest.hierarchies]
    for name in wanted:
        if name not in columns:
            raise PolicyError(f"There is no quasi column {name!r}.{did_you_mean(name, columns)}")
    for hierarchy in finest.hierarchies:
        level = wanted.get(hierarchy.column, 0)
        if not 0 <= level <= hierarchy.height:
            raise PolicyError(
                f"Column {hierarchy.column!r} has no level {level}: its hierarchy has the levels 0 to {hierarchy.height}."
            )
    return tuple(wanted.get(name, 0) for name in columns)


def column_of_names(table: Table) -> str | None:
    """The column that people are called by: the key, or else the first identifier."""
    return table.key or (table.identifiers[0] if table.identifiers else None)


def check_rows_are_people(table: Table) -> None:
    """One row is one person (R-WK-29)."""
    if table.unit == "person" and table.key is not None and table.frame[table.key].is_duplicated().any():
        raise DataError(
            "Some people have several rows, but background knowledge is measured on one row a person. Keep one row for each person."
        )


def _of_release(
    release: PublishedRelease, people: Any, key: str | None, column: str | None, private: Mapping[str, pl.DataFrame]
) -> Population:
    side: PublishedRelease = getattr(release, "public", release)
    groups = judged(side.groups, column)
    places = places_of(side)
    if people is None and "people" not in private:
        return _by_pseudonym(private, places, groups)
    frame = as_polars(private["people"] if people is None else people)
    for name in side.manifest.named("quasi"):
        if name not in frame.columns:
            raise DataError(f"people has no column {name!r}.{did_you_mean(name, frame.columns)}")
    names = frame[_name_column(frame, side.manifest, key)]
    meanings = {name: side.manifest.meanings[name] for name in side.manifest.named("quasi")}
    return _named(names, placed(frame, places, meanings), groups, whole=False)


def judged(groups: Groups, column: str | None) -> Groups:
    """The groups of one sensitive column."""
    columns = [each.name for each in groups.domain.columns]
    if not columns:
        raise PolicyError("There is no sensitive column to ask about. Declare one with sensitive=.")
    if column is None and len(columns) > 1:
        raise PolicyError(f"There are several sensitive columns ({', '.join(columns)}); say which with column=.")
    return groups.marginal(column or columns[0])


def places_of(side: PublishedRelease) -> pl.DataFrame:
    """The published rows of the quasi columns, each with its group as ``side.groups`` numbers them: in the order of the labels."""
    manifest = side.manifest
    if manifest.only("bucket") is None:
        rows = side.tables["data"]
        by = list(manifest.named("quasi"))
    else:
        rows = side.tables["quasi"]
        by = [manifest.only("bucket")]
    if by:
        numbers = rows.select(by).unique().sort(by, nulls_last=False).with_row_index(GROUP)
        numbered = rows.join(numbers, on=by, how="left", nulls_equal=True, maintain_order="left")
    else:
        numbered = rows.with_columns(pl.lit(0).alias(GROUP))
    numbered = numbered.with_columns(pl.col(GROUP).cast(pl.Int64))
    if np.bincount(numbered[GROUP].to_numpy(), minlength=len(side.groups)).tolist() != side.groups.sizes.tolist():
        raise DataError("The groups of this release are not numbered by their labels, so nobody can be placed in them.")
    return numbered


def _by_pseudonym(private: Mapping[str, pl.DataFrame], places: pl.DataFrame, groups: Groups) -> Population:
    """People by the steward's list of pseudonyms, which is part of a release's private side."""
    if "pseudonyms" not in private or PSEUDONYM not in places.columns:
        raise PolicyError(
            "A release does not say who is in it. Pass people=, a frame with a column of names and the quasi columns, or publish with "
            "pseudonyms and keep the private side."
        )
    joined = places.select(PSEUDONYM, GROUP).join(private["pseudonyms"], on=PSEUDONYM, how="inner")
    names = next(name for name in joined.columns if name not in (PSEUDONYM, GROUP))
    return _named(joined[names], joined[GROUP].to_numpy(), groups)


def _name_column(frame: pl.DataFrame, manifest: Any, key: str | None) -> str:
    if key is not None:
        if key not in frame.columns:
            raise DataError(f"people has no column {key!r}.{did_you_mean(key, frame.columns)}")
        return key
    published = {column.name for column in manifest.columns}
    spare = [name for name in frame.columns if name not in published]
    if len(spare) != 1:
        raise PolicyError(
            "people must have one column of names beside the published ones, but it has "
            + (f"{len(spare)}: {', '.join(spare)}. Say which with key=." if spare else "none.")
        )
    return spare[0]


def _named(names: pl.Series, where: NDArray[np.int64], groups: Groups, *, whole: bool = True) -> Population:
    texts = names.cast(pl.String)
    repeated = frozenset(texts.filter(texts.is_duplicated()).drop_nulls().unique().to_list())
    everybody = [
        (name, group)
        for name, group in zip(texts.to_list(), where.tolist(), strict=True)
        if name is not None and name not in repeated
    ]
    unplaced = {name: _WHY[group] for name, group in everybody if group < 0}
    return Population(
        GroupHistograms(groups), {name: group for name, group in everybody if group >= 0}, repeated, whole, unplaced
    )
