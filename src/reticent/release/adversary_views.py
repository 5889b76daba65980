"""The adversary's view of a raw table, a draft, a release, its public side or its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reticent.core import AdversaryColumn, AdversaryView, Draft, Provenance
from reticent.engine import count_table
from reticent.errors import PolicyError, did_you_mean
from reticent.release.computable_columns import ComputableColumns
from reticent.release.format import format_of
from reticent.release.public import PublicSide, open_public
from reticent.release.reference_histogram import declared_reference
from reticent.table import Table


def adversary_view_of(target: Any, levels: Mapping[str, int] | None = None) -> AdversaryView:
    """Return the adversary's view of a raw table, a draft, a release, its public side, or a release folder (only ``public/`` is read).

    ``levels`` generalizes quasi columns of a table to the given levels of their hierarchies.
    """
    if isinstance(target, AdversaryView):
        return target
    if isinstance(target, Table):
        return _of_table(target, levels or {})
    if levels:
        raise PolicyError("levels= applies to a table; a release shows its published labels.")
    if isinstance(target, Draft):
        return _of_draft(target)
    return _of_public(public_side(target))


def public_side(target: Any) -> PublicSide:
    """Return the public side of a release, a public side, a reader of one, or a release folder."""
    if isinstance(target, str | Path):
        return open_public(target)
    side = target if isinstance(target, PublicSide) else getattr(target, "public", None)
    if isinstance(side, PublicSide):
        return side
    raise PolicyError(f"Expected a table, a draft, a release or the folder of one, but got a {type(target).__name__}.")


def _of_table(table: Table, wanted_levels: Mapping[str, int]) -> AdversaryView:
    """Return the view of a table published unchanged, or generalized to the ``wanted_levels`` levels; identifiers are dropped."""
    levels = _levels(table, wanted_levels)
    frequencies = count_table(table)
    if any(levels):
        frequencies = frequencies.generalize(levels)
    columns = []
    for hierarchy, level, codes in zip(frequencies.hierarchies, frequencies.levels, frequencies.codes, strict=True):
        meanings, texts = hierarchy.levels[level].meanings, hierarchy.levels[level].labels
        occurs = np.zeros(len(meanings), dtype=bool)
        occurs[codes] = True
        occurring_codes, codes_in_use = np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]
        labels = (pl.Series(texts) if level else hierarchy.leaves).gather(occurring_codes)
        columns.append(
            AdversaryColumn(hierarchy.column, codes_in_use, labels, tuple(meanings[code] for code in occurring_codes))
        )
    sets = tuple(tuple(names) for names in table.quasi_sets or (tuple(table.quasi),))
    return AdversaryView(
        tuple(columns),
        frequencies.sizes,
        group_of=np.arange(len(frequencies)),
        groups=frequencies.groups(),
        sets=sets,
        people=frequencies.groups().distinct_people if frequencies.owners else None,
        declared=dict.fromkeys(table.declared, table.held),
        computable=tuple(ComputableColumns.declared_in(table)),
    )


def _levels(table: Table, levels_by_name: Mapping[str, int]) -> tuple[int, ...]:
    """Return the level of every quasi column; 0 for columns that ``levels_by_name`` does not name."""
    for name in levels_by_name:
        if name not in table.quasi:
            raise PolicyError(f"There is no quasi column {name!r}.{did_you_mean(name, table.quasi)}")
    for hierarchy in table.hierarchies:
        level = levels_by_name.get(hierarchy.column, 0)
        if not 0 <= level <= hierarchy.height:
            raise PolicyError(
                f"Column {hierarchy.column!r} has no level {level}: its hierarchy has the levels 0 to {hierarchy.height}."
            )
    return tuple(levels_by_name.get(name, 0) for name in table.quasi)


def _of_draft(draft: Draft) -> AdversaryView:
    """Return the view of a draft before publication."""
    form = format_of(draft.format)
    columns = form.drafted(draft)
    named = [column.name for column in columns if column.role == "declared"]
    declared = {name: rows for rows in draft.tables.values() for name in rows.schema if name in named}
    return replace(form.seen(draft.tables, columns, draft.details), declared=declared)


def _of_public(side: PublicSide) -> AdversaryView:
    """Return the view of a published side, with the disclosures that its certificate states."""
    provenance = Provenance(side.manifest.method, tuple(side.certificate["claims"]), side.manifest.unit)
    reference = {
        name: histogram for name, histogram in declared_reference(side).items() if histogram.of == "whole table"
    }
    return replace(side.seen, reference=reference, made=provenance)
