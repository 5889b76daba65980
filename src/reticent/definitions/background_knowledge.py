"""Safety against background knowledge: with any k facts about people in the table, an adversary stays below a certainty threshold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.core import Groups
from reticent.definitions.claim_scope import GENERAL, ClaimScope, Openness
from reticent.definitions.definition import Assessment, GroupDefinition, SensitiveDefinition, Witness
from reticent.definitions.diversity import ValuesAtLeast
from reticent.definitions.diversity_figures import failures, occupied
from reticent.definitions.exchanges import Exchanges
from reticent.definitions.knowledge_exchanges import KnowledgeExchanges
from reticent.definitions.number_text import measured, shown
from reticent.errors import DataError
from reticent.worst_case import (
    Buckets,
    RankedAtom,
    WorstFacts,
    breaking_point,
    certainty_point,
    curve,
    holds,
    negation_curve,
    negation_witness,
    negations_unsafe,
    unsafe_alone,
    witness,
)


@dataclass(frozen=True)
class _Knowledge(SensitiveDefinition):
    """The common part of both kinds of knowledge: parameters, model, report."""

    c: Number
    k: int
    column: str | None = None

    def knowledge(self, scope: ClaimScope) -> str:
        return f"{scope.known()}, and the same of everybody in the table,"

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", exact(self.c, f"{self.name}: c", low=0, high=1))
        whole(self.k, f"{self.name}: k", low=0)

    @property
    def openness(self) -> Openness:
        """The disclosure stays below the threshold, which is at most certainty, so several values remain."""
        return Openness.BOUNDED_SHARES

    @property
    def threshold(self) -> Fraction:
        """The disclosure that must not be reached."""
        return Fraction(self.c)

    def relaxation(self) -> GroupDefinition | None:
        """At least ``k + 2`` distinct values: a group with fewer discloses a value for certain, whatever else is released."""
        return ValuesAtLeast(self.k + 2, self.column)

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        _check_model(groups)
        return super().failing(groups)

    def assess(self, groups: Groups) -> Assessment:
        _check_model(groups)
        return super().assess(groups)

    def _diagnostics(
        self, groups: Groups, buckets: Buckets, failing: NDArray[np.bool_], disclosure: Fraction
    ) -> dict[str, Any]:
        """Return the curves of the highest belief by the number of facts, and how many facts reach the limit or certainty."""
        # A k above the number of values has no further effect, and a claimed k may be arbitrarily large.
        known = min(self.k, int(buckets.distinct.max()))
        return {
            **failures(groups, failing),
            "curve": groups.found(("curve", known), lambda: curve(buckets, known)),
            "negation_curve": groups.found(("negation_curve", known), lambda: negation_curve(buckets, known)),
            "breaking_point": breaking_point(buckets, self.threshold),
            "certainty_point": certainty_point(buckets),
            "margin": self.threshold - disclosure,
        }


@dataclass(frozen=True)
class WorstCaseKnowledge(_Knowledge):
    """(c,k)-safety: an adversary who knows any ``k`` facts is less than ``c`` sure of every person's sensitive value.

    Guarantee: the maximum disclosure, over every set of ``k`` basic implications ("if these people have those values, then
    one of those people has one of those values"), is strictly below ``c``. Decided exactly.
    Adversary: knows which person is in which group, all non-sensitive data, and ``k`` such facts; considers all assignments of the published
    values to the people of a group equally likely. One row is one person.
    Not covered: probabilistic knowledge, correlations between people, and several releases together.
    Cost: one pass over the groups, k^2 log k per group.
    Source: [Martin2007]; corrected as described in :mod:`reticent.worst_case.disclosure`.

    Judged over all groups together, since the worst facts may link groups. Monotone: merging groups never raises the disclosure. Not absorbing.

    Parameters:
        c: the certainty that must not be reached, as a fraction or decimal.
        k: the number of facts.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.WorstCaseKnowledge(c="0.9", k=1)).value
        Fraction(3, 4)
    """

    local = False

    def holds(self, groups: Groups) -> bool:
        _check_model(groups)
        return all(holds(_buckets(refined), self.threshold, self.k) for refined in self._refined(groups))

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask of the groups that violate the guarantee by themselves; if there are none, the group that the worst facts target."""
        failing = np.zeros(len(groups), dtype=bool)
        filled = np.flatnonzero(groups.sizes > 0)
        if len(filled) == 0:
            return failing
        buckets = _buckets(groups)
        few_values = buckets.distinct < self.k + 2
        fails_alone = few_values if few_values.any() else unsafe_alone(buckets, self.threshold, self.k)
        if fails_alone.any():
            failing[filled[fails_alone]] = True
        elif not holds(buckets, self.threshold, self.k):
            failing[filled[witness(buckets, self.k).consequent.bucket]] = True
        return failing

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the highest belief after ``k`` worst-case facts, the verdict, and the facts as witness."""
        filled = occupied(groups)
        buckets = _buckets(groups)
        worst = witness(buckets, self.k)
        diagnostics = self._diagnostics(groups, buckets, self.failing_in(groups), worst.disclosure)
        safe = worst.disclosure < self.threshold
        return Assessment(
            self,
            safe,
            worst.disclosure,
            None if safe else _witness(groups, filled, worst, self),
            diagnostics,
        )

    def hopeless(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask of the groups that violate the guarantee by themselves, whatever the other groups are."""
        hopeless = np.zeros(len(groups), dtype=bool)
        for refined in self._refined(groups):
            filled = refined.sizes > 0
            if filled.any():
                fails_alone = unsafe_alone(_buckets(refined), self.threshold, self.k)
                hopeless[refined.parents()[filled][fails_alone]] = True
        return hopeless

    def exchanges(self, rest: Groups, before: Groups, after: Groups) -> Exchanges:
        limits = (self.threshold, self.k)
        return KnowledgeExchanges(limits, self.holds, self._refined, rest, before, after)

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        return (
            f"and any {self.k} {_counted(self.k, 'fact')} of the form 'if these people have those values, then one of those people has one of those "
            f"values', is less than {shown(self.c)} sure of {scope.anybodys_secret(self.column)}{scope.beside(self.column)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return (
            f"Knowledge about {scope.secret(self.column)} that is only likely, and correlations between people, are not covered. Each release is judged "
            "alone, one record is taken for one person, and every assignment of the values to the people is taken to be equally likely."
        )


@dataclass(frozen=True)
class NegatedKnowledge(_Knowledge):
    """An adversary who can rule out any ``k`` values of people is less than ``c`` sure of every person's sensitive value.

    Guarantee: ``n(s0) / (n - n(s1) - ... - n(sk)) < c`` in every group, values by falling frequency. Exact.
    Adversary: that of l-diversity: knows which person is in which group, and ``k`` facts "this person does not have that value". Weaker than
    :class:`WorstCaseKnowledge`, and often equally strong.
    Not covered: facts that link people.
    Source: [Martin2007], negated atoms.
    Judged group by group, since the worst facts all concern one person. Monotone, for the same reason as :class:`WorstCaseKnowledge`. Not absorbing.

    Parameters:
        c: the certainty that must not be reached, as a fraction or decimal.
        k: the number of facts.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.NegatedKnowledge(c="0.9", k=1)).value
        Fraction(2, 3)
    """

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask the groups in which ``k`` ruled-out values raise a belief to the limit."""
        failing = np.zeros(len(groups), dtype=bool)
        filled = np.flatnonzero(groups.sizes > 0)
        if len(filled):
            buckets = _buckets(groups)
            failing[filled[negations_unsafe(buckets, self.threshold, self.k)]] = True
        return failing

    def assess_in(self, groups: Groups) -> Assessment:
        """Return the highest belief after ``k`` values are ruled out, the verdict, and these facts as witness."""
        filled = occupied(groups)
        buckets = _buckets(groups)
        worst = negation_witness(buckets, self.k)
        failing = self.failing_in(groups)
        explanation = None if not failing.any() else _witness(groups, filled, worst, self)
        diagnostics = self._diagnostics(groups, buckets, failing, worst.disclosure)
        return Assessment(self, explanation is None, worst.disclosure, explanation, diagnostics)

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        return (
            f"and can rule out any {self.k} {_counted(self.k, 'value')} of people, is less than {shown(self.c)} sure of "
            f"{scope.anybodys_secret(self.column)}{scope.beside(self.column)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return (
            f"Only facts of the form 'this person does not have that value' of {scope.secret(self.column)} are covered. Facts that link people, such as 'if "
            "Hannah has flu then so has Charlie', can disclose more (WorstCaseKnowledge covers them)."
        )


def _buckets(groups: Groups) -> Buckets:
    """The non-empty groups as an attacker sees them; reuses counts sorted by other definitions."""
    return groups.found("buckets", lambda: _filled_buckets(groups))


def _filled_buckets(groups: Groups) -> Buckets:
    filled = groups if groups.sizes.all() else groups.select(groups.sizes > 0)
    return Buckets.of_cells(filled.histograms.offsets, filled.histograms.ranked)


def _counted(number: int, word: str) -> str:
    return word if number == 1 else f"{word}s"


def _check_model(groups: Groups) -> None:
    """Raise if a person has several rows: the model has one tuple per person."""
    if groups.owners:
        raise DataError(
            "Some people have several rows, but background knowledge is measured on one row per person. "
            "Keep one row for each person, or use a definition that counts people."
        )


def _witness(groups: Groups, filled: NDArray[np.int64], worst: WorstFacts, definition: _Knowledge) -> Witness:
    """Return the facts about the published groups that disclose most, as a sentence with its figures; ``filled`` has
    the group of each bucket.
    """
    labels: dict[int, list[str]] = {}
    parents = groups.parents()

    def name(atom: RankedAtom) -> tuple[str, str]:
        """Return the person and the value of an atom in words."""
        group = int(filled[atom.bucket])
        if group not in labels:
            labels[group] = list(groups.histogram(group))
        return f"person {atom.person + 1} of group {parents[group]}", labels[group][atom.rank]

    sentences = worst.sentences(name)
    person, value = name(worst.consequent)
    group = int(filled[worst.consequent.bucket])
    facts = "; ".join(sentences) if sentences else "nothing beyond the release"
    return Witness(
        int(parents[group]),
        f"An attacker who knows {facts} is {measured(worst.disclosure)} sure that {person} has {value}; that must stay below "
        f"{shown(definition.c)}.",
        {
            "column": groups.domain.columns[0].name,
            "facts": sentences,
            "conclusion": worst.conclusion(name),
            "groups": [int(parents[filled[bucket]]) for bucket in worst.buckets],
            "disclosure": worst.disclosure,
            "histogram": groups.histogram(group),
        },
    )
