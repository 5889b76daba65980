"""The probabilistic sum auditor: answers unless an unsafe answer is too likely. Source: [Kenthapadi2005]."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from reticent.audit.chance.auditor import UNDECIDED, ChanceAuditor, safe, unsafe
from reticent.audit.chance.game import Game
from reticent.audit.chance.posterior import Effort, posterior
from reticent.audit.chance.priors import Prior
from reticent.audit.decision import AggregateQuery, Decision, QueryHistory
from reticent.audit.reasons import EXPOSES
from reticent.audit.sums import SumAuditor
from reticent.base.exact import whole
from reticent.errors import PolicyError


class ProbabilisticSumAuditor(ChanceAuditor):
    """Answers a sum (or a linear query) iff an unsafe answer is unlikely enough, given the public prior and the past.

    ``ask(members)`` decides; the answer must then be passed to ``record(members, answer)``. Bounded columns are
    supported: by a uniform prior.

    *Guarantee*: (lambda, delta, beta, T)-private: over T rounds the probability that some answer changes the belief
    that some person's value is in an interval of prior probability >= 1/beta by more than a factor 1 + lambda is at
    most delta. Exact with a Gaussian prior, and with a uniform one while queries reduce to disjoint sums; there the
    probability of an unsafe answer is rounded up by more than the floating-point error, and borderline cases are
    denied. Plain sums that overlap under a uniform prior, and all plain sums under an exponential one, are decided by
    exact samples with a certified bound, whose error the verdict states. Elsewhere hit-and-run gives an "estimate,
    mixing not certified"; its ``votes`` and ``samples`` default to what the guarantee requires, which is practical for
    a few dozen people only; with ``exact_only`` such queries are denied at once. *Adversary*: knows the prior, all
    queries, answers and denials; values are independent samples from the prior. *Source*: [Kenthapadi2005],
    with corrections (see :mod:`reticent.audit.chance.game`).

    >>> from reticent.audit.chance import Game, Gaussian
    >>> auditor = ProbabilisticSumAuditor(100, Gaussian(), Game(lambda_=1, beta=5, delta="0.1", rounds=10))
    >>> auditor.ask(range(20)), auditor.ask(range(50))
    (False, True)
    """

    function: ClassVar[str] = "sum"

    def __init__(
        self,
        n: int,
        prior: Prior,
        game: Game,
        *,
        asked: int = 0,
        votes: int | None = None,
        samples: int | None = None,
        exact_only: bool = False,
        key: bytes | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(n, game, asked=asked, key=key, insecure_seed=insecure_seed)
        if not isinstance(prior, Prior):
            raise PolicyError(
                f"prior must be a distribution such as Gaussian(0, 1) or Uniform(0, 100), but it is {prior!r}."
            )
        for name, value in (("votes", votes), ("samples", samples)):
            if value is not None:
                whole(value, name, low=1)
        self.prior = prior
        self._classical = SumAuditor(n)
        self._posterior = posterior(n, prior, game, Effort(votes, samples, exact_only))

    def _decide(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> Decision:
        """Decide by the classical rules first, then by the probability of an unsafe answer."""
        classical = self._classical.would_answer(query)
        if classical.rule in ("implied", EXPOSES.rule):
            return classical
        risk = self._posterior.risk(query, threshold, rng)
        if risk is None:
            return UNDECIDED
        return safe(threshold, risk.how) if risk.chance <= float(threshold) else unsafe(threshold, risk.how)

    def _remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Record an answer, unless earlier answers imply it."""
        if self._classical.would_answer(query).rule != "implied":
            # The posterior first: it may refuse an answer that the prior excludes, before anything has changed.
            self._posterior.remember(query, answer)
            self._classical.record(query)

    def _extend(self, n: int) -> None:
        self._classical.extend(n)
        self._posterior.extend(n)


def decide(
    history: QueryHistory, query: AggregateQuery, prior: Prior, game: Game, *, asked: int | None = None, key: bytes
) -> Decision:
    """Answer or deny ``query`` after ``history``: a pure function, without access to the data.

    ``asked`` is the number of rounds used, at least the number of answers; ``key`` is the private randomness.
    """
    used = len(history.answered) if asked is None else asked
    auditor = ProbabilisticSumAuditor(history.n, prior, game, asked=used, key=key)
    for entry in history.answered:
        if entry.answer is None:
            raise PolicyError("answer is missing: a probabilistic auditor needs the answers given so far.")
        auditor.record(entry.query, entry.answer)
    return auditor.would_answer(query)
