"""The page Data: a first look at a file, pages of its rows, and a proposal whose price was tried."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reticent.policy import inspect
from reticent.workbench.tasks.opened import frame_of, policy_of
from reticent.workbench.worker import Reporter

_CELL = 120


def look(
    reporter: Reporter,
    folder: str,
    location: str,
    options: Mapping[str, Any],
    template: str | None = None,
    stamp: str = "",
) -> dict[str, Any]:
    """A first proposal for a file: roles with reasons, hierarchies and a definition. Nothing is tried yet, so it answers at once."""
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
    """The proposal once its price was tried: columns that cost too much are left out, and the cheapest method is named."""
    return _inspected(reporter, folder, location, options, template, prices=True)


def _inspected(
    reporter: Reporter, folder: str, location: str, options: Mapping[str, Any], template: str | None, *, prices: bool
) -> dict[str, Any]:
    home = Path(folder)
    address = location if "://" in location or location.startswith("env:") else str(home / location)
    found = inspect(
        address, output=home / "policy.toml", **options, template=template, prices=prices, context=reporter.context()
    )
    compared = found.priced.compared
    return {
        "text": found.text,
        "refusal": found.proposal.refusal,
        "rows": found.proposal.rows,
        "headline": list(found.headline),
        "notes": list(found.notes),
        "columns": {
            each.name: {
                "role": each.role,
                "reason": each.reason,
                "hierarchy": _plain(each.hierarchy),
                "coarsen": _plain(each.coarsen),
                "safe_harbor": each.safe_harbor,
            }
            for each in found.proposal.columns
        },
        "left_out": [{"column": each.column, "price": each.price} for each in found.priced.left_out],
        "prices": [_plain(each.as_dict()) for each in found.priced.prices],
        "methods": None if compared is None else _plain(compared.as_dict()),
        "loss": None if compared is None else compared.best.loss,
    }


def rows(reporter: Reporter, folder: str, policy: str, start: int, count: int, stamp: str = "") -> dict[str, Any]:
    """A page of the rows as they were read, with what was found out about the file."""
    frame = frame_of(folder, policy)
    source = policy_of(folder, policy).source
    shown = frame.slice(start, count)
    return {
        "columns": [{"name": name, "type": type_name(dtype)} for name, dtype in frame.schema.items()],
        "rows": [[cell_text(value) for value in row] for row in shown.rows()],
        "start": start,
        "total": frame.height,
        "found": dict(source.layout_found()),
        "assumed": list(source.codebook().notes()),
        "is_text": source.is_text,
    }


def cell_text(value: Any) -> str | None:
    """A cell as a page shows it; long text is shortened, and what is missing is None."""
    if value is None:
        return None
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _CELL else text[:_CELL] + " …"


def type_name(dtype: Any) -> str:
    """The type of a column as a policy names it."""
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
    """Plain data that JSON can hold; what it cannot is text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
