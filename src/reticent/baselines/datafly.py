"""The method ``Datafly``: the simple baseline that most scripts implement. Source: [Sweeney1998]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from reticent.base.context import Context
from reticent.base.exact import Number, exact
from reticent.base.parameters import exact_text, parameter
from reticent.core import NodeLevels
from reticent.definitions import Definition, own_sets
from reticent.engine import count_table, finest_floor
from reticent.errors import Infeasible
from reticent.methods.grouping import Grouping, GroupMethod, GroupRun, PublishedGroups, judged_sets
from reticent.methods.lattice import Evaluator, Lattice, Points, levels_of
from reticent.methods.typical import check_values
from reticent.table import Table


@dataclass(frozen=True)
class Datafly(GroupMethod):
    """Greedy full-domain generalization: generalize the column with the most distinct values until few enough rows must be suppressed.

    It finds a release, seldom the best; for comparison. Rows of failing groups are suppressed, at most ``suppression``
    of all. ``values="typical"`` publishes typical values, as :class:`Lattice` does. Guarantee and adversary: the
    definition's. Cost: O(rows) for each of at most as many steps as there are levels. Source: [Sweeney1998].

    Parameters:
        suppression: the share of rows that may be suppressed.
        values: ``"labels"``, or ``"typical"`` as in :class:`Lattice`.

    Example:
        >>> import reticent as rt
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> table = rt.Table({"age": [31, 33, 52, 58], "illness": ["flu"] * 4}, quasi={"age": ages}, sensitive="illness")
        >>> rt.publish(table, rt.KAnonymity(2), method=rt.Datafly()).frame["age"].unique().sort().to_list()
        ['[30, 40)', '[50, 60)']
    """

    suppression: Number = parameter(0, stated="always", written=exact_text)
    values: Literal["labels", "typical"] = "labels"

    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        exact(self.suppression, "Datafly: suppression", low=0, high=1)
        check_values("Datafly", self.values)

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Same as for :class:`Lattice`, which recodes the chosen node."""
        return self._lattice().refusal(table, definition)

    @property
    def judges_columns(self) -> bool:
        return True

    def grouped(self, run: GroupRun) -> Grouping:
        """Return the first passing node on the greedy path."""
        table, definition, limit = run.table, run.definition, exact(self.suppression, "suppression")
        frequencies = count_table(table, run.context, floor=self._start(table, run.context))
        column_sets = judged_sets(table, definition) if table.quasi_sets is not None or own_sets(definition) else None
        evaluator = Evaluator(frequencies, definition, limit, "loss", quasi_sets=column_sets, context=run.context)
        levels = frequencies.levels
        fixed = self._lattice()
        while not self._passes(
            evaluator, levels, lambda points: fixed.leaving(table, definition, points, evaluator.allowed)
        ):
            distinct = _distinct_values(evaluator.points(levels), evaluator.space.top)
            if not any(distinct):
                raise Infeasible(
                    f"Datafly reached the top of every hierarchy without satisfying {run.asked} with at most {limit} of the rows suppressed. "
                    "Allow more with suppression=, weaken the definition, or add coarser levels to the hierarchies."
                )
            column = distinct.index(max(distinct))
            levels = (*levels[:column], levels[column] + 1, *levels[column + 1 :])
        return replace(fixed, node=dict(zip(table.quasi, levels, strict=True))).grouped(run)

    def _start(self, table: Table, context: Context) -> NodeLevels:
        """Return the lowest levels, or those at which the engine can hold the points; typical values need the lowest."""
        lowest = levels_of(table, None, "floor")
        return finest_floor(table, lowest, context) if self.values == "labels" else lowest

    def _lattice(self) -> Lattice:
        return Lattice(suppression=self.suppression, values=self.values)

    @staticmethod
    def _passes(evaluator: Evaluator, levels: NodeLevels, leaving: Callable[[Points], PublishedGroups]) -> bool:
        """True if a node passes, and its suppressed groups can be suppressed without disclosing too much about them."""
        if not evaluator.evaluate(levels).passes:
            return False
        points = evaluator.points(levels)
        return next(leaving(points).ways(evaluator.suppressed(points)), None) is not None


def _distinct_values(points: Points, top: tuple[int, ...]) -> list[int]:
    """Return the number of distinct values in each column; 0 for a column at its top level."""
    rows = points.sizes > 0
    return [
        len(np.unique(column[rows])) if level < highest else 0
        for column, level, highest in zip(points.codes, points.levels, top, strict=True)
    ]
