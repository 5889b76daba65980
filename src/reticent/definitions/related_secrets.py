"""Sensitive columns that are functions of others: protecting an income is of little use if all matching records share its published income band."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

import numpy as np

from reticent.core import Groups
from reticent.definitions.definition import Definition, GroupDefinition, all_of
from reticent.table import Table, relations_in


def with_related_secrets(definition: Definition, table: Table) -> Definition:
    """Extend a definition to every sensitive column that follows from one that it guards and that it does not guard
    itself.

    A guarantee is repeated if it is about single values of any kind, and the whole table satisfies it; the related
    column is then judged alone, since the other column determines it. Otherwise nothing is guaranteed about the column,
    as the headline says.
    """
    secret = tuple(table.sensitive)
    guarded = definition.guarded(secret)
    bare = [name for name in secret if name not in guarded]
    if not guarded or not bare:
        return definition
    detected = relations_in(table, bare, secret)
    sources = {
        (relation.derived, *relation.sources)
        for relation in detected
        if len(relation.sources) == 1 and relation.sources[0] in guarded
    }
    related = dict.fromkeys(
        part for name, source in sorted(sources) for part in _repeated(definition, name, source, table)
    )
    return all_of((*definition.parts(), *related))


def _repeated(definition: Definition, name: str, source: str, table: Table) -> Iterator[Definition]:
    """Yield the guarantees about the column ``source``, restated for the column ``name`` that follows from it; only
    those that the whole table satisfies.
    """
    for part in definition.parts():
        if getattr(part, "column", None) != source or not isinstance(part, GroupDefinition):
            continue
        if not is_dataclass(part) or "alone" not in {field.name for field in fields(part)} or part.needs_reference:
            continue
        restated = cast(GroupDefinition, replace(cast(Any, part), column=name, alone=True))
        if part.parameters().keys() <= {"l", "c", "column", "alone"} and restated.holds(_whole(table, name)):
            yield restated


def _whole(table: Table, name: str) -> Groups:
    """All rows in one group, by their value in a sensitive column."""
    _, counts = table.held.counted([name])
    column = next(declared for declared in table.sensitive_columns if declared.name == name)
    return Groups.of_rows(np.zeros(len(counts), dtype=np.int64), 1, [column], [np.arange(len(counts))], counts)
