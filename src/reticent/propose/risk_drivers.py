"""The drivers of disclosure risk of an unmodified table: which columns, values and combinations of columns identify
people.

The results are about real people and are for the steward only. Counts are of rows, or of people if a person may have
several rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.packing import first_rows, number, pack, sum_by
from reticent.core import FrequencySet
from reticent.engine import count_table
from reticent.table import Table

_MOST_SETS = 150
_SHOWN = 10
_MOST_LOOKED_AT, _MOST_ORDERS = 20_000_000, 20


@dataclass(frozen=True)
class ColumnSet:
    """How far a set of columns identifies people.

    ``distinction`` is the number of distinct combinations per row: 1 if all rows are unique. ``separation`` is the
    share of row pairs that differ in at least one of the columns. ``alone`` is the number of unique rows.
    """

    columns: tuple[str, ...]
    combinations: int
    alone: int
    distinction: Fraction
    separation: Fraction


@dataclass(frozen=True)
class ColumnRisk:
    """The contribution of one column: how many rows are unique by it alone, and how many fewer would be unique without
    it.

    ``adds`` is the average increase of the number of unique rows when the column becomes known, over random orders of
    the columns (an estimate of the Shapley value): it sums to the number of unique rows. If several columns identify
    the same people, none of them ``drives`` the risk by itself, and each gets its share. ``success_without`` is the
    share of people re-identified correctly without the column, if the rows of a group are equally likely.
    """

    column: str
    values: int
    alone: int
    alone_without: int
    drives: int
    success_without: Fraction
    adds: Fraction = Fraction(0)


@dataclass(frozen=True)
class ValueRisk:
    """The people who share a value: how many, how many of them are unique, and how many only because of this value.

    ``drives`` counts those who are unique in all quasi-identifiers but would not be without this column.
    """

    column: str
    value: str
    rows: int
    alone: int
    drives: int

    @property
    def share(self) -> Fraction:
        """Return the share of the people with this value who are unique."""
        return Fraction(self.alone, self.rows)


@dataclass(frozen=True)
class Risk:
    """The risk from an adversary who knows some quasi-identifiers: all of them, each by itself, the most exposing
    values, and the most identifying combinations.

    ``columns`` are sorted by their contribution to the risk, ``values`` by the number of people they make unique.
    ``lone`` are values that only one person has; a person with several such values is unique by each of them, so none
    of them drives the risk. ``sets`` are sets of at most ``largest_set`` columns, sorted by separated pairs;
    ``together`` are all known columns.
    """

    rows: int
    together: ColumnSet
    success: Fraction
    columns: tuple[ColumnRisk, ...]
    values: tuple[ValueRisk, ...]
    lone: tuple[ValueRisk, ...]
    sets: tuple[ColumnSet, ...]
    largest_set: int

    def as_dict(self) -> dict[str, Any]:
        """Return the risk as plain data."""
        return {
            "rows": self.rows,
            "together": asdict(self.together),
            "success": self.success,
            "columns": [asdict(column) for column in self.columns],
            "values": [{**asdict(value), "share": value.share} for value in self.values],
            "lone": [asdict(value) for value in self.lone],
            "sets": [asdict(column_set) for column_set in self.sets],
            "largest_set": self.largest_set,
        }


def risk_views(table: Table, shown: int = _SHOWN, *, context: Context | None = None) -> tuple[Risk, ...]:
    """Return the risk from each set of quasi-identifiers that an adversary may know; one set unless the table declares
    several.

    At most ``shown`` values and sets of columns are listed.
    """
    context = context or Context()
    classes = _Counted.of(count_table(table, context, sensitive=False))
    names = list(table.quasi)
    sets = table.quasi_sets or (tuple(names),)
    risks = []
    for index, columns in enumerate(sets):
        context.step("measuring what drives the risk", index, len(sets))
        risks.append(_risk(classes.only([names.index(name) for name in columns]), shown))
    return tuple(risks)


@dataclass(frozen=True)
class _Counted:
    """The distinct combinations of some columns, with the label of every code and the number of rows (or people) of each combination."""

    names: tuple[str, ...]
    labels: tuple[Sequence[str], ...]
    codes: tuple[NDArray[Any], ...]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, frequencies: FrequencySet) -> _Counted:
        """Return the distinct combinations of published labels, with the number of people who have each."""
        hierarchies = frequencies.hierarchies
        return cls(
            tuple(hierarchy.column for hierarchy in hierarchies),
            tuple(
                hierarchy.levels[level].labels for hierarchy, level in zip(hierarchies, frequencies.levels, strict=True)
            ),
            tuple(frequencies.codes),
            # All rows of a person have the same combination, so people add up as rows do.
            frequencies.groups().people,
        )

    def only(self, columns: Sequence[int]) -> _Counted:
        """Return the same for an adversary who knows only some of the columns."""
        if list(columns) == list(range(len(self.names))):
            return self
        merged_of, merged_count = self.number(columns)
        representatives = first_rows(merged_of, merged_count)
        return _Counted(
            tuple(self.names[column] for column in columns),
            tuple(self.labels[column] for column in columns),
            tuple(self.codes[column][representatives] for column in columns),
            sum_by(merged_of, self.sizes, merged_count),
        )

    def number(self, column_indices: Sequence[int]) -> tuple[NDArray[Any], int]:
        """Return the index of each combination when restricted to some columns, and the number of distinct ones."""
        sizes = [int(self.codes[index].max(initial=0)) + 1 for index in column_indices]
        return number(*pack([self.codes[index] for index in column_indices], sizes, len(self.sizes)))

    def together(self, column_indices: Sequence[int]) -> NDArray[np.int64]:
        """Return how many rows share each combination of some columns."""
        ids, count = self.number(column_indices)
        return sum_by(ids, self.sizes, count)


def _risk(classes: _Counted, listed: int) -> Risk:
    """Return the risk from all columns together, from each column, and from sets of them; at most ``listed`` values and sets."""
    all_columns = tuple(range(len(classes.names)))
    rows = int(classes.sizes.sum())
    together = _column_set(classes, all_columns)
    added = _added(classes)
    columns = [replace(_column_risk(classes, column, together.alone), adds=added[column]) for column in all_columns]
    sets, largest = _sets(classes)
    values, lone = _values(classes, listed)
    return Risk(
        rows=rows,
        together=together,
        success=Fraction(len(classes.sizes), rows),
        columns=tuple(sorted(columns, key=lambda column: (-column.adds, -column.drives, column.column))),
        values=values,
        lone=lone,
        sets=tuple(
            sorted(sets, key=lambda column_set: (-column_set.separation, len(column_set.columns), column_set.columns))[
                :listed
            ]
        ),
        largest_set=largest,
    )


def _column_set(classes: _Counted, columns: Sequence[int]) -> ColumnSet:
    """Return how well some columns distinguish people: distinct combinations, unique people, and the share of pairs that differ."""
    sizes = classes.together(columns)
    rows = int(sizes.sum())
    equal_pairs = int((sizes * (sizes - 1)).sum())
    return ColumnSet(
        columns=tuple(classes.names[column] for column in columns),
        combinations=len(sizes),
        alone=int((sizes == 1).sum()),
        distinction=Fraction(len(sizes), rows),
        separation=1 - Fraction(equal_pairs, rows * (rows - 1)) if rows > 1 else Fraction(1),
    )


def _column_risk(classes: _Counted, column: int, unique_people: int) -> ColumnRisk:
    """Return how much one column adds to the risk: people unique by it, and by all others without it. ``unique_people`` are unique by all."""
    sizes_by_value = classes.together([column])
    sizes_without = classes.together([other for other in range(len(classes.names)) if other != column])
    alone_without = int((sizes_without == 1).sum())
    return ColumnRisk(
        column=classes.names[column],
        values=len(sizes_by_value),
        alone=int((sizes_by_value == 1).sum()),
        alone_without=alone_without,
        drives=unique_people - alone_without,
        success_without=Fraction(len(sizes_without), int(sizes_by_value.sum())),
    )


def _added(classes: _Counted) -> list[Fraction]:
    """Return the mean increase of unique rows when each column becomes known, over some orders of all columns and their
    reverses; deterministic for a table.
    """
    columns, points = len(classes.names), max(len(classes.sizes), 1)
    pairs = min(max(_MOST_LOOKED_AT // (2 * columns * points), 1), _MOST_ORDERS)
    generator, added = np.random.default_rng(0), [0] * columns
    for _ in range(pairs):
        permutation = generator.permutation(columns).tolist()
        for sequence in (permutation, permutation[::-1]):
            ids, unique_before = np.zeros(len(classes.sizes), dtype=np.int64), 0
            for column in sequence:
                codes = classes.codes[column]
                code_counts = [int(ids.max(initial=0)) + 1, int(codes.max(initial=0)) + 1]
                ids, count = number(*pack([ids, codes], code_counts, len(classes.sizes)))
                unique = int((sum_by(ids, classes.sizes, count) == 1).sum())
                added[column] += unique - unique_before
                unique_before = unique
                # All combinations are distinct already: no further column adds anything.
                if count == len(classes.sizes):
                    break
    return [Fraction(sequence, 2 * pairs) for sequence in added]


def _values(classes: _Counted, listed: int) -> tuple[tuple[ValueRisk, ...], tuple[ValueRisk, ...]]:
    """Return the values that make most people unique (who would not be without the column), and values that only one person has."""
    is_unique = classes.sizes == 1
    driving: list[ValueRisk] = []
    lone: list[ValueRisk] = []
    for column, (name, labels, codes) in enumerate(zip(classes.names, classes.labels, classes.codes, strict=True)):
        other_columns = [other for other in range(len(classes.names)) if other != column]
        ids, count = classes.number(other_columns)
        is_unique_by_column = is_unique & (sum_by(ids, classes.sizes, count)[ids] > 1)
        counts = [
            sum_by(codes, people.astype(np.int64), len(labels))
            for people in (classes.sizes, is_unique, is_unique_by_column)
        ]
        strongest = np.argsort(-counts[2], kind="stable")[:listed]
        driving += [value_risk for value_risk in _of_values(name, labels, counts, strongest) if value_risk.drives]
        lone += _of_values(name, labels, counts, np.flatnonzero(counts[0] == 1)[:listed])
    order = sorted(driving, key=lambda other: (-other.drives, other.column, other.value))
    return tuple(order[:listed]), tuple(lone[:listed])


def _of_values(
    name: str, labels: Sequence[str], counts: Sequence[NDArray[np.int64]], codes: NDArray[np.intp]
) -> list[ValueRisk]:
    """Return the risks of some values; ``counts`` are the people with each value, the unique ones, and those unique because of it."""
    people, singles, by_it = counts
    return [
        ValueRisk(name, str(labels[code]), rows=int(people[code]), alone=int(singles[code]), drives=int(by_it[code]))
        for code in codes.tolist()
    ]


def _sets(classes: _Counted) -> tuple[list[ColumnSet], int]:
    """Return all sets of columns, small ones first, up to the largest size at which their number is manageable."""
    columns = range(len(classes.names))
    sets: list[ColumnSet] = []
    for size in range(1, len(columns) + 1):
        sets_of_size = list(combinations(columns, size))
        if sets and len(sets) + len(sets_of_size) > _MOST_SETS:
            return sets, size - 1
        sets += [_column_set(classes, members) for members in sets_of_size]
    return sets, len(columns)
