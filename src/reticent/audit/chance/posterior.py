"""The posterior given the answered sums: one class per kind of prior, the exact ones first."""

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

# Maximum number of single-person moves per decision, about a minute. Beyond it the query is denied.
WORK_LIMIT = 1_000_000_000


@dataclass(frozen=True)
class PosteriorRisk:
    """The probability, rounded up, that an answer would be unsafe, and how it was computed."""

    chance: float
    how: str


class Posterior(Protocol):
    """The posterior given the answers so far."""

    def risk(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> PosteriorRisk | None:
        """Return the risk of answering an independent query; None if it cannot be determined reliably."""

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Add an answer."""

    def extend(self, n: int) -> None:
        """Add people."""


@dataclass
class Effort:
    """How many possible answers vote and how many data sets check each; None for as many as the guarantee requires.

    ``exact_only`` leaves queries undecided that would need a vote: a service must not block all users for one query.
    """

    votes: int | None = None
    samples: int | None = None
    exact_only: bool = False


@dataclass
class WalkedSums:
    """Any log-concave prior, by hit-and-run. Mutable: grows with every answer."""

    n: int
    prior: Prior
    game: Game
    effort: Effort
    rows: list[FloatArray] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)

    def risk(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> PosteriorRisk | None:
        """Return the share of possible answers that SAFE rejects."""
        if self.effort.exact_only:
            return None
        cells = PriorCells.of(self.game)
        # SAFE may use a tenth of the failure probability of a round.
        samples = self.effort.samples or cells.samples(threshold / 5)
        votes = self.effort.votes or votes_for(threshold)
        vote = Vote(Walk(self.prior, np.array(self.rows).reshape(len(self.rows), self.n)), cells, votes, samples)
        if vote.work > WORK_LIMIT:
            return None
        share = vote.unsafe_share(np.array(self.answers), weights_of(query, self.n), float(threshold), rng)
        return PosteriorRisk(share, NOT_CERTIFIED)

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Add an answer."""
        self.rows.append(weights_of(query, self.n))
        self.answers.append(float(answer))

    def extend(self, n: int) -> None:
        """Add people who are in no query."""
        self.rows = [np.append(row, np.zeros(n - self.n)) for row in self.rows]
        self.n = n


@dataclass
class DrawnSums:
    """A uniform or exponential prior: certified samples, otherwise hit-and-run. Mutable.

    ``groups`` decide exactly while the answers reduce to disjoint sums, under a uniform prior.
    """

    overlapping: OverlappingSums
    walked: WalkedSums
    groups: UniformGroups | None = None
    plain: bool = True

    def risk(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> PosteriorRisk | None:
        """Return the risk: exact if the groups stay disjoint, else bounded from exact samples."""
        change = self.groups.change(query) if self.groups is not None else None
        if self.groups is not None and change is not None:
            return PosteriorRisk(self.groups.unsafe_chance(change), EXACT)
        bounded = self.overlapping.risk(query, threshold, rng) if self.plain else None
        if bounded is None:
            return self.walked.risk(query, threshold, rng)
        return PosteriorRisk(
            bounded.bound,
            f"bounded from {bounded.draws:,} exact samples, wrong with a probability of at most {bounded.error:.1g}",
        )

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Add an answer to every posterior that can still represent the queries: disjoint groups, overlapping plain
        sums, the random walk.
        """
        if self.groups is not None and self.groups.change(query) is None:
            self.groups = None
        if self.groups is not None:
            self.groups.remember(query, answer)
        self.plain = self.plain and query.coefficients is None
        if self.plain:
            self.overlapping.remember(query, answer)
        self.walked.remember(query, answer)

    def extend(self, n: int) -> None:
        """Add people who are in no query."""
        for sums in (self.groups, self.overlapping, self.walked):
            if sums is not None:
                sums.extend(n)


@dataclass
class NormalSums:
    """A Gaussian prior: exact. Mutable."""

    sums: GaussianSums

    def risk(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> PosteriorRisk | None:
        """Return the risk in closed form."""
        chance = self.sums.unsafe_chance(query)
        return None if chance is None else PosteriorRisk(chance, EXACT)

    def remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Add an answer."""
        self.sums.remember(query, answer)

    def extend(self, n: int) -> None:
        """Add people who are in no query."""
        self.sums.extend(n)


def posterior(n: int, prior: Prior, game: Game, effort: Effort) -> Posterior:
    """Return the best posterior for a prior."""
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
