"""The exact test whether one output is in the disclosure set. Its result depends on the confidential rows and is private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from reticent.base.exact import Number, exact, whole
from reticent.definitions import exceeds_exponential
from reticent.errors import PolicyError
from reticent.methods.synthesize.keep_probabilities import Keep
from reticent.methods.synthesize.mixture import DroppedOutput
from reticent.methods.synthesize.prior import PublicPrior

Counts = Mapping[Any, int]


def disclosure(
    counts: Counts,
    output: Counts,
    alpha: Number | Mapping[Any, Number],
    epsilon: Number,
    domain: int | Sequence[Any] | Mapping[Any, Any] | PublicPrior,
    keep: Keep | None = None,
) -> bool:
    """True if an ``output`` of a group is in its disclosure set: two neighbours, each within one row of the group's
    ``counts`` and of each other, differ in their probability of this output by more than the factor e^epsilon.

    ``alpha`` is the noise of every value, times its weight if ``domain`` has weights, or a mapping from each value to
    its noise. With ``keep``, values that nobody has are retained only with these probabilities; ``alpha`` is then one
    number. Exact: fractions, and as many digits of e^epsilon as needed. Private: the result depends on the true counts
    and must not be published.
    """
    prior = PublicPrior.of(domain)
    limit = exact(epsilon, "epsilon", low=0)
    people, drawn = checked_counts(counts, "counts"), checked_counts(output, "output")
    if keep is not None:
        if isinstance(alpha, Mapping):
            raise PolicyError(
                "With keep, alpha must be one number; use the weights of the domain for different noise.",
                setting=("alpha",),
            )
        true, shown = (
            {prior.code(value): times for value, times in count_of_value.items()} for count_of_value in (people, drawn)
        )
        return DroppedOutput(true, shown, exact(alpha, "alpha", above=0), prior.keeping(keep)).discloses(limit)[0]
    ratio = worst_ratio(people, drawn, _Noise(alpha, prior), prior.size)
    return ratio is None or exceeds_exponential(ratio, limit)


class _Noise:
    """The noise of every value, exactly."""

    def __init__(self, alpha: Number | Mapping[Any, Number], prior: PublicPrior) -> None:
        """Take the noise of every value (a mapping), or a scale for the weights of the prior."""
        self.prior = prior
        self.listed = (
            {value: exact(noise, f"alpha of {value!r}", low=0) for value, noise in alpha.items()}
            if isinstance(alpha, Mapping)
            else None
        )
        self.scale = None if isinstance(alpha, Mapping) else exact(alpha, "alpha", low=0)

    def __call__(self, value: Any) -> Fraction:
        """Return the noise of one value."""
        if self.listed is not None:
            if value not in self.listed:
                raise PolicyError(f"alpha has no entry for the value {value!r}.", setting=("alpha",), value=value)
            return self.listed[value]
        assert self.scale is not None
        # If all weights are equal, values need no names.
        return self.scale if self.prior.is_uniform else self.scale * self.prior.weight(self.prior.code(value))


def worst_ratio(counts: Counts, output: Counts, noise: Any, size: int) -> Fraction | None:
    """Return the largest ratio of the probabilities of ``output`` under two neighbours of ``counts``; None if infinite.

    ``noise(value)`` is the noise alpha of a value, ``size`` the number of values. Moving a person from value i to j
    changes the probability by w_j/w_i with w = 1 + m/(n + alpha), for n people and m sampled rows. For each value with
    people, one person leaves it, and the largest and smallest w are compared, with its own w computed without the person.
    """
    if not any(counts.values()):
        return Fraction(1)
    touched = list(dict.fromkeys([*counts, *output]))
    if len(touched) > size:
        raise PolicyError(
            f"counts and output have {len(touched):,} values, but the domain has {size:,}.",
            setting=("domain",),
            value=size,
        )
    weights: dict[Any, Fraction] = {}
    for value in touched:
        drawn, weight_of_value = output.get(value, 0), counts.get(value, 0) + noise(value)
        if drawn and not weight_of_value:
            raise PolicyError(
                f"The output has the value {value!r}, which has neither people nor noise: this mechanism cannot produce it.",
                setting=("output",),
                value=value,
            )
        weights[value] = 1 + (Fraction(drawn) / weight_of_value if drawn else Fraction(0))
    ordered = sorted(weights.values())
    lowest, highest = ordered[:2], ordered[:-3:-1]
    if len(touched) < size:
        lowest = [Fraction(1), *lowest]
    worst = Fraction(1)
    for value, people in counts.items():
        if not people:
            continue
        drawn, weight_of_value = output.get(value, 0), people - 1 + noise(value)
        if drawn and not weight_of_value:
            return None
        own_weight = weights[value]
        without_person = 1 + (Fraction(drawn) / weight_of_value if drawn else Fraction(0))
        largest = max([without_person, *_without(highest, own_weight)])
        smallest = min([without_person, *_without(lowest, own_weight)])
        worst = max(worst, largest / smallest)
    return worst


def _without(ends: list[Fraction], own_weight: Fraction) -> list[Fraction]:
    """Return some of the extremes of all weights, without one that is ``own_weight``."""
    return [weight for index, weight in enumerate(ends) if weight != own_weight or index != ends.index(own_weight)]


def checked_counts(counts: Counts, name: str) -> dict[Any, int]:
    """Return counts by value as whole numbers of at least 0. Raises for anything else."""
    if not isinstance(counts, Mapping):
        raise PolicyError(f"{name} must be a mapping from values to counts, but it is {counts!r}.", setting=(name,))
    return {
        value: whole(int(count) if is_integer(count) else count, f"{name}: {value!r}", low=0)
        for value, count in counts.items()
    }


def is_integer(value: Any) -> bool:
    """True if a value is an integer of any type."""
    return hasattr(value, "__index__") and not isinstance(value, bool)
