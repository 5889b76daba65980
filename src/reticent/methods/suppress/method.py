"""The method ``Suppress``: single cells are suppressed until rows with equal labels satisfy the definition, with lower bounds of the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.base.context import Context
from reticent.base.exact import Number, exact, one_of, whole
from reticent.base.packing import number, pack
from reticent.base.parameters import exact_text, parameter
from reticent.core import FrequencySet
from reticent.definitions import Definition, GroupDefinition, KAnonymity, require_feasible
from reticent.engine import count_table, engine_of
from reticent.errors import Infeasible, PolicyError, did_you_mean
from reticent.methods.grouping import (
    ColumnCells,
    Grouping,
    GroupMethod,
    GroupRun,
    PublishedGroups,
    ShownGroups,
    SuppressedGroups,
    discloses_too_much,
    failing_groups,
    judged_sets,
    local_grouping,
    rows_of_people,
)
from reticent.methods.suppress.ladders import Hiding, Ids, Mask, ladders_of
from reticent.methods.suppress.partitions import (
    ColumnClasses,
    Demand,
    LowerBounds,
    SetSolver,
    cells_hidden,
    least_possible,
)
from reticent.methods.suppress.strategy import Algorithm
from reticent.methods.suppress.wildcards import wildcard_count
from reticent.table import Anything, Table

WILDCARD = (
    "A starred cell is read as a symbol of its own: rows with the same labels are a class. Read as a wildcard, which fits any value, the release would not be "
    "k-anonymous: of (a,*), (a,2), (a,2) every row is compatible with three, but somebody with (a,1) fits only the first. The wildcard count is reported "
    "for comparison (fit(...).sdcmicro_count) and never certified."
)
OWN_SYMBOL = "own symbol"


def _weights_text(weights: Mapping[str, Number]) -> dict[str, str]:
    return {name: exact_text(weight) for name, weight in weights.items()}


@dataclass(frozen=True)
class Suppress(GroupMethod):
    """Local suppression: suppress as few cells as possible so that the classes of rows with equal labels satisfy the definition.

    Guarantee: every class satisfies the definition, a fully suppressed class included; published values are true.
    Adversary: that of the definition. A star is a separate symbol (``reading``), not a wildcard. Objective: the number
    of suppressed cells, each with its column's weight in ``weights`` (default 1); columns in ``keep`` are never
    suppressed. Source: [Aggarwal2005]; [Kenthapadi2006], chapter 4, with corrections.

    ``algorithm="auto"`` runs the algorithms with a proven factor on small tables (a few rows for ``factor``, about
    1,500 for ``forest``), the greedy by ``patterns`` in any case, and improves the cheapest result. ``forest`` and
    ``factor`` split larger tables into parts; the factor then holds for each part. ``exact=True`` finds the optimum of
    a small table. With ``hiding="hierarchy"`` a cell may be generalized to a node of its hierarchy instead of
    suppressed.

    For k-anonymity alone, people with equal quasi values may be treated differently; the choice is sampled from the
    operating system's generator. ``k`` is the minimum class size, in addition to the definition; ``suppression`` is the
    share of rows that may be suppressed entirely if their classes fail or would be fully suppressed.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31, 31, 52, 58], "town": ["Aix"] * 4}, quasi=["age", "town"])
        >>> rt.publish(table, rt.KAnonymity(2), method=rt.Suppress()).frame["age"].sort().to_list()
        ['*', '*', '31', '31']
    """

    k: int | None = None
    algorithm: Algorithm = "auto"
    exact: bool = False
    weights: Mapping[str, Number] = field(default_factory=dict, metadata={"written": _weights_text})
    keep: tuple[str, ...] = ()
    hiding: Hiding = "stars"
    suppression: Number = parameter(0, written=exact_text)
    reading: str = parameter(OWN_SYMBOL, stated="never")

    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.k is not None:
            whole(self.k, "Suppress: k", low=1)
        for name, choices in (
            ("algorithm", ("auto", "forest", "factor", "patterns")),
            ("hiding", ("stars", "hierarchy")),
        ):
            one_of(getattr(self, name), f"Suppress: {name}", choices)
        if self.reading != OWN_SYMBOL:
            raise PolicyError(
                f"Suppress: reading must be {OWN_SYMBOL!r}, but it is {self.reading!r}. {WILDCARD}",
                setting=("reading",),
                value=self.reading,
            )
        exact(self.suppression, "Suppress: suppression", low=0, high=1)
        for column, weight in self.weights.items():
            exact(weight, f"Suppress: weight of column {column!r}", above=0)
        object.__setattr__(self, "keep", (self.keep,) if isinstance(self.keep, str) else tuple(self.keep))

    def fit(self, table: Table, context: Context | None = None) -> SuppressionFit:
        """Return the classes of a table under k-anonymity, their cost, and lower bounds; nothing is published."""
        if self.k is None:
            raise PolicyError(
                "Suppress: fit needs k, the minimum class size: Suppress(k=5).fit(table).", setting=("k",)
            )
        return SuppressionFit(self._work(GroupRun.of(self, table, KAnonymity(self.k), context)))

    def grouped(self, run: GroupRun) -> Grouping:
        """Return classes of suppressed rows that satisfy the definition, for every set of columns that an adversary may know."""
        work = self._work(run)
        grouping = local_grouping(run, work.shown, work.published, work.left_out, work.order)
        search = {**grouping.search, "suppression": work.told(), "figures": work.figures()}
        if self.hiding == "hierarchy":
            return replace(grouping, search=search)
        return replace(grouping, search=search, format="cells", details={"reading": OWN_SYMBOL})

    @property
    def limit(self) -> Fraction:
        """The share of rows that may be suppressed."""
        return exact(self.suppression, "suppression")

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the request is not supported, from declarations alone, without reading a row; otherwise None."""
        several_rows_reason = rows_of_people("Suppress", table)
        if several_rows_reason is not None:
            return several_rows_reason
        for setting, names in (("weights", self.weights), ("keep", self.keep)):
            for name in names:
                if name not in table.quasi:
                    return f"Suppress: {setting} names {name!r}, which is not a quasi column.{did_you_mean(name, table.quasi)}"
        limited_columns = [name for name, hierarchy in table.quasi.items() if hierarchy.unlimited is not hierarchy]
        if self.hiding == "stars" and limited_columns:
            return (
                f"Suppress: the hierarchy of column {limited_columns[0]!r} limits the levels that may be published, which stars and exact values do not respect. Use "
                "hiding='hierarchy', or drop min_level and max_level."
            )
        if (self.exact or self.algorithm in ("forest", "factor")) and not self.divides(table, definition):
            setting = "exact=True" if self.exact else f"algorithm={self.algorithm!r}"
            return (
                f"Suppress: {setting} needs single rows in memory, one per person, and supports only k-anonymity. "
                "Publish without it; the greedy supports every group definition."
            )
        if self.algorithm == "factor" and self._least(definition) not in (2, 3):
            return f"Suppress: algorithm='factor' supports classes of 2 or 3, not of {self._least(definition)}. Use 'forest', which supports every k."
        return None

    def divides(self, table: Table, definition: Definition) -> bool:
        """True if people with equal quasi values may be treated differently: only their number matters, and rows are people in memory."""
        by_size = all(isinstance(part, KAnonymity) for part in definition.parts())
        return by_size and not table.streamed

    def _least(self, definition: Definition) -> int:
        """Return the least number of people in a class, by the definition and by ``k``."""
        asked_least = definition.least_rows() if isinstance(definition, GroupDefinition) else 1
        return max(self.k or 1, asked_least)

    def _work(self, run: GroupRun) -> _Work:
        """Return the classes of suppressed rows for the table of a run."""
        run.context.step("counting rows")
        order = None
        if self.divides(run.table, run.definition):
            order = run.context.randomness.order(run.table.rows)
            rows = engine_of(run.table, run.context).single_rows
            frequencies = rows(run.table, order)
            # Ties are broken by content; among people with equal values at random.
            sizes = [hierarchy.size for hierarchy in frequencies.hierarchies]
            order = order[np.argsort(number(*pack(frequencies.codes, sizes, len(frequencies)))[0], kind="stable")]
            frequencies = rows(run.table, order)
        else:
            frequencies = count_table(run.table, run.context)
        _require_people(frequencies, self._least(run.definition))
        return _Work.of(self, run, frequencies, order)


def _require_people(frequencies: FrequencySet, least: int) -> None:
    """Refuse a table with fewer people than one class needs."""
    people = int(frequencies.groups().people.sum())
    if people < least:
        raise Infeasible(
            f"The table has {people} {'person' if people == 1 else 'people'}, but every class needs at least {least}. Use a smaller k, or publish a larger table."
        )


@dataclass(frozen=True)
class _Work:
    """A table in progress: its units, their classes, their labels, and the suppressed ones."""

    method: Suppress
    run: GroupRun
    frequencies: FrequencySet
    order: Ids | None
    solver: SetSolver
    unit: int
    demands: tuple[Demand, ...]
    classes: tuple[ColumnClasses, ...]
    shown: ShownGroups
    published: PublishedGroups
    left_out: SuppressedGroups

    @classmethod
    def of(cls, method: Suppress, run: GroupRun, frequencies: FrequencySet, order: Ids | None) -> _Work:
        """Return the classes of the units for every set of columns that an adversary may know, and the suppressed rows."""
        weights = {name: exact(weight, name) for name, weight in method.weights.items()}
        ladders, unit = ladders_of(frequencies.hierarchies, weights, method.keep, method.hiding)
        solver = SetSolver(frequencies, ladders, method.algorithm, method.exact, order is not None, run.context)
        demands = tuple(Demand.of(judged, method.k or 1) for judged in judged_sets(run.table, run.definition))
        classes = solver.run(demands)
        shown = ShownGroups.of(
            frequencies,
            [(partition.columns, _numbered(partition.solved.group)) for partition in classes],
            method.hiding,
        )
        allowed = int(method.limit * frequencies.rows)
        published = PublishedGroups.of(run.table, run.definition, shown.groups, shown.seen, allowed)
        mask = _failing(shown, published, method)
        suppressions = list(published.ways(mask))
        if not suppressions:
            raise Infeasible(discloses_too_much(run.definition, int(shown.groups.sizes[mask].sum())))
        left_out = min(suppressions, key=lambda way: int(shown.groups.sizes[way.mask].sum()))
        return cls(method, run, frequencies, order, solver, unit, demands, classes, shown, published, left_out)

    @cached_property
    def hidden(self) -> tuple[int, dict[str, int]]:
        """Return the total cost in integer units, and the suppressed cells by column; suppressed rows count with all their cells."""
        cost, columns = cells_hidden(self.solver, self.classes, self.left_out.mask[self.shown.group])
        names = list(self.run.table.quasi)
        return cost, {names[column]: columns[column] for column in sorted(columns)}

    @cached_property
    def bounds(self) -> LowerBounds:
        """The lower bounds in integer units, including that of nearest neighbours."""
        return least_possible(self.solver, self.demands, nearest=True)

    @cached_property
    def bound(self) -> Fraction:
        """The sharpest lower bound."""
        return Fraction(least_possible(self.solver, self.demands, nearest=False).sharpest, self.unit)

    @property
    def factor(self) -> Fraction | None:
        """The proven factor, if there is one for all columns together."""
        return self.classes[0].solved.factor if len(self.demands) == 1 else None

    @cached_property
    def wildcards(self) -> int | None:
        """The suppressed cells of a greedy under the wildcard reading; None if not computed."""
        if self.method.hiding != "stars" or len(self.demands) > 1:
            return None
        demand = self.demands[0]
        return wildcard_count(self.solver.units(demand.columns, demand.least), self.run.context)

    def told(self) -> dict[str, Any]:
        """Return the steward's figures about the cost, as plain data."""
        cost, columns = self.hidden
        return {
            "cost": str(Fraction(cost, self.unit)),
            "cells": columns,
            "lower_bound": str(self.bound),
            "factor": None if self.factor is None else str(self.factor),
            "parts": self.classes[0].solved.parts,
        }

    def figures(self) -> list[dict[str, Any]]:
        """Return the cost with its lower bound, and the suppressed cells by column, for figures in the report."""
        cost, columns, bound = Fraction(self.hidden[0], self.unit), self.hidden[1], self.bound
        beside = f"at most {float(cost / bound):.3g} times the least possible" if bound else "the least possible"
        proven = (
            ""
            if self.factor is None
            else f" It was proven beforehand to be at most {float(self.factor):.3g} times that."
        )
        return [
            {
                "title": "What was hidden beside the least possible",
                "words": f"Hidden cells weigh {float(cost):,.6g}, which is {beside}.{proven} A suppressed row counts with all its cells.",
                "numbers": {"hidden": float(cost), "lower bound": float(bound)},
            },
            {
                "title": "Hidden cells by column",
                "words": f"Of {self.frequencies.rows:,} rows, this many do not show their value in each column.",
                "numbers": {name: float(count) for name, count in columns.items()},
            },
        ]


def _numbered(group: Ids) -> Ids:
    """Return the classes, with unplaced units as an extra class at the end."""
    return np.where(group < 0, int(group.max(initial=-1)) + 1, group)


def _failing(shown: ShownGroups, leaving: PublishedGroups, method: Suppress) -> Mask:
    """Mask the classes that are not published: those that fail for some set of columns and, as far as rows may be
    suppressed, those that show nothing.
    """
    sizes = shown.groups.sizes
    mask: Mask = sizes == 0
    rows, allowed = int(sizes.sum()), leaving.allowed
    while True:
        failing_before = int(mask.sum())
        for judged_set in leaving.sets:
            group_of_class, groups = shown.seen(judged_set.places, ~mask)
            failing = failing_groups(judged_set.definition, groups, np.zeros(len(groups), dtype=bool), rows)
            mask[np.flatnonzero(~mask)[failing[group_of_class]]] = True
        lost_rows = int(sizes[mask].sum())
        if lost_rows > allowed or lost_rows == rows:
            require_feasible(shown.groups.select(sizes > 0), leaving.definition)
            raise Infeasible(_unplaced(lost_rows, rows, leaving.definition, method))
        if int(mask.sum()) == failing_before:
            break
    shows_nothing = np.logical_and.reduce([_is_star(cells) for cells in shown.columns])
    if allowed and lost_rows + int(sizes[shows_nothing & ~mask].sum()) <= allowed and (~(mask | shows_nothing)).any():
        mask |= shows_nothing
    return mask


def _is_star(cells: ColumnCells) -> Mask:
    """Mask the groups that show nothing of a column."""
    stars = np.array([isinstance(meaning, Anything) for meaning in cells.meanings], dtype=bool)
    mask: Mask = stars[cells.of_group]
    return mask


def _unplaced(lost: int, rows: int, definition: GroupDefinition, method: Suppress) -> str:
    """Return the message for rows that no class takes."""
    kept_text = f" with {', '.join(method.keep)} kept" if method.keep else ""
    remedies = ["allow suppressed rows with suppression=", "weaken the definition"]
    if method.keep:
        remedies.insert(0, "allow suppressing these columns")
    return (
        f"{lost} of {rows} rows are in no class that satisfies {definition}{kept_text}, however many cells are suppressed, but at most {method.limit} of the rows may be "
        f"suppressed. You can {', '.join(remedies[:-1])} or {remedies[-1]}."
    )


class SuppressionFit(ShownAsCard):
    """Result of :meth:`Suppress.fit`: classes of rows, their cost, and lower bounds. Private to the steward; nothing is certified.

    Figures are computed lazily from one run.
    """

    def __init__(self, work: _Work) -> None:
        self._work = work

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """The class of every row of the table, in order; -1 if the row is suppressed. Equal numbers have equal labels."""
        work = self._work
        is_kept = ~work.left_out.mask
        classes = np.where(is_kept, np.cumsum(is_kept) - 1, -1)[work.shown.group]
        if work.order is None:
            table = work.run.table
            points = np.concatenate(list(engine_of(table).points(table, work.frequencies)))
            of_points: NDArray[np.int64] = classes[points]
            return of_points
        class_of_row = np.empty(len(classes), dtype=np.int64)
        class_of_row[work.order] = classes
        return class_of_row

    @property
    def cost(self) -> int | Fraction:
        """The weight of all suppressed cells: their number, if no column has a weight. A suppressed row counts with all cells."""
        return _plain(Fraction(self._work.hidden[0], self._work.unit))

    @property
    def cells(self) -> dict[str, int]:
        """The number of suppressed cells in each column."""
        return self._work.hidden[1]

    @property
    def lower_bound(self) -> int | Fraction:
        """A lower bound of the cost of any partition: the sum over rows of the distance to the (k-1)-st nearest other row;
        by patterns if that takes too long.
        """
        bounds = self._work.bounds
        return _plain(Fraction(bounds.patterns if bounds.nearest is None else bounds.nearest, self._work.unit))

    @property
    def pattern_bound(self) -> int | Fraction:
        """A sharper lower bound: for every row the smallest cost at which enough rows have equal labels."""
        return _plain(Fraction(self._work.bounds.patterns, self._work.unit))

    @property
    def ratio(self) -> float:
        """The cost divided by the sharpest bound: an upper bound of the ratio to the optimum."""
        bound = Fraction(self._work.bounds.sharpest, self._work.unit)
        return float(self.cost / bound) if bound else 1.0

    @property
    def factor(self) -> Fraction | None:
        """The proven approximation factor, known before the run; None if there is none. See :attr:`parts`."""
        return self._work.factor

    @property
    def parts(self) -> int:
        """The number of parts the table was split into; the factor holds in each of them separately."""
        return self._work.classes[0].solved.parts

    @property
    def sdcmicro_count(self) -> int | None:
        """Suppressed cells of a greedy under the wildcard reading, for comparison with sdcMicro. That reading is not
        k-anonymity and is never certified.
        """
        return self._work.wildcards

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings before use."""
        lines = []
        if int((~self._work.left_out.mask).sum()) == 1:
            lines.append("All rows are in one class and cannot be distinguished.")
        if self.parts > 1:
            lines.append(f"The table was solved in {self.parts} parts; a proven factor holds for each part by itself.")
        return tuple(lines)

    def card(self) -> Card:
        """Summarise for display: the cost with its bounds."""
        facts: dict[str, object] = {
            "classes": int((~self._work.left_out.mask).sum()),
            "cost": self.cost,
            "lower bound": self.lower_bound,
            "sharper bound": self.pattern_bound,
            "proven factor": self.factor,
        }
        columns: Sequence[tuple[object, ...]] = list(self.cells.items())
        return Card(f"{self.cost} hidden cells", facts, tables=[CardTable(("column", "hidden cells"), columns)])


def _plain(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value
