"""Rows into stripes, by the value of one column alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import Codes
from reticent.core import Carried, LeafSets, PublishedCells, Recoding, Unseen, carried_from
from reticent.errors import DataError
from reticent.table import SUPPRESSED, Anything, BoundHierarchy, Interval, Meaning

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class IntoStripes(Recoding):
    """A row shows between which ``edges`` its value lies in the first of the ``columns``, and nothing of the others.

    ``leaves`` and ``points`` are the values and the counted points of the table that it was made for; they are not saved.
    """

    kind: ClassVar[str] = "stripes"

    columns: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]
    carried: Carried = field(default_factory=dict)
    leaves: Ids = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    points: tuple[Codes, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def coded_at(self) -> tuple[int, ...]:
        return (0,) * len(self.columns)

    @property
    def meanings(self) -> dict[str, dict[str, Meaning]]:
        stripes = {_label(edge): Interval(*edge, "both") for edge in self.edges}
        return {self.columns[0]: {**stripes}, **{name: {SUPPRESSED: Anything()} for name in self.columns[1:]}}

    def stripe_of(self, values: Ids) -> Ids:
        """The stripe of every value; -1 where it lies in none."""
        lows, highs = (np.array(each) for each in zip(*self.edges, strict=True))
        found = np.searchsorted(lows, values, side="right") - 1
        return np.where((found >= 0) & (values <= highs[found]), found, -1)

    def groups_of(self, codes: Sequence[Codes]) -> Ids:
        return self.stripe_of(self.leaves[codes[0]])

    def shown(self, groups: Ids, *, coded: bool = False) -> pl.DataFrame:
        labels = pl.Series(self.columns[0], [_label(edge) for edge in self.edges], dtype=pl.String).gather(groups)
        return pl.DataFrame([labels, *(pl.Series(name, [SUPPRESSED]).gather(groups * 0) for name in self.columns[1:])])

    def published_points(self) -> tuple[Sequence[Codes], pl.DataFrame]:
        return self.points, self.shown(self.groups_of(self.points))

    def published_cells(self, hierarchies: Sequence[BoundHierarchy]) -> PublishedCells:
        """Every stripe holds the values between its edges, and all values of the other columns."""
        stripes = np.arange(len(self.edges))
        meanings = [list(each.values()) for each in self.meanings.values()]
        columns = tuple(
            LeafSets.of_meanings(bound, listed, stripes if place == 0 else stripes * 0)
            for place, (bound, listed) in enumerate(zip(hierarchies, meanings, strict=True))
        )
        return PublishedCells(self.groups_of(self.points), len(self.edges), columns)

    def _placed(self, rows: pl.DataFrame, unseen: Unseen) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
        found = self.stripe_of(rows[self.columns[0]].to_numpy())
        if unseen == "error" and (found < 0).any():
            raise DataError(f"Column {self.columns[0]!r} has a value that lies in no stripe.")
        return self.shown(found[found >= 0]), found >= 0

    def as_json(self) -> dict[str, Any]:
        return self._head([{"name": name} for name in self.columns])

    def stored(self) -> pl.DataFrame:
        return pl.DataFrame(self.edges, schema={"low": pl.Int64, "high": pl.Int64}, orient="row")

    @classmethod
    def from_json(cls, payload: Mapping[str, Any], stored: pl.DataFrame, where: str) -> Self:
        names = tuple(item["name"] for item in payload["columns"])
        return cls(names, tuple(stored.rows()), carried_from(payload, where))


def _label(edge: tuple[int, int]) -> str:
    return f"[{edge[0]}, {edge[1]}]"
