"""Policy, rows and table of a project, cached in the worker process between tasks."""

from __future__ import annotations

import json
import tomllib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from reticent.io import Source
from reticent.policy import Policy
from reticent.table import Table
from reticent.workbench.stamps import source_stamp

Kept = TypeVar("Kept")
_MOST_KEPT = 3
_LOOKED_AT = 200_000
_DATA = ("data", "spark")
_TABLE = ("dataset", "data", "spark", "roles", "declared", "hierarchies", "coarsen")
_kept: OrderedDict[str, Any] = OrderedDict()


def policy_of(folder: str, text: str) -> Policy:
    """Parse a policy; its relative paths start from the project's folder."""
    return Policy.parse(text, "the policy", Path(folder))


def frame_of(folder: str, text: str) -> pl.DataFrame:
    """Return the policy's rows with all columns; only the first rows if the table does not fit in memory."""
    return _once("frame", folder, text, _DATA, lambda: _read(policy_of(folder, text).source))


def is_whole(frame: pl.DataFrame) -> bool:
    """True if :func:`frame_of` read all rows of the table; False also for one with exactly as many rows as are read of a table that does not fit in memory."""
    return frame.height != _LOOKED_AT


def table_of(folder: str, text: str) -> Table:
    """Return the table: the rows with the roles of their columns."""
    return _once("table", folder, text, _TABLE, lambda: policy_of(folder, text).table())


def _read(source: Source) -> pl.DataFrame:
    """Return the rows of a source; of one that does not fit in memory only the first 200,000."""
    columns = source.columns()
    opened = source.open(columns)
    if isinstance(opened, pl.DataFrame):
        return opened
    chunks, rows = [], 0
    for chunk in opened.chunks(columns):
        chunks.append(chunk)
        rows += chunk.height
        if rows >= _LOOKED_AT:
            break
    return pl.concat(chunks).head(_LOOKED_AT)


def _once(kind: str, folder: str, text: str, sections: tuple[str, ...], make: Callable[[], Kept]) -> Kept:
    """Return what ``make`` returns, cached by the policy ``sections`` that it depends on and the state of the source file.

    The cache holds the last few results of each ``kind``.
    """
    content = tomllib.loads(text)
    inputs = {name: content.get(name) for name in sections}
    key = json.dumps([kind, folder, source_stamp(folder, content), inputs], sort_keys=True, default=str)
    if key not in _kept:
        for old in [cached_key for cached_key in _kept if json.loads(cached_key)[0] == kind][: -_MOST_KEPT + 1 or None]:
            del _kept[old]
        _kept[key] = make()
    _kept.move_to_end(key)
    cached: Kept = _kept[key]
    return cached
