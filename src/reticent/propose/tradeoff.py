"""What a table can afford: which columns are published, which guarantees are stated about them, and which method makes the release.

All of it is found by drafting releases and measuring what they lose, on a sample where the table is large. The figures are for the steward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from reticent.base.context import Context
from reticent.definitions import Definition
from reticent.errors import Cancelled, ReticentError
from reticent.propose.conclusions import with_conclusions
from reticent.propose.pricing import LOCAL, Pricing, definition_of
from reticent.propose.promises import PromiseCost, PromiseSearch, next_stricter
from reticent.propose.proposal import ColumnProposal, Proposal, column_guarantees
from reticent.propose.relations import families
from reticent.propose.selection import USEFUL, ColumnSelection, LeftOut, select
from reticent.propose.study_columns import is_outcome, is_treatment
from reticent.release import Cheapest, MethodComparison, default_method, method_from
from reticent.table import Table

_MOST_WORK = 60_000_000
"""Rows times columns times columns up to which the cuts of a release are chosen by their loss."""

_OTHER_DOORS = (
    "Other ways: publish fewer columns (several releases of different columns about the same people must be judged together), answer questions by audited SQL "
    "(reticent serve), publish synthetic rows (Synthesize) or tables of counts (NoisyCounts)."
)


@dataclass(frozen=True)
class Tradeoff:
    """What a proposal comes to once its price is known: columns, guarantees and method, and the prices that decided."""

    proposal: Proposal
    method: Mapping[str, Any]
    prices: tuple[PromiseCost, ...]
    compared: MethodComparison | None
    left_out: tuple[LeftOut, ...] = ()


def afford(
    proposal: Proposal, frame: pl.DataFrame, context: Context | None = None, shown: Mapping[str, Any] | None = None
) -> Tradeoff:
    """Make a proposal affordable: the dearest columns are left out until the release is of use, and guarantees are made as strict as they cost little.

    Every published column is protected or sensitive, and every sensitive one has a guarantee. ``shown`` are parameters that every method to choose from
    must have, such as ``values``.
    """
    if proposal.refusal is not None or not any(column.role == "quasi" for column in proposal.columns):
        return Tradeoff(proposal, {}, (), None)
    context = context or Context()
    try:
        return _afforded(proposal, frame, context, shown)
    except Cancelled:
        raise
    except ReticentError:
        # What cannot be drafted is told by publish, with its place in the policy.
        return Tradeoff(proposal, {}, (), None)


def _afforded(proposal: Proposal, frame: pl.DataFrame, context: Context, shown: Mapping[str, Any] | None) -> Tradeoff:
    guarantees = column_guarantees(proposal.columns, frame)
    pricing = Pricing(proposal, frame, context)
    size = proposal.definition[0]
    quasi = [column.name for column in proposal.columns if column.role == "quasi"]
    selection = select(pricing, proposal.columns, guarantees, size, families(pricing.rows, quasi))
    search = PromiseSearch(
        lambda promised: pricing.price(selection.quasi, promised),
        selection.promised(size),
        guarantees,
        lambda: pricing.left > 0,
    )
    tried = search.run()
    wanted = definition_of(search.chosen)
    table = pricing.table(selection.quasi, search.chosen, ranges=False)
    found = _candidates(table, wanted, shown, frame.height).compared(table, wanted, replace(context, memo={}))
    compared = replace(found, total=frame.height)
    columns = _published(proposal.columns, selection)
    warned = _warnings(proposal.columns, selection, compared)
    concluded = with_conclusions(table, wanted, compared.best.method, context)
    notes = (*_notes(selection, next_stricter(tried), compared), *concluded.notes(), *proposal.notes)
    affordable = replace(
        proposal, columns=columns, definition=search.chosen, headline=(*warned, *proposal.headline), notes=notes
    )
    prices = tuple(price for _, price in tried)
    return Tradeoff(affordable, concluded.method, prices, compared, selection.left_out)


def _candidates(table: Table, definition: Definition, shown: Mapping[str, Any] | None, rows: int) -> Cheapest:
    """The methods that publish would choose from, and the one that prices were measured with, unless all ``rows`` would take it too long."""
    found = default_method(table, definition, shown)
    methods = found.candidates if isinstance(found, Cheapest) else (found,)
    name, parameters = LOCAL
    measured = method_from(name, {**parameters, **(shown or {})})
    if measured not in methods and rows * len(table.quasi) ** 2 <= _MOST_WORK:
        methods = (*methods, measured)
    return Cheapest(methods)


def _published(columns: Sequence[ColumnProposal], selection: ColumnSelection) -> tuple[ColumnProposal, ...]:
    """The columns, those that are left out without a role and with their price."""
    why = {each.column: each.words for each in selection.left_out}
    return tuple(
        replace(column, role=None, reason=why[column.name], hierarchy=None, levels=1, coarsen=None)
        if column.name in why
        else column
        for column in columns
    )


def _warnings(
    columns: Sequence[ColumnProposal], selection: ColumnSelection, compared: MethodComparison
) -> tuple[str, ...]:
    """What the steward must see first: a release of little use, and studied columns that are missing from it."""
    told = []
    loss, published = compared.best.loss, len(selection.quasi) + len(selection.floors)
    if loss is not None and (loss > USEFUL or 2 * published < len(columns)):
        told.append(
            f"A release of single rows of this table is of little use: with {published} of {len(columns)} columns it loses {loss:.0%} of the detail. {_OTHER_DOORS}"
        )
    gone = {each.column for each in selection.left_out}
    for words, says in (("what was done to people", is_treatment), ("what came of it", is_outcome)):
        missing = [column.name for column in columns if column.name in gone and says(column.name)]
        if missing:
            told.append(f"Left out although it looks like {words}: {', '.join(map(repr, missing))}.")
    return tuple(told)


def _notes(selection: ColumnSelection, stricter: str | None, compared: MethodComparison) -> list[str]:
    """What the guarantees cost, by the chosen method, and what is left out at which price."""
    notes = []
    if compared.best.loss is not None:
        told = f"The proposed guarantees cost a loss of {compared.best.loss:.3f} by {compared.best.name}"
        if selection.floors and selection.size_alone is not None:
            told += f"; groups alone, without a guarantee about values, would cost {selection.size_alone:.3f}"
        if stricter is not None:
            told += f"; the next stricter step, {stricter}"
        notes.append(f"{told}.")
    if selection.left_out:
        everything = (
            "could not be protected"
            if selection.everything is None
            else f"would cost a loss of {selection.everything:.2f}"
        )
        listed = ", ".join(
            f"{each.column!r}" + ("" if each.price is None else f" ({max(each.price, 0.0):.2f})")
            for each in selection.left_out
        )
        notes.append(
            f"All columns together {everything}. Left out, each with the loss that it would add: {listed}. To publish one, give it the role quasi (or "
            "sensitive, with a definition) and take another one out."
        )
    return notes
