"""Sighting: somebody looks whole records up in a randomized release, where most of what is shown is not true."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attack.base import Findings
from reticent.attack.people import listed_people
from reticent.attack.randomized import Randomized, is_plain
from reticent.definitions.mechanisms import posterior
from reticent.errors import PolicyError
from reticent.exact import Number, exact
from reticent.randomize import FrappView, View
from reticent.randomize.keys import among


@dataclass(frozen=True)
class Sighting:
    """Somebody who holds each record possible with chance ``prior`` before looks whether the release shows it (R-AB-1, R-AB-21).

    A view shows a true record with chance s and any other with chance beta, so that seeing it multiplies the odds by s/beta, and
    not seeing it by (1 - s)/(1 - beta). Perturbed records are kept with chance g and come out as a given other one with chance q: seeing one
    multiplies the odds by g/q at most, as if the adversary could tell which row is whose. A person is hit when the belief in their record
    ends above ``threshold``; decided in fractions. ``BoundedBelief(d, gamma)`` stops everybody whose ``prior`` (default: d) is at most d at
    any threshold from gamma on.

    ``people`` are records with all columns of the release, in the data; without them all records that are shown are believed or not.
    *Baseline.* What is shown of records that are not in the data is noise: beta, or for n perturbed records 1 - (1 - q)^n.
    """

    people: Any = field(default=None, repr=False)
    prior: Number | None = None
    threshold: Number = "1/2"
    who: str | None = None

    name = "sighting"

    def __post_init__(self) -> None:
        if self.people is not None:
            object.__setattr__(self, "people", listed_people(self.people, [self.who]))
        if self.prior is not None:
            exact(self.prior, "Sighting: prior", low=0, high=1)
        exact(self.threshold, "Sighting: threshold", low=0, high=1)

    def attack(self, release: Randomized) -> Findings:
        """Look everybody's record up."""
        if not is_plain(release):
            raise PolicyError(
                "Sighting is for one view with uniform noise: with a source every record has noise of its own, and later views of a series must be read "
                "beside the earlier ones (reticent randomize)."
            )
        prior = exact(release.manifest.definition.d if self.prior is None else self.prior, "prior")
        limit = exact(self.threshold, "threshold")
        shown, hidden = (posterior(prior, ratio) for ratio in _ratios(release))
        if self.people is None:
            seen, hit, told = np.ones(len(release), dtype=bool), "have a record that is shown and believed", None
        else:
            records = release.domain.frame_columns(self.people)
            seen, hit = among(release.domain.pack(records), release.keys), "have their record believed"
            noise = _noise(release)
            told = float((noise if shown > limit else 0) + (1 - noise if hidden > limit else 0))
        hits = int(seen.sum()) * (shown > limit) + int((~seen).sum()) * (hidden > limit)
        return Findings(
            self.name,
            f"whole records, each of which is in the data with a chance of {_percent(prior)}, and how the release was drawn",
            f"{hit} with a chance above {_percent(limit)}",
            hits,
            len(seen),
            self._example(release, seen, prior, shown, hidden),
            {
                "shown": int(seen.sum()),
                "prior": str(prior),
                "belief_shown": str(shown),
                "belief_hidden": str(hidden),
                "promised": str(release.manifest.definition.gamma),
            },
            baseline=told,
        )

    def _example(
        self, release: Randomized, seen: NDArray[np.bool_], prior: Fraction, shown: Fraction, hidden: Fraction
    ) -> str:
        if not len(seen):
            return "The release shows no record."
        place = int(np.argmax(seen))
        rows = release.domain.unpack(release.keys[:1]) if self.people is None else self.people[place : place + 1]
        row = rows.row(0, named=True)
        values = ", ".join(str(row[name]) for name in release.domain.names)
        called = f"{row[self.who]} ({values})" if self.who is not None else f"The record {values}"
        found, after = ("is shown", shown) if seen[place] else ("is not shown", hidden)
        return f"{called} {found}: a belief of {_percent(prior)} in it becomes {_percent(after)}."


def _ratios(release: Randomized) -> tuple[Fraction, Fraction]:
    """What seeing a record multiplies its odds by, and what not seeing it does."""
    true, other = _rates(release)
    return true / other, (1 - true) / (1 - other)


def _rates(release: Randomized) -> tuple[Fraction, Fraction]:
    """With what chance a record is shown that is in the data, and one that is not (for perturbed ones: of one row)."""
    if isinstance(release, View):
        return release.rates.s, release.rates.beta
    return release.plan.kept, release.plan.replaced


def _noise(release: Randomized) -> Fraction | float:
    """The chance that a record which is not in the data is shown."""
    other = _rates(release)[1]
    return 1 - (1 - float(other)) ** len(release) if isinstance(release, FrappView) else other


def _percent(chance: Fraction) -> str:
    return f"{float(chance):.3g}" if 0 < chance < Fraction(1, 1000) else f"{float(chance):.1%}"
