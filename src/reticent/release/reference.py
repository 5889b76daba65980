"""The reference: the whole table's histogram of a sensitive column, published where a claim compares with it.

It counts rows that were left out too, so it tells something that the published rows do not; the certificate declares it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import Groups, Hierarchy, SensitiveColumn, ValueType, to_plain
from reticent.data.descriptions import hierarchy_from
from reticent.data.hierarchy import BoundHierarchy
from reticent.data.sensitive import Kind
from reticent.definitions import Definition
from reticent.errors import DataError, ReticentError
from reticent.release.values import settled


@dataclass(frozen=True)
class ReferenceColumn:
    """One sensitive column of the whole table: its domain as the claim needs it, and how many rows have each value."""

    column: SensitiveColumn
    counts: NDArray[np.int64]
    hierarchy: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """The histogram as plain data."""
        return {
            "values": to_plain(settled(self.column.labels).to_list()),
            "counts": to_plain(self.counts),
            "ordered": self.column.ordered,
            "hierarchy": to_plain(self.hierarchy),
        }


def columns_compared(definition: Definition, sensitive: Sequence[str]) -> tuple[str, ...]:
    """The sensitive columns whose whole-table histogram some part of the definition compares with."""
    names: dict[str, None] = {}
    for part in definition.parts():
        if part.needs_reference:
            chosen = getattr(part, "column", None)
            names.update(dict.fromkeys([chosen] if chosen is not None else sensitive))
    return tuple(names)


def reference_of(
    definition: Definition, groups: Groups, sensitive: Mapping[str, Kind]
) -> dict[str, ReferenceColumn] | None:
    """What must be published of the whole table for the definition to be re-checked; None when nothing must."""
    found = {}
    for name in columns_compared(definition, list(sensitive)):
        marginal = groups.marginal(name)
        kind = sensitive[name]
        tree = kind.describe() if isinstance(kind, Hierarchy) else None
        found[name] = ReferenceColumn(marginal.domain.columns[0], marginal.reference, tree)
    return found or None


def read_reference(payload: Any, kinds: Mapping[str, ValueType]) -> dict[str, ReferenceColumn]:
    """The reference that a certificate holds; ``kinds`` are the types of the sensitive columns."""
    if payload is None:
        return {}
    if not isinstance(payload, Mapping):
        raise DataError("certificate.json: the reference must be an object with one histogram for each column.")
    return {name: _column(name, entry, kinds) for name, entry in payload.items()}


def _column(name: str, entry: Any, kinds: Mapping[str, ValueType]) -> ReferenceColumn:
    where = f"certificate.json, reference of column {name!r}"
    if name not in kinds:
        raise DataError(f"{where}: there is no such sensitive column.")
    if not isinstance(entry, Mapping) or set(entry) != {"values", "counts", "ordered", "hierarchy"}:
        raise DataError(f"{where} must have values, counts, ordered and hierarchy.")
    values, counts, ordered, hierarchy = (entry[field] for field in ("values", "counts", "ordered", "hierarchy"))
    if not isinstance(values, list) or not isinstance(counts, list) or len(values) != len(counts) or not values:
        raise DataError(f"{where}: there must be one count for each value.")
    if any(type(count) is not int or not 0 <= count < 2**53 for count in counts) or not isinstance(ordered, bool):
        raise DataError(f"{where}: counts must be whole numbers.")
    kind = kinds[name]
    labels = pl.Series(name, [kind.read(value) for value in values], dtype=kind.dtype)
    if labels.n_unique() != len(labels):
        raise DataError(f"{where}: a value is listed twice.")
    try:
        bound = hierarchy_from(hierarchy, where).bind(labels, name) if hierarchy is not None else None
    except ReticentError as error:
        raise DataError(f"{where}: {error}") from None
    if bound is not None and labels.null_count():
        bound = bound.with_null_leaf()
    tree = None if bound is None else _in_order(bound, labels, where)
    return ReferenceColumn(SensitiveColumn(name, labels, ordered, tree), np.array(counts, dtype=np.int64), hierarchy)


def _in_order(bound: BoundHierarchy, labels: pl.Series, where: str) -> BoundHierarchy:
    """The hierarchy with its leaves in the order of the histogram: a certificate sorts the branches of a tree by name."""
    place_of = {value: place for place, value in enumerate(bound.leaves.to_list())}
    listed = labels.to_list()
    if set(listed) != set(place_of):
        raise DataError(f"{where}: the hierarchy's values are not those of the histogram.")
    places = np.array([place_of[value] for value in listed])
    levels = tuple(replace(level, parts=level.parts[places]) for level in bound.levels)
    null = None if bound.null_leaf is None else listed.index(None)
    return replace(bound, leaves=bound.leaves[places], levels=levels, null_leaf=null)
