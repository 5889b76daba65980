"""Record lookup in a randomized release, where most published records are not true."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings
from reticent.attacks.target_list import listed_people
from reticent.base.exact import Number, exact
from reticent.core import AdversaryView
from reticent.definitions import posterior
from reticent.errors import PolicyError


@dataclass(frozen=True)
class Sighting:
    """An adversary with the prior belief ``prior`` in each record checks whether the release shows it.

    A view shows a true record with probability s and any other with probability beta, so that seeing it multiplies the
    odds by s/beta, and not seeing it by (1 - s)/(1 - beta). Perturbed records are kept with probability g and become a
    given other one with probability q: seeing one multiplies the odds by at most g/q, as if the adversary knew which
    row is whose. A person is hit if the posterior of their record exceeds ``threshold``; decided in fractions.
    ``BoundedBelief(d, gamma)`` prevents hits for a ``prior`` (default: d) of at most d and thresholds of at least
    gamma. *Source*: [Rastogi2007].

    ``people`` are records with all columns of the release, in the data; without them all shown records are checked.
    *Baseline.* The probability that a record that is not in the data is shown: beta, or for n perturbed records 1 - (1
    - q)^n.
    """

    people: Any = field(default=None, repr=False)
    prior: Number | None = None
    threshold: Number = "1/2"
    who: str | None = None

    name = "sighting"

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        if self.people is not None:
            object.__setattr__(self, "people", listed_people(self.people, [self.who]))
        if self.prior is not None:
            exact(self.prior, "Sighting: prior", low=0, high=1)
        exact(self.threshold, "Sighting: threshold", low=0, high=1)

    def needs(self, view: AdversaryView) -> str | None:
        """Require rows that were sampled with known probabilities."""
        if view.groups is not None:
            return "Sighting looks records up among noise, and this is not a randomized release. Use Linkage."
        if view.channel is None:
            return "Sighting looks records up among noise, and this release does not state the probability that a record is shown."
        return view.channel.refusal

    def attack(self, view: AdversaryView) -> Findings:
        """Look up each person's record in the randomized release, and count the records believed to be in the data.

        ``channel`` holds the probability that a record is shown if it is in the data (``true``) and if it is not (``other``).
        Seeing a record, or not seeing it, turns the prior into the posterior by the ratio of the two.
        """
        channel = view.channel
        if channel is None or channel.refusal is not None:
            raise PolicyError(str(self.needs(view)))
        prior = exact(channel.d if self.prior is None else self.prior, "prior")
        limit = exact(self.threshold, "threshold")
        ratios = channel.true / channel.other, (1 - channel.true) / (1 - channel.other)
        believed, doubted = (posterior(prior, ratio) for ratio in ratios)
        if self.people is None:
            is_shown, hit, expected_share = (
                np.ones(view.rows, dtype=bool),
                "have a record that is shown and believed",
                None,
            )
        else:
            is_shown, hit, noise = channel.shows(self.people), "have their record believed", channel.noise
            expected_share = float((noise if believed > limit else 0) + (1 - noise if doubted > limit else 0))
        hits = int(is_shown.sum()) * (believed > limit) + int((~is_shown).sum()) * (doubted > limit)
        return Findings(
            self.name,
            f"whole records, each of which is in the data with a probability of {_percent(prior)}, and how the release was sampled",
            f"{hit} with a probability above {_percent(limit)}",
            hits,
            len(is_shown),
            self._example(view, is_shown, prior, believed, doubted),
            {
                "shown": int(is_shown.sum()),
                "prior": str(prior),
                "belief_shown": str(believed),
                "belief_hidden": str(doubted),
                "promised": str(channel.gamma),
            },
            baseline=expected_share,
        )

    def _example(
        self, view: AdversaryView, is_shown: NDArray[np.bool_], prior: Fraction, believed: Fraction, doubted: Fraction
    ) -> str:
        """Return a sentence about one record: whether it is shown, and how that changes the belief in it."""
        if not len(is_shown):
            return "The release shows no record."
        person = int(np.argmax(is_shown))
        if self.people is None:
            row = {column.name: column.labels[int(column.codes[0])] for column in view.columns}
        else:
            row = self.people.row(person, named=True)
        values = ", ".join(str(row[name]) for name in view.names)
        subject = f"{row[self.who]} ({values})" if self.who is not None else f"The record {values}"
        outcome, after = ("is shown", believed) if is_shown[person] else ("is not shown", doubted)
        return f"{subject} {outcome}: a belief of {_percent(prior)} in it becomes {_percent(after)}."


def _percent(chance: Fraction) -> str:
    return f"{float(chance):.3g}" if 0 < chance < Fraction(1, 1000) else f"{float(chance):.1%}"
