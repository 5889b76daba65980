"""The steward's audit of a release: which groups' actual outputs are in their disclosure sets. Uses confidential counts; never published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.base.cards import SaidInLines
from reticent.base.context import Context
from reticent.base.exact import Number, exact
from reticent.definitions import exceeds_exponential
from reticent.errors import PolicyError
from reticent.methods.synthesize.beta_binomial import Floats
from reticent.methods.synthesize.counts import GroupedCounts
from reticent.methods.synthesize.declared import DeclaredGroups, DeclaredParts
from reticent.methods.synthesize.disclosure_set import worst_ratio
from reticent.methods.synthesize.domain_reduction import absence_charge
from reticent.methods.synthesize.format import SYNTHETIC
from reticent.methods.synthesize.groupwise_plan import parts_of
from reticent.methods.synthesize.method import FORMAT
from reticent.methods.synthesize.mixture import DroppedOutput
from reticent.methods.synthesize.plan import SynthesisPlan
from reticent.methods.synthesize.prior import PublicPrior
from reticent.methods.synthesize.urn import Ints
from reticent.table import Table

if TYPE_CHECKING:
    from reticent.release import PublicSide

# Floating-point products are far more accurate than this.
_MARGIN = 1e-9
_SHOWN = 10


@dataclass(frozen=True)
class DisclosureAudit(SaidInLines):
    """How many of ``groups`` have an output in their disclosure set for ``epsilon``, and which (``disclosing``: the group,
    and the largest likelihood ratio, None if infinite). Private to the steward.
    """

    groups: int
    epsilon: Fraction
    delta: Fraction
    disclosing: tuple[tuple[Mapping[str, Any], float | None], ...]

    def as_dict(self) -> dict[str, Any]:
        """The audit as plain data."""
        return {
            "private": True,
            "groups": self.groups,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "in_disclosure_set": len(self.disclosing),
            "disclosing": [{"group": dict(group), "ratio": ratio} for group, ratio in self.disclosing],
        }

    def lines(self) -> list[str]:
        """Human-readable lines."""
        expected = float(self.delta * self.groups)
        lines = [
            "For the steward only: this was computed from the confidential rows. Do not publish it, and do not choose among draws by it.",
            f"{len(self.disclosing):,} of {self.groups:,} groups have an output that distinguishes neighbouring tables by more than e^{float(self.epsilon):g}; "
            f"the promise allows {expected:.3g} on average.",
        ]
        for group, ratio in self.disclosing[:_SHOWN]:
            group_text = ", ".join(f"{name} = {value!r}" for name, value in group.items()) or "all rows"
            lines.append(f"  {group_text}: ratio {'infinite' if ratio is None else f'{ratio:.6g}'}")
        return lines


def audit_release(
    public: PublicSide,
    table: Table,
    epsilon: Number | None = None,
    *,
    parts: Any = None,
    context: Context | None = None,
) -> DisclosureAudit:
    """Test the output of every group exactly, for the claimed epsilon or another one.

    ``table`` is the confidential table of the release, ``parts`` its public partition, if any. Floats rule out groups
    far from a threshold; all others are decided in exact fractions.
    """
    if public.format != FORMAT:
        raise PolicyError(f"The audit needs a release of format {FORMAT!r}, but this one is {public.format!r}.")
    context = context or Context()
    details, plan = SYNTHETIC.details(public), SYNTHETIC.plan(public)
    groups, domain = SYNTHETIC.declared(public)
    limit = plan.epsilon if epsilon is None else exact(epsilon, "epsilon", low=0)
    partition = None if parts is None else DeclaredParts.of(parts, details.value, table.schema[details.value])
    counts = GroupedCounts.of(
        table, groups, domain, details.elsewhere, details.missing, plan.options.rows_per_person, partition
    )
    k = len(domain.values)
    owner = np.repeat(np.arange(len(counts.sizes)), np.diff(counts.ends, prepend=0))
    cells = owner * k + counts.codes
    published_cells = [group * k + code for group, code in SYNTHETIC.coded(public, groups, domain)]
    shown, times = np.unique(np.concatenate(published_cells), return_counts=True)
    nearest_cell = np.searchsorted(cells, shown).clip(0, len(cells) - 1)
    people_with_value = np.where(cells[nearest_cell] == shown, counts.times[nearest_cell], 0)
    allowed, plan_of = np.empty(len(shown)), np.empty(len(groups.sizes), dtype=object)
    for group_indexes, part_plan in parts_of(plan, groups):
        plan_of[group_indexes] = part_plan
        in_part = np.isin(shown // k, group_indexes)
        allowed[in_part] = _allowed(part_plan, groups, shown[in_part], people_with_value[in_part], limit)
    suspects = np.unique((shown // k)[times >= allowed * (1 - _MARGIN)])
    disclosing_groups = []
    for number, group in enumerate(suspects.tolist()):
        context.step("testing groups", number, len(suspects))
        inside = slice(*np.searchsorted(cells, [group * k, (group + 1) * k]))
        outside = slice(*np.searchsorted(shown, [group * k, (group + 1) * k]))
        people = dict(zip(counts.codes[inside].tolist(), counts.times[inside].tolist(), strict=True))
        output = dict(zip((shown[outside] % k).tolist(), times[outside].tolist(), strict=True))
        alpha = plan_of[group].alpha[int(groups.sizes[group])]
        discloses, ratio = _tested(people, output, alpha, plan_of[group].prior, limit)
        if discloses:
            disclosing_groups.append((groups.frame.select(groups.columns).row(group, named=True), ratio))
    return DisclosureAudit(len(groups.sizes), limit, plan.delta, tuple(disclosing_groups))


def _allowed(
    plan: SynthesisPlan, groups: DeclaredGroups, shown: Ints, people_with_value: Ints, limit: Fraction
) -> Floats:
    """Return how often each published cell (group and value) may occur such that the output of its group is representative,
    so it does not distinguish neighbours by more than e^``limit``; ``people_with_value`` is the true count of each cell.
    """
    k, classes = plan.prior.size, plan.prior.classes
    by_size = groups.sizes[shown // k].tolist()
    charges = {size: absence_charge(size, plan.rows_drawn(size), classes, plan.alpha[size]) for size in plan.sizes}
    power = {size: 0.0 if charge is None else np.exp(float(limit)) / float(charge) for size, charge in charges.items()}
    ratio = np.array([power[size] for size in by_size])
    alpha = np.array([float(plan.alpha[size]) for size in by_size])
    if plan.prior.weights is not None:
        alpha = alpha * plan.prior.weights[shown % k]
    if plan.prior.kept is not None:
        keep = np.array([float(record_class.keep) for record_class in classes])[plan.prior.class_of[shown % k]]
        ratio = np.where(people_with_value <= 1, ratio * keep, ratio)
    return np.asarray((ratio - 1) * (alpha + np.maximum(people_with_value - 1, 0)))


def _tested(
    people: Mapping[int, int], output: Mapping[int, int], alpha: Fraction, prior: PublicPrior, limit: Fraction
) -> tuple[bool, float | None]:
    """Return whether neighbouring tables differ by more than e^``limit`` in their probability of a group's output, and the
    largest such ratio (None if infinite). ``people`` and ``output`` count the true and the sampled values.
    """
    if prior.kept is not None:
        return DroppedOutput(people, output, alpha, prior).discloses(limit)
    ratio = worst_ratio(people, output, partial(prior.noise, alpha), prior.size)
    return ratio is None or exceeds_exponential(ratio, limit), None if ratio is None else float(ratio)
