"""Sensitive columns: their values, and the order or tree that defines distances between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.encoding import encode, occurring
from reticent.base.packing import Codes
from reticent.errors import DataError, did_you_mean
from reticent.table.canonical_types import clock_text
from reticent.table.hierarchies.hierarchy import BoundHierarchy, Hierarchy, unused
from reticent.table.hierarchies.leaves import as_type
from reticent.table.meaning import NULL_LABEL

SensitiveKind = Hierarchy | Sequence[Any] | None


@dataclass(frozen=True, eq=False)
class SensitiveColumn:
    """A sensitive column's domain. Values are coded by their index in ``labels``; a null label is the missing value.

    ``ordered``: the indices are an order (declared, or numeric); ``hierarchy`` is the tree for hierarchical distances.
    """

    name: str
    labels: pl.Series
    ordered: bool = False
    hierarchy: BoundHierarchy | None = None

    def __eq__(self, other: object) -> bool:
        """The same name and the same values in the same order (a Series compares elementwise, so dataclass equality does not work)."""
        return (
            isinstance(other, SensitiveColumn)
            and (self.name, self.ordered) == (other.name, other.ordered)
            and self.labels.dtype == other.labels.dtype
            and self.labels.equals(other.labels)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.ordered, self.size))

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.labels)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Values as unique texts; the missing one has a name of its own."""
        series = clock_text(self.labels) if self.labels.dtype == pl.Time else self.labels.cast(pl.String)
        missing = unused(NULL_LABEL, set(series))
        return tuple(missing if label is None else label for label in series.to_list())

    def codes(self, series: pl.Series, found: pl.Series | None = None, first_row: int | None = 0) -> Codes:
        """The index of every value. Raises :class:`DataError` naming an unknown value and its row, counted from
        ``first_row``.

        ``found`` is the result of :func:`reticent.base.encoding.looked_up` for the column, if already computed.
        """
        null_code = self.labels.is_null().arg_max() if self.labels.null_count() else None
        return encode(series, self.labels, self.name, null_code, found, first_row)

    def only(self, mask: NDArray[np.bool_]) -> SensitiveColumn:
        """The column restricted to some values."""
        tree = None if self.hierarchy is None else self.hierarchy.only(mask)
        return SensitiveColumn(self.name, self.labels.filter(pl.Series(mask)), self.ordered, tree)

    def position(self, value: object) -> int:
        """The index of a value; for don't-care sets and the like, written by people."""
        texts = self.texts
        if value is None and self.labels.null_count():
            # A text value may be spelled like the missing value.
            return int(self.labels.is_null().arg_max() or 0)
        text = NULL_LABEL if value is None else str(value)
        if text not in texts:
            text = self._spelled(text)
        if text not in texts:
            raise DataError(f"Column {self.name!r} has no value {text!r}.{did_you_mean(text, texts)}")
        return texts.index(text)

    def _spelled(self, text: str) -> str:
        """A value in this column's spelling, if it has that value: 1 equals 1.0, and 12:00:00 equals 12:00:00.000."""
        if self.labels.dtype.is_temporal() or self.labels.dtype == pl.Boolean:
            read = as_type(pl.Series([text], dtype=pl.String), self.labels.dtype)[0]
            pairs = zip(self.texts, self.labels.to_list(), strict=True)
            return next((each for each, label in pairs if label is not None and label == read), text)
        if not self.labels.dtype.is_numeric():
            return text
        try:
            number = Decimal(text)
            return next((each for each in self.labels.drop_nulls().cast(pl.String) if Decimal(each) == number), text)
        except InvalidOperation:
            return text

    def numbers(self) -> NDArray[np.float64] | None:
        """Values as numbers, or None if they are not numbers."""
        if not self.labels.dtype.is_numeric():
            return None
        return self.labels.cast(pl.Float64).fill_null(np.nan).to_numpy()


def bind_sensitive(name: str, kind: SensitiveKind, series: pl.Series) -> SensitiveColumn:
    """Fit the declaration of a sensitive column to its values.

    A hierarchy defines the domain and the tree, a list the domain in its order; without a declaration, the domain is
    the values that occur (in natural order if they are numbers or dates).
    """
    missing = [None] if series.null_count() else []
    if isinstance(kind, Hierarchy):
        bound = kind.bind(series, name)
        bound = bound.with_null_leaf() if missing else bound
        return SensitiveColumn(name, bound.leaves, ordered=bound.is_numeric, hierarchy=bound)
    if kind is not None:
        return SensitiveColumn(name, _declared(name, kind, series, missing), ordered=True)
    present = occurring(series)
    labels = pl.concat([present, pl.Series(missing, dtype=present.dtype)]) if missing else present
    return SensitiveColumn(name, labels, ordered=labels.dtype.is_numeric() or labels.dtype.is_temporal())


def _declared(name: str, values: Sequence[Any], series: pl.Series, missing: list[None]) -> pl.Series:
    """Return the declared values of a sensitive column as a series of its type; refused if they repeat or do not fit."""
    dtype = pl.String() if series.dtype == pl.Categorical or series.dtype == pl.Enum else series.dtype
    try:
        labels = pl.Series([*values, *missing], dtype=dtype, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        raise DataError(
            f"The values declared for sensitive column {name!r} do not have its type {dtype}.", column=name
        ) from None
    if labels.n_unique() != len(labels):
        raise DataError(
            f"The values declared for sensitive column {name!r} repeat {labels.filter(labels.is_duplicated())[0]!r}."
        )
    return labels
