"""Shared parts of methods that publish exact quasi values in buckets, however records are assigned to buckets."""

from __future__ import annotations

from reticent.core import BUCKET, Recoded, shown_meanings
from reticent.definitions import Definition
from reticent.table import Meaning, Table


def not_in_buckets(table: Table, definition: Definition, how: str, instead: str) -> str | None:
    """Return why a table cannot be published in buckets under a definition, or None. ``how`` names the method or option that uses buckets, ``instead`` the alternative to recommend."""
    if not table.sensitive:
        return f"{how} separates sensitive values from people, but the table has no sensitive column."
    if BUCKET in table.schema:
        return f"A bucketized release calls its bucket {BUCKET!r}. Rename the column of that name."
    hidden = [part for part in definition.parts() if part.hides_identity]
    if hidden:
        return (
            f"{hidden[0]} requires that no person can be singled out by quasi values, but {how} publishes these values "
            f"exactly. {instead}, or ask only for definitions about the sensitive values."
        )
    return None


def value_meanings(table: Table, recoded: Recoded) -> dict[str, dict[str, Meaning]]:
    """The meanings of the labels of buckets: each label means the published value itself."""
    rows = recoded.tables["quasi"]
    leaves = [hierarchy.codes(rows.values(hierarchy.column).unique()) for hierarchy in table.hierarchies]
    return shown_meanings(table.hierarchies, (0,) * len(leaves), leaves)
