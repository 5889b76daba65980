"""What keeps a definition: a method turns a table and a definition into a draft. Methods need not import this; they only look like it."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from reticent.base.context import Context
from reticent.core import Draft, Kind
from reticent.definitions.definition import Definition
from reticent.table import Table


class Method(Protocol):
    """How a release is made. ``draft`` returns everything; nothing leaves the house before ``publish`` takes it.

    ``keeps`` are the kinds of definitions that it keeps, ``streams`` says whether it can do without having all rows in memory.
    """

    keeps: ClassVar[frozenset[Kind]]
    streams: ClassVar[bool]

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Why it cannot keep the definition for this table, or None; asked before any row is looked at."""

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """A draft that keeps the definition, or :class:`reticent.errors.Infeasible`. No context means a new one."""

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters, for policies and manifests."""
