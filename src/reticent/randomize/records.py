"""Perturbed records (FRAPP, 3.9) as a release: their public manifest, and counts estimated from them (R-AB-27)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from reticent.data.predicate import Condition
from reticent.definitions.base import Assessment
from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import DataError, PolicyError
from reticent.exact import Number, exact, whole
from reticent.randomize.bounds import bernstein_from, level_of
from reticent.randomize.counting import checked, count_or_refuse, masker
from reticent.randomize.domain import Keys, ViewDomain
from reticent.randomize.draws import Draws
from reticent.randomize.estimate import Estimate
from reticent.randomize.frapp import FrappPlan
from reticent.randomize.published import Published, Signer

VERSION = 2


@dataclass(frozen=True)
class FrappManifest:
    """The public description of perturbed records: their plan, and how they were drawn."""

    format: ClassVar[str] = "frapp"
    table: ClassVar[str] = "records"
    is_set: ClassVar[bool] = False

    plan: FrappPlan
    secure: bool = True

    @property
    def domain(self) -> ViewDomain:
        """The public domain."""
        return self.plan.domain

    @property
    def definition(self) -> BoundedBelief:
        """What the records promise."""
        if self.plan.promise is None:
            raise PolicyError(
                "These records were perturbed for comparison, by a plan that promises nothing. To release records, publish with "
                "BoundedBelief(d, gamma, 'record') and method=Frapp(...)."
            )
        return self.plan.promise

    def assess(self) -> Assessment:
        """The promise, judged again on the plan."""
        return self.definition.assess_plan(self.plan)

    def facts(self) -> dict[str, Any]:
        """Figures that the certificate repeats."""
        return {"kept": str(self.plan.kept)}

    def words(self, rows: int) -> str:
        """What perturbed records are, for everybody."""
        return (
            f"Perturbed records: each of the {rows:,} was kept with probability {float(self.plan.kept):.4g}, and else replaced by another record that the "
            "public domain allows. No single record proves anything; counts over many can be estimated with stated errors."
        )

    def as_json(self) -> dict[str, Any]:
        """The manifest as plain data."""
        promised = self.definition.parameters()
        return {
            "format": self.format,
            "version": VERSION,
            "n": self.plan.n,
            "domain": self.domain.as_json(),
            "kept": str(self.plan.kept),
            "promise": promised,
            "secure": self.secure,
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> FrappManifest:
        """The manifest that :meth:`as_json` wrote; the promise is judged again."""
        if written.get("version") != VERSION:
            raise DataError(
                f"The manifest of the records has version {written.get('version')!r}, and this version of Reticent reads {VERSION}."
            )
        try:
            promise = BoundedBelief(**written["promise"])
            plan = FrappPlan(
                whole(written["n"], "n", low=1),
                ViewDomain.from_json(written["domain"]),
                exact(written["kept"], "kept"),
                promise,
            )
            return cls(plan, written["secure"] is True)
        except (AttributeError, KeyError, TypeError) as problem:
            raise DataError(
                f"The manifest of the records cannot be understood ({type(problem).__name__}: {problem})."
            ) from None


@dataclass(frozen=True)
class FrappView(Published):
    """Perturbed records as keys in rising order, with estimates from them."""

    called: ClassVar[str] = "Perturbed records have"

    manifest: FrappManifest
    keys: Keys = field(repr=False)
    certificate: Mapping[str, Any] = field(default_factory=dict, repr=False)
    files: str = "csv"
    signer: Signer | None = field(default=None, repr=False)

    @property
    def plan(self) -> FrappPlan:
        """How they were perturbed."""
        return self.manifest.plan

    def estimate(
        self, condition: str | Condition = "true", *, error: Number | None = None, queries: int = 1
    ) -> Estimate:
        """How many records meet a condition: (n_V - q n n_D)/(g_f - q), unbiased, with standard error, Bernstein bound and exact interval."""
        asked = checked(condition, self.domain)
        level = level_of(error, Fraction(1, 20), queries)
        rows, shown = len(self), int(masker(asked, self.domain)(self.keys).sum())
        total = int(count_or_refuse(asked, self.domain, "a count"))
        present, absent = self.plan.chances(total)
        gain = present - absent
        value = (shown - absent * rows) / gain
        clipped = max(Fraction(0), min(value, Fraction(rows)))
        largest = rows * max(present * (1 - present), absent * (1 - absent), Fraction(0))
        return Estimate(
            asked.text,
            value,
            math.sqrt(self.plan.variance(clipped, rows, total)),
            clipped,
            self.plan.interval(shown, total, rows, level),
            bernstein_from(float(largest), float(gain), level),
            level,
            Fraction(shown),
            Fraction(total),
        )


def perturb(frame: Any, plan: FrappPlan, *, insecure_seed: int | None = None) -> FrappView:
    """Perturb every record of a table by a plan. Nothing is recorded; releases go through ``publish`` with method=Frapp(...)."""
    draws = Draws(insecure_seed)
    return FrappView(FrappManifest(plan, draws.is_secure), plan.perturb(frame, draws))
