"""The probabilistic sum auditor: answers unless an unsafe answer is too likely."""

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
    """Answers a sum (or a linear question) iff an unsafe answer is unlikely enough, given the public prior and the past.

    ``ask(members)`` decides; the answer given must then be told with ``record(members, answer)``. Bounded columns are
    welcome: a uniform prior has them.

    *Guarantee*: (lambda, delta, beta, T)-private: over T rounds the chance that some answer moves the belief about some person's value lying in an
    interval of prior chance >= 1/beta by more than a factor 1 + lambda is at most delta. Exact with a Gaussian prior, and with a
    uniform one while questions reduce to disjoint sums; there the chance of an unsafe answer is rounded up by more than the error of
    floating point, and what stays too close to call is denied. Plain sums that overlap under a uniform prior, and all plain sums under an exponential one, are decided
    by exact draws with a certified bound, whose error the verdict states. Elsewhere hit-and-run gives an "estimate, mixing not certified"; its
    ``votes`` and ``samples`` default to what the guarantee asks for, which is practical for a few dozen people only; with ``exact_only``
    such questions are denied at once.
    *Adversary*: knows the prior, all questions, answers and refusals; values are independent draws from the prior.
    *Source*: Kenthapadi, Mishra, Nissim, Simulatable auditing (2005), with corrections.

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
            raise PolicyError(f"prior must be a law such as Gaussian(0, 1) or Uniform(0, 100), but it is {prior!r}.")
        for name, value in (("votes", votes), ("samples", samples)):
            if value is not None:
                whole(value, name, low=1)
        self.prior = prior
        self._classical = SumAuditor(n)
        self._posterior = posterior(n, prior, game, Effort(votes, samples, exact_only))

    def _decide(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> Decision:
        known = self._classical.would_answer(query)
        if known.rule in ("implied", EXPOSES.rule):
            return known
        risk = self._posterior.risk(query, threshold, rng)
        if risk is None:
            return UNDECIDED
        return safe(threshold, risk.how) if risk.chance <= float(threshold) else unsafe(threshold, risk.how)

    def _remember(self, query: AggregateQuery, answer: Fraction) -> None:
        if self._classical.would_answer(query).rule != "implied":
            # The posterior first: it may refuse an answer that the prior excludes, and then nothing has changed.
            self._posterior.remember(query, answer)
            self._classical.record(query)

    def _extend(self, n: int) -> None:
        self._classical.extend(n)
        self._posterior.extend(n)


def decide(
    history: QueryHistory, query: AggregateQuery, prior: Prior, game: Game, *, asked: int | None = None, key: bytes
) -> Decision:
    """Answer or deny ``query`` after ``history``: a function of its arguments, without a handle to the data.

    ``asked`` is the number of rounds used, which is at least the number of answers; ``key`` is the private randomness.
    """
    used = len(history.answered) if asked is None else asked
    auditor = ProbabilisticSumAuditor(history.n, prior, game, asked=used, key=key)
    for entry in history.answered:
        if entry.answer is None:
            raise PolicyError("answer is missing: a probabilistic auditor needs the answers given so far.")
        auditor.record(entry.query, entry.answer)
    return auditor.would_answer(query)
