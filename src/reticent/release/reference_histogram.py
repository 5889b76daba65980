"""The reference: the histogram of a sensitive column that a claim compares with, declared in the certificate.

A histogram of the whole table includes suppressed rows: subtracting the published rows yields their histogram, which
must satisfy the claims as a group of its own. A histogram of the published rows discloses nothing new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.core import Comparison, Evidence, Groups, WholeColumn
from reticent.definitions import Definition, columns_compared, named_values
from reticent.errors import DataError, ReticentError
from reticent.release.canonical_json import settled
from reticent.table import (
    BoundHierarchy,
    Level,
    SensitiveColumn,
    SensitiveKind,
    Values,
    ValueType,
    as_type,
    to_plain,
)

if TYPE_CHECKING:
    from reticent.release.public import PublicSide


@dataclass(frozen=True)
class ReferenceColumn(WholeColumn):
    """Reference of a sensitive column: its domain as the claim needs it, and the count of each value.

    ``of`` names the rows: the whole table, including suppressed rows, or the published rows.
    """

    of: Comparison = "whole table"

    def as_json(self) -> dict[str, Any]:
        """The histogram as plain data."""
        return {
            "values": to_plain(settled(self.column.labels).to_list()),
            "counts": to_plain(self.counts),
            "ordered": self.column.ordered,
            "levels": None if self.column.hierarchy is None else _levels_json(self.column.hierarchy),
            "of": self.of,
        }

    def unpublished(self, published: Groups) -> NDArray[np.int64]:
        """Return how many unpublished rows have each value; a :class:`DataError` if the published rows exceed the histogram."""
        shown = published.marginal(self.column.name)
        try:
            places = self.column.codes(shown.domain.columns[0].labels)
        except DataError:
            raise DataError(f"A published value of column {self.column.name!r} is not in its histogram.") from None
        missing = self.counts.copy()
        missing[places] -= shown.histograms.total(len(places))
        if (missing < 0).any():
            raise DataError(f"A value of column {self.column.name!r} is published more often than its histogram says.")
        if self.of == "published rows" and missing.any():
            raise DataError(
                f"The histogram of column {self.column.name!r} is not that of the published rows, as it claims."
            )
        return missing


def reference_of(
    definition: Definition, evidence: Evidence, sensitive: Mapping[str, SensitiveKind]
) -> dict[str, ReferenceColumn] | None:
    """Return the reference that must be published to re-check a comparison; None if none is needed."""
    found, compared = {}, columns_compared(definition, list(sensitive))
    for name in compared:
        marginal = evidence.published.marginal(name)
        found[name] = ReferenceColumn(marginal.domain.columns[0], marginal.reference, evidence.compared_with)
    return found or None


def declared_reference(side: PublicSide) -> dict[str, ReferenceColumn]:
    """Return the histograms that a release's certificate declares."""
    kinds = {column.name: column.kind for column in side.manifest.columns if column.role == "sensitive"}
    return read_reference(side.certificate.get("reference"), kinds)


def read_reference(payload: Any, kinds: Mapping[str, ValueType]) -> dict[str, ReferenceColumn]:
    """Parse the reference of a certificate; ``kinds`` are the types of the sensitive columns."""
    if payload is None:
        return {}
    if not isinstance(payload, Mapping):
        raise DataError("certificate.json: the reference must be an object with one histogram for each column.")
    return {name: _column(name, entry, kinds) for name, entry in payload.items()}


def _column(name: str, entry: Any, kinds: Mapping[str, ValueType]) -> ReferenceColumn:
    where = f"certificate.json, reference of column {name!r}"
    if name not in kinds:
        raise DataError(f"{where}: there is no such sensitive column.")
    if not isinstance(entry, Mapping) or set(entry) != {"values", "counts", "ordered", "levels", "of"}:
        raise DataError(f"{where} must have values, counts, ordered, levels, and of.")
    values, counts, ordered = (entry[field] for field in ("values", "counts", "ordered"))
    if entry["of"] not in get_args(Comparison):
        raise DataError(f"{where}: it must count the {' or the '.join(get_args(Comparison))}.")
    if not isinstance(values, list) or not isinstance(counts, list) or len(values) != len(counts) or not values:
        raise DataError(f"{where}: there must be one count for each value.")
    if any(type(count) is not int or not 0 <= count < 2**53 for count in counts) or not isinstance(ordered, bool):
        raise DataError(f"{where}: counts must be whole numbers.")
    kind = kinds[name]
    labels = pl.Series(name, [kind.read(value) for value in values], dtype=kind.dtype)
    if labels.n_unique() != len(labels):
        raise DataError(f"{where}: a value is listed twice.")
    tree = None if entry["levels"] is None else _read_levels(entry["levels"], labels, where)
    column = SensitiveColumn(name, labels, ordered, tree)
    return ReferenceColumn(column, np.array(counts, dtype=np.int64), entry["of"])


def _levels_json(hierarchy: BoundHierarchy) -> list[list[int]]:
    """Return the levels above the values: for each, the category number of every value, in order of first occurrence."""
    found = []
    for level in hierarchy.levels[1:]:
        _, first, inverse = np.unique(level.parts, return_index=True, return_inverse=True)
        found.append(np.argsort(np.argsort(first))[inverse].tolist())
    return found


def _read_levels(written: Any, labels: pl.Series, where: str) -> BoundHierarchy:
    """Parse what :func:`_levels_json` wrote; anything else raises a :class:`DataError`."""
    numbers = isinstance(written, list) and all(
        isinstance(each, list) and len(each) == len(labels) and all(type(part) is int for part in each)
        for each in written
    )
    if not numbers:
        raise DataError(f"{where}: levels must list the category of every value, level by level.")
    levels = [np.arange(len(labels), dtype=np.int32)]
    for each in written:
        if list(dict.fromkeys(each)) != list(range(len(set(each)))):
            raise DataError(f"{where}: categories of a level are numbered in the order of their first values.")
        levels.append(np.array(each, dtype=np.int32))
    listed = labels.to_list()
    made = tuple(_level(parts, listed) for parts in levels)
    null = labels.is_null().arg_max() if labels.null_count() else None
    try:
        return BoundHierarchy(labels.name, labels, made, data_dependent=False, null_leaf=null)
    except ReticentError as error:
        raise DataError(f"{where}: {error}") from None


def _level(parts: NDArray[np.int32], values: Sequence[Any]) -> Level:
    """Return one level of a tree with its category numbers as names."""
    members: list[list[Any]] = [[] for _ in range(int(parts.max()) + 1)]
    for part, value in zip(parts.tolist(), values, strict=True):
        members[part].append(value)
    return Level(parts, tuple(map(str, range(len(members)))), tuple(Values(tuple(each)) for each in members))


def with_named_values(column: SensitiveColumn, definitions: Sequence[Definition]) -> SensitiveColumn:
    """Add values that the definitions mention and no published row has to the column's domain: they are absent, not unknown."""
    return reduce(_with_named_values, definitions, column)


def _with_named_values(column: SensitiveColumn, definition: Definition) -> SensitiveColumn:
    """Add values that one definition mentions and no published row has to the column's domain: they are absent, not unknown."""
    named = list(named_values(definition))
    texts, missing = column.texts, column.labels.null_count() > 0
    absent = [value for value in dict.fromkeys(named) if not (missing if value is None else str(value) in texts)]
    if not absent:
        return column
    extra = _typed(absent, column.labels)
    return SensitiveColumn(column.name, pl.concat([column.labels, extra]).unique(maintain_order=True), column.ordered)


def _typed(texts: Sequence[str | None], like: pl.Series) -> pl.Series:
    """Convert texts to the type of a column; texts that are not values of that type are dropped."""
    raw = pl.Series(like.name, texts, dtype=pl.String)
    values = as_type(raw, like.dtype).alias(like.name)
    return values.filter(values.is_not_null() | raw.is_null())
