"""The result of an offline audit: the exposed people with proofs, or that the log contradicts itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from reticent.audit.offline.offline_proofs import Certificate
from reticent.audit.offline.question_log import Log
from reticent.base.cards import SaidInLines

_SHOWN = 50


@dataclass(frozen=True)
class Report(SaidInLines):
    """The people exposed by a log.

    ``exposed`` maps a person to the only value that fits all answers, and ``certificate`` to the proof. ``undecided``
    are people for whom the search reached its limit. ``intervals``, for bounded columns, holds a proved lower and upper
    bound of every person's value (None: no bound). A log that no data set fits has ``consistent`` False and a
    ``contradiction``; no one is then listed as exposed. ``method`` names the method and its exactness.
    """

    log: Log
    method: str
    exposed: Mapping[int, Fraction] = field(default_factory=dict)
    certificate: Mapping[int, Certificate] = field(default_factory=dict)
    contradiction: Certificate | None = None
    consistent: bool | None = True
    undecided: tuple[int, ...] = ()
    intervals: Mapping[int, tuple[Fraction | None, Fraction | None]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if some data fit the log, no one is exposed, and nothing is undecided."""
        return self.consistent is True and not self.exposed and not self.undecided

    @property
    def widths(self) -> dict[int, Fraction]:
        """The width of each person's interval, if it is bounded on both sides."""
        return {
            person: high - low for person, (low, high) in self.intervals.items() if low is not None and high is not None
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data; exact numbers are texts."""
        return {
            "questions": len(self.log.entries),
            "people": self.log.n,
            "consistent": self.consistent,
            "contradiction": None if self.contradiction is None else self.contradiction.as_json(),
            "exposed": {str(person): str(value) for person, value in self.exposed.items()},
            "certificate": {str(person): proof.as_json() for person, proof in self.certificate.items()},
            "undecided": list(self.undecided),
            "intervals": {
                str(person): [None if end is None else str(end) for end in ends]
                for person, ends in self.intervals.items()
            },
            "method": self.method,
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """Return the report as human-readable lines."""
        lines = [f"{len(self.log.entries)} answered queries about {self.log.n} people. {self.method}"]
        if self.consistent is False:
            lines.append("The log contradicts itself: no data fit all its answers.")
            lines += [f"  {line}" for line in self.contradiction.lines(self.log)] if self.contradiction else []
            return [*lines, *self.notes]
        if self.consistent is None:
            lines.append("Undecided whether any data fit all the answers.")
        if self.exposed:
            lines.append(f"{len(self.exposed)} of {self.log.n} people are exposed.")
        elif self.consistent and not self.undecided:
            lines.append("No one is exposed.")
        for person in list(self.exposed)[:_SHOWN]:
            lines.append(f"Person {person} has the value {self.exposed[person]}:")
            lines += [f"  {line}" for line in self.certificate[person].lines(self.log)]
        if len(self.exposed) > _SHOWN:
            lines.append(f"... and {len(self.exposed) - _SHOWN} more people; the JSON report names them all.")
        if self.undecided:
            lines.append(f"Undecided for {len(self.undecided)} people: the search reached its limit.")
        if self.widths:
            narrowest = min(self.widths, key=lambda person: self.widths[person])
            low, high = self.intervals[narrowest]
            lines.append(f"The narrowest interval is that of person {narrowest}: {low} to {high}.")
        return [*lines, *self.notes]
