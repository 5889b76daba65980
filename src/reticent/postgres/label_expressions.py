"""The label of a value in a release, as a PostgreSQL expression."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from reticent.errors import PolicyError
from reticent.table import Anything, Interval, Meaning, Missing, Prefix, Value, Values


def quoted(name: str) -> str:
    """Return a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def relation(name: str) -> str:
    """Return a table as ``"schema"."table"``."""
    return ".".join(quoted(part) for part in name.split(".", 1))


def literal(value: Any) -> str:
    """Return a value as a constant; text cannot escape its quotes, whatever the server's settings."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime.date):
        return f"'{value.isoformat()}'"
    text = str(value).replace("'", "''")
    return f"E'{text.replace(chr(92), chr(92) * 2)}'" if "\\" in text else f"'{text}'"


def label_expression(column: str, labels: Mapping[str, Meaning], as_text: bool) -> str:
    """Return the label of a column's value; null for a value without a label, whose row is then not shown. ``as_text``:
    the labels are values of a text column.
    """
    name = quoted(column)
    last = [label for label, meaning in labels.items() if isinstance(meaning, Anything)]
    cases = [
        f"when {_covers(name, meaning, as_text)} then {literal(label)}"
        for label, meaning in labels.items()
        if not isinstance(meaning, Anything)
    ]
    if not cases:
        return f"{literal(last[0])}::text"
    return f"case {' '.join(cases)}{f' else {literal(last[0])}' if last else ''} end"


def _covers(name: str, meaning: Meaning, as_text: bool) -> str:
    """Return the SQL condition under which a value of column ``name`` has the label of a meaning."""
    if isinstance(meaning, Missing):
        return f"{name} is null"
    if isinstance(meaning, Value):
        return f"{f'{name}::text' if as_text else name} = {literal(meaning.value)}"
    if isinstance(meaning, Values):
        listed = f"{f'{name}::text' if as_text else name} in ({', '.join(map(literal, meaning.written())) or 'null'})"
        return f"({listed} or {name} is null)" if None in meaning.values else listed
    if isinstance(meaning, Prefix):
        return f"left({name}::text, {len(meaning.prefix)}) = {literal(meaning.prefix)} and length({name}::text) = {meaning.length}"
    if isinstance(meaning, Interval):
        low = ">=" if meaning.closed in ("left", "both") else ">"
        high = "<=" if meaning.closed in ("right", "both") else "<"
        ends = [(low, meaning.low), (high, meaning.high)]
        return " and ".join(f"{name} {sign} {literal(end)}" for sign, end in ends if end is not None) or "true"
    raise PolicyError(
        f"A label of column {name} is a {type(meaning).__name__}, which a view does not support. Publish the table with --to instead."
    )
