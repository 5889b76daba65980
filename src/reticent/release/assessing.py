"""``rt.assess``: how well a table as it stands, or a release, meets a definition."""

from __future__ import annotations

from pathlib import Path

from reticent.data.groups import Groups
from reticent.data.table import Table
from reticent.definitions.base import Assessment, Definition
from reticent.engine import LocalEngine
from reticent.errors import PolicyError
from reticent.release.public import open_public
from reticent.release.release import Release


def assess(subject: Table | Release | str | Path, definition: Definition) -> Assessment:
    """Judge a table (published as it stands), a release, or a saved release by its public side."""
    if not isinstance(definition, Definition):
        raise PolicyError(f"assess needs a definition such as KAnonymity(5), but got {definition!r}.")
    return definition.assess(_groups(subject, definition))


def _groups(subject: Table | Release | str | Path, definition: Definition) -> Groups:
    if isinstance(subject, Table):
        groups = LocalEngine().frequencies(definition.prepare(subject)).groups()
        return groups.select(groups.sizes > 0)
    if isinstance(subject, Release):
        return subject.groups
    if isinstance(subject, str | Path):
        return open_public(subject).groups
    raise PolicyError(f"assess needs a Table, a Release or the folder of one, but got a {type(subject).__name__}.")
