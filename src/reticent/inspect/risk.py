"""What drives the risk of a table as it stands: which columns, which of their values, and which columns together tell people apart.

Everything here is about real people and is for the steward only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.frequencies import FrequencySet
from reticent.data.keys import number, pack, sum_by
from reticent.data.table import Table
from reticent.engine.local import LocalEngine

_MOST_SETS = 150
_SHOWN = 10


@dataclass(frozen=True)
class ColumnSet:
    """How far some columns together tell people apart.

    ``distinction`` is the number of different combinations per row: 1 when nobody shares theirs. ``separation`` is the share of pairs of rows that
    differ in at least one of the columns. ``alone`` rows have a combination that no other row has.
    """

    columns: tuple[str, ...]
    combinations: int
    alone: int
    distinction: Fraction
    separation: Fraction


@dataclass(frozen=True)
class ColumnRisk:
    """What one column adds: how many stand alone by it alone, and how many fewer would if it were left out of the quasi columns.

    ``success_without`` is the share of people picked out correctly without the column, if the rows of a group are equally likely.
    """

    column: str
    values: int
    alone: int
    alone_without: int
    drives: int
    success_without: Fraction


@dataclass(frozen=True)
class ValueRisk:
    """The people who share a value: how many they are, how many of them stand alone, and whom of these the value itself sets apart.

    ``drives`` counts those who stand alone by all quasi columns but would not without this one.
    """

    column: str
    value: str
    rows: int
    alone: int
    drives: int

    @property
    def share(self) -> Fraction:
        """The share of the people with the value who stand alone."""
        return Fraction(self.alone, self.rows)


@dataclass(frozen=True)
class Risk:
    """The whole view: all columns together, each by itself, values that expose most, sets of columns that tell most people apart.

    ``columns`` begin with the one that drives the risk most, ``values`` with those that set most people apart. ``sets`` are
    sets of at most ``largest_set`` columns, those that separate most pairs first; ``together`` are all quasi columns.
    """

    rows: int
    together: ColumnSet
    success: Fraction
    columns: tuple[ColumnRisk, ...]
    values: tuple[ValueRisk, ...]
    sets: tuple[ColumnSet, ...]
    largest_set: int

    def as_dict(self) -> dict[str, Any]:
        """The view as plain data."""
        return {
            "rows": self.rows,
            "together": asdict(self.together),
            "success": self.success,
            "columns": [asdict(each) for each in self.columns],
            "values": [{**asdict(each), "share": each.share} for each in self.values],
            "sets": [asdict(each) for each in self.sets],
            "largest_set": self.largest_set,
        }


def risk_view(table: Table, shown: int = _SHOWN) -> Risk:
    """What drives the risk among the quasi columns; ``shown`` values and sets of columns at most."""
    frequencies = LocalEngine().frequencies(table, sensitive=False)
    everything = tuple(range(len(frequencies.codes)))
    rows, sizes = int(frequencies.sizes.sum()), frequencies.sizes
    together = _column_set(frequencies, everything)
    columns = [_column_risk(frequencies, place, together.alone) for place in everything]
    sets, largest = _sets(frequencies)
    return Risk(
        rows=rows,
        together=together,
        success=Fraction(len(sizes), rows),
        columns=tuple(sorted(columns, key=lambda each: (-each.drives, -each.alone, each.column))),
        values=_values(frequencies, shown),
        sets=tuple(sorted(sets, key=lambda each: (-each.separation, len(each.columns), each.columns))[:shown]),
        largest_set=largest,
    )


def _number(frequencies: FrequencySet, places: Sequence[int]) -> tuple[NDArray[Any], int]:
    """Points numbered by their combination of some columns."""
    sizes = [int(frequencies.codes[place].max(initial=0)) + 1 for place in places]
    return number(*pack([frequencies.codes[place] for place in places], sizes, len(frequencies)))


def _group_sizes(frequencies: FrequencySet, places: Sequence[int]) -> NDArray[np.int64]:
    """How many rows share each combination of some columns."""
    ids, count = _number(frequencies, places)
    return sum_by(ids, frequencies.sizes, count)


def _column_set(frequencies: FrequencySet, places: Sequence[int]) -> ColumnSet:
    sizes = _group_sizes(frequencies, places)
    rows = int(sizes.sum())
    alike = int((sizes * (sizes - 1)).sum())
    return ColumnSet(
        columns=tuple(frequencies.hierarchies[place].column for place in places),
        combinations=len(sizes),
        alone=int((sizes == 1).sum()),
        distinction=Fraction(len(sizes), rows),
        separation=1 - Fraction(alike, rows * (rows - 1)) if rows > 1 else Fraction(1),
    )


def _column_risk(frequencies: FrequencySet, place: int, alone: int) -> ColumnRisk:
    mine = _group_sizes(frequencies, [place])
    without = _group_sizes(frequencies, [each for each in range(len(frequencies.codes)) if each != place])
    alone_without = int((without == 1).sum())
    return ColumnRisk(
        column=frequencies.hierarchies[place].column,
        values=len(mine),
        alone=int((mine == 1).sum()),
        alone_without=alone_without,
        drives=alone - alone_without,
        success_without=Fraction(len(without), int(mine.sum())),
    )


def _values(frequencies: FrequencySet, shown: int) -> tuple[ValueRisk, ...]:
    """The values by which most people stand alone: those who would not, if the column were left out."""
    alone = frequencies.sizes == 1
    found: list[ValueRisk] = []
    for place, (hierarchy, codes) in enumerate(zip(frequencies.hierarchies, frequencies.codes, strict=True)):
        labels = hierarchy.levels[frequencies.levels[place]].labels
        others = [each for each in range(len(frequencies.codes)) if each != place]
        ids, count = _number(frequencies, others)
        driven = alone & (sum_by(ids, frequencies.sizes, count)[ids] > 1)
        people, singles, by_it = (
            sum_by(codes, counted.astype(np.int64), len(labels)) for counted in (frequencies.sizes, alone, driven)
        )
        for code in np.argsort(-by_it, kind="stable")[:shown].tolist():
            if by_it[code]:
                value = str(labels[code])
                found.append(
                    ValueRisk(hierarchy.column, value, int(people[code]), int(singles[code]), int(by_it[code]))
                )
    return tuple(sorted(found, key=lambda each: (-each.drives, each.column, each.value))[:shown])


def _sets(frequencies: FrequencySet) -> tuple[list[ColumnSet], int]:
    """All sets of columns, the small ones first, up to the largest size at which they are not too many."""
    columns = range(len(frequencies.codes))
    found: list[ColumnSet] = []
    for size in range(1, len(columns) + 1):
        chosen = list(combinations(columns, size))
        if found and len(found) + len(chosen) > _MOST_SETS:
            return found, size - 1
        found += [_column_set(frequencies, places) for places in chosen]
    return found, len(columns)
