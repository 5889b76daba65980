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
        published_marginal = published.marginal(self.column.name)
        try:
            value_codes = self.column.codes(published_marginal.domain.columns[0].labels)
        except DataError:
            raise DataError(f"A published value of column {self.column.name!r} is not in its histogram.") from None
        unpublished_counts = self.counts.copy()
        unpublished_counts[value_codes] -= published_marginal.histograms.total(len(value_codes))
        if (unpublished_counts < 0).any():
            raise DataError(f"A value of column {self.column.name!r} is published more often than its histogram says.")
        if self.of == "published rows" and unpublished_counts.any():
            raise DataError(
                f"The histogram of column {self.column.name!r} is not that of the published rows, as it claims."
            )
        return unpublished_counts


def reference_of(
    definition: Definition, evidence: Evidence, sensitive: Mapping[str, SensitiveKind]
) -> dict[str, ReferenceColumn] | None:
    """Return the reference that must be published to re-check a comparison; None if none is needed."""
    reference, compared = {}, columns_compared(definition, list(sensitive))
    for name in compared:
        marginal = evidence.published.marginal(name)
        reference[name] = ReferenceColumn(marginal.domain.columns[0], marginal.reference, evidence.compared_with)
    return reference or None


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
    """Parse the histogram of one sensitive column; an invalid entry raises a :class:`DataError`."""
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
    hierarchy = None if entry["levels"] is None else _read_levels(entry["levels"], labels, where)
    column = SensitiveColumn(name, labels, ordered, hierarchy)
    return ReferenceColumn(column, np.array(counts, dtype=np.int64), entry["of"])


def _levels_json(hierarchy: BoundHierarchy) -> list[list[int]]:
    """Return the levels above the values: for each, the category number of every value, in order of first occurrence."""
    categories_by_level = []
    for level in hierarchy.levels[1:]:
        _, first, inverse = np.unique(level.parts, return_index=True, return_inverse=True)
        # Parts are renumbered in the order in which they first occur.
        categories_by_level.append(np.argsort(np.argsort(first))[inverse].tolist())
    return categories_by_level


def _read_levels(written: Any, labels: pl.Series, where: str) -> BoundHierarchy:
    """Parse what :func:`_levels_json` wrote; anything else raises a :class:`DataError`."""
    is_well_formed = isinstance(written, list) and all(
        isinstance(categories, list)
        and len(categories) == len(labels)
        and all(type(part) is int for part in categories)
        for categories in written
    )
    if not is_well_formed:
        raise DataError(f"{where}: levels must list the category of every value, level by level.")
    levels = [np.arange(len(labels), dtype=np.int32)]
    for categories in written:
        if list(dict.fromkeys(categories)) != list(range(len(set(categories)))):
            raise DataError(f"{where}: categories of a level are numbered in the order of their first values.")
        levels.append(np.array(categories, dtype=np.int32))
    value_list = labels.to_list()
    levels_bound = tuple(_level(parts, value_list) for parts in levels)
    null = labels.is_null().arg_max() if labels.null_count() else None
    try:
        return BoundHierarchy(labels.name, labels, levels_bound, data_dependent=False, null_leaf=null)
    except ReticentError as error:
        raise DataError(f"{where}: {error}") from None


def _level(parts: NDArray[np.int32], values: Sequence[Any]) -> Level:
    """Return one level of a hierarchy from the part (category) of each value; the parts are named by their numbers."""
    members: list[list[Any]] = [[] for _ in range(int(parts.max()) + 1)]
    for part, value in zip(parts.tolist(), values, strict=True):
        members[part].append(value)
    return Level(parts, tuple(map(str, range(len(members)))), tuple(Values(tuple(member)) for member in members))


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
    absent_values = _typed(absent, column.labels)
    return SensitiveColumn(
        column.name, pl.concat([column.labels, absent_values]).unique(maintain_order=True), column.ordered
    )


def _typed(texts: Sequence[str | None], like: pl.Series) -> pl.Series:
    """Convert texts to the type of a column; texts that are not values of that type are dropped."""
    raw = pl.Series(like.name, texts, dtype=pl.String)
    values = as_type(raw, like.dtype).alias(like.name)
    return values.filter(values.is_not_null() | raw.is_null())
