"""From public facts to a plan: how much noise each group gets, what is promised, and how much of the real data stays visible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

from reticent.cards import Card, ShownAsCard
from reticent.definitions import PrivacyLoss, ProbabilisticDP, certainty, ratio_within
from reticent.errors import PolicyError, did_you_mean
from reticent.exact import Number, exact, whole
from reticent.synthesize.disclosure import is_integer
from reticent.synthesize.least_scale import least_scales
from reticent.synthesize.need import Need
from reticent.synthesize.prior import PublicPrior
from reticent.synthesize.reference import thesis_scale

NoiseMode = Literal["tight", "thesis"]
DeltaScope = Literal["per_person", "whole_release"]
MODES: tuple[str, ...] = get_args(NoiseMode)
SCOPES: tuple[str, ...] = get_args(DeltaScope)
_LARGEST_GROUP = 10**8
_MOST_ROWS_PER_PERSON = 1000


@dataclass(frozen=True)
class PlanOptions:
    """How a plan spends its promise: the ``mode`` of the noise, whether delta is meant ``per_person`` or for the ``whole_release`` (R-SY-13), and how many rows
    a person has at most (``rows_per_person``, section E)."""

    mode: NoiseMode = "tight"
    delta_scope: DeltaScope = "per_person"
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        _check_choice("mode", self.mode, MODES)
        _check_choice("delta_scope", self.delta_scope, SCOPES)
        whole(self.rows_per_person, "rows_per_person", low=1, high=_MOST_ROWS_PER_PERSON)

    def as_json(self) -> dict[str, Any]:
        """The options as plain data."""
        return {"mode": self.mode, "delta_scope": self.delta_scope, "rows_per_person": self.rows_per_person}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> PlanOptions:
        """The options among what :meth:`as_json` wrote."""
        return cls(written["mode"], written["delta_scope"], written["rows_per_person"])


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
    options: PlanOptions

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
        return self.share_of_promise.need(size, self.prior)

    @property
    def share_of_promise(self) -> _Share:
        """What every group must keep so that the promise holds."""
        return _Share.of(self.promise, self.options, self.groups)

    @cached_property
    def _loss(self) -> PrivacyLoss:
        share = self.share_of_promise
        worst = max(Fraction(self.need(size).failure(self.alpha[size])) for size in self.sizes)
        return PrivacyLoss(share.ratio**self.options.rows_per_person, worst * share.times)

    def privacy_loss(self) -> PrivacyLoss:
        """The loss that the noise of every group certifies, computed again from exact thresholds and tails with a margin (R-SY-12)."""
        return self._loss

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


@dataclass(frozen=True)
class _Share:
    """What each group must keep: the ``ratio`` for one row, and ``delta``, which is the promised one over ``times``.

    A person with c rows has c times epsilon; in one group c e^((c-1) epsilon) times delta, in several c times (section E). ``whole_release`` divides delta by
    the number of groups (R-SY-13).
    """

    ratio: Fraction
    delta: Fraction
    times: Fraction

    @classmethod
    def of(cls, promise: ProbabilisticDP, options: PlanOptions, groups: int) -> _Share:
        rows = options.rows_per_person
        ratio = ratio_within(exact(promise.epsilon, "epsilon") / rows)
        if ratio <= 1:
            raise PolicyError(
                f"epsilon = {promise.epsilon} is too small for {rows} rows a person.", setting=("epsilon",)
            )
        times = rows * ratio ** (rows - 1) * (groups if options.delta_scope == "whole_release" else 1)
        return cls(ratio, exact(promise.delta, "delta") / times, times)

    def need(self, size: int, prior: PublicPrior) -> Need:
        return Need(size, size, prior.classes, prior.total, self.ratio, self.delta)


def plan(
    groups: Iterable[int] | Mapping[Any, int],
    domain: int | Sequence[Any] | Mapping[Any, Any] | PublicPrior,
    epsilon: Number,
    delta: Number = 0,
    mode: NoiseMode = "tight",
    delta_scope: DeltaScope = "per_person",
    rows_per_person: int = 1,
) -> SynthesisPlan:
    """Plan a synthetic release from public facts, before any data are read.

    ``groups`` are the public sizes of all groups (a list, or a mapping from their names), ``domain`` the values that are possible: how many, which ones, or a
    mapping to their public weights. ``epsilon`` and ``delta`` are what is promised to a person with at most ``rows_per_person`` rows. ``mode`` is ``tight``
    (the least noise that exact tails certify) or ``thesis`` (the closed criterion of the literature, certified by exact tails as well). ``delta_scope`` says
    whether delta is the risk of each person (``per_person``) or of anybody at all (``whole_release``, R-SY-13).
    """
    options = PlanOptions(mode, delta_scope, rows_per_person)
    return planned(sizes_of(groups), PublicPrior.of(domain), ProbabilisticDP(epsilon, delta), options)


def planned(
    sizes: Mapping[int, int], prior: PublicPrior, promise: ProbabilisticDP, options: PlanOptions
) -> SynthesisPlan:
    """The plan with the least noise that its mode finds."""
    share = _Share.of(promise, options, sum(sizes.values()))
    needs = [share.need(size, prior) for size in sizes]
    scales = least_scales(needs) if options.mode == "tight" else [thesis_scale(need) for need in needs]
    return SynthesisPlan(sizes, prior, dict(zip(sizes, scales, strict=True)), promise, options)


def sizes_of(groups: Iterable[int] | Mapping[Any, int]) -> dict[int, int]:
    """The sizes of groups, each with the number of groups that have it, smallest first."""
    listed = list(groups.values()) if isinstance(groups, Mapping) else list(groups)
    if not listed:
        raise PolicyError("groups is empty: name the public size of every group.", setting=("groups",))
    found = Counter(listed)
    for size in found:
        whole(int(size) if is_integer(size) else size, "groups", low=1, high=_LARGEST_GROUP)
    return {int(size): found[size] for size in sorted(found)}


def _check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise PolicyError(
            f"{name} must be one of {', '.join(choices)}, but it is {value!r}.{did_you_mean(value, choices)}",
            setting=(name,),
            value=value,
        )
