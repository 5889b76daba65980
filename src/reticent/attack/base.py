"""What every adversary is: it gets what the public gets plus knowledge that it states, and says what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Protocol

from reticent.attack.published import Published
from reticent.errors import PolicyError


@dataclass(frozen=True)
class Findings:
    """What an adversary achieved: ``hits`` people out of ``people``, and what it knew to get there.

    ``interval`` bounds the share of hits among everybody when only a sample was attacked (Wilson, 95 %). ``example``
    is one sentence about one person, ``details`` are further counts. All of it is for the steward: findings about a
    confidential table, or checked against one, are never published.
    """

    adversary: str
    knows: str
    hit: str
    hits: int
    people: int
    example: str
    interval: tuple[float, float] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.people:
            raise PolicyError(f"Findings: hits must lie between 0 and people ({self.people}), but it is {self.hits}.")

    @property
    def share(self) -> float:
        """The share of people hit; 0 when nobody was attacked."""
        return self.hits / self.people if self.people else 0.0

    def summary(self) -> str:
        """The result in one sentence."""
        text = f"{self.hits:,} of {self.people:,} people ({self.share:.1%}) {self.hit}"
        if self.interval is not None:
            low, high = self.interval
            text += f"; among everybody between {low:.1%} and {high:.1%} (95 % sure)"
        return text + "."

    def as_dict(self) -> dict[str, Any]:
        """The findings as plain data."""
        return {
            "adversary": self.adversary,
            "knows": self.knows,
            "hit": self.hit,
            "hits": self.hits,
            "people": self.people,
            "share": self.share,
            "interval": list(self.interval) if self.interval is not None else None,
            "example": self.example,
            "details": dict(self.details),
        }


class Adversary(Protocol):
    """An attack that runs. It sees :class:`Published` and nothing else of the data."""

    @property
    def name(self) -> str:
        """What the attack is called."""

    def attack(self, published: Published) -> Findings:
        """Try it."""


def wilson(hits: int, sample: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The Wilson score interval for a share of which ``hits`` of ``sample`` independent draws were seen (z = 1.96: 95 %)."""
    if sample < 1:
        raise PolicyError("A confidence interval needs at least one draw.")
    share, weight = hits / sample, z * z / sample
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * sqrt(share * (1 - share) / sample + weight / (4 * sample))
    return (0.0 if hits == 0 else max(0.0, middle - half), 1.0 if hits == sample else min(1.0, middle + half))
