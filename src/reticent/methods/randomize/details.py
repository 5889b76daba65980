"""What the manifest of a randomized release holds as its details, so that anybody can estimate from it: the plan, and which view it is.

No seed, no data. Everything else about the release (its rates, its promise, its errors) follows from the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from reticent.base.exact import exact, one_of, whole
from reticent.base.privacy_cost import (
    LossBound,
    PrivacyCost,
    ProtectedUnit,
    Relation,
    exponential_above,
    logarithm_above,
)
from reticent.definitions import BoundedBelief
from reticent.errors import DataError, PolicyError
from reticent.methods.randomize.draws import POISSON_ABOVE
from reticent.methods.randomize.frapp import FrappPlan
from reticent.methods.randomize.instance import DUPLICATES
from reticent.methods.randomize.plans import Plan, upwards
from reticent.methods.randomize.view_domain import ViewDomain
from reticent.table import to_plain


@dataclass(frozen=True)
class ViewManifest:
    """View ``index`` (from 1) of a plan; ``duplicates`` says what became of repeated rows. No tuple occurs twice."""

    format: ClassVar[str] = "view"
    is_set: ClassVar[bool] = True

    plan: Plan
    index: int = 1
    duplicates: str = "refuse"

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.plan.views:
            raise DataError(f"The plan has {self.plan.views} views; there is no view {self.index}.")
        one_of(self.duplicates, "duplicates", DUPLICATES)

    @property
    def domain(self) -> ViewDomain:
        """The public domain."""
        return self.plan.domain

    @property
    def approximation(self) -> Fraction:
        """How far the law of a count that was drawn may be from the exact one, in total variation: 0 unless it was drawn from its Poisson limit.

        It follows from the size of the domain, so that nobody needs to state it.
        """
        return self.plan.rates.noise(self.index) if self.domain.size > POISSON_ABOVE else Fraction(0)

    def cost(self, unit: ProtectedUnit, once: str | None = None) -> PrivacyCost:
        """What all views of the plan cost together when one tuple is replaced by another; how many there are is public.

        Tuples are shown independently of each other, so that the ratio is that of the tuple that comes, at most ``highest``, times that of the one that goes, at most 1/``lowest``; squared where people are
        counted, since two counts of each tuple change then. Counts that were drawn from their Poisson limit lie within a total variation h: delta is (1 + e^epsilon) h.
        """
        found = self.plan.law.ratios("independent")
        losses: dict[Relation, LossBound] = {}
        if found.lowest:
            ratio = found.highest / found.lowest
            epsilon = logarithm_above(ratio**2 if self.plan.counts_people else ratio)
            off = self.approximation
            losses["replace"] = LossBound(epsilon, (1 + exponential_above(epsilon)) * off if off else Fraction(0))
        return PrivacyCost("a randomized view", losses, unit, once=once)

    @property
    def definition(self) -> BoundedBelief:
        """What the view promises about every tuple: what its plan does."""
        return self.plan.definition

    @property
    def counts(self) -> str:
        """What a count on the view counts."""
        return "records" if self.duplicates == "refuse" else "distinct records"

    def words(self, rows: int) -> str:
        """What a view is, for everybody."""
        parts = [
            f"A randomized view: {rows:,} records of which most are not in the original table. No single record proves anything; counts over many "
            "can be estimated with stated errors."
        ]
        if self.plan.views > 1:
            parts.append(f"It is view {self.index} of {self.plan.views}, and is read beside the earlier ones.")
        if self.duplicates == "dedupe":
            parts.append("It counts distinct records: people who agree in all columns count once.")
        if self.duplicates == "count":
            parts.append(
                "It counts distinct records; the column count says how many people have each, so that people can be counted too."
            )
        if self.plan.s < 1:
            parts.append(
                f"Read as differential privacy, epsilon is {upwards(self.plan.dp_epsilon)} for exchanging a record."
            )
        return " ".join(parts)

    def in_order_of(self, names: Sequence[str]) -> ViewManifest:
        """The same with the domain's columns in the order of the published table: JSON objects have none."""
        return replace(self, plan=self.plan.on(self.domain.in_order_of(names)))

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""
        return {"plan": to_plain(self.plan.as_json()), "index": self.index, "duplicates": self.duplicates}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> ViewManifest:
        """The details that :meth:`as_json` wrote; the promise is judged again."""
        return cls(Plan.from_json(written["plan"]), whole(written["index"], "index", low=1), str(written["duplicates"]))


@dataclass(frozen=True)
class FrappManifest:
    """How records were perturbed; a record may occur several times."""

    format: ClassVar[str] = "records"
    is_set: ClassVar[bool] = False
    counts: ClassVar[str] = "records"

    plan: FrappPlan

    @property
    def domain(self) -> ViewDomain:
        """The public domain."""
        return self.plan.domain

    def cost(self, unit: ProtectedUnit, once: str | None = None) -> PrivacyCost:
        """What perturbed records cost when one is replaced by another: each is perturbed by itself."""
        return PrivacyCost("perturbed records", {"replace": self.plan.loss}, unit, once=once)

    @property
    def definition(self) -> BoundedBelief:
        """What the records promise."""
        if self.plan.promise is None:
            raise PolicyError(
                "These records were perturbed for comparison, by a plan that promises nothing. To release records, publish with "
                "BoundedBelief(d, gamma, 'record') and method=Frapp(...)."
            )
        return self.plan.promise

    def words(self, rows: int) -> str:
        """What perturbed records are, for everybody."""
        return (
            f"Perturbed records: each of the {rows:,} was kept with probability {float(self.plan.kept):.4g}, and else replaced by another record that the "
            "public domain allows. No single record proves anything; counts over many can be estimated with stated errors."
        )

    def in_order_of(self, names: Sequence[str]) -> FrappManifest:
        """The same with the domain's columns in the order of the published table."""
        return replace(self, plan=replace(self.plan, domain=self.domain.in_order_of(names)))

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""
        return {
            "n": self.plan.n,
            "domain": to_plain(self.domain.as_json()),
            "kept": str(self.plan.kept),
            "promise": self.definition.parameters(),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> FrappManifest:
        """The details that :meth:`as_json` wrote; the promise is judged again."""
        domain, kept = ViewDomain.from_json(written["domain"]), exact(written["kept"], "kept")
        promise = BoundedBelief(**written["promise"])
        return cls(FrappPlan(whole(written["n"], "n", low=1), domain, kept, promise))


Details = ViewManifest | FrappManifest
