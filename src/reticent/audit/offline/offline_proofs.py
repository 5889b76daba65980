"""Proofs that can be checked by hand: why a value follows from a log, or why a log contradicts itself.

Every certificate has ``holds(log)``, which checks it from the log alone in exact arithmetic, ``lines(log)``, the proof
in words, and ``as_json()``. None depends on how it was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, Protocol

import numpy as np

from reticent.audit.offline.question_log import Log

Weights = tuple[tuple[int, Fraction], ...]

_LISTED = 12


class Certificate(Protocol):
    """The interface of every proof."""

    def holds(self, log: Log) -> bool:
        """True if the proof is correct for this log, checked in exact arithmetic."""

    def lines(self, log: Log) -> list[str]:
        """Return the proof in words."""

    def as_json(self) -> dict[str, Any]:
        """Return the proof as plain data; numbers are texts such as ``"-2/3"``."""


@dataclass(frozen=True)
class Combination:
    """A weighted sum of queries in which all people cancel except one (or all, if ``person`` is None).

    ``weights`` is the vector y with ``y^T A = e_person``, so the value is ``y . answers``. With ``person`` None all
    people cancel although the weighted answers sum to ``value``, which is not 0: the log contradicts itself.
    """

    person: int | None
    value: Fraction
    weights: Weights

    def holds(self, log: Log) -> bool:
        """Return whether the weighted sums of the log give exactly the value of the person, or a contradiction if no person is named."""
        scale = lcm(*(weight.denominator for _, weight in self.weights)) if self.weights else 1
        totals = np.zeros(log.n, dtype=object)
        answer = Fraction(0)
        for number, weight in self.weights:
            entry = log.entry(number)
            if entry.query.function != "sum":
                return False
            factor = int(weight * scale)
            coefficients = entry.query.coefficients
            totals[entry.query.members] += factor if coefficients is None else coefficients.astype(object) * factor
            answer += weight * entry.answer
        expected = np.zeros(log.n, dtype=object)
        if self.person is not None:
            expected[self.person] = scale
        return answer == self.value and bool((totals == expected).all()) and (self.person is not None or answer != 0)

    def lines(self, log: Log) -> list[str]:
        """Return the argument in sentences: the weighted queries, and the value that they give."""
        left = signed((weight, f"query {number}") for number, weight in self.weights)
        right = signed((weight, str(log.entry(number).answer)) for number, weight in self.weights)
        if self.person is None:
            return [f"{left}: all people cancel, so the answers must add up to 0.", f"But {right} = {self.value}."]
        computed = str(self.value) if right == str(self.value) else f"{right} = {self.value}"
        return [f"{left}: all people cancel except person {self.person}.", f"So person {self.person} has {computed}."]

    def as_json(self) -> dict[str, Any]:
        """Return the proof as plain data."""
        return {
            "kind": "combination",
            "person": self.person,
            "value": str(self.value),
            "weights": {str(number): str(weight) for number, weight in self.weights},
        }


@dataclass(frozen=True)
class SoleHolder:
    """All members of a maximum (or minimum) except one are excluded from attaining it by other queries.

    ``number`` is the query. ``excluded`` maps every other member to the query that excludes it: one with a smaller
    maximum (larger minimum), or, if values are distinct, one with the same answer that does not contain the member.
    With ``person`` None no member is left, and the log contradicts itself.
    """

    person: int | None
    value: Fraction
    number: int
    excluded: tuple[tuple[int, tuple[int, ...]], ...]

    def holds(self, log: Log) -> bool:
        """Return whether the excluded people cannot have the value, and everybody else in the query is the person
        named.

        A person is excluded by a tighter bound of another query, or, if values are distinct, by not being in another
        query with the same answer.
        """
        entry = log.entry(self.number)
        if entry.query.function == "sum" or entry.answer != self.value:
            return False
        candidates = set(entry.query.members.tolist())
        for number, people in self.excluded:
            other = log.entry(number)
            if other.query.function != entry.query.function:
                return False
            inside = np.isin(np.array(people, dtype=np.int64), other.query.members)
            tighter = other.answer < self.value if entry.query.function == "max" else other.answer > self.value
            elsewhere = not log.duplicates and other.answer == self.value
            if not ((tighter and inside.all()) or (elsewhere and not inside.any())):
                return False
            candidates -= set(people)
        return candidates == (set() if self.person is None else {self.person})

    def lines(self, log: Log) -> list[str]:
        """Return the argument in sentences, one excluded group a line."""
        entry = log.entry(self.number)
        function = entry.query.function
        side = "at most" if function == "max" else "at least"
        lines = [f"Some person in query {self.number} has its {function}imum, {self.value}."]
        for number, people in self.excluded:
            other = log.entry(number)
            if other.answer == self.value:
                lines.append(
                    f"Not {named(people)}: the only person with {self.value} is in query {number}, and they are not."
                )
            else:
                lines.append(f"Not {named(people)}: {side} {other.answer} by query {number}.")
        if self.person is None:
            return [*lines, "No one is left to have it."]
        return [*lines, f"So it is person {self.person}, whose value is {self.value}."]

    def as_json(self) -> dict[str, Any]:
        """Return the proof as plain data."""
        return {
            "kind": "sole holder",
            "person": self.person,
            "value": str(self.value),
            "question": self.number,
            "excluded": {str(number): list(people) for number, people in self.excluded},
        }


@dataclass(frozen=True)
class NotWhole:
    """A sum of 0/1 values was answered with a non-integer: no data fit."""

    number: int
    person: None = None

    def holds(self, log: Log) -> bool:
        entry = log.entry(self.number)
        return log.values == "boolean" and entry.answer.denominator != 1

    def lines(self, log: Log) -> list[str]:
        return [f"Query {self.number} was answered with {log.entry(self.number).answer}, but every value is 0 or 1."]

    def as_json(self) -> dict[str, Any]:
        return {"kind": "not whole", "question": self.number}


def signed(terms: Any) -> str:
    """Return ``1/2 * a - b`` from weighted names."""
    text = ""
    for weight, name in terms:
        sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
        size = abs(weight)
        name = f"({name})" if name.startswith("-") or ("/" in name and size != 1) else name
        text += sign + (name if size == 1 else f"{size} * {name}")
    return text or "0"


def named(people: tuple[int, ...]) -> str:
    """``person 3`` or ``people 1, 2 and 88 more``."""
    if len(people) == 1:
        return f"person {people[0]}"
    first_people = ", ".join(map(str, people[:_LISTED]))
    return f"people {first_people}" + (f" and {len(people) - _LISTED} more" if len(people) > _LISTED else "")
