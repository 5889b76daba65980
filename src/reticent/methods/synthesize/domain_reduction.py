"""Domain reduction: values that nobody has are retained in a group's domain only with a public probability, which reduces the noise.

Values of the group's people are always retained. Which values were retained must never be disclosed: nobody has a dropped value.

Cost. A person moves from value a to value b, and R are the other people of the group; i is retained with probability
f_i if nobody has it, and has the noise alpha_i. The probability of an output m is a mean of Dirichlet-multinomial ones
over the retained values; their weight Z enters by G(Z) = Gamma(n + Z)/Gamma(n + Z + |m|), which falls with Z. Compare
term by term, for every set of other retained values:

- a has others in R, and so has b: a and b are retained in any case, and the ratio is that of the plain urn, at most 1 +
m_a/(R_a + alpha_a). - nobody else has a, and a is in the output: in the other table a must have been retained, an extra
factor of 1/f_a. If a is not in the output, the ratio is at most that of the next line. - nobody else has b, and b is
not in the output: the other table may drop b, an extra factor of f_b + (1 - f_b) G(Z)/G(Z + alpha_b), at most T_b = f_b
+ (1 - f_b) prod_{j < |m|} (1 + alpha_b/(n + alpha_min + j)), since a is retained in both. If b is in the output, the
table with b is the more likely one.

So with T = max T_b an output does not distinguish neighbours by more than E if every value with at most one person
occurs at most (E f/T - 1) alpha times, and one with x >= 2 people at most (E/T - 1) (alpha + x - 1) times. T is at most
2^ceil(alpha) where |m| <= n, and 1/f is charged only where it occurs: this never costs more than the published loss max
ln(1/f) + max ceil(alpha) ln 2, does not need |m| = n, and equals that of the plain urn if all f are 1.

Probability. The weight of retained values is at least W except with probability delta/10, for every table, since people
only add to it; tails fall with it, and a value that nobody has occurs only if it was retained.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy.signal import fftconvolve
from scipy.special import gammaln
from scipy.stats import binom

from reticent.base.exact import Number, exact, whole
from reticent.base.randomness import Randomness, WordStream, uniform_below
from reticent.definitions import LARGEST_EPSILON, ratio_within
from reticent.errors import Infeasible, PolicyError
from reticent.methods.synthesize.beta_binomial import relative_error
from reticent.methods.synthesize.disclosure_set import Counts, checked_counts
from reticent.methods.synthesize.keep_probabilities import Keep
from reticent.methods.synthesize.least_scale import least_scales
from reticent.methods.synthesize.prior import PublicPrior
from reticent.methods.synthesize.required_noise import RequiredNoise, WeightClass, short
from reticent.methods.synthesize.urn import Ints, Pools, draw_urns, tally

Variant = Literal["safe", "thesis"]
_MARGIN, _NOISE = 1e-6, 1e-12
_MOST_STEPS = 64
_CELLS = 1 << 20
_DEVIATIONS = 40
_PRECISION, _TURNS = Fraction(1, 5000), 60
_WORDS_AT_ONCE = 1 << 22


@lru_cache(maxsize=16)
def least_kept_weight(classes: tuple[WeightClass, ...], chance: Fraction) -> int:
    """Return a weight W with P(weight of retained values < W) <= ``chance``, for every table: people only add to it.

    The largest such weight if the total weight is at most a million; otherwise in steps of a millionth of it, rounded down class by class.
    """
    step = -(-sum(each.weight * each.count for each in classes) // _CELLS)
    law, start = np.ones(1), 0
    for each in classes:
        # Values farther from the mean have a probability far below the margin.
        mean, reach = float(each.keep) * each.count, _DEVIATIONS * (math.sqrt(each.count) / 2 + 1)
        times = np.arange(max(int(mean - reach), 0), min(int(mean + reach) + 1, each.count) + 1)
        cells = times * each.weight // step
        law = fftconvolve(law, np.bincount(cells - cells[0], weights=binom.pmf(times, each.count, float(each.keep))))
        start += int(cells[0])
    below = np.concatenate([[0.0], np.cumsum(np.maximum(law, 0))])
    found = int(np.searchsorted(below, float(chance) * (1 - _MARGIN) - _NOISE, side="right")) - 1
    return max(start + found, 0) * step if found >= 0 else 0


def absence_charge(size: int, drawn: int, classes: Sequence[WeightClass], scale: Fraction) -> Fraction | None:
    """Return T of the module's docstring for a group with this noise, rounded up; None if it exceeds every guarantee."""
    found, n, m = 1.0, size + float(scale) * min(each.weight for each in classes), float(drawn)
    for each in classes:
        alpha = float(scale) * each.weight
        power = float(gammaln(n + m + alpha) - gammaln(n + alpha) - gammaln(n + m) + gammaln(n))
        if power > 2 * LARGEST_EPSILON:
            return None
        keep = float(each.keep)
        found = max(found, keep + (1 - keep) * math.exp(power) * (1 + relative_error(n + m + alpha)))
    return short(Fraction(found)) if found > 1 else Fraction(1)


def dropping_need(
    size: int, drawn: int, prior: PublicPrior, ratio: Fraction, delta: Fraction, scale: Fraction
) -> RequiredNoise | None:
    """Return the requirement of a group whose noise is at most ``scale``, the noise that is charged; None if nothing is left of the guarantee."""
    charge = absence_charge(size, drawn, prior.classes, scale)
    if charge is None or ratio * min(each.keep for each in prior.classes) <= charge:
        return None
    spare = delta / 10
    least = least_kept_weight(prior.classes, spare)
    return RequiredNoise(size, drawn, prior.classes, least, ratio, delta - spare, charge)


def dropping_scales(sizes: Sequence[int], needs: Callable[[int, Fraction], RequiredNoise | None]) -> list[Fraction]:
    """Return the smallest noise of groups that drop values: ``needs(size, scale)`` is the requirement if the noise is at most ``scale``.

    More noise has a higher charge, so the required noise increases with the charged noise. Their fixed point is
    searched by secants from below; a feasible noise is then lowered as far as it stays feasible.
    """
    searches = {size: _Payment() for size in sizes}
    open_ = list(searches.values())
    for _ in range(_TURNS):
        asked = [needs(size, each.paid) for size, each in searches.items() if not each.done]
        if not all(asked):
            break
        found = least_scales([need for need in asked if need is not None], [each.low for each in open_])
        for each, needed in zip(open_, found, strict=True):
            each.pay(needed)
        open_ = [each for each in open_ if not each.done]
        if not open_:
            return [searches[size].enough for size in sizes]
    raise Infeasible(
        "Dropping values spends ln(1/keep) of epsilon, and more for values absent from the output, which leaves too little for the noise. Keep more values, or "
        "weaken the guarantee."
    )


@dataclass
class _Payment:
    """Search state: ``paid`` is tried next, less than ``low`` is infeasible, ``enough`` is feasible. Mutable: each trial narrows it."""

    paid: Fraction = Fraction(0)
    low: Fraction = Fraction(0)
    enough: Fraction = Fraction(0)
    done: bool = False
    last: tuple[Fraction, Fraction] | None = None

    def pay(self, needed: Fraction) -> None:
        """Record the required noise for the charged noise ``paid``."""
        if needed <= self.paid:
            self.done = self.paid - needed <= needed * _PRECISION
            self.paid = self.enough = needed
            return
        slope = Fraction(0)
        if self.last is not None and self.paid > self.last[0]:
            slope = min((needed - self.last[1]) / (self.paid - self.last[0]), Fraction(9, 10))
        self.last = self.paid, needed
        ahead = needed + slope / (1 - slope) * (needed - self.paid)
        self.low, self.paid = needed, short(max(ahead, needed) * (1 + _PRECISION))


@dataclass(frozen=True)
class DroppingPlan:
    """The noise of a group in which values that nobody has are retained with ``keep``: ``alpha`` times its weight for
    each value, certified for ``epsilon`` and ``delta`` if ``variant`` is safe.

    ``base_epsilon`` is the cost of the urn itself; the rest is the cost of dropping, for values in the output and
    others. Values with a total weight of at least ``kept_at_least`` are retained, except with probability delta/10;
    ``expected`` is their mean weight.
    """

    size: int
    alpha: Fraction
    epsilon: Fraction
    delta: Fraction
    charges: Mapping[str, float]
    kept_at_least: int
    expected: Fraction
    variant: Variant

    @property
    def base_epsilon(self) -> float:
        """The epsilon spent by the urn itself."""
        return self.charges["urn"]


def plan_dropping(
    size: int,
    domain: int | Sequence[Any] | Mapping[Any, Any] | PublicPrior,
    keep: Keep,
    epsilon: Number,
    delta: Number,
    variant: Variant = "safe",
) -> DroppingPlan:
    """Plan one group in which values that nobody has are retained with the public probabilities ``keep``, for the
    guarantee (``epsilon``, ``delta``) of the output.

    ``keep`` is one probability for all values, or one for each: a mapping, or a list in the order of the domain;
    ``domain`` may have weights. ``safe`` certifies delta with the weight of the retained values; ``thesis`` repeats the
    theorem of [Machanavajjhala2008], whose delta is wrong: it warns, and cannot be used to publish.
    """
    prior = PublicPrior.of(domain).keeping(keep)
    whole(size, "size", low=1)
    total, allowed = exact(epsilon, "epsilon", above=0, high=LARGEST_EPSILON), exact(delta, "delta", above=0, below=1)
    if variant not in ("safe", "thesis"):
        raise PolicyError(
            f"variant must be safe or thesis, but it is {variant!r}.", setting=("variant",), value=variant
        )
    ratio, least = ratio_within(total), min(each.keep for each in prior.classes)
    if variant == "safe":
        alpha = dropping_scales([size], lambda n, scale: dropping_need(n, n, prior, ratio, allowed, scale))[0]
        need = dropping_need(size, size, prior, ratio, allowed, alpha)
        assert need is not None
        absent, kept = float(need.charge), need.total
    else:
        warnings.warn(
            "The theorem of the thesis is false: its delta is exceeded if few values are retained. Use variant='safe' to publish.",
            stacklevel=2,
        )
        alpha, steps = _thesis_scale(size, PublicPrior(prior.size, None, prior.weights), ratio * least, allowed)
        absent, kept = 2.0**steps, prior.total
    spent = {"visible values": -math.log(least), "absent values": math.log(absent)}
    charges = {"urn": math.log(ratio) - sum(spent.values()), **spent}
    return DroppingPlan(size, alpha, total, allowed, charges, kept, prior.expected, variant)


def _thesis_scale(size: int, prior: PublicPrior, ratio: Fraction, delta: Fraction) -> tuple[Fraction, int]:
    """Return the noise of the published theorem, which ignores that fewer values are retained, and how often it spends ln
    2: the noise of a value, rounded up.
    """
    for steps in range(1, _MOST_STEPS):
        base = ratio / 2**steps
        if base <= 1:
            break
        alpha = least_scales([RequiredNoise(size, size, prior.classes, prior.total, base, delta)])[0]
        if alpha * prior.heaviest <= steps:
            return alpha, steps
    raise Infeasible(
        "The published theorem spends at least ln(1/keep) + ln 2 of epsilon, which leaves too little for the noise."
    )


def draw_dropped(pools: Pools, alphas: Sequence[Fraction], drawn: Ints, prior: PublicPrior, words: WordStream) -> Ints:
    """Sample ``drawn`` values for each group, from its people and the retained values, exactly ([Machanavajjhala2008],
    Algorithm 5): which other values are retained is decided lazily.

    Only the number of other retained values is sampled first, class by class; by symmetry such a value, when it is
    first sampled, is uniform among those of its class that nobody has. The weight units of an urn are those of its
    people's values, then those of the other retained values, class by class.
    """
    k, groups = prior.size, np.repeat(np.arange(len(pools.sizes)), pools.sizes)
    weight = np.array([each.weight for each in prior.classes], dtype=np.int64)
    cells, local = np.unique(groups * k + pools.codes, return_inverse=True)
    owner, value = cells // k, cells % k
    own = np.zeros((len(pools.sizes), len(weight)), dtype=np.int64)
    np.add.at(own, (owner, prior.class_of[value]), 1)
    stay = np.stack(
        [binomials(each.count - own[:, place], each.keep, words) for place, each in enumerate(prior.classes)], axis=1
    )
    ends, held = np.cumsum(weight[prior.class_of[value]]), own @ weight
    first = np.cumsum(held) - held
    starts = ends - weight[prior.class_of[value]] - first[owner]
    shown = draw_urns(Pools(starts[local], pools.sizes), alphas, drawn, (held + stay @ weight).tolist(), words)
    at = np.repeat(np.arange(len(drawn)), drawn)
    found = np.empty(len(shown), dtype=np.int64)
    known = shown < held[at]
    found[known] = value[np.searchsorted(ends, first[at[known]] + shown[known], side="right")]
    hidden = np.flatnonzero(~known)
    group, unit = at[hidden], shown[hidden] - held[at[hidden]]
    edges = np.cumsum(stay * weight, axis=1)
    which = (unit[:, None] >= edges[group]).sum(axis=1)
    before = np.where(which > 0, edges[group, which - 1], 0)
    number = (unit - before) // weight[which] + (np.cumsum(stay, axis=1) - stay)[group, which]
    # Every placeholder number of a group is one value: it gets its name once.
    names, earliest, back = np.unique(group * (k + 1) + number, return_index=True, return_inverse=True)
    found[hidden] = _named(names // (k + 1), which[earliest], prior, cells, words)[back]
    return found


def _named(group: Ints, which: Ints, prior: PublicPrior, taken: Ints, words: WordStream) -> Ints:
    """Assign a value to each placeholder number of a group: uniform among those of its class that nobody has and no other placeholder uses."""
    k, order = prior.size, np.argsort(prior.class_of, kind="stable")
    sizes = np.array([each.count for each in prior.classes])
    starts = np.cumsum(sizes) - sizes
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


def binomials(trials: Ints, probability: Fraction, words: WordStream) -> Ints:
    """Sample binomial counts exactly: all trials are compared with the probability digit by digit, and half of the
    undecided ones are decided with every digit.
    """
    successes, left, rest = np.zeros_like(trials), trials.copy(), probability
    while 0 < rest < 1 and left.any():
        rest *= 2
        ones = _ones(left, words)
        if rest >= 1:
            rest -= 1
            successes += left - ones
            left = ones
        else:
            left = left - ones
    return successes + left if rest >= 1 else successes


def _ones(bits: Ints, words: WordStream) -> Ints:
    """Return how many of this many random bits are ones, for each number of bits."""
    found = np.zeros_like(bits)
    used = -(-bits // 64)
    start = 0
    while start < len(bits):
        ends = np.cumsum(used[start:])
        stop = start + max(int(np.searchsorted(ends, _WORDS_AT_ONCE, side="right")), 1)
        some = np.flatnonzero(used[start:stop]) + start
        drawn = words(int(used[some].sum())).copy()
        last = np.cumsum(used[some]) - 1
        partial = bits[some] % 64
        cut = partial > 0
        drawn[last[cut]] &= (np.uint64(1) << partial[cut].astype(np.uint64)) - np.uint64(1)
        if len(some):
            found[some] = np.add.reduceat(np.bitwise_count(drawn).astype(np.int64), last - used[some] + 1)
        start = stop
    return found


def sample_dropped(
    counts: Counts,
    alpha: Number,
    size: int,
    domain: int | Sequence[Any] | Mapping[Any, Any] | PublicPrior,
    keep: Keep,
    insecure_seed: int | None = None,
) -> dict[Any, int]:
    """Sample ``size`` synthetic rows of one group in which values that nobody has are retained with the probabilities
    ``keep``; return the count of each value.

    Which values were retained is not returned, and must never be disclosed.
    """
    prior, noise = PublicPrior.of(domain).keeping(keep), exact(alpha, "alpha", above=0)
    pools = Pools.of_counts(checked_counts(counts, "counts"), prior)
    drawn = np.array([whole(size, "size", low=0)], dtype=np.int64)
    found = draw_dropped(pools, [noise], drawn, prior, Randomness(insecure_seed).words())
    return tally(found, prior)
