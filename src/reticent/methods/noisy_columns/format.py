"""Shared parts of formats with noise on declared columns: they satisfy differential privacy and no other definition, for the unit that their manifest states."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reticent.definitions import Definition
from reticent.errors import DataError
from reticent.methods.noisy_columns.protection import KEPT
from reticent.release.format import MechanismFormat

if TYPE_CHECKING:
    from reticent.release import PublicSide


class NoisyColumnsFormat(MechanismFormat):
    """Base of these formats. ``noised`` names the numbers that noise was added to, and ``known_as`` the published result."""

    noised: ClassVar[str]
    known_as: ClassVar[str]

    def refusal(self, definition: Definition) -> str | None:
        """Return why a definition says nothing about these numbers, or None."""
        for part in definition.parts():
            if not isinstance(part, KEPT):
                return f"{part} is not differential privacy of {self.noised}, and nothing else is known of {self.known_as}."
        return None

    def check_unit(self, public: PublicSide, protected: str) -> None:
        """Raise :class:`DataError` if the manifest states the guarantee for another unit than the one that noise protects."""
        if public.manifest.unit != protected:
            raise DataError(
                f"manifest.json states the guarantee for the unit {public.manifest.unit!r}, but noise hides the unit {protected!r}."
            )
