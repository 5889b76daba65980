"""From public facts to a plan: how much noise each group gets, what is promised, and how much of the real data stays visible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

from reticent.cards import Card, ShownAsCard
from reticent.definitions import PrivacyLoss, ProbabilisticDP, certainty, ratio_within
from reticent.errors import PolicyError, did_you_mean
from reticent.exact import Number, exact, whole
from reticent.synthesize.need import Need, NoiseMode, thesis_scale, tight_scale
from reticent.synthesize.prior import PublicPrior

DeltaScope = Literal["per_person", "whole_release"]
MODES: tuple[str, ...] = get_args(NoiseMode)
SCOPES: tuple[str, ...] = get_args(DeltaScope)
_LARGEST_GROUP = 10**8
_SCALES: Mapping[str, Callable[[Need], Fraction]] = {"tight": tight_scale, "thesis": thesis_scale}


@dataclass(frozen=True, repr=False)
class SynthesisPlan(ShownAsCard):
    """How every group is synthesized: its noise ``alpha`` by group size, for the ``promise`` of the whole.

    Everything in it follows from public facts: the ``sizes`` of groups (size -> how many groups have it), the ``prior`` and the promise. A value of weight w gets
    alpha * w of noise. Guarantee: ``promise``, certified by :meth:`privacy_loss`. Source: R-SY-5, R-SY-10 to R-SY-13.
    """

    sizes: Mapping[int, int]
    prior: PublicPrior
    alpha: Mapping[int, Fraction]
    promise: ProbabilisticDP
    mode: NoiseMode = "tight"
    delta_scope: DeltaScope = "per_person"

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that is promised."""
        return exact(self.promise.epsilon, "epsilon")

    @property
    def delta(self) -> Fraction:
        """The delta that is promised: for each person, or for the whole release (``delta_scope``)."""
        return exact(self.promise.delta, "delta")

    @property
    def groups(self) -> int:
        """The number of groups."""
        return sum(self.sizes.values())

    @property
    def rows(self) -> int:
        """The number of rows, real and synthetic alike."""
        return sum(size * times for size, times in self.sizes.items())

    def noise(self, size: int) -> Fraction:
        """|alpha|: the weight of all noise in a group of this size."""
        return self.alpha[size] * self.prior.total

    def share(self, size: int) -> Fraction:
        """The expected share of synthetic rows that repeat real ones, n/(n + |alpha|)."""
        return size / (size + self.noise(size))

    @cached_property
    def real_share(self) -> float:
        """The expected share of all synthetic rows that repeat real ones."""
        return float(sum(size * times * self.share(size) for size, times in self.sizes.items()) / self.rows)

    def need(self, size: int) -> Need:
        """What a group of this size needs for the promise."""
        return _need(size, self.prior, self.promise, self.delta_scope, self.groups)

    def privacy_loss(self) -> PrivacyLoss:
        """The loss that the noise of every group certifies, computed again from exact thresholds and tails with a margin (R-SY-12)."""
        failures = [Fraction(self.need(size).failure(self.alpha[size])) for size in self.sizes]
        worst = max(failures)
        scale = self.groups if self.delta_scope == "whole_release" else 1
        return PrivacyLoss(ratio_within(self.epsilon), worst * scale)

    def card(self) -> Card:
        """What is promised, and what it costs."""
        facts = {
            "groups": self.groups,
            "rows": self.rows,
            "domain": self.prior.size,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "certainty": certainty(self.epsilon),
            "real share": f"{self.real_share:.1%}",
        }
        listed = [
            (size, times, f"{float(self.alpha[size]):.6g}", f"{float(self.share(size)):.1%}")
            for size, times in self.sizes.items()
        ]
        return Card("Plan of a synthetic release", facts, None, ("group size", "groups", "alpha", "real share"), listed)


def plan(
    groups: Iterable[int] | Mapping[Any, int],
    domain: int | Sequence[Any] | Mapping[Any, Any] | PublicPrior,
    epsilon: Number,
    delta: Number = 0,
    mode: NoiseMode = "tight",
    delta_scope: DeltaScope = "per_person",
) -> SynthesisPlan:
    """Plan a synthetic release from public facts, before any data are read.

    ``groups`` are the public sizes of all groups (a list, or a mapping from their names), ``domain`` the values that are possible: how many, which ones, or a
    mapping to their public weights. ``epsilon`` and ``delta`` are what is promised. ``mode`` is ``tight`` (the least noise that exact tails certify) or
    ``thesis`` (the closed criterion of the literature, certified by exact tails as well). ``delta_scope`` says whether delta is the risk of each person
    (``per_person``) or of anybody at all (``whole_release``, R-SY-13).
    """
    _check_choice("mode", mode, MODES)
    _check_choice("delta_scope", delta_scope, SCOPES)
    sizes, prior = _sizes(groups), PublicPrior.of(domain)
    promise = ProbabilisticDP(epsilon, delta)
    total = sum(sizes.values())
    alpha = {size: _SCALES[mode](_need(size, prior, promise, delta_scope, total)) for size in sizes}
    return SynthesisPlan(sizes, prior, alpha, promise, mode, delta_scope)


def _need(size: int, prior: PublicPrior, promise: ProbabilisticDP, delta_scope: DeltaScope, groups: int) -> Need:
    delta = exact(promise.delta, "delta") / (groups if delta_scope == "whole_release" else 1)
    return Need(size, size, prior.classes, prior.total, ratio_within(exact(promise.epsilon, "epsilon")), delta)


def _sizes(groups: Iterable[int] | Mapping[Any, int]) -> dict[int, int]:
    """The sizes of groups, each with the number of groups that have it, smallest first."""
    listed = list(groups.values()) if isinstance(groups, Mapping) else list(groups)
    if not listed:
        raise PolicyError("groups is empty: name the public size of every group.", setting=("groups",))
    found = Counter(
        whole(
            int(each) if hasattr(each, "__index__") and not isinstance(each, bool) else each,
            "groups",
            low=1,
            high=_LARGEST_GROUP,
        )
        for each in listed
    )
    return {size: found[size] for size in sorted(found)}


def _check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise PolicyError(
            f"{name} must be one of {', '.join(choices)}, but it is {value!r}.{did_you_mean(value, choices)}",
            setting=(name,),
            value=value,
        )
