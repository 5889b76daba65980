"""The verdict on a release in one word, with its reservations: the first line of statement, report, ``verify``, ``publish`` and ``attack``.

*Holds*: every claim was recomputed, without reservations. *Holds, but*: the claims hold, and each reservation is
something that a reader would expect them to cover and they do not. *Does not hold*: a check fails. *Not shown*: a claim
could not be recomputed. The worst verdict applies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from reticent.base.cards import Tone
from reticent.errors import DataError

if TYPE_CHECKING:
    from reticent.release.claims import Check

HeadlineState = Literal["holds", "holds, but", "does not hold", "not shown"]


@dataclass(frozen=True)
class Headline:
    """A verdict with its reasons, the most severe first; *holds* has none."""

    state: HeadlineState
    reasons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.state not in get_args(HeadlineState) or bool(self.reasons) == (self.state == "holds"):
            raise DataError(f"A headline with the state {self.state!r} cannot have {len(self.reasons)} reasons.")

    @classmethod
    def holding(cls, reservations: Iterable[str]) -> Headline:
        """Return the verdict for claims that hold; reservations make it "holds, but"."""
        reasons = tuple(dict.fromkeys(reservations))
        return cls("holds, but" if reasons else "holds", reasons)

    @classmethod
    def of_checks(cls, checks: Sequence[Check], reservations: Iterable[str]) -> Headline:
        """Return the verdict of checks: a failure decides, then a claim that could not be recomputed."""
        failures = [f"{check.name}: {check.detail}" for check in checks if check.status == "fails"]
        if failures:
            return cls("does not hold", tuple(failures))
        claims = [check for check in checks if check.claim]
        unknown = [f"{check.name} was not re-checked. {check.detail}" for check in claims if check.status != "holds"]
        if unknown or not claims:
            return cls("not shown", tuple(unknown) or ("The release makes no claim.",))
        partly = [f"{check.name}, was not re-checked. {check.detail}" for check in checks if _is_rest(check)]
        return cls.holding((*partly, *reservations))

    @property
    def holds(self) -> bool:
        """True if every claim was recomputed and holds, with or without reservations."""
        return self.state in ("holds", "holds, but")

    def beside(self, reservations: Iterable[str]) -> Headline:
        """Return the verdict with further reservations, which count only if the claims hold."""
        return Headline.holding((*self.reasons, *reservations)) if self.holds else self

    @property
    def title(self) -> str:
        """The verdict alone."""
        return "Not shown to hold" if self.state == "not shown" else self.state.capitalize()

    @property
    def tone(self) -> Tone:
        """Return the tone for display: good, good with reservations, or bad."""
        return {"holds": "good", "holds, but": "doubtful"}.get(self.state, "bad")  # type: ignore[return-value]  # a tone

    def lines(self) -> list[str]:
        """Human-readable lines: the verdict, and each reason as an item."""
        return [f"{self.title}:" if self.reasons else f"{self.title}.", *(f"- {reason}" for reason in self.reasons)]

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {"state": self.state, "reasons": list(self.reasons)}

    @classmethod
    def from_json(cls, stated: Any) -> Headline:
        """Parse a stored verdict; anything else raises a :class:`DataError`."""
        if not isinstance(stated, Mapping) or not isinstance(stated.get("reasons"), list):
            raise DataError("certificate.json: the headline must have a state and a list of reasons.")
        return cls(stated.get("state", ""), tuple(map(str, stated["reasons"])))


def _is_rest(check: Check) -> bool:
    """True if a check is about a whole claim of which only a part was recomputed."""
    return check.status == "not re-checked" and not check.claim and bool(check.sentence)
