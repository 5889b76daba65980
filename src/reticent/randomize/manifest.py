"""What goes with a view so that anybody can estimate from it (R-AB-31, R-AB-32): the plan, which view it is, how it was drawn. No seed, no data.

:class:`Manifest` is what every kind of randomized release states; the files of all of them are written and read by ``storing``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol

from reticent.definitions.base import Assessment
from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import DataError
from reticent.randomize.domain import ViewDomain
from reticent.randomize.plans import Plan
from reticent.randomize.sources import Source, SourceRates

VERSION = 1


class Manifest(Protocol):
    """The public description of a randomized release.

    ``format`` names its kind, ``table`` its file; ``is_set`` says that no row may occur twice.
    """

    format: ClassVar[str]
    table: ClassVar[str]
    is_set: ClassVar[bool]

    @property
    def domain(self) -> ViewDomain:
        """The public domain, with all values."""

    @property
    def secure(self) -> bool:
        """Whether every draw came from the operating system."""

    @property
    def definition(self) -> BoundedBelief:
        """What the release promises."""

    def assess(self) -> Assessment:
        """The promise, judged again from what is written here."""

    def facts(self) -> dict[str, Any]:
        """Figures about the release that its certificate repeats."""

    def words(self, rows: int) -> str:
        """What it is, for everybody."""

    def as_json(self) -> dict[str, Any]:
        """The manifest as plain data."""


@dataclass(frozen=True)
class ViewManifest:
    """The public description of a view: view ``index`` (from 1) of the plan.

    ``source`` is set for non-uniform noise. ``secure`` says that every draw came from the operating system. ``approximation`` is the distance
    between the law of the view and the exact one, in total variation; it is 0 unless a count was drawn from its Poisson limit.
    """

    format: ClassVar[str] = "alpha-beta"
    table: ClassVar[str] = "view"
    is_set: ClassVar[bool] = True

    plan: Plan
    index: int = 1
    source: Source | None = None
    secure: bool = True
    duplicates: str = "refuse"
    approximation: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.plan.views:
            raise DataError(f"The plan has {self.plan.views} views; there is no view {self.index}.")
        found = self.assess()
        if not found.holds and found.witness is not None:
            raise DataError(f"The view does not keep its promise: {found.witness.text}")

    @property
    def domain(self) -> ViewDomain:
        """The public domain."""
        return self.plan.domain

    @cached_property
    def source_rates(self) -> SourceRates | None:
        """The chances of non-uniform noise, where it is that; no tuple is published with more than the plan's s."""
        if self.source is None:
            return None
        return SourceRates.calibrated(self.source, self.plan.n, self.plan.k, self.plan.gamma, self.plan.s)

    @property
    def definition(self) -> BoundedBelief:
        """What the view promises about every tuple.

        Non-uniform noise protects priors up to k n source(t); what that means for all tuples alike is the prior that the uniform share covers.
        """
        if self.source is None:
            return self.plan.definition
        return BoundedBelief(self.plan.d * self.source.uniform, self.plan.gamma, self.plan.adversary)

    def assess(self) -> Assessment:
        """The promise, judged again on the rates."""
        return self.definition.assess_plan(self.plan if self.source_rates is None else self.source_rates)

    def facts(self) -> dict[str, Any]:
        """Figures that the certificate repeats: the reading as differential privacy, and the printed error constant."""
        return {"dp_epsilon": self.plan.dp_epsilon if self.plan.s < 1 else None, "rho": self.plan.rho}

    def words(self, rows: int) -> str:
        """What a view is, for everybody."""
        return (
            f"A randomized view: {rows:,} records of which most are not in the original table. No single record proves anything; counts over many "
            "can be estimated with stated errors."
        )

    def as_json(self) -> dict[str, Any]:
        """The manifest as plain data."""
        return {
            "format": self.format,
            "version": VERSION,
            "plan": self.plan.as_json(),
            "index": self.index,
            "source": None if self.source is None else self.source.as_json(),
            "secure": self.secure,
            "duplicates": self.duplicates,
            "approximation": str(self.approximation),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> ViewManifest:
        """The manifest that :meth:`as_json` wrote; another format or version is a :class:`DataError`."""
        if written.get("format") != cls.format:
            raise DataError(f"This is no manifest of a randomized view: its format is {written.get('format')!r}.")
        if written.get("version") != VERSION:
            raise DataError(
                f"The manifest has version {written.get('version')!r}, and this version of Reticent reads {VERSION}. Use the one that wrote it."
            )
        try:
            plan = Plan.from_json(written["plan"])
            source = written["source"]
            return cls(
                plan,
                int(written["index"]),
                None if source is None else Source.from_json(source, plan.domain),
                written["secure"] is True,
                str(written["duplicates"]),
                Fraction(written["approximation"]),
            )
        except (KeyError, TypeError, ValueError) as problem:
            raise DataError(
                f"The manifest of the view cannot be understood ({type(problem).__name__}: {problem})."
            ) from None
