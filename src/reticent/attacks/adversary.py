"""What every adversary is: it gets what the public gets plus knowledge that it states, and says what it found."""

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
_USUAL, _SURE = 1.959963984540054, 3.2905267314919255  # 95 % for the intervals that are shown, 99.9 % for a verdict


@dataclass(frozen=True, repr=False)
class Findings(ShownAsCard):
    """What an adversary achieved: ``hits`` people out of ``people``, and what it knew to get there.

    ``example`` is one sentence about one person, ``details`` are further counts. ``baseline`` is the share that it would have hit
    without the release (by chance, or among a control group, whose interval is ``baseline_interval``); None where that is nobody.
    ``draws`` says how many people drawn one by one these are worth, where whole groups are hit together (:func:`independent_draws`).
    ``unit`` says what is counted where it is not people. Figures that no guarantee is about are not ``judged``: they are reported and never called a success.
    All of it is for the steward: findings about a confidential table, or checked against one, are never seen.
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
            raise PolicyError(f"Findings: hits must lie between 0 and people ({self.people}), but it is {self.hits}.")

    def card(self) -> Card:
        """Whom the adversary hits, what it knew, and one example."""
        hits = f"{self.hits:,} of {self.people:,} {self.unit} ({self.share:.1%}) {self.hit}"
        return Card(
            f"{sentence_case(self.adversary)} {'succeeds' if self.succeeds else 'does not succeed'}",
            {"hits": hits, "knows": self.knows, "example": self.example},
            tone_of(not self.succeeds),
        )

    @property
    def share(self) -> float:
        """The share of people hit; 0 when nobody was attacked."""
        return self.hits / self.people if self.people else 0.0

    @property
    def interval(self) -> Interval | None:
        """Within which the share lies among people like those who were attacked (Wilson, 95 %); None when nobody was."""
        return self._interval(_USUAL) if self.people else None

    def _interval(self, z: float) -> Interval:
        draws = self.people if self.draws is None else self.draws
        return wilson(self.share * draws, draws, z)

    @property
    def excess(self) -> Interval:
        """By how much the share exceeds the baseline, as an interval (95 %; Newcombe's where the baseline was measured too)."""
        return self._excess(_USUAL)

    @property
    def points(self) -> str:
        """The excess in points of a hundred: ``-1.2 to +3.4``."""
        # Adding zero makes -0.0 a plain zero.
        low, high = (round(100 * end, 1) + 0.0 for end in self.excess)
        return f"{low:+.1f} to {high:+.1f}"

    def _excess(self, z: float) -> Interval:
        low, high = self._interval(z) if self.people else (0.0, 0.0)
        base = self.baseline or 0.0
        least, most = self.baseline_interval or (base, base)
        # The interval of the baseline is one of 95 %.
        below, above = ((each - base) * z / _USUAL for each in (least, most))
        gain = self.share - base
        return gain - hypot(self.share - low, above), gain + hypot(high - self.share, below)

    @property
    def succeeds(self) -> bool:
        """Whether the release helped: more people are hit than the baseline explains, beyond what chance does once in a thousand times."""
        return self.judged and self.hits > 0 and (self.baseline is None or self._excess(_SURE)[0] > 0)

    @property
    def reservation(self) -> str:
        """What a headline says of an attack that succeeds."""
        anyway = "" if self.baseline is None else f"; {self.baseline:.1%} would be without the release"
        return f"{sentence_case(self.adversary)} succeeds: {self.hits:,} of {self.people:,} {self.unit} ({self.share:.1%}) {self.hit}{anyway}."

    def summary(self) -> str:
        """The result in one sentence."""
        text = f"{self.hits:,} of {self.people:,} {self.unit} ({self.share:.1%}) {self.hit}"
        if self.interval is not None:
            low, high = self.interval
            text += f"; among {self.unit} like them between {low:.1%} and {high:.1%} (95 % sure)"
        if self.baseline is not None:
            text += f"; without the release {self.baseline:.1%}"
        if self.baseline_interval is not None:
            text += f" (a control group), so {self.points} points are its doing"
        return text + "."

    def as_dict(self) -> dict[str, Any]:
        """The findings as plain data."""
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
    """An attack that runs. It gets what is :class:`reticent.core.AdversaryView` of a table or a release, and nothing else of the data."""

    @property
    def name(self) -> str:
        """What the attack is called."""

    def needs(self, seen: AdversaryView) -> str | None:
        """Why the attack cannot run on what is seen; None if it can."""

    def attack(self, seen: AdversaryView) -> Findings:
        """Try it."""


def wilson(hits: float, sample: float, z: float = _USUAL) -> Interval:
    """The Wilson score interval for a share of which ``hits`` of ``sample`` independent draws were seen (z = 1.96: 95 %)."""
    if sample < 1:
        raise PolicyError("A confidence interval needs at least one draw.")
    share, weight = hits / sample, z * z / sample
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * sqrt(max(share * (1 - share), 0.0) / sample + weight / (4 * sample))
    return (0.0 if hits == 0 else max(0.0, middle - half), 1.0 if hits == sample else min(1.0, middle + half))


def independent_draws(people: NDArray[np.int64], hits: NDArray[np.int64]) -> float:
    """How many people drawn one by one the people of some groups are worth, of whom ``hits`` in each were hit.

    People of a group are hit together, so that a share varies more between tables than if everybody were hit alone: by the design effect
    sum (hits - share x people)^2 / (everybody x share x (1 - share)), never taken below 1. Where nobody is hit, or all are, every group is a draw.
    """
    filled = people > 0
    people, hits = people[filled], hits[filled]
    everybody, hit = int(people.sum()), int(hits.sum())
    if hit in (0, everybody):
        return float(max(len(people), 1))
    share = hit / everybody
    spread = float(((hits - share * people) ** 2).sum()) * len(people) / max(len(people) - 1, 1)
    return max(1.0, everybody / max(1.0, spread / (everybody * share * (1 - share))))


def draws_of_groups(people: NDArray[np.int64], affected: NDArray[np.int64]) -> float:
    """The same where all people of the ``affected`` groups are hit, and nobody else is."""
    hits = np.zeros_like(people)
    hits[affected] = people[affected]
    return independent_draws(people, hits)


def needs_groups(seen: AdversaryView) -> str | None:
    """Why an adversary who looks at groups of true rows cannot run; None where there are groups."""
    return NOT_TRUE if seen.groups is None else None


def needs_secret(seen: AdversaryView, column: str | None, adversary: str) -> str | None:
    """Why somebody who is after a sensitive column cannot run; None where it was published in groups."""
    if seen.groups is None:
        return NOT_TRUE
    if not seen.sensitive and column is None:
        return f"{adversary}: no sensitive column was published, so no value can be given away."
    try:
        seen.groups.domain.index(seen.sensitive[0] if column is None else column)
    except PolicyError as error:
        return str(error)
    return None


def secrets(seen: AdversaryView, column: str | None, adversary: str) -> tuple[str, Groups]:
    """The sensitive column that an adversary is after (the first, if not said), and its histogram in every group."""
    reason = needs_secret(seen, column, adversary)
    if reason is not None:
        raise PolicyError(reason)
    name = seen.sensitive[0] if column is None else column
    return name, seen.true_groups.marginal(name)


def secret_of(seen: AdversaryView, column: str | None) -> str | None:
    """The sensitive column that is meant: the named one, or the first; None where there is none."""
    if column is None:
        return seen.sensitive[0] if seen.sensitive else None
    seen.true_groups.domain.index(column)
    return column
