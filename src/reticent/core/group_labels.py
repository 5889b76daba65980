"""Labels of groups by quasi column, for adversaries who know some of the columns only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import Codes, first_rows, number, pack, sum_by
from reticent.core.groups import Groups, SensitiveDomain
from reticent.core.histograms import Histograms
from reticent.errors import PolicyError, did_you_mean
from reticent.table import SensitiveColumn

Relation = tuple[tuple[str, ...], str]
"""Source columns, and a column that is a function of their raw values: ``(("admitted", "discharged"), "stay")``."""
MostFitting = Callable[[Sequence[str], NDArray[np.int64]], Sequence[NDArray[np.int64]]]
"""For some columns and groups: the maximum number of one owner's rows that match each group's labels there, for people and for households."""


def closure(columns: Iterable[str], relations: Sequence[Relation]) -> frozenset[str]:
    """The columns that an adversary can compute from some: the transitive closure under the relations."""
    known = set(columns)
    while True:
        derived = {target for sources, target in relations if known.issuperset(sources)} - known
        if not derived:
            return frozenset(known)
        known |= derived


@dataclass(frozen=True)
class RawValues:
    """The raw values of a quasi column behind the labels: their counts in every group, and in the whole table."""

    column: SensitiveColumn
    histograms: Histograms
    reference: NDArray[np.int64]

    @classmethod
    def counted(
        cls, column: SensitiveColumn, ids: Codes, groups: int, codes: Codes, rows: NDArray[Any] | None
    ) -> RawValues:
        """Count the values of units with the given group ids and multiplicities (None: one)."""
        histograms = Histograms.from_cells(ids, codes, rows, groups, column.size)
        return cls(column, histograms, histograms.total(column.size))

    def select(self, mask: NDArray[np.bool_]) -> RawValues:
        """Only the groups under ``mask``; the reference stays the whole table."""
        return replace(self, histograms=self.histograms.select(mask))

    def merged(self, ids: Codes, groups: int) -> Groups:
        """The column as the sensitive column of merged groups: group ``g`` goes into ``ids[g]``."""
        histograms = self.histograms.merge(ids, groups)
        sizes = sum_by(histograms.owners, histograms.counts, groups)
        return Groups(sizes, histograms, self.reference, SensitiveDomain.single(self.column))


@dataclass(frozen=True)
class LabelClasses:
    """The labels of a quasi column, merged into classes without common values: raw values are at least as diverse as
    classes.

    ``counted`` has the classes instead of values, and ``single`` marks classes that are one raw value.
    """

    counted: RawValues
    single: NDArray[np.bool_]


@dataclass(frozen=True)
class LabelColumn:
    """A quasi column of groups: the label of every group as an index into ``texts``.

    ``raw`` counts the raw values behind the labels; None if only the labels are known. Then ``classes`` may state which
    labels have no value in common.
    """

    name: str
    codes: Codes
    texts: Sequence[str]
    raw: Callable[[], RawValues] | None = None
    classes: Callable[[], LabelClasses] | None = None

    def select(self, mask: NDArray[np.bool_]) -> LabelColumn:
        """The labels of some groups only."""
        return replace(self.counting(lambda values: values.select(mask)), codes=self.codes[mask])

    def counting(self, change: Callable[[RawValues], RawValues]) -> LabelColumn:
        """The column with transformed counts of raw values and classes, computed lazily."""
        raw, classes = self.raw, self.classes

        def classified() -> LabelClasses:
            """Return the classes of labels with transformed counts."""
            assert classes is not None
            label_classes = classes()
            return replace(label_classes, counted=change(label_classes.counted))

        changed = None if raw is None else lambda: change(raw())
        return replace(self, raw=changed, classes=None if classes is None else classified)


@dataclass(frozen=True)
class GroupLabels:
    """The labels of groups by column, read when first used.

    ``relations`` are the columns that an adversary computes from others (:func:`closure`). ``fitting`` counts the rows
    of an owner that match labels which may overlap; None if every raw value matches one label of its column, so the
    rows that match a cell are those in it.
    """

    read: Callable[[], Sequence[LabelColumn]]
    relations: tuple[Relation, ...] = field(default=())
    fitting: MostFitting | None = field(default=None)

    @cached_property
    def columns(self) -> tuple[LabelColumn, ...]:
        """The columns."""
        return tuple(self.read())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> LabelColumn:
        """Return the column of this name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise PolicyError(f"There is no quasi column {name!r}.{did_you_mean(name, self.names)}")

    def cells(self, names: Iterable[str]) -> tuple[NDArray[np.int64], int]:
        """Return the id of each group's label combination in some columns, and the number of such combinations."""
        chosen = [self.column(name) for name in names]
        codes, sizes = (
            [label_column.codes for label_column in chosen],
            [max(len(label_column.texts), 1) for label_column in chosen],
        )
        ids, count = number(*pack(codes, sizes, len(self.columns[0].codes)))
        return ids.astype(np.int64), count

    def select(self, mask: NDArray[np.bool_]) -> GroupLabels:
        """The labels of some groups only."""
        chosen = self._fitting_at(np.flatnonzero(mask))
        return replace(self, read=lambda: [column.select(mask) for column in self.columns], fitting=chosen)

    def seen_by(self, places: Sequence[int] | None, ids: Codes, groups: int) -> GroupLabels:
        """The labels of merged groups for an adversary who knows some columns, by index (None: all); merged groups are equal in these."""

        def read() -> list[LabelColumn]:
            """Return the label columns that the adversary knows, for the merged groups."""
            firsts = first_rows(ids, groups)
            known = range(len(self.columns)) if places is None else places
            return [_merged(self.columns[index], ids, groups, firsts) for index in known]

        return replace(self, read=read, fitting=self._fitting_at(first_rows(ids, groups)))

    def _fitting_at(self, group_indices: NDArray[np.int64]) -> MostFitting | None:
        """The function ``fitting`` restricted to some columns."""
        fitting = self.fitting
        return None if fitting is None else lambda names, groups: fitting(names, group_indices[groups])


def _merged(column: LabelColumn, ids: Codes, groups: int, firsts: NDArray[np.int64]) -> LabelColumn:
    """Return a label column of merged groups: its counts are summed by ``ids``, and the label is that of each group's
    first member.
    """

    def together(values: RawValues) -> RawValues:
        """Return the counts of raw values summed over the merged groups."""
        return replace(values, histograms=values.histograms.merge(ids, groups))

    return replace(column.counting(together), codes=column.codes[firsts])
