"""What a table can afford: which columns are protected as quasi columns, which definition is promised, and which method makes the release.

All of it is found by drafting releases and measuring what they lose, on a sample where the table is large. The figures are for the steward.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from reticent.base.context import Context
from reticent.definitions import Definition
from reticent.errors import Cancelled, Infeasible, ReticentError
from reticent.propose.promises import PromiseCost, Promised, PromiseSearch, guarded, made, promise_notes
from reticent.propose.proposal import ColumnProposal, Proposal
from reticent.propose.relations import families
from reticent.release import Cheapest, MethodComparison, default_method, method_from
from reticent.table import Hierarchy, Table, hierarchy_from

MOST_ROWS = 20_000
"""Larger tables are drafted from a sample of this many rows, and wide ones from fewer."""

_MOST_CELLS = 200_000
_MOST_STEPS = 500
_LARGEST_SET = 10

_TARGETS = ((3, 0.12), (2, 0.20), (1, 0.25))
"""Columns that are at least so hard to know are not protected where all of them together would cost more than this."""

_LOCAL = ("Mondrian", {"values": "ranges"})


@dataclass(frozen=True)
class Tradeoff:
    """What a proposal comes to once its price is known: columns, definition and method, and the prices that decided."""

    proposal: Proposal
    method: Mapping[str, Any]
    prices: tuple[PromiseCost, ...]
    compared: MethodComparison | None


def afford(
    proposal: Proposal, frame: pl.DataFrame, context: Context | None = None, shown: Mapping[str, Any] | None = None
) -> Tradeoff:
    """Make a proposal affordable: the least knowable quasi columns are not published, and definitions are weakened, until the release is of use.

    ``shown`` are parameters that every method to choose from must have, such as ``values``.
    """
    if proposal.refusal is not None or not _named(proposal, "quasi"):
        return Tradeoff(proposal, {}, (), None)
    context = context or Context()
    most = min(MOST_ROWS, max(_MOST_CELLS // len(proposal.columns), 1000))
    rows = frame if frame.height <= most else frame.sample(most, seed=0)
    try:
        proposal = _fewer_quasi(proposal, rows, context)
        prices = _prices(proposal, rows, context)
        wanted = next(promised for promised, price in prices if price.chosen)
        table = _table(proposal, rows, ranges=False, sensitive=guarded(proposal))
        found = _candidates(table, made(wanted), shown).compared(table, made(wanted), replace(context, memo={}))
    except Cancelled:
        raise
    except ReticentError:
        # What cannot be drafted is told by publish, with its place in the policy.
        return Tradeoff(proposal, {}, (), None)
    compared = replace(found, total=frame.height)
    notes = [*promise_notes(proposal, prices), *proposal.notes]
    proposal = replace(proposal, definition=tuple(wanted), notes=tuple(notes))
    return Tradeoff(proposal, compared.best.method, tuple(price for _, price in prices), compared)


def _named(proposal: Proposal, role: str) -> list[str]:
    return [column.name for column in proposal.columns if column.role == role]


def _candidates(table: Table, definition: Definition, shown: Mapping[str, Any] | None) -> Cheapest:
    found = default_method(table, definition, shown)
    return found if isinstance(found, Cheapest) else Cheapest((found,))


def _table(
    proposal: Proposal,
    rows: pl.DataFrame,
    *,
    ranges: bool = True,
    sensitive: Sequence[str] = (),
    quasi_sets: Sequence[Sequence[str]] | None = None,
) -> Table:
    """The rows with the proposed quasi columns, and some ``sensitive`` ones. For ``ranges`` alone the hierarchies of numbers, which take long to fit, are not needed, nor is every single number."""
    quasi, held = {}, rows
    for column in proposal.columns:
        if column.role != "quasi":
            continue
        described = column.hierarchy
        plain = described is None or (ranges and described["kind"] == "intervals" and "domain" not in described)
        if plain and ranges:
            held = held.with_columns(_in_steps(held[column.name]))
        quasi[column.name] = (
            Hierarchy.suppression()
            if plain or described is None
            else hierarchy_from(described, f"column {column.name!r}")
        )
    coarsen = {c.name: c.coarsen for c in proposal.columns if c.name in sensitive and c.coarsen is not None}
    key = proposal.key if proposal.unit == "person" else None
    held = held.select([*quasi, *sensitive, *([] if key is None else [key])])
    return Table(
        held,
        quasi=quasi,
        sensitive=sensitive,
        nulls=proposal.nulls,  # type: ignore[arg-type]
        coarsen=coarsen,
        quasi_sets=quasi_sets,
        key=key,
    )


def _in_steps(values: pl.Series) -> pl.Series:
    """Numbers in at most 500 steps of equally many values: a range covers the same share of them, and is measured far quicker."""
    distinct = values.n_unique()
    if not values.dtype.is_numeric() or distinct <= _MOST_STEPS:
        return values
    return (values.rank("dense").cast(pl.Int64) - 1) * _MOST_STEPS // distinct


def _loss(table: Table, definition: Definition, context: Context) -> tuple[float, dict[str, float]]:
    """The loss of local recoding, in all and by column."""
    context.step("trying what promises cost")
    draft = method_from(*_LOCAL).draft(table, definition, replace(context, memo={}))
    return draft.utility["loss"], draft.utility.loss_by_column  # type: ignore[attr-defined]  # grouping methods measure it


def _fewer_quasi(proposal: Proposal, rows: pl.DataFrame, context: Context) -> Proposal:
    """Protect as many quasi columns as the rows allow: those that others are least likely to know, and that cost most, go first."""
    k_alone = made(proposal.definition[:1])
    loss, by_column = _loss(_table(proposal, rows), k_alone, context)
    first, before = loss, {column.name: column for column in proposal.columns}
    together = families(rows, _named(proposal, "quasi"))
    for hard, target in _TARGETS:
        while loss > target:
            quasi = [column for column in proposal.columns if column.role == "quasi"]
            free = [column for column in quasi if column.knowable >= hard]
            if not free or len(quasi) < 3:
                break
            free.sort(key=lambda column: (column.knowable, by_column[column.name]), reverse=True)
            many = 1 if len(free) <= 6 else len(free) // 4
            gone = {column.name for column in free[: min(many, len(quasi) - 2)]}
            gone = _with_families(gone, [column.name for column in free], together, len(quasi) - 2)
            columns = tuple(_dropped(c) if c.name in gone else c for c in proposal.columns)
            proposal = replace(proposal, columns=columns)
            loss, by_column = _loss(_table(proposal, rows), k_alone, context)
    freed = [column.name for column in proposal.columns if column.reason == _DEAR]
    if not freed:
        return proposal
    note = (
        f"To protect every column would cost a loss of {first:.2f}; with {len(freed)} of them not published it is {loss:.2f}. Not published: "
        f"{', '.join(freed)}. Move one back to quasi if it is needed, and remove another."
    )
    return replace(proposal, notes=(*proposal.notes, note, *_apart(proposal, before, freed, rows, context)))


def _with_families(gone: set[str], free: Sequence[str], together: Sequence[Sequence[str]], most: int) -> set[str]:
    """The columns with the other indicators of their category, which tell the same, unless too few columns would be left."""
    for family in together:
        more = gone | {name for name in family if name in free}
        if gone & set(family) and len(more) <= most:
            gone = more
    return gone


def _apart(
    proposal: Proposal, before: Mapping[str, ColumnProposal], freed: Sequence[str], rows: pl.DataFrame, context: Context
) -> list[str]:
    """What it costs to protect the freed columns as well, against somebody who knows some of them but none of the quasi columns (R-LD-4)."""
    quasi = _named(proposal, "quasi")
    sets = [quasi, *(list(freed[start : start + _LARGEST_SET]) for start in range(0, len(freed), _LARGEST_SET))]
    columns = tuple(before[column.name] if column.name in freed else column for column in proposal.columns)
    table = _table(replace(proposal, columns=columns), rows, quasi_sets=sets)
    try:
        loss, _ = _loss(table, made(proposal.definition[:1]), context)
    except Infeasible:
        return []
    if loss > _TARGETS[-1][1]:
        return []
    return [
        f"Protected as sets of their own they cost a loss of {loss:.2f}: move them to quasi and write quasi_sets = {json.dumps(sets, ensure_ascii=False)}. That covers people who know one of these "
        "sets, and nobody who knows columns of several."
    ]


_DEAR = "too dear to protect"


def _dropped(column: ColumnProposal) -> ColumnProposal:
    """The column without a role: what is published is known, so a column that cannot be protected is not published."""
    return replace(column, role=None, reason=_DEAR, hierarchy=None, levels=1)


def _prices(proposal: Proposal, rows: pl.DataFrame, context: Context) -> list[tuple[Promised, PromiseCost]]:
    """The promises that were tried, each with its price, the cheapest first; the strictest affordable one is chosen."""
    names = guarded(proposal)
    table = _table(proposal, rows, sensitive=names)
    steps = {
        name: held.n_unique()
        for name in names
        if (held := table.frame[name]).dtype.is_numeric() and not held.null_count()
    }
    return PromiseSearch(proposal, lambda definition: _loss(table, definition, context), steps).run()
