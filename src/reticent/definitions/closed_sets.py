"""Sets of quasi-identifiers that adversaries may know, closed under relations: two known dates determine the days between them."""

from __future__ import annotations

from copy import copy

from reticent.core import closure
from reticent.table import Table, relations_in


def with_closed_sets(table: Table) -> Table:
    """The table with each of its ``quasi_sets`` closed under the relations between its quasi columns; unchanged if there is nothing to add."""
    if table.quasi_sets is None:
        return table
    quasi = list(table.quasi)
    relations = [(relation.sources, relation.derived) for relation in relations_in(table, quasi, quasi)]
    known = [closure(columns, relations) for columns in table.quasi_sets]
    sets = tuple(tuple(name for name in quasi if name in closed_columns) for closed_columns in known)
    if all(
        set(closed_set) == set(declared_set) for closed_set, declared_set in zip(sets, table.quasi_sets, strict=True)
    ):
        return table
    closed = copy(table)
    closed.quasi_sets = tuple(dict.fromkeys(sets))
    return closed
