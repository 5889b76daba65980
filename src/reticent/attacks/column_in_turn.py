"""A column in turn: what the other quasi columns tell about one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, needs_groups
from reticent.base.exact import Number, exact
from reticent.core import AdversaryView, GroupLabels, Groups, RawValues
from reticent.table import bind_sensitive

_Array = NDArray[np.int64]


@dataclass(frozen=True)
class ColumnFigures:
    """What an adversary who knows all other columns learns about a column.

    ``mean`` is the chance of a right guess, the best that is the same for all who look alike, for a random record; ``mode`` the same for one who knows the
    spread of the whole column only. ``certain`` records have their value guessed with more than the threshold.
    """

    column: str
    records: int
    mean: Fraction
    mode: Fraction
    certain: int

    @classmethod
    def of(cls, column: str, cells: Groups, threshold: Fraction) -> ColumnFigures:
        """From groups of records that are alike in the other columns, with the raw values of the column."""
        top, sizes = cells.histograms.top, cells.sizes
        sure = top * threshold.denominator > sizes * threshold.numerator
        records, totals = int(sizes.sum()), cells.histograms.total(len(cells.reference))
        return cls(
            column,
            records,
            Fraction(int(top.sum()), max(records, 1)),
            Fraction(int(totals.max(initial=0)), max(records, 1)),
            int(sizes[sure].sum()),
        )

    def as_dict(self) -> dict[str, object]:
        """The figures as plain data."""
        return {
            "records": self.records,
            "mean": float(self.mean),
            "mode": float(self.mode),
            "certain": self.certain,
            "share": self.certain / max(self.records, 1),
        }


@dataclass(frozen=True)
class ColumnInTurn:
    """An adversary who knows all quasi columns of a person but one concludes that one, from the records that are alike in the others.

    k-anonymity says nothing about it: five people of the same age and place who are all of one race are 5-anonymous. A record is hit when the most frequent raw
    value among those who look alike has a share above ``threshold``. Every column is tried, and people are counted for the one that is learned for most of them, columns left aside of which one value has such a
    share among all records; ``details["columns"]`` has the figures of each. Quasi columns are those that others may know, so that no guarantee is broken by it and it is not
    judged, unless :class:`InTurn` is claimed, which bounds it: a figure that tells whether to ask for that.

    Raw values are public where the labels of a column stand for one value each. For others they are taken from ``people``, the original rows that only the steward has, as far as
    their groups are known: people who fit the labels of several groups are not counted, and a column is left aside where these are most of them.
    """

    threshold: Number = "0.9"
    people: pl.DataFrame | None = field(default=None, repr=False, compare=False)

    name = "column in turn"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", exact(self.threshold, "ColumnInTurn: threshold", low=0, high=1))

    def needs(self, seen: AdversaryView) -> str | None:
        """Rows that show labels of at least two columns, one of them with raw values that are known."""
        reason = needs_groups(seen)
        if reason is not None:
            return reason
        labels = seen.labelled_groups.labels
        if labels is None or len(labels.columns) < 2:
            return "ColumnInTurn: this release does not show labels of several columns row by row."
        if self.people is None and all(column.raw is None for column in labels.columns):
            return "ColumnInTurn: every column is generalized, so that raw values are known to the steward only. Pass people=, the original rows."
        return None

    def attack(self, seen: AdversaryView) -> Findings:
        """Try every column."""
        labels = seen.labelled_groups.labels
        assert labels is not None
        limit = Fraction(self.threshold)
        figures = [
            ColumnFigures.of(name, values.merged(ids, count), limit)
            for name, values, ids, count in self._columns(seen, labels)
        ]
        if not figures:
            unplaced = (
                "Most people fit the labels of several groups, so that their raw values are not known group by group."
            )
            return Findings(
                self.name, "all quasi columns but one", "have that one learned", 0, 0, unplaced, judged=False
            )
        open_ones = [each for each in figures if each.mode <= limit] or figures
        worst = max(open_ones, key=lambda each: (each.certain, each.mean - each.mode))
        return Findings(
            self.name,
            f"all quasi columns of everybody but {worst.column}",
            f"have their {worst.column} guessed with a chance above {float(limit):g}",
            worst.certain,
            worst.records,
            _told(worst, limit),
            details={"columns": {each.column: each.as_dict() for each in figures}, "threshold": str(limit)},
            unit="records",
            judged=False,
        )

    def _columns(self, seen: AdversaryView, labels: GroupLabels) -> Iterator[tuple[str, RawValues, _Array, int]]:
        """The columns with known raw values: the values, and the groups numbered by their labels in all others."""
        group = None if self.people is None else seen.place(self.people.select(labels.names))
        for column in labels.columns:
            raw = column.raw
            if raw is not None:
                values: RawValues | None = raw()
            else:
                values = (
                    None if self.people is None or group is None else _placed(self.people[column.name], group, seen)
                )
            if values is not None:
                yield column.name, values, *labels.cells([each for each in labels.names if each != column.name])


def _placed(series: pl.Series, group: _Array, seen: AdversaryView) -> RawValues | None:
    """The raw values of people whose group is known; None where that is less than half of the published rows."""
    placed = group >= 0
    if 2 * int(placed.sum()) < seen.rows:
        return None
    column = bind_sensitive(series.name, None, series)
    codes = column.codes(series.filter(pl.Series(placed)))
    return RawValues.counted(column, group[placed], len(seen.sizes), codes, None)


def _told(figures: ColumnFigures, limit: Fraction) -> str:
    """What the figure counts: a large share is no news where one value is frequent among all records."""
    share = figures.certain / max(figures.records, 1)
    return (
        f"For {figures.certain:,} of {figures.records:,} records ({share:.1%}), one value of {figures.column} has a share above {float(limit):g} among the records that are alike in all "
        f"other quasi columns. An attacker who guesses it is right for {float(figures.mean):.1%} of all records; one who always guesses the most frequent value "
        f"of {figures.column} is right for {float(figures.mode):.1%}."
    )
