"""Foreign keys as public knowledge: which rows of other tables a row may depend on.

Possible databases satisfy the foreign keys, so rows are no longer independent: the prior is one of independent rows,
given that all constraints hold. Such a prior is a product of factors, one for each row and one for each constraint: a
child row is linked to all parent rows with the referenced key, and rows that agree on a key are linked to each other.
Answers that depend on rows in different connected components are independent under every such prior (:func:`ties_of`
over-approximates the connections: it assumes that every row is possible). If a chain connects them they may be
dependent: a small database decides (:mod:`reticent.views.dependence`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reticent.views.constants import Constant
from reticent.views.schema import ForeignKey, RowDependence, Schema


@dataclass(frozen=True)
class TieStep:
    """A step from one row to the next: equal values in ``columns`` of the first and ``next_columns`` of the next, which
    is in ``relation``; ``text`` names the foreign key, if it is one.
    """

    relation: str
    columns: tuple[int, ...]
    next_columns: tuple[int, ...]
    text: str = ""


@dataclass(frozen=True)
class RowTie:
    """A chain of links from any row of a table: ``kept`` maps columns of the last row to those of the first with equal
    values; all others are free.
    """

    relation: str
    kept: Mapping[int, int]
    steps: tuple[TieStep, ...] = ()

    @property
    def meeting(self) -> RowDependence:
        """Return how a row at the end must agree with the one at the start."""
        columns = sorted(self.kept)
        return RowDependence(tuple(self.kept[column] for column in columns), True, tuple(columns))

    @property
    def foreign_keys(self) -> tuple[str, ...]:
        """The foreign keys of the chain."""
        return tuple(dict.fromkeys(step.text for step in self.steps if step.text))


def ties_of(start: str, schema: Schema) -> list[RowTie]:
    """Return all chains of links (keys and foreign keys) from a row of a table, the shortest first.

    A chain records which columns of its last row equal columns of the first. Of two chains that end in one table, one
    that keeps more of them is redundant.
    """
    width = len(schema.relation(start).columns)
    ties = [RowTie(start, {column: column for column in range(width)})]
    for tie in ties:
        for step in _steps(tie.relation, schema):
            kept_columns = {
                after: tie.kept[before]
                for before, after in zip(step.columns, step.next_columns, strict=True)
                if before in tie.kept
            }
            kept_before = [other.kept for other in ties if other.relation.lower() == step.relation.lower()]
            if not any(previous.items() <= kept_columns.items() for previous in kept_before):
                ties.append(RowTie(step.relation, kept_columns, (*tie.steps, step)))
    return ties[1:]


def _steps(name: str, schema: Schema) -> Iterator[TieStep]:
    """Yield the links from a row of a table: to rows with an equal key, and along foreign keys in both directions."""
    relation = schema.relation(name)
    for key in relation.keys:
        yield TieStep(relation.name, key.columns, key.columns)
    for link in schema.foreign_keys:
        child, parent = schema.find(link.child), schema.find(link.parent)
        if child is not None and parent is not None:
            linked = schema.linked_columns(link)
            columns, references = (
                (tuple(column for _, column in columns_of_side) for columns_of_side in zip(*linked, strict=True))
                if linked
                else ((), ())
            )
            if child.name == relation.name:
                yield TieStep(parent.name, columns, references, link.text)
            if parent.name == relation.name:
                yield TieStep(child.name, references, columns, link.text)


def steps_between(
    name: str, row: Sequence[Constant], other: Sequence[Constant], schema: Schema
) -> Iterator[tuple[TieStep, ...]]:
    """Yield chains of links from one row of a table to another: the empty chain, and those whose first and last row may
    be these two.
    """
    yield ()
    if row != other:
        for tie in ties_of(name, schema):
            if tie.relation == name and all(other[last] == row[first] for last, first in tie.kept.items()):
                yield tie.steps


def tied_tables(schema: Schema) -> frozenset[str]:
    """Return the tables that have a foreign key or are referenced by one, in lower case."""
    return frozenset(name.lower() for link in schema.foreign_keys for name in (link.child, link.parent))


def parents_of(name: str, schema: Schema) -> Iterator[ForeignKey]:
    """Yield the foreign keys of a table with known columns."""
    return (link for link in schema.foreign_keys if link.columns and link.child.lower() == name.lower())
