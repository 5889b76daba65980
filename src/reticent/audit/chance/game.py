"""The privacy game of partial disclosure. Source: [Kenthapadi2005]; [Kenthapadi2006], chapter 2.

Values are independent samples from a public prior. A sequence of answers is lambda-safe for a person and an interval if
the posterior probability of the interval, *given the answers*, is within a factor 1 + lambda of its prior probability
(corrected: the printed definition uses the joint probability). ``AllSafe`` requires this for every person and every
interval of prior probability at least 1/beta. The adversary wins if some answered round violates it. An auditor is
(lambda, delta, beta, T)-private if the adversary wins with probability at most delta over T rounds; denied rounds
count.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil, floor

from reticent.base.exact import Number, exact, whole
from reticent.errors import PolicyError

_DIGITS = Context(prec=60)


@dataclass(frozen=True)
class Game:
    """The parameters ``lambda_``, ``beta``, ``delta`` and the number of ``rounds``.

    ``open_ended`` is for an unknown horizon: half of ``delta`` is spent on the first ``rounds`` queries, a quarter on
    the next ``rounds``, and so on.
    """

    lambda_: Number
    beta: Number
    delta: Number
    rounds: int
    open_ended: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "lambda_", exact(self.lambda_, "lambda_", above=0))
        object.__setattr__(self, "beta", exact(self.beta, "beta", above=1))
        object.__setattr__(self, "delta", exact(self.delta, "delta", above=0, below=1))
        whole(self.rounds, "rounds", low=1)
        if not isinstance(self.open_ended, bool):
            raise PolicyError(f"open_ended must be True or False, but it is {self.open_ended!r}.")

    @property
    def factor(self) -> Fraction:
        """1 + lambda: the largest allowed ratio of posterior and prior."""
        return 1 + Fraction(self.lambda_)

    @property
    def share(self) -> Fraction:
        """1 / beta: the smallest prior probability of an interval that is protected; beta must be positive."""
        beta = Fraction(self.beta)
        return 1 / beta if beta > 0 else Fraction(1)

    @property
    def budget(self) -> Fraction:
        """The total failure probability delta."""
        return Fraction(self.delta)

    def threshold(self, asked: int) -> Fraction | None:
        """Return the largest allowed probability of an unsafe answer to the next query after ``asked`` ones; None if
        none is allowed.

        It is half of the share delta / T that the union bound gives to each of T rounds (corrected: the printed proof
        uses delta); the other half covers the error of an estimate.
        """
        if not self.open_ended:
            return self.budget / (2 * self.rounds) if asked < self.rounds else None
        return self.budget / (2 * self.rounds) / Fraction(2 ** (asked // self.rounds + 1))

    def votes(self, asked: int = 0) -> int:
        """Return how many data sets vote on a query: ``ceil(11.25 (T/delta) ln(T/delta))`` with the budget of its rounds."""
        threshold = self.threshold(asked)
        if threshold is None:
            raise PolicyError(f"All {self.rounds} rounds of the game are used.")
        return votes_for(threshold)


def votes_for(threshold: Fraction) -> int:
    """Return how many votes distinguish a risk of ``threshold`` from twice as much (Chernoff bound with an explicit constant)."""
    ratio = 1 / (2 * threshold)
    return _ceiling(Fraction(45, 4) * ratio, ratio)


@dataclass(frozen=True)
class PriorCells:
    """The finite check of [Kenthapadi2006], Lemma 2.6.1: ``count`` cells of equal prior probability, each
    ``slack``-safe, imply AllSafe.

    ``c`` is a whole number above 1 + 2/lambda; then count = ceil(c beta) and slack = (lambda (c-1) - 2) / (c+1). A
    larger ``c`` gives more cells, each with more slack.
    """

    game: Game
    c: int

    def __post_init__(self) -> None:
        minimum = 1 + 2 / Fraction(self.game.lambda_)
        whole(self.c, "c", low=2)
        if self.c <= minimum:
            raise PolicyError(f"c must be above 1 + 2/lambda_ = {minimum}, but it is {self.c}.")

    @classmethod
    def of(cls, game: Game) -> PriorCells:
        """Return the cells that need the fewest samples."""
        first = floor(1 + 2 / Fraction(game.lambda_)) + 1
        return min((cls(game, c) for c in range(first, 4 * first + 8)), key=lambda cells: cells.samples("0.01"))

    @property
    def count(self) -> int:
        """The number of cells, l."""
        return ceil(self.c / self.game.share)

    @property
    def slack(self) -> Fraction:
        """lambda~: the safety parameter of each cell."""
        return (Fraction(self.game.lambda_) * (self.c - 1) - 2) / (self.c + 1)

    def samples(self, eta: Number) -> int:
        """Return a sufficient number of samples: the error of a share is largest at the threshold, so the variance there counts."""
        slack = self.slack
        return _ceiling(81 * self.count * (1 + slack) * (1 + slack / 3) ** 2 / slack**2, 2 / _chance(eta))

    def safe(self, shares: Fraction, slack: Fraction | None = None) -> bool:
        """True if a cell with this posterior probability is safe."""
        allowed = 1 + (self.slack if slack is None else slack)
        return 1 / allowed <= shares * self.count <= allowed


def _chance(eta: Number) -> Fraction:
    return exact(eta, "eta", above=0, below=1)


def _ceiling(factor: Fraction, argument: Fraction) -> int:
    """Return ``ceil(factor * ln(argument))``, computed with 60 digits."""
    logarithm = _DIGITS.ln(_DIGITS.divide(Decimal(argument.numerator), Decimal(argument.denominator)))
    scaled = _DIGITS.divide(_DIGITS.multiply(logarithm, Decimal(factor.numerator)), Decimal(factor.denominator))
    return int(scaled.to_integral_value(rounding=ROUND_CEILING))
