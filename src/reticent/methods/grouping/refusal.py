"""What every grouping method keeps, and how it refuses the rest."""

from __future__ import annotations

from reticent.core import Kind
from reticent.definitions import Definition, GroupDefinition, Method, of_groups
from reticent.errors import PolicyError
from reticent.table import Table

GROUPS: frozenset[Kind] = frozenset({"groups"})


def kept_definition(
    method: Method, table: Table, definition: Definition, *, by_columns: bool = False
) -> GroupDefinition:
    """What a grouping method is asked to keep; a :class:`PolicyError` says why it cannot.

    A method that does not judge labels ``by_columns`` keeps what implies a definition about some of the columns: the same for all of them.
    """
    wanted = of_groups(definition, type(method).__name__)
    reason = method.refusal(table, wanted)
    if reason is not None:
        raise PolicyError(reason)
    return wanted if by_columns else wanted.in_each_group()
