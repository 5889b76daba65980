"""What goes with a view so that anybody can estimate from it (R-AB-31, R-AB-32): the plan, which view it is, how it was drawn. No seed, no data.

:class:`Manifest` is what every kind of randomized release states; the files of all of them are written and read by ``storing``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from reticent.definitions.base import Assessment
from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import DataError
from reticent.randomize.domain import ViewDomain
from reticent.randomize.draws import POISSON_ABOVE
from reticent.randomize.plans import Plan

VERSION = 2


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

    ``secure`` says that every draw came from the operating system.
    """

    format: ClassVar[str] = "alpha-beta"
    table: ClassVar[str] = "view"
    is_set: ClassVar[bool] = True

    plan: Plan
    index: int = 1
    secure: bool = True
    duplicates: str = "refuse"

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

    @property
    def approximation(self) -> Fraction:
        """How far the law of a count that was drawn may be from the exact one, in total variation: 0 unless it was drawn from its Poisson limit (R-AB-7).

        It follows from the size of the domain, so that nobody needs to state it.
        """
        return self.plan.rates.noise(self.index) if self.domain.size > POISSON_ABOVE else Fraction(0)

    @property
    def definition(self) -> BoundedBelief:
        """What the view promises about every tuple: what its plan does."""
        return self.plan.definition

    def assess(self) -> Assessment:
        """The promise, judged again on the rates."""
        return self.definition.assess(self.plan)

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
            "secure": self.secure,
            "duplicates": self.duplicates,
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
            return cls(plan, int(written["index"]), written["secure"] is True, str(written["duplicates"]))
        except (KeyError, TypeError, ValueError) as problem:
            raise DataError(
                f"The manifest of the view cannot be understood ({type(problem).__name__}: {problem})."
            ) from None
