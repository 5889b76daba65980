"""Exclusion: an adversary rules out a few sensitive values of a person and is left with the rest of the group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, independent_draws, needs_secret, secrets
from reticent.base.exact import Number, exact, whole
from reticent.base.packing import sum_by
from reticent.core import AdversaryView, Groups


@dataclass(frozen=True)
class Exclusion:
    """An adversary who knows a person's group and ``exclusions`` values that the person does not have.

    The excluded values are the worst case: the most frequent others of the group. A person is hit if the true value
    then has a probability of at least ``threshold``, decided in integers. Recursive (c, l)-diversity prevents hits with
    ``l - 2`` exclusions at the threshold ``c / (c + 1)``; distinct l-diversity prevents certainty. *Baseline.* The
    people for whom the same follows from all published rows: with two values, excluding one leaves the other. *Source*:
    [Machanavajjhala2007].
    """

    exclusions: int = 1
    threshold: Number = 1
    column: str | None = None

    name = "exclusion"

    def __post_init__(self) -> None:
        whole(self.exclusions, "Exclusion: exclusions", low=0)
        object.__setattr__(self, "threshold", exact(self.threshold, "Exclusion: threshold", above=0, high=1))

    def needs(self, view: AdversaryView) -> str | None:
        """Require groups with a sensitive column."""
        return needs_secret(view, self.column, "Exclusion")

    def attack(self, view: AdversaryView) -> Findings:
        """Count people whose value reaches the threshold in their group once the most frequent other values are ruled out.

        Arrays are indexed by (group, value) entry. The baseline is what the same exclusions disclose in the whole table.
        """
        sensitive, groups = secrets(view, self.column, "Exclusion")
        histograms, limit = groups.histograms, exact(self.threshold, "threshold")
        remaining_rows = _rows_after_exclusion(groups, self.exclusions)
        is_disclosed = histograms.counts * limit.denominator >= remaining_rows * limit.numerator
        whole_table = groups.whole()
        is_disclosed_in_whole = (
            whole_table.histograms.counts * limit.denominator
            >= _rows_after_exclusion(whole_table, self.exclusions) * limit.numerator
        )
        disclosed_anyway = int(whole_table.histograms.counts[is_disclosed_in_whole].sum())
        is_disclosed_before = histograms.counts * limit.denominator >= groups.sizes[histograms.owners] * limit.numerator
        values = "1 value" if self.exclusions == 1 else f"{self.exclusions} values"
        return Findings(
            self.name,
            f"the published labels of each person, that they are in the data, and {values} that they do not have",
            f"have their {sensitive} disclosed once {values} can be ruled out",
            int(histograms.counts[is_disclosed].sum()),
            int(groups.sizes.sum()),
            self._example(groups, sensitive, is_disclosed, is_disclosed_before, remaining_rows),
            details={
                "exclusions": self.exclusions,
                "threshold": str(self.threshold),
                "without_exclusions": int(histograms.counts[is_disclosed_before].sum()),
                "affected_groups": len(np.unique(histograms.owners[is_disclosed])),
            },
            baseline=disclosed_anyway / int(groups.sizes.sum()) if disclosed_anyway else None,
            draws=independent_draws(
                groups.sizes,
                sum_by(histograms.owners[is_disclosed], histograms.counts[is_disclosed], len(groups.sizes)),
            ),
        )

    def _example(
        self,
        groups: Groups,
        sensitive: str,
        is_disclosed: NDArray[np.bool_],
        is_disclosed_before: NDArray[np.bool_],
        remaining_rows: NDArray[np.int64],
    ) -> str:
        """Return a sentence about one disclosed (group, value), preferably one that is not disclosed without exclusions."""
        histograms = groups.histograms
        if not len(histograms.counts):
            return "Nothing was published."
        chances = histograms.counts / remaining_rows
        if not is_disclosed.any():
            largest = int(np.argmax(chances))
            return f"Even after ruling out the most frequent {'other value' if self.exclusions == 1 else f'{self.exclusions} other values'}, no {sensitive} is more likely than {chances[largest]:.0%}."
        newly_disclosed = np.flatnonzero(is_disclosed & ~is_disclosed_before)
        entry = int((newly_disclosed if len(newly_disclosed) else np.flatnonzero(is_disclosed))[0])
        group = int(histograms.owners[entry])
        value = groups.domain.columns[0].texts[int(histograms.values[entry])]
        excluded = [text for text in groups.histogram(group) if text != value][: self.exclusions]
        condition = f" once {' and '.join(map(repr, excluded))} can be ruled out" if excluded else ""
        return f"In a group of {int(groups.sizes[group]):,}, {sensitive} is {value!r} with a chance of {chances[entry]:.0%}{condition}."


def _rows_after_exclusion(groups: Groups, exclusions: int) -> NDArray[np.int64]:
    """Return for every (group, value) the rows that remain when the most frequent ``exclusions`` other values are ruled out."""
    histograms = groups.histograms
    sums = histograms.ranked_sums
    starts, ends = histograms.offsets[:-1], histograms.offsets[1:]
    # Rows of the most frequent values of each group, and of one value more.
    top_sums = sums[np.minimum(starts + exclusions, ends)] - sums[starts]
    next_sums = sums[np.minimum(starts + exclusions + 1, ends)] - sums[starts]
    smallest_top = np.full(len(starts), np.iinfo(np.int64).max)
    if exclusions:
        has_enough = histograms.distinct >= exclusions
        smallest_top = np.where(has_enough, histograms.ranked[np.where(has_enough, starts + exclusions - 1, 0)], 0)
    owners, counts = histograms.owners, histograms.counts
    # If a value is itself among the most frequent ones, the next one is excluded instead.
    excluded = np.where(counts >= smallest_top[owners], next_sums[owners] - counts, top_sums[owners])
    remaining: NDArray[np.int64] = groups.sizes[owners] - excluded
    return remaining
