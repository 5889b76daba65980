"""A log of queries and answers: the input of an offline audit.

A log file holds one JSON object per line::

    {"people": 6, "lower": 0, "upper": 100}
    {"members": [0, 1], "function": "sum", "answer": "7"}
    {"members": [0, 1, 2], "function": "max", "answer": "9/2", "column": "salary"}
    {"members": [3], "function": "sum", "decision": "denied"}

The first line may declare the number of people, publicly known bounds, ``"values": "boolean"`` and ``"duplicates":
false``. People are numbered from 0. Answers are numbers, or texts when they must be exact (``"7.25"``, ``"1/3"``).
``avg`` counts as the sum it determines; ``count`` is public and skipped, and so are denied queries. ``coefficients``
makes a sum a linear query.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from reticent.audit.decision import AggregateQuery, Answered
from reticent.base.documents import parse_json, read_document
from reticent.base.exact import Number, exact, whole
from reticent.errors import DataError, PolicyError, ReticentError, did_you_mean

VALUES = ("real", "boolean")
_QUESTION = ("members", "function", "answer", "column", "decision", "coefficients")
# An audit holds a few numbers per person.
_MOST_PEOPLE = 100_000_000
_HEADER = ("people", "lower", "upper", "values", "duplicates")
_SKIPPED = ("denied", "deny", "refused")


@dataclass(frozen=True)
class LogEntry:
    """One answered query; ``number`` is its index in the log, from 1, or the line of the file."""

    number: int
    query: AggregateQuery
    answer: Fraction


@dataclass(frozen=True)
class Log:
    """The answered queries about one column of ``n`` people, and the public facts about its values.

    ``values`` is ``"real"`` or ``"boolean"`` (every value 0 or 1); ``lower`` and ``upper`` bound every value;
    ``duplicates`` is whether two people may share a value.
    """

    entries: tuple[LogEntry, ...]
    n: int
    values: str = "real"
    lower: Fraction | None = None
    upper: Fraction | None = None
    duplicates: bool = True

    def __post_init__(self) -> None:
        if whole(self.n, "n", low=1) > _MOST_PEOPLE:
            raise PolicyError(f"n must be at most {_MOST_PEOPLE:,} people, but it is {self.n:,}. Number people from 0.")
        if self.values not in VALUES:
            raise PolicyError(
                f"values must be one of {', '.join(VALUES)}, but it is {self.values!r}.{did_you_mean(self.values, VALUES)}"
            )
        if not isinstance(self.duplicates, bool):
            raise PolicyError(f"duplicates must be true or false, but it is {self.duplicates!r}.")
        if self.values == "boolean":
            if not (self.lower in (None, 0) and self.upper in (None, 1)):
                raise PolicyError("values='boolean' implies the bounds 0 and 1; remove lower and upper.")
            object.__setattr__(self, "lower", Fraction(0))
            object.__setattr__(self, "upper", Fraction(1))
        for name in ("lower", "upper"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, exact(getattr(self, name), name))
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise PolicyError(f"lower must not be above upper, but they are {self.lower} and {self.upper}.")
        if not self.duplicates and (self.values == "boolean" or self.bounded):
            raise PolicyError("duplicates=False is supported only for columns without bounds; remove the bounds.")
        for entry in self.entries:
            if entry.query.members[-1] >= self.n:
                raise DataError(
                    f"Query {entry.number} is about person {entry.query.members[-1]}, "
                    f"but there are {self.n} people, numbered 0 to {self.n - 1}."
                )

    @property
    def bounded(self) -> bool:
        """True if the values have a publicly known bound."""
        return self.lower is not None or self.upper is not None

    @property
    def functions(self) -> frozenset[str]:
        """The functions among ``sum``, ``max`` and ``min`` that were answered."""
        return frozenset(entry.query.function for entry in self.entries)

    def entry(self, number: int) -> LogEntry:
        """Return the query with this number."""
        return self._by_number()[number]

    def _by_number(self) -> dict[int, LogEntry]:
        """Return the entries by their number; computed once."""
        entries: dict[int, LogEntry] | None = self.__dict__.get("_numbers")
        if entries is None:
            entries = {entry.number: entry for entry in self.entries}
            object.__setattr__(self, "_numbers", entries)
        return entries

    def only(self, numbers: Iterable[int]) -> Log:
        """Return the log restricted to these queries."""
        wanted_numbers = set(numbers)
        return replace(self, entries=tuple(entry for entry in self.entries if entry.number in wanted_numbers))


LogLike = Log | Iterable[Any]


class Declared(TypedDict, total=False):
    """Declarations about the values that :func:`as_log` accepts."""

    values: str
    lower: Number | None
    upper: Number | None
    duplicates: bool


def as_log(log: LogLike, n: int | None = None, **declarations: Unpack[Declared]) -> Log:
    """Return a log from ``(members, function, answer)`` triples, :class:`Answered` records, or an existing log.

    Without ``n``, the highest member determines the number of people. Declarations that differ from their defaults
    override those of a given :class:`Log`.
    """
    values, duplicates = declarations.get("values", "real"), declarations.get("duplicates", True)
    lower, upper = declarations.get("lower"), declarations.get("upper")
    if isinstance(log, Log):
        entries, declared = log.entries, log
        n = log.n if n is None else n
        values = declared.values if values == "real" else values
        lower = declared.lower if lower is None and values != "boolean" else lower
        upper = declared.upper if upper is None and values != "boolean" else upper
        duplicates = declared.duplicates and duplicates
    else:
        if isinstance(log, (str, bytes, Path, Mapping)):
            raise PolicyError("A log is a list of (members, function, answer); read a file with read_log(path).")
        entries = tuple(
            entry for number, item in enumerate(log, start=1) if (entry := _from_item(number, item)) is not None
        )
    if n is None:
        n = 1 + max((int(entry.query.members[-1]) for entry in entries), default=0)
    lower_bound = None if lower is None else exact(lower, "lower")
    upper_bound = None if upper is None else exact(upper, "upper")
    return Log(entries, n, values, lower_bound, upper_bound, duplicates)


def _from_item(number: int, item: Any) -> LogEntry | None:
    """Return one entry of a log, given as an answered query or as ``(members, function, answer)``; None for a count."""
    location = f"Query {number}"
    if isinstance(item, Answered):
        if item.answer is None:
            raise DataError(f"{location} has no answer; an offline audit needs all answers.")
        return LogEntry(number, item.query, Fraction(item.answer))
    if not isinstance(item, (tuple, list)) or len(item) != 3:
        raise DataError(f"{location} must be (members, function, answer), but it is {item!r}.")
    return _entry(number, location, *item)


def _entry(
    number: int, location: str, members: Any, function: Any, answer: Any, coefficients: Any = None
) -> LogEntry | None:
    """Return a checked entry; None for a count, which is independent of the values."""
    name = function.lower() if isinstance(function, str) else function
    if name == "count":
        return None
    functions = ("sum", "avg", "max", "min", "count")
    if name not in functions:
        raise DataError(
            f"{location}: function must be one of {', '.join(functions)}, but it is {function!r}.{did_you_mean(function, functions)}"
        )
    try:
        if coefficients is not None:
            query = _linear(members, name, coefficients)
        else:
            query = AggregateQuery.of(members, "sum" if name == "avg" else name)
        answer_value = exact(answer, "answer")
    except ReticentError as error:
        raise DataError(f"{location}: {error}") from None
    return LogEntry(number, query, answer_value * len(query) if name == "avg" else answer_value)


def _linear(members: Any, function: str, coefficients: Any) -> AggregateQuery:
    """Return a sum with a coefficient for each member. Raises if there are too few, or for another function."""
    if function != "sum":
        raise PolicyError(f"coefficients belong to sums, but the function is {function!r}.")
    if not isinstance(coefficients, (list, tuple, np.ndarray)) or len(coefficients) != len(members):
        raise PolicyError("coefficients must be one whole number for each member.")
    return AggregateQuery.linear(
        dict(zip(AggregateQuery.of(members).members.tolist(), _in_order(members, coefficients), strict=True))
    )


def _in_order(members: Any, coefficients: Any) -> list[int]:
    return [coefficient for _, coefficient in sorted(zip(members, coefficients, strict=True))]


def read_log(path: str | Path, *, column: str | None = None) -> Log:
    """Read the log in a file of JSON lines (see above); errors name the line.

    If the lines name several columns, ``column`` selects the one to audit.
    """
    try:
        text = read_document(path).decode("utf-8")
    except OSError as error:
        raise DataError(f"The log {path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise DataError(f"The log {path} is not UTF-8 text; a log holds one JSON object per line.") from None
    return parse_log(text.splitlines(), str(path), column=column)


def parse_log(lines: Iterable[str], source: str = "the log", *, column: str | None = None) -> Log:
    """Parse the log in these lines; ``source`` names it in errors."""
    header: dict[str, Any] = {}
    entries_by_column: dict[str | None, list[LogEntry]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        location = f"{source}, line {number}"
        fields = _fields(line, location)
        if "members" not in fields and "people" in fields and not entries_by_column and not header:
            header = _header(fields, location)
            continue
        entry, name = _question(number, fields, location)
        if entry is not None:
            entries_by_column.setdefault(name, []).append(entry)
    names = sorted(str(name) for name in entries_by_column if name is not None)
    if column is None and len(entries_by_column) > 1:
        column_list = ", ".join(names)
        raise DataError(f"{source} holds queries about several columns ({column_list}); choose one with column=.")
    if column is not None and column not in entries_by_column:
        raise DataError(f"{source} holds no answered query about the column {column!r}.{did_you_mean(column, names)}")
    entries = entries_by_column.get(column, []) if column is not None else next(iter(entries_by_column.values()), [])
    if not entries and not header:
        raise DataError(f"{source} holds no answered query; a log holds one JSON object per line.")
    n = header.pop("people", None)
    try:
        return as_log(Log(tuple(entries), n or 1 + max(int(entry.query.members[-1]) for entry in entries)), **header)
    except ReticentError as error:
        raise DataError(f"{source}: {error}") from None


def _fields(line: str, location: str) -> dict[str, Any]:
    """Parse one line of a log as a JSON object."""
    try:
        # Decimal keeps the digits of an answer as written.
        fields = parse_json(line, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise DataError(f"{location}: not a JSON object ({error.msg} at character {error.colno}).") from None
    if not isinstance(fields, dict):
        raise DataError(
            f'{location}: a line must be an object such as {{"members": [0, 1], "function": "sum", "answer": 7}}.'
        )
    return fields


def _header(fields: dict[str, Any], location: str) -> dict[str, Any]:
    """Return the checked first line of a log file."""
    _known(fields, _HEADER, location)
    try:
        whole(fields["people"], "people", low=1)
    except PolicyError as error:
        raise DataError(f"{location}: {error}") from None
    return fields


def _known(fields: dict[str, Any], known: tuple[str, ...], location: str) -> None:
    """Raise for a field that is not ``known``"""
    for name in fields:
        if name not in known:
            raise DataError(
                f"{location}: unknown field {name!r}; known are {', '.join(known)}.{did_you_mean(name, known)}"
            )


def _question(number: int, fields: dict[str, Any], location: str) -> tuple[LogEntry | None, str | None]:
    """Return the entry and the column of one line; no entry for a query that was denied."""
    _known(fields, _QUESTION, location)
    column = fields.get("column")
    if column is not None and not isinstance(column, str):
        raise DataError(f"{location}: column must be a text, but it is {column!r}.")
    if str(fields.get("decision", "")).lower() in _SKIPPED:
        return None, column
    for name in ("members", "function", "answer"):
        if name not in fields:
            raise DataError(f"{location}: the field {name!r} is missing.")
    if not isinstance(fields["members"], list):
        raise DataError(f"{location}: members must be a list of whole numbers, but it is {fields['members']!r}.")
    entry = _entry(
        number, location, fields["members"], fields["function"], fields["answer"], fields.get("coefficients")
    )
    return entry, column
