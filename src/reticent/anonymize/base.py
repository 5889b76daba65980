"""What every grouping method is: a frozen value that turns a table and a definition into a draft; and whom it must withstand."""

from __future__ import annotations

from typing import Any, Protocol

from reticent.data.draft import Draft
from reticent.data.table import Table
from reticent.definitions.base import Definition
from reticent.errors import PolicyError


class Method(Protocol):
    """How a release is made. ``draft`` returns everything; nothing leaves the house before ``release`` takes it."""

    def draft(self, table: Table, definition: Definition, *, insecure_seed: int | None = None) -> Draft:
        """A draft whose groups satisfy the definition, or :class:`reticent.errors.Infeasible`."""

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters, for policies and manifests."""


def adversary_sets(table: Table) -> list[tuple[int, ...]]:
    """The sets of quasi columns, by their places, that an adversary may hold: all together, unless the table lists several (R-LD-4)."""
    if not table.quasi:
        raise PolicyError(
            "The table has no quasi columns, so there is nothing to generalize. Declare some with quasi=."
        )
    places = {name: place for place, name in enumerate(table.quasi)}
    named = table.quasi_sets if table.quasi_sets is not None else (tuple(places),)
    return [tuple(dict.fromkeys(places[name] for name in names)) for names in named]
