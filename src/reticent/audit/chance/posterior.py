"""What the answered sums say about everybody, one class for each kind of prior (R-QA-11), the exact ones first."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.audit.chance.game import Cells, Game, votes_for
from reticent.audit.chance.gaussian import GaussianSums, weights_of
from reticent.audit.chance.overlapping import OverlappingSums
from reticent.audit.chance.priors import Gaussian, Prior, Uniform
from reticent.audit.chance.sampling import NOT_CERTIFIED, Vote
from reticent.audit.chance.uniform import UniformGroups
from reticent.audit.chance.walk import Walk
from reticent.audit.decision import Query

FloatArray = NDArray[np.float64]
EXACT = "exact"

# Single moves of single people that one decision may cost, about a minute. Beyond it the question is denied.
WORK_LIMIT = 1_000_000_000


@dataclass(frozen=True)
class Risk:
    """The chance, rounded up, that an answer would be unsafe, and how it was found."""

    chance: float
    how: str


class Posterior(Protocol):
    """What the answers so far say."""

    def risk(self, query: Query, threshold: Fraction, rng: np.random.Generator) -> Risk | None:
        """The risk of answering an independent question; None where it cannot be told reliably."""

    def remember(self, query: Query, answer: Fraction) -> None:
        """One more answer."""

    def extend(self, n: int) -> None:
        """More people."""


@dataclass
class Effort:
    """How many possible answers vote and how many data sets judge each; None is what the guarantee asks for.

    ``exact_only`` leaves undecided what would need a vote: a service must not keep everybody waiting for one question.
    """

    votes: int | None = None
    samples: int | None = None
    exact_only: bool = False


@dataclass
class WalkedSums:
    """Any log-concave prior, by hit-and-run. Mutable: it grows with every answer."""

    n: int
    prior: Prior
    game: Game
    effort: Effort
    rows: list[FloatArray] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)

    def risk(self, query: Query, threshold: Fraction, rng: np.random.Generator) -> Risk | None:
        """The share of possible answers that SAFE rejects."""
        if self.effort.exact_only:
            return None
        cells = Cells.of(self.game)
        # SAFE may err in a tenth of what a round may risk.
        samples = self.effort.samples or cells.samples(threshold / 5)
        votes = self.effort.votes or votes_for(threshold)
        vote = Vote(Walk(self.prior, np.array(self.rows).reshape(len(self.rows), self.n)), cells, votes, samples)
        if vote.work > WORK_LIMIT:
            return None
        share = vote.unsafe_share(np.array(self.answers), weights_of(query, self.n), float(threshold), rng)
        return Risk(share, NOT_CERTIFIED)

    def remember(self, query: Query, answer: Fraction) -> None:
        """One more answer."""
        self.rows.append(weights_of(query, self.n))
        self.answers.append(float(answer))

    def extend(self, n: int) -> None:
        """New people are in no question."""
        self.rows = [np.append(row, np.zeros(n - self.n)) for row in self.rows]
        self.n = n


@dataclass
class UniformSums:
    """A uniform prior: exact while the answers reduce to disjoint sums, by certified draws where they overlap, by hit-and-run elsewhere. Mutable."""

    groups: UniformGroups
    overlapping: OverlappingSums
    walked: WalkedSums
    disjoint: bool = True
    plain: bool = True

    def risk(self, query: Query, threshold: Fraction, rng: np.random.Generator) -> Risk | None:
        """Exact if the groups stay disjoint, else bounded from exact draws."""
        change = self.groups.change(query) if self.disjoint else None
        if change is not None:
            return Risk(self.groups.unsafe_chance(change), EXACT)
        found = self.overlapping.risk(query, threshold, rng) if self.plain else None
        if found is None:
            return self.walked.risk(query, threshold, rng)
        return Risk(
            found.bound, f"bounded from {found.draws:,} exact draws, wrong with a chance of at most {found.error:.1g}"
        )

    def remember(self, query: Query, answer: Fraction) -> None:
        """One more answer, for both."""
        self.disjoint = self.disjoint and self.groups.change(query) is not None
        if self.disjoint:
            self.groups.remember(query, answer)
        self.plain = self.plain and query.coefficients is None
        if self.plain:
            self.overlapping.remember(query, answer)
        self.walked.remember(query, answer)

    def extend(self, n: int) -> None:
        """New people are in no question."""
        self.groups.extend(n)
        self.overlapping.extend(n)
        self.walked.extend(n)


@dataclass
class NormalSums:
    """A Gaussian prior: exact. Mutable."""

    sums: GaussianSums

    def risk(self, query: Query, threshold: Fraction, rng: np.random.Generator) -> Risk | None:
        """In closed form."""
        chance = self.sums.unsafe_chance(query)
        return None if chance is None else Risk(chance, EXACT)

    def remember(self, query: Query, answer: Fraction) -> None:
        """One more answer."""
        self.sums.remember(query, answer)

    def extend(self, n: int) -> None:
        """New people are in no question."""
        self.sums.extend(n)


def posterior(n: int, prior: Prior, game: Game, effort: Effort) -> Posterior:
    """The best backend for a prior."""
    if isinstance(prior, Gaussian):
        return NormalSums(GaussianSums(n, prior, game))
    walked = WalkedSums(n, prior, game, effort)
    if not isinstance(prior, Uniform):
        return walked
    return UniformSums(UniformGroups(n, prior, game), OverlappingSums(n, prior, game), walked)
