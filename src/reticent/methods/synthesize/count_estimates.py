"""Counting queries on synthetic rows: debiased estimates with standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reticent.base.cards import SaidInLines
from reticent.conditions import Condition
from reticent.errors import PolicyError
from reticent.methods.synthesize.beta_binomial import Floats
from reticent.methods.synthesize.declared import DeclaredDomain, DeclaredGroups
from reticent.methods.synthesize.plan import SynthesisPlan
from reticent.methods.synthesize.prior import PublicPrior
from reticent.table import Rows

_CONFIDENCE, _DEVIATIONS = 0.95, 1.959964
_MOST_CELLS = 2_000_000_000
_CELLS_AT_ONCE = 5_000_000
_STAYS, _ABSENT, _VARIES = range(3)


@dataclass(frozen=True)
class SyntheticCount(SaidInLines):
    """Estimate of how many real rows meet a condition, from synthetic rows.

    ``value`` may be negative and is unbiased, up to ``bias`` if values were dropped (``keep``); ``clipped`` is for
    display. ``shown`` synthetic rows meet the condition. ``bounds`` contain the true number with about 95 percent
    confidence (the samples of many groups together are nearly normal), for any bias.
    """

    condition: str
    value: float
    standard_error: float
    shown: int
    most: int
    bias: float = 0.0

    @property
    def clipped(self) -> float:
        """The estimate clipped to the feasible range."""
        return min(max(self.value, 0.0), float(self.most))

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of the true number, with 95 percent confidence."""
        spread = _DEVIATIONS * self.standard_error + self.bias
        return max(self.value - spread, 0.0), max(min(self.value + spread, float(self.most)), 0.0)

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {
            "condition": self.condition,
            "value": self.value,
            "standard_error": self.standard_error,
            "clipped": self.clipped,
            "bounds": list(self.bounds),
            "confidence": _CONFIDENCE,
            "shown": self.shown,
            "most": self.most,
            "bias": self.bias,
        }

    def lines(self) -> list[str]:
        """Human-readable lines."""
        low, high = self.bounds
        dropped = f"Which values were dropped is secret, so the estimate may have an additional bias of up to {self.bias:,.1f}."
        return [
            f"{self.value:,.1f} rows (standard error {self.standard_error:,.1f})",
            *([dropped] if self.bias else []),
            f"With about 95% confidence between {low:,.1f} and {high:,.1f}. {self.shown:,} synthetic rows meet the condition; the estimate is corrected for noise.",
        ]


def count_rows(
    condition: Condition, plan: SynthesisPlan, groups: DeclaredGroups, domain: DeclaredDomain, rows: Rows
) -> SyntheticCount:
    """Return the debiased count of a condition on group columns and the value.

    A group of n people shows m sampled rows from an urn with noise of weight A. If m_S of them meet the condition, with
    noise alpha_S on the values S that meet it, the estimate is m_S (n + A)/m - alpha_S; its variance is that of a
    beta-binomial count, Var m_S = m p (1 - p) (n + A + m)/(n + A + 1) with p = (n_S + alpha_S)/(n + A).

    If values that nobody has are retained only with probabilities f, the noise of a group consists of that of its
    people's distinct values, whose number is unknown, and of the retained others. People's values add between 0 and the
    noise (1 - f) alpha of as many values as there are people; half of that is used, and the difference is at most
    ``bias``. Which others are retained is random, and its variance is added.
    """
    value = domain.values.name
    condition.check_names([*groups.columns, value])
    sizes = groups.sizes.astype(np.float64)
    row_counts = np.array([plan.rows_drawn(size) for size in groups.sizes.tolist()], dtype=np.float64)
    alpha = np.array([float(plan.alpha[size]) for size in groups.sizes.tolist()])
    noise = _ValueNoise.of(plan.prior)
    noise_met = _noise_meeting(condition, groups, domain, noise.each)
    noise_of_others = noise.each.sum(axis=0) - noise_met
    absent_met, absent_others = (
        np.minimum(sizes * noise.heaviest_absent, noise_part[:, _ABSENT]) / 2
        for noise_part in (noise_met, noise_of_others)
    )
    met_noise = alpha * (noise_met[:, _STAYS] + absent_met)
    shown_counts = _shown(condition, groups, rows)
    total = sizes + met_noise + alpha * (noise_of_others[:, _STAYS] + absent_others)
    estimates = shown_counts * total / row_counts - met_noise
    # The true count in a group is between zero and the group size, whatever was sampled.
    observed_share = (shown_counts + 1) / (row_counts + 2) if plan.drawn else shown_counts / row_counts
    share = np.clip(observed_share, met_noise / total, (sizes + met_noise) / total).clip(0, 1)
    spread = row_counts * share * (1 - share) * (total + row_counts) / (total + 1) * (total / row_counts) ** 2
    spread += alpha**2 * (share**2 * noise_of_others[:, _VARIES] + (1 - share) ** 2 * noise_met[:, _VARIES])
    bias = alpha * ((1 - share) * absent_met + share * absent_others)
    is_relevant = met_noise > 0
    limit = int(groups.sizes[is_relevant].sum())
    error = math.sqrt(float(spread[is_relevant].sum()))
    estimate = float(estimates[is_relevant].sum())
    return SyntheticCount(
        str(condition), estimate, error, int(shown_counts.sum()), limit, float(bias[is_relevant].sum())
    )


def added_up(counts: Sequence[SyntheticCount]) -> SyntheticCount:
    """Sum the counts of groups with different plans: their samples are independent."""
    if len(counts) == 1:
        return counts[0]
    return SyntheticCount(
        counts[0].condition,
        math.fsum(count.value for count in counts),
        math.sqrt(math.fsum(count.standard_error**2 for count in counts)),
        sum(count.shown for count in counts),
        sum(count.most for count in counts),
        math.fsum(count.bias for count in counts),
    )


@dataclass(frozen=True, eq=False)
class _ValueNoise:
    """For every value its mean weight if nobody has it (f w), the weight missing then (w - f w), and its variance f (1 - f) w^2."""

    each: Floats

    @classmethod
    def of(cls, prior: PublicPrior) -> _ValueNoise:
        """Return for every value, weighted as the prior weights it, what the class describes; ``keep`` is its retention probability f."""
        weights = np.ones(prior.size) if prior.weights is None else prior.weights.astype(np.float64)
        if prior.kept is None:
            keep = np.ones(prior.size)
        else:
            keep = np.array([float(probability) for probability in prior.kept.probabilities])[prior.kept.of]
        return cls(np.stack([keep * weights, (1 - keep) * weights, keep * (1 - keep) * weights**2], axis=1))

    @property
    def heaviest_absent(self) -> float:
        """Return the largest contribution of one person's value."""
        return float(self.each[:, _ABSENT].max())


def _shown(condition: Condition, groups: DeclaredGroups, rows: Rows) -> Floats:
    """Return the number of synthetic ``rows`` of each group that meet the condition."""
    shown_counts = np.zeros(len(groups.sizes))
    numbered_groups = groups.frame.select(groups.columns).with_row_index("#group")
    for chunk in rows.chunks():
        matching = chunk.filter(condition.mask(chunk))
        if not groups.columns:
            shown_counts[0] += matching.height
            continue
        group_counts = (
            matching.group_by(groups.columns).len("#rows").join(numbered_groups, on=groups.columns, how="inner")
        )
        np.add.at(shown_counts, group_counts["#group"].to_numpy(), group_counts["#rows"].to_numpy())
    return shown_counts


def _noise_meeting(condition: Condition, groups: DeclaredGroups, domain: DeclaredDomain, noise: Floats) -> Floats:
    """Return, for each group, the sum of the rows of ``noise`` (one per value) of the values that meet the condition there.

    Conjuncts on group columns alone or on the value alone are evaluated once.
    """
    value, group_columns = domain.values.name, set(groups.columns)
    of_groups = np.ones(len(groups.sizes), dtype=bool)
    of_values = np.ones(len(domain.values), dtype=bool)
    joint_parts: list[Condition] = []
    for part in condition.conjuncts:
        if set(part.scope) <= group_columns and part.scope:
            of_groups &= part.mask(groups.frame).to_numpy()
        elif set(part.scope) <= {value}:
            of_values &= part.mask(domain.values.to_frame()).to_numpy()
        else:
            joint_parts.append(part)
    noise_by_group = np.zeros((len(groups.sizes), noise.shape[1]))
    if not joint_parts:
        noise_by_group[of_groups] = noise[of_values].sum(axis=0)
        return noise_by_group
    groups_met, values = np.flatnonzero(of_groups), np.flatnonzero(of_values)
    if len(groups_met) * len(values) > _MOST_CELLS:
        raise PolicyError(
            f"The condition compares groups with values in {len(groups_met) * len(values):,} combinations, which takes too long. Use separate conditions on groups and values, joined by and."
        )
    step = max(_CELLS_AT_ONCE // max(len(values), 1), 1)
    values_met = domain.values.gather(values)
    for start in range(0, len(groups_met), step):
        batch = groups_met[start : start + step]
        cells = groups.frame[np.repeat(batch, len(values))].with_columns(
            pl.concat([values_met] * len(batch)).alias(value) if len(batch) else values_met
        )
        is_met = np.logical_and.reduce([part_on_both.mask(cells).to_numpy() for part_on_both in joint_parts]).reshape(
            len(batch), -1
        )
        noise_by_group[batch] = is_met @ noise[values]
    return noise_by_group
