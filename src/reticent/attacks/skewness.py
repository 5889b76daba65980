"""Skewness: a group with another distribution of sensitive values than the table discloses something about its members. Source: [Li2007]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, draws_of_groups, needs_secret, secrets
from reticent.base.exact import Number, exact
from reticent.core import AdversaryView, Groups
from reticent.errors import PolicyError

_LARGEST = 2**62
_RARE = 0.0005


@dataclass(frozen=True)
class Skewness:
    """An adversary who compares a person's group with the public distribution.

    That is the distribution of the whole table if the certificate states it (as with t-closeness), else of all
    published rows. All people of a group are hit if one of its values is more frequent there than in the whole: by more
    than ``gain`` (a difference of shares, which t-closeness with equal distances bounds by t), or by more than
    ``times`` (a ratio, which beta-likeness bounds by 1 + beta). Decided in integers.
    """

    gain: Number | None = None
    times: Number | None = None
    column: str | None = None

    name = "skewness"

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        if self.gain is not None and self.times is not None:
            raise PolicyError("Skewness: pass gain or times, not both.")
        if self.times is not None:
            object.__setattr__(self, "times", exact(self.times, "Skewness: times", low=1))
        else:
            gain = "1/4" if self.gain is None else self.gain
            object.__setattr__(self, "gain", exact(gain, "Skewness: gain", low=0, high=1))

    def needs(self, view: AdversaryView) -> str | None:
        """Require groups with a sensitive column."""
        return needs_secret(view, self.column, "Skewness")

    def attack(self, view: AdversaryView) -> Findings:
        """Compare the distribution of the sensitive column in every group with that of the whole table."""
        sensitive, groups = secrets(view, self.column, "Skewness")
        whole_table = _Whole(*view.spread(sensitive))
        is_beyond = self._is_beyond(groups, whole_table)
        affected = np.unique(groups.histograms.owners[is_beyond])
        return Findings(
            self.name,
            f"the published labels of each person, that they are in the data, and the overall distribution of {sensitive}",
            f"are in a group where one value of {sensitive} is {self._words()} than elsewhere",
            int(groups.people[affected].sum()),
            int(groups.people.sum()),
            _example(groups, whole_table, sensitive, affected),
            details={
                "gain": None if self.gain is None else str(self.gain),
                "times": None if self.times is None else str(self.times),
                "groups": len(groups),
                "affected_groups": len(affected),
                "largest_gain": float(_gains(groups, whole_table).max(initial=0.0)),
            },
            draws=draws_of_groups(groups.people, affected),
        )

    def _is_beyond(self, groups: Groups, everything: _Whole) -> NDArray[np.bool_]:
        """Return which (group, value) entries have a share too far above that of the whole: n/size - m/rows > gain, or n/size > times m/rows.

        ``n`` of the ``size`` rows of the group have the value, ``m`` of all ``rows``. Compared in integers, exactly.
        """
        limit = exact(self.gain if self.times is None else self.times, "limit")  # type: ignore[arg-type]  # one of them is given
        histograms, rows = groups.histograms, everything.rows
        scale = limit.numerator + limit.denominator
        dtype: Any = np.int64 if rows * rows * scale < _LARGEST else object
        group_counts, group_sizes, whole_counts = (
            counts.astype(dtype)
            for counts in (
                histograms.counts,
                groups.sizes[histograms.owners],
                everything.counts[histograms.values],
            )
        )
        if self.times is None:
            is_beyond = (
                group_counts * rows - whole_counts * group_sizes
            ) * limit.denominator > limit.numerator * group_sizes * rows
        else:
            is_beyond = group_counts * rows * limit.denominator > limit.numerator * whole_counts * group_sizes
        return np.asarray(is_beyond, dtype=bool)

    def _words(self) -> str:
        if self.times is not None:
            return f"over {float(Fraction(self.times)):g} times as frequent"
        return f"over {float(Fraction(self.gain or 0)) * 100:g} points more frequent"


@dataclass(frozen=True)
class _Whole:
    """How often each value occurs in the public reference, and its number of rows."""

    counts: NDArray[np.int64]
    rows: int


def _gains(groups: Groups, whole_table: _Whole) -> NDArray[np.float64]:
    """Return by how much the share of every (group, value) entry exceeds that in the whole table."""
    histograms = groups.histograms
    shares = histograms.counts / groups.sizes[histograms.owners]
    gains: NDArray[np.float64] = shares - whole_table.counts[histograms.values] / max(whole_table.rows, 1)
    return gains


def _example(groups: Groups, whole_table: _Whole, sensitive: str, affected: NDArray[np.int64]) -> str:
    """Return a sentence about the (group, value) whose share exceeds that of the whole table most."""
    histograms, share_gains = groups.histograms, _gains(groups, whole_table)
    if not len(share_gains):
        return "Nothing was published."
    entry = int(np.argmax(np.where(np.isin(histograms.owners, affected), share_gains, share_gains - 2)))
    group, value = int(histograms.owners[entry]), int(histograms.values[entry])
    share_of_group = histograms.counts[entry] / groups.sizes[group]
    share_of_whole = whole_table.counts[value] / whole_table.rows
    text = groups.domain.columns[0].texts[value]
    size = int(groups.sizes[group])
    subject = f"{'A' if len(affected) else 'The most unusual'} group of {size:,} has {sensitive} {text!r}"
    frequency = f"{share_of_whole:.1%}" if share_of_whole >= _RARE else "hardly any"
    return f"{subject} in {share_of_group:.0%} of its rows, against {frequency} of the whole."
