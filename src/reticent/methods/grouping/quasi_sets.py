"""The sets of quasi columns that adversaries may know, and the equivalence classes that each of them observes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import sum_by
from reticent.core import POPULATION, Groups
from reticent.definitions import GroupDefinition, by_set, own_sets
from reticent.errors import PolicyError, did_you_mean
from reticent.table import Table

Columns = tuple[int, ...]


def adversary_sets(table: Table) -> list[Columns]:
    """The sets of quasi columns, by index, that an adversary may know: all columns together, unless the table lists several sets."""
    if not table.quasi:
        raise PolicyError(
            "The table has no quasi columns, so there is nothing to generalize. Declare some with quasi=."
        )
    indexes = {name: index for index, name in enumerate(table.quasi)}
    return [tuple(dict.fromkeys(indexes[name] for name in names)) for names in named_sets(table)]


def judged_sets(table: Table, definition: GroupDefinition) -> list[JudgedSet]:
    """The sets of columns to judge, each with the definition to satisfy: the sets of the table, and those that parts of the definition name."""
    indexes = {name: index for index, name in enumerate(table.quasi)}
    for name in (column for columns in own_sets(definition) for column in columns):
        if name not in indexes:
            raise PolicyError(f"{definition} names {name!r}, which is not a quasi column.{did_you_mean(name, indexes)}")
    return [
        JudgedSet(names, tuple(dict.fromkeys(indexes[name] for name in names)), required)
        for names, required in by_set(definition, named_sets(table))
    ]


@dataclass(frozen=True)
class JudgedSet:
    """Columns by name and index, and the definition that must hold for an adversary who knows them."""

    names: tuple[str, ...]
    places: Columns
    definition: GroupDefinition


def named_sets(table: Table) -> tuple[tuple[str, ...], ...]:
    """The same sets by the names of their columns."""
    return table.quasi_sets if table.quasi_sets is not None else (tuple(table.quasi),)


def seen_as(
    groups: Groups, columns: Columns, ids: NDArray[np.int64], count: int, kept: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], Groups]:
    """Merge the groups under ``kept`` that an adversary who knows some columns cannot distinguish: those with equal ``ids`` (below ``count``).

    Returns the merged group of each group, a mask of the ids in use, and the merged groups. Suppressed rows are not counted in them, but all people of a
    population who match a group are, whether rows are suppressed or not.
    """
    is_used = np.bincount(ids[kept], minlength=count) > 0
    used_count = int(is_used.sum())
    merged_group = (np.cumsum(is_used) - 1)[ids[kept]]
    kept_groups = groups.select(kept)
    extras = {name: sum_by(merged_group, counts, used_count) for name, counts in kept_groups.extras.items()}
    if POPULATION in extras:
        extras[POPULATION] = sum_by(ids, groups.extras[POPULATION], count)[is_used]
    sizes, histograms = (
        sum_by(merged_group, kept_groups.sizes, used_count),
        kept_groups.histograms.merge(merged_group, used_count),
    )
    labels, owners = (
        kept_groups.labels,
        tuple(owner_rows.merged(merged_group, used_count) for owner_rows in kept_groups.owners),
    )
    if labels is not None:
        labels = labels.seen_by(columns, merged_group, used_count)
    return (
        merged_group,
        is_used,
        Groups(sizes, histograms, kept_groups.reference, kept_groups.domain, extras, labels, owners),
    )
