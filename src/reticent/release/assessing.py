"""``rt.assess``: how well a table as it stands, or a release, meets a definition."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import Draft, Evidence, Table
from reticent.data.readers import people_of
from reticent.definitions import Assessment, Definition, by_set, judge, of_groups, own_sets, verdict
from reticent.definitions.population import PopulationDefinition, require_same
from reticent.engine import count_table, engine_of
from reticent.errors import PolicyError
from reticent.release.claims import read_claims
from reticent.release.format import Judged
from reticent.release.public import PublicSide
from reticent.release.reference import ReferenceColumn, declared_reference
from reticent.release.release import Release
from reticent.release.seen import public_side, seen_of


def assess(subject: Table | Draft | Release | PublicSide | str | Path, definition: Definition) -> Assessment:
    """Judge a table (published as it stands), a draft, a release, or a saved release by its public side.

    Where an adversary may hold one of several sets of columns (``quasi_sets``), the definition must withstand each (R-LD-4): then ``value`` has
    what was achieved for each set, and ``parts`` their assessments.

    Of a saved release, what compares with the whole table is compared with the histogram that the certificate declares, and with the published
    rows where it declares none.
    """
    if not isinstance(definition, Definition):
        raise PolicyError(f"assess needs a definition such as KAnonymity(5), but got {definition!r}.")
    found = verdict(definition, judge(definition, _evidence(subject, definition)))
    return replace(found, lister=partial(_failing_rows, subject, definition)) if isinstance(subject, Table) else found


def _evidence(subject: Any, definition: Definition) -> Evidence:
    """What adversaries see, for each set of columns that one may hold."""
    if isinstance(subject, Table):
        seen = seen_of(definition.prepare(subject))
        groups = {columns: seen.known(columns).true_groups for columns in (*seen.sets, *own_sets(definition))}
        filled = {columns: each.select(each.sizes > 0) for columns, each in groups.items()}
        return Evidence({columns: filled[columns] for columns in seen.sets}, filled)
    if isinstance(subject, Draft):
        return subject.evidence
    if isinstance(subject, Release):
        return _of_release(subject, definition)
    side = public_side(subject)
    return _of_public(side, definition, declared_reference(side))


def _failing_rows(table: Table, definition: Definition) -> NDArray[np.int64]:
    prepared, wanted = definition.prepare(table), of_groups(definition, "assess")
    frequencies, names = count_table(prepared), list(table.quasi)
    failing = np.zeros(len(frequencies), dtype=bool)
    for columns, demand in by_set(wanted, table.quasi_sets or (tuple(names),)):
        ids, count = frequencies.group_ids(frequencies.levels, [names.index(name) for name in columns])
        groups = frequencies.merged(ids, count)
        # Beside a population, groups may be of people who are not in the table.
        mask = groups.sizes > 0
        mask[mask] = demand.failing(groups.select(mask))
        failing |= mask[ids]
    points = np.concatenate(list(engine_of(prepared).points(prepared, frequencies)))
    return np.flatnonzero(failing[points])


def _of_release(release: Release, definition: Definition) -> Evidence:
    """The groups as they were judged; sets of columns and populations are looked up in the public tables, beside the steward's whole table."""
    side = release.public
    looked_up = _population(definition) is not None or own_sets(definition)
    if len(side.manifest.adversary_sets) == 1 and not looked_up:
        return release.private.evidence
    groups = release.groups
    marginals = {name: groups.marginal(name) for name in side.manifest.named("sensitive")}
    reference = {name: ReferenceColumn(each.domain.columns[0], each.reference) for name, each in marginals.items()}
    return _of_public(side, definition, reference)


def _of_public(side: PublicSide, definition: Definition, reference: dict[str, ReferenceColumn]) -> Evidence:
    """The groups as the public tables show them, beside a population where the definition compares with one."""
    if side.manifest.unit == "person" and definition.counts_people:
        raise PolicyError(
            f"{definition} counts people, and the published files show rows, of which several may be one person. Assess the table, or the "
            "release as publish returned it (without a population or several quasi sets, which are looked up in the files)."
        )
    claimed = [claim.definition for claim in read_claims(side.certificate) if claim.definition is not None]
    return side.form.evidence(side, Judged(definition, reference, _population(definition), tuple(claimed)))


def _population(definition: Definition) -> pl.DataFrame | None:
    """The population that the parts of a definition compare with, if any does."""
    given = [part.population for part in definition.parts() if isinstance(part, PopulationDefinition)]
    listed = [people_of(population) for population in given if population is not None]
    for other in listed[1:]:
        require_same(listed[0], other)
    return listed[0] if listed else None
