"""Records that are unique in some columns: figures for an adversary who knows more columns than a guarantee covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import number, pack
from reticent.core import GroupLabels, Groups
from reticent.errors import PolicyError

_USUAL = (3, 5, 8)
_SETS, _VISITS = 100, 2 * 10**8
"""Number of sets of columns that are sampled, and the maximum number of labels visited for them."""


@dataclass(frozen=True)
class UniqueRecords:
    """The number of ``records`` that are unique to an adversary who knows ``known`` columns.

    ``mean`` is the average over all sets of that many columns, or over a fixed random sample of ``sets`` of them.
    ``worst`` is the set found by a greedy search, and ``most`` its number; not an upper bound. ``single`` is a group
    that is unique there, if any.
    """

    known: int
    records: int
    mean: float
    sets: int
    worst: tuple[str, ...]
    most: int
    single: int | None

    @property
    def share(self) -> float:
        """The share of records that are unique in a random set of columns."""
        return self.mean / self.records if self.records else 0.0


def numbers_beyond(known: int, width: int) -> tuple[int, ...]:
    """The numbers of columns beyond the covered number for which figures are given: 3, 5, 8 and all."""
    return tuple(sorted({number for number in (*_USUAL, width) if known < number <= width}))


def unique_records(groups: Groups, known: int) -> UniqueRecords:
    """Count the records that are unique in sets of ``known`` columns. Uses labels only and a fixed sample of sets, so it is reproducible."""
    filled = groups.select(groups.sizes > 0)
    counter, labels = _RecordCounter.of(filled), filled.labels
    assert labels is not None
    known = min(known, len(labels.columns))
    mean, sets = counter.mean(known)
    worst = counter.greedy(known)
    is_unique = counter.unique(worst)
    return UniqueRecords(
        known,
        records=int(filled.sizes.sum()),
        mean=mean,
        sets=sets,
        worst=tuple(labels.names[index] for index in worst),
        most=int(is_unique.sum()),
        single=int(groups.filled[np.argmax(is_unique)]) if is_unique.any() else None,
    )


def unique_share(groups: Groups, known: int) -> float:
    """The share of records that are unique in a random set of ``known`` columns, as :func:`unique_records` counts it."""
    filled = groups.select(groups.sizes > 0)
    return _RecordCounter.of(filled).mean(known)[0] / max(int(filled.sizes.sum()), 1)


def _sampled(width: int, known: int, limit: int) -> list[tuple[int, ...]]:
    """All sets of ``known`` columns, or a fixed sample of at most ``limit`` of them."""
    if comb(width, known) <= limit:
        return list(combinations(range(width), known))
    random = np.random.default_rng(0)
    return [tuple(sorted(random.choice(width, known, replace=False).tolist())) for _ in range(limit)]


class _RecordCounter:
    """Counts unique records by columns, for non-empty groups."""

    def __init__(self, labels: GroupLabels, sizes: NDArray[np.int64]) -> None:
        self._sizes = sizes
        self._codes = [column.codes for column in labels.columns]
        self._cards = [max(len(column.texts), 1) for column in labels.columns]

    @classmethod
    def of(cls, groups: Groups) -> _RecordCounter:
        """A counter for groups with labels by column. Raises for others."""
        if groups.labels is None:
            raise PolicyError("These groups have no labels by column, so unique records cannot be counted.")
        return cls(groups.labels, groups.sizes)

    def mean(self, known: int) -> tuple[float, int]:
        """The average number of records unique in a set of ``known`` columns, and the number of sets used."""
        known = min(known, len(self._codes))
        sets = _sampled(len(self._codes), known, max(min(_SETS, _VISITS // max(len(self._sizes) * known, 1)), 1))
        return float(np.mean([int(self.unique(columns).sum()) for columns in sets])), len(sets)

    def unique(self, columns: Sequence[int]) -> NDArray[np.bool_]:
        """Mask of groups that are one record whose labels in some columns are unique."""
        ids, count = self._cells(None, columns)
        return self._alone(ids, count)

    def greedy(self, known: int) -> tuple[int, ...]:
        """Columns chosen greedily to make the most records unique; ties go to the column that splits into the most cells."""
        chosen: list[int] = []
        current_cells: tuple[NDArray[np.int64], int] | None = None
        for _ in range(known):
            candidates = {
                column: self._cells(current_cells, [column])
                for column in range(len(self._codes))
                if column not in chosen
            }
            best_column = max(
                candidates,
                key=lambda column: (int(self._alone(*candidates[column]).sum()), candidates[column][1], -column),
            )
            current_cells = candidates[best_column]
            chosen.append(best_column)
        return tuple(sorted(chosen))

    def _cells(
        self, cells: tuple[NDArray[np.int64], int] | None, columns: Sequence[int]
    ) -> tuple[NDArray[np.int64], int]:
        """Return the id of each group's label combination in some columns, added to those of the given ``cells`` (ids,
        number of ids), and the number of such combinations.
        """
        codes, cards = [self._codes[column] for column in columns], [self._cards[column] for column in columns]
        if cells is not None:
            codes, cards = [cells[0], *codes], [cells[1], *cards]
        ids, count = number(*pack(codes, cards, len(self._sizes)))
        return ids.astype(np.int64), count

    def _alone(self, ids: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
        single: NDArray[np.bool_] = np.bincount(ids, weights=self._sizes, minlength=count)[ids] == 1
        return single
