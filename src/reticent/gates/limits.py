"""Limits that a release must meet: one TOML file. Its sections stand here exactly as they may be written; a limit that is not written is not checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field

from reticent.base.exact import exact
from reticent.definitions import Definition
from reticent.errors import PolicyError, did_you_mean
from reticent.policy import PolicyFile, Section, SettingNames, checked, definition_from_text

_DIGITS = re.compile(r"[0-9a-f]{64}")

ADVERSARIES = (
    "column in turn",
    "exclusion",
    "homogeneity",
    "inference",
    "linkability",
    "linkage",
    "membership",
    "minimality",
    "probabilistic linkage",
    "register",
    "remainder",
    "sighting",
    "similarity",
    "singling out",
    "skewness",
)
"""The adversaries that a limit may name; ``"3 known columns"`` stands for any number of columns."""


class DefinitionLimits(Section):
    """``[definitions]``: what must hold of the published rows, whether or not it is claimed."""

    hold: SettingNames = Field(default_factory=list)


class AttackLimits(Section):
    """``[attacks]``: the largest share of people that adversaries may hit, and the table whose people they look up."""

    share: Any = None
    none_succeeds: bool = False
    raw: str | None = None
    shares: dict[str, Any] = Field(default_factory=dict)


class LossLimits(Section):
    """``[loss]``: what the release may cost, altogether and by column, and the share of rows that may be suppressed."""

    total: Any = None
    suppressed: Any = None
    columns: dict[str, Any] = Field(default_factory=dict)


class SignatureLimits(Section):
    """``[signature]``: the public keys, one of which must have signed the certificate."""

    keys: SettingNames = Field(description="the publisher's public key, such as keys = ['publisher.pub']")


class ColumnLimits(Section):
    """``[columns]``: which columns may be published, which of them may be declared unknown, and which of the source may stay without a role."""

    published: SettingNames | None = None
    declared: SettingNames | None = None
    unnamed: SettingNames | None = None


class PopulationLimits(Section):
    """``[population]``: the people whom claims about a population are verified against."""

    source: str = Field(description="a file of the population, such as source = 'population.csv'")


class LimitSections(Section):
    """The whole file."""

    called: ClassVar[str] = "limits file"

    definitions: DefinitionLimits = Field(default_factory=DefinitionLimits)
    attacks: AttackLimits = Field(default_factory=AttackLimits)
    loss: LossLimits = Field(default_factory=LossLimits)
    signature: SignatureLimits | None = None
    columns: ColumnLimits = Field(default_factory=ColumnLimits)
    population: PopulationLimits | None = None


@dataclass(frozen=True)
class Limits(PolicyFile):
    """What a limits file says, checked. Paths in it are relative to the folder it lies in; errors name the file, the line and the column."""

    called: ClassVar[str] = "limits"

    sections: LimitSections

    @classmethod
    def parse(cls, text: str, file: str = "limits", folder: str | Path = ".") -> Self:
        """Check the text of a limits file; ``file`` is the name that messages use."""
        sections, places = checked(text, file, LimitSections)
        limits = cls(file, Path(folder), sections, places)
        if not sections.model_dump(exclude_defaults=True):
            raise limits.error((), "the limits file has no limit. Write one, such as [loss] and below it total = 0.3.")
        return limits._checked()

    def _checked(self) -> Self:
        """The same limits, after everything in them was read once: a mistake in it is reported before any data is read."""
        _ = self.definitions, self.shares, self.largest_share, self.losses
        if self.sections.attacks.raw is not None and not self.sections.attacks.raw.endswith(".toml"):
            raise self.error(("attacks", "raw"), "raw must be the policy (.toml) of the original table.")
        for number, name in enumerate(self.sections.signature.keys if self.sections.signature else ()):
            if name.endswith(".key"):
                raise self.error(
                    ("signature", "keys", number), f"{name!r} is a private key. Name the public one (.pub)."
                )
        return self

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """What must hold, in the order of the file."""
        made = []
        for number, text in enumerate(self.sections.definitions.hold):
            with self.pointing("definitions", "hold", number):
                made.append(definition_from_text(text))
        return tuple(made)

    @cached_property
    def largest_share(self) -> Fraction | None:
        """The share that no adversary may exceed."""
        return self._share(("attacks", "share"), self.sections.attacks.share)

    @property
    def runs_attacks(self) -> bool:
        """Whether some limit is about adversaries."""
        return self.largest_share is not None or bool(self.shares) or self.sections.attacks.none_succeeds

    @cached_property
    def shares(self) -> dict[str, Fraction]:
        """The share that each named adversary may not exceed."""
        made = {}
        for name, given in self.sections.attacks.shares.items():
            numbered = name.partition(" ")[0].isdecimal() and name.endswith(("known column", "known columns"))
            if name not in ADVERSARIES and not numbered:
                raise self.error(
                    ("attacks", "shares", name),
                    f"there is no adversary {name!r}.{did_you_mean(name, ADVERSARIES)} "
                    f"There are: {', '.join(ADVERSARIES)}, and '3 known columns' for any number.",
                )
            share = self._share(("attacks", "shares", name), given)
            assert share is not None
            made[name] = share
        return made

    @cached_property
    def losses(self) -> dict[tuple[str, ...], Fraction]:
        """The largest loss by setting: ``("total",)``, ``("suppressed",)``, ``("columns", name)``."""
        said = self.sections.loss
        settings: dict[tuple[str, ...], Any] = {("total",): said.total, ("suppressed",): said.suppressed}
        settings |= {("columns", name): given for name, given in said.columns.items()}
        shares = {setting: self._share(("loss", *setting), given) for setting, given in settings.items()}
        return {setting: share for setting, share in shares.items() if share is not None}

    @property
    def keys(self) -> tuple[str, ...]:
        """The public keys: 64 digits, or the path of a file."""
        said = () if self.sections.signature is None else self.sections.signature.keys
        return tuple(key if _DIGITS.fullmatch(key) else str(self.path(key)) for key in said)

    def check_files(self) -> None:
        """Refuse files that the limits name and that do not exist: keys, the population, the policy of the original table."""
        said = self.sections
        named: list[tuple[tuple[str | int, ...], str]] = [
            *(
                (("signature", "keys", number), key)
                for number, key in enumerate(self.keys)
                if not _DIGITS.fullmatch(key)
            ),
            *([(("population", "source"), str(self.path(said.population.source)))] if said.population else []),
            *([(("attacks", "raw"), str(self.path(said.attacks.raw)))] if said.attacks.raw else []),
        ]
        for setting, file in named:
            if not Path(file).is_file():
                raise self.error(setting, f"there is no file {file!r}. Paths are relative to the limits file.")

    def _share(self, setting: tuple[str, ...], given: Any) -> Fraction | None:
        if given is None:
            return None
        if isinstance(given, bool):
            raise self.error(setting, f"{setting[-1]} must be a share from 0 to 1, but it is {str(given).lower()}.")
        try:
            return exact(given, setting[-1], low=0, high=1)
        except PolicyError as error:
            raise self.error(setting, str(error)) from None

    def line(self, *setting: str | int) -> int:
        """The line of the file that has the setting, or the nearest one around it."""
        return self.places.find(setting).line
