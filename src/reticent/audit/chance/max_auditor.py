"""The probabilistic auditor of maxima and minima of distinct values (derived for this project; it is not in
[Kenthapadi2006]).

On the scale u = H(x) of the prior's distribution function every value is uniform on [0, 1]. Answered maxima are
equivalent to disjoint predicates: ``max(S) = M``, where each member attains it with probability 1/|S| and is otherwise
uniform below M, and ``max(S) < M``, where each is uniform below M. The probability of an unsafe answer is then a sum
over the gaps between the bounds and over the bounds themselves, in closed form; drawing data sets and voting gives the
same and is kept for comparison. Values above M become impossible, so M must be near the top: only large sets can
be answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reticent.audit.chance.auditor import ChanceAuditor, safe, unsafe
from reticent.audit.chance.game import Game, PriorCells
from reticent.audit.chance.posterior import EXACT
from reticent.audit.chance.priors import Prior
from reticent.audit.decision import AggregateQuery, Decision
from reticent.errors import DataError, PolicyError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Rounding error of a probability that is a sum of products of powers.
MARGIN = 1e-10


@dataclass(frozen=True)
class MaximumJudge:
    """Decides which bounds M keep every member of a predicate safe: those in an interval that depends on its size.

    Without ``cells`` every window of prior probability 1/beta is checked; with cells those of the finite check,
    slack-safe.
    """

    game: Game
    cells: PriorCells | None = None

    def safe_range(self, size: float) -> tuple[float, float]:
        """Return the smallest and largest safe M, if it is known that the maximum of ``size`` people is M, or (``size``
        infinite) that it is below M.

        No M is safe if the first exceeds the second.
        """
        holder_share = 1 / size
        other_share = 1 - holder_share
        if other_share <= 0:
            return 1.0, 0.0
        return (
            self._by_windows(holder_share, other_share)
            if self.cells is None
            else self._by_cells(holder_share, other_share, self.cells)
        )

    def _by_windows(self, holder_share: float, other_share: float) -> tuple[float, float]:
        """Return the safe range of M if no interval ("window") of prior probability 1/beta may change its probability
        by more than the allowed factor.

        Windows below M have the ratio ``other_share / M`` of posterior to prior, the top one less, and one that ends in
        M more. If 1/beta exceeds M no window fits below M; the largest window then has probability 1 and ratio beta.
        """
        window, allowed = float(self.game.share), float(self.game.factor)
        # Top window: holder_share + other_share (M - 1 + window) / M >= window / allowed.
        shortage = holder_share + other_share - window / allowed
        top = other_share * (1 - window) / shortage if shortage > 0 else 2.0
        low = max(1 - window, top)
        if window * allowed >= 1:
            return low, min(1.0, max(other_share * allowed, window))
        # A window ending in M: holder_share + other_share * window / M <= window * allowed.
        allowance = window * allowed - holder_share
        lowest = other_share * window / allowance if allowance > 0 else 2.0
        return max(low, window, other_share / allowed, lowest), min(1.0, other_share * allowed)

    def _by_cells(self, holder_share: float, other_share: float, cells: PriorCells) -> tuple[float, float]:
        """Return the safe range of M if no cell of the prior may change its probability by more than the allowed
        factor.

        Cells below the top one have the ratio ``other_share / M`` of posterior to prior, the top one ``count
        (holder_share + other_share (1 - (count - 1) / (count M)))``.
        """
        count, allowed = cells.count, float(1 + cells.slack)
        low = max((count - 1) / count, other_share / allowed)
        high = min(1.0, other_share * allowed)
        for limit, is_least in ((1 / allowed, True), (allowed, False)):
            gap = count - (limit - count * holder_share) / other_share
            if is_least:
                low = max(low, (count - 1) / gap if gap > 0 else 2.0)
            elif gap > 0:
                high = min(high, (count - 1) / gap)
        return low, high

    def allows(self, bound: float, size: float) -> bool:
        """True if a predicate of this size with this bound keeps all its members safe."""
        low, high = self.safe_range(size)
        return low + MARGIN <= bound <= high - (MARGIN if high < 1 else 0.0)


@dataclass
class Synopsis:
    """The predicates, on the scale of the prior; number 0 covers people in no query yet. Mutable: grows with answers."""

    n: int
    judge: MaximumJudge
    predicate: IntArray = field(init=False)
    size: list[int] = field(init=False)
    bound: list[float] = field(init=False)
    exact_bound: list[Fraction | None] = field(init=False)
    equal: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        self.predicate = np.zeros(self.n, dtype=np.int64)
        self.size, self.bound, self.exact_bound, self.equal = [self.n], [1.0], [None], [False]

    def extend(self, n: int) -> None:
        """Add people who are in no query yet."""
        self.predicate = np.append(self.predicate, np.zeros(n - self.n, dtype=np.int64))
        self.size[0] += n - self.n
        self.n = n

    def all_safe(self) -> bool:
        """True if every predicate (group of people with a common maximum or upper bound) is safe after the answers so
        far.
        """
        return all(
            self._safe(self.bound[predicate], size, self.equal[predicate])
            for predicate, size in enumerate(self.size)
            if predicate and size
        )

    def _safe(self, bound: float, size: int, equal: bool) -> bool:
        return self.judge.allows(bound, size if equal else np.inf)

    def chance_below(self, members: IntArray, level: float, *, strictly: bool = False) -> float:
        """Return the probability that the maximum of ``members`` is at most ``level`` (or below it), given the answers
        so far.

        The predicates (groups of people with a common maximum or upper bound) are independent.
        """
        predicates, member_counts = np.unique(self.predicate[members], return_counts=True)
        total = 1.0
        for predicate, count in zip(predicates.tolist(), member_counts.tolist(), strict=True):
            bound = self.bound[predicate]
            if level > bound or (level == bound and not (strictly and self.equal[predicate])):
                continue
            holder_elsewhere = 1 - count / self.size[predicate] if self.equal[predicate] else 1.0
            total *= holder_elsewhere * (level / bound) ** count
        return total

    def unsafe_chance(self, members: IntArray) -> float:
        """Return the probability, rounded up, that the maximum of ``members`` would be unsafe for some person."""
        if not self.all_safe():
            return 1.0
        predicates, member_counts = np.unique(self.predicate[members], return_counts=True)
        counts = dict(zip(predicates.tolist(), member_counts.tolist(), strict=True))
        levels = sorted({self.bound[predicate] for predicate in counts})
        safe_chance = sum(
            self._safe_between(members, counts, low, high) for low, high in zip([0.0, *levels], levels, strict=False)
        )
        safe_chance += sum(self._safe_at(members, counts, level) for level in levels)
        return min(1.0, max(0.0, 1 - safe_chance) + MARGIN)

    def _above(self, counts: dict[int, int], level: float) -> tuple[int, bool]:
        """Return how many members have a bound of at least ``level``, and whether their groups stay safe without them.

        ``counts`` gives the number of members in each predicate (group with a common maximum or upper bound).
        """
        predicates = [predicate for predicate in counts if self.bound[predicate] >= level]
        remaining_sizes = [
            (predicate, self.size[predicate] - counts[predicate]) for predicate in predicates if predicate
        ]
        remain_safe = all(
            self._safe(self.bound[predicate], size, self.equal[predicate])
            for predicate, size in remaining_sizes
            if size
        )
        # An "=" predicate cannot lose all its members to a smaller maximum: such an answer has probability 0.
        return sum(counts[predicate] for predicate in predicates), remain_safe

    def _safe_between(self, members: IntArray, counts: dict[int, int], low: float, high: float) -> float:
        """Return the probability of a safe maximum strictly between two neighbouring bounds.

        ``counts`` gives the number of members in each predicate (group with a common maximum or upper bound).
        """
        free, remain_safe = self._above(counts, high)
        lowest, highest = self.judge.safe_range(free)
        low, high = max(low, lowest + MARGIN), min(high, highest)
        if not remain_safe or low >= high:
            return 0.0
        return max(0.0, self.chance_below(members, high, strictly=True) - self.chance_below(members, low))

    def _safe_at(self, members: IntArray, counts: dict[int, int], level: float) -> float:
        """Return the probability that the maximum equals ``level``, a bound of earlier answers; 0 if that is not safe.

        ``counts`` gives the number of members in each predicate (group with a common maximum or upper bound).
        """
        holders = [predicate for predicate in counts if self.bound[predicate] == level and self.equal[predicate]]
        if not holders:
            return 0.0
        predicate = holders[0]
        above = [higher for higher in counts if self.bound[higher] > level]
        _, remain_safe = self._above({higher: counts[higher] for higher in above}, level)
        narrowed = self._safe(level, counts[predicate], True)
        lowered = self._safe(level, 1, False) if above or counts[predicate] < self.size[predicate] else True
        if not (remain_safe and narrowed and lowered):
            return 0.0
        return self.chance_below(members, level) - self.chance_below(members, level, strictly=True)

    def remember(self, members: IntArray, answer: Fraction, level: float) -> None:
        """Add the answer that the maximum is ``answer``, which is ``level`` on the scale of the prior.

        Members with a larger bound move to a new predicate (group with a common maximum or upper bound). Raises for an
        answer that contradicts earlier ones.
        """
        if not 0 < level <= 1:
            raise DataError(
                "The recorded answer is outside the support of the prior, so the prior does not fit this column."
            )
        predicate_of = self.predicate[members]
        equal_predicates = [
            group for group in set(predicate_of.tolist()) if self.exact_bound[group] == answer and self.equal[group]
        ]
        has_larger_bound = np.array([self._exceeds(predicate, answer) for predicate in range(len(self.size))])
        free = members[has_larger_bound[predicate_of]]
        equal_bounds = [
            group
            for group, bound in enumerate(self.exact_bound)
            if bound == answer and self.equal[group] and self.size[group]
        ]
        member_counts = np.bincount(self.predicate[free], minlength=len(self.size))
        emptied = any(
            self.equal[group] and self.size[group] and member_counts[group] == self.size[group]
            for group in range(len(self.size))
        )
        if emptied or (equal_bounds and not equal_predicates) or not (equal_predicates or len(free)):
            raise DataError(
                "The recorded answer contradicts earlier answers: no distinct values have these maxima. "
                "Record the answers that were given; a changed value is a new variable."
            )
        self._move(free, answer, level, equal=not equal_predicates)
        if equal_predicates:
            self._move(members[predicate_of == equal_predicates[0]], answer, level, equal=True)
            self.equal[equal_predicates[0]] = False

    def _exceeds(self, predicate: int, answer: Fraction) -> bool:
        bound = self.exact_bound[predicate]
        return bound is None or bound > answer

    def _move(self, people: IntArray, answer: Fraction, level: float, *, equal: bool) -> None:
        """Move people from their predicates into a new one: their maximum equals ``answer`` if ``equal``, otherwise all
        their values are below it.
        """
        if not len(people):
            return
        for predicate, count in zip(*np.unique(self.predicate[people], return_counts=True), strict=True):
            self.size[int(predicate)] -= int(count)
        self.predicate[people] = len(self.size)
        self.size.append(len(people))
        self.bound.append(level)
        self.exact_bound.append(answer)
        self.equal.append(equal)

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Return an exact sample of all values given the answers so far, on the scale of the prior."""
        values: FloatArray = rng.random(self.n) * np.array(self.bound)[self.predicate]
        for predicate, equal in enumerate(self.equal):
            people = np.flatnonzero(self.predicate == predicate)
            if equal and len(people):
                values[rng.choice(people)] = self.bound[predicate]
        return values


class ProbabilisticMaxAuditor(ChanceAuditor):
    """Answers a maximum iff an unsafe answer is unlikely enough, given the public prior and the past.

    ``ask(members)`` decides; the answer must then be passed to ``record(members, answer)``. Values are distinct: they
    are samples from a continuous prior. With ``c`` safety is decided by the finite check of [Kenthapadi2006], Lemma
    2.6.1, otherwise by all windows of prior probability 1/beta.

    *Guarantee*: (lambda, delta, beta, T)-private as for sums, with the probability of an unsafe answer in closed form,
    rounded up. *Adversary*: knows the prior, all queries, answers and denials. *Cost*: O(members + predicates met) per
    decision. *Source*: [Kenthapadi2005] for the game; the auditor itself is new.
    """

    function: ClassVar[str] = "max"

    def __init__(
        self,
        n: int,
        prior: Prior,
        game: Game,
        *,
        c: int | None = None,
        asked: int = 0,
        key: bytes | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(n, game, asked=asked, key=key, insecure_seed=insecure_seed)
        if not isinstance(prior, Prior):
            raise PolicyError(
                f"prior must be a distribution such as Gaussian(0, 1) or Uniform(0, 100), but it is {prior!r}."
            )
        self.prior = prior
        self._synopsis = Synopsis(n, MaximumJudge(game, None if c is None else PriorCells(game, c)))

    def _decide(self, query: AggregateQuery, threshold: Fraction, rng: np.random.Generator) -> Decision:
        chance = self._synopsis.unsafe_chance(query.members)
        return safe(threshold, EXACT) if chance <= float(threshold) else unsafe(threshold, EXACT)

    def _remember(self, query: AggregateQuery, answer: Fraction) -> None:
        self._synopsis.remember(query.members, self._ranked(answer), self._level(answer))

    def _extend(self, n: int) -> None:
        self._synopsis.extend(n)

    def _ranked(self, answer: Fraction) -> Fraction:
        return answer

    def _level(self, answer: Fraction) -> float:
        return float(self.prior.cumulative(np.array([float(answer)]))[0])


class ProbabilisticMinAuditor(ProbabilisticMaxAuditor):
    """The auditor of minima: a minimum is a maximum of negated values."""

    function = "min"

    def _ranked(self, answer: Fraction) -> Fraction:
        return -answer

    def _level(self, answer: Fraction) -> float:
        return 1 - super()._level(answer)
