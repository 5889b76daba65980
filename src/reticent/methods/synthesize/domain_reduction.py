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
    """Return a weight W with P(total weight of retained values < W) <= ``chance``, for every table.

    Values that people have are always retained, which only adds weight. W is the largest such weight if the total is at
    most a million; otherwise it is a multiple of a millionth of the total, rounded down class by class.
    """
    step = -(-sum(record_class.weight * record_class.count for record_class in classes) // _CELLS)
    distribution, start = np.ones(1), 0
    for record_class in classes:
        # Values farther from the mean have a probability far below the margin.
        mean, deviation = (
            float(record_class.keep) * record_class.count,
            _DEVIATIONS * (math.sqrt(record_class.count) / 2 + 1),
        )
        kept_counts = np.arange(max(int(mean - deviation), 0), min(int(mean + deviation) + 1, record_class.count) + 1)
        cells = kept_counts * record_class.weight // step
        distribution = fftconvolve(
            distribution,
            np.bincount(cells - cells[0], weights=binom.pmf(kept_counts, record_class.count, float(record_class.keep))),
        )
        start += int(cells[0])
    cumulative = np.concatenate([[0.0], np.cumsum(np.maximum(distribution, 0))])
    last_allowed = int(np.searchsorted(cumulative, float(chance) * (1 - _MARGIN) - _NOISE, side="right")) - 1
    return max(start + last_allowed, 0) * step if last_allowed >= 0 else 0


def absence_charge(size: int, drawn: int, classes: Sequence[WeightClass], scale: Fraction) -> Fraction | None:
    """Return the charge T for values absent from the output, the factor that dropping them costs in the ratio of a group of
    this size and noise ``scale``, rounded up; None if it exceeds every guarantee. The module's docstring defines T.
    """
    largest_factor, urn_weight, drawn_float = (
        1.0,
        size + float(scale) * min(record_class.weight for record_class in classes),
        float(drawn),
    )
    for record_class in classes:
        alpha = float(scale) * record_class.weight
        log_factor = float(
            gammaln(urn_weight + drawn_float + alpha)
            - gammaln(urn_weight + alpha)
            - gammaln(urn_weight + drawn_float)
            + gammaln(urn_weight)
        )
        if log_factor > 2 * LARGEST_EPSILON:
            return None
        keep = float(record_class.keep)
        largest_factor = max(
            largest_factor,
            keep + (1 - keep) * math.exp(log_factor) * (1 + relative_error(urn_weight + drawn_float + alpha)),
        )
    return short(Fraction(largest_factor)) if largest_factor > 1 else Fraction(1)


def dropping_need(
    size: int, drawn: int, prior: PublicPrior, ratio: Fraction, delta: Fraction, scale: Fraction
) -> RequiredNoise | None:
    """Return the noise requirement of a group that drops values, after charging the drop for noise of at most ``scale``;
    None if nothing of the guarantee (``ratio``, ``delta``) remains.
    """
    charge = absence_charge(size, drawn, prior.classes, scale)
    if charge is None or ratio * min(record_class.keep for record_class in prior.classes) <= charge:
        return None
    delta_of_dropping = delta / 10
    least_weight = least_kept_weight(prior.classes, delta_of_dropping)
    return RequiredNoise(size, drawn, prior.classes, least_weight, ratio, delta - delta_of_dropping, charge)


def dropping_scales(sizes: Sequence[int], needs: Callable[[int, Fraction], RequiredNoise | None]) -> list[Fraction]:
    """Return the smallest noise of each group that drops values; ``needs(size, scale)`` is the requirement if the noise is
    at most ``scale``, None if no noise satisfies it.

    More noise has a higher charge, so the required noise increases with the charged noise. Their fixed point is
    searched by secants from below; a feasible noise is then lowered as far as it stays feasible.
    """
    searches = {size: _Payment() for size in sizes}
    open_searches = list(searches.values())
    for _ in range(_TURNS):
        requirements = [needs(size, search.paid) for size, search in searches.items() if not search.done]
        if not all(requirements):
            break
        least_noises = least_scales(
            [need for need in requirements if need is not None], [search_open.low for search_open in open_searches]
        )
        for search_open, least_noise in zip(open_searches, least_noises, strict=True):
            search_open.pay(least_noise)
        open_searches = [search_open for search_open in open_searches if not search_open.done]
        if not open_searches:
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
    total, allowed_delta = (
        exact(epsilon, "epsilon", above=0, high=LARGEST_EPSILON),
        exact(delta, "delta", above=0, below=1),
    )
    if variant not in ("safe", "thesis"):
        raise PolicyError(
            f"variant must be safe or thesis, but it is {variant!r}.", setting=("variant",), value=variant
        )
    ratio, least_keep = ratio_within(total), min(record_class.keep for record_class in prior.classes)
    if variant == "safe":
        alpha = dropping_scales([size], lambda n, scale: dropping_need(n, n, prior, ratio, allowed_delta, scale))[0]
        need = dropping_need(size, size, prior, ratio, allowed_delta, alpha)
        assert need is not None
        absence_factor, kept_weight = float(need.charge), need.total
    else:
        warnings.warn(
            "The theorem of the thesis is false: its delta is exceeded if few values are retained. Use variant='safe' to publish.",
            stacklevel=2,
        )
        alpha, steps = _thesis_scale(
            size, PublicPrior(prior.size, None, prior.weights), ratio * least_keep, allowed_delta
        )
        absence_factor, kept_weight = 2.0**steps, prior.total
    spent = {"visible values": -math.log(least_keep), "absent values": math.log(absence_factor)}
    charges = {"urn": math.log(ratio) - sum(spent.values()), **spent}
    return DroppingPlan(size, alpha, total, allowed_delta, charges, kept_weight, prior.expected, variant)


def _thesis_scale(size: int, prior: PublicPrior, ratio: Fraction, delta: Fraction) -> tuple[Fraction, int]:
    """Return the noise that the published (false) theorem requires, and how many times ln 2 of epsilon it spends: the noise
    of the heaviest value, rounded up. The theorem ignores that fewer values are retained.
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
    """Return ``drawn`` values for each group, sampled exactly from its people and the retained values
    ([Machanavajjhala2008], Algorithm 5), one group after the other.

    Of the values that nobody has, only the number retained is sampled first, by class of weight and probability; which
    value it is, uniform among those of the class that nobody has, is decided when it is first sampled. The weight units
    of an urn are those of its people's values, then those of the other retained values, class by class.
    """
    k, groups = prior.size, np.repeat(np.arange(len(pools.sizes)), pools.sizes)
    weight = np.array([record_class.weight for record_class in prior.classes], dtype=np.int64)
    cells, local = np.unique(groups * k + pools.codes, return_inverse=True)
    owner, value = cells // k, cells % k
    people_by_class = np.zeros((len(pools.sizes), len(weight)), dtype=np.int64)
    np.add.at(people_by_class, (owner, prior.class_of[value]), 1)
    retained_by_class = np.stack(
        [
            binomials(record_class.count - people_by_class[:, class_index], record_class.keep, words)
            for class_index, record_class in enumerate(prior.classes)
        ],
        axis=1,
    )
    ends, people_weight = np.cumsum(weight[prior.class_of[value]]), people_by_class @ weight
    first_unit = np.cumsum(people_weight) - people_weight
    starts = ends - weight[prior.class_of[value]] - first_unit[owner]
    drawn_unit = draw_urns(
        Pools(starts[local], pools.sizes), alphas, drawn, (people_weight + retained_by_class @ weight).tolist(), words
    )
    group_of_draw = np.repeat(np.arange(len(drawn)), drawn)
    drawn_values = np.empty(len(drawn_unit), dtype=np.int64)
    is_people_value = drawn_unit < people_weight[group_of_draw]
    drawn_values[is_people_value] = value[
        np.searchsorted(ends, first_unit[group_of_draw[is_people_value]] + drawn_unit[is_people_value], side="right")
    ]
    hidden = np.flatnonzero(~is_people_value)
    group, unit = group_of_draw[hidden], drawn_unit[hidden] - people_weight[group_of_draw[hidden]]
    class_ends = np.cumsum(retained_by_class * weight, axis=1)
    class_of_unit = (unit[:, None] >= class_ends[group]).sum(axis=1)
    class_start = np.where(class_of_unit > 0, class_ends[group, class_of_unit - 1], 0)
    placeholder = (unit - class_start) // weight[class_of_unit] + (
        np.cumsum(retained_by_class, axis=1) - retained_by_class
    )[group, class_of_unit]
    # Every placeholder number of a group is one value: it gets its name once.
    placeholders, earliest, name_of_draw = np.unique(
        group * (k + 1) + placeholder, return_index=True, return_inverse=True
    )
    drawn_values[hidden] = _named(placeholders // (k + 1), class_of_unit[earliest], prior, cells, words)[name_of_draw]
    return drawn_values


def _named(group: Ints, class_of_placeholder: Ints, prior: PublicPrior, taken: Ints, words: WordStream) -> Ints:
    """Return a value for each placeholder of a retained value: uniform among the values of its class that nobody of the
    group has and no other placeholder of the group uses.

    ``taken`` are the cells (group times number of values, plus value) that people have. Collisions are sampled again.
    """
    k, order = prior.size, np.argsort(prior.class_of, kind="stable")
    sizes = np.array([record_class.count for record_class in prior.classes])
    starts = np.cumsum(sizes) - sizes
    values, unnamed = np.full(len(group), -1, dtype=np.int64), np.arange(len(group))
    used_cells = np.sort(taken)
    while len(unnamed):
        tried = uniform_below(sizes[class_of_placeholder[unnamed]].astype(np.uint64), words).astype(np.int64)
        tried_cell = group[unnamed] * k + order[starts[class_of_placeholder[unnamed]] + tried]
        _, earliest = np.unique(tried_cell, return_index=True)
        is_fresh = np.zeros(len(unnamed), dtype=bool)
        is_fresh[earliest] = True
        nearest_used = np.searchsorted(used_cells, tried_cell).clip(0, max(len(used_cells) - 1, 0))
        is_fresh &= used_cells[nearest_used] != tried_cell if len(used_cells) else True
        values[unnamed[is_fresh]] = tried_cell[is_fresh] % k
        used_cells = np.sort(np.concatenate([used_cells, tried_cell[is_fresh]]))
        unnamed = unnamed[~is_fresh]
    return values


def binomials(trials: Ints, probability: Fraction, words: WordStream) -> Ints:
    """Return exactly sampled numbers of successes of ``trials``.

    Each trial compares random bits with the binary digits of the probability until one differs; per digit about half of
    the undecided trials are decided.
    """
    successes, undecided, remaining_chance = np.zeros_like(trials), trials.copy(), probability
    while 0 < remaining_chance < 1 and undecided.any():
        remaining_chance *= 2
        ones = _count_ones(undecided, words)
        if remaining_chance >= 1:
            remaining_chance -= 1
            successes += undecided - ones
            undecided = ones
        else:
            undecided = undecided - ones
    return successes + undecided if remaining_chance >= 1 else successes


def _count_ones(bits: Ints, words: WordStream) -> Ints:
    """Return, for each entry of ``bits``, how many of that many random bits are ones: fair binomial counts."""
    one_counts = np.zeros_like(bits)
    word_counts = -(-bits // 64)
    start = 0
    while start < len(bits):
        ends = np.cumsum(word_counts[start:])
        stop = start + max(int(np.searchsorted(ends, _WORDS_AT_ONCE, side="right")), 1)
        with_bits = np.flatnonzero(word_counts[start:stop]) + start
        drawn = words(int(word_counts[with_bits].sum())).copy()
        last_word = np.cumsum(word_counts[with_bits]) - 1
        bits_in_last = bits[with_bits] % 64
        is_partial = bits_in_last > 0
        drawn[last_word[is_partial]] &= (np.uint64(1) << bits_in_last[is_partial].astype(np.uint64)) - np.uint64(1)
        if len(with_bits):
            one_counts[with_bits] = np.add.reduceat(
                np.bitwise_count(drawn).astype(np.int64), last_word - word_counts[with_bits] + 1
            )
        start = stop
    return one_counts


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
    codes = draw_dropped(pools, [noise], drawn, prior, Randomness(insecure_seed).words())
    return tally(codes, prior)
