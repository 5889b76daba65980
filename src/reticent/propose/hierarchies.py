"""Proposed hierarchies: round numbers, calendar units, masked codes, the files of ARX that lie beside the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

from reticent.data import Hierarchy
from reticent.errors import ReticentError
from reticent.propose.profile import ColumnProfile

Description = dict[str, Any]

_FEW_VALUES = 20
_AGES = (0, 120)
_LONGEST_CODE = 12
_FINEST, _COARSEST = 200, Fraction(3, 2)


@dataclass(frozen=True)
class HierarchyProposal:
    """A hierarchy as a policy writes it, why, and how many levels it has (the value itself included)."""

    description: Description
    reason: str
    levels: int


def propose_hierarchy(column: ColumnProfile, meaning: str | None, beside: Path | None) -> HierarchyProposal:
    """A hierarchy for a quasi column. Every one of them ends in a single part, so that a release can always be found."""
    found = _file_beside(column, beside)
    if found is not None:
        return found
    if column.type in ("date", "timestamp"):
        return _dates(column)
    numeric = column.type in ("integer", "number")
    if meaning == "postcode" and (digits := _code_length(column)):
        return _masking(digits, "a code, masked from the right")
    if meaning == "age" and numeric:
        return _ages(column)
    if numeric and column.distinct > _FEW_VALUES:
        return _round_intervals(column)
    if column.type == "text" and column.distinct > _FEW_VALUES and (digits := _code_length(column)):
        return _masking(digits, "codes of one length, masked from the right")
    return _suppression("each value is kept or left out; a taxonomy would lose less")


def _file_beside(column: ColumnProfile, beside: Path | None) -> HierarchyProposal | None:
    """``adult_hierarchy_age.csv`` beside ``adult.csv``, if it covers the column's values and ends in a single part."""
    if beside is None or not beside.parent.is_dir():
        return None
    ending = f"_hierarchy_{column.name}.csv"
    names = [path.name for path in beside.parent.iterdir() if path.name.endswith(ending)]
    meant = [name for name in names if beside.name.startswith(name.removesuffix(ending))]
    if not meant:
        return None
    path = beside.parent / max(meant, key=len)
    try:
        bound = Hierarchy.from_csv(path).bind(pl.Series(column.name, [], dtype=column.dtype), column.name)
        bound.codes(column.sample)
    except ReticentError:
        return None
    if bound.levels[-1].size != 1:
        return None
    return HierarchyProposal(
        {"kind": "csv", "file": str(path)}, "the hierarchy file beside the data", len(bound.levels)
    )


def _suppression(reason: str) -> HierarchyProposal:
    return HierarchyProposal({"kind": "suppression"}, reason, 2)


def _masking(digits: int, reason: str) -> HierarchyProposal:
    return HierarchyProposal({"kind": "masking", "digits": digits}, reason, digits + 1)


def _dates(column: ColumnProfile) -> HierarchyProposal:
    years = column.highest.year - column.lowest.year if column.lowest is not None else 0
    units = ["month", "quarter", "year", *(["decade"] if years >= 20 else [])]
    if column.type == "date":
        return HierarchyProposal({"kind": "dates", "levels": units}, "dates in calendar units", len(units) + 2)
    return HierarchyProposal(
        {"kind": "dates", "levels": units, "timezone": "UTC"},
        "timestamps in calendar units; correct the timezone in which days begin",
        len(units) + 3,
    )


def _code_length(column: ColumnProfile) -> int | None:
    """The one length that all codes have (integers: that of the longest, since leading zeros were lost)."""
    text = column.sample.cast(pl.String).str.strip_chars()
    lengths = text.str.len_chars()
    if column.type == "integer":
        longest = int(lengths.max() or 0)  # type: ignore[arg-type]  # lengths are integers
        return longest if column.lowest is not None and column.lowest >= 0 and longest <= _LONGEST_CODE else None
    if column.type != "text" or lengths.n_unique() != 1 or column.distinct > len(column.sample):
        return None
    length = int(lengths[0])
    return length if 2 <= length <= _LONGEST_CODE else None


def _ages(column: ColumnProfile) -> HierarchyProposal:
    description: Description = {"kind": "intervals", "widths": [5, 10, 20, 40], "origin": 0}
    if column.type == "integer" and _AGES[0] <= column.lowest and column.highest <= _AGES[1]:
        description["domain"] = list(_AGES)
    return HierarchyProposal(description, "ages in round intervals", 6)


def _round_intervals(column: ColumnProfile) -> HierarchyProposal:
    """Widths from 1, 5, 10, 50, 100 ... that cut the range into between 200 and one and a half pieces."""
    if not math.isfinite(column.lowest) or not math.isfinite(column.highest):
        return _suppression("numbers without bounds")
    span = Fraction(column.highest) - Fraction(column.lowest)
    power = math.floor(math.log10(span)) - 3
    candidates = [Fraction(10) ** exponent * factor for exponent in range(power, power + 5) for factor in (1, 5)]
    whole = column.type == "integer"
    widths = [w for w in candidates if span / _FINEST <= w <= span / _COARSEST and (not whole or w > 1)]
    plain: list[Any] = [int(width) if width.denominator == 1 else float(width) for width in widths]
    return HierarchyProposal(
        {"kind": "intervals", "widths": plain, "origin": 0}, "numbers in round intervals", len(plain) + 2
    )
