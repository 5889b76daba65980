"""The reference: the histogram of a sensitive column with which a claim compares, declared in the certificate.

That of the whole table counts rows that were left out too: minus the published rows it is their histogram, which must satisfy the claims as a group.
That of the published rows tells nothing that they do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    Hierarchy,
    SensitiveColumn,
    SensitiveKind,
    ValueType,
    as_type,
    hierarchy_from,
    to_plain,
)

if TYPE_CHECKING:
    from reticent.release.public import PublicSide


@dataclass(frozen=True)
class ReferenceColumn(WholeColumn):
    """What a sensitive column is compared with: its domain as the claim needs it, and how many rows have each value.

    ``of`` says which rows: those of the whole table, those left out included, or the published ones.
    """

    hierarchy: Mapping[str, Any] | None = None
    of: Comparison = "whole table"

    def as_json(self) -> dict[str, Any]:
        """The histogram as plain data."""
        return {
            "values": to_plain(settled(self.column.labels).to_list()),
            "counts": to_plain(self.counts),
            "ordered": self.column.ordered,
            "hierarchy": to_plain(self.hierarchy),
            "of": self.of,
        }

    def unpublished(self, published: Groups) -> NDArray[np.int64]:
        """How many rows have each value and are not published; a :class:`DataError` where the published rows do not fit."""
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
    """What must be published for a comparison to be re-checked; None when nothing must."""
    found, compared = {}, columns_compared(definition, list(sensitive))
    for name in compared:
        marginal = evidence.published.marginal(name)
        kind = sensitive[name]
        tree = kind.describe() if isinstance(kind, Hierarchy) else None
        found[name] = ReferenceColumn(marginal.domain.columns[0], marginal.reference, tree, evidence.compared_with)
    return found or None


def declared_reference(side: PublicSide) -> dict[str, ReferenceColumn]:
    """The histograms that a release compares with, as its certificate declares them."""
    kinds = {column.name: column.kind for column in side.manifest.columns if column.role == "sensitive"}
    return read_reference(side.certificate.get("reference"), kinds)


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
    if not isinstance(entry, Mapping) or set(entry) != {"values", "counts", "ordered", "hierarchy", "of"}:
        raise DataError(f"{where} must have values, counts, ordered, hierarchy, and of which rows it is.")
    values, counts, ordered, hierarchy = (entry[field] for field in ("values", "counts", "ordered", "hierarchy"))
    if entry["of"] not in get_args(Comparison):
        raise DataError(f"{where}: it must be of the {' or of the '.join(get_args(Comparison))}.")
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
    column = SensitiveColumn(name, labels, ordered, tree)
    return ReferenceColumn(column, np.array(counts, dtype=np.int64), hierarchy, entry["of"])


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


def with_named_values(column: SensitiveColumn, definitions: Sequence[Definition]) -> SensitiveColumn:
    """The column with values that the definitions name, although no published row has them: they are absent, not unknown."""
    return reduce(_with_named_values, definitions, column)


def _with_named_values(column: SensitiveColumn, definition: Definition) -> SensitiveColumn:
    """The column with values that the definition names, although no published row has them: they are absent, not unknown."""
    named = list(named_values(definition))
    texts, missing = column.texts, column.labels.null_count() > 0
    absent = [value for value in dict.fromkeys(named) if not (missing if value is None else str(value) in texts)]
    if not absent:
        return column
    extra = _typed(absent, column.labels)
    return SensitiveColumn(column.name, pl.concat([column.labels, extra]).unique(maintain_order=True), column.ordered)


def _typed(texts: Sequence[str | None], like: pl.Series) -> pl.Series:
    """Values given as text, of the type of a column; what is no value of that type is left out."""
    raw = pl.Series(like.name, texts, dtype=pl.String)
    values = as_type(raw, like.dtype).alias(like.name)
    return values.filter(values.is_not_null() | raw.is_null())
