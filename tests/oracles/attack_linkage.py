"""A row-by-row twin of the linkage attack: plain loops over people and published rows, no shared code."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from reticent.table import Meaning


def fits(value: Any, meant: Meaning) -> bool:
    """Whether a person's value may be behind a label, by its JSON. None: the adversary does not know the value."""
    meaning = meant.as_json()
    if value is None or "all" in meaning:
        return True
    if "null" in meaning:
        return False
    if "value" in meaning:
        return str(meaning["value"]) == str(value)
    if "values" in meaning:
        return str(value) in {str(each) for each in meaning["values"]}
    if "prefix" in meaning:
        text = str(value).rjust(meaning["length"], "0") if isinstance(value, int) else str(value)
        return len(text) == meaning["length"] and text[: len(meaning["prefix"])] == meaning["prefix"]
    low, high = meaning["interval"]
    if isinstance(value, datetime.date):
        low = datetime.date.fromisoformat(str(low)) if low is not None else None
        high = datetime.date.fromisoformat(str(high)) if high is not None else None
    return (low is None or low <= value) and (high is None or value < high)


def link(
    people: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    meanings: Mapping[str, Mapping[str, Meaning]],
    quasi: Sequence[str],
    sensitive: str,
) -> list[tuple[int, set[str]]]:
    """For each person how many published rows fit, and the sensitive values that these have."""
    found = []
    for person in people:
        mine = [row for row in rows if all(fits(person[name], meanings[name][row[name]]) for name in quasi)]
        found.append((len(mine), {str(row[sensitive]) for row in mine}))
    return found
