"""Common base of the probabilistic auditors: rounds, the order of queries and records, and reproducible randomness.

The randomness of a decision is derived from a private key, the answers so far and the query. So two runs over the same
history decide alike, and repeating a query does not sample again: a denial cannot be worn down by repetition.
"""

from __future__ import annotations

import hashlib
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

import numpy as np

from reticent.audit.chance.game import Game
from reticent.audit.decision import AggregateQuery, Decision, Members, as_answer, as_members
from reticent.base.exact import Number, whole
from reticent.errors import PolicyError

_USED_UP = Decision(False, "All rounds of the game are used: no further query is answered.", "rounds-used")


def unsafe(threshold: Fraction, how: str) -> Decision:
    """Return the denial of a query whose answer is too likely to be unsafe."""
    text = f"The probability of an answer that shifts a belief too far exceeds the limit {float(threshold):.3g} of this round ({how})."
    return Decision(False, text, "unsafe")


def safe(threshold: Fraction, how: str) -> Decision:
    """Return the permission to answer."""
    text = f"The probability of an answer that shifts a belief too far is within the limit {float(threshold):.3g} of this round ({how})."
    return Decision(True, text, "safe")


UNDECIDED = Decision(
    False,
    "The risk of this query cannot be computed reliably with reasonable effort: it overlaps earlier queries too closely, or needs too many samples. Query people who are in no earlier query, or all of them.",
    "undecided",
)


class ChanceAuditor(ABC):
    """Decides in rounds; denied rounds count. ``asked`` is the number of rounds used before, for a restart from a record."""

    function: ClassVar[str]

    def __init__(
        self, n: int, game: Game, *, asked: int = 0, key: bytes | None = None, insecure_seed: int | None = None
    ) -> None:
        """Start without answers.

        ``asked`` rounds of the game are used already; ``key`` is the private randomness, fresh by default.
        """
        if not isinstance(game, Game):
            raise PolicyError(f"game must be a Game(lambda_, beta, delta, rounds), but it is {game!r}.")
        if key is not None and insecure_seed is not None:
            raise PolicyError("key and insecure_seed exclude each other: pass at most one.")
        self._n = whole(n, "n", low=1)
        self.game = game
        self.asked = whole(asked, "asked", low=0)
        seeded = None if insecure_seed is None else hashlib.sha256(str(insecure_seed).encode()).digest()
        self._key = key or seeded or secrets.token_bytes(32)
        self._past = hashlib.sha256()
        self._awaited: AggregateQuery | None = None

    @property
    def n(self) -> int:
        """The number of variables."""
        return self._n

    def would_answer(self, members: Members | Mapping[int, int] | AggregateQuery) -> Decision:
        """Return the decision on a query without using a round."""
        self._expect_nothing()
        query = self._query(members)
        threshold = self.game.threshold(self.asked)
        return _USED_UP if threshold is None else self._decide(query, threshold, self._rng(query, threshold))

    def ask(self, members: Members | Mapping[int, int] | AggregateQuery) -> bool:
        """Return whether the query is answered; if so, :meth:`record` must follow. Either way a round is used."""
        query = self._query(members)
        decision = self.would_answer(query)
        self.asked += 1
        if decision:
            self._awaited = query
        return decision.answer

    def record(self, members: Members | Mapping[int, int] | AggregateQuery, answer: Number) -> None:
        """Record the answer to the last query, or to a query before a restart."""
        query, value = self._query(members), Fraction(as_answer(answer))
        if self._awaited is not None and query != self._awaited:
            raise PolicyError("record needs the answer to the last query, but it names other people.")
        self._remember(query, value)
        self._past.update(f"{query.identity} {value}\n".encode())
        self._awaited = None

    def extend(self, n: int) -> None:
        """Grow to ``n`` variables; the new ones are in no answered query."""
        if whole(n, "n", low=1) < self.n:
            raise PolicyError(
                f"n cannot fall from {self.n} to {n}: variables of people who left are kept, because answers refer to them."
            )
        self._extend(n)
        self._n = n

    @abstractmethod
    def _decide(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> Decision:
        """Answer iff the probability of an unsafe answer is at most the threshold."""

    @abstractmethod
    def _remember(self, query: AggregateQuery, answer: Fraction) -> None:
        """Add an answer to the state."""

    @abstractmethod
    def _extend(self, n: int) -> None:
        """Grow the state to ``n`` people."""

    def _rng(self, query: AggregateQuery, threshold: Fraction) -> np.random.Generator:
        seed_text = f"{self._past.hexdigest()} {query.identity} {threshold}".encode()
        return np.random.default_rng(int.from_bytes(hashlib.sha256(self._key + seed_text).digest()))

    def _query(self, members: Members | Mapping[int, int] | AggregateQuery) -> AggregateQuery:
        """Return members, or coefficients by member, as a query of this auditor's function. Raises for another function, and for members beyond ``n``."""
        if isinstance(members, Mapping):
            query = AggregateQuery.linear(members)
        else:
            query = members if isinstance(members, AggregateQuery) else AggregateQuery.of(members, self.function)
        if query.function != self.function:
            raise PolicyError(f"A {self.function} auditor cannot decide on a {query.function}.")
        as_members(query.members, self.n)
        return query

    def _expect_nothing(self) -> None:
        """Raise if the answer of the last allowed query is not recorded yet."""
        if self._awaited is not None:
            raise PolicyError(
                f"The last {self.function} was allowed and its answer is not recorded yet: "
                "call record(members, answer) first."
            )
