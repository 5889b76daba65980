"""Proposed hierarchies: round numbers, calendar units, masked codes, and ARX hierarchy files next to the data."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

from reticent.errors import ReticentError
from reticent.propose.known_domains import public_domain
from reticent.propose.names import is_nominal
from reticent.propose.orders import order_of_texts
from reticent.propose.profile import ColumnProfile
from reticent.table import NAMES as PUBLIC_DOMAINS
from reticent.table import Hierarchy

Description = dict[str, Any]

_FEW_VALUES, _FEW_STEPS = 20, 4
_MOST_CATEGORIES, _RARE = 100, 0.05
_AGES = (0, 120)
_LONGEST_CODE = 12
_SPARSE, _FEW_DAYS = 3, 62
_FINEST, _COARSEST = 200, Fraction(3, 2)


@dataclass(frozen=True)
class HierarchyProposal:
    """A hierarchy in policy syntax, the reason for it, and its number of levels (including the value itself)."""

    description: Description
    reason: str
    levels: int


def propose_hierarchy(column: ColumnProfile, meaning: str | None, beside: Path | None) -> HierarchyProposal:
    """Return a hierarchy for a quasi-identifier. Its top level is a single group, so that a release always exists."""
    from_file = _file_beside(column, beside)
    if from_file is not None:
        return from_file
    if column.type in ("date", "timestamp"):
        return _dates(column)
    domain = public_domain(column)
    if domain is not None:
        levels = len(Hierarchy.public(domain).bind(column.sample.alias(column.name), column.name).levels)
        return HierarchyProposal({"kind": "public", "name": domain}, PUBLIC_DOMAINS[domain], levels)
    numeric = column.type in ("integer", "number")
    if meaning == "postcode" and (digits := _code_length(column)):
        return _masking(digits, "a code, masked from the right")
    if meaning == "age" and numeric and column.distinct > _FEW_STEPS:
        return _ages(column)
    if (
        numeric
        and is_nominal(column.name)
        and column.type == "integer"
        and (digits := _code_length(column))
        and digits > 1
    ):
        return _masking(digits, "codes, masked from the right")
    if numeric and column.distinct > _FEW_VALUES:
        return _quantiles(column) if _is_skewed(column) else _round_intervals(column)
    if numeric and column.distinct > 2:
        is_dense = column.type == "integer" and column.highest - column.lowest < _SPARSE * column.distinct
        return _steps(column) if is_dense else _neighbours(column)
    if column.type == "text" and column.distinct > _FEW_VALUES and (digits := _code_length(column)):
        return _masking(digits, "codes of one length, masked from the right")
    if column.type == "text" and _FEW_STEPS <= column.distinct <= _MOST_CATEGORIES:
        ordered = order_of_texts(column.sample.to_list())
        return _order(ordered) if ordered is not None else _categories(column)
    return _suppression("each value is kept or suppressed")


def _file_beside(column: ColumnProfile, beside: Path | None) -> HierarchyProposal | None:
    """Return the hierarchy file next to the data (``adult_hierarchy_age.csv`` for ``adult.csv``), if it covers the
    column's values and its top level is a single group.
    """
    if beside is None or not beside.parent.is_dir():
        return None
    ending = f"_hierarchy_{column.name}.csv"
    hierarchy_files = [path.name for path in beside.parent.iterdir() if path.name.removesuffix(".gz").endswith(ending)]
    matching_names = [
        name for name in hierarchy_files if beside.name.startswith(name.removesuffix(".gz").removesuffix(ending))
    ]
    if not matching_names:
        return None
    path = beside.parent / max(matching_names, key=len)
    try:
        bound = Hierarchy.from_csv(path).bind(pl.Series(column.name, [], dtype=column.dtype), column.name)
        bound.codes(column.sample)
    except ReticentError:
        return None
    if bound.levels[-1].size != 1:
        return None
    return HierarchyProposal(
        {"kind": "csv", "file": str(path)}, "the hierarchy file next to the data", len(bound.levels)
    )


def _is_skewed(column: ColumnProfile) -> bool:
    """True if most numbers fall into a small part of the range, so that intervals of equal width would be full or empty."""
    return len(column.parts) > 1 and 4 * (column.parts[-1] - column.parts[0]) < column.highest - column.lowest


def _quantiles(column: ColumnProfile) -> HierarchyProposal:
    """Return intervals with bounds at round numbers near the sixteenths, eighths, quarters and the median of the rows."""
    rounded = [_round_number(part) for part in column.parts]
    levels: list[list[Any]] = []
    for step in (1, 2, 4, 8):
        cuts = sorted({point for point in rounded[step - 1 :: step] if column.lowest < point <= column.highest})
        if cuts and (not levels or cuts != levels[-1]):
            levels.append(cuts)
    if not levels:
        return _round_intervals(column)
    return HierarchyProposal(
        {"kind": "cuts", "levels": levels},
        "intervals at round values with about equal numbers of rows, because most values are close together",
        len(levels) + 2,
    )


def _round_number(number: float) -> Any:
    """Return the number rounded to two significant digits."""
    if number == 0:
        return 0
    power = math.floor(math.log10(abs(number))) - 1
    exact = round(Fraction(number) / Fraction(10) ** power) * Fraction(10) ** power
    return int(exact) if exact.denominator == 1 else float(exact)


def _steps(column: ColumnProfile) -> HierarchyProposal:
    """Return a hierarchy for a few integers that merges two, four, eight neighbours."""
    span = column.highest - column.lowest + 1
    widths = [width for width in (2, 4, 8, 16) if width < span]
    if not widths:
        return _suppression("each value is kept or suppressed")
    return HierarchyProposal(
        {"kind": "intervals", "widths": widths, "origin": column.lowest},
        "neighbouring numbers are merged",
        len(widths) + 2,
    )


def _neighbours(column: ColumnProfile) -> HierarchyProposal:
    """Return a hierarchy for a few widely spaced numbers that merges two, four, eight neighbours, whatever the gaps."""
    values = column.sample.sort().to_list()
    levels = [values[size::size] for size in (2, 4, 8, 16) if size < len(values)]
    if not levels:
        return _suppression("each value is kept or suppressed")
    return HierarchyProposal({"kind": "cuts", "levels": levels}, "neighbouring numbers are merged", len(levels) + 2)


def _order(values: list[str]) -> HierarchyProposal:
    """Return a hierarchy for categories with a natural order, which merges two, four, eight neighbours."""
    sizes = [size for size in (2, 4, 8, 16) if size < len(values)]
    return HierarchyProposal(
        {"kind": "order", "sizes": sizes, "values": values, "from_data": True},
        "neighbours in the order of the scale are merged; check the order",
        len(sizes) + 2,
    )


def _categories(column: ColumnProfile) -> HierarchyProposal:
    """Return a tree that merges categories with a common prefix, then rare ones. The steward may edit it."""
    values, times = column.sample.to_list(), column.times
    groups: dict[str, list[str]] = {}
    for value in values:
        groups.setdefault(re.split(r"[\s\-_/:,(]", value.strip(), maxsplit=1)[0].lower(), []).append(value)
    members_of = {
        min(members, key=len) if len(members) == 1 else _common(members): members for members in groups.values()
    }
    if len(members_of) != len(groups) or not 1 < len(groups) < len(values):
        members_of = {value: [value] for value in values}
    count_of = dict(zip(values, times, strict=True))
    total = sum(times)
    share = {name: sum(count_of[value] for value in members) / total for name, members in members_of.items()}
    rare_names = [name for name in members_of if share[name] < _RARE]
    if len(rare_names) < 2 or len(rare_names) == len(members_of):
        rare_names = sorted(members_of, key=lambda name: share[name])[: len(members_of) // 2]
    label = _unused_label("Other", {*values, *members_of})
    frequent = [name for name in members_of if name not in rare_names]
    if len(members_of) == len(values):
        tree: dict[str, Any] = {label: rare_names, **{name: [name] for name in frequent}}
        return HierarchyProposal(
            {"kind": "taxonomy", "from_data": True, "tree": tree},
            "rare categories are merged; edit the tree",
            3,
        )
    tree = {
        label: {name: members_of[name] for name in rare_names},
        **{name: {name: members_of[name]} for name in frequent},
    }
    return HierarchyProposal(
        {"kind": "taxonomy", "from_data": True, "tree": tree},
        "categories with a common beginning, then the rare ones, are merged; edit the tree",
        4,
    )


def _common(members: list[str]) -> str:
    """Return the common prefix of the values."""
    alike = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*members, strict=False))
    start = "".join(letters[0] for letters in alike).strip(" -_/:,(")
    return f"{start}..." if start else members[0]


def _unused_label(label: str, used_labels: set[str]) -> str:
    while label in used_labels:
        label += "'"
    return label


def _suppression(reason: str) -> HierarchyProposal:
    return HierarchyProposal({"kind": "suppression"}, reason, 2)


def _masking(digits: int, reason: str) -> HierarchyProposal:
    return HierarchyProposal({"kind": "masking", "digits": digits}, reason, digits + 1)


def _dates(column: ColumnProfile) -> HierarchyProposal:
    """Return calendar levels for dates: weeks for a short period, otherwise months to years, and decades for 20 years or more."""
    years = column.highest.year - column.lowest.year if column.lowest is not None else 0
    days = (column.highest - column.lowest).days if column.lowest is not None else 0
    units = ["week"] if days <= _FEW_DAYS else ["month", "quarter", "year", *(["decade"] if years >= 20 else [])]
    if column.type == "timestamp":
        units = ["hour", *units]
    if column.type == "date":
        return HierarchyProposal({"kind": "dates", "levels": units}, "dates in calendar units", len(units) + 2)
    return HierarchyProposal(
        {"kind": "dates", "levels": units, "timezone": "UTC"},
        "timestamps in calendar units; check the time zone in which days begin",
        len(units) + 3,
    )


def _code_length(column: ColumnProfile) -> int | None:
    """Return the common length of all codes (integers: that of the longest, because leading zeros were lost); None if lengths differ."""
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
    """Return intervals of 5, 10, 20 and 40 years."""
    description: Description = {"kind": "intervals", "widths": [5, 10, 20, 40], "origin": 0}
    if column.type == "integer" and _AGES[0] <= column.lowest and column.highest <= _AGES[1]:
        description["domain"] = list(_AGES)
    return HierarchyProposal(description, "ages in round intervals", 6)


def _round_intervals(column: ColumnProfile) -> HierarchyProposal:
    """Return round intervals of widths from 1, 5, 10, 50, 100 ... that split the range into between 200 and one and a half pieces."""
    if not math.isfinite(column.lowest) or not math.isfinite(column.highest):
        return _suppression("numbers without bounds")
    span = Fraction(column.highest) - Fraction(column.lowest)
    power = math.floor(math.log10(span)) - 3
    candidates = [Fraction(10) ** exponent * factor for exponent in range(power, power + 5) for factor in (1, 5)]
    is_integer = column.type == "integer"
    widths = [w for w in candidates if span / _FINEST <= w <= span / _COARSEST and (not is_integer or w > 1)]
    written_widths: list[Any] = [int(width) if width.denominator == 1 else float(width) for width in widths]
    return HierarchyProposal(
        {"kind": "intervals", "widths": written_widths, "origin": 0},
        "numbers in round intervals",
        len(written_widths) + 2,
    )
