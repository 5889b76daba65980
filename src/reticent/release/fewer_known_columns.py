"""What a guarantee for any few columns would save, and what it leaves open: figures for whoever offers one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from reticent.base.context import Context
from reticent.definitions import AnyColumns, GroupDefinition, Method, closed, numbers_beyond, unique_share
from reticent.errors import Infeasible
from reticent.release.adversary_views import adversary_view_of
from reticent.table import Table

_WORTH = 0.8
"""Below this share of the loss for all columns a guarantee for any few is worth its gap."""


@dataclass(frozen=True)
class AnyColumnsOffer:
    """A guarantee for any ``known`` columns beside that for all: the loss of both, and the share of records that are unique to an adversary who knows more columns than are covered."""

    definition: AnyColumns
    loss: float
    loss_of_all: float
    unique: Mapping[int, float]

    def note(self) -> str:
        """What a steward is told who may choose it, with both figures."""
        beyond = ", ".join(f"{share:.1%} of the records in {known}" for known, share in self.unique.items())
        return (
            f"Protecting from whoever knows any {self.definition.known} columns, instead of all of them, would lose {self.loss:.3f} instead of {self.loss_of_all:.3f}. But it promises "
            f"nothing against somebody who knows more: unique in random columns are {beyond}."
        )


def any_columns_offer(
    table: Table,
    demand: GroupDefinition,
    method: Method,
    *,
    known: tuple[int, ...] = (2, 3),
    context: Context | None = None,
) -> AnyColumnsOffer | None:
    """The offer for the most columns of ``known`` that loses less than 0.8 of what protecting all columns does; None where there is none.

    ``demand`` is what must hold for whoever knows the columns. Drafts are made and nothing is published. With more than two columns it is rarely
    cheaper: rare values make small groups in any case, while groups of all columns protect from everybody.
    """
    context = context or Context()
    try:
        loss_of_all = float(method.draft(table, demand, context).utility["loss"])
    except Infeasible:
        return None
    for many in sorted(known, reverse=True):
        if many >= len(table.quasi):
            continue
        definition = cast(AnyColumns, closed(AnyColumns(many, demand), table))
        draft = method.draft(table, definition, context)
        loss = float(draft.utility["loss"])
        if loss < _WORTH * loss_of_all:
            groups = adversary_view_of(draft).labelled_groups
            beyond = numbers_beyond(many, len(table.quasi))
            return AnyColumnsOffer(definition, loss, loss_of_all, {each: unique_share(groups, each) for each in beyond})
    return None
