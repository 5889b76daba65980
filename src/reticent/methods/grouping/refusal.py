"""What every grouping method keeps, and how it refuses the rest."""

from __future__ import annotations

from reticent.core import Kind
from reticent.definitions import Definition, GroupDefinition, Method, of_groups
from reticent.errors import PolicyError
from reticent.table import Table

GROUPS: frozenset[Kind] = frozenset({"groups"})


def kept_definition(
    method: Method, table: Table, definition: Definition, *, by_columns: bool = False, raw: bool = False
) -> GroupDefinition:
    """What a grouping method is asked to keep; a :class:`PolicyError` says why it cannot.

    A method that does not judge labels ``by_columns`` keeps what implies a definition about some of the columns: the same for all of them. One that does not know
    the ``raw`` values of quasi columns in its groups refuses definitions that look at them.
    """
    wanted = of_groups(definition, type(method).__name__)
    reason = method.refusal(table, wanted)
    if reason is not None:
        raise PolicyError(reason)
    if by_columns:
        return wanted
    if wanted.needs_raw and not raw:
        part = next(part for part in wanted.parts() if part.needs_raw)
        raise PolicyError(
            f"{type(method).__name__} does not know which raw values its groups hold, which {part} is about. Use Lattice or Mondrian."
        )
    return wanted.in_each_group()


def rows_of_people(method: str, table: Table, *, counts_people: bool = False) -> str | None:
    """Why rows of which several are one person's cannot be published so; None where nobody has several, or the method ``counts_people`` and nothing links their rows."""
    if table.linked:
        return (
            f"{method} judges rows one by one, and the pseudonym of {table.pseudonyms[0]!r} links all rows of a person, who could be found by their combination. Leave pseudonyms= out, or use "
            "Panel, which hides a person's rows together among those of others."
        )
    if table.several_rows and not counts_people:
        whose = next(iter(table.owners.values()))
        return (
            f"{method} takes every row for another person, and some have several rows (by {whose!r}). Use Mondrian or Lattice, which count people, or keep one row of each with "
            "rows_per_person=1."
        )
    return None
