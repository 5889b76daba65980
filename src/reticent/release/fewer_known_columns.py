"""Utility gained, and risk left, by a guarantee for any m known columns instead of all; figures for ``propose``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from reticent.base.context import Context
from reticent.definitions import AnyColumns, GroupDefinition, Method, closed, numbers_beyond, unique_share
from reticent.errors import Infeasible
from reticent.release.adversary_views import adversary_view_of
from reticent.table import Table
from reticent.utility import utility_of

_WORTH = 0.8
"""A guarantee for fewer known columns is offered if its loss is below this share of the loss for all columns."""


@dataclass(frozen=True)
class AnyColumnsOffer:
    """A guarantee for any ``known`` columns compared with one for all: both losses, and the share of records unique to an
    adversary who knows more columns than covered.
    """

    definition: AnyColumns
    loss: float
    loss_of_all: float
    unique: Mapping[int, float]

    def note(self) -> str:
        """Describe the offer to a steward: both losses, the records unique beyond it, and how to choose it."""
        beyond = ", ".join(f"{share:.1%} of the records on {known}" for known, share in self.unique.items())
        return (
            f"protection from an adversary who knows any {self.definition.known} of them, instead of all, would lose {self.loss:.3f} instead of {self.loss_of_all:.3f}. But it guarantees "
            f"nothing against an adversary who knows more: unique on random columns are {beyond}. To choose it, put the definitions into inner = [...] of a definition with "
            f'name = "AnyColumns" and known = {self.definition.known}.'
        )


def any_columns_offer(
    table: Table,
    demand: GroupDefinition,
    method: Method,
    *,
    known: tuple[int, ...] = (2, 3),
    context: Context | None = None,
) -> AnyColumnsOffer | None:
    """Return the offer for the largest m up to ``known`` with a loss below 0.8 of that for all columns; None if there is none.

    ``demand`` is the definition that must hold against an adversary who knows the columns. Drafts are made, nothing is
    published. With more than two columns the offer is rarely cheaper: rare values make small groups anyway, and groups
    over all columns protect against every adversary.
    """
    context = context or Context()
    try:
        loss_of_all = float(utility_of(method.draft(table, demand, context))["loss"])
    except Infeasible:
        return None
    for known_count in sorted(known, reverse=True):
        if known_count >= len(table.quasi):
            continue
        definition = cast(AnyColumns, closed(AnyColumns(known_count, demand), table))
        draft = method.draft(table, definition, context)
        loss = float(utility_of(draft)["loss"])
        if loss < _WORTH * loss_of_all:
            groups = adversary_view_of(draft).labelled_groups
            beyond = numbers_beyond(known_count, len(table.quasi))
            return AnyColumnsOffer(
                definition, loss, loss_of_all, {number: unique_share(groups, number) for number in beyond}
            )
    return None
