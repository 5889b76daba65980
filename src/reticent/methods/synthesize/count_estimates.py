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
    """Return the debiased count of a condition on group columns and the value: in every group m_S (n + A)/m - alpha_S,
    where S are the values that meet it there.

    Its variance follows from that of a beta-binomial count, Var m_S = m p (1 - p) (n + A + m)/(n + A + 1) with p = (n_S
    + alpha_S)/(n + A).

    If values that nobody has are retained only with probabilities f, the noise of a group consists of that of its
    people's distinct values, whose number is unknown, and of the retained others. People's values add between 0 and the
    noise (1 - f) alpha of as many values as there are people; half of that is used, and the difference is at most
    ``bias``. Which others are retained is random, and its variance is added.
    """
    value = domain.values.name
    condition.check_names([*groups.columns, value])
    sizes = groups.sizes.astype(np.float64)
    drawn = np.array([plan.rows_drawn(size) for size in groups.sizes.tolist()], dtype=np.float64)
    alpha = np.array([float(plan.alpha[size]) for size in groups.sizes.tolist()])
    noise = _ValueNoise.of(plan.prior)
    met = _noise_meeting(condition, groups, domain, noise.each)
    rest = noise.each.sum(axis=0) - met
    held, held_rest = (np.minimum(sizes * noise.heaviest_absent, each[:, _ABSENT]) / 2 for each in (met, rest))
    met_noise = alpha * (met[:, _STAYS] + held)
    shown = _shown(condition, groups, rows)
    total = sizes + met_noise + alpha * (rest[:, _STAYS] + held_rest)
    estimates = shown * total / drawn - met_noise
    # The true count in a group is between zero and the group size, whatever was sampled.
    told = (shown + 1) / (drawn + 2) if plan.drawn else shown / drawn
    share = np.clip(told, met_noise / total, (sizes + met_noise) / total).clip(0, 1)
    spread = drawn * share * (1 - share) * (total + drawn) / (total + 1) * (total / drawn) ** 2
    spread += alpha**2 * (share**2 * rest[:, _VARIES] + (1 - share) ** 2 * met[:, _VARIES])
    bias = alpha * ((1 - share) * held + share * held_rest)
    touched = met_noise > 0
    most = int(groups.sizes[touched].sum())
    error = math.sqrt(float(spread[touched].sum()))
    estimate = float(estimates[touched].sum())
    return SyntheticCount(str(condition), estimate, error, int(shown.sum()), most, float(bias[touched].sum()))


def added_up(counts: Sequence[SyntheticCount]) -> SyntheticCount:
    """Sum the counts of groups with different plans: their samples are independent."""
    if len(counts) == 1:
        return counts[0]
    return SyntheticCount(
        counts[0].condition,
        math.fsum(each.value for each in counts),
        math.sqrt(math.fsum(each.standard_error**2 for each in counts)),
        sum(each.shown for each in counts),
        sum(each.most for each in counts),
        math.fsum(each.bias for each in counts),
    )


@dataclass(frozen=True, eq=False)
class _ValueNoise:
    """For every value its mean weight if nobody has it (f w), the weight missing then (w - f w), and its variance f (1 - f) w^2."""

    each: Floats

    @classmethod
    def of(cls, prior: PublicPrior) -> _ValueNoise:
        weights = np.ones(prior.size) if prior.weights is None else prior.weights.astype(np.float64)
        if prior.kept is None:
            keep = np.ones(prior.size)
        else:
            keep = np.array([float(f) for f in prior.kept.probabilities])[prior.kept.of]
        return cls(np.stack([keep * weights, (1 - keep) * weights, keep * (1 - keep) * weights**2], axis=1))

    @property
    def heaviest_absent(self) -> float:
        """Return the largest contribution of one person's value."""
        return float(self.each[:, _ABSENT].max())


def _shown(condition: Condition, groups: DeclaredGroups, rows: Rows) -> Floats:
    """Return the number of synthetic rows of each group that meet the condition."""
    found = np.zeros(len(groups.sizes))
    listed = groups.frame.select(groups.columns).with_row_index("#group")
    for chunk in rows.chunks():
        met = chunk.filter(condition.mask(chunk))
        if not groups.columns:
            found[0] += met.height
            continue
        placed = met.group_by(groups.columns).len("#rows").join(listed, on=groups.columns, how="inner")
        np.add.at(found, placed["#group"].to_numpy(), placed["#rows"].to_numpy())
    return found


def _noise_meeting(condition: Condition, groups: DeclaredGroups, domain: DeclaredDomain, noise: Floats) -> Floats:
    """Return the ``noise`` of all values that meet the condition, by group; parts on groups alone or values alone are evaluated once."""
    value, by = domain.values.name, set(groups.columns)
    of_groups = np.ones(len(groups.sizes), dtype=bool)
    of_values = np.ones(len(domain.values), dtype=bool)
    mixed: list[Condition] = []
    for part in condition.conjuncts:
        if set(part.scope) <= by and part.scope:
            of_groups &= part.mask(groups.frame).to_numpy()
        elif set(part.scope) <= {value}:
            of_values &= part.mask(domain.values.to_frame()).to_numpy()
        else:
            mixed.append(part)
    found = np.zeros((len(groups.sizes), noise.shape[1]))
    if not mixed:
        found[of_groups] = noise[of_values].sum(axis=0)
        return found
    chosen, values = np.flatnonzero(of_groups), np.flatnonzero(of_values)
    if len(chosen) * len(values) > _MOST_CELLS:
        raise PolicyError(
            f"The condition compares groups with values in {len(chosen) * len(values):,} combinations, which takes too long. Use separate conditions on groups and values, joined by and."
        )
    step = max(_CELLS_AT_ONCE // max(len(values), 1), 1)
    listed = domain.values.gather(values)
    for start in range(0, len(chosen), step):
        some = chosen[start : start + step]
        cells = groups.frame[np.repeat(some, len(values))].with_columns(
            pl.concat([listed] * len(some)).alias(value) if len(some) else listed
        )
        met = np.logical_and.reduce([each.mask(cells).to_numpy() for each in mixed]).reshape(len(some), -1)
        found[some] = met @ noise[values]
    return found
