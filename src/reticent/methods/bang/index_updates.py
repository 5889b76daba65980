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
    _check_roles(index, table)
    batch = count_table(table, context)
    if not len(batch):
        return index
    context.step("finding regions")
    space, units, batch = _on_common_values(index, table, batch)
    directory = index.directory if space is index.space else replace(index.directory, space=space)
    rows = directory.rows.copy()
    keys = space.keys(batch.codes)
    met = directory.holding(keys)
    np.add.at(rows, met, sign * batch.sizes)
    mine = _sharing_cells(space, units, index.region_of, met, keys)
    part = _combined(units.select(mine), batch, sign)
    rest = units.select(~mine)
    if not len(part) and not len(rest):
        raise DataError("Bang: these are all rows of the index; it cannot become empty.")
    of_part = directory.holding(space.keys(part.codes))
    now = _Blocks(space, rest.beside(part), np.concatenate([index.region_of[~mine], of_part]), directory, rows)
    return now.settled(index, context)


def _sharing_cells(space: GridSpace, units: FrequencySet, region_of: Ids, met: Ids, keys: Words) -> NDArray[np.bool_]:
    """Mask the points in a cell of a batch, given its regions and keys: only these can be points of the batch too."""
    touched = np.zeros(int(region_of.max()) + 1, dtype=bool)
    touched[met] = True
    near = np.flatnonzero(touched[region_of])
    found = np.zeros(len(units), dtype=bool)
    theirs = sortable(space.keys([each[near] for each in units.codes]))
    found[near[np.isin(theirs, sortable(keys))]] = True
    return found


class _Blocks:
    """A directory with changed row counts; some blocks may be underfull or overfull. Mutable: :meth:`settled` splits and merges in place."""

    def __init__(
        self, space: GridSpace, units: FrequencySet, region_of: Ids, directory: BangDirectory, rows: Ids
    ) -> None:
        self.space, self.units, self.region_of = space, units, region_of
        self.lows, self.level, self.rows = directory.lows, directory.level, rows
        # A block that lost rows was not tried with more rows than it has.
        self.tried = np.minimum(directory.rows if directory.tried is None else directory.tried, rows)
        self.encloser = directory.encloser
        self.directory = directory

    def settled(self, index: BangIndex, context: Context) -> BangIndex:
        """Return the index without underfull blocks, and without splittable blocks that were not tried."""
        context.step("merging small blocks")
        if (self.rows < index.minimum).any() and len(self.rows) > 1:
            self._thin(index.minimum)
        context.step("splitting large blocks")
        many, least = self.rows, index.minimum
        # Blocks with fewer than twice the minimum were never tried, and those with three times the minimum can be split
        # unless their rows share cells.
        again = (
            (self.tried < 2 * least) | (many >= self.tried + least) | ((self.tried < 3 * least) & (many >= 3 * least))
        )
        due = (many >= 2 * least) & again
        if due.any():
            self._split(due, index.minimum)
        directory, number = BangDirectory.recorded(self.space, self.lows, self.level, self.rows, self.tried)
        return replace(index, space=self.space, directory=directory, units=self.units, region_of=number[self.region_of])

    def _thin(self, minimum: int) -> None:
        thinned = MergedRegions(self.directory, self.rows)
        thinned.thin(minimum)
        final = thinned.final()
        alive = np.flatnonzero(final == np.arange(len(final)))
        place = np.empty(len(final), dtype=np.int64)
        place[alive] = np.arange(len(alive))
        level = np.array(thinned.level, dtype=np.int64)[alive]
        tried = self.tried.copy()
        tried[sorted(thinned.changed)] = 0
        self.region_of = place[final[self.region_of]]
        around = np.array(thinned.around, dtype=np.int64)[alive]
        self.encloser = np.where(around >= 0, place[around], -1)
        # A region that grew or shrank is located by its new prefix; the first cell of an old one may be outside.
        lows, moved = self.lows.copy(), np.array(sorted(thinned.moved), dtype=np.int64)
        prefixes = [thinned.prefix[each] for each in moved.tolist()]
        lows[:, moved] = _first_cells(self.space, prefixes, np.array(thinned.level, dtype=np.int64)[moved])
        self.lows = lows[:, alive]
        self.level, self.rows, self.tried = level, np.array(thinned.rows, dtype=np.int64)[alive], tried[alive]

    def _split(self, due: NDArray[np.bool_], minimum: int) -> None:
        """Split the ``due`` blocks in the trie of their own rows and the corners of the regions directly inside them."""
        around = np.where(self.encloser >= 0, self.encloser, 0)
        held = np.flatnonzero((self.encloser >= 0) & due[around] & ~due)
        points = np.flatnonzero(due[self.region_of])
        codes = [each[points] for each in self.units.codes]
        low, high = self.space.boxes(self.lows[:, held], self.level[held])
        cells = np.concatenate([self.space.cells(codes), low, high - 1], axis=1)
        trie = PartialTrie.of(self.space.keys_at(cells), self.space.depth)
        weights = np.concatenate([self.units.sizes[points], np.zeros(2 * len(held), dtype=np.int64)])
        split = np.flatnonzero(due)
        key = np.zeros(len(due), dtype=np.int64)
        key[self.region_of[points]] = np.arange(len(points))
        key[held] = len(points) + np.arange(len(held))
        tops, others = trie.tops(key[split], self.level[split]), trie.tops(key[held], self.level[held])
        level = trie.levels(np.concatenate([tops, others]), np.concatenate([self.level[split], self.level[held]]))
        level, rows = trie.divided(level, weights, tops, minimum)
        found, _, _, owner = trie.nested(level)
        fresh = ~np.isin(found, others)
        made, kept = found[fresh], np.flatnonzero(~due)
        number = np.full(len(found), -1, dtype=np.int64)
        number[fresh] = len(kept) + np.arange(len(made))
        place = np.full(len(due), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        region_of = place[self.region_of]
        region_of[points] = number[owner[: len(points)]]
        self.region_of = region_of
        self.lows = np.concatenate([self.lows[:, kept], cells[:, trie.key_under(made)]], axis=1)
        self.level = np.concatenate([self.level[kept], level[made].astype(np.int64)])
        self.tried = np.concatenate([self.tried[kept], rows[made]])
        self.rows = np.concatenate([self.rows[kept], rows[made]])


def _first_cells(space: GridSpace, prefixes: Sequence[int], level: Ids) -> Ids:
    """Return the first cell of every region, given its prefix as an integer."""
    cells, depth = np.zeros((len(space.axes), len(prefixes)), dtype=np.int64), space.depth
    starts = [prefix << (depth - each) for prefix, each in zip(prefixes, level.tolist(), strict=True)]
    for place, (axis, bit) in enumerate(space.halvings):
        shift, own = depth - 1 - place, space.axes[axis].bits - 1 - bit
        cells[axis] |= np.array([(start >> shift) & 1 for start in starts], dtype=np.int64) << own
    return cells


def _check_roles(index: BangIndex, table: Table) -> None:
    """Check that the rows of an index and of a batch are identified and counted alike."""
    if not index.has_points:
        raise PolicyError(
            "Bang: this index was built from a table larger than memory and has only its blocks, so rows cannot be inserted or deleted. Build a new one of all rows."
        )
    quasi = [each.hierarchy.column for each in index.space.axes]
    sensitive = [each.name for each in index.units.domain.columns]
    for what, mine, theirs in (("quasi", quasi, list(table.quasi)), ("sensitive", sensitive, list(table.sensitive))):
        if mine != theirs:
            raise PolicyError(
                f"Bang: the index has the {what} columns {', '.join(map(repr, mine)) or 'none'}, and this table {', '.join(map(repr, theirs)) or 'none'}. They must be the same, in the same order.",
                setting=(what,),
            )
    if index.units.extras or table.several_rows or table.weight is not None or table.population is not None:
        raise PolicyError(
            "Bang: rows can be inserted and deleted only one by one, but these have people with several rows, weights or a population. Build a new index of all rows."
        )


def _on_common_values(
    index: BangIndex, table: Table, batch: FrequencySet
) -> tuple[GridSpace, FrequencySet, FrequencySet]:
    """Return the space, the points of the index and those of a batch, over the union of their values."""
    axes: list[ColumnAxis] = []
    hierarchies = []
    for axis, new, recipe in zip(index.space.axes, batch.hierarchies, table.quasi.values(), strict=True):
        known, fitted = axis.hierarchy, axis.on(new)
        if isinstance(axis, LineAxis) and not new.leaves.is_in(known.leaves.implode(), nulls_equal=True).all():
            bound = recipe.bind(pl.concat([known.leaves, new.leaves]).drop_nulls(), known.column)
            fitted = axis.on(bound.with_null_leaf() if known.null_leaf is not None else bound)
        else:
            fitted = axis
        axes.append(fitted)
        hierarchies.append(fitted.hierarchy)
    columns = tuple(
        _common_column(known, new, table.sensitive[known.name])
        for known, new in zip(index.units.domain.columns, batch.domain.columns, strict=True)
    )
    same = all(one is other for one, other in zip(axes, index.space.axes, strict=True))
    space = index.space if same else GridSpace(tuple(axes))
    return space, _refitted(index.units, hierarchies, columns), _refitted(batch, hierarchies, columns)


def _common_column(known: SensitiveColumn, new: SensitiveColumn, kind: SensitiveKind) -> SensitiveColumn:
    if known == new:
        return known
    if known.labels.dtype != new.labels.dtype:
        raise DataError(
            f"Bang: sensitive column {new.name!r} has the type {new.labels.dtype}, but {known.labels.dtype} in the index. Cast it.",
            column=new.name,
        )
    both = bind_sensitive(known.name, kind, pl.concat([known.labels, new.labels]))
    return known if both == known else both


def _refitted(
    units: FrequencySet, hierarchies: Sequence[BoundHierarchy], columns: Sequence[SensitiveColumn]
) -> FrequencySet:
    """Renumber points by the leaves and sensitive values of others, which include all of theirs."""
    codes = tuple(
        each if known is other else other.codes(known.leaves).take(each)
        for each, known, other in zip(units.codes, units.hierarchies, hierarchies, strict=True)
    )
    units = replace(units, hierarchies=tuple(hierarchies), codes=codes)
    if all(one is other for one, other in zip(units.domain.columns, columns, strict=True)):
        return units
    places = [column.codes(known.labels) for known, column in zip(units.domain.columns, columns, strict=True)]
    cells = units.histograms
    if len(columns) == 1:
        domain, values = SensitiveDomain.single(columns[0]), places[0].take(cells.values)
    else:
        joint = np.stack([place.take(each) for place, each in zip(places, units.domain.joint.T, strict=True)], axis=1)
        domain, values = SensitiveDomain(tuple(columns), joint.astype(np.int32)), cells.values
    histograms = Histograms.from_cells(cells.owners, values, cells.counts, len(units), domain.size)
    return replace(units, histograms=histograms, domain=domain)


def _combined(units: FrequencySet, batch: FrequencySet, sign: int) -> FrequencySet:
    if sign > 0:
        return units + batch
    try:
        return units - batch
    except PolicyError:
        raise DataError(
            "Bang: some of the rows to delete are not in the index, with these quasi and sensitive values. Nothing was deleted."
        ) from None
