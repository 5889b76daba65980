"""What the answered sums say about everybody, one class for each kind of prior, the exact ones first."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.audit.chance.class_sums import ExponentialSumsOfClasses, UniformSumsOfClasses
from reticent.audit.chance.game import Game, PriorCells, votes_for
from reticent.audit.chance.gaussian import GaussianSums, weights_of
from reticent.audit.chance.monte_carlo import NOT_CERTIFIED, Vote
from reticent.audit.chance.overlapping_sums import OverlappingSums
from reticent.audit.chance.priors import Exponential, Gaussian, Prior, Uniform
from reticent.audit.chance.uniform import UniformGroups
from reticent.audit.chance.walk import Walk
from reticent.audit.decision import AggregateQuery

FloatArray = NDArray[np.float64]
EXACT = "exact"

# Single moves of single people that one decision may cost, about a minute. Beyond it the question is denied.
WORK_LIMIT = 1_000_000_000


@dataclass(frozen=True)
class PosteriorRisk:
    """The chance, rounded up, that an answer would be unsafe, and how it was found."""

    chance: float
    how: str


class Posterior(Protocol):
    """What the answers so far say."""

    def risk(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> PosteriorRisk | None:
        """The risk of answering an independent question; None where it cannot be told reliably."""

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
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

    def risk(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> PosteriorRisk | None:
        """The share of possible answers that SAFE rejects."""
        if self.effort.exact_only:
            return None
        cells = PriorCells.of(self.game)
        # SAFE may err in a tenth of what a round may risk.
        samples = self.effort.samples or cells.samples(threshold / 5)
        votes = self.effort.votes or votes_for(threshold)
        vote = Vote(Walk(self.prior, np.array(self.rows).reshape(len(self.rows), self.n)), cells, votes, samples)
        if vote.work > WORK_LIMIT:
            return None
        share = vote.unsafe_share(np.array(self.answers), weights_of(query, self.n), float(threshold), rng)
        return PosteriorRisk(share, NOT_CERTIFIED)

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """One more answer."""
        self.rows.append(weights_of(query, self.n))
        self.answers.append(float(answer))

    def extend(self, n: int) -> None:
        """New people are in no question."""
        self.rows = [np.append(row, np.zeros(n - self.n)) for row in self.rows]
        self.n = n


@dataclass
class DrawnSums:
    """A uniform or exponential prior: by certified draws, elsewhere by hit-and-run. Mutable.

    ``groups`` decide exactly while the answers reduce to disjoint sums, under a uniform prior.
    """

    overlapping: OverlappingSums
    walked: WalkedSums
    groups: UniformGroups | None = None
    plain: bool = True

    def risk(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> PosteriorRisk | None:
        """Exact if the groups stay disjoint, else bounded from exact draws."""
        change = self.groups.change(query) if self.groups is not None else None
        if self.groups is not None and change is not None:
            return PosteriorRisk(self.groups.unsafe_chance(change), EXACT)
        found = self.overlapping.risk(query, threshold, rng) if self.plain else None
        if found is None:
            return self.walked.risk(query, threshold, rng)
        return PosteriorRisk(
            found.bound, f"bounded from {found.draws:,} exact draws, wrong with a chance of at most {found.error:.1g}"
        )

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """One more answer, for all of them."""
        if self.groups is not None and self.groups.change(query) is None:
            self.groups = None
        if self.groups is not None:
            self.groups.remember(query, answer)
        self.plain = self.plain and query.coefficients is None
        if self.plain:
            self.overlapping.remember(query, answer)
        self.walked.remember(query, answer)

    def extend(self, n: int) -> None:
        """New people are in no question."""
        for each in (self.groups, self.overlapping, self.walked):
            if each is not None:
                each.extend(n)


@dataclass
class NormalSums:
    """A Gaussian prior: exact. Mutable."""

    sums: GaussianSums

    def risk(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> PosteriorRisk | None:
        """In closed form."""
        chance = self.sums.unsafe_chance(query)
        return None if chance is None else PosteriorRisk(chance, EXACT)

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
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
    if isinstance(prior, Exponential):
        return DrawnSums(OverlappingSums(n, ExponentialSumsOfClasses(prior), game), walked)
    if not isinstance(prior, Uniform):
        return walked
    return DrawnSums(
        OverlappingSums(n, UniformSumsOfClasses(prior), game), walked, groups=UniformGroups(n, prior, game)
    )
