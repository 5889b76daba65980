"""Choose a method by cost: draft with several candidates and publish the cheapest draft.

The comparison uses the confidential table, so it is private to the steward: a release names only the method that was
chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import polars as pl

from reticent.base.cards import CardTable
from reticent.base.context import Context
from reticent.core import Draft, Kind
from reticent.definitions import Definition, Method, unkept
from reticent.errors import Infeasible, PolicyError
from reticent.table import Table
from reticent.utility import utility_of

MOST_ROWS = 100_000
"""Larger tables are compared on a sample of this many rows."""

FEW_ROWS = 10_000
"""If the method is already chosen, a preview compares it with others on a sample of this many rows."""

_MOST_NODES = 50_000
_MARGIN = 0.02


@dataclass(frozen=True)
class MethodCost:
    """Cost of one method on a table: loss, fully suppressed quasi columns, suppressed rows, and ease of analysis.

    ``uniform``: a value has the same label in every row (global recoding). ``labels`` is the mean number of labels of a
    quasi column. ``problem`` is the reason why there is no draft; the figures are then absent.
    """

    method: Mapping[str, Any]
    loss: float | None = None
    loss_by_column: Mapping[str, float] = field(default_factory=dict)
    left_out: int | None = None
    groups: int | None = None
    labels: float | None = None
    uniform: bool = False
    problem: str | None = None

    @property
    def name(self) -> str:
        """The method's name."""
        return str(self.method.get("name"))

    @property
    def settings(self) -> str:
        """Return the parameters that differ from the method's defaults, as a policy writes them."""
        return ", ".join(f"{key} = {value}" for key, value in self.method.items() if key != "name")

    @property
    def suppressed(self) -> tuple[str, ...]:
        """Return the quasi columns that are suppressed entirely."""
        return tuple(name for name, lost in self.loss_by_column.items() if lost >= 1)

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "method": dict(self.method),
            "loss": self.loss,
            "suppressed_columns": list(self.suppressed),
            "left_out": self.left_out,
            "groups": self.groups,
            "labels": self.labels,
            "uniform": self.uniform,
            "problem": self.problem,
        }


@dataclass(frozen=True)
class MethodComparison:
    """Methods compared, in the order in which they were tried; ``chosen`` is the index of the cheapest.

    ``rows`` of the table's ``total`` rows were drafted: all of them, or a sample.
    """

    costs: tuple[MethodCost, ...]
    chosen: int
    rows: int
    total: int

    @property
    def best(self) -> MethodCost:
        """Return the cheapest method."""
        return self.costs[self.chosen]

    @property
    def sampled(self) -> bool:
        """True if the comparison used a sample of the rows."""
        return self.rows < self.total

    def table(self) -> CardTable:
        """Return the costs as a table with the chosen method marked. For the steward only."""
        return methods_table(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """The comparison as plain data."""
        return {
            "methods": [cost.as_dict() for cost in self.costs],
            "chosen": self.chosen,
            "rows": self.rows,
            "total": self.total,
        }


@dataclass(frozen=True)
class Cheapest:
    """Choose, among group-based ``candidates``, the method whose draft has the least loss.

    Global recoding is easier to analyse: it is preferred if its loss is at most 0.02 higher and it suppresses no
    further column. A table of more than 100,000 rows is compared on a sample and then drafted once. The comparison is
    kept in the draft's private figures (``search["compared"]``).

    Adversary: the choice depends on the data, so an adversary who runs all candidates may rule out tables (minimality
    attack). No cost figure is published.
    """

    candidates: tuple[Method, ...]

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups"})
    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.candidates:
            raise PolicyError("Cheapest needs at least one method to choose from.")

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return the first candidate's reason if no candidate can publish the table under the definition; otherwise None."""
        reasons = [_refusal(candidate, table, definition) for candidate in self.candidates]
        return None if None in reasons else reasons[0]

    def describe(self) -> dict[str, Any]:
        """Return the candidates; a draft is described by the method that made it."""
        return {"name": "Cheapest", "candidates": [candidate.describe() for candidate in self.candidates]}

    def compared(self, table: Table, definition: Definition, context: Context | None = None) -> MethodComparison:
        """Return the cost of each candidate. If none can make a draft, raise the first one's error."""
        return _Tried.of(self.candidates, table, definition, context or Context(), MOST_ROWS).comparison

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Return the cheapest candidate's draft. If none can make one, raise the first one's error."""
        context = context or Context()
        trials = _Tried.of(self.candidates, table, definition, context, MOST_ROWS)
        comparison = trials.comparison
        chosen_draft = None if comparison.sampled else trials.drafts[comparison.chosen]
        # Drafts of a sample hold recoded rows of the sample only.
        del trials
        if chosen_draft is None:
            chosen_draft = self.candidates[comparison.chosen].draft(table, definition, context)
        return replace(chosen_draft, search={**chosen_draft.search, "compared": comparison.as_dict()})


def compared_with(
    cost_of_method: MethodCost,
    method: Method,
    others: Sequence[Method],
    table: Table,
    definition: Definition,
    context: Context,
) -> MethodComparison | None:
    """Compare the chosen method, whose cost is ``cost_of_method``, with ``others``; None if none of them can make a draft.

    With more than ``FEW_ROWS`` rows all of them, ``method`` too, are drafted on a sample.
    """
    methods = [method, *(other for other in others if other.describe() != method.describe())]
    on_all_rows = table.rows <= FEW_ROWS or definition.needs_population
    trials = _Tried.of(methods[1:] if on_all_rows else methods, table, definition, context, FEW_ROWS)
    costs = [cost_of_method, *trials.costs] if on_all_rows else list(trials.costs)
    return MethodComparison(tuple(costs), 0, trials.rows, table.rows) if costs[0].loss is not None else None


@dataclass(frozen=True)
class _Tried:
    """Drafts of all candidates, in order; None with the error for a candidate that failed."""

    candidates: Sequence[Method]
    table: Table
    rows: int
    drafts: Sequence[Draft | None]
    errors: Sequence[Infeasible | PolicyError | None]

    @classmethod
    def of(
        cls, candidates: Sequence[Method], table: Table, definition: Definition, context: Context, limit: int
    ) -> _Tried:
        """Draft a table with every candidate, or a sample of at most ``limit`` rows; keep the draft or the error of each."""
        sampled_table = _sampled(table, definition, limit)
        drafts: list[Draft | None] = []
        errors: list[Infeasible | PolicyError | None] = []
        for number, method in enumerate(candidates):
            context.step("comparing methods", number, len(candidates))
            draft, error = None, None
            reason = _refusal(method, table, definition) or _too_large(method, table, len(candidates))
            try:
                if reason is not None:
                    raise PolicyError(reason)
                draft = method.draft(sampled_table, definition, context)
            except (Infeasible, PolicyError) as problem:
                error = problem
            drafts.append(draft)
            errors.append(error)
        return cls(candidates, table, rows=sampled_table.rows, drafts=drafts, errors=errors)

    @cached_property
    def costs(self) -> list[MethodCost]:
        """Return the cost of every draft."""
        return [
            MethodCost(method.describe(), problem=str(error)) if draft is None else cost_of(draft)
            for method, draft, error in zip(self.candidates, self.drafts, self.errors, strict=True)
        ]

    @cached_property
    def comparison(self) -> MethodComparison:
        """Return the costs of all drafts with the cheapest marked."""
        costs = self.costs
        successful = [index for index, cost in enumerate(costs) if cost.loss is not None]
        if not successful:
            raise next(error for error in self.errors if error is not None)
        return MethodComparison(tuple(costs), _cheapest(costs, successful), self.rows, self.table.rows)


def _cheapest(costs: Sequence[MethodCost], successful: Sequence[int]) -> int:
    """Return the index of the cheapest draft, or of one that is nearly as cheap and recodes every row alike."""

    def lost(index: int) -> float:
        return costs[index].loss or 0.0

    cheapest = min(successful, key=lost)
    uniform_candidates = [
        index
        for index in successful
        if costs[index].uniform
        and lost(index) <= lost(cheapest) + _MARGIN
        and len(costs[index].suppressed) <= len(costs[cheapest].suppressed)
    ]
    return min(uniform_candidates, key=lost) if uniform_candidates else cheapest


def cost_of(draft: Draft) -> MethodCost:
    """Return the cost of a draft."""
    label_counts, utility = [len(labels) for labels in draft.meanings.values()], utility_of(draft)
    return MethodCost(
        draft.method,
        utility.get("loss", 0.0),
        loss_by_column=utility.loss_by_column,
        left_out=draft.suppressed,
        groups=len(draft.evidence.published) if draft.evidence.groups else None,
        labels=sum(label_counts) / len(label_counts) if label_counts else None,
        uniform=draft.recoding is not None and draft.recoding.uniform,
    )


def _refusal(method: Method, table: Table, definition: Definition) -> str | None:
    """Return why the method cannot make a release of this table that satisfies the definition; None if it can."""
    name = type(method).__name__
    reason = unkept(name, method.keeps, definition)
    if reason is None and table.streamed and not method.streams:
        reason = f"{name} needs all rows in memory, and this table is {table.read_how}."
    return reason or method.refusal(table, definition)


def _too_large(method: Method, table: Table, candidates: int) -> str | None:
    """Return why an exhaustive search is skipped; a user who wants it can name the method."""
    if candidates == 1 or not getattr(method, "searches", False):
        return None
    nodes = prod(hierarchy.height + 1 for hierarchy in table.hierarchies)
    return None if nodes <= _MOST_NODES else f"{nodes:,} possible generalizations are too many to search."


def _sampled(table: Table, definition: Definition, limit: int) -> Table:
    """Return the table, or a sample of ``limit`` rows if it is larger.

    Columns published unchanged are dropped: they cost the same under every method and may hold long texts. A population
    is compared with all rows.
    """
    if table.rows <= limit or definition.needs_population:
        return table
    if table.several_rows and not table.streamed:
        return _some_people(table.without_declared(), limit)
    # Hierarchies and sensitive domains are bound to all rows before the sample is taken.
    _ = table.hierarchies, table.sensitive_columns
    columns = [name for name in table.schema if name not in table.declared]
    rows = pl.concat([chunk.sample(fraction=limit / table.rows, seed=0) for chunk in table.held.chunks(columns)])
    return table.without_declared().part(rows)


def _some_people(table: Table, limit: int) -> Table:
    """Return the table restricted to a sample of people with all their rows, about ``limit`` rows."""
    owner = next(iter(table.owners.values()))
    sampled_owners = table.frame[owner].unique(maintain_order=True).sample(fraction=limit / table.rows, seed=0)
    return table.only(table.frame[owner].is_in(sampled_owners.implode()))


def methods_table(compared: Mapping[str, Any]) -> CardTable:
    """Format a stored comparison (:meth:`MethodComparison.as_dict`) as a table for display; the chosen method is marked."""
    rows = [
        (
            _method_text(entry["method"]) + (" (chosen)" if index == compared["chosen"] else ""),
            "-" if entry["loss"] is None else f"{entry['loss']:.3f}",
            ", ".join(entry["suppressed_columns"]) or ("-" if entry["loss"] is None else "none"),
            entry["left_out"],
            entry["problem"] or ("every row recoded alike" if entry["uniform"] else "by group"),
        )
        for index, entry in enumerate(compared["methods"])
    ]
    note = f" on a sample of {compared['rows']:,} rows" if compared["rows"] < compared["total"] else ""
    headings = ("method", "loss", "columns lost", "suppressed", "analysis")
    return CardTable(headings, rows, f"Methods compared{note} (internal; do not publish)")


def _method_text(method: Mapping[str, Any]) -> str:
    """Return a method's name with the parameters that distinguish it from the other candidates."""
    parameters = [str(method[name]) for name in ("values", "split") if name in method]
    if "effort" in method:
        parameters.append(f"effort {method['effort']}")
    return f"{method['name']} {', '.join(parameters)}".strip()
