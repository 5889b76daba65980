"""``rt.search``: the best, the minimal and the passing generalizations of a table for a definition."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.base.cards import Card, ShownAsCard
from reticent.base.context import Context
from reticent.base.exact import Number, exact, whole
from reticent.core import FrequencySet, NodeLevels
from reticent.definitions import Definition, closed, of_groups, own_sets, with_closed_sets
from reticent.engine import count_table, finest_floor
from reticent.errors import PolicyError, did_you_mean
from reticent.methods.grouping import adversary_sets, judged_sets
from reticent.methods.lattice.anytime import BestFirstSearch
from reticent.methods.lattice.classification import exhaustive, incognito, tagging
from reticent.methods.lattice.frontier import Frontier, SearchOutcome
from reticent.methods.lattice.node_evaluation import Evaluation, Evaluator
from reticent.methods.lattice.objectives import NodeView, Weights
from reticent.table import Table

Strategy = Literal["default", "incognito", "exhaustive"]

# Up to this size arrays over the lattice are used; beyond, the search is anytime.
_LARGEST_ARRAY = 1 << 22
_SECONDS_WHEN_HUGE = 30.0


@dataclass(frozen=True)
class Node:
    """A passing node: its levels, cost, suppressed rows and kept groups."""

    levels: Mapping[str, int]
    objective: float
    suppressed: int
    groups: int


@dataclass(frozen=True, repr=False)
class Search(ShownAsCard):
    """Result of a search.

    ``best`` is None if nothing passes. ``proven``: no node is better; otherwise ``bound`` is a lower bound of all
    nodes. ``passing`` and ``minimal`` are computed on first access, and None if the time was limited or the lattice is
    too large.
    """

    best: Node | None
    proven: bool
    bound: float | None
    objective: str
    nodes: int
    evaluated: int
    floor: Mapping[str, int]
    evaluator: Evaluator = field(repr=False, compare=False)
    _passing: NDArray[np.bool_] | None = field(default=None, repr=False, compare=False)
    _limited: bool = field(default=False, repr=False, compare=False)

    def card(self) -> Card:
        """Summarise for display: the best node, its cost, and whether it is proven optimal."""
        facts: dict[str, object] = {"nodes": self.nodes, "objective": self.objective}
        if self.best is None:
            return Card("Search: nothing passes", facts, "bad")
        levels = ", ".join(f"{name} {level}" for name, level in self.best.levels.items())
        best = {"best": levels, "value": self.best.objective, "suppressed": self.best.suppressed, "proven": self.proven}
        return Card("Search", facts | best, "good")

    @cached_property
    def passing_nodes(self) -> NDArray[np.bool_] | None:
        """Return whether each node passes, as an array over the lattice."""
        if self._passing is not None:
            return self._passing
        if self._limited or self.nodes > _LARGEST_ARRAY:
            return None
        return tagging(self.evaluator)

    @property
    def passing(self) -> int | None:
        """The number of passing nodes."""
        return None if self.passing_nodes is None else int(self.passing_nodes.sum())

    @cached_property
    def minimal(self) -> list[dict[str, int]] | None:
        """Passing nodes without a passing direct specialization, in the order of their level vectors."""
        if self.passing_nodes is None:
            return None
        return [self._named(levels) for levels in self.evaluator.space.minimal(self.passing_nodes)]

    def in_order(self) -> list[Node]:
        """Return the passing nodes that were evaluated, best first."""
        passing = {evaluation.levels: evaluation for evaluation in self.evaluator.log if evaluation.passes}
        best = sorted(passing.values(), key=lambda evaluation: (_objective(evaluation), evaluation.levels))
        return [node for evaluation in best if (node := _node(evaluation, list(self.floor))) is not None]

    def _named(self, levels: NodeLevels) -> dict[str, int]:
        return dict(zip(self.floor, levels, strict=True))


def search(
    table: Table,
    definition: Definition,
    *,
    suppression: Number = 0,
    objective: str | Callable[[NodeView], float] = "loss",
    weights: Weights | None = None,
    seconds: float | None = None,
    strategy: Strategy = "default",
    floor: Mapping[str, int] | None = None,
    node: Mapping[str, int] | None = None,
    counted: FrequencySet | None = None,
    context: Context | None = None,
) -> Search:
    """Search all full-domain generalizations of a table for the best one that satisfies a definition.

    After generalizing, every group that violates the definition is suppressed; a node passes when the suppressed
    rows are at most ``suppression`` of all rows.

    Parameters:
        table: the table.
        definition: what every published group must satisfy.
        suppression: the share of rows that may be suppressed.
        objective: a measure by its name, or a function of a node.
        weights: how much each column counts in the objective.
        seconds: a time limit, which may leave the result unproven, as may a ``deadline`` of the ``context``.
        strategy: how the lattice is searched.
        floor: lowest levels to search; finer nodes are ignored. An engine that cannot hold all points of the
            lowest levels (Spark) sets it too, and the result states where the search began.
        node: judge one node only, with the lowest level for columns that it does not name.
        counted: the frequency set of the table, if already computed, at or below the searched levels.
        context: reports progress and can stop the run.

    Returns:
        A search result: ``best``, ``minimal``, ``passing``, ``proven`` and ``bound``; ``best`` is None where nothing passes.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "town": ["Aix"] * 4, "illness": ["flu", "cold", "flu", "cold"]}
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> table = rt.Table(rows, quasi={"age": ages, "town": None}, sensitive="illness")
        >>> rt.search(table, rt.KAnonymity(2)).best.levels
        {'age': 1, 'town': 0}
    """
    limit = exact(suppression, "suppression", low=0, high=1)
    table = with_closed_sets(table)
    group_definition = of_groups(closed(definition, table), "search")
    table = group_definition.prepare(table)
    adversary_sets(table)
    context = context or Context()
    deadline = context.until(float(exact(seconds, "seconds", low=0)) if seconds is not None else None)
    requested_floor = levels_of(table, floor, "floor")
    start = finest_floor(table, requested_floor, context) if counted is None else counted.levels
    only = None if node is None else levels_of(table, node, "node")
    wants_values = group_definition.needs_sensitive or not isinstance(objective, str) or objective == "kl"
    if counted is None:
        frequencies = count_table(table, context, sensitive=wants_values, floor=start)
    else:
        frequencies = counted if wants_values else counted.bare()
    columns = list(table.quasi)
    sets_judged = (
        judged_sets(table, group_definition) if table.quasi_sets is not None or own_sets(group_definition) else None
    )
    evaluator = Evaluator(frequencies, group_definition, limit, objective, weights, sets_judged, only, context)
    outcome, passing = _run_strategy(evaluator, strategy, deadline)
    return Search(
        _node(outcome.best, columns),
        outcome.proven,
        outcome.bound,
        evaluator.objective.name,
        evaluator.space.size,
        evaluator.evaluated,
        dict(zip(columns, start, strict=True)),
        evaluator,
        passing,
        deadline is not None and not outcome.proven,
    )


def _run_strategy(
    evaluator: Evaluator, strategy: Strategy, deadline: float | None
) -> tuple[SearchOutcome, NDArray[np.bool_] | None]:
    """Run a search by its name; also return the mask of all passing nodes if the strategy classifies them."""
    if strategy == "default":
        if evaluator.space.size > _LARGEST_ARRAY:
            limit = deadline if deadline is not None else time.monotonic() + _SECONDS_WHEN_HUGE
            return BestFirstSearch(evaluator).run(limit), None
        return Frontier(evaluator).run(deadline), None
    if strategy not in ("incognito", "exhaustive"):
        raise PolicyError(f"There is no search strategy {strategy!r}. Choose 'default', 'incognito' or 'exhaustive'.")
    passing = incognito(evaluator) if strategy == "incognito" else exhaustive(evaluator)
    evaluations = [evaluator.evaluate(evaluator.space.node(int(index))) for index in np.flatnonzero(passing)]
    best = min(evaluations, key=lambda evaluation: (_objective(evaluation), evaluation.levels), default=None)
    return SearchOutcome(best, True, None if best is None else best.objective), passing


def _objective(evaluation: Evaluation) -> float:
    assert evaluation.objective is not None
    return evaluation.objective


def _node(evaluation: Evaluation | None, columns: list[str]) -> Node | None:
    """Return an evaluated passing node with its levels by column name."""
    if evaluation is None:
        return None
    levels = dict(zip(columns, evaluation.levels, strict=True))
    return Node(levels, _objective(evaluation), evaluation.suppressed, evaluation.groups)


def levels_of(table: Table, named: Mapping[str, int] | None, what: str) -> NodeLevels:
    """Return the levels that a mapping gives; other columns have the lowest level that may be published, usually 0."""
    requested: dict[str, Any] = dict(named or {})
    for name in requested:
        if name not in table.quasi:
            raise PolicyError(f"{what} names {name!r}, which is not a quasi column.{did_you_mean(name, table.quasi)}")
    as_integers = {name: int(level) if isinstance(level, np.integer) else level for name, level in requested.items()}
    levels = tuple(
        whole(as_integers.get(hierarchy.column, hierarchy.lowest), f"{what}: the level of {hierarchy.column!r}", low=0)
        for hierarchy in table.hierarchies
    )
    for hierarchy, level in zip(table.hierarchies, levels, strict=True):
        if not hierarchy.lowest <= level <= hierarchy.height:
            raise PolicyError(
                f"{what}: column {hierarchy.column!r} has levels {hierarchy.lowest} to {hierarchy.height}, not {level}.",
                setting=(what,),
                column=hierarchy.column,
                value=level,
            )
    return levels
