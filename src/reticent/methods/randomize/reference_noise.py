"""Non-uniform noise: fake tuples sampled from a public reference distribution, so that they resemble the data and fewer are needed.

``beta(t) = c source(t)``: a tuple that outsiders find likely gets more noise. The source is a product of one
distribution per column, mixed with a uniform share, because a true tuple with source 0 would be unprotected. It must be
public knowledge, never fitted to the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact
from reticent.conditions import Condition
from reticent.definitions import Adversary, Ratios, posterior
from reticent.errors import Infeasible, PolicyError, did_you_mean
from reticent.methods.randomize.domain_counts import count_exactly
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.grouped_counts import QueryCells
from reticent.methods.randomize.tuple_sets import distinct, in_order, without
from reticent.methods.randomize.view_domain import Keys, ViewDomain

_MOST_WEIGHT = 2**62


@dataclass(frozen=True)
class NoiseSource:
    """A public distribution over the domain: ``(1 - uniform) product of column weights + uniform / m``, all exact.

    ``weights[c]`` has an integer for every value of column ``c``; a column without weights is uniform.
    """

    domain: ViewDomain
    weights: Mapping[str, tuple[int, ...]]
    uniform: Fraction

    def __post_init__(self) -> None:
        for name, column_weights in self.weights.items():
            if len(column_weights) != self.domain[name].size:
                raise PolicyError(f"source[{name!r}] needs one weight for each of its {self.domain[name].size} values.")
            if any(weight < 0 for weight in column_weights) or not any(column_weights):
                raise PolicyError(f"source[{name!r}]: weights must be at least 0, and at least one positive.")
            if sum(column_weights) >= _MOST_WEIGHT:
                raise PolicyError(
                    f"source[{name!r}]: scaled to integers, its weights add up to {sum(column_weights):,}, which is more than 2^62, the limit of the "
                    "sampler. Round them, or use a common denominator."
                )
        if not 0 < self.uniform <= 1:
            raise PolicyError(
                "uniform, the share of uniform noise, must be above 0 and at most 1: without it a tuple that the source rules out would be published "
                "without protection."
            )

    @classmethod
    def of(
        cls,
        domain: ViewDomain,
        declared: Mapping[str, Mapping[Any, Number] | Sequence[Number]],
        uniform: Number = "0.05",
    ) -> NoiseSource:
        """Build a source from weights or probabilities: for a column a list in the order of its values, or a mapping from value to weight."""
        weights = {}
        for name, column_weights in declared.items():
            if name not in domain.names:
                raise PolicyError(f"source has {name!r}, which is not a column.{did_you_mean(name, domain.names)}")
            ordered_weights = _in_order(column_weights, domain, name)
            fractions = [exact(value, f"source[{name!r}]") for value in ordered_weights]
            denominator = math.lcm(*(value.denominator for value in fractions))
            weights[name] = tuple(int(value * denominator) for value in fractions)
        return cls(domain, weights, exact(uniform, "uniform"))

    @cached_property
    def _totals(self) -> dict[str, int]:
        return {name: sum(listed) for name, listed in self.weights.items()}

    @cached_property
    def _whole(self) -> int:
        """Return the total weight of all tuples."""
        return math.prod(self._totals.get(name, size) for name, size in self.domain.sizes.items())

    def _column(self, name: str) -> NDArray[np.float64]:
        if name not in self.weights:
            return np.full(self.domain[name].size, 1 / self.domain[name].size)
        return np.array(self.weights[name], dtype=float) / self._totals[name]

    @cached_property
    def largest(self) -> Fraction:
        """Largest probability of a tuple."""
        return self._extreme(max)

    @cached_property
    def least(self) -> Fraction:
        """Smallest probability of a tuple; the uniform share keeps it above 0."""
        return self._extreme(min)

    def _extreme(self, choose: Callable[[tuple[int, ...]], int]) -> Fraction:
        """Return the smallest or largest probability of a tuple, as ``choose`` picks among the weights."""
        product = Fraction(1)
        for name, size in self.domain.sizes.items():
            weights = self.weights.get(name)
            product *= Fraction(1, size) if weights is None else Fraction(choose(weights), self._totals[name])
        return (1 - self.uniform) * product + self.uniform / self.domain.size

    def probabilities(self, keys: Keys) -> NDArray[np.float64]:
        """Return the probability of every tuple."""
        product = np.ones(len(keys))
        for name in self.domain.names:
            product *= self._column(name)[self.domain.codes(keys, name)]
        return (1 - float(self.uniform)) * product + float(self.uniform / self.domain.size)

    def probability(self, condition: Condition) -> Fraction:
        """Return the probability that a tuple of the source meets a condition: the domain count with the source's weights."""
        return self.expectation(condition)

    def expectation(self, condition: Condition, column: str | None = None, values: Sequence[Fraction] = ()) -> Fraction:
        """Return the expected contribution of a tuple of the source to a linear query: 1, or its value of ``column``, if it meets the condition."""
        weights_by_column: dict[str, Sequence[Any]] = dict(self.weights)
        if column is not None:
            shares = self.weights.get(column, (1,) * len(values))
            weights_by_column[column] = [share * value for share, value in zip(shares, values, strict=True)]
        weighted = Fraction(count_exactly(condition, self.domain, weights=weights_by_column)) / self._whole
        plain = Fraction(count_exactly(condition, self.domain, weights={} if column is None else {column: values}))
        return (1 - self.uniform) * weighted + self.uniform * plain / self.domain.size

    def shares(self, cells: QueryCells) -> NDArray[np.float64]:
        """Return the probability of every cell: :meth:`probability` of many conditions at once."""
        weighted = np.asarray(cells.weighed(self.weights).astype(object) / self._whole, dtype=np.float64)
        plain = np.asarray(cells.totals.astype(object) / self.domain.size, dtype=np.float64)
        return (1 - float(self.uniform)) * weighted + float(self.uniform) * plain

    def draw(self, count: int, draws: Draws) -> Keys:
        """Sample independent tuples of the source."""
        is_uniform = draws.coins(self.uniform, count)
        codes = {name: self._draw_column(name, is_uniform, draws) for name in self.domain.names}
        return self.domain.from_codes(codes)

    def _draw_column(self, name: str, is_uniform: NDArray[np.bool_], draws: Draws) -> NDArray[np.int64]:
        """Return sampled codes of a column: by its weights, or uniformly where ``is_uniform`` is set."""
        codes = draws.below(self.domain[name].size, len(is_uniform))
        if name in self.weights:
            cumulated_weights = np.cumsum(np.array(self.weights[name], dtype=np.int64))
            weighted = np.searchsorted(
                cumulated_weights, draws.below(int(cumulated_weights[-1]), len(is_uniform)), side="right"
            )
            codes = np.where(is_uniform, codes, weighted)
        return codes

    def as_json(self) -> dict[str, Any]:
        """The source as plain data."""
        return {"weights": {name: list(listed) for name, listed in self.weights.items()}, "uniform": str(self.uniform)}

    @classmethod
    def from_json(cls, written: Mapping[str, Any], domain: ViewDomain) -> NoiseSource:
        """The source that :meth:`as_json` wrote."""
        weights = {name: tuple(int(weight) for weight in listed) for name, listed in written["weights"].items()}
        return cls(domain, weights, exact(written["uniform"], "uniform"))


def _in_order(weights: Any, domain: ViewDomain, name: str) -> Sequence[Number]:
    """Return the weights of a column in the order of its values."""
    if not isinstance(weights, Mapping):
        if isinstance(weights, str) or not isinstance(weights, Sequence):
            raise PolicyError(
                f"source[{name!r}] must be a list of weights or map values to weights, but it is {weights!r}."
            )
        return weights
    values = domain[name].listed.to_list()
    for value in weights:
        if value not in values:
            raise PolicyError(f"source[{name!r}] gives a weight to {value!r}, which is not in the column's domain.")
    return [weights.get(value, 0) for value in values]


@dataclass(frozen=True)
class SourceRates:
    """Rates of non-uniform noise: true tuples with alpha + beta(t), others with beta(t) = scale source(t)."""

    source: NoiseSource
    alpha: Fraction
    scale: Fraction

    @classmethod
    def calibrated(
        cls, source: NoiseSource, n: int, k: Fraction, gamma: Fraction, limit: Fraction = Fraction(1, 2)
    ) -> SourceRates:
        """Return rates against adversaries whose prior of a tuple is at most k n source(t), with inclusion probabilities of at most ``limit``.

        c = alpha k n (1-gamma)/(gamma - d_max). One constant for all tuples loses nothing: gamma - d(t) is at least
        gamma - d_max.
        """
        largest = k * n * source.largest
        if largest >= gamma:
            raise Infeasible(
                f"The source gives one tuple a prior of {float(largest):.4g}, not below gamma = {float(gamma):.4g}. Use a flatter source, a larger uniform "
                "share, or a smaller k."
            )
        return cls._of_odds(source, k * n * (1 - gamma) / (gamma - largest), limit)

    @classmethod
    def covering(
        cls, source: NoiseSource, d: Fraction, gamma: Fraction, limit: Fraction = Fraction(1, 2)
    ) -> SourceRates:
        """Return rates against adversaries whose prior of every tuple is at most ``d``, independent of the source.

        The least likely tuple of the source needs as much noise as uniform noise for ``d`` gives every tuple; all
        others have more.
        """
        return cls._of_odds(source, d * (1 - gamma) / ((gamma - d) * source.least), limit)

    @classmethod
    def _of_odds(cls, source: NoiseSource, odds: Fraction, limit: Fraction) -> SourceRates:
        """Return rates with scale = ``odds`` alpha, alpha as large as ``limit`` allows for the likeliest tuple of the source."""
        alpha = limit / (1 + odds * source.largest)
        return cls(source, alpha, alpha * odds)

    @property
    def largest(self) -> Fraction:
        """Largest beta(t)."""
        return self.scale * self.source.largest

    @property
    def least(self) -> Fraction:
        """Smallest beta(t)."""
        return self.scale * self.source.least

    @property
    def kept(self) -> Fraction:
        """Largest contribution of a true tuple to the variance of a count: p(1-p) over alpha < p <= alpha + the largest beta."""
        half_probability, highest = Fraction(1, 2), self.alpha + self.largest
        worst = max(self.alpha, min(half_probability, highest))
        return worst * (1 - worst)

    def ratios(self, adversary: Adversary) -> Ratios:
        """Return the extreme likelihood ratios over all tuples, for independent adversaries."""
        if adversary != "independent":
            raise PolicyError(f"Non-uniform noise is calibrated against independent adversaries, not {adversary!r}.")
        return Ratios((self.alpha + self.least) / self.least, (1 - self.alpha - self.largest) / (1 - self.largest))

    def spread(self, true: Fraction, cells: Fraction) -> Fraction:
        """Bound the variance of the number of published tuples in a query that ``true`` tuples of the table and the share
        cells/m of the source meet.
        """
        return true * self.kept + self.scale * cells / self.source.domain.size

    def most_spread(self, n: int, cells: int) -> Fraction:
        """Return an upper bound of :meth:`spread` over all tables of n tuples."""
        return self.spread(Fraction(min(n, cells)), Fraction(cells))

    def posterior(self, prior: Fraction, seen: bool) -> Fraction:
        """Return the extreme posterior of a tuple in the view (the least likely tuple), or not in it (the likeliest)."""
        ratios = self.ratios("independent")
        assert ratios.lowest is not None
        return posterior(prior, ratios.highest if seen else ratios.lowest)

    def swap_ratio(self) -> Fraction | None:
        """e^epsilon of differential privacy for replacing one tuple."""
        ratios = self.ratios("independent")
        return ratios.highest / ratios.lowest if ratios.lowest else None

    def change_ratio(self) -> Fraction | None:
        """e^epsilon of differential privacy for adding or removing one tuple."""
        ratios = self.ratios("independent")
        return max(ratios.highest, 1 / ratios.lowest) if ratios.lowest else None

    def fakes(self, true: Keys, draws: Draws) -> Keys:
        """Sample every tuple outside the table independently with beta(t), by Poissonization.

        Corrected: the printed sampler (a binomial count, sample until reached) does not include tuples independently
        with beta(t). This one does: a tuple is sampled at least once with probability 1 - exp(-kappa beta(t)), and then
        accepted with the remaining factor to beta(t).
        """
        largest = float(self.largest)
        # If even the largest beta underflows, both quotients take their limit, 1.
        kappa = -math.log1p(-largest) / largest if largest else 1.0
        sampled = distinct(self.source.draw(draws.poisson(kappa * float(self.scale)), draws))
        new_tuples = without(sampled, true)
        beta = float(self.scale) * self.source.probabilities(new_tuples)
        sampled_once = -np.expm1(-kappa * beta)
        chances = np.divide(beta, sampled_once, out=np.full(len(beta), 1 / kappa), where=sampled_once > 0)
        accepted: Keys = new_tuples[draws.chances(chances, up=True)]
        return accepted

    def sample(self, true: Keys, draws: Draws) -> Keys:
        """Sample a view: true tuples with alpha + beta(t), the others with beta(t); sorted."""
        chances = float(self.alpha) + float(self.scale) * self.source.probabilities(true)
        return in_order(np.concatenate([true[draws.chances(chances, up=False)], self.fakes(true, draws)]))
