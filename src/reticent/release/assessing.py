"""``rt.assess``: how well a table as it stands, or a release, meets a definition."""

from __future__ import annotations

from pathlib import Path

from reticent.data.groups import Groups
from reticent.data.table import Table
from reticent.definitions.base import Assessment, Definition
from reticent.definitions.population import PopulationDefinition
from reticent.engine import engine_of
from reticent.errors import PolicyError
from reticent.release.population import people_of, with_population
from reticent.release.public import PublicSide, open_public
from reticent.release.release import Release
from reticent.release.stored import counted


def assess(subject: Table | Release | str | Path, definition: Definition) -> Assessment:
    """Judge a table (published as it stands), a release, or a saved release by its public side."""
    if not isinstance(definition, Definition):
        raise PolicyError(f"assess needs a definition such as KAnonymity(5), but got {definition!r}.")
    return definition.assess(_groups(subject, definition))


def _groups(subject: Table | Release | str | Path, definition: Definition) -> Groups:
    if isinstance(subject, Table):
        table = definition.prepare(subject)
        groups = engine_of(table).frequencies(table).groups()
        return groups.select(groups.sizes > 0)
    if isinstance(subject, Release):
        return _beside_population(subject.groups, subject.public, definition)
    if isinstance(subject, str | Path):
        side = open_public(subject)
        return _beside_population(side.groups, side, definition)
    raise PolicyError(f"assess needs a Table, a Release or the folder of one, but got a {type(subject).__name__}.")


def _beside_population(groups: Groups, side: PublicSide, definition: Definition) -> Groups:
    """The groups as the public tables show them, with the people who fit each, where the definition compares with a population."""
    people = next((part for part in definition.parts() if isinstance(part, PopulationDefinition)), None)
    if people is None or people.population is None or side.format != "generalize":
        return groups
    if definition.needs_reference:
        raise PolicyError(
            "Of a release, assess what compares with a population apart from what compares with the whole table: the public tables show "
            "the one, the steward's groups the other."
        )
    quasi = side.manifest.named("quasi")
    shown, _ = counted(side.tables, "data", quasi)
    return with_population(side.groups, shown, side.manifest, people_of(people.population), quasi)
