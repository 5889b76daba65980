"""The method ``Mondrian``: local recoding, where the same value may be coarsened differently in different rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.anonymize.assembly import domains, generalized
from reticent.anonymize.mondrian.cells import (
    ColumnCells,
    Values,
    column_cells,
    covered,
    labels_of_rows,
    merge_alike,
)
from reticent.anonymize.mondrian.partition import Choice, Partition
from reticent.data.draft import Draft
from reticent.data.frequencies import FrequencySet
from reticent.data.groups import Groups
from reticent.data.recoding import Regions
from reticent.data.table import Table
from reticent.definitions.base import Definition
from reticent.definitions.feasibility import require_feasible
from reticent.definitions.population import POPULATION
from reticent.engine import LocalEngine
from reticent.errors import Infeasible, PolicyError
from reticent.exact import Number, exact
from reticent.randomness import Randomness
from reticent.utility import Measured, Picture


@dataclass(frozen=True)
class Mondrian:
    """Multidimensional local recoding: groups are cut in two as long as both halves satisfy the definition (R-PM-32).

    ``split`` chooses the column of a cut: the one where the group is widest (``span``), or the one that leaves the least loss (``loss``, slower).
    ``ties="keep"`` never separates people with the same quasi values (strict); ``"divide"`` may (relaxed; who goes where is
    drawn by the operating system). ``values`` says what is published of a group: the exact ``sets`` of its values, ``ranges`` of numbers, or nodes of
    the ``hierarchy``.

    Every definition can be met. One that is not monotone may hold for parts of a group that fails: then cuts go on below it, and what still
    fails in the end is left out, at most ``suppression`` of all rows. Beside a population, groups cover its people as well as the rows.
    """

    split: Choice = "span"
    ties: Literal["keep", "divide"] = "keep"
    values: Values = "sets"
    suppression: Number = 0

    def __post_init__(self) -> None:
        for name, known in (
            ("split", ("span", "loss")),
            ("ties", ("keep", "divide")),
            ("values", ("sets", "ranges", "hierarchy")),
        ):
            if getattr(self, name) not in known:
                raise PolicyError(
                    f"Mondrian: {name} must be one of {', '.join(known)}, but it is {getattr(self, name)!r}."
                )
        exact(self.suppression, "Mondrian: suppression", low=0, high=1)

    def draft(self, table: Table, definition: Definition, *, insecure_seed: int | None = None) -> Draft:
        """A partition into groups that satisfy the definition, none of which can be cut further."""
        self._check_fit(table, definition)
        table = definition.prepare(table)
        engine, randomness = LocalEngine(), Randomness(insecure_seed)
        if self.ties == "keep":
            units = engine.frequencies(table)
            unit_of_row = engine.points(table, units)
        else:
            order = randomness.order(table.rows)
            units = engine.single_rows(table, order)
            unit_of_row = np.argsort(order)
        found = self._partition(units, definition)
        columns = self._cells(units, found)
        seen, firsts = merge_alike(columns, int(found.max(initial=-1)) + 1)
        columns = [cells.of_groups(firsts) for cells in columns]
        groups = self._judged(units, seen[found], columns)
        gone = self._suppressed(groups, definition)
        numbers = np.where(gone, -1, np.cumsum(~gone) - 1)
        group, columns = numbers[seen[found]], [cells.of_groups(np.flatnonzero(~gone)) for cells in columns]
        kept = group[unit_of_row] >= 0
        shown = group[unit_of_row][kept]
        quasi = pl.DataFrame(
            [labels_of_rows(h.column, c, shown) for h, c in zip(units.hierarchies, columns, strict=True)]
        )
        assembled = generalized(table, quasi, kept, randomness)
        return Draft(
            format="generalize",
            recoding=_regions(group, columns),
            groups=groups.select(~gone),
            tables=assembled.tables,
            meanings={h.column: c.shown_meanings() for h, c in zip(units.hierarchies, columns, strict=True)},
            suppressed=int((~kept).sum()),
            method=self.describe(),
            utility=Measured(
                lambda: Picture.of_cells(units, group, int((~gone).sum()), [cells.leaf_sets() for cells in columns])
            ),
            search={"groups": int((~gone).sum()), "columns": list(table.quasi)},
            domains=domains(table.hierarchies),
            private=assembled.private,
            insecure=not randomness.is_secure,
        )

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        given = {"name": "Mondrian", "split": self.split, "ties": self.ties, "values": self.values}
        return {**given, "suppression": str(self._limit)} if self._limit else given

    @property
    def _limit(self) -> Fraction:
        return exact(self.suppression, "suppression")

    def _check_fit(self, table: Table, definition: Definition) -> None:
        if not table.quasi:
            raise PolicyError(
                "The table has no quasi columns, so there is nothing to recode. Declare some with quasi=."
            )
        if table.quasi_sets is not None:
            raise PolicyError(
                "Mondrian recodes all quasi columns together and cannot judge several sets of them; use Lattice."
            )
        if self.ties == "divide" and table.unit == "person":
            raise PolicyError("ties='divide' would part the rows of one person; use ties='keep' where unit='person'.")
        if self.ties == "divide" and definition.needs_population:
            wrong = next(part for part in definition.parts() if part.needs_population)
            raise PolicyError(
                f"{wrong} compares with a population, whose people would fit both parts of a divided tie; use ties='keep'."
            )

    def _partition(self, units: FrequencySet, definition: Definition) -> NDArray[np.int64]:
        partition = Partition(units, definition, self.split, self.ties == "divide")
        needed = partition.judge.monotone
        if needed is not None and not needed.holds(units.groups().whole()):
            require_feasible(units.groups(), needed)
            raise Infeasible(f"Even all rows in one group do not satisfy {needed}.")
        return partition.run()

    def _judged(self, units: FrequencySet, group: NDArray[np.int64], columns: list[ColumnCells]) -> Groups:
        """The groups as a reader sees them, who counts everybody of a population that their cells cover."""
        groups = units.merged(group.astype(np.int32), len(columns[0].of_group))
        if POPULATION not in units.extras or self.values != "hierarchy":
            return groups
        people = covered(units.codes, units.extras[POPULATION], columns)
        return replace(groups, extras={**groups.extras, POPULATION: people})

    def _suppressed(self, groups: Groups, definition: Definition) -> NDArray[np.bool_]:
        """The groups that are left out: those that fail although no cut of theirs helped."""
        failing = np.zeros(len(groups), dtype=bool)
        for part in definition.parts():
            if not part.monotone:
                failing |= part.failing(groups)
        rows, lost = int(groups.sizes.sum()), int(groups.sizes[failing].sum())
        if lost > self._limit * rows or lost == rows:
            raise Infeasible(
                f"Cutting the table leaves {lost} of {rows} rows in groups that do not satisfy {definition}, and at most "
                f"{self._limit} of the rows may be left out. Allow more with suppression=, weaken the definition, or use Lattice."
            )
        if failing.any() and not definition.holds(groups.select(~failing)):
            raise Infeasible(
                f"Without the {lost} rows that cannot be published the rest does not satisfy {definition}."
            )
        return failing

    def _cells(self, units: FrequencySet, group: NDArray[np.int64]) -> list[ColumnCells]:
        count = int(group.max(initial=-1)) + 1
        return [
            column_cells(hierarchy, codes, group, count, self.values)
            for hierarchy, codes in zip(units.hierarchies, units.codes, strict=True)
        ]


def _regions(group: NDArray[np.int64], columns: list[ColumnCells]) -> Regions:
    labels = tuple(tuple(map(cells.labels.__getitem__, cells.of_group.tolist())) for cells in columns)
    meanings = tuple(tuple(map(cells.meanings.__getitem__, cells.of_group.tolist())) for cells in columns)
    return Regions(group, labels, meanings)
