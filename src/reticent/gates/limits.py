"""The limits that a release must meet, in one TOML file. The classes below define all sections; a limit that is not written is not checked."""

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
"""The adversaries that a limit may name; ``"3 known columns"`` is an example for any number."""


class DefinitionLimits(Section):
    """``[definitions]``: what the published rows must satisfy, whether or not it is claimed."""

    hold: SettingNames = Field(default_factory=list)


class AttackLimits(Section):
    """``[attacks]``: the largest success rate of adversaries, and the table whose people they look up."""

    share: Any = None
    none_succeeds: bool = False
    raw: str | None = None
    shares: dict[str, Any] = Field(default_factory=dict)


class LossLimits(Section):
    """``[loss]``: the largest information loss, in total and by column, and the share of rows that may be suppressed."""

    total: Any = None
    suppressed: Any = None
    columns: dict[str, Any] = Field(default_factory=dict)


class SignatureLimits(Section):
    """``[signature]``: the public keys, one of which must have signed the certificate."""

    keys: SettingNames = Field(description="the publisher's public key, such as keys = ['publisher.pub']")


class ColumnLimits(Section):
    """``[columns]``: which columns may be published, which may be declared unknown, and which of the source may have no role."""

    published: SettingNames | None = None
    declared: SettingNames | None = None
    unnamed: SettingNames | None = None


class PopulationLimits(Section):
    """``[population]``: the population against which claims are verified."""

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
    """A validated limits file. Paths in it are relative to its folder; errors name the file, the line and the column."""

    called: ClassVar[str] = "limits"

    sections: LimitSections

    @classmethod
    def parse(cls, text: str, file: str = "limits", folder: str | Path = ".") -> Self:
        """Validate the text of a limits file; ``file`` is its name in messages."""
        sections, positions = checked(text, file, LimitSections)
        limits = cls(file, Path(folder), sections, positions)
        if not sections.model_dump(exclude_defaults=True):
            raise limits.error((), "the limits file has no limit. Write one, such as [loss] and below it total = 0.3.")
        return limits._checked()

    def _checked(self) -> Self:
        """Return the same limits after validating everything in them: errors are reported before any data is read."""
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
        """The required definitions, in the order of the file."""
        definitions = []
        for number, text in enumerate(self.sections.definitions.hold):
            with self.pointing("definitions", "hold", number):
                definitions.append(definition_from_text(text))
        return tuple(definitions)

    @cached_property
    def largest_share(self) -> Fraction | None:
        """The success rate that no adversary may exceed."""
        return self._share(("attacks", "share"), self.sections.attacks.share)

    @property
    def runs_attacks(self) -> bool:
        """True if some limit is about adversaries."""
        return self.largest_share is not None or bool(self.shares) or self.sections.attacks.none_succeeds

    @cached_property
    def shares(self) -> dict[str, Fraction]:
        """Return the largest admissible success rate of each named adversary."""
        share_of_adversary = {}
        for name, entry in self.sections.attacks.shares.items():
            numbered = name.partition(" ")[0].isdecimal() and name.endswith(("known column", "known columns"))
            if name not in ADVERSARIES and not numbered:
                raise self.error(
                    ("attacks", "shares", name),
                    f"there is no adversary {name!r}.{did_you_mean(name, ADVERSARIES)} "
                    f"There are: {', '.join(ADVERSARIES)}, and '3 known columns' for any number.",
                )
            share = self._share(("attacks", "shares", name), entry)
            assert share is not None
            share_of_adversary[name] = share
        return share_of_adversary

    @cached_property
    def losses(self) -> dict[tuple[str, ...], Fraction]:
        """The largest loss by setting: ``("total",)``, ``("suppressed",)``, ``("columns", name)``."""
        loss_section = self.sections.loss
        settings: dict[tuple[str, ...], Any] = {
            ("total",): loss_section.total,
            ("suppressed",): loss_section.suppressed,
        }
        settings |= {("columns", name): entry for name, entry in loss_section.columns.items()}
        shares = {setting: self._share(("loss", *setting), entry) for setting, entry in settings.items()}
        return {setting: share for setting, share in shares.items() if share is not None}

    @property
    def keys(self) -> tuple[str, ...]:
        """The public keys: 64 hexadecimal digits, or the path of a file."""
        listed_keys = () if self.sections.signature is None else self.sections.signature.keys
        return tuple(key if _DIGITS.fullmatch(key) else str(self.path(key)) for key in listed_keys)

    def check_files(self) -> None:
        """Refuse missing files: keys, the population, the policy of the original table."""
        sections = self.sections
        named_files: list[tuple[tuple[str | int, ...], str]] = [
            *(
                (("signature", "keys", number), key)
                for number, key in enumerate(self.keys)
                if not _DIGITS.fullmatch(key)
            ),
            *([(("population", "source"), str(self.path(sections.population.source)))] if sections.population else []),
            *([(("attacks", "raw"), str(self.path(sections.attacks.raw)))] if sections.attacks.raw else []),
        ]
        for setting, file in named_files:
            if not Path(file).is_file():
                raise self.error(setting, f"there is no file {file!r}. Paths are relative to the limits file.")

    def _share(self, setting: tuple[str, ...], entry: Any) -> Fraction | None:
        """Return the share that a setting states, exactly; None if it is not set. Raises at its position in the file."""
        if entry is None:
            return None
        if isinstance(entry, bool):
            raise self.error(setting, f"{setting[-1]} must be a share from 0 to 1, but it is {str(entry).lower()}.")
        try:
            return exact(entry, setting[-1], low=0, high=1)
        except PolicyError as error:
            raise self.error(setting, str(error)) from None

    def line(self, *setting: str | int) -> int:
        """Return the line of a setting, or of the nearest enclosing one."""
        return self.places.find(setting).line
