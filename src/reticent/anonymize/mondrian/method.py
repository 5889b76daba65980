"""The method ``Mondrian``: local recoding, where the same value may be coarsened differently in different rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.anonymize.assembly import domains, generalized
from reticent.anonymize.mondrian.cells import ColumnCells, Values, column_cells, labels_of_rows, merge_alike
from reticent.anonymize.mondrian.partition import Choice, Partition
from reticent.data.draft import Draft
from reticent.data.frequencies import FrequencySet
from reticent.data.recoding import Regions
from reticent.data.table import Table
from reticent.definitions.base import Definition
from reticent.definitions.feasibility import require_feasible
from reticent.engine import LocalEngine
from reticent.errors import Infeasible, PolicyError
from reticent.randomness import Randomness
from reticent.utility import Measured, Picture


@dataclass(frozen=True)
class Mondrian:
    """Multidimensional local recoding: groups are cut in two as long as both halves satisfy the definition (R-PM-32).

    ``split`` chooses the column of a cut: the one where the group is widest (``span``), or the one that leaves the least loss (``loss``, slower).
    ``ties="keep"`` never separates people with the same quasi values (strict); ``"divide"`` may (relaxed; who goes where is
    drawn by the operating system). ``values`` says what is published of a group: the exact ``sets`` of its values, ``ranges`` of numbers, or nodes of
    the ``hierarchy``.
    """

    split: Choice = "span"
    ties: Literal["keep", "divide"] = "keep"
    values: Values = "sets"

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

    def draft(self, table: Table, definition: Definition, *, insecure_seed: int | None = None) -> Draft:
        """A partition into groups that satisfy the definition, none of which can be cut further."""
        self._check_fit(table, definition)
        engine, randomness = LocalEngine(), Randomness(insecure_seed)
        if self.ties == "keep":
            units = engine.frequencies(table)
            unit_of_row = engine.points(table, units)
        else:
            order = randomness.order(table.rows)
            units = engine.single_rows(table, order)
            unit_of_row = np.argsort(order)
        if not definition.holds(units.groups().whole()):
            require_feasible(units.groups(), definition)
            raise Infeasible(f"Even all rows in one group do not satisfy {definition}.")
        found = Partition(units, definition, self.split, self.ties == "divide").run()
        columns = self._cells(units, found)
        seen, firsts = merge_alike(columns, int(found.max(initial=-1)) + 1)
        columns = [cells.of_groups(firsts) for cells in columns]
        group = seen[found]
        quasi = pl.DataFrame(
            [labels_of_rows(h.column, c, group[unit_of_row]) for h, c in zip(units.hierarchies, columns, strict=True)]
        )
        assembled = generalized(table, quasi, np.ones(table.rows, dtype=bool), randomness)
        return Draft(
            format="generalize",
            recoding=_regions(group, columns),
            groups=units.merged(group.astype(np.int32), len(firsts)),
            tables=assembled.tables,
            meanings={
                h.column: dict(zip(c.labels, c.meanings, strict=True))
                for h, c in zip(units.hierarchies, columns, strict=True)
            },
            suppressed=0,
            method=self.describe(),
            utility=Measured(
                lambda: Picture.of_cells(units, group, len(firsts), [cells.leaf_sets() for cells in columns])
            ),
            search={"groups": len(firsts), "columns": list(table.quasi)},
            domains=domains(table.hierarchies),
            private=assembled.private,
            insecure=not randomness.is_secure,
        )

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return {"name": "Mondrian", "split": self.split, "ties": self.ties, "values": self.values}

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
        if definition.needs_population:
            wrong = next(part for part in definition.parts() if part.needs_population)
            raise PolicyError(
                f"{wrong} compares with a population, whose people may fit several groups of a local recoding; use Lattice."
            )
        if not definition.monotone:
            wrong = next(part for part in definition.parts() if not part.monotone)
            raise PolicyError(
                f"{wrong} may fail for a group although it holds for its halves, so Mondrian cannot use it; use Lattice."
            )

    def _cells(self, units: FrequencySet, group: NDArray[np.int64]) -> list[ColumnCells]:
        count = int(group.max(initial=-1)) + 1
        return [
            column_cells(hierarchy, codes, group, count, self.values)
            for hierarchy, codes in zip(units.hierarchies, units.codes, strict=True)
        ]


def _regions(group: NDArray[np.int64], columns: list[ColumnCells]) -> Regions:
    labels = tuple(tuple(cells.labels[place] for place in cells.of_group.tolist()) for cells in columns)
    meanings = tuple(tuple(cells.meanings[place] for place in cells.of_group.tolist()) for cells in columns)
    return Regions(group, labels, meanings)
