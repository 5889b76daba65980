"""Labels of groups: what every group shows in each quasi column, for adversaries who know some of the columns only."""

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
"""Columns, and a column that follows from their raw values: ``(("admitted", "discharged"), "stay")``."""
MostFitting = Callable[[Sequence[str], NDArray[np.int64]], Sequence[NDArray[np.int64]]]
"""For some columns and some groups: how many rows of one owner fit the labels of each group in these columns at most, for people and for households."""


def closure(columns: Iterable[str], relations: Sequence[Relation]) -> frozenset[str]:
    """The columns that an adversary who knows some can compute: these, and whatever follows from them, step by step."""
    known = set(columns)
    while True:
        derived = {target for sources, target in relations if known.issuperset(sources)} - known
        if not derived:
            return frozenset(known)
        known |= derived


@dataclass(frozen=True)
class RawValues:
    """The raw values of a quasi column behind the labels: how often each occurs in every group, and in the whole table."""

    column: SensitiveColumn
    histograms: Histograms
    reference: NDArray[np.int64]

    @classmethod
    def counted(
        cls, column: SensitiveColumn, ids: Codes, groups: int, codes: Codes, rows: NDArray[Any] | None
    ) -> RawValues:
        """Count the values of units with the number of their group and so many rows each (None: one)."""
        histograms = Histograms.from_cells(ids, codes, rows, groups, column.size)
        return cls(column, histograms, histograms.total(column.size))

    def select(self, mask: NDArray[np.bool_]) -> RawValues:
        """Only the groups under ``mask``; the whole table stays the reference."""
        return replace(self, histograms=self.histograms.select(mask))

    def merged(self, ids: Codes, groups: int) -> Groups:
        """The column as the sensitive column of merged groups: group ``g`` goes into ``ids[g]``."""
        histograms = self.histograms.merge(ids, groups)
        sizes = sum_by(histograms.owners, histograms.counts, groups)
        return Groups(sizes, histograms, self.reference, SensitiveDomain.single(self.column))


@dataclass(frozen=True)
class LabelClasses:
    """The labels of a quasi column, put together to classes that certainly stand for different values: the spread of the raw values is a refinement of theirs.

    ``counted`` has the classes in place of values, and ``single`` says which class is one raw value.
    """

    counted: RawValues
    single: NDArray[np.bool_]


@dataclass(frozen=True)
class LabelColumn:
    """A quasi column as groups show it: the label of every group by its position in ``texts``.

    ``raw`` counts the raw values behind the labels; None where only the labels are known. Then ``classes`` may say which labels have no value in common.
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
        """The column with other counts of raw values and classes, made when they are first looked at."""
        raw, classes = self.raw, self.classes

        def classified() -> LabelClasses:
            assert classes is not None
            found = classes()
            return replace(found, counted=change(found.counted))

        changed = None if raw is None else lambda: change(raw())
        return replace(self, raw=changed, classes=None if classes is None else classified)


@dataclass(frozen=True)
class GroupLabels:
    """The labels of groups, column by column, read when a definition first looks at them.

    ``relations`` say which columns an adversary computes from others (:func:`closure`). ``fitting`` counts the rows of an owner that fit labels which may overlap; None where every raw
    value fits one label of its column, so that the rows that fit a cell are those in it.
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
        """One column."""
        for column in self.columns:
            if column.name == name:
                return column
        raise PolicyError(f"There is no quasi column {name!r}.{did_you_mean(name, self.names)}")

    def cells(self, names: Iterable[str]) -> tuple[NDArray[np.int64], int]:
        """Groups numbered by their labels in some columns, and how many numbers there are."""
        chosen = [self.column(name) for name in names]
        codes, sizes = [each.codes for each in chosen], [max(len(each.texts), 1) for each in chosen]
        ids, count = number(*pack(codes, sizes, len(self.columns[0].codes)))
        return ids.astype(np.int64), count

    def select(self, mask: NDArray[np.bool_]) -> GroupLabels:
        """The labels of some groups only."""
        chosen = self._fitting_at(np.flatnonzero(mask))
        return replace(self, read=lambda: [column.select(mask) for column in self.columns], fitting=chosen)

    def seen_by(self, places: Sequence[int] | None, ids: Codes, groups: int) -> GroupLabels:
        """The labels of groups merged by number, to an adversary who knows some columns, by their places (None: all): merged groups are alike in these."""

        def read() -> list[LabelColumn]:
            firsts = first_rows(ids, groups)
            known = range(len(self.columns)) if places is None else places
            return [_merged(self.columns[place], ids, groups, firsts) for place in known]

        return replace(self, read=read, fitting=self._fitting_at(first_rows(ids, groups)))

    def _fitting_at(self, places: NDArray[np.int64]) -> MostFitting | None:
        """What fits the labels of the groups at some places."""
        fitting = self.fitting
        return None if fitting is None else lambda names, groups: fitting(names, places[groups])


def _merged(column: LabelColumn, ids: Codes, groups: int, firsts: NDArray[np.int64]) -> LabelColumn:
    def together(values: RawValues) -> RawValues:
        return replace(values, histograms=values.histograms.merge(ids, groups))

    return replace(column.counting(together), codes=column.codes[firsts])
