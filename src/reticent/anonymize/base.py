"""What every grouping method is: a frozen value that turns a table and a definition into a draft."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from reticent.data import Context, Draft, Kind, Table
from reticent.definitions import Definition, GroupDefinition, of_groups
from reticent.errors import PolicyError

GROUPS: frozenset[Kind] = frozenset({"groups"})


class Method(Protocol):
    """How a release is made. ``draft`` returns everything; nothing leaves the house before ``release`` takes it.

    ``keeps`` are the kinds of definitions that it keeps, ``streams`` says whether it can do without having all rows in memory.
    """

    keeps: ClassVar[frozenset[Kind]]
    streams: ClassVar[bool]

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Why it cannot keep the definition for this table, or None; asked before any row is looked at."""

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """A draft whose groups satisfy the definition, or :class:`reticent.errors.Infeasible`. No context means a new one."""

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters, for policies and manifests."""


def fitting(method: Method, table: Table, definition: Definition) -> GroupDefinition:
    """What a grouping method is asked to keep; a :class:`PolicyError` says why it cannot."""
    wanted = of_groups(definition, type(method).__name__)
    reason = method.refusal(table, wanted)
    if reason is not None:
        raise PolicyError(reason)
    return wanted
