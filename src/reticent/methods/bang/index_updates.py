"""Insert rows into an index and delete them, before anything of it is published.

Only blocks touched by a batch are visited: its rows go to the region with the longest prefix, overfull blocks are split
by the build rule on their own rows, and underfull blocks are merged. The result does not depend on the order of rows
within a batch. It may differ from an index built from all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.core import FrequencySet, Histograms, SensitiveDomain
from reticent.engine import count_table
from reticent.errors import DataError, PolicyError
from reticent.methods.bang.block_merge import MergedRegions
from reticent.methods.bang.cell_space import ColumnAxis, GridSpace, Ids, LineAxis, Words, sortable
from reticent.methods.bang.directory import BangDirectory
from reticent.methods.bang.partial import PartialTrie
from reticent.table import BoundHierarchy, SensitiveColumn, SensitiveKind, Table, bind_sensitive

if TYPE_CHECKING:
    from reticent.methods.bang.region_index import BangIndex


def with_rows(index: BangIndex, table: Table, context: Context) -> BangIndex:
    """Return the index with the rows of a table added."""
    return _changed(index, table, context, 1)


def without_rows(index: BangIndex, table: Table, context: Context) -> BangIndex:
    """Return the index with the rows of a table removed; all of them must be in it."""
    return _changed(index, table, context, -1)


def _changed(index: BangIndex, table: Table, context: Context, sign: int) -> BangIndex:
    """Return the index with the rows of a table added (``sign`` 1) or removed (-1)."""
    _check_roles(index, table)
    batch = count_table(table, context)
    if not len(batch):
        return index
    context.step("finding regions")
    space, units, batch = _on_common_values(index, table, batch)
    directory = index.directory if space is index.space else replace(index.directory, space=space)
    rows = directory.rows.copy()
    keys = space.keys(batch.codes)
    batch_regions = directory.holding(keys)
    np.add.at(rows, batch_regions, sign * batch.sizes)
    is_shared = _sharing_cells(space, units, index.region_of, batch_regions, keys)
    part = _combined(units.select(is_shared), batch, sign)
    untouched = units.select(~is_shared)
    if not len(part) and not len(untouched):
        raise DataError("Bang: these are all rows of the index; it cannot become empty.")
    of_part = directory.holding(space.keys(part.codes))
    changed_blocks = _Blocks(
        space, untouched.beside(part), np.concatenate([index.region_of[~is_shared], of_part]), directory, rows
    )
    return changed_blocks.settled(index, context)


def _sharing_cells(
    space: GridSpace, units: FrequencySet, region_of: Ids, batch_regions: Ids, keys: Words
) -> NDArray[np.bool_]:
    """Mask the points in a cell of a batch, given its regions and keys: only these can be points of the batch too."""
    touched = np.zeros(int(region_of.max()) + 1, dtype=bool)
    touched[batch_regions] = True
    candidates = np.flatnonzero(touched[region_of])
    is_shared = np.zeros(len(units), dtype=bool)
    candidate_keys = sortable(space.keys([codes[candidates] for codes in units.codes]))
    is_shared[candidates[np.isin(candidate_keys, sortable(keys))]] = True
    return is_shared


class _Blocks:
    """A directory with changed row counts; some blocks may be underfull or overfull. Mutable: :meth:`settled` splits and merges in place."""

    def __init__(
        self, space: GridSpace, units: FrequencySet, region_of: Ids, directory: BangDirectory, rows: Ids
    ) -> None:
        """Start with the regions of ``directory``, the changed ``rows`` of their blocks, and the region of each of ``units``"""
        self.space, self.units, self.region_of = space, units, region_of
        self.lows, self.level, self.rows = directory.lows, directory.level, rows
        # A block that lost rows was not tried with more rows than it has.
        self.tried = np.minimum(directory.rows if directory.tried is None else directory.tried, rows)
        self.encloser = directory.encloser
        self.directory = directory

    def settled(self, index: BangIndex, context: Context) -> BangIndex:
        """Return the updated index: underfull blocks are merged, and blocks that can be split and were not tried are split."""
        context.step("merging small blocks")
        if (self.rows < index.minimum).any() and len(self.rows) > 1:
            self._thin(index.minimum)
        context.step("splitting large blocks")
        rows, minimum = self.rows, index.minimum
        # Blocks with fewer than twice the minimum were never tried, and those with three times the minimum can be split
        # unless their rows share cells.
        is_untried = (
            (self.tried < 2 * minimum)
            | (rows >= self.tried + minimum)
            | ((self.tried < 3 * minimum) & (rows >= 3 * minimum))
        )
        is_split = (rows >= 2 * minimum) & is_untried
        if is_split.any():
            self._split(is_split, index.minimum)
        directory, number = BangDirectory.recorded(self.space, self.lows, self.level, self.rows, self.tried)
        return replace(index, space=self.space, directory=directory, units=self.units, region_of=number[self.region_of])

    def _thin(self, minimum: int) -> None:
        """Merge the underfull blocks with their surroundings, and renumber the regions."""
        thinned = MergedRegions(self.directory, self.rows)
        thinned.thin(minimum)
        final = thinned.final()
        remaining = np.flatnonzero(final == np.arange(len(final)))
        new_index = np.empty(len(final), dtype=np.int64)
        new_index[remaining] = np.arange(len(remaining))
        level = np.array(thinned.level, dtype=np.int64)[remaining]
        tried = self.tried.copy()
        tried[sorted(thinned.changed)] = 0
        self.region_of = new_index[final[self.region_of]]
        enclosers = np.array(thinned.around, dtype=np.int64)[remaining]
        self.encloser = np.where(enclosers >= 0, new_index[enclosers], -1)
        # A region that grew or shrank is located by its new prefix; the first cell of an old one may be outside.
        lows, moved = self.lows.copy(), np.array(sorted(thinned.moved), dtype=np.int64)
        prefixes = [thinned.prefix[region] for region in moved.tolist()]
        lows[:, moved] = _first_cells(self.space, prefixes, np.array(thinned.level, dtype=np.int64)[moved])
        self.lows = lows[:, remaining]
        self.level, self.rows, self.tried = level, np.array(thinned.rows, dtype=np.int64)[remaining], tried[remaining]

    def _split(self, due: NDArray[np.bool_], minimum: int) -> None:
        """Split the ``due`` blocks in the trie of their own rows and the corners of the regions directly inside them."""
        enclosers = np.where(self.encloser >= 0, self.encloser, 0)
        inner_regions = np.flatnonzero((self.encloser >= 0) & due[enclosers] & ~due)
        points = np.flatnonzero(due[self.region_of])
        codes = [codes[points] for codes in self.units.codes]
        low, high = self.space.boxes(self.lows[:, inner_regions], self.level[inner_regions])
        cells = np.concatenate([self.space.cells(codes), low, high - 1], axis=1)
        trie = PartialTrie.of(self.space.keys_at(cells), self.space.depth)
        weights = np.concatenate([self.units.sizes[points], np.zeros(2 * len(inner_regions), dtype=np.int64)])
        split = np.flatnonzero(due)
        key_of = np.zeros(len(due), dtype=np.int64)
        key_of[self.region_of[points]] = np.arange(len(points))
        key_of[inner_regions] = len(points) + np.arange(len(inner_regions))
        tops, inner_tops = (
            trie.tops(key_of[split], self.level[split]),
            trie.tops(key_of[inner_regions], self.level[inner_regions]),
        )
        level = trie.levels(
            np.concatenate([tops, inner_tops]), np.concatenate([self.level[split], self.level[inner_regions]])
        )
        level, rows = trie.divided(level, weights, tops, minimum)
        region_tops, _, _, owner = trie.nested(level)
        is_new = ~np.isin(region_tops, inner_tops)
        new_tops, kept_regions = region_tops[is_new], np.flatnonzero(~due)
        region_number = np.full(len(region_tops), -1, dtype=np.int64)
        region_number[is_new] = len(kept_regions) + np.arange(len(new_tops))
        new_index = np.full(len(due), -1, dtype=np.int64)
        new_index[kept_regions] = np.arange(len(kept_regions))
        region_of = new_index[self.region_of]
        region_of[points] = region_number[owner[: len(points)]]
        self.region_of = region_of
        self.lows = np.concatenate([self.lows[:, kept_regions], cells[:, trie.key_under(new_tops)]], axis=1)
        self.level = np.concatenate([self.level[kept_regions], level[new_tops].astype(np.int64)])
        self.tried = np.concatenate([self.tried[kept_regions], rows[new_tops]])
        self.rows = np.concatenate([self.rows[kept_regions], rows[new_tops]])


def _first_cells(space: GridSpace, prefixes: Sequence[int], level: Ids) -> Ids:
    """Return the first cell of every region, given its prefix as an integer."""
    cells, depth = np.zeros((len(space.axes), len(prefixes)), dtype=np.int64), space.depth
    starts = [prefix << (depth - bits) for prefix, bits in zip(prefixes, level.tolist(), strict=True)]
    for position, (axis, bit) in enumerate(space.halvings):
        shift, axis_shift = depth - 1 - position, space.axes[axis].bits - 1 - bit
        cells[axis] |= np.array([(start >> shift) & 1 for start in starts], dtype=np.int64) << axis_shift
    return cells


def _check_roles(index: BangIndex, table: Table) -> None:
    """Check that the rows of an index and of a batch are identified and counted alike."""
    if not index.has_points:
        raise PolicyError(
            "Bang: this index was built from a table larger than memory and has only its blocks, so rows cannot be inserted or deleted. Build a new one of all rows."
        )
    quasi = [axis.hierarchy.column for axis in index.space.axes]
    sensitive = [axis.name for axis in index.units.domain.columns]
    for role, index_columns, table_columns in (
        ("quasi", quasi, list(table.quasi)),
        ("sensitive", sensitive, list(table.sensitive)),
    ):
        if index_columns != table_columns:
            raise PolicyError(
                f"Bang: the index has the {role} columns {', '.join(map(repr, index_columns)) or 'none'}, and this table {', '.join(map(repr, table_columns)) or 'none'}. They must be the same, in the same order.",
                setting=(role,),
            )
    if index.units.extras or table.several_rows or table.weight is not None or table.population is not None:
        raise PolicyError(
            "Bang: rows can be inserted and deleted only one by one, but these have people with several rows, weights or a population. Build a new index of all rows."
        )


def _on_common_values(
    index: BangIndex, table: Table, batch: FrequencySet
) -> tuple[GridSpace, FrequencySet, FrequencySet]:
    """Return the grid space, the points of the index and the points of a batch, with codes over the union of their values."""
    axes: list[ColumnAxis] = []
    hierarchies = []
    for axis, new, recipe in zip(index.space.axes, batch.hierarchies, table.quasi.values(), strict=True):
        old, fitted = axis.hierarchy, axis.on(new)
        if isinstance(axis, LineAxis) and not new.leaves.is_in(old.leaves.implode(), nulls_equal=True).all():
            bound = recipe.bind(pl.concat([old.leaves, new.leaves]).drop_nulls(), old.column)
            fitted = axis.on(bound.with_null_leaf() if old.null_leaf is not None else bound)
        else:
            fitted = axis
        axes.append(fitted)
        hierarchies.append(fitted.hierarchy)
    columns = tuple(
        _common_column(old, new, table.sensitive[old.name])
        for old, new in zip(index.units.domain.columns, batch.domain.columns, strict=True)
    )
    same = all(axis_now is axis_before for axis_now, axis_before in zip(axes, index.space.axes, strict=True))
    space = index.space if same else GridSpace(tuple(axes))
    return space, _refitted(index.units, hierarchies, columns), _refitted(batch, hierarchies, columns)


def _common_column(old: SensitiveColumn, new: SensitiveColumn, kind: SensitiveKind) -> SensitiveColumn:
    """Return a sensitive column over the values of both."""
    if old == new:
        return old
    if old.labels.dtype != new.labels.dtype:
        raise DataError(
            f"Bang: sensitive column {new.name!r} has the type {new.labels.dtype}, but {old.labels.dtype} in the index. Cast it.",
            column=new.name,
        )
    merged = bind_sensitive(old.name, kind, pl.concat([old.labels, new.labels]))
    return old if merged == old else merged


def _refitted(
    units: FrequencySet, hierarchies: Sequence[BoundHierarchy], columns: Sequence[SensitiveColumn]
) -> FrequencySet:
    """Return points with their codes renumbered for other ``hierarchies`` and sensitive ``columns``, which include all of their values."""
    codes = tuple(
        codes if old is new_column else new_column.codes(old.leaves).take(codes)
        for codes, old, new_column in zip(units.codes, units.hierarchies, hierarchies, strict=True)
    )
    units = replace(units, hierarchies=tuple(hierarchies), codes=codes)
    if all(old_column is new_column for old_column, new_column in zip(units.domain.columns, columns, strict=True)):
        return units
    codes_of = [column.codes(old.labels) for old, column in zip(units.domain.columns, columns, strict=True)]
    cells = units.histograms
    if len(columns) == 1:
        domain, values = SensitiveDomain.single(columns[0]), codes_of[0].take(cells.values)
    else:
        joint = np.stack(
            [
                code_of_value.take(joint_codes)
                for code_of_value, joint_codes in zip(codes_of, units.domain.joint.T, strict=True)
            ],
            axis=1,
        )
        domain, values = SensitiveDomain(tuple(columns), joint.astype(np.int32)), cells.values
    histograms = Histograms.from_cells(cells.owners, values, cells.counts, len(units), domain.size)
    return replace(units, histograms=histograms, domain=domain)


def _combined(units: FrequencySet, batch: FrequencySet, sign: int) -> FrequencySet:
    """Return the points with those of a batch added (``sign`` 1) or removed (-1). Raises if there are too few to remove."""
    if sign > 0:
        return units + batch
    try:
        return units - batch
    except PolicyError:
        raise DataError(
            "Bang: some of the rows to delete are not in the index, with these quasi and sensitive values. Nothing was deleted."
        ) from None
