"""An adversary of one's own: bets that everybody has the most frequent value of the largest group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reticent.attacks import Findings
from reticent.core import AdversaryView


@dataclass(frozen=True)
class LargestGroup:
    """Reads the largest group of what is published, and guesses its most frequent value for each of its people."""

    name = "largest group"

    def needs(self, seen: AdversaryView) -> str | None:
        return None if seen.groups is not None else "LargestGroup needs groups of people who look alike."

    def attack(self, seen: AdversaryView) -> Findings:
        groups = seen.true_groups
        largest = int(np.argmax(groups.sizes))
        value, hits = next(iter(groups.histogram(largest).items()))
        people = int(groups.sizes[largest])
        return Findings(self.name, "the published groups", f"have {value!r}", int(hits), people, f"{hits} of {people}.")
