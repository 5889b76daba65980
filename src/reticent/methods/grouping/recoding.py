"""Local recoding that may separate people with equal quasi values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import Codes, first_rows, number, pack, positions
from reticent.base.ragged import ranks_among_equal
from reticent.core import Recoding, RegionColumn, Regions, Shape, row_numbers
from reticent.table import Table, plain

Ids = NDArray[np.int64]
_GROUP, _COUNT = "group", "count"


@dataclass(frozen=True, eq=False)
class Allocation(Regions):
    """Local recoding that may separate records with equal quasi values: the number of rows of each point and sensitive values per group.

    Entry ``e``: ``counts[e]`` rows at ``points[.][e]`` with the sensitive values ``secrets[e]`` belong to ``group[e]`` (-1: suppressed).
    ``rows`` is the group of each row of the original table, sampled with the operating system's generator; it is not saved.
    """

    kind: ClassVar[str] = "allocation"
    needs_row_order: ClassVar[bool] = True

    counts: Ids = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    secrets: pl.DataFrame = field(default_factory=pl.DataFrame)
    rows: Ids | None = None

    @classmethod
    def of(
        cls,
        table: Table,
        columns: tuple[RegionColumn, ...],
        codes: Sequence[Codes],
        rows: Ids,
        numbered: str | None = None,
        shapes: tuple[Shape, ...] = (),
    ) -> Self:
        """Count how many rows with each combination of leaves and sensitive values belong to each group. ``codes`` has the leaf of every row in each column, ``rows`` its group; ``shapes`` are those of groups that are not boxes."""
        points = [pl.Series(f"point {index}", codes_of_column) for index, codes_of_column in enumerate(codes)]
        secrets = [table.frame[name].alias(f"secret {index}") for index, name in enumerate(table.sensitive)]
        keyed_rows = pl.DataFrame([*points, *secrets, pl.Series(_GROUP, rows)])
        entries = keyed_rows.group_by(keyed_rows.columns, maintain_order=True).len(_COUNT)
        return cls(
            columns,
            tuple(entries[f"point {index}"].to_numpy() for index in range(len(codes))),
            entries[_GROUP].to_numpy(),
            table.carried,
            entries[_COUNT].to_numpy().astype(np.int64),
            entries.select(pl.col(f"secret {index}").alias(name) for index, name in enumerate(table.sensitive)),
            rows,
            numbered=numbered,
            shapes=shapes,
        )

    def published_points(self) -> tuple[Sequence[Codes], pl.DataFrame]:
        return Recoding.published_points(self)

    @cached_property
    def _dealing(self) -> tuple[Ids, Ids, pl.DataFrame]:
        """The distinct points of the entries (index of one entry per point; point of each entry), and the entries as join keys."""
        ids, count = number(*pack(self.points, [len(column.leaves) for column in self.columns], len(self.group)))
        return first_rows(ids, count), ids.astype(np.int64), _keyed(ids.astype(np.int64), self.secrets)

    def points_of(self, codes: Sequence[Codes]) -> Ids:
        """The index of every row's point among the distinct points."""
        first_entries = self._dealing[0]
        sizes = [len(column.leaves) for column in self.columns]
        return positions([codes_of_column[first_entries] for codes_of_column in self.points], codes, sizes)

    def _groups_at(self, point: Ids, rows: pl.DataFrame) -> Ids:
        """The group of every row: rows are assigned in order to the entries of their point and sensitive values. Rows beyond the counts get a group only if all these entries have the same one."""
        first_entries, ids, keys = self._dealing
        low, high = np.full(len(first_entries), np.iinfo(np.int64).max), np.full(len(first_entries), -2)
        np.minimum.at(low, ids, self.group)
        np.maximum.at(high, ids, self.group)
        only_group = np.where(low == high, low, -1)
        group = np.where(point >= 0, only_group[point], -1)
        if not set(self.secrets.columns) <= set(rows.columns):
            return group
        kinds = keys.unique(maintain_order=True).with_row_index("key")
        entry_key = row_numbers(keys, kinds)
        given_secrets = [plain(rows[name]).cast(dtype, strict=False) for name, dtype in self.secrets.schema.items()]
        key = row_numbers(_keyed(point, pl.DataFrame(given_secrets)), kinds)
        order = np.argsort(entry_key, kind="stable")
        ends = np.cumsum(self.counts[order])
        totals = np.bincount(entry_key, weights=self.counts, minlength=kinds.height).astype(np.int64)
        starts = np.cumsum(totals) - totals
        dealt_rows = np.flatnonzero((key >= 0) & (point >= 0))
        rank = ranks_among_equal(key[dealt_rows])
        is_within = rank < totals[key[dealt_rows]]
        dealt_rows, rank = dealt_rows[is_within], rank[is_within]
        group[dealt_rows] = self.group[order[np.searchsorted(ends, starts[key[dealt_rows]] + rank, side="right")]]
        return group

    def stored(self) -> pl.DataFrame:
        """Every entry, with its sensitive values and its number of rows."""
        secrets = [self.secrets[name].alias(f"secret {index}") for index, name in enumerate(self.secrets.columns)]
        return super().stored().with_columns([*secrets, pl.Series(_COUNT, self.counts)])

    def as_json(self) -> dict[str, Any]:
        """The cells of every column, and which columns are sensitive."""
        return {**super().as_json(), "secrets": self.secrets.columns}

    @classmethod
    def from_json(cls, payload: Mapping[str, Any], stored: pl.DataFrame, where: str) -> Self:
        """The recoding from its saved form."""
        head = Regions.from_json(payload, stored, where)
        counts = stored[_COUNT].to_numpy().astype(np.int64)
        secrets = [stored[f"secret {index}"].alias(name) for index, name in enumerate(payload["secrets"])]
        return cls(
            head.columns,
            head.points,
            head.group,
            head.carried,
            counts,
            pl.DataFrame(secrets),
            shapes=head.shapes,
            numbered=head.numbered,
        )


def _keyed(point: Ids, secrets: pl.DataFrame) -> pl.DataFrame:
    """A frame of points and sensitive values under internal column names, as join keys."""
    secret_columns = [secrets[name].alias(f"secret {index}") for index, name in enumerate(secrets.columns)]
    return pl.DataFrame([pl.Series("point", point), *secret_columns])
