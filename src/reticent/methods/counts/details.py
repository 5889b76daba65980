"""Manifest details of noisy counts, enough to count with them and to judge them: the cells, the noise distributions, who made the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from reticent.base.exact import one_of, whole
from reticent.errors import DataError, PolicyError
from reticent.methods.randomize import ViewDomain
from reticent.noise import HISTOGRAM, LEVELS, MOST_COINS, MOST_PARTIES, BinomialLaw, ExponentialLaw, NoiseLaw, law_from
from reticent.table import to_plain

MOST_CELLS = 1_000_000
NOISY_COUNT = "noisy_count"


@dataclass(frozen=True)
class CountsPlan:
    """The evidence of noisy counts: the distribution of the noise on each cell that no adversary knows; a replaced row changes two cells by one."""

    law: NoiseLaw

    def keeps(self, epsilon: Fraction, delta: Fraction) -> bool:
        """True if the noise is (epsilon, delta)-indistinguishable, exactly."""
        return self.law.keeps(epsilon, delta, HISTOGRAM)

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return the delta of the noise at epsilon, rounded up."""
        return self.law.delta(epsilon, HISTOGRAM)


@dataclass(frozen=True)
class JointRun:
    """How noise was made jointly: the number of parties, of whom up to ``faults`` may have been malicious, and of
    ``rounds``; ``excluded`` parties were detected, and their rows are not counted.
    """

    parties: int
    faults: int
    level: str
    rounds: int
    excluded: int = 0

    def __post_init__(self) -> None:
        whole(self.parties, "parties", low=2, high=MOST_PARTIES)
        whole(self.faults, "faults", low=0, high=(self.parties - 1) // (3 if self.level == "byzantine" else 2))
        whole(self.rounds, "rounds", low=1)
        whole(self.excluded, "excluded", low=0, high=self.faults)
        one_of(self.level, "level", LEVELS)

    def as_json(self) -> dict[str, Any]:
        """The run as plain data."""
        return {
            "parties": self.parties,
            "faults": self.faults,
            "level": self.level,
            "rounds": self.rounds,
            "excluded": self.excluded,
        }


def check_size(domain: ViewDomain) -> None:
    """Refuse a domain with too many cells before counting or listing them."""
    if domain.size > MOST_CELLS:
        raise PolicyError(
            f"The domain has {domain.size:,} cells; at most {MOST_CELLS:,} can be counted. Use fewer columns, or coarser ones.",
            setting=("domain",),
        )


@dataclass(frozen=True)
class CountsDetails:
    """The ``domain`` whose tuples are the cells, the ``law`` of the noise in each, and the ``hidden`` law of the part
    unknown to malicious parties.

    Without a ``run`` a trusted curator added the noise, and both laws are the same.
    """

    domain: ViewDomain
    law: NoiseLaw
    hidden: NoiseLaw
    run: JointRun | None = None

    def __post_init__(self) -> None:
        check_size(self.domain)
        if self.run is None and self.law != self.hidden:
            raise DataError("A trusted curator adds noise of one law, but the details state two.")
        if self.run is not None and not self._fits(self.run):
            raise DataError("The hidden noise is more than the parties can have made.")

    def _fits(self, run: JointRun) -> bool:
        """True if the hidden part is what honest parties contributed: of coins, an even number each, the share of all but
        those who may be malicious.
        """
        if isinstance(self.law, BinomialLaw) and isinstance(self.hidden, BinomialLaw):
            quota, odd = divmod(self.law.coins, 2 * (run.parties - run.excluded))
            honest = 2 * quota * (run.parties - max(run.faults, 1))
            return not odd and self.hidden.coins <= min(honest, MOST_COINS)
        return isinstance(self.law, ExponentialLaw) and self.law == self.hidden

    @property
    def plan(self) -> CountsPlan:
        """Return the plan that definitions judge."""
        return CountsPlan(self.hidden)

    def words(self) -> str:
        """Describe noisy counts in plain language."""
        description = f"Noisy counts of {self.domain.size:,} cells: each is the true number of rows plus noise with a standard deviation of {float(self.law.variance) ** 0.5:.1f}."
        if self.run is None:
            return f"{description} A trusted curator, who saw the rows, added the noise."
        run = self.run
        behaviour = (
            "lied, colluded or crashed"
            if run.level == "byzantine"
            else "pooled what they saw, if all followed the protocol"
        )
        exclusion_note = (
            f" {run.excluded} of them were caught and excluded; their rows are not counted." if run.excluded else ""
        )
        return (
            f"{description} {run.parties} parties added it together: nobody saw the rows of another party or the noise, even if up to {run.faults} of "
            f"them {behaviour}.{exclusion_note}"
        )

    def in_order_of(self, names: Sequence[str]) -> CountsDetails:
        """Return the details with the domain's columns in the order of the published table: JSON objects are unordered."""
        return replace(self, domain=self.domain.in_order_of(names))

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""
        return {
            "domain": to_plain(self.domain.as_json()),
            "law": self.law.describe(),
            "hidden": self.hidden.describe(),
            "run": None if self.run is None else self.run.as_json(),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> CountsDetails:
        """The details that :meth:`as_json` wrote."""
        run = written["run"]
        return cls(
            ViewDomain.from_json(written["domain"]),
            law_from(written["law"]),
            law_from(written["hidden"]),
            None if run is None else JointRun(**run),
        )
