"""From public facts to a plan: the noise of each group, the guarantee, and the visible share of the real data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.base.exact import Number, exact, one_of, whole
from reticent.definitions import ExpectedError, PrivacyLoss, ProbabilisticDP, certainty, ratio_within
from reticent.errors import PolicyError
from reticent.methods.synthesize.disclosure_set import is_integer
from reticent.methods.synthesize.domain_reduction import dropping_need, dropping_scales
from reticent.methods.synthesize.keep_probabilities import BY_GROUP, BY_VALUE, ByGroup, ByValue, Keep
from reticent.methods.synthesize.least_scale import least_scales
from reticent.methods.synthesize.prior import PublicPrior
from reticent.methods.synthesize.reference_sample import thesis_scale
from reticent.methods.synthesize.rejection import screening_charge
from reticent.methods.synthesize.required_noise import RequiredNoise

NoiseMode = Literal["tight", "thesis"]
DeltaScope = Literal["per_person", "whole_release"]
MODES: tuple[str, ...] = get_args(NoiseMode)
SCOPES: tuple[str, ...] = get_args(DeltaScope)
_LARGEST_GROUP = 10**8
_MOST_ROWS_PER_PERSON = 1000
_FEW_REAL, _LARGE_EPSILON = 0.5, 5

_SIZES_SHOWN = 12


@dataclass(frozen=True)
class PlanOptions:
    """Options of a plan.

    ``mode`` is that of the noise; delta applies ``per_person`` or to the ``whole_release``; a person has at most
    ``rows_per_person`` rows. ``screen``: samples that are not good are rejected. ``keep``: values that nobody in a
    group has are retained with this public probability, with the domain's probability for each (``"by value"``), or
    with that of the column a group names (``"by group"``). There is no proof for both together, so that is refused.
    """

    mode: NoiseMode = "tight"
    delta_scope: DeltaScope = "per_person"
    rows_per_person: int = 1
    screen: bool = False
    keep: Fraction | ByValue | ByGroup | None = None

    def __post_init__(self) -> None:
        one_of(self.mode, "mode", MODES)
        one_of(self.delta_scope, "delta_scope", SCOPES)
        whole(self.rows_per_person, "rows_per_person", low=1, high=_MOST_ROWS_PER_PERSON)
        if not isinstance(self.screen, bool):
            raise PolicyError(
                f"screen must be true or false, but it is {self.screen!r}.", setting=("screen",), value=self.screen
            )
        if self.keep is not None:
            if self.keep not in (BY_VALUE, BY_GROUP):
                object.__setattr__(self, "keep", exact(self.keep, "keep", above=0, high=1))
            if self.screen:
                raise PolicyError(
                    "There is no proof for screen and keep together. Choose one of them.", setting=("screen",)
                )
            if self.mode == "thesis":
                raise PolicyError(
                    "mode 'thesis' with keep relies on a false theorem (see rt.synthesize.plan_dropping). Use mode 'tight'.",
                    setting=("mode",),
                )

    def as_json(self) -> dict[str, Any]:
        """The options as plain data."""
        return {
            "mode": self.mode,
            "delta_scope": self.delta_scope,
            "rows_per_person": self.rows_per_person,
            "screen": self.screen,
            "keep": None if self.keep is None else str(self.keep),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> PlanOptions:
        """The options among what :meth:`as_json` wrote."""
        return cls(*(written[name] for name in ("mode", "delta_scope", "rows_per_person", "screen", "keep")))

    def applied(self, prior: PublicPrior) -> PublicPrior:
        """Return the prior with its retention probabilities."""
        if self.keep in (BY_VALUE, BY_GROUP) and prior.kept is None:
            raise PolicyError(
                f"keep is {self.keep!r}, but the domain has no probabilities. List one for every value: a column 'keep' of the domain, or keep={{value: probability}}.",
                setting=("keep",),
                value=self.keep,
            )
        if self.keep not in (BY_VALUE, BY_GROUP) and prior.kept is not None:
            raise PolicyError(
                f"The domain has a column 'keep'. Pass keep={BY_VALUE!r} to retain values that nobody has only with these probabilities, or remove the column.",
                setting=("keep",),
                value=self.keep,
            )
        return prior if self.keep in (None, BY_VALUE, BY_GROUP) else prior.keeping(self.keep)


class PromisedNoise(ShownAsCard):
    """A noise plan that was computed from the privacy guarantee it must satisfy."""

    promise: ProbabilisticDP

    @property
    def epsilon(self) -> Fraction:
        """The claimed epsilon."""
        return exact(self.promise.epsilon, "epsilon")

    @property
    def delta(self) -> Fraction:
        """The claimed delta: for each person, or for the whole release (``delta_scope``)."""
        return exact(self.promise.delta, "delta")


@dataclass(frozen=True, repr=False)
class SynthesisPlan(PromisedNoise):
    """The noise ``alpha`` by group size, for the ``promise`` of the whole release.

    Everything in it follows from public facts: the ``sizes`` of groups (size -> how many groups have it), the ``prior``
    and the guarantee. A value of weight w gets alpha * w of noise, if it is retained. As many rows are sampled as a
    group has, or as ``drawn`` gives for its size. ``whole`` is the number of groups of the release if these are only
    some of them. Guarantee: ``promise``, certified by :meth:`privacy_loss`.
    """

    sizes: Mapping[int, int]
    prior: PublicPrior
    alpha: Mapping[int, Fraction]
    promise: ProbabilisticDP
    options: PlanOptions
    drawn: Mapping[int, int] = field(default_factory=dict)
    whole: int | None = None

    @property
    def groups(self) -> int:
        """The number of groups."""
        return sum(self.sizes.values())

    @property
    def rows(self) -> int:
        """The number of real rows, and of synthetic ones unless another number is sampled."""
        return sum(size * times for size, times in self.sizes.items())

    def rows_drawn(self, size: int) -> int:
        """Return how many rows are sampled for a group of this size."""
        return self.drawn.get(size, size)

    @property
    def synthetic_rows(self) -> int:
        """The number of synthetic rows."""
        return sum(self.rows_drawn(size) * times for size, times in self.sizes.items())

    def noise(self, size: int) -> Fraction:
        """Return |alpha|: the weight of all noise in a group of this size; if values are dropped, the mean of the retained
        ones, without that of people's own values.
        """
        return self.alpha[size] * self.prior.expected

    def share(self, size: int) -> Fraction:
        """Return the expected share of synthetic rows that repeat real ones, n/(n + |alpha|)."""
        return size / (size + self.noise(size))

    @cached_property
    def real_share(self) -> float:
        """The expected share of all synthetic rows that repeat real ones."""
        return math.fsum(size * times * float(self.share(size)) for size, times in self.sizes.items()) / self.rows

    def expected_error(self) -> ExpectedError:
        """Return how many rows repeat real ones, and the standard error of a count that half of the rows of every group meet.

        Of m sampled rows m_S meet it, with Var m_S = m (n + A + m)/(4 (n + A + 1)) in the worst case; the estimate is m_S (n + A)/m - alpha_S.
        """
        spread = 0.0
        for size, group_count in self.sizes.items():
            total, drawn = size + float(self.noise(size)), self.rows_drawn(size)
            spread += group_count * (total / drawn) ** 2 * drawn * (total + drawn) / (4 * (total + 1))
        return ExpectedError(
            {"real_share": self.real_share, "standard_error": math.sqrt(spread)},
            f"About {self.real_share:.1%} of {self.synthetic_rows:,} rows would repeat real ones; the others come from the public domain. A count that half of all rows meet is estimated with a "
            f"standard error of about {math.sqrt(spread):,.1f}.",
        )

    def need(self, size: int) -> RequiredNoise | None:
        """Return the requirement of a group of this size, with the noise that it has; None if dropping values leaves nothing of the guarantee."""
        return self.share_of_promise.need(size, self.prior, self.rows_drawn(size), self.alpha[size])

    @property
    def gamma(self) -> Fraction:
        """E - 1 of the urns: how often a value may occur in a representative output, relative to its weight in the urn."""
        need = self.need(next(iter(self.sizes)))
        assert need is not None
        return need.excess

    @cached_property
    def share_of_promise(self) -> GroupPromise:
        """The guarantee that every group must satisfy so that the whole holds."""
        return GroupPromise.of(self.promise, self.options, self.whole or self.groups)

    @cached_property
    def _loss(self) -> PrivacyLoss:
        """The certified privacy loss of a person: the largest over group sizes, for all rows of the person."""
        share = self.share_of_promise
        losses = [share.loss(self.need(size), self.alpha[size]) for size in self.sizes]
        ratio, delta = max(loss.ratio for loss in losses), max(loss.delta for loss in losses)
        return PrivacyLoss(ratio**self.options.rows_per_person, min(delta * share.times, Fraction(1)))

    def privacy_loss(self) -> PrivacyLoss:
        """The loss certified by the noise of every group, recomputed from exact thresholds and tails with a margin."""
        return self._loss

    @property
    def warnings(self) -> list[str]:
        """Return warnings for the steward before choosing this plan."""
        warning_lines = []
        if self.real_share < _FEW_REAL:
            warning_lines.append(
                f"About {self.real_share:.1%} of the rows would repeat real ones; the others are noise. Promise less, merge groups, or use a smaller public domain."
            )
        if self.epsilon > _LARGE_EPSILON:
            warning_lines.append(
                f"epsilon = {float(self.epsilon):g} lets somebody with even odds become {certainty(self.epsilon)} sure."
            )
        if self.options.delta_scope == "per_person" and self.delta:
            warning_lines.append(
                f"delta is the risk of each person; that somebody in one of {self.groups:,} groups is disclosed has a chance of up to {min(float(self.delta * self.groups), 1.0):.3g}."
            )
        return warning_lines

    def describe(self) -> dict[str, Any]:
        """Return the plan as plain data: the guarantee, what each step spends of it, and the noise by group size."""
        share = self.share_of_promise
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "certainty": certainty(self.epsilon),
            **self.options.as_json(),
            "groups": self.groups,
            "rows": self.rows,
            "domain": self.prior.size,
            "uniform": self.prior.is_uniform,
            "real_share": self.real_share,
            "charges": share.charges(None if self.prior.kept is None else self._dropping()),
            "public_inputs": [
                "groups and their sizes",
                "domain",
                *([] if self.prior.is_uniform else ["weights"]),
                *([] if self.prior.kept is None else ["keep probabilities"]),
            ],
            "sizes": [
                {
                    "size": size,
                    "groups": times,
                    "alpha": float(self.alpha[size]),
                    "noise": float(self.noise(size)),
                    "real_share": float(self.share(size)),
                }
                for size, times in self.sizes.items()
            ],
            "warnings": self.warnings,
        }

    def _dropping(self) -> tuple[float, float]:
        """Return the maximum epsilon spent by dropping values: for those in the output, and for the others."""
        needs = [need for size in self.sizes if (need := self.need(size)) is not None]
        least_keep = min(record_class.keep for record_class in self.prior.classes)
        return -math.log(least_keep), math.log(max((need.charge for need in needs), default=Fraction(1)))

    def card(self) -> Card:
        """Summarise for display: guarantee and cost; some of many group sizes."""
        sizes = list(self.sizes.items())
        listed = [
            (
                f"{size:,}",
                f"{times:,}",
                f"{float(self.alpha[size]):.6g}",
                f"{float(self.noise(size)):,.1f}",
                f"{float(self.share(size)):.1%}",
            )
            for size, times in [*sizes[: -1 : max(len(sizes) // _SIZES_SHOWN, 1)], *sizes[-1:]]
        ]
        return Card(
            f"{self.groups:,} groups, {self.rows:,} rows, {self.prior.size:,} values",
            {
                "epsilon": float(self.epsilon),
                "delta": float(self.delta),
                "certainty from even odds": certainty(self.epsilon),
                "real share": f"{self.real_share:.1%}",
            },
            tables=[CardTable(("size", "groups", "alpha", "noise", "real share"), listed, "By group size")],
            notes=self.warnings,
        )


@dataclass(frozen=True)
class GroupPromise:
    """The guarantee of each group: the ``ratio`` for one row, and ``delta``, which is the claimed one over ``times``.

    A person with c rows has c times epsilon; in one group c e^((c-1) epsilon) times delta, in several c times.
    ``whole_release`` divides delta by the number of groups.
    """

    ratio: Fraction
    delta: Fraction
    times: Fraction
    options: PlanOptions

    @classmethod
    def of(cls, promise: ProbabilisticDP, options: PlanOptions, groups: int) -> GroupPromise:
        """Return what each of ``groups`` groups must guarantee for one row, so that the whole release satisfies the ``promise``."""
        rows = options.rows_per_person
        ratio = ratio_within(exact(promise.epsilon, "epsilon") / rows)
        if ratio <= 1:
            raise PolicyError(
                f"epsilon = {promise.epsilon} is too small for {rows} rows per person.", setting=("epsilon",)
            )
        times = rows * ratio ** (rows - 1) * (groups if options.delta_scope == "whole_release" else 1)
        delta = exact(promise.delta, "delta") / times
        if (options.screen or options.keep is not None) and not 0 < delta <= Fraction(1, 2):
            raise PolicyError("screen and keep need a delta above 0 and of at most 1/2.", setting=("delta",))
        return cls(ratio, delta, times, options)

    def need(self, size: int, prior: PublicPrior, drawn: int, scale: Fraction = Fraction(0)) -> RequiredNoise | None:
        """Return the noise requirement of a group of ``size`` people and ``drawn`` sampled rows.

        If values may be dropped, that is charged for noise of at most ``scale``; None if nothing of the guarantee remains.
        """
        if prior.kept is not None:
            return dropping_need(size, drawn, prior, self.ratio, self.delta, scale)
        ratio, delta = self.ratio, self.delta
        if self.options.screen:
            charge = screening_charge(delta)
            ratio, delta = ratio * (1 - delta) * (1 - charge), delta - charge
            if ratio <= 1:
                raise PolicyError("epsilon is too small for screen with this delta.", setting=("epsilon",))
        return RequiredNoise(size, drawn, prior.classes, prior.total, ratio, delta)

    def loss(self, need: RequiredNoise | None, alpha: Fraction) -> PrivacyLoss:
        """Return the certified privacy loss (ratio and delta) of a group with noise ``alpha``; ``need`` is None if nothing is certified."""
        if need is None:
            return PrivacyLoss(self.ratio, Fraction(1))
        failure = Fraction(min(need.failure(alpha), 1.0))
        if self.options.keep is not None:
            return PrivacyLoss(self.ratio, failure + self.delta - need.delta)
        if not self.options.screen:
            return PrivacyLoss(need.ratio, failure)
        if failure > Fraction(1, 2):
            return PrivacyLoss(need.ratio, Fraction(1))
        charge = screening_charge(failure)
        return PrivacyLoss(need.ratio / (1 - failure) * (1 + charge), failure + charge)

    def scales(self, sizes: Iterable[int], prior: PublicPrior, drawn: Mapping[int, int]) -> list[Fraction]:
        """Return the noise of a value for groups of each size; ``drawn`` is the number of sampled rows where it differs from the size."""
        if prior.kept is not None:
            return dropping_scales(
                list(sizes), lambda size, scale: self.need(size, prior, drawn.get(size, size), scale)
            )
        needs = [need for size in sizes if (need := self.need(size, prior, drawn.get(size, size))) is not None]
        return least_scales(needs) if self.options.mode == "tight" else [thesis_scale(need) for need in needs]

    def charges(self, dropping: tuple[float, float] | None) -> list[dict[str, Any]]:
        """Return what each step spends of the guarantee; ``dropping`` is the epsilon spent by dropping values."""
        steps: list[dict[str, Any]] = [{"step": "urn", "epsilon": math.log(self.ratio), "delta": float(self.delta)}]
        if self.options.screen:
            steps[0]["epsilon"] += math.log(1 - self.delta)
            steps.append(
                {
                    "step": "screening",
                    "epsilon": -math.log(1 - self.delta),
                    "delta": float(screening_charge(self.delta)),
                }
            )
        if dropping is not None:
            steps[0] = {
                "step": "urn",
                "epsilon": math.log(self.ratio) - sum(dropping),
                "delta": float(self.delta) * 0.9,
            }
            steps += [
                {"step": "values that show", "epsilon": dropping[0], "delta": float(self.delta) / 10},
                {"step": "values that do not show", "epsilon": dropping[1], "delta": 0.0},
            ]
        if self.options.rows_per_person > 1:
            steps.append(
                {
                    "step": "rows a person",
                    "times_epsilon": self.options.rows_per_person,
                    "times_delta": float(self.times),
                }
            )
        return steps


def plan(
    groups: Iterable[int] | Mapping[Any, int],
    domain: int | Sequence[Any] | Mapping[Any, Any] | PublicPrior,
    epsilon: Number,
    delta: Number = 0,
    mode: NoiseMode = "tight",
    delta_scope: DeltaScope = "per_person",
    rows_per_person: int = 1,
    screen: bool = False,
    keep: Keep | None = None,
    drawn: Number | Mapping[int, int] | None = None,
) -> SynthesisPlan:
    """Plan a synthetic release from public facts, before any data are read.

    ``groups`` are the public sizes of all groups (a list, or a mapping from their names), ``domain`` the possible
    values: their number, a list, or a mapping to public weights. ``epsilon`` and ``delta`` are the guarantee for a
    person with at most ``rows_per_person`` rows. ``mode`` is ``tight`` (the least noise that exact tails certify) or
    ``thesis`` (the published closed-form criterion, certified by exact tails as well). ``delta_scope`` chooses whether
    delta is the risk of each person (``per_person``) or of any person at all (``whole_release``). ``screen`` rejects
    samples that are not representative, ``drawn`` is the sampled share of each group's size (``"1/2"``, ``2``), or maps
    group sizes to numbers of synthetic rows, ``keep`` retains values that nobody in a group has only with this
    probability, or with one for each value (a mapping, a list in the order of the domain, or ``"by value"`` if the
    domain lists them): the guarantee accounts for it.
    """
    prior = PublicPrior.of(domain)
    if isinstance(keep, Mapping) or (isinstance(keep, Sequence) and not isinstance(keep, str)):
        prior, keep = prior.keeping(keep), BY_VALUE
    options = PlanOptions(mode, delta_scope, rows_per_person, screen, keep)  # type: ignore[arg-type]  # made exact at birth
    sizes = sizes_of(groups)
    return planned(sizes, prior, ProbabilisticDP(epsilon, delta), options, drawn_of(drawn, sizes))


def planned(
    sizes: Mapping[int, int],
    prior: PublicPrior,
    promise: ProbabilisticDP,
    options: PlanOptions,
    drawn: Mapping[int, int] | None = None,
    whole: int | None = None,
) -> SynthesisPlan:
    """Return the plan with the least noise that its mode finds; ``whole`` is the number of groups of the release if these are only some of them."""
    prior = options.applied(prior)
    scales = GroupPromise.of(promise, options, whole or sum(sizes.values())).scales(sizes, prior, drawn or {})
    return SynthesisPlan(sizes, prior, dict(zip(sizes, scales, strict=True)), promise, options, drawn or {}, whole)


def drawn_of(drawn: Number | Mapping[int, int] | None, sizes: Iterable[int]) -> dict[int, int]:
    """Return how many rows are sampled for groups of each size if that differs: a public share of the size, rounded up, or a mapping from sizes."""
    if drawn is None:
        return {}
    if isinstance(drawn, Mapping):
        rows_by_size = {int(size): rows for size, rows in drawn.items()}
        unknown = set(rows_by_size) - set(sizes)
        if unknown:
            raise PolicyError(
                f"drawn names the group size {min(unknown)}, which no group has.",
                setting=("drawn",),
                value=min(unknown),
            )
    else:
        share = exact(drawn, "drawn", above=0)
        rows_by_size = {size: math.ceil(size * share) for size in sizes}
    return {
        size: whole(rows, f"drawn: {size}", low=1, high=_LARGEST_GROUP)
        for size, rows in sorted(rows_by_size.items())
        if rows != size
    }


def sizes_of(groups: Iterable[int] | Mapping[Any, int]) -> dict[int, int]:
    """Return the distinct group sizes with the number of groups of each, smallest first."""
    all_sizes = list(groups.values()) if isinstance(groups, Mapping) else list(groups)
    if not all_sizes:
        raise PolicyError("groups is empty: give the public size of every group.", setting=("groups",))
    groups_by_size = Counter(all_sizes)
    for size in groups_by_size:
        whole(int(size) if is_integer(size) else size, "groups", low=1, high=_LARGEST_GROUP)
    return {int(size): groups_by_size[size] for size in sorted(groups_by_size)}
