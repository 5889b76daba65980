"""Choosing a method by what it costs: several are drafted, and the cheapest makes the release.

The comparison is made with the confidential table in hand, so it stays with the steward: a release names the method that won, nothing else.
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
"""Where the method is chosen already, a preview shows others beside it on a sample of this many rows."""

_MOST_NODES = 50_000
_MARGIN = 0.02


@dataclass(frozen=True)
class MethodCost:
    """What one method would make of a table: its loss, the quasi columns of which nothing is left, the rows left out, and how easy it is to analyse.

    ``uniform`` says that a value becomes the same label in every row; ``labels`` is the mean number of labels of a quasi column. ``problem`` says why
    there is no draft, and then there are no figures.
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
        """The parameters that tell it from the method with its defaults, as a policy writes them."""
        return ", ".join(f"{key} = {value}" for key, value in self.method.items() if key != "name")

    @property
    def suppressed(self) -> tuple[str, ...]:
        """The quasi columns of which nothing is left."""
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
    """Methods side by side, in the order in which they were tried; ``chosen`` is the place of the cheapest.

    ``rows`` of the table's ``total`` rows were drafted: all of them, or a sample.
    """

    costs: tuple[MethodCost, ...]
    chosen: int
    rows: int
    total: int

    @property
    def best(self) -> MethodCost:
        """The cheapest."""
        return self.costs[self.chosen]

    @property
    def sampled(self) -> bool:
        """Whether only some of the rows were drafted."""
        return self.rows < self.total

    def table(self) -> CardTable:
        """What each method would cost; the chosen one is marked. For the steward."""
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
    """The method of groups among ``candidates`` that costs least: all are drafted, and the draft with the least loss is taken.

    One that recodes every row alike is easier to analyse, and wins if it loses at most 0.02 more and no further column. A table of more than 100,000
    rows is compared on a sample, then drafted once. What was compared is in the draft's private figures (``search["compared"]``).

    Adversary: the choice depends on the data, so somebody who can run all candidates may rule tables out (minimality); no figure is published.
    """

    candidates: tuple[Method, ...]

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups"})
    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.candidates:
            raise PolicyError("Cheapest needs at least one method to choose from.")

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Why none of the candidates can publish the table so; the first one's reason."""
        reasons = [_refusal(each, table, definition) for each in self.candidates]
        return None if None in reasons else reasons[0]

    def describe(self) -> dict[str, Any]:
        """The candidates; a draft is described by the one that made it."""
        return {"name": "Cheapest", "candidates": [each.describe() for each in self.candidates]}

    def compared(self, table: Table, definition: Definition, context: Context | None = None) -> MethodComparison:
        """What each candidate would cost. Where none is possible: the first one's error."""
        return _Tried.of(self.candidates, table, definition, context or Context(), MOST_ROWS).comparison

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """The cheapest candidate's draft. Where none is possible: the first one's error."""
        context = context or Context()
        tried = _Tried.of(self.candidates, table, definition, context, MOST_ROWS)
        compared = tried.comparison
        made = None if compared.sampled else tried.drafts[compared.chosen]
        # What was tried on a sample holds its recoded rows.
        del tried
        if made is None:
            made = self.candidates[compared.chosen].draft(table, definition, context)
        return replace(made, search={**made.search, "compared": compared.as_dict()})


def compared_with(
    made: MethodCost, method: Method, others: Sequence[Method], table: Table, definition: Definition, context: Context
) -> MethodComparison | None:
    """What other methods would cost beside one that was ``made``, which is the chosen one; None where none of them is possible.

    On more than ``FEW_ROWS`` rows all of them are drafted from a sample, ``method`` too.
    """
    ways = [method, *(each for each in others if each.describe() != method.describe())]
    whole = table.rows <= FEW_ROWS or definition.needs_population
    tried = _Tried.of(ways[1:] if whole else ways, table, definition, context, FEW_ROWS)
    costs = [made, *tried.costs] if whole else list(tried.costs)
    return MethodComparison(tuple(costs), 0, tried.rows, table.rows) if costs[0].loss is not None else None


@dataclass(frozen=True)
class _Tried:
    """Drafts of all candidates, in their order; None where there is none, with the error."""

    candidates: Sequence[Method]
    table: Table
    rows: int
    drafts: Sequence[Draft | None]
    errors: Sequence[Infeasible | PolicyError | None]

    @classmethod
    def of(
        cls, candidates: Sequence[Method], table: Table, definition: Definition, context: Context, most: int
    ) -> _Tried:
        part = _sampled(table, definition, most)
        drafts: list[Draft | None] = []
        errors: list[Infeasible | PolicyError | None] = []
        for number, method in enumerate(candidates):
            context.step("comparing methods", number, len(candidates))
            draft, error = None, None
            reason = _refusal(method, table, definition) or _too_large(method, table, len(candidates))
            try:
                if reason is not None:
                    raise PolicyError(reason)
                draft = method.draft(part, definition, context)
            except (Infeasible, PolicyError) as problem:
                error = problem
            drafts.append(draft)
            errors.append(error)
        return cls(candidates, table, part.rows, drafts, errors)

    @cached_property
    def costs(self) -> list[MethodCost]:
        """The figures of all drafts."""
        return [
            MethodCost(method.describe(), problem=str(error)) if draft is None else cost_of(draft)
            for method, draft, error in zip(self.candidates, self.drafts, self.errors, strict=True)
        ]

    @cached_property
    def comparison(self) -> MethodComparison:
        """The figures of all drafts, and which is the cheapest."""
        found = self.costs
        possible = [place for place, cost in enumerate(found) if cost.loss is not None]
        if not possible:
            raise next(error for error in self.errors if error is not None)
        return MethodComparison(tuple(found), _cheapest(found, possible), self.rows, self.table.rows)


def _cheapest(costs: Sequence[MethodCost], possible: Sequence[int]) -> int:
    def lost(place: int) -> float:
        return costs[place].loss or 0.0

    best = min(possible, key=lost)
    easier = [
        place
        for place in possible
        if costs[place].uniform
        and lost(place) <= lost(best) + _MARGIN
        and len(costs[place].suppressed) <= len(costs[best].suppressed)
    ]
    return min(easier, key=lost) if easier else best


def cost_of(made: Draft) -> MethodCost:
    """What a draft costs."""
    shown, utility = [len(labels) for labels in made.meanings.values()], utility_of(made)
    return MethodCost(
        made.method,
        utility.get("loss", 0.0),
        utility.loss_by_column,
        made.suppressed,
        len(made.evidence.published) if made.evidence.groups else None,
        sum(shown) / len(shown) if shown else None,
        made.recoding is not None and made.recoding.uniform,
    )


def _refusal(method: Method, table: Table, definition: Definition) -> str | None:
    name = type(method).__name__
    reason = unkept(name, method.keeps, definition)
    if reason is None and table.streamed and not method.streams:
        reason = f"{name} needs all rows in memory, and this table is {table.read_how}."
    return reason or method.refusal(table, definition)


def _too_large(method: Method, table: Table, candidates: int) -> str | None:
    """Why a search of all generalizations is not tried; somebody who wants it names the method."""
    if candidates == 1 or not getattr(method, "searches", False):
        return None
    nodes = prod(hierarchy.height + 1 for hierarchy in table.hierarchies)
    return None if nodes <= _MOST_NODES else f"{nodes:,} possible generalizations are too many to search."


def _sampled(table: Table, definition: Definition, most: int) -> Table:
    """The table, or a sample of ``most`` rows where it is larger, without columns that are published as they are: these cost the same whatever
    the method, and may be long texts. People of a population are compared with all rows."""
    if table.rows <= most or definition.needs_population:
        return table
    if table.several_rows and not table.streamed:
        return _some_people(table.without_declared(), most)
    _ = table.hierarchies, table.sensitive_columns
    columns = [name for name in table.schema if name not in table.declared]
    rows = pl.concat([chunk.sample(fraction=most / table.rows, seed=0) for chunk in table.held.chunks(columns)])
    return table.without_declared().part(rows)


def _some_people(table: Table, most: int) -> Table:
    """The table with all rows of some people, about ``most`` of them."""
    owner = next(iter(table.owners.values()))
    some = table.frame[owner].unique(maintain_order=True).sample(fraction=most / table.rows, seed=0)
    return table.only(table.frame[owner].is_in(some.implode()))


def methods_table(compared: Mapping[str, Any]) -> CardTable:
    """A comparison that was written down (:meth:`MethodComparison.as_dict`) for people; the chosen method is marked."""
    rows = [
        (
            _told(each["method"]) + (" (chosen)" if place == compared["chosen"] else ""),
            "-" if each["loss"] is None else f"{each['loss']:.3f}",
            ", ".join(each["suppressed_columns"]) or ("-" if each["loss"] is None else "none"),
            each["left_out"],
            each["problem"] or ("every row recoded alike" if each["uniform"] else "by group"),
        )
        for place, each in enumerate(compared["methods"])
    ]
    some = f" (a sample of {compared['rows']:,} rows)" if compared["rows"] < compared["total"] else ""
    heads = ("method", "loss", "columns lost", "left out", "analysis")
    return CardTable(heads, rows, f"Methods compared{some}, for your eyes only")


def _told(method: Mapping[str, Any]) -> str:
    """A method with the parameters that tell candidates apart."""
    told = [str(method[name]) for name in ("values", "split") if name in method]
    if "effort" in method:
        told.append(f"effort {method['effort']}")
    return f"{method['name']} {', '.join(told)}".strip()
