"""``rt.assess``: how well a table as it stands, or a release, meets a definition."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from reticent.data.groups import Groups
from reticent.data.table import Table
from reticent.definitions.base import Assessment, Definition
from reticent.definitions.population import PopulationDefinition, require_same
from reticent.engine import engine_of
from reticent.errors import PolicyError
from reticent.release.claims import judged_groups, read_claims, whole_table
from reticent.release.population import people_of
from reticent.release.public import PublicSide, open_public
from reticent.release.reference import columns_compared
from reticent.release.release import Release


def assess(subject: Table | Release | str | Path, definition: Definition) -> Assessment:
    """Judge a table (published as it stands), a release, or a saved release by its public side.

    Of a saved release, what compares with the whole table is compared with the histogram that the certificate declares, and with the published
    rows where it declares none.
    """
    if not isinstance(definition, Definition):
        raise PolicyError(f"assess needs a definition such as KAnonymity(5), but got {definition!r}.")
    return definition.assess(_groups(subject, definition))


def _groups(subject: Table | Release | str | Path, definition: Definition) -> Groups:
    if isinstance(subject, Table):
        table = definition.prepare(subject)
        groups = engine_of(table).frequencies(table).groups()
        return groups.select(groups.sizes > 0)
    if isinstance(subject, Release):
        return _steward_groups(subject, definition)
    if isinstance(subject, str | Path):
        return _public_groups(open_public(subject), definition)
    raise PolicyError(f"assess needs a Table, a Release or the folder of one, but got a {type(subject).__name__}.")


def _public_groups(side: PublicSide, definition: Definition) -> Groups:
    """The groups as the public side shows them, beside a population where the definition compares with one."""
    if side.manifest.unit == "person" and definition.counts_people:
        raise PolicyError(
            f"{definition} counts people, and the published files show rows, of which several may be one person. Assess the table, or the "
            "release as publish returned it (without a population, which is counted in the files)."
        )
    claimed = [claim.definition for claim in read_claims(side.certificate) if claim.definition is not None]
    people = _population(definition) if side.format == "generalize" else None
    return judged_groups(definition, side, side.manifest.named("quasi"), whole_table(side), people, claimed)


def _steward_groups(release: Release, definition: Definition) -> Groups:
    """The groups of a release as they were judged; what compares with a population is counted on the public side."""
    side = release.public
    if side.format != "generalize" or _population(definition) is None:
        return release.groups
    undeclared = set(columns_compared(definition, side.manifest.named("sensitive"))) - set(whole_table(side))
    if undeclared:
        raise PolicyError(
            "Of a release, assess what compares with a population apart from what compares with the whole table: the public tables show "
            f"the one, the steward's groups the other, and the certificate declares nothing about {', '.join(sorted(undeclared))}."
        )
    return _public_groups(side, definition)


def _population(definition: Definition) -> pl.DataFrame | None:
    """The population that the parts of a definition compare with, if any does."""
    given = [part.population for part in definition.parts() if isinstance(part, PopulationDefinition)]
    listed = [people_of(population) for population in given if population is not None]
    for other in listed[1:]:
        require_same(listed[0], other)
    return listed[0] if listed else None
