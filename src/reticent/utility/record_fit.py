"""How well synthetic records fit the records that they were made from, column by column and pair by pair.

Everything is computed from the confidential table and stays with the steward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

_BINS = 20
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class RecordFit:
    """Total variation distances between two files: 0 if all shares are equal, 1 if no value occurs in both.

    ``columns`` has the distance of each column, ``pairs`` that of each pair of columns. Numbers and dates with more
    than 20 values are compared by the 20 quantile ranges of the true records; missing values count as a value.
    """

    columns: dict[str, float]
    pairs: dict[tuple[str, str], float]

    @property
    def mean_pair(self) -> float | None:
        """The mean distance over all pairs of columns; None if there is one column only."""
        return float(np.mean(list(self.pairs.values()))) if self.pairs else None

    def worst_pairs(self, limit: int) -> list[tuple[tuple[str, str], float]]:
        """The pairs with the largest distances, at most ``limit``."""
        return sorted(self.pairs.items(), key=lambda pair: -pair[1])[:limit]


def record_fit(original: pl.DataFrame, records: pl.DataFrame, columns: Sequence[str]) -> RecordFit:
    """Measure the total variation distances of synthetic ``records`` from the original ones, by column and pair of columns; both files must have the ``columns``."""
    coded = {name: _codes(original[name], records[name]) for name in columns}
    pairs = {
        (first, second): _distance(*_joined(coded[first], coded[second])) for first, second in combinations(columns, 2)
    }
    return RecordFit({name: _distance(*codes) for name, codes in coded.items()}, pairs)


def _codes(original: pl.Series, synthetic: pl.Series) -> tuple[Codes, Codes]:
    """Return the category codes of a column in the original and the synthetic file, -1 for a missing value; numbers and dates with many values are coded by quantile range of the original."""
    if (original.dtype.is_numeric() or original.dtype.is_temporal()) and original.n_unique() > _BINS:
        numbers = [_numbers(column, original.dtype) for column in (original, synthetic)]
        edges = np.unique(np.nanquantile(numbers[0], np.arange(1, _BINS) / _BINS))
        first, second = (
            np.where(np.isnan(column), -1, np.searchsorted(edges, column, side="right")).astype(np.int64)
            for column in numbers
        )
        return first, second
    texts = [_texts(column, original.dtype) for column in (original, synthetic)]
    values = pl.concat(texts).drop_nulls().unique(maintain_order=True)
    first, second = (
        column.replace_strict(values, np.arange(len(values)), default=-1, return_dtype=pl.Int64).to_numpy()
        for column in texts
    )
    return first, second


def _numbers(column: pl.Series, kind: pl.DataType) -> NDArray[np.float64]:
    """Return a column of numbers or dates as floats, NaN for a missing value and for what is no number."""
    converted = column if kind.is_numeric() else column.cast(kind, strict=False).to_physical()
    return converted.cast(pl.Float64, strict=False).to_numpy()


def _texts(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """Return a column as text, spelled as in the true file if its values can be read so: 3.0 and 3 are one value."""
    if column.dtype != kind:
        converted = column.cast(kind, strict=False)
        if converted.null_count() == column.null_count():
            column = converted
    return column.cast(pl.String).alias("value")


def _joined(first_column: tuple[Codes, Codes], second_column: tuple[Codes, Codes]) -> tuple[Codes, Codes]:
    """Return in both files one code for every pair of codes of two columns."""
    width = 2 + max(int(codes.max(initial=-1)) for codes in second_column)
    first, second = (
        (first_codes + 1) * width + second_codes + 1
        for first_codes, second_codes in zip(first_column, second_column, strict=True)
    )
    return first, second


def _distance(original: Codes, synthetic: Codes) -> float:
    """Return the total variation distance between the shares of codes."""
    codes = np.concatenate([original, synthetic]) + 1
    if codes.max() > len(codes):
        _, codes = np.unique(codes, return_inverse=True)
    first, second = codes[: len(original)], codes[len(original) :]
    width = int(codes.max()) + 1
    shares = [np.bincount(codes_of_file, minlength=width) / len(codes_of_file) for codes_of_file in (first, second)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
