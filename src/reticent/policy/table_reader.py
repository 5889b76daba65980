"""``rt.read``: rows with their roles, from a policy, from arguments, or from both."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

from reticent.errors import PolicyError, did_you_mean
from reticent.io import Source
from reticent.policy.policy import Policy
from reticent.registry import FRAMES
from reticent.table import Table

_READING = (
    "table",
    "query",
    "delimiter",
    "encoding",
    "null_values",
    "types",
    "sheet",
    "labels",
    "header",
    "skip_rows",
    "number_names",
    "spark",
)
_TABLE = tuple(name for name in inspect.signature(Table).parameters if name not in ("frame", "left_out"))


def read(source: Any = None, policy: str | Path | Policy | None = None, **overrides: Any) -> Table:
    """Read a :class:`Table` from a file, a database or a frame.

    ``engine="spark"`` reads whatever a Spark session reads: files, folders, tables of its catalogue and ``jdbc:``
    addresses.

    Parameters:
        source: a path, a database address, or a frame; by default the source that the policy names. policy: a policy file with roles and hierarchies.
        overrides: arguments of :class:`Table` (``quasi=``, ``sensitive=``, ``nulls=``, ...) and of reading (``types=``, ``delimiter=``,
            ``table=``, ``spark=``, ...); they override the policy.

    Returns:
        The table. Only columns that have a role are read.

    Example:
        >>> import reticent as rt
        >>> table = rt.read({"age": [31, 58], "illness": ["flu", "cold"]}, quasi=["age"], sensitive="illness")
        >>> table.rows
        2
    """
    for name in overrides:
        if name not in (*_READING, *_TABLE):
            raise PolicyError(f"read has no parameter {name!r}.{did_you_mean(name, (*_READING, *_TABLE))}")
    reading = {name: overrides[name] for name in _READING if name in overrides}
    roles = {name: overrides[name] for name in _TABLE if name in overrides}
    if policy is None:
        if source is None:
            raise PolicyError("Pass what to read: a file, a database address, a frame, or a policy that names one.")
        return _table(Source(source, **reading, engine=_own(roles.get("engine"))), roles)
    loaded = policy if isinstance(policy, Policy) else Policy.read(policy)
    engine = roles.pop("engine", loaded.sections.data.engine)
    reading_of_policy = {**loaded.reading, **loaded.machine(engine)}
    base = loaded.sourced(engine) if source is None else Source.fitting(source, reading_of_policy)
    chosen = replace(base, **reading)
    return _table(chosen, {**loaded.roles, **roles, "engine": engine}) if roles else loaded.table(chosen, engine)


def _own(engine: str | None) -> str | None:
    """Return the engine, if it has its own sources."""
    return engine if engine in FRAMES.values() else None


def _table(source: Source, roles: dict[str, Any]) -> Table:
    """Return a table with roles, from the columns of a source that have one; from all columns if no role names any."""
    listed = ("quasi", "sensitive", "identifiers", "declared", "private")
    named_columns = [name for role in listed for name in _names(roles.get(role, ()))]
    named_columns += [roles[single] for single in ("key", "weight") if roles.get(single) is not None]
    available = source.columns()
    columns = list(dict.fromkeys(named_columns))
    return Table(
        source.open(columns or None, roles.get("engine")),
        **{"codebook": source.codebook(columns or None), **roles},
        left_out=[name for name in available if name not in columns] if columns else [],
    )


def _names(role: Any) -> list[str]:
    return [role] if isinstance(role, str) else list(role)
