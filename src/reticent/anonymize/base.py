"""What every grouping method is: a frozen value that turns a table and a definition into a draft."""

from __future__ import annotations

from typing import Any, Protocol

from reticent.data import Context, Draft, Table
from reticent.definitions.base import Definition


class Method(Protocol):
    """How a release is made. ``draft`` returns everything; nothing leaves the house before ``release`` takes it."""

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """A draft whose groups satisfy the definition, or :class:`reticent.errors.Infeasible`. No context means a new one."""

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters, for policies and manifests."""
