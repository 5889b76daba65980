"""From a guarantee to its cost, before the protocol runs: coins per sum, coins per party, rounds.

Coin counts are exact: the smallest even number whose distribution satisfies the guarantee. The published bounds are
given for comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast, get_args

import numpy as np

from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.base.exact import Number, exact, one_of, whole
from reticent.errors import PolicyError
from reticent.noise.agreement import rounds_of_broadcast
from reticent.noise.laws import (
    COUNT,
    HISTOGRAM,
    BinomialLaw,
    ExponentialLaw,
    Move,
    NoiseLaw,
    binomial_chances,
    exponential,
    thresholds,
)

Query = Literal["count", "histogram", "sum"]
LawName = Literal["binomial", "exponential"]
Level = Literal["byzantine", "semi-honest"]
QUERIES: tuple[str, ...] = get_args(Query)
LAWS: tuple[str, ...] = get_args(LawName)
LEVELS: tuple[str, ...] = get_args(Level)
MOST_COINS, MOST_PARTIES, MOST_VALUE_BITS = 100_000, 64, 16
_WIDEST, _FINEST = 20, 62
_ROOM_FOR_VARIANCE = Fraction(101, 100)


@dataclass(frozen=True, repr=False)
class NoisePlan(ShownAsCard):
    """Cost of one noisy answer by ``parties`` of whom up to ``faults`` are faulty (lie, collude or crash).

    ``coins`` honest coins go into each sum: faulty parties know their own coins, so these protect nobody. A party deals
    ``quota`` of them, an even number, and (parties - max(faults, 1)) quota >= coins: even without faults a party knows
    its own coins. ``rounds`` is the number of synchronous rounds.

    With the exponential law ``coins`` are hidden bits that nobody knows, generated jointly: two geometric numbers of
    ``width`` bits, each by comparing a number of ``precision`` bits with its threshold. ``quota`` is then the number of
    random numbers that a party deals for each sum.
    """

    epsilon: Fraction
    delta: Fraction
    parties: int
    faults: int
    query: Query
    law: LawName
    bits: int
    level: Level
    coins: int
    quota: int
    width: int = 0
    precision: int = 0

    @property
    def move(self) -> Move:
        """The effect of replacing one row on the answer."""
        return moved(self.query, self.bits)

    @property
    def scale(self) -> Fraction:
        """Scale of the exponential law: the distance between neighbours divided by epsilon."""
        return self.move.distance / self.epsilon

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Bit i of a geometric number is 1 iff its random number of ``precision`` bits is at most ``thresholds[i]``."""
        return thresholds(self.scale, self.width, self.precision) if self.law == "exponential" else ()

    @property
    def honest_law(self) -> NoiseLaw:
        """Distribution of the noise unknown to faulty parties, on which privacy rests."""
        return BinomialLaw(self.coins) if self.law == "binomial" else self._exponential

    @property
    def published_law(self) -> NoiseLaw:
        """Distribution of the noise in an answer with coins of all parties, on which accuracy rests."""
        return BinomialLaw(self.parties * self.quota) if self.law == "binomial" else self._exponential

    @property
    def _exponential(self) -> ExponentialLaw:
        return ExponentialLaw(self.scale, self.width, self.precision)

    @property
    def exact_delta(self) -> Fraction:
        """The actual delta of the honest noise at epsilon, rounded up."""
        return self.honest_law.delta(self.epsilon, self.move)

    @property
    def standard_error(self) -> float:
        """Standard deviation of the noise in one number, if no party is excluded."""
        return math.sqrt(self.published_law.variance)

    @property
    def rounds(self) -> int:
        """Number of synchronous rounds without complaints."""
        return rounds_of(self.faults, self.query, self.law, self.level, self.precision)

    @property
    def printed(self) -> dict[str, float]:
        """Published bounds for one count: variance of Gaussian noise, coins of binomial noise, delta of exponential noise."""
        bounds = {
            "gaussian_variance": 2 * math.log(2 / self.delta) / float(self.epsilon) ** 2,
            "binomial_coins": float(printed_coins(self.epsilon, self.delta)),
        }
        if self.law == "exponential":
            bounds["exponential_delta"] = float(self._exponential.bound(self.epsilon, self.move))
        return bounds

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        own = {"width": self.width, "precision": self.precision} if self.law == "exponential" else {}
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "parties": self.parties,
            "faults": self.faults,
            "level": self.level,
            "query": self.query,
            "bits": self.bits,
            "law": self.law,
            "coins": self.coins,
            "quota": self.quota,
            **own,
            "rounds": self.rounds,
            "exact_delta": float(self.exact_delta),
            "standard_error": self.standard_error,
            "printed": self.printed,
        }

    def card(self) -> Card:
        """Summarise for display: coins, quota and rounds, and the guarantee."""
        facts = self.as_dict()
        bounds = [(name.replace("_", " "), value) for name, value in facts.pop("printed").items()]
        return Card(
            f"Joint {self.query}: {self.coins:,} honest coins for each number, {self.quota:,} from each party, {self.rounds} rounds",
            facts,
            "good",
            [CardTable(("", ""), bounds, "Published bounds, for comparison")],
        )

    @property
    def ok(self) -> bool:
        """Always True: an infeasible request raises instead."""
        return True


def plan(
    epsilon: Number = 1,
    delta: Number = "1e-6",
    parties: int = 7,
    faults: int = 2,
    query: str = "count",
    law: str = "binomial",
    bits: int = 1,
    level: str = "byzantine",
) -> NoisePlan:
    """Plan one joint answer that is (epsilon, delta)-indistinguishable for tables in which one row differs.

    ``query`` is ``"count"`` (of rows with 0 or 1), ``"histogram"`` (a row is in one of many cells, so replacing it
    changes two) or ``"sum"`` (of whole numbers of ``bits`` bits). Up to ``faults`` parties may be malicious, fewer than
    a third; with ``level="semi-honest"`` fewer than half may be curious but follow the protocol.

    >>> plan(epsilon=1, delta="1e-6", parties=4, faults=1, query="histogram").quota
    50
    """
    loss, limit = exact(epsilon, "epsilon", above=0, high=100), exact(delta, "delta", above=0, below=1)
    for name, value, options in (("query", query, QUERIES), ("law", law, LAWS), ("level", level, LEVELS)):
        one_of(value, name, options)
    _check_parties(parties, faults, level)
    whole(bits, "bits", low=1, high=MOST_VALUE_BITS)
    if bits > 1 and query != "sum":
        raise PolicyError(f"bits = {bits} is for query = 'sum'; a {query} has one bit per row.", setting=("bits",))
    move = moved(query, bits)
    honest = parties - max(faults, 1)
    if law == "binomial":
        coins = fewest_coins(loss, limit, move)
        width = precision = 0
        quota = -(-coins // honest)
        quota += quota % 2
    else:
        width, precision = smallest_circuit(loss, limit, move)
        coins = 2 * width * precision
        quota = -(-coins // honest)
    return NoisePlan(
        loss,
        limit,
        parties,
        faults,
        query=cast(Query, query),
        law=cast(LawName, law),
        bits=bits,
        level=cast(Level, level),
        coins=coins,
        quota=quota,
        width=width,
        precision=precision,
    )


def moved(query: str, bits: int = 1) -> Move:
    """Return the effect of replacing one row on the answer of a query."""
    return HISTOGRAM if query == "histogram" else COUNT if bits == 1 else Move(1, (1 << bits) - 1)


def printed_coins(epsilon: Fraction, delta: Fraction) -> int:
    """Return the published bound for binomial noise on a count: 64 ln(2/delta)/epsilon^2, rounded up to an even number ([Dwork2006b])."""
    bound = math.ceil(64 * math.log(2 / delta) / float(epsilon) ** 2)
    return bound + bound % 2


def fewest_coins(epsilon: Fraction, delta: Fraction, move: Move) -> int:
    """Return the smallest even number of coins whose noise satisfies the guarantee, exactly.

    More coins never lose more: they add independent noise. So a floating-point search locates the number, and exact
    verdicts settle it.
    """
    about = _estimated_coins(epsilon, delta, move)
    if about > MOST_COINS:
        steps = "" if move.step == 1 else f" for values of up to {move.step}"
        raise PolicyError(
            f"Binomial noise with epsilon = {epsilon} and delta = {float(delta):g} needs about {about:,} coins for each sum{steps}; {MOST_COINS:,} is the "
            "most that parties can deal. Use law='exponential', whose cost grows with the logarithm of the noise, a larger epsilon, or fewer bits.",
            setting=("law",),
            value="binomial",
        )
    coins = _screened(epsilon, delta, move, about)
    while not BinomialLaw(coins).keeps(epsilon, delta, move):
        coins += 2
    while coins > 2 and BinomialLaw(coins - 2).keeps(epsilon, delta, move):
        coins -= 2
    return coins


def _estimated_coins(epsilon: Fraction, delta: Fraction, move: Move) -> int:
    """Return about how many coins binomial noise needs, from Gaussian noise with this epsilon and delta and the same
    variance.

    ``move`` is the sensitivity. A sum of many coins is nearly Gaussian.
    """
    loss, limit = float(epsilon), float(delta)
    distance = move.step * math.sqrt(move.cells)

    def lost(deviation: float) -> float:
        """Return the delta of Gaussian noise with this standard deviation (Balle and Wang's formula)."""
        share = distance / (2 * deviation)
        shift = loss * deviation / distance
        return _normal(share - shift) - math.exp(loss) * _normal(-share - shift)

    low, high = 0.0, distance
    while lost(high) > limit and high < 1e12:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if lost(middle) > limit else (low, middle)
    return 2 * math.ceil(2 * high * high)


def _normal(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2


def _screened(epsilon: Fraction, delta: Fraction, move: Move, estimate: int) -> int:
    """Return by bisection the smallest even number of coins whose delta, in floating point, is small enough; ``estimate``
    is where to start.
    """
    low, high = 0, max(2, estimate + estimate % 2)
    while _float_delta(high, epsilon, move) > delta:
        low, high = high, 2 * high
    while high - low > 2:
        middle = (low + high) // 4 * 2
        low, high = (middle, high) if _float_delta(middle, epsilon, move) > delta else (low, middle)
    return high


def _float_delta(coins: int, epsilon: Fraction, move: Move) -> float:
    """Return the delta of binomial noise at ``epsilon`` in floats, when an input moves by a step in one cell or between two."""
    chances, zeros = binomial_chances(coins), np.zeros(move.step)
    chances_here, chances_there = np.concatenate([chances, zeros]), np.concatenate([zeros, chances])
    factor = math.exp(epsilon)
    if move.cells == 1:
        return float(np.maximum(0, chances_here - factor * chances_there).sum())
    # The ratios (coins - heads + 1)/heads decrease, so the values that count next to a given one are the first values
    # of the other cell.
    heads = np.arange(coins + 2)
    with np.errstate(divide="ignore"):
        falling = (coins - heads + 1) / heads
        positive_counts = np.searchsorted(-falling, -factor / falling)
    sums_here, sums_there = (
        np.concatenate([[0.0], np.cumsum(table_chances)]) for table_chances in (chances_here, chances_there)
    )
    return float(
        (chances_here * sums_here[positive_counts] - factor * chances_there * sums_there[positive_counts]).sum()
    )


def smallest_circuit(epsilon: Fraction, delta: Fraction, move: Move) -> tuple[int, int]:
    """Return the smallest ``width``, and for it the smallest ``precision``, of exponential noise that satisfies the
    guarantee with a variance within 1 % of exact noise.
    """
    scale = move.distance / epsilon
    ideal = _ideal_variance(scale)
    for width in range(max(1, math.ceil(math.log2(scale))), _WIDEST + 1):
        if not ExponentialLaw(scale, width, _FINEST).keeps(epsilon, delta, move):
            continue
        for precision in range(1, _FINEST + 1):
            law = ExponentialLaw(scale, width, precision)
            if law.variance <= ideal * _ROOM_FOR_VARIANCE and law.keeps(epsilon, delta, move):
                return width, precision
        return width, _FINEST
    raise PolicyError(
        f"Exponential noise of scale {float(scale):,.0f} needs more than {_WIDEST} bits. Use a larger epsilon, or fewer bits.",
        setting=("epsilon",),
    )


def rounds_of(faults: int, query: str, law: str, level: str, precision: int) -> int:
    """Return the number of synchronous rounds of a run in which no party complains.

    Byzantine: three broadcasts (who takes part, complaints, digests), dealing, cross-checks, opening the answer, and
    for counts the number of rows. Binomial noise opens public coins once; exponential noise takes three rounds and one
    for each halving of the ``precision`` bits to compare.
    """
    comparison_rounds = 3 + (precision - 1).bit_length() if law == "exponential" else 0
    if level == "semi-honest":
        return 3 + comparison_rounds
    noise_rounds = comparison_rounds or 1
    return 3 * rounds_of_broadcast(max(1, faults)) + 3 + (query != "sum") + noise_rounds


def _ideal_variance(scale: Fraction) -> Fraction:
    share = exponential(-1 / scale, 64)[0]
    return 2 * share / (1 - share) ** 2


def _check_parties(parties: int, faults: int, level: str) -> None:
    """Refuse too few parties for the number of faulty ones: fewer than a third may be malicious, or half semi-honest."""
    whole(parties, "parties", low=2, high=MOST_PARTIES)
    # No single party may learn or spoil anything either.
    tolerated = max(1, whole(faults, "faults", low=0))
    share, minimum = ("a third", 3 * tolerated + 1) if level == "byzantine" else ("half", 2 * tolerated + 1)
    if parties < minimum:
        level_hint = ", or level='semi-honest'" if level == "byzantine" and parties > 2 * tolerated else ""
        fewer = ", or fewer faults" if faults > 1 else ""
        raise PolicyError(
            f"{parties} parties cannot tolerate {tolerated} faulty ones: that must be fewer than {share}. Use at least {minimum} "
            f"parties{level_hint}{fewer}.",
            setting=("faults",) if faults > 1 else ("parties",),
            value=faults if faults > 1 else parties,
        )
