"""The interface of adversaries: each gets the public view plus stated background knowledge, and reports its findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import hypot, sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.base.cards import Card, ShownAsCard, sentence_case, tone_of
from reticent.core import NOT_TRUE, AdversaryView, Groups
from reticent.errors import PolicyError

Interval = tuple[float, float]
_USUAL, _SURE = 1.959963984540054, 3.2905267314919255  # 95 % for displayed intervals, 99.9 % for a verdict


@dataclass(frozen=True, repr=False)
class Findings(ShownAsCard):
    """The success of an adversary: ``hits`` out of ``people``, and its background knowledge.

    ``example`` is one sentence about one person, ``details`` are further counts. ``baseline`` is its success rate
    without the release (by chance, or on a control group, whose interval is ``baseline_interval``); None if that is
    zero. ``draws`` is the effective sample size if whole groups are hit together (:func:`independent_draws`). ``unit``
    is what is counted if not people. Figures that no guarantee covers are not ``judged``: they are reported and never
    called a success. Findings use the confidential table and are for the steward only: do not publish them.
    """

    adversary: str
    knows: str
    hit: str
    hits: int
    people: int
    example: str
    details: Mapping[str, Any] = field(default_factory=dict)
    baseline: float | None = None
    baseline_interval: Interval | None = None
    draws: float | None = None
    unit: str = "people"
    judged: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.people:
            raise PolicyError(f"Findings: hits must be between 0 and people ({self.people}), but it is {self.hits}.")

    def card(self) -> Card:
        """Return a card: whom the adversary hits, what it knew, and one example."""
        hits = f"{self.hits:,} of {self.people:,} {self.unit} ({self.share:.1%}) {self.hit}"
        return Card(
            f"{sentence_case(self.adversary)} {'succeeds' if self.succeeds else 'does not succeed'}",
            {"hits": hits, "knows": self.knows, "example": self.example},
            tone_of(not self.succeeds),
        )

    @property
    def share(self) -> float:
        """The share of people hit; 0 if none were attacked."""
        return self.hits / self.people if self.people else 0.0

    @property
    def interval(self) -> Interval | None:
        """The Wilson interval (95 %) of the success rate in the population of those attacked; None if none were. Source: [Wilson1927]."""
        return self._interval(_USUAL) if self.people else None

    def _interval(self, z: float) -> Interval:
        draws = self.people if self.draws is None else self.draws
        return wilson(self.share * draws, draws, z)

    @property
    def excess(self) -> Interval:
        """The interval (95 %) of the excess over the baseline (Newcombe's if the baseline was measured too)."""
        return self._excess(_USUAL)

    @property
    def points(self) -> str:
        """The excess in percentage points: ``-1.2 to +3.4``."""
        # Adding zero turns -0.0 into 0.0.
        low, high = (round(100 * end, 1) + 0.0 for end in self.excess)
        return f"{low:+.1f} to {high:+.1f}"

    def _excess(self, z: float) -> Interval:
        """Return the confidence interval (at normal quantile ``z``) of the success rate in excess of the baseline.

        The two intervals are combined by Newcombe's method: distances from the point estimates add in quadrature.
        """
        low, high = self._interval(z) if self.people else (0.0, 0.0)
        base = self.baseline or 0.0
        lowest, highest = self.baseline_interval or (base, base)
        # The interval of the baseline is a 95 % one.
        lower_shift, upper_shift = ((bound - base) * z / _USUAL for bound in (lowest, highest))
        gain = self.share - base
        return gain - hypot(self.share - low, upper_shift), gain + hypot(high - self.share, lower_shift)

    @property
    def succeeds(self) -> bool:
        """True if the release helped: more people are hit than the baseline explains, at the 99.9 % level."""
        return self.judged and self.hits > 0 and (self.baseline is None or self._excess(_SURE)[0] > 0)

    @property
    def reservation(self) -> str:
        """The sentence for the headline of an attack that succeeds."""
        anyway = "" if self.baseline is None else f"; {self.baseline:.1%} without the release"
        return f"{sentence_case(self.adversary)} succeeds: {self.hits:,} of {self.people:,} {self.unit} ({self.share:.1%}) {self.hit}{anyway}."

    def summary(self) -> str:
        """The result in one sentence."""
        text = f"{self.hits:,} of {self.people:,} {self.unit} ({self.share:.1%}) {self.hit}"
        if self.interval is not None:
            low, high = self.interval
            text += f"; among {self.unit} like them between {low:.1%} and {high:.1%} (95 % confidence)"
        if self.baseline is not None:
            text += f"; without the release {self.baseline:.1%}"
        if self.baseline_interval is not None:
            text += f" (a control group), so the release adds {self.points} percentage points"
        return text + "."

    def as_dict(self) -> dict[str, Any]:
        """Return the findings as plain data."""
        return {
            "adversary": self.adversary,
            "knows": self.knows,
            "hit": self.hit,
            "hits": self.hits,
            "people": self.people,
            "unit": self.unit,
            "share": self.share,
            "interval": list(self.interval) if self.interval is not None else None,
            "baseline": self.baseline,
            "baseline_interval": list(self.baseline_interval) if self.baseline_interval is not None else None,
            "excess": list(self.excess),
            "succeeds": self.succeeds,
            "judged": self.judged,
            "example": self.example,
            "details": dict(self.details),
        }


class Adversary(Protocol):
    """An executable attack. It gets the :class:`reticent.core.AdversaryView` of a table or a release, and nothing else of the data."""

    @property
    def name(self) -> str:
        """The name of the attack."""

    def needs(self, view: AdversaryView) -> str | None:
        """Return why the attack cannot run on this view; None if it can."""

    def attack(self, view: AdversaryView) -> Findings:
        """Run the attack."""


def wilson(hits: float, sample: float, z: float = _USUAL) -> Interval:
    """Return the Wilson score interval of a proportion with ``hits`` of ``sample`` independent samples (z = 1.96: 95 %)."""
    if sample < 1:
        raise PolicyError("A confidence interval needs at least one sample.")
    share, weight = hits / sample, z * z / sample
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * sqrt(max(share * (1 - share), 0.0) / sample + weight / (4 * sample))
    return (0.0 if hits == 0 else max(0.0, middle - half), 1.0 if hits == sample else min(1.0, middle + half))


def independent_draws(people: NDArray[np.int64], hits: NDArray[np.int64]) -> float:
    """Return the effective sample size of people in groups, of whom ``hits`` per group were hit.

    People of a group are hit together, which increases the variance of the success rate by the design effect sum (hits
    - share x people)^2 / (total x share x (1 - share)), never below 1. If none or all are hit, each group counts as one
    sample.
    """
    filled = people > 0
    people, hits = people[filled], hits[filled]
    total, total_hits = int(people.sum()), int(hits.sum())
    if total_hits in (0, total):
        return float(max(len(people), 1))
    share = total_hits / total
    # Ratio estimator: squared deviations of the groups from the overall rate, with the correction n / (n - 1).
    between_groups = float(((hits - share * people) ** 2).sum()) * len(people) / max(len(people) - 1, 1)
    return max(1.0, total / max(1.0, between_groups / (total * share * (1 - share))))


def draws_of_groups(people: NDArray[np.int64], affected: NDArray[np.int64]) -> float:
    """Return the effective sample size if all people of the ``affected`` groups are hit, and no others."""
    hits = np.zeros_like(people)
    hits[affected] = people[affected]
    return independent_draws(people, hits)


def needs_groups(view: AdversaryView) -> str | None:
    """Return why an adversary who uses groups of true rows cannot run; None if there are groups."""
    return NOT_TRUE if view.groups is None else None


def needs_secret(view: AdversaryView, column: str | None, adversary: str) -> str | None:
    """Return why an adversary who targets a sensitive column cannot run; None if it was published in groups."""
    if view.groups is None:
        return NOT_TRUE
    if not view.sensitive and column is None:
        return f"{adversary}: no sensitive column was published, so no value can be disclosed."
    try:
        view.groups.domain.index(view.sensitive[0] if column is None else column)
    except PolicyError as error:
        return str(error)
    return None


def secrets(view: AdversaryView, column: str | None, adversary: str) -> tuple[str, Groups]:
    """Return the targeted sensitive column (default: the first), and its histogram in every group."""
    reason = needs_secret(view, column, adversary)
    if reason is not None:
        raise PolicyError(reason)
    name = view.sensitive[0] if column is None else column
    return name, view.true_groups.marginal(name)


def secret_of(view: AdversaryView, column: str | None) -> str | None:
    """Return the targeted sensitive column: the named one, or the first; None if there is none."""
    if column is None:
        return view.sensitive[0] if view.sensitive else None
    view.true_groups.domain.index(column)
    return column
