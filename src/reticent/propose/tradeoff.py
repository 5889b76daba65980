"""The privacy-utility trade-off of a table: which columns are published, with which guarantees, and by which method.

It is found by drafting releases and measuring their loss, on a sample if the table is large. The figures are for the
steward only.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import polars as pl

from reticent.base.context import Context
from reticent.core import Draft, Kind
from reticent.definitions import Definition, GroupDefinition, Method
from reticent.errors import Cancelled, Infeasible, PolicyError, ReticentError
from reticent.propose.affordable_guarantees import PromiseCost, PromiseSearch, next_stricter
from reticent.propose.column_selection import USEFUL, ColumnSelection, LeftOut, select
from reticent.propose.conclusions import with_conclusions
from reticent.propose.prices import LOCAL, Price, Pricing, Promised, definition_of, searched_effort
from reticent.propose.proposal import ColumnProposal, Proposal, column_guarantees
from reticent.propose.relations import families
from reticent.propose.study_columns import is_outcome, is_treatment
from reticent.release import (
    Cheapest,
    ComputableColumns,
    MethodComparison,
    any_columns_offer,
    default_method,
    method_from,
)
from reticent.table import ColumnRelation, Table

_MOST_WORK = 60_000_000
"""Limit of rows times columns squared up to which splits are chosen by their loss."""

_OFFERED_WORK, _FEW_PROMISES = 600_000, 10
"""Limit of rows times columns squared up to which a guarantee against adversaries who know any few columns is tried."""

_MANY_ROWS = " If some people have far more rows than others, set rows_per_person in [roles]: further rows of a person are then suppressed."

_SEARCHED_COLUMNS = 9
"""Up to this many quasi-identifiers the full lattice of generalizations is searched."""

_HARDLY_A_LOSS = 0.03
"""Below this loss a search for better groups is not worth the time."""

OTHER_DOORS = (
    "Alternatives: publish fewer columns (take them out of [roles], then reticent preview policy.toml; several releases of different columns about the same people must be judged "
    "together), answer queries by audited SQL (reticent audit serve audit.toml), publish synthetic rows (reticent synthesize plan, then the method Synthetic), or publish tables of "
    "noisy counts (the method CentralCounts with the definition NoisyCounts)."
)


@dataclass(frozen=True)
class Tradeoff:
    """A proposal with its costs: columns, guarantees and method, and the losses that decided."""

    proposal: Proposal
    method: Mapping[str, Any]
    prices: tuple[PromiseCost, ...]
    compared: MethodComparison | None
    left_out: tuple[LeftOut, ...] = ()


def afford(
    proposal: Proposal, frame: pl.DataFrame, context: Context | None = None, shown: Mapping[str, Any] | None = None
) -> Tradeoff:
    """Make a proposal affordable: drop the most expensive columns until the release is useful, and make guarantees as
    strict as possible at little cost.

    Every published column is protected or sensitive, and every sensitive one has a guarantee. ``shown`` are parameters
    that every candidate method must have, such as ``values``.
    """
    if proposal.refusal is not None or not any(column.role == "quasi" for column in proposal.columns):
        return Tradeoff(proposal, {}, (), None)
    context = context or Context()
    try:
        return _afforded(proposal, frame, context, shown)
    except Cancelled:
        raise
    except ReticentError as error:
        warning = f"No release could be drafted from this proposal, so its information loss is unknown: {error}"
        warning += _MANY_ROWS if proposal.unit == "person" and isinstance(error, Infeasible) else ""
        return Tradeoff(replace(proposal, headline=(warning, *proposal.headline)), {}, (), None)


def unpriced(proposal: Proposal, frame: pl.DataFrame) -> Tradeoff:
    """Return the proposal before anything was drafted: the minimum guarantee of each sensitive column, which is also
    the starting point of :func:`afford`. Sensitive columns that can be computed from the others are not published.

    Publishing chooses the cheapest of the fast methods if the columns are few, with up to 5 % of the records
    suppressed; otherwise local recoding.
    """
    quasi_count = sum(column.role == "quasi" for column in proposal.columns)
    if proposal.refusal is not None or not quasi_count:
        return Tradeoff(proposal, {}, (), None)
    floors = {name: each.floors[0] for name, each in column_guarantees(proposal.columns, frame).items()}
    promised = (proposal.definition[0], *(floors[column.name] for column in proposal.columns if column.name in floors))
    quasi = [column.name for column in proposal.columns if column.role == "quasi"]
    try:
        promised, computed_columns = without_computed(Pricing(proposal, frame, Context()), quasi, promised)
    except ReticentError:
        # A draft of this proposal fails, too, and says why.
        computed_columns = {}
    columns = _without_role(proposal.columns, _computed_reasons(computed_columns))
    method = {"suppression": "0.05"} if quasi_count <= _SEARCHED_COLUMNS else {"name": LOCAL[0], **LOCAL[1]}
    return Tradeoff(replace(proposal, columns=columns, definition=promised), method, (), None)


def _afforded(
    proposal: Proposal, frame: pl.DataFrame, context: Context, parameters: Mapping[str, Any] | None
) -> Tradeoff:
    """Return an affordable version of a proposal, with its prices: columns are selected, guarantees strengthened, methods compared.

    Drafts are made on a sample of the rows. ``parameters`` must be those of every candidate method.
    """
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
    priced = search.run()
    promised, computed_columns = without_computed(pricing, selection.quasi, search.chosen)
    definition = definition_of(promised)
    table = pricing.table(selection.quasi, promised, ranges=False)
    price_with_splits = pricing.price(selection.quasi, promised)
    methods = _candidates(
        table, definition, parameters, frame.height, 1.0 if price_with_splits is None else price_with_splits.loss
    )
    compared = replace(methods.compared(table, definition, replace(context, memo={})), total=frame.height)
    columns = _published(proposal.columns, selection, computed_columns)
    warnings = (
        *_infeasible_as_a_whole(pricing, selection.quasi, promised, compared),
        *_warnings(columns, selection, compared),
    )
    conclusions = with_conclusions(table, definition, methods.candidates[compared.chosen], context)
    notes = (
        *_notes(selection, next_stricter(priced), compared, price_with_splits),
        *_fewer_known(pricing, quasi, selection.everything, promised, context),
        *conclusions.notes(),
        *proposal.notes,
    )
    affordable = replace(
        proposal, columns=columns, definition=promised, headline=(*warnings, *proposal.headline), notes=notes
    )
    prices = tuple(price for _, price in priced)
    return Tradeoff(affordable, conclusions.method, prices, compared, left_out=selection.left_out)


def _candidates(
    table: Table, definition: Definition, required: Mapping[str, Any] | None, rows: int, loss: float
) -> Cheapest:
    """Return the candidate methods of ``publish``, and the one that measured the losses unless it takes too long for
    all ``rows``.

    The latter searches for better groups than the initial splits if their ``loss`` is worth the time.
    """
    default = default_method(table, definition, required)
    methods = default.candidates if isinstance(default, Cheapest) else (default,)
    name, parameters = LOCAL
    measuring_method = method_from(name, {**parameters, **(required or {})})
    effort = searched_effort(rows, len(table.quasi) + len(table.sensitive))
    if effort != "quick" and loss > _HARDLY_A_LOSS and not table.several_rows:
        searching_method = method_from(name, {**parameters, **(required or {}), "effort": effort})
        methods = (*(method for method in methods if method != measuring_method), _DraftedOnce(searching_method))
    elif measuring_method not in methods and rows * len(table.quasi) ** 2 <= _MOST_WORK:
        methods = (*methods, measuring_method)
    return Cheapest(methods)


def without_computed(
    pricing: Pricing, quasi: Sequence[str], promised: Promised
) -> tuple[Promised, Mapping[str, ColumnRelation]]:
    """Return the guarantees without those about sensitive columns that can be computed from the quasi-identifiers, and
    these columns with the relation that determines each.
    """
    computed = ComputableColumns.of(pricing.whole_table(quasi, promised), definition_of(promised)).sensitive
    protectable = tuple(part for part in promised if part.get("column") not in computed)
    return protectable, {name: relation for name, (_, relation) in computed.items()}


def _infeasible_as_a_whole(
    pricing: Pricing, quasi: Sequence[str], promised: Promised, compared: MethodComparison
) -> tuple[str, ...]:
    """Return why the whole table cannot be published although a sample can, as far as known; empty if it can."""
    if not compared.sampled or compared.total * len(quasi) ** 2 > _MOST_WORK:
        return ()
    try:
        method_from(*LOCAL).draft(pricing.whole_table(quasi, promised), definition_of(promised))
    except (Infeasible, PolicyError) as error:
        warning = f"A sample of the rows can be published as proposed, but all of them cannot: {error}"
        return (f"{warning}{_MANY_ROWS}" if pricing.counts_people else warning,)
    return ()


def _fewer_known(
    pricing: Pricing, quasi: Sequence[str], loss_of_all: float | None, promised: Promised, context: Context
) -> list[str]:
    """Return a note on a guarantee against adversaries who know any few columns, if protecting all columns costs far
    more; it includes what remains uncovered, and is never proposed itself.
    """
    is_expensive = loss_of_all is None or loss_of_all > USEFUL
    work = len(quasi) ** 2 * pricing.rows.height * max(len(promised) / _FEW_PROMISES, 1)
    if not is_expensive or work > _OFFERED_WORK:
        return []
    definition = definition_of(promised)
    if not isinstance(definition, GroupDefinition):
        return []
    try:
        table = pricing.table(quasi, promised)
        offer = any_columns_offer(table, definition, method_from(*LOCAL), context=replace(context, memo={}))
    except (Infeasible, PolicyError):
        return []
    return [] if offer is None else [f"With all {len(quasi)} quasi-identifiers: {offer.note()}"]


def _published(
    columns: Sequence[ColumnProposal], selection: ColumnSelection, computed: Mapping[str, ColumnRelation]
) -> tuple[ColumnProposal, ...]:
    """Return the columns; dropped ones without a role, with their cost or with what they can be computed from."""
    return _without_role(
        columns, {each.column: each.words for each in selection.left_out} | _computed_reasons(computed)
    )


def _computed_reasons(computed: Mapping[str, ColumnRelation]) -> dict[str, str]:
    """Return why columns that can be computed from published ones are not published."""
    return {
        name: f"{relation.how}, so it cannot be protected if these are published" for name, relation in computed.items()
    }


def _without_role(columns: Sequence[ColumnProposal], reasons: Mapping[str, str]) -> tuple[ColumnProposal, ...]:
    """Return the columns; those with a reason have no role."""
    return tuple(
        replace(column, role=None, reason=reasons[column.name], hierarchy=None, levels=1, coarsen=None)
        if column.name in reasons
        else column
        for column in columns
    )


@dataclass(frozen=True)
class _DraftedOnce:
    """A slow method with cached drafts, because both the comparison of methods and the check of conclusions use them."""

    method: Method
    drafts: dict[tuple[Hashable, str], Draft] = field(default_factory=dict, compare=False)

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups"})
    streams: ClassVar[bool] = True

    def refusal(self, table: Table, definition: Definition) -> str | None:
        return self.method.refusal(table, definition)

    def describe(self) -> dict[str, Any]:
        return self.method.describe()

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Return the method's draft for a table and a definition; each is made once."""
        draft_key = table.counted_as, str(definition)
        if draft_key not in self.drafts:
            self.drafts[draft_key] = self.method.draft(table, definition, context)
        return self.drafts[draft_key]


def _warnings(
    columns: Sequence[ColumnProposal], selection: ColumnSelection, compared: MethodComparison
) -> tuple[str, ...]:
    """Return what the steward must see first: a release of little use, and missing subjects of study."""
    warnings = []
    loss, published = compared.best.loss, len(selection.quasi) + len(selection.floors)
    if loss is not None and (loss > USEFUL or 2 * published < len(columns)):
        warnings.append(
            f"A release of single rows of this table is of little use: with {published} of {len(columns)} columns it loses {loss:.0%} of the detail. {OTHER_DOORS}"
        )
    dropped = {dropped_column.column for dropped_column in selection.left_out}
    for words, is_subject in (("a treatment", is_treatment), ("an outcome", is_outcome)):
        missing = [column.name for column in columns if column.name in dropped and is_subject(column.name)]
        if missing:
            warnings.append(f"Not published although it looks like {words}: {', '.join(map(repr, missing))}.")
    return tuple(warnings)


def announced_losses(left_out: Sequence[LeftOut]) -> str:
    """Return a phrase on the loss that columns would add, not all of which may have been measured."""
    tried = [dropped_column.price is not None for dropped_column in left_out]
    where = "" if all(tried) else ", where that was measured"
    return f"each with the loss that it would add{where}" if any(tried) else "without measuring what each would add"


def _notes(
    selection: ColumnSelection, stricter: str | None, compared: MethodComparison, price_with_splits: Price | None
) -> list[str]:
    """Return notes on the loss of the guarantees with the chosen method, and on dropped columns with their cost.

    Alternatives were measured with fast splits (``price_with_splits``); if the chosen method has another loss, the loss of the
    proposed guarantees with fast splits is added for comparison.
    """
    notes = []
    if compared.best.loss is not None:
        sentence = f"The proposed guarantees have a loss of {compared.best.loss:.3f} with {compared.best.name}"
        comparisons = []
        if selection.floors and selection.size_alone is not None:
            comparisons.append(f"groups alone, without a guarantee about values, would lose {selection.size_alone:.3f}")
        if stricter is not None:
            comparisons.append(f"the next stricter step, {stricter}")
        is_same_loss = price_with_splits is None or f"{price_with_splits.loss:.3f}" == f"{compared.best.loss:.3f}"
        if comparisons and price_with_splits is not None and not is_same_loss:
            # Losses of two searches are not comparable: each is shown with others of its own search.
            sentence += f". Alternatives were measured with fast splits, with which these guarantees lose {price_with_splits.loss:.3f}"
        notes.append(f"{sentence}{'' if not comparisons else '; ' if is_same_loss else ': '}{'; '.join(comparisons)}.")
    if selection.left_out:
        everything = (
            "could not be protected"
            if selection.everything is None
            else f"would have a loss of {selection.everything:.2f}"
        )
        listed = ", ".join(
            f"{dropped_column.column!r}"
            + ("" if dropped_column.price is None else f" ({max(dropped_column.price, 0.0):.2f})")
            for dropped_column in selection.left_out
        )
        notes.append(
            f"All columns together {everything}. Not published, {announced_losses(selection.left_out)}: {listed}. To publish one, give it the role quasi (or sensitive, with a definition) and remove another one."
        )
    return notes
