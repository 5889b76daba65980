"""Which published label covers which value, from the meanings of labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.ragged import places_in, starts_of
from reticent.conditions import Domain
from reticent.errors import DataError
from reticent.table import Anything, Interval, LeafIndex, Meaning, OrMissing, Value, Values, ValueType, covers_missing


@dataclass(frozen=True)
class Cover:
    """The matching pairs (value, label) for the distinct values of a column; sorted by value."""

    values: NDArray[np.int64]
    labels: NDArray[np.int64]
    value_count: int
    label_count: int

    @property
    def is_single(self) -> NDArray[np.bool_]:
        """Mask of values that match at most one label."""
        return np.bincount(self.values, minlength=self.value_count) <= 1

    def lookup(self) -> NDArray[np.int64]:
        """The label of each value, -1 if none matches; for values with at most one match."""
        labels = np.full(self.value_count, -1, dtype=np.int64)
        labels[self.values] = self.labels
        return labels

    def matrix(self) -> NDArray[np.bool_]:
        """One row per value, one column per label."""
        fits = np.zeros((self.value_count, self.label_count), dtype=bool)
        fits[self.values, self.labels] = True
        return fits


def cover(values: pl.Series, meanings: Sequence[Meaning], column: str, *, null_is_unknown: bool = False) -> Cover:
    """Match the values of a column against the meanings of labels.

    Values may be written differently from the labels (numbers as text, postcodes as numbers): they are parsed as the
    labels' type, and a value that cannot be parsed matches no label but ``*``. A null is a missing value and matches
    the labels for missing values; with ``null_is_unknown`` it matches every label.
    """
    kind = _kind(values, meanings, column)
    missing = values.is_null().to_numpy()
    parsed = _read(values, kind)
    known = np.flatnonzero(parsed.is_not_null().to_numpy())
    leaves = parsed.gather(known).unique(maintain_order=True)
    index = LeafIndex(leaves, kind)
    # Two spellings of one number are one leaf.
    leaf_of = _numbers(parsed.gather(known), leaves)
    order = np.argsort(leaf_of, kind="stable")
    spellings = np.bincount(leaf_of, minlength=len(leaves))
    starts = starts_of(spellings)
    pairs: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for label, meaning in enumerate(meanings):
        if isinstance(meaning, Anything):
            fitting = np.flatnonzero(~missing)
        else:
            covered = _leaves_covered(index, meaning)
            fitting = known[order[places_in(starts[covered], spellings[covered])]]
        if not null_is_unknown and covers_missing(meaning):
            fitting = np.concatenate([fitting, np.flatnonzero(missing)])
        pairs.append((fitting, np.full(len(fitting), label, dtype=np.int64)))
    if null_is_unknown:
        unknown = np.flatnonzero(missing)
        pairs.append((np.repeat(unknown, len(meanings)), np.tile(np.arange(len(meanings)), len(unknown))))
    value_ids, labels = (np.concatenate([np.zeros(0, dtype=np.int64), *arrays]) for arrays in zip(*pairs, strict=True))
    sorted_pairs = np.argsort(value_ids, kind="stable")
    return Cover(value_ids[sorted_pairs], labels[sorted_pairs], len(values), len(meanings))


def _kind(values: pl.Series, meanings: Sequence[Meaning], column: str) -> ValueType:
    """The common type of values and labels: that of the values, unless they are text and the labels are ranges."""
    kind_of_values = ValueType.of(values.dtype, column)
    ranges = [meaning for meaning in meanings if isinstance(meaning, Interval | OrMissing)]
    return (
        Domain.guessed(ranges, kind_of_values).kind if kind_of_values is ValueType.TEXT and ranges else kind_of_values
    )


def _read(values: pl.Series, kind: ValueType) -> pl.Series:
    """The values parsed as a type; null if that fails."""
    if kind is ValueType.TEXT or ValueType.of(values.dtype) is not ValueType.TEXT:
        return kind.column(values)
    texts = values.cast(pl.String)
    if kind is ValueType.DATE:
        return texts.str.to_date(strict=False)
    if kind is ValueType.DATETIME:
        return texts.str.to_datetime(strict=False, time_unit="us")
    return texts.cast(pl.Float64, strict=False)


def _leaves_covered(index: LeafIndex, meaning: Meaning) -> NDArray[np.int64]:
    """The leaves that a meaning covers; none if it is about another type."""
    try:
        return meaning.covers(index)
    except (DataError, ValueError):
        if not isinstance(meaning, Values):
            return np.zeros(0, dtype=np.int64)
    parts = [_leaves_covered(index, Value(value)) for value in meaning.values]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _numbers(values: pl.Series, distinct: pl.Series) -> NDArray[np.int64]:
    """The index of each value among the distinct ones."""
    numbered = pl.DataFrame({"value": distinct, "number": np.arange(len(distinct))})
    joined = values.to_frame("value").join(numbered, on="value", how="left", maintain_order="left")
    return joined["number"].to_numpy().astype(np.int64)
