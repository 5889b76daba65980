"""Column in turn: what the other quasi-identifiers disclose about one of them."""

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

    ``mean`` is the probability that the best guess for a random record is right, given the other columns; ``mode`` the
    same for an adversary who knows only the distribution of the column. ``certain`` counts the records whose value is
    guessed with a probability above the threshold.
    """

    column: str
    records: int
    mean: Fraction
    mode: Fraction
    certain: int

    @classmethod
    def of(cls, column: str, groups: Groups, threshold: Fraction) -> ColumnFigures:
        """Compute how well a column is guessed from the others, given ``groups`` of records with equal other columns.

        The sensitive values of the groups are the raw values of the column. A record is certain if one value has a share above
        ``threshold`` in its group.
        """
        mode_counts, sizes = groups.histograms.top, groups.sizes
        is_certain = mode_counts * threshold.denominator > sizes * threshold.numerator
        records, totals = int(sizes.sum()), groups.histograms.total(len(groups.reference))
        return cls(
            column,
            records,
            mean=Fraction(int(mode_counts.sum()), max(records, 1)),
            mode=Fraction(int(totals.max(initial=0)), max(records, 1)),
            certain=int(sizes[is_certain].sum()),
        )

    def as_dict(self) -> dict[str, object]:
        """Return the figures as plain data."""
        return {
            "records": self.records,
            "mean": float(self.mean),
            "mode": float(self.mode),
            "certain": self.certain,
            "share": self.certain / max(self.records, 1),
        }


@dataclass(frozen=True)
class ColumnInTurn:
    """An adversary who knows all quasi-identifiers of a person except one infers that one from the records that agree
    in the others.

    k-anonymity does not prevent it: five people of the same age and place who are all of one race are 5-anonymous. A
    record is hit if the most frequent raw value among the records that agree has a share above ``threshold``. Every
    column is tried, and hits are counted for the column with most hits, except columns in which one value has such a
    share among all records; ``details["columns"]`` has the figures of each. Quasi-identifiers are assumed to be known
    to others, so this violates no guarantee and is not judged, unless :class:`InTurn` is claimed, which bounds it: the
    figure helps to decide whether to require it.

    Raw values are public if each label of a column covers one value. For other columns they are taken from ``people``,
    the original rows that only the steward has, if their groups are known: people who match the labels of several
    groups are not counted, and a column is skipped if these are the majority.
    """

    threshold: Number = "0.9"
    people: pl.DataFrame | None = field(default=None, repr=False, compare=False)

    name = "column in turn"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", exact(self.threshold, "ColumnInTurn: threshold", low=0, high=1))

    def needs(self, view: AdversaryView) -> str | None:
        """Require rows with labels of at least two columns, one of them with known raw values."""
        reason = needs_groups(view)
        if reason is not None:
            return reason
        labels = view.labelled_groups.labels
        if labels is None or len(labels.columns) < 2:
            return "ColumnInTurn: this release does not publish labels of several columns per row."
        if self.people is None and all(column.raw is None for column in labels.columns):
            return "ColumnInTurn: every column is generalized, so only the steward knows the raw values. Pass people=, the original rows."
        return None

    def attack(self, view: AdversaryView) -> Findings:
        """Treat every column in turn as unknown, and report the one that the others disclose most."""
        labels = view.labelled_groups.labels
        assert labels is not None
        limit = Fraction(self.threshold)
        figures = [
            ColumnFigures.of(name, values.merged(ids, count), limit)
            for name, values, ids, count in self._columns(view, labels)
        ]
        if not figures:
            explanation = "Most people match the labels of several groups, so their raw values are not known per group."
            return Findings(
                self.name, "all quasi-identifiers except one", "have that one learned", 0, 0, explanation, judged=False
            )
        # A column whose most frequent value alone exceeds the threshold is guessed without the release.
        informative = [figure for figure in figures if figure.mode <= limit] or figures
        worst = max(informative, key=lambda figure: (figure.certain, figure.mean - figure.mode))
        return Findings(
            self.name,
            f"all quasi-identifiers of every person except {worst.column}",
            f"have their {worst.column} guessed with a probability above {float(limit):g}",
            worst.certain,
            worst.records,
            _figures_in_words(worst, limit),
            details={"columns": {figure.column: figure.as_dict() for figure in figures}, "threshold": str(limit)},
            unit="records",
            judged=False,
        )

    def _columns(self, view: AdversaryView, labels: GroupLabels) -> Iterator[tuple[str, RawValues, _Array, int]]:
        """Yield every column with known raw values: its name, the values, and records grouped by the labels of all other columns.

        Raw values are those published or, for a generalized column, those of the people that the steward passed. Groups are a
        group index for each published group, and their number.
        """
        group_of_person = None if self.people is None else view.place(self.people.select(labels.names))
        for column in labels.columns:
            published_values = column.raw
            if published_values is not None:
                values: RawValues | None = published_values()
            else:
                values = (
                    None
                    if self.people is None or group_of_person is None
                    else _values_by_group(self.people[column.name], group_of_person, view)
                )
            if values is not None:
                yield column.name, values, *labels.cells([other for other in labels.names if other != column.name])


def _values_by_group(series: pl.Series, group_of_person: _Array, view: AdversaryView) -> RawValues | None:
    """Return the raw values of a column per group, from people whose group is known (not -1); None if these are less than half of the published rows."""
    has_group = group_of_person >= 0
    if 2 * int(has_group.sum()) < view.rows:
        return None
    column = bind_sensitive(series.name, None, series)
    codes = column.codes(series.filter(pl.Series(has_group)))
    return RawValues.counted(column, group_of_person[has_group], len(view.sizes), codes, None)


def _figures_in_words(figures: ColumnFigures, limit: Fraction) -> str:
    """Return the figures of a column in words, beside what always guessing the most frequent value achieves."""
    share = figures.certain / max(figures.records, 1)
    return (
        f"For {figures.certain:,} of {figures.records:,} records ({share:.1%}), one value of {figures.column} has a share above {float(limit):g} among the records that agree in all other quasi-identifiers. An attacker who guesses it is right for {float(figures.mean):.1%} of all records; one who always guesses the most frequent value "
        f"of {figures.column} is right for {float(figures.mode):.1%}."
    )
