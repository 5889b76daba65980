"""Fewer values: those that nobody has stay in the domain of a group with a public probability only, which leaves less noise (R-SY-17 to R-SY-19).

Values of the group's people always stay. Which values stayed must never be told: a value that was dropped is nobody's.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.stats import binom

from reticent.definitions import LARGEST_EPSILON, ratio_within
from reticent.errors import Infeasible, PolicyError
from reticent.exact import Number, exact, whole
from reticent.randomness import Randomness, WordStream, uniform_below
from reticent.synthesize.disclosure import Counts, checked_counts
from reticent.synthesize.least_scale import least_scales
from reticent.synthesize.need import Need, WeightClass
from reticent.synthesize.prior import PublicPrior
from reticent.synthesize.urn import Ints, Pools, draw_urns, tally

Variant = Literal["safe", "thesis"]
_MOST_CLASSES = 1000
_MARGIN = 1e-6
_MOST_STEPS = 64


@dataclass(frozen=True, eq=False)
class KeptValues:
    """With which probability each value stays that nobody of a group has: ``probabilities`` of classes of values, and the class of every value."""

    probabilities: tuple[Fraction, ...]
    of: NDArray[np.int64] = field(repr=False)

    @classmethod
    def given(cls, keep: Number | Mapping[Any, Number] | Sequence[Number], prior: PublicPrior) -> KeptValues:
        """One probability for all values, or one for each: by value, or in the order of the domain."""
        if not prior.is_uniform:
            raise PolicyError(
                "Values are dropped from a uniform domain only; give the domain without weights.", setting=("keep",)
            )
        if isinstance(keep, Mapping):
            listed = [keep.get(prior.value(code)) for code in range(prior.size)]
        elif isinstance(keep, Sequence) and not isinstance(keep, str):
            listed = list(keep)
        else:
            return cls((_probability(keep),), np.zeros(prior.size, dtype=np.int64))
        if len(listed) != prior.size or None in listed:
            raise PolicyError(
                f"keep must have a probability for each of the {prior.size:,} values of the domain.", setting=("keep",)
            )
        distinct = {each: _probability(each) for each in dict.fromkeys(listed)}
        if len(distinct) > _MOST_CLASSES:
            raise PolicyError(
                f"keep has {len(distinct):,} different probabilities; at most {_MOST_CLASSES:,} are planned for. Round them.",
                setting=("keep",),
            )
        probabilities = tuple(dict.fromkeys(distinct.values()))
        return cls(probabilities, np.array([probabilities.index(distinct[each]) for each in listed], dtype=np.int64))

    @cached_property
    def counts(self) -> list[int]:
        """How many values each class has."""
        found: list[int] = np.bincount(self.of, minlength=len(self.probabilities)).tolist()
        return found

    @cached_property
    def members(self) -> tuple[Ints, Ints]:
        """The values ordered by class, and where each class starts."""
        order = np.argsort(self.of, kind="stable")
        return order, np.cumsum([0, *self.counts])[:-1]

    @property
    def least(self) -> Fraction:
        """The least of all probabilities."""
        return min(self.probabilities)

    @property
    def expected(self) -> Fraction:
        """How many values stay on average if nobody has any."""
        return sum((f * count for f, count in zip(self.probabilities, self.counts, strict=True)), Fraction(0))

    def at_least(self, chance: Fraction) -> int:
        """The largest number r with P(fewer than r values stay) <= ``chance``, for every table: with people more stay (R-SY-18, section E)."""
        law = np.ones(1)
        for f, count in zip(self.probabilities, self.counts, strict=True):
            law = fftconvolve(law, binom.pmf(np.arange(count + 1), count, float(f)))
        below = np.concatenate([[0.0], np.cumsum(np.maximum(law, 0))])
        return max(int(np.searchsorted(below, float(chance) * (1 - _MARGIN) - 1e-12, side="right")) - 1, 0)


@dataclass(frozen=True)
class DroppingPlan:
    """The noise of a group whose values of nobody stay with ``keep``: ``alpha``, certified for the promise ``epsilon``, ``delta`` where ``variant`` is safe.

    ``base_epsilon`` is what the urn itself spends; ln(1/f) and ceil(alpha) ln 2 are spent by dropping. At least ``kept_at_least`` values stay, but for a tenth
    of delta.
    """

    size: int
    alpha: Fraction
    epsilon: Fraction
    delta: Fraction
    base_epsilon: float
    kept_at_least: int
    expected: Fraction
    variant: Variant

    @property
    def charges(self) -> Mapping[str, float]:
        """What each step spends of epsilon."""
        return {
            "urn": self.base_epsilon,
            "visible values": float(self.epsilon) - self.base_epsilon - math.ceil(self.alpha) * math.log(2),
            "absent values": math.ceil(self.alpha) * math.log(2),
        }


def plan_dropping(
    size: int,
    domain: int | Sequence[Any] | Mapping[Any, Any] | PublicPrior,
    keep: Number | Mapping[Any, Number] | Sequence[Number],
    epsilon: Number,
    delta: Number,
    variant: Variant = "safe",
) -> DroppingPlan:
    """Plan one group whose values of nobody stay with the public probabilities ``keep``, for the promise (``epsilon``, ``delta``) of what is published.

    ``safe`` certifies delta with the number of values that stay; ``thesis`` repeats the published theorem, whose delta is wrong (R-SY-18): it warns, and nothing
    can be published by it.
    """
    prior = PublicPrior.of(domain)
    kept = KeptValues.given(keep, prior)
    whole(size, "size", low=1)
    total, allowed = exact(epsilon, "epsilon", above=0, high=LARGEST_EPSILON), exact(delta, "delta", above=0, below=1)
    if variant not in ("safe", "thesis"):
        raise PolicyError(
            f"variant must be safe or thesis, but it is {variant!r}.", setting=("variant",), value=variant
        )
    if variant == "thesis":
        warnings.warn(
            "The theorem of the thesis is false: its delta is exceeded where few values stay. Use variant='safe' for anything that is published.",
            stacklevel=2,
        )
    needs = partial(dropping_need, size, prior, kept, ratio_within(total), allowed, variant=variant)
    alpha = dropping_scale(needs)
    need = needs(max(math.ceil(alpha), 1))
    assert need is not None
    return DroppingPlan(size, alpha, total, allowed, math.log(need.ratio), need.total, kept.expected, variant)


def dropping_scale(needs: Callable[[int], Need | None]) -> Fraction:
    """The least noise of a group that drops values: ``needs(steps)`` is what it needs if the noise of a value is at most ``steps``, since that is paid for."""
    for steps in range(1, _MOST_STEPS):
        need = needs(steps)
        if need is None:
            break
        alpha = least_scales([need])[0]
        if alpha <= steps:
            return alpha
    raise Infeasible(
        "Dropping values spends ln(1/keep) + ln 2 of epsilon at least, and that leaves too little for the noise. Keep more values, or promise less."
    )


def dropping_need(
    size: int,
    prior: PublicPrior,
    kept: KeptValues,
    ratio: Fraction,
    delta: Fraction,
    steps: int,
    variant: Variant = "safe",
) -> Need | None:
    """What a group needs if dropping spends ln(1/f) + ``steps`` ln 2 of epsilon; None if that leaves nothing."""
    base = ratio * kept.least / 2**steps
    if base <= 1:
        return None
    if variant == "thesis":
        return Need(size, size, prior.classes, prior.total, base, delta)
    spare = delta / 10
    # The value that is looked at stays in any case.
    least = max(kept.at_least(spare), 1)
    return Need(size, size, (WeightClass(1, kept.expected),), least, base, delta - spare, "kept")


def draw_dropped(pools: Pools, alphas: Sequence[Fraction], drawn: Ints, kept: KeptValues, words: WordStream) -> Ints:
    """So many values for each group, of people and of values that stayed, exactly (Algorithm 5): which others stay is settled when one is drawn.

    Only how many others stay is drawn first, class by class; by symmetry a value of them that an urn shows for the first time is any that nobody has, each
    equally likely.
    """
    k, groups = len(kept.of), np.repeat(np.arange(len(pools.sizes)), pools.sizes)
    cells, local = np.unique(groups * k + pools.codes, return_inverse=True)
    owner, value = cells // k, cells % k
    support = np.bincount(owner, minlength=len(pools.sizes))
    first = np.cumsum(support) - support
    own = np.zeros((len(pools.sizes), len(kept.probabilities)), dtype=np.int64)
    np.add.at(own, (owner, kept.of[value]), 1)
    others = np.array(kept.counts) - own
    stay = np.array(
        [
            [binomial(int(free), f, words) for free, f in zip(row, kept.probabilities, strict=True)]
            for row in others.tolist()
        ]
    ).reshape(own.shape)
    totals = support + stay.sum(axis=1)
    inside = Pools(local - first[groups], pools.sizes)
    shown = draw_urns(inside, alphas, drawn, totals.tolist(), words)
    at = np.repeat(np.arange(len(drawn)), drawn)
    found = np.empty(len(shown), dtype=np.int64)
    known = shown < support[at]
    found[known] = value[first[at[known]] + shown[known]]
    hidden = np.flatnonzero(~known)
    # Every hidden number of a group is one value: it gets a name once.
    names, back = np.unique(at[hidden] * (k + 1) + shown[hidden] - support[at[hidden]], return_inverse=True)
    found[hidden] = _named(names // (k + 1), names % (k + 1), stay, kept, cells, words)[back]
    return found


def _named(group: Ints, place: Ints, stay: Ints, kept: KeptValues, taken: Ints, words: WordStream) -> Ints:
    """A value for each hidden number of a group: any of its class that nobody has and no other hidden number is."""
    k = len(kept.of)
    edges = np.cumsum(stay, axis=1)
    which = (place[:, None] >= edges[group]).sum(axis=1)
    order, starts = kept.members
    sizes = np.array(kept.counts)
    found, open_ = np.full(len(group), -1, dtype=np.int64), np.arange(len(group))
    used = np.sort(taken)
    while len(open_):
        tried = uniform_below(sizes[which[open_]].astype(np.uint64), words).astype(np.int64)
        cell = group[open_] * k + order[starts[which[open_]] + tried]
        _, earliest = np.unique(cell, return_index=True)
        fresh = np.zeros(len(open_), dtype=bool)
        fresh[earliest] = True
        near = np.searchsorted(used, cell).clip(0, max(len(used) - 1, 0))
        fresh &= used[near] != cell if len(used) else True
        found[open_[fresh]] = cell[fresh] % k
        used = np.sort(np.concatenate([used, cell[fresh]]))
        open_ = open_[~fresh]
    return found


def binomial(trials: int, probability: Fraction, words: WordStream) -> int:
    """A binomial count, exactly: all trials are compared with the probability digit by digit, and half of those undecided fall with every digit."""
    successes, rest = 0, probability
    while trials and 0 < rest < 1:
        rest *= 2
        ones = _ones(trials, words)
        if rest >= 1:
            rest -= 1
            successes += trials - ones
            trials = ones
        else:
            trials -= ones
    return successes + (trials if rest >= 1 else 0)


def _ones(bits: int, words: WordStream) -> int:
    """How many of so many random bits are ones."""
    drawn = words(-(-bits // 64)).copy()
    if bits % 64:
        drawn[-1] &= np.uint64((1 << bits % 64) - 1)
    return int(np.bitwise_count(drawn).sum())


def sample_dropped(
    counts: Counts,
    alpha: Number,
    size: int,
    domain: int | Sequence[Any] | Mapping[Any, Any] | PublicPrior,
    keep: Number | Mapping[Any, Number] | Sequence[Number],
    insecure_seed: int | None = None,
) -> dict[Any, int]:
    """Draw ``size`` synthetic rows of one group whose values of nobody stay with the probabilities ``keep``: how often each value occurs.

    Which values stayed is not told, and must never be (R-SY-19).
    """
    prior, noise = PublicPrior.of(domain), exact(alpha, "alpha", above=0)
    kept = KeptValues.given(keep, prior)
    pools = Pools.of_counts(checked_counts(counts, "counts"), prior)
    drawn = np.array([whole(size, "size", low=0)], dtype=np.int64)
    found = draw_dropped(pools, [noise], drawn, kept, Randomness(insecure_seed).words())
    return tally(found, prior)


def _probability(given: Number | None) -> Fraction:
    if given is None:
        raise PolicyError("keep must have a probability for every value of the domain.", setting=("keep",))
    return exact(given, "keep", above=0, high=1)
