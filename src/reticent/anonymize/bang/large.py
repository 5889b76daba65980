"""The index of a table larger than memory: its keys are sorted on the disk, and what is kept in memory are leaves, regions and blocks (R-BA-18).

Two passes over the rows. The first spools the keys of the points, sorted by chunks; merged in portions they become the leaves of the trie, in which the regions are found. The second gives every row to the block of its
region. The result is the index that all points together would give, but for the points: it can be saved and cut for any k, and a cut tells its classes, but not the class of every point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reticent.anonymize.bang.digest import RowDigest
from reticent.anonymize.bang.directory import BangDirectory, KeyLeaves
from reticent.anonymize.bang.index import BangIndex, IndexParts
from reticent.anonymize.bang.space import GridSpace, Ids, Words, common_bits, order_of_keys, sortable
from reticent.data import Context, FrequencySet, Groups, Histograms, SensitiveDomain, Table, most_rows, sum_by
from reticent.engine import count_chunks
from reticent.files import Scratch, write_new

if TYPE_CHECKING:
    from reticent.anonymize.bang.method import Bang

# What a point takes while sets of points are added up, in rows of a table in memory; measured by ``python -m benchmarks bang large``.
_ROWS_OF_A_POINT = 4
_PORTION = 1 << 21
_SAMPLED = 256
_CELLS_AT_ONCE = 1 << 24


def index_of_stream(
    method: Bang, minimum: int, table: Table, context: Context, most_points: int | None = None
) -> BangIndex:
    """The index of a streamed table: with its points, unless these are more than ``most_points`` (as many as fit into memory, if not given)."""
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
    """Frequency sets added up, neighbours first."""
    while len(parts) > 1:
        pairs = [parts[place : place + 2] for place in range(0, len(parts), 2)]
        parts = [each[0] if len(each) == 1 else each[0] + each[1] for each in pairs]
    return parts[0]


def _index_of_many(
    method: Bang, minimum: int, table: Table, chunks: Iterator[FrequencySet], context: Context
) -> BangIndex:
    hierarchies, by_person = table.hierarchies, table.unit == "person" and table.key is not None
    rows = [np.zeros(each.size, dtype=np.int64) for each in hierarchies]
    if any(scale == "quantile" for scale in method.scales.values()):
        for chunk in count_chunks(table, context, "counting values"):
            rows = [one + other for one, other in zip(rows, chunk.column_sizes, strict=True)]
    space = GridSpace.of(hierarchies, method.scales, rows)
    digest = RowDigest((0, 0))
    scratch = Scratch(context.scratch)
    with scratch.closed_on_error():
        spool = KeySpool(space, scratch.folder)
        for chunk in chunks:
            digest += RowDigest.of(chunk)
            spool.add(space.keys(chunk.codes), _people(chunk, by_person))
        leaves = KeyLeaves(space, minimum)
        for keys, many in spool.portions():
            context.step("sorting keys")
            leaves.add(keys, many)
        scratch.close()
    context.step("splitting regions")
    directory, owner = BangDirectory.of_leaves(leaves)
    blocks = BlockCounts(len(directory))
    starts = sortable(leaves.keys)
    for chunk in count_chunks(table, context, "counting the rows of blocks"):
        # The keys of a leaf stand together, so that a key is in the last leaf that begins at or before it.
        leaf = np.searchsorted(starts, sortable(space.keys(chunk.codes)), side="right") - 1
        blocks.add(chunk, owner[leaf])
    groups = blocks.groups()
    nothing = np.zeros(0, dtype=np.int64)
    units = FrequencySet(
        hierarchies,
        (0,) * len(hierarchies),
        tuple(np.zeros(0, dtype=np.int32) for _ in hierarchies),
        nothing,
        Histograms(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), nothing),
        groups.domain,
        dict.fromkeys(groups.extras, nothing),
    )
    return BangIndex(method, minimum, space, directory, units, nothing, knows=IndexParts(groups, digest))


def _people(chunk: FrequencySet, by_person: bool) -> Ids:
    """How many people each point of a chunk stands for: persons are counted apart from rows."""
    return chunk.extras.get("persons", np.zeros_like(chunk.sizes)) if by_person else chunk.sizes


class KeySpool:
    """Keys with their rows on the disk: runs that are sorted each, read again in portions that rise.

    It has state because runs are added one by one. Of every run a sample of keys stays in memory, by which portions are laid out.
    """

    def __init__(self, space: GridSpace, folder: Path) -> None:
        self._words, self._folder = space.words, folder
        self._lengths: list[int] = []
        self._samples: list[NDArray[np.uint64]] = []

    def add(self, keys: Words, rows: Ids) -> None:
        """Write a run of keys, which come in any order."""
        if not len(rows):
            return
        order = order_of_keys(keys)
        keys, rows = _distinct(keys[:, order], rows[order])
        write_new(self._path(len(self._lengths)), _bytes(keys, rows), mode=0o600, sync=False)
        self._lengths.append(keys.shape[1])
        self._samples.append(keys[0, ::_SAMPLED].copy())

    def portions(self) -> Iterator[tuple[Words, Ids]]:
        """All keys, rising, each once with its rows, a few million at a time."""
        samples = np.sort(np.concatenate(self._samples)) if self._samples else np.zeros(0, dtype=np.uint64)
        steps = np.unique(samples[:: _PORTION // _SAMPLED])[1:]
        cuts = [self._cuts(run, steps) for run in range(len(self._lengths))]
        for portion in range(len(steps) + 1):
            parts = [self._read(run, *list(pairwise(ends))[portion]) for run, ends in enumerate(cuts)]
            keys = np.concatenate([each[:-1] for each in parts], axis=1)
            rows = np.concatenate([each[-1] for each in parts]).astype(np.int64)
            order = order_of_keys(keys)
            yield _distinct(keys[:, order], rows[order])

    def _path(self, run: int) -> Path:
        return self._folder / f"run-{run}"

    def _cuts(self, run: int, steps: NDArray[np.uint64]) -> list[int]:
        """Where the portions of a run begin, and where the last ends."""
        first = np.memmap(self._path(run), dtype=np.uint64, mode="r", shape=(self._lengths[run],))
        return [0, *np.searchsorted(first, steps).tolist(), self._lengths[run]]

    def _read(self, run: int, low: int, high: int) -> Words:
        """Some keys of a run, one row a word, and their rows in the last."""
        found = np.empty((self._words + 1, high - low), dtype=np.uint64)
        for word in range(self._words + 1):
            offset = 8 * (word * self._lengths[run] + low)
            found[word] = np.fromfile(self._path(run), dtype=np.uint64, count=high - low, offset=offset)
        return found


def _distinct(keys: Words, rows: Ids) -> tuple[Words, Ids]:
    """Sorted keys, each once, with the sum of its rows."""
    if not len(rows):
        return keys, rows
    fresh = np.concatenate([[True], common_bits(keys) < 64 * len(keys)])
    firsts = np.flatnonzero(fresh)
    return keys[:, firsts], np.add.reduceat(rows, firsts)


def _bytes(keys: Words, rows: Ids) -> Iterator[bytes]:
    for array in (*keys, rows):
        for start in range(0, len(array), 1 << 20):
            yield array[start : start + (1 << 20)].tobytes()


@dataclass(frozen=True)
class _Cells:
    """Counts of sensitive values by block, in any order."""

    owners: NDArray[np.int32]
    values: NDArray[np.int32]
    counts: Ids


class BlockCounts:
    """The rows and sensitive values of blocks, added up chunk by chunk. It has state because it grows."""

    def __init__(self, blocks: int) -> None:
        self._blocks = blocks
        self._sizes = np.zeros(blocks, dtype=np.int64)
        self._extras: dict[str, Ids] = {}
        self._waiting: list[_Cells] = []
        self._columns: SensitiveDomain | None = None
        self._joint: NDArray[np.int32] | None = None

    def add(self, units: FrequencySet, region_of: Ids) -> None:
        """Take the points of a chunk, each in a block."""
        self._sizes += sum_by(region_of, units.sizes, self._blocks)
        for name, counts in units.extras.items():
            self._extras[name] = self._extras.get(name, 0) + sum_by(region_of, counts, self._blocks)
        values, cells = self._numbers(units.domain), units.histograms
        self._waiting.append(
            _Cells(region_of.astype(np.int32)[cells.owners], values[cells.values].astype(np.int32), cells.counts)
        )
        if sum(len(each.counts) for each in self._waiting) > _CELLS_AT_ONCE + 2 * len(self._waiting[0].counts):
            self._merge()

    def groups(self) -> Groups:
        """The blocks, with joint values in the order in which a count of all rows has them."""
        assert self._columns is not None
        assert self._joint is not None
        joint = self._joint
        if joint.shape[1] > 1:
            joint, place = np.unique(joint, axis=0, return_inverse=True)
            self._waiting = [
                _Cells(each.owners, place.ravel().astype(np.int32)[each.values], each.counts) for each in self._waiting
            ]
        found = self._histograms(len(joint))
        domain = SensitiveDomain(self._columns.columns, joint)
        return Groups(self._sizes, found, found.total(len(joint)), domain, self._extras)

    def _numbers(self, domain: SensitiveDomain) -> Ids:
        """The number of every joint value of a chunk: with several columns, chunks have numbers of their own."""
        if self._joint is None or self._columns is None:
            self._columns, self._joint = domain, domain.joint
        if domain.joint.shape[1] <= 1 or domain.joint is self._joint:
            return np.arange(domain.size)
        known = len(self._joint)
        distinct, number = np.unique(np.concatenate([self._joint, domain.joint]), axis=0, return_inverse=True)
        place = np.full(len(distinct), -1, dtype=np.int64)
        place[number.ravel()[:known]] = np.arange(known)
        fresh = np.flatnonzero(place < 0)
        place[fresh] = known + np.arange(len(fresh))
        self._joint = np.concatenate([self._joint, distinct[fresh]])
        found: Ids = place[number.ravel()[known:]]
        return found

    def _histograms(self, size: int) -> Histograms:
        parts = self._waiting
        return Histograms.from_cells(
            np.concatenate([each.owners for each in parts]),
            np.concatenate([each.values for each in parts]),
            np.concatenate([each.counts for each in parts]),
            self._blocks,
            size,
        )

    def _merge(self) -> None:
        assert self._joint is not None
        found = self._histograms(len(self._joint))
        self._waiting = [_Cells(found.owners.astype(np.int32), found.values, found.counts)]
