"""The method ``Datafly``: the simple baseline that most scripts implement (R-PM-30)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reticent.anonymize.lattice.evaluation import Evaluator
from reticent.anonymize.lattice.method import Lattice
from reticent.data.draft import Draft
from reticent.data.table import Table
from reticent.definitions.base import Definition
from reticent.engine import LocalEngine
from reticent.errors import Infeasible
from reticent.exact import Number, exact


@dataclass(frozen=True)
class Datafly:
    """Greedy full-domain generalization: raise the column with most distinct values until few enough rows must go.

    It finds a release, seldom the best; it is here to compare with. Rows of failing groups are suppressed, at most
    ``suppression`` of all.
    """

    suppression: Number = 0

    def __post_init__(self) -> None:
        exact(self.suppression, "Datafly: suppression", low=0, high=1)

    def draft(self, table: Table, definition: Definition, *, insecure_seed: int | None = None) -> Draft:
        """The first node on the greedy way up that passes."""
        frequencies = LocalEngine().frequencies(definition.prepare(table))
        evaluator = Evaluator(frequencies, definition, exact(self.suppression, "suppression"), "loss")
        levels = frequencies.levels
        while not evaluator.evaluate(levels).passes:
            codes = evaluator.points(levels).codes
            distinct = [
                len(np.unique(column)) if level < top else 0
                for column, level, top in zip(codes, levels, evaluator.space.top, strict=True)
            ]
            if not any(distinct):
                raise Infeasible(f"Datafly reached the top without satisfying {definition}; nothing coarser is left.")
            column = distinct.index(max(distinct))
            levels = (*levels[:column], levels[column] + 1, *levels[column + 1 :])
        names = [hierarchy.column for hierarchy in frequencies.hierarchies]
        fixed = Lattice(suppression=self.suppression, node=dict(zip(names, levels, strict=True)))
        return replace(fixed.draft(table, definition, insecure_seed=insecure_seed), method=self.describe())

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return {"name": "Datafly", "suppression": str(exact(self.suppression, "suppression"))}
