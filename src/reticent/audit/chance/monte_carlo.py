"""The test SAFE by sampling, and the vote over possible answers.

One batch of data sets decides for all people and all cells: each share is an average over the batch, and the union
bound does not need independent batches. This is cheaper than one batch per pair by a factor of people times cells, with
the same guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.audit.chance.game import PriorCells
from reticent.audit.chance.priors import Prior
from reticent.audit.chance.walk import Walk

FloatArray = NDArray[np.float64]
NOT_CERTIFIED = "estimate, mixing not certified"

_BATCH = 256
_BURN_IN = 100


@dataclass
class Tally:
    """Counts of how often each person's value fell into each cell of equal prior probability, per chain. Mutable: a counter."""

    prior: Prior
    cells: PriorCells
    chains: int
    people: int

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.chains * self.people * self.cells.count, dtype=np.int64)
        self._places = np.arange(self.chains * self.people).reshape(self.chains, self.people) * self.cells.count
        self.seen = 0

    def add(self, points: FloatArray) -> None:
        """Count, for one data set per chain, the cell of the prior that each value belongs to."""
        cell = (self.prior.cumulative(points) * self.cells.count).astype(np.int64)
        self.counts[self._places + np.minimum(cell, self.cells.count - 1)] += 1
        self.seen += 1

    def safe(self) -> NDArray[np.bool_]:
        """Return, for each chain, whether every cell of every person got its share of the prior within a factor 1 +
        lambda~/3 (SAFE).

        Compared in integers.
        """
        allowed = 1 + self.cells.slack / 3
        scaled = self.counts.reshape(self.chains, -1) * self.cells.count
        lowest = -(-self.seen * allowed.denominator // allowed.numerator)
        highest = self.seen * allowed.numerator // allowed.denominator
        return np.asarray(((scaled >= lowest) & (scaled <= highest)).all(axis=1))


def safe(prior: Prior, cells: PriorCells, data: FloatArray) -> bool:
    """Return whether data sets sampled from the posterior, one per row, keep every person safe (SAFE)."""
    tally = Tally(prior, cells, 1, data.shape[1])
    for row in data:
        tally.add(row[None, :])
    return bool(tally.safe()[0])


@dataclass(frozen=True)
class Vote:
    """The vote by hit-and-run: ``votes`` possible answers, each checked with ``samples`` data sets.

    ``thin`` steps are made per data set. A possible data set is itself a sample from the posterior given its own
    answer, so the chain for this answer starts there and needs no burn-in.
    """

    walk: Walk
    cells: PriorCells
    votes: int
    samples: int

    @property
    def thin(self) -> int:
        """Steps between two data sets of a chain: the number of dimensions."""
        return max(1, int(self.walk.directions.shape[1]))

    @property
    def work(self) -> int:
        """The cost of the full vote, in moves of single people."""
        return self.votes * self.samples * self.thin * int(self.walk.matrix.shape[1])

    def unsafe_share(
        self, answers: FloatArray, question: FloatArray, threshold: float, rng: np.random.Generator
    ) -> float:
        """Return the share of possible answers, sampled given the earlier ones, after which some person would not be
        safe.

        Stops early once the share must exceed the threshold.
        """
        start = self.walk.start(answers)
        after = Walk(self.walk.prior, np.vstack([self.walk.matrix, question]))
        rejected = votes_cast = 0
        while votes_cast < self.votes and rejected <= threshold * self.votes:
            chains = min(_BATCH, self.votes - votes_cast)
            points = self.walk.run(np.tile(start, (chains, 1)), _BURN_IN * self.thin, rng)
            tally = Tally(self.walk.prior, self.cells, chains, points.shape[1])
            for _ in range(self.samples):
                points = after.run(points, self.thin, rng)
                tally.add(points)
            rejected += int((~tally.safe()).sum())
            votes_cast += chains
        return rejected / self.votes
