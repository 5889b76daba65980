"""Tasks of the page Data: a first proposal for a file, pages of its rows, and a proposal with measured information loss."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reticent.policy import inspect
from reticent.workbench.tasks.opened import frame_of, is_whole, policy_of
from reticent.workbench.worker import Reporter

_CELL = 120
_MOST_ROWS = 100
"""A large table never crosses the wire, whatever an address asks for."""
_LONG_FRACTION = re.compile(r"-?\d+\.\d{5,}")


def look(
    reporter: Reporter,
    folder: str,
    location: str,
    options: Mapping[str, Any],
    template: str | None = None,
    stamp: str = "",
) -> dict[str, Any]:
    """Return a first proposal for a file: roles with reasons, hierarchies and a definition. Fast, because no method is run."""
    return _inspected(reporter, folder, location, options, template, prices=False)


def afford(
    reporter: Reporter,
    folder: str,
    location: str,
    options: Mapping[str, Any],
    template: str | None = None,
    stamp: str = "",
    policy: None = None,
) -> dict[str, Any]:
    """Return a proposal based on measured information loss: drops columns that cost too much and names the method with the lowest loss."""
    return _inspected(reporter, folder, location, options, template, prices=True)


def _inspected(
    reporter: Reporter, folder: str, location: str, options: Mapping[str, Any], template: str | None, *, prices: bool
) -> dict[str, Any]:
    """Return the proposal for a file as JSON-compatible data; with ``prices``, based on measured information loss."""
    home = Path(folder)
    address = location if "://" in location or location.startswith("env:") else os.path.normpath(home / location)
    inspected = inspect(
        address, output=home / "policy.toml", **options, template=template, prices=prices, context=reporter.context()
    )
    compared = inspected.priced.compared
    return {
        "text": inspected.text,
        "refusal": inspected.proposal.refusal,
        "rows": inspected.proposal.rows,
        "headline": list(inspected.headline),
        "notes": list(inspected.notes),
        "columns": {
            column.name: {
                "role": column.role,
                "reason": column.reason,
                "hierarchy": _plain(column.hierarchy),
                "coarsen": _plain(column.coarsen),
                "safe_harbor": column.safe_harbor,
            }
            for column in inspected.proposal.columns
        },
        "left_out": [{"column": dropped.column, "price": dropped.price} for dropped in inspected.priced.left_out],
        "prices": [_plain(price.as_dict()) for price in inspected.priced.prices],
        "methods": None if compared is None else _plain(compared.as_dict()),
        "loss": None if compared is None else compared.best.loss,
    }


def rows(reporter: Reporter, folder: str, policy: str, start: int, count: int, stamp: str = "") -> dict[str, Any]:
    """Return ``count`` rows from ``start`` (at most 100) as read, with columns, number of rows, and how the file was read."""
    frame = frame_of(folder, policy)
    source = policy_of(folder, policy).source
    shown = frame.slice(max(start, 0), min(count, _MOST_ROWS))
    return {
        "columns": [{"name": name, "type": type_name(dtype)} for name, dtype in frame.schema.items()],
        "rows": [[cell_text(value) for value in row] for row in shown.rows()],
        "start": start,
        "total": frame.height,
        "whole": is_whole(frame),
        "found": dict(source.layout_found()),
        "assumed": list(source.codebook().notes()),
        "options": list(source.reading_options),
    }


def cell_text(value: Any, longest: int = _CELL) -> str | None:
    """Format a cell for display; text beyond ``longest`` characters is truncated, a missing value is None."""
    if value is None:
        return None
    text = number_text(value) if isinstance(value, float) else str(value)
    return text if len(text) <= longest else text[:longest] + " …"


def number_text(value: float) -> str:
    """Format a fraction with six significant digits, or with all digits before the decimal point and one after it."""
    whole_digits = math.floor(math.log10(abs(value))) + 1 if value and math.isfinite(value) else 0
    return f"{value:.{min(max(whole_digits + 1, 6), 15)}g}"


def label_text(label: str) -> str:
    """Shorten the label of a single fraction, such as ``12.300000000001``, for display."""
    return number_text(float(label)) if _LONG_FRACTION.fullmatch(label) else label


def type_name(dtype: Any) -> str:
    """Return the policy's name for the type of a column."""
    import polars as pl

    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    if dtype == pl.Date:
        return "date"
    if dtype == pl.Datetime:
        return "timestamp"
    return "text"


def _plain(value: Any) -> Any:
    """Convert a value to JSON-compatible data; unsupported types become text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
