"""Manifest details of a randomized release, enough to estimate from it: the plan, and the number of the view.

No seed, no data. Rates, guarantee and errors follow from the plan.
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
    """View ``index`` (from 1) of a plan; ``duplicates`` states how repeated rows were treated. No tuple occurs twice."""

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
        """Return the total variation distance between the sampled and the exact law of a count: 0 unless the Poisson limit was used.

        It follows from the size of the domain, so it need not be stated.
        """
        return self.plan.rates.noise(self.index) if self.domain.size > POISSON_ABOVE else Fraction(0)

    def cost(self, unit: ProtectedUnit, once: str | None = None) -> PrivacyCost:
        """Return the privacy cost of all views of the plan together, for replacing one tuple; their number is public.

        Tuples are included independently, so the likelihood ratio is that of the added tuple, at most ``highest``,
        times that of the removed one, at most 1/``lowest``; squared if people are counted, since two counts of each
        tuple change then. Counts sampled from their Poisson limit are within total variation h: delta is (1 +
        e^epsilon) h.
        """
        ratios = self.plan.law.ratios("independent")
        losses: dict[Relation, LossBound] = {}
        if ratios.lowest:
            ratio = ratios.highest / ratios.lowest
            epsilon = logarithm_above(ratio**2 if self.plan.counts_people else ratio)
            distance = self.approximation
            losses["replace"] = LossBound(
                epsilon, (1 + exponential_above(epsilon)) * distance if distance else Fraction(0)
            )
        return PrivacyCost("a randomized view", losses, unit, once=once)

    @property
    def definition(self) -> BoundedBelief:
        """Return the guarantee of the view for every tuple: that of its plan."""
        return self.plan.definition

    @property
    def counts(self) -> str:
        """Name what a count on the view counts."""
        return "records" if self.duplicates == "refuse" else "distinct records"

    def words(self, rows: int) -> str:
        """Describe a view in plain language."""
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
        """Return the details with the domain's columns in the order of the published table: JSON objects are unordered."""
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
        """Return the privacy cost for replacing one record: records are perturbed independently."""
        return PrivacyCost("perturbed records", {"replace": self.plan.loss}, unit, once=once)

    @property
    def definition(self) -> BoundedBelief:
        """Return the guarantee of the records."""
        if self.plan.promise is None:
            raise PolicyError(
                "These records were perturbed for comparison, by a plan that promises nothing. To release records, publish with "
                "BoundedBelief(d, gamma, 'record') and method=Frapp(...)."
            )
        return self.plan.promise

    def words(self, rows: int) -> str:
        """Describe perturbed records in plain language."""
        return (
            f"Perturbed records: each of the {rows:,} was kept with probability {float(self.plan.kept):.4g}, and else replaced by another record that the "
            "public domain allows. No single record proves anything; counts over many can be estimated with stated errors."
        )

    def in_order_of(self, names: Sequence[str]) -> FrappManifest:
        """Return the details with the domain's columns in the order of the published table."""
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
    def from_json(cls, payload: Mapping[str, Any]) -> FrappManifest:
        """The details that :meth:`as_json` wrote; the promise is judged again."""
        domain, kept_probability = ViewDomain.from_json(payload["domain"]), exact(payload["kept"], "kept")
        promise = BoundedBelief(**payload["promise"])
        return cls(FrappPlan(whole(payload["n"], "n", low=1), domain, kept_probability, promise))


Details = ViewManifest | FrappManifest
