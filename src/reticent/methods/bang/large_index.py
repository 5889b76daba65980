"""Index of a table larger than memory: keys are sorted on disk, and only leaves, regions and blocks are in memory.

Two passes over the rows. The first spools the keys of the points in sorted chunks; merged in portions they become the
leaves of the trie, in which the regions are found. The second assigns every row to the block of its region. The result
is the index of all points, but without the points: it can be saved and cut for any k, and a cut yields its classes, but
not the class of every point.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.files import Scratch, write_new
from reticent.base.memory import most_rows
from reticent.base.packing import sum_by
from reticent.core import FrequencySet, Groups, Histograms, SensitiveDomain
from reticent.engine import count_chunks
from reticent.errors import PolicyError
from reticent.methods.bang.cell_space import GridSpace, Ids, Words, common_bits, order_of_keys, sortable
from reticent.methods.bang.digest import RowDigest
from reticent.methods.bang.directory import BangDirectory, KeyLeaves
from reticent.methods.bang.region_index import BangIndex, IndexParts
from reticent.table import SensitiveColumn, Table

if TYPE_CHECKING:
    from reticent.methods.bang.method import Bang

# Memory per point while frequency sets are summed, in rows of an in-memory table; measured by ``python -m benchmarks
# bang large``.
_ROWS_OF_A_POINT = 4
_PORTION = 1 << 21
_SAMPLED = 256
_MOST_COUNTS, _CELLS_AT_ONCE = 1 << 26, 1 << 24


def index_of_stream(
    method: Bang, minimum: int, table: Table, context: Context, most_points: int | None = None
) -> BangIndex:
    """Return the index of a streamed table: with its points, unless there are more than ``most_points`` (default: as many as fit in memory)."""
    if most_points is None:
        most_points = most_rows(len(table.quasi) + len(table.sensitive)) // _ROWS_OF_A_POINT
    chunks = count_chunks(table, context, "counting rows")
    waiting: list[FrequencySet] = []
    points = 0
    for chunk in chunks:
        waiting.append(chunk)
        points += len(chunk)
        if points > most_points:
            waiting = [_sum(waiting)]
            points = len(waiting[0])
            if 2 * points > most_points:
                return _index_of_many(method, minimum, table, chain(waiting, chunks), context)
    return BangIndex.of(method, minimum, _sum(waiting), context)


def _sum(parts: list[FrequencySet]) -> FrequencySet:
    """Return the sum of frequency sets, added in pairs so that large ones are added rarely."""
    while len(parts) > 1:
        pairs = [parts[index : index + 2] for index in range(0, len(parts), 2)]
        parts = [pair[0] if len(pair) == 1 else pair[0] + pair[1] for pair in pairs]
    return parts[0]


def _index_of_many(
    method: Bang, minimum: int, table: Table, chunks: Iterator[FrequencySet], context: Context
) -> BangIndex:
    """Build the index of a table in chunks: keys are sorted on disk, then leaves, regions and blocks are counted."""
    hierarchies = table.hierarchies
    rows = [np.zeros(hierarchy.size, dtype=np.int64) for hierarchy in hierarchies]
    if any(scale == "quantile" for scale in method.scales.values()):
        for chunk in count_chunks(table, context, "counting values"):
            rows = [total + chunk_sizes for total, chunk_sizes in zip(rows, chunk.column_sizes, strict=True)]
    space = GridSpace.of(hierarchies, method.scales, rows)
    digest = RowDigest((0, 0))
    scratch = Scratch(context.scratch)
    with scratch.closed_on_error():
        spool = KeySpool(space, scratch.folder)
        for chunk in chunks:
            digest += RowDigest.of(chunk)
            spool.add(space.keys(chunk.codes), chunk.sizes)
        leaves = KeyLeaves(space, minimum)
        for keys, row_counts in spool.portions():
            context.step("sorting keys")
            leaves.add(keys, row_counts)
        scratch.close()
    context.step("splitting regions")
    directory, owner = BangDirectory.of_leaves(leaves)
    blocks = BlockCounts(len(directory))
    starts = sortable(leaves.keys)
    # From here on only the keys of the leaves are needed.
    del leaves
    for chunk in count_chunks(table, context, "counting the rows of blocks"):
        # The keys of a leaf are contiguous, so a key belongs to the last leaf that begins at or before it.
        leaf = np.searchsorted(starts, sortable(space.keys(chunk.codes)), side="right") - 1
        blocks.add(chunk, owner[leaf].astype(np.int64))
    del starts, owner
    groups = blocks.groups()
    empty = np.zeros(0, dtype=np.int64)
    units = FrequencySet(
        hierarchies,
        (0,) * len(hierarchies),
        tuple(np.zeros(0, dtype=np.int32) for _ in hierarchies),
        empty,
        Histograms(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), empty),
        groups.domain,
        dict.fromkeys(groups.extras, empty),
    )
    return BangIndex(method, minimum, space, directory, units, empty, knows=IndexParts(groups, digest))


class KeySpool:
    """Keys with row counts on disk: sorted runs, read back merged in increasing portions.

    Mutable: runs are added one by one. A sample of the keys of every run stays in memory to lay out the portions.
    """

    def __init__(self, space: GridSpace, folder: Path) -> None:
        self._words, self._folder = space.words, folder
        self._lengths: list[int] = []
        self._samples: list[NDArray[np.uint64]] = []

    def add(self, keys: Words, rows: Ids) -> None:
        """Write a run of keys, given in any order."""
        if not len(rows):
            return
        order = order_of_keys(keys)
        keys, rows = _distinct(keys[:, order], rows[order])
        write_new(self._path(len(self._lengths)), _bytes(keys, rows), mode=0o600, sync=False)
        self._lengths.append(keys.shape[1])
        self._samples.append(keys[0, ::_SAMPLED].copy())

    def portions(self) -> Iterator[tuple[Words, Ids]]:
        """Yield all distinct keys, sorted, with their rows, a few million at a time."""
        samples = np.sort(np.concatenate(self._samples)) if self._samples else np.zeros(0, dtype=np.uint64)
        steps = np.unique(samples[:: _PORTION // _SAMPLED])[1:]
        cuts = [self._cuts(run, steps) for run in range(len(self._lengths))]
        for portion in range(len(steps) + 1):
            parts = [self._read(run, *list(pairwise(ends))[portion]) for run, ends in enumerate(cuts)]
            keys = np.concatenate([part[:-1] for part in parts], axis=1)
            rows = np.concatenate([part[-1] for part in parts]).astype(np.int64)
            order = order_of_keys(keys)
            yield _distinct(keys[:, order], rows[order])

    def _path(self, run: int) -> Path:
        return self._folder / f"run-{run}"

    def _cuts(self, run: int, steps: NDArray[np.uint64]) -> list[int]:
        """Return the offsets of the portions of a run, and its end."""
        first = np.memmap(self._path(run), dtype=np.uint64, mode="r", shape=(self._lengths[run],))
        return [0, *np.searchsorted(first, steps).tolist(), self._lengths[run]]

    def _read(self, run: int, low: int, high: int) -> Words:
        """Read some keys of a run, one row per word, with their rows in the last."""
        words = np.empty((self._words + 1, high - low), dtype=np.uint64)
        for word in range(self._words + 1):
            offset = 8 * (word * self._lengths[run] + low)
            words[word] = np.fromfile(self._path(run), dtype=np.uint64, count=high - low, offset=offset)
        return words


def _distinct(keys: Words, rows: Ids) -> tuple[Words, Ids]:
    """Return the distinct keys of sorted ones (columns of words), and the sum of the rows of each."""
    if not len(rows):
        return keys, rows
    is_new = np.concatenate([[True], common_bits(keys) < 64 * len(keys)])
    firsts = np.flatnonzero(is_new)
    return keys[:, firsts], np.add.reduceat(rows, firsts)


def _bytes(keys: Words, rows: Ids) -> Iterator[bytes]:
    for array in (*keys, rows):
        for start in range(0, len(array), 1 << 20):
            yield array[start : start + (1 << 20)].tobytes()


class BlockCounts:
    """Rows and sensitive values of blocks, summed chunk by chunk. Mutable: it grows.

    For every block a dense count of joint values if it fits, otherwise a sparse one.
    """

    def __init__(self, blocks: int) -> None:
        """Start with empty blocks: ``_every`` counts all combinations of block and value if they are few, otherwise ``_cells`` those that occur."""
        self._blocks = blocks
        self._sizes = np.zeros(blocks, dtype=np.int64)
        self._extras: dict[str, Ids] = {}
        self._cells: list[tuple[Ids, Ids]] = []
        self._every: Ids | None = None
        self._columns: tuple[SensitiveColumn, ...] = ()
        self._values: Ids = np.zeros(0, dtype=np.int64)

    def add(self, units: FrequencySet, region_of: Ids) -> None:
        """Add the points of a chunk, each in a block."""
        if not len(self._values):
            self._columns = units.domain.columns
            space = prod(column.size for column in self._columns)
            if self._blocks * space >= 2**62:
                raise PolicyError(
                    f"Bang: the sensitive columns have {space:,} combinations of values, too many to count in {self._blocks:,} blocks of a table larger than memory. Make fewer columns sensitive, or "
                    "generalize their values."
                )
            if self._blocks * space <= _MOST_COUNTS:
                self._every = np.zeros(self._blocks * space, dtype=np.int64)
        self._sizes += sum_by(region_of, units.sizes, self._blocks)
        for name, counts in units.extras.items():
            self._extras[name] = self._extras.get(name, 0) + sum_by(region_of, counts, self._blocks)
        sizes, joint = [column.size for column in self._columns], units.domain.joint
        packed = np.ravel_multi_index(tuple(joint.T), sizes) if sizes else np.zeros(1, dtype=np.int64)
        self._values = np.union1d(self._values, packed)
        cells = units.histograms
        keys = region_of[cells.owners] * max(prod(sizes), 1) + packed[cells.values]
        if self._every is not None:
            np.add.at(self._every, keys, cells.counts)
            return
        self._cells.append((keys, cells.counts))
        if sum(len(block_keys) for block_keys, _ in self._cells) > _CELLS_AT_ONCE + 2 * len(self._cells[0][0]):
            self._cells = [self._summed()]

    def groups(self) -> Groups:
        """Return the blocks, with their joint values in the order of a count over all rows."""
        sizes = [column.size for column in self._columns]
        space = max(prod(sizes), 1)
        if self._every is not None:
            keys = np.flatnonzero(self._every)
            counts, self._every = self._every[keys], None
        else:
            (keys, counts), self._cells = self._summed(), []
        owners = keys // space
        offsets = np.searchsorted(owners, np.arange(self._blocks + 1)).astype(np.int64)
        keys -= owners * space
        if len(sizes) == 1:
            domain, values = SensitiveDomain.single(self._columns[0]), keys
        elif not sizes:
            domain, values = SensitiveDomain.none(), keys
        else:
            joint = np.stack(np.unravel_index(self._values, sizes), axis=1).astype(np.int32)
            domain, values = SensitiveDomain(self._columns, joint), np.searchsorted(self._values, keys)
        histograms = Histograms(offsets, values.astype(np.int32), counts)
        return Groups(self._sizes, histograms, histograms.total(domain.size), domain, self._extras)

    def _summed(self) -> tuple[Ids, Ids]:
        """Return the distinct cells (pairs of block and joint sensitive value, as one number), sorted, and the rows of each."""
        keys = np.concatenate([block_keys for block_keys, _ in self._cells])
        counts = np.concatenate([block_counts for _, block_counts in self._cells])
        order = np.argsort(keys)
        keys = keys[order]
        firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        return keys[firsts], np.add.reduceat(counts[order], firsts)
