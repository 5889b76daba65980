"""The public prior: the possible values, and their relative noise. It must not be derived from the confidential rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import exact, whole
from reticent.errors import PolicyError
from reticent.methods.synthesize.keep_probabilities import Keep, KeptValues
from reticent.methods.synthesize.required_noise import WeightClass

_MOST_VALUES = 10**9
_LARGEST_WEIGHT = 10**9
_MOST_CLASSES = 4096


@dataclass(frozen=True, eq=False)
class PublicPrior:
    """``size`` values, with names if listed, and integer ``weights`` if not uniform.

    Noise is the plan's alpha times the weight of a value; uniform weights are 1. ``kept`` are the retention
    probabilities of values that nobody in a group has; without it, all are retained.
    """

    size: int
    values: tuple[Any, ...] | None = None
    weights: NDArray[np.int64] | None = field(default=None, repr=False)
    kept: KeptValues | None = None

    def __post_init__(self) -> None:
        whole(self.size, "domain", low=1, high=_MOST_VALUES)
        if self.size < 2:
            raise PolicyError(
                "The domain has a single value, so there is nothing to protect. Declare every possible value.",
                setting=("domain",),
                value=self.size,
            )

    @classmethod
    def of(cls, domain: int | Sequence[Any] | Mapping[Any, Any] | PublicPrior) -> PublicPrior:
        """Build the prior from a number of values, a list of them, or a mapping from values to weights."""
        if isinstance(domain, PublicPrior):
            return domain
        if isinstance(domain, Mapping):
            return cls._weighted(domain)
        if isinstance(domain, str | bytes) or not isinstance(domain, Sequence | int | np.integer):
            raise PolicyError(
                f"domain must be a number of values, a list of values, or a mapping from values to weights, but it is {domain!r}.",
                setting=("domain",),
                value=domain,
            )
        if isinstance(domain, int | np.integer):
            return cls(int(domain) if not isinstance(domain, bool) else whole(domain, "domain", low=1))
        values = tuple(domain)
        _check_distinct(values)
        return cls(len(values), values)

    @classmethod
    def _weighted(cls, weights: Mapping[Any, Any]) -> PublicPrior:
        """Return the prior of a mapping from values to relative weights, as the smallest whole numbers in these proportions."""
        values = tuple(weights)
        exact_weights = [exact(weights[value], f"domain: the weight of {value!r}", above=0) for value in values]
        if not exact_weights:
            raise PolicyError("domain has no values.", setting=("domain",))
        common_denominator = math.lcm(*(exact_weight.denominator for exact_weight in exact_weights))
        scaled = [int(exact_weight * common_denominator) for exact_weight in exact_weights]
        common_divisor = math.gcd(*scaled)
        whole_weights = [scaled_weight // common_divisor for scaled_weight in scaled]
        if max(whole_weights) > _LARGEST_WEIGHT:
            raise PolicyError(
                f"The weights of the domain, as whole numbers, reach {max(whole_weights):,}; they may be at most {_LARGEST_WEIGHT:,}. Round them.",
                setting=("domain",),
            )
        if len(set(whole_weights)) == 1:
            return cls(len(values), values)
        return cls(len(values), values, np.array(whole_weights, dtype=np.int64))

    def keeping(self, keep: Keep) -> PublicPrior:
        """Return the prior with one retention probability, or one for each value: by value, or in the order of the domain."""
        if isinstance(keep, Mapping):
            for value in keep:
                self.code(value)
            return replace(
                self, kept=KeptValues.listed([keep.get(self.value(code)) for code in range(self.size)], self.size)
            )
        if isinstance(keep, Sequence) and not isinstance(keep, str):
            return replace(self, kept=KeptValues.listed(keep, self.size))
        return replace(self, kept=KeptValues.everywhere(keep, self.size))

    @property
    def is_uniform(self) -> bool:
        """True if all values have the same weight."""
        return self.weights is None

    @cached_property
    def total(self) -> int:
        """The sum of all weights."""
        return self.size if self.weights is None else int(self.weights.sum())

    @cached_property
    def expected(self) -> Fraction:
        """The mean weight of the retained values if nobody has any."""
        return sum(
            (record_class.keep * record_class.count * record_class.weight for record_class in self.classes), Fraction(0)
        )

    @cached_property
    def heaviest(self) -> int:
        """The largest weight."""
        return 1 if self.weights is None else int(self.weights.max())

    @cached_property
    def classes(self) -> tuple[WeightClass, ...]:
        """The distinct pairs of weight and retention probability with their numbers of values, lightest first."""
        if self.weights is None and self.kept is None:
            return (WeightClass(1, self.size),)
        return self._classified[0]

    @property
    def class_of(self) -> NDArray[np.int64]:
        """The class of every value."""
        return self._classified[1]

    @cached_property
    def _classified(self) -> tuple[tuple[WeightClass, ...], NDArray[np.int64]]:
        """Return the classes of values with the same weight and retention probability, and the class of each value."""
        uniform_weights = np.ones(self.size, dtype=np.int64)
        kept_values = KeptValues.everywhere(1, self.size) if self.kept is None else self.kept
        weights, probability_count = (
            uniform_weights if self.weights is None else self.weights,
            len(kept_values.probabilities),
        )
        distinct_pairs, pair_of_value, counts = np.unique(
            weights * probability_count + kept_values.of, return_inverse=True, return_counts=True
        )
        if len(distinct_pairs) > _MOST_CLASSES and self.kept is not None:
            raise PolicyError(
                f"The domain has {len(distinct_pairs):,} different pairs of a weight and a keep probability; at most {_MOST_CLASSES:,} are supported. Round them.",
                setting=("keep",),
            )
        triples = zip(
            (distinct_pairs // probability_count).tolist(),
            counts.tolist(),
            (distinct_pairs % probability_count).tolist(),
            strict=True,
        )
        classes = tuple(
            WeightClass(weight, count, kept_values.probabilities[index]) for weight, count, index in triples
        )
        return classes, pair_of_value.reshape(-1)

    @cached_property
    def codes(self) -> Mapping[Any, int]:
        """The index of every value; a domain that is a number has the values 0, 1, 2, ..."""
        return {value: code for code, value in enumerate(self.values)} if self.values is not None else {}

    def code(self, value: Any) -> int:
        """Return the index of a value; a :class:`PolicyError` if the domain does not have it."""
        if self.values is None:
            if isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= value < self.size:
                return int(value)
            raise PolicyError(
                f"The domain is given as a number, so its values are 0 to {self.size - 1:,}, but {value!r} is not one of them. List the values: domain=[...].",
                setting=("domain",),
                value=value,
            )
        if value not in self.codes:
            raise PolicyError(
                f"The value {value!r} is not in the declared domain. Declare every value that is possible; a row is never dropped.",
                setting=("domain",),
                value=value,
            )
        return self.codes[value]

    def value(self, code: int) -> Any:
        """Return the value at an index."""
        return code if self.values is None else self.values[code]

    def noise(self, alpha: Fraction, code: int) -> Fraction:
        """Return the noise of the value at an index."""
        return alpha * self.weight(code)

    def weight(self, code: int) -> int:
        """Return the weight of the value at an index."""
        return 1 if self.weights is None else int(self.weights[code])


def _check_distinct(values: Sequence[Any]) -> None:
    """Refuse a domain that lists a value twice."""
    occurrences = Counter(values)
    repeated = [value for value, times in occurrences.items() if times > 1]
    if repeated:
        raise PolicyError(f"The domain lists {repeated[0]!r} twice.", setting=("domain",), value=repeated[0])
