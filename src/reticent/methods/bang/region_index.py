"""The index of a table: built once, cut for any k."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.exact import whole
from reticent.core import FrequencySet, Groups
from reticent.definitions import GroupDefinition, require_feasible
from reticent.errors import Infeasible, PolicyError
from reticent.methods.bang.cell_space import GridSpace, Ids
from reticent.methods.bang.cut import BangCut, ClusterRanges
from reticent.methods.bang.dendrogram import Dendrogram
from reticent.methods.bang.digest import RowDigest
from reticent.methods.bang.directory import BangDirectory
from reticent.methods.bang.index_updates import with_rows, without_rows
from reticent.methods.grouping import together_of
from reticent.table import Table

if TYPE_CHECKING:
    from reticent.methods.bang.method import Bang


@dataclass(frozen=True, eq=False)
class IndexParts:
    """Lazily computed parts of an index; present from the start if the index was loaded or has no points."""

    blocks: Groups
    digest: RowDigest
    dendrogram: Dendrogram | None = None


@dataclass(frozen=True, eq=False)
class BangIndex:
    """The blocks of a table, each with at least ``minimum`` rows, and their dendrogram: the source of any number of releases.

    ``units`` are the distinct points of the table, and ``region_of`` the region of each. Building uses quasi values and
    counts only. A loaded index ``knows`` its parts. The index of a table with more points than fit in memory has blocks
    but no points (:mod:`reticent.methods.bang.large_index`).
    """

    method: Bang
    minimum: int
    space: GridSpace
    directory: BangDirectory
    units: FrequencySet
    region_of: Ids
    knows: IndexParts | None = None

    @classmethod
    def of(cls, method: Bang, minimum: int, units: FrequencySet, context: Context) -> BangIndex:
        """Build the index of counted points."""
        context.step("laying out columns")
        space = GridSpace.of(units.hierarchies, method.scales, _rows_of_values(method, units))
        context.step("splitting regions")
        directory, region_of = BangDirectory.built(space, units.codes, units.sizes, minimum)
        return cls(method, minimum, space, directory, units, region_of)

    @property
    def has_points(self) -> bool:
        """True if the index has the points of its table, not only its blocks."""
        return len(self.region_of) > 0

    def insert(self, table: Table, context: Context | None = None) -> BangIndex:
        """Return a new index with the rows of a table added, which has the same roles: each row goes to its region, and overfull blocks are split.

        Only affected blocks are visited. For an index of which nothing was published: use ``Bang(grow=...)`` for a
        table that grows between releases.
        """
        return with_rows(self, table, context or Context())

    def delete(self, table: Table, context: Context | None = None) -> BangIndex:
        """Return a new index without the rows of a table, all of which must be in this one; underfull blocks are merged."""
        return without_rows(self, table, context or Context())

    @cached_property
    def blocks(self) -> Groups:
        """The blocks as groups, with their sensitive values."""
        if self.knows is not None:
            return self.knows.blocks
        return self.units.merged(self.region_of.astype(np.int32), len(self.directory))

    @cached_property
    def dendrogram(self) -> Dendrogram:
        """The dendrogram of the blocks."""
        stored = None if self.knows is None else self.knows.dendrogram
        return stored or Dendrogram.of(self.directory, self.method.order)

    @cached_property
    def block_ranges(self) -> tuple[ClusterRanges, ...]:
        """The cell ranges of blocks on every axis."""
        return ClusterRanges.along(self.space, self.directory.lows, self.directory.highs)

    @cached_property
    def cluster_ranges(self) -> tuple[ClusterRanges, ...]:
        """The cell ranges of clusters on every axis, computed once for all cuts."""
        return ClusterRanges.along(self.space, self.dendrogram.lows, self.dendrogram.highs)

    @cached_property
    def digest(self) -> RowDigest:
        """The order-independent hash of the table's rows."""
        return RowDigest.of(self.units) if self.knows is None else self.knows.digest

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all inputs of the index: other rows or parameters give another one."""
        scales = self.method.describe().get("scales", {})
        digest = hashlib.sha256(repr((self.minimum, self.method.order, sorted(scales.items()))).encode())
        for name, values in (*_quasi_values(self.units), *_sensitive_values(self.units)):
            digest.update(repr((name, values.dtype, values.to_list())).encode())
        digest.update(str(self.digest).encode())
        # Rows added one after the other may have made other regions than all at once.
        for array in (self.directory.lows, self.directory.level):
            digest.update(np.ascontiguousarray(array, dtype=np.int64).data)
        return digest.hexdigest()

    def check_table(self, counted: Iterable[FrequencySet]) -> None:
        """Refuse a table, given its counts, that is not the indexed one."""
        digest, extras = RowDigest((0, 0)), set[str]()
        for units in counted:
            self._check_columns(units)
            extras |= set(units.extras)
            digest += RowDigest.of(units)
        if set(self.blocks.extras) != extras:
            raise _another(
                f"it counted {_counted(self.blocks.extras)} at every point, and {_counted(extras)} are asked for (unit, weight or population differ)"
            )
        if digest != self.digest:
            raise _another("the rows differ, although their columns have the same values")

    def _check_columns(self, units: FrequencySet) -> None:
        """Refuse a table whose columns or values differ from those of the index."""
        for kind, values in (("quasi", _quasi_values), ("sensitive", _sensitive_values)):
            index_values, table_values = values(self.units), values(units)
            if [name for name, _ in index_values] != [name for name, _ in table_values]:
                column_list = ", ".join(name for name, _ in index_values) or "none"
                raise _another(
                    f"its {kind} columns are {column_list}, and those of the table are {', '.join(name for name, _ in table_values) or 'none'}"
                )
            for (name, index_series), (_, table_series) in zip(index_values, table_values, strict=True):
                if index_series is not table_series and (
                    index_series.dtype != table_series.dtype or not index_series.equals(table_series, null_equal=True)
                ):
                    raise _another(f"column {name!r} had other values or another type then")

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the index to a folder that :func:`reticent.methods.bang.open_index` and ``Bang(index=path)`` take. Keep it
        private: it contains the points of the table with their counts.
        """
        from reticent.methods.bang.storage import save_index

        return save_index(self, path, overwrite=overwrite)

    def draft(self, k: int) -> BangCut:
        """Return a cut whose classes have at least ``k`` people each; nothing is scanned, published or recorded."""
        whole(k, "Bang: k", low=1)
        if k < self.minimum:
            raise PolicyError(
                f"Bang: the blocks of this index have at least {self.minimum} people and cannot be split further, so k = {k} needs another index: Bang(minimum={k}).",
                setting=("k",),
                value=k,
            )
        if self.dendrogram.rows[-1] < k:
            raise Infeasible(f"Bang: the table has {self.dendrogram.rows[-1]} people, fewer than k = {k}.")
        return self.at(k)

    def passing(self, definition: GroupDefinition, context: Context) -> BangCut:
        """Return the finest cut that satisfies a definition.

        Without a guard on sensitive values, classes are cut by counts alone, and for one larger k if any class fails.
        If no class fails, that is visible in the classes themselves, so the process discloses nothing; a larger k
        discloses to an adversary who knows the algorithm that some class failed, and the cut records this (``raised``).
        With ``guard="sensitive"`` a class is split wherever both parts pass.
        """
        k = max(self.minimum, definition.least_rows())
        if k == self.minimum and self.directory.rows.min() >= k and definition.holds(self.blocks):
            # Nothing needs to be merged, so no dendrogram is needed.
            return BangCut.of_blocks(self, k)
        context.step("merging blocks", note=f"{len(self.directory):,} blocks")
        dendrogram = self.dendrogram
        everything = BangCut.of(self, np.array([2 * len(dendrogram) - 2]), int(dendrogram.rows[-1]))
        if not definition.holds(everything.groups):
            require_feasible(self.units.groups() if self.has_points else self.blocks, definition)
            raise Infeasible(f"Even all rows in one class do not satisfy {definition}.")
        context.step("cutting")
        if self.method.guard == "sensitive":
            guarded = self.guarded(definition, k)
            if definition.holds(guarded.groups):
                return guarded
        # Between two of these sizes nothing changes.
        sizes = np.concatenate([[k], np.unique(dendrogram.smaller[dendrogram.smaller >= k]) + 1])
        low, high = 0, len(sizes) - 1
        while low < high:
            context.step("cutting")
            middle = (low + high) // 2
            if definition.holds(self.at(int(sizes[middle])).groups):
                high = middle
            else:
                low = middle + 1
        return replace(self.at(int(sizes[low])), raised=low > 0 or self.method.guard == "sensitive")

    def at(self, k: int) -> BangCut:
        """Return the cut by counts alone."""
        return BangCut.of(self, self.dendrogram.at(k), k)

    def guarded(self, definition: GroupDefinition, k: int) -> BangCut:
        """Return the cut in which every cluster is split whose two parts both satisfy the definition and have ``k`` rows.

        Parts of the definition that judge all classes together are ignored here.
        """
        local = together_of(tuple(part for part in definition.parts() if part.local))
        dendrogram = self.dendrogram

        def passes(clusters: Ids) -> NDArray[np.bool_]:
            """Mask the clusters with at least ``k`` rows that satisfy the parts that judge a class by itself."""
            enough: NDArray[np.bool_] = dendrogram.rows[clusters] >= k
            if local is None or not len(clusters):
                return enough
            groups = dendrogram.merged(self.blocks, clusters)
            return enough & ~local.failing(groups)

        return BangCut.of(self, dendrogram.standing(passes), k, guarded=True)


def _rows_of_values(method: Bang, units: FrequencySet) -> Sequence[Ids]:
    """Return the rows of every value of each column if a scale needs them; otherwise empty."""
    if any(isinstance(scale, str) and scale == "quantile" for scale in method.scales.values()):
        return units.column_sizes
    return [np.zeros(hierarchy.size, dtype=np.int64) for hierarchy in units.hierarchies]


def _quasi_values(units: FrequencySet) -> list[tuple[str, pl.Series]]:
    return [(hierarchy.column, hierarchy.leaves) for hierarchy in units.hierarchies]


def _sensitive_values(units: FrequencySet) -> list[tuple[str, pl.Series]]:
    return [(column.name, column.labels) for column in units.domain.columns]


def _counted(extras: Iterable[str]) -> str:
    return " and ".join(("rows", *sorted(extras)))


def _another(reason: str) -> PolicyError:
    """Return the error for an index that was built from another table."""
    return PolicyError(
        f"Bang: the saved index was built from another table: {reason}. Build an index of this table, or use the table of the index.",
        setting=("index",),
    )
