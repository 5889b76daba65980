"""Public columns: the cells of each column, declared before the data are read, and the encoding of values as cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import whole
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import Interval, Meaning, Missing, Table, Value, Values, ValueType

Codes = NDArray[np.int64]
MOST_CELLS_OF_A_COLUMN = 100_000
_NUMBERS = (ValueType.INTEGER, ValueType.UNSIGNED, ValueType.REAL)


@dataclass(frozen=True)
class PublicColumn:
    """A column as a list of ``cells``: single values, sets of values (hierarchy nodes), ranges of numbers, and optionally the missing value.

    Ranges are contiguous; numbers below the first or above the last are counted in these (clamped), so that one record changes one cell whatever its value.
    A value that belongs to no listed cell raises :class:`DataError`, which only the steward sees.
    """

    name: str
    kind: ValueType
    cells: tuple[Meaning, ...]

    def __post_init__(self) -> None:
        if not self.cells or len(self.cells) > MOST_CELLS_OF_A_COLUMN:
            raise PolicyError(
                f"domain[{self.name!r}] has {len(self.cells):,} cells; there must be between 1 and {MOST_CELLS_OF_A_COLUMN:,}. Use fewer bins, or a level of a hierarchy."
            )
        if self._ranges and any(lower.high != upper.low for lower, upper in pairwise(self._ranges)):
            raise PolicyError(f"domain[{self.name!r}]: ranges must follow one another without gaps.")
        if self._ranges and len(self._ranges) + (self._missing is not None) < len(self.cells):
            raise PolicyError(f"domain[{self.name!r}] mixes ranges of numbers with single values.")

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.cells)

    @cached_property
    def _ranges(self) -> tuple[Interval, ...]:
        return tuple(cell for cell in self.cells if isinstance(cell, Interval))

    @cached_property
    def _missing(self) -> int | None:
        return next((code for code, cell in enumerate(self.cells) if isinstance(cell, Missing)), None)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of each cell."""
        return tuple(cell.label(self.kind) or cell.words() for cell in self.cells)

    @cached_property
    def _leaves(self) -> pl.DataFrame:
        """Every listed value with the code of its cell."""
        listed = [(value, code) for code, cell in enumerate(self.cells) for value in (cell.listed(self.kind) or [])]
        values = pl.Series("value", [value for value, _ in listed], self.kind.dtype, strict=False)
        return pl.DataFrame({"value": values, "code": [code for _, code in listed]})

    def with_missing(self) -> PublicColumn:
        """The same column with a cell for missing values."""
        return self if self._missing is not None else replace(self, cells=(*self.cells, Missing()))

    def encode(self, series: pl.Series) -> Codes:
        """The cell of every value."""
        values = series.fill_nan(None) if series.dtype.is_float() else series
        codes = self._range_codes(values) if self._ranges else self._listed_codes(values)
        has_no_cell = codes.is_null().to_numpy()
        if has_no_cell.any():
            row = int(np.argmax(has_no_cell))
            raise DataError(
                f"Column {self.name!r}, row {row + 1}: the value {series[row]!r} is in none of the {self.size} declared cells. Declare a cell for it only if it is public knowledge "
                "that it may occur; never because it occurs in the data.",
                column=self.name,
            )
        return codes.to_numpy().astype(np.int64)

    def _range_codes(self, numbers: pl.Series) -> pl.Series:
        """Return the cell of every number; those outside the ranges belong to the first or the last one."""
        if not numbers.dtype.is_numeric() and numbers.dtype != pl.Null:
            raise DataError(
                f"Column {self.name!r} has type {numbers.dtype}, but its cells are ranges of numbers.", column=self.name
            )
        inner_bounds = np.array([float(interval.low) for interval in self._ranges[1:]])
        range_index = np.searchsorted(inner_bounds, numbers.cast(pl.Float64).fill_null(0.0).to_numpy(), side="right")
        # The cell of missing values may precede the ranges.
        first = next(code for code, cell in enumerate(self.cells) if isinstance(cell, Interval))
        codes = pl.Series(range_index + first, dtype=pl.Int64)
        return _where_null(numbers, codes, self._missing)

    def _listed_codes(self, series: pl.Series) -> pl.Series:
        """Return the cell of every value; null for one that is not listed."""
        try:
            values = self.kind.column(series).alias("value")
        except pl.exceptions.PolarsError:
            raise DataError(
                f"Column {self.name!r} has type {series.dtype}, but its cells hold values of kind {self.kind.value}.",
                column=self.name,
            ) from None
        codes = values.to_frame().join(self._leaves, on="value", how="left", maintain_order="left")["code"]
        return _where_null(series, codes, self._missing)

    def decode(self, codes: Codes, source: np.random.Generator) -> pl.Series:
        """Values of the column's own type, sampled uniformly from the range or set of each cell."""
        if not self._ranges:
            starts, counts, leaves = self._leaves_by_cell
            values = leaves.gather(starts[codes] + (source.random(len(codes)) * counts[codes]).astype(np.int64))
            return _without(values, codes == self._missing).alias(self.name)
        lows, highs = self._ends
        shares = source.random(len(codes))
        drawn = lows[codes] + shares * (highs[codes] - lows[codes])
        numbers = np.floor(drawn).astype(np.int64) if self.kind.is_whole else drawn
        return _without(pl.Series(numbers, dtype=self.kind.dtype), codes == self._missing).alias(self.name)

    @cached_property
    def _leaves_by_cell(self) -> tuple[NDArray[np.int64], NDArray[np.int64], pl.Series]:
        """The listed values in order of their cells, with the start and the number (at least 1) of each cell's."""
        counts = np.bincount(self._leaves["code"].to_numpy(), minlength=self.size)
        at_least_one = np.maximum(counts, 1)
        starts = np.minimum(np.cumsum(counts) - counts, max(self._leaves.height - 1, 0))
        return starts, at_least_one, self._leaves["value"]

    @cached_property
    def _ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lower and upper ends of each cell's values; a closed end of integers is one of the values."""
        lows, highs = np.zeros(self.size), np.ones(self.size)
        for code, cell in enumerate(self.cells):
            if isinstance(cell, Interval):
                lows[code] = float(cell.low)
                highs[code] = float(cell.high) + (1.0 if self.kind.is_whole and cell.closed == "both" else 0.0)
        return lows, highs

    def as_json(self) -> dict[str, Any]:
        """The column as plain data."""
        return {"type": self.kind.value, "cells": [cell.as_json() for cell in self.cells]}

    @classmethod
    def from_json(cls, name: str, written: Mapping[str, Any]) -> PublicColumn:
        """The column that :meth:`as_json` wrote."""
        kind = ValueType(written["type"])
        where = f"domain[{name!r}]"
        return cls(name, kind, tuple(Meaning.read(cell, kind, where) for cell in written["cells"]))


@dataclass(frozen=True)
class NoisyCuts:
    """A numeric column whose ``bins`` are split at noisy quantiles between two public ends; until then it is counted on a fine public grid."""

    grid: PublicColumn
    bins: int

    def cut(self, counts: NDArray[np.float64]) -> PublicColumn:
        """The column with bins of about equal numbers of records, from noisy counts of the grid."""
        rows_before = np.concatenate([[0.0], np.cumsum(np.clip(counts, 0.0, None))])
        targets = rows_before[-1] * np.arange(1, self.bins) / self.bins
        inner = np.unique(np.searchsorted(rows_before[1:-1], targets, side="left") + 1)
        edges = [self.grid.cells[0], *(self.grid.cells[int(code)] for code in inner[inner < self.grid.size])]
        lows = [edge.low for edge in edges if isinstance(edge, Interval)]
        last = self.grid.cells[-1]
        assert isinstance(last, Interval)
        return PublicColumn(self.grid.name, self.grid.kind, ranges((*lows, last.high)))


def ranges(cuts: Sequence[Any]) -> tuple[Meaning, ...]:
    """The ranges between increasing ``cuts``; the last one includes its upper end."""
    last = len(cuts) - 2
    return tuple(
        Interval(low, high, "both" if index == last else "left") for index, (low, high) in enumerate(pairwise(cuts))
    )


def declared_columns(table: Table, declared: Mapping[str, Any] | None) -> tuple[PublicColumn | NoisyCuts, ...]:
    """The columns that a method's ``domain`` declares; without one those of all quasi and sensitive columns, by the leaves of their declared hierarchies.

    An entry is a list of values, a range, ``{"from": 17, "to": 90, "step": 1}``, ``{"cuts": [0, 20, 40, 90]}``, ``{"low": 0, "high": 90, "bins": 9}``, the same with ``"cuts": "noisy"``, or
    ``{"level": 1}`` of the column's hierarchy. Nothing is inferred from the data. If the table treats missing values as a category, every column gets a cell for them.
    """
    published = (*table.quasi, *table.sensitive, *table.declared)
    if declared is None:
        declared = {name: {"level": 0} for name in published}
    if not isinstance(declared, Mapping) or not declared:
        raise PolicyError("domain must map every column to its values or bins, and name at least one.")
    for name in declared:
        if name not in published:
            raise PolicyError(
                f"domain names the column {name!r}, which the table does not publish: only quasi, sensitive and declared columns can be published.{did_you_mean(str(name), published)}",
                setting=("domain",),
            )
    columns = [_column(table, str(name), entry) for name, entry in declared.items()]
    if table.nulls != "category":
        return tuple(columns)
    return tuple(column.with_missing() if isinstance(column, PublicColumn) else column for column in columns)


def _column(table: Table, name: str, entry: Any) -> PublicColumn | NoisyCuts:
    """Return the cells of a column as they are declared: a level, cuts, bins or listed values."""
    kind = ValueType.of(table.schema[name], name)
    if isinstance(entry, Mapping) and "level" in entry:
        return _level(table, name, kind, entry)
    if isinstance(entry, Mapping) and set(entry) == {"cuts"}:
        return PublicColumn(name, _number(kind, name), ranges(_increasing(name, entry["cuts"])))
    if isinstance(entry, Mapping) and {"bins", "low", "high"} & set(entry):
        return _bins(name, _number(kind, name), entry)
    values = _listed(name, entry)
    cells: list[Meaning] = [Missing() if value is None else Value(value) for value in values.to_list()]
    return PublicColumn(name, ValueType.of(values.dtype, name), tuple(cells))


def _listed(name: str, entry: Any) -> pl.Series:
    """The values of an entry that lists them, or that gives a range of integers."""
    if isinstance(entry, Mapping):
        ends = [entry.get(end, 1 if end == "step" else None) for end in ("from", "to", "step")]
        if set(entry) - {"from", "to", "step"} or not all(type(end) is int for end in ends) or ends[2] < 1:
            raise PolicyError(
                f"domain[{name!r}] must be a list of values, {{'from': .., 'to': .., 'step': ..}} of whole numbers, cuts, bins or a level, but it is {dict(entry)!r}.",
                setting=("domain",),
            )
        entry = range(ends[0], ends[1] + 1, ends[2])
    if isinstance(entry, str) or not isinstance(entry, Sequence) or not 0 < len(entry) <= MOST_CELLS_OF_A_COLUMN:
        raise PolicyError(
            f"domain[{name!r}] must list between 1 and {MOST_CELLS_OF_A_COLUMN:,} values, but it is {entry!r}.",
            setting=("domain",),
        )
    try:
        values = pl.Series(name, list(entry), strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        raise PolicyError(f"domain[{name!r}]: its values must be of one kind.", setting=("domain",)) from None
    if values.n_unique() < len(values):
        raise PolicyError(f"domain[{name!r}] lists a value more than once.", setting=("domain",))
    return values


def _number(kind: ValueType, name: str) -> ValueType:
    if kind not in _NUMBERS:
        raise PolicyError(f"domain[{name!r}]: cuts and bins are for numbers, and the column holds {kind.value}.")
    return kind


def _increasing(name: str, cuts: Any) -> list[Any]:
    """Return a list of increasing numbers. Raises for anything else."""
    if (
        not isinstance(cuts, Sequence)
        or len(cuts) < 2
        or not all(isinstance(cut, int | float) and not isinstance(cut, bool) for cut in cuts)
        or any(lower >= upper for lower, upper in pairwise(cuts))
    ):
        raise PolicyError(f"domain[{name!r}]: cuts must be at least two increasing numbers, but they are {cuts!r}.")
    return list(cuts)


def _bins(name: str, kind: ValueType, entry: Mapping[str, Any]) -> PublicColumn | NoisyCuts:
    """Return bins of equal width, or fine ones to be cut at noisy quantiles."""
    if set(entry) - {"low", "high", "bins", "cuts"} or not {"low", "high", "bins"} <= set(entry):
        raise PolicyError(
            f"domain[{name!r}] must be written as {{'low': .., 'high': .., 'bins': ..}}, perhaps with 'cuts': 'noisy', but it is {dict(entry)!r}."
        )
    bins = whole(entry["bins"], f"domain[{name!r}]: bins", low=1, high=MOST_CELLS_OF_A_COLUMN)
    _increasing(name, [entry["low"], entry["high"]])
    if entry.get("cuts") is None:
        return PublicColumn(name, kind, ranges(_even(entry["low"], entry["high"], bins, kind)))
    if entry["cuts"] != "noisy":
        raise PolicyError(f"domain[{name!r}]: cuts beside bins must be 'noisy', but they are {entry['cuts']!r}.")
    fine = _even(entry["low"], entry["high"], min(16 * bins, MOST_CELLS_OF_A_COLUMN), kind)
    return NoisyCuts(PublicColumn(name, kind, ranges(fine)), bins)


def _even(low: float, high: float, bins: int, kind: ValueType) -> list[Any]:
    """The ends of ``bins`` ranges of equal width; for integers at most one range per value."""
    edges = [low + (high - low) * number / bins for number in range(bins + 1)]
    if not kind.is_whole:
        return edges
    return sorted({round(edge) for edge in edges})


def _level(table: Table, name: str, kind: ValueType, entry: Mapping[str, Any]) -> PublicColumn:
    """Return the categories of a level of the column's hierarchy as cells. Raises if the hierarchy was made from the data."""
    hierarchy = next((hierarchy for hierarchy in table.hierarchies if hierarchy.column == name), None)
    if hierarchy is None or hierarchy.data_dependent:
        raise PolicyError(
            f"The values of column {name!r} are known from the data only. Declare them: domain={{{name!r}: [...]}}, cuts of a number, or a hierarchy with declared leaves.",
            setting=("domain",),
        )
    level = whole(entry["level"], f"domain[{name!r}]: level", low=0, high=hierarchy.height)
    parts, leaves = hierarchy.levels[level].parts, hierarchy.leaves.to_list()
    members: list[list[Any]] = [[] for _ in range(hierarchy.levels[level].size)]
    for leaf, part in zip(leaves, parts.tolist(), strict=True):
        members[part].append(leaf)
    cells = [_cell(name, values) for values in members if values]
    return PublicColumn(name, kind, tuple(cells))


def _cell(name: str, values: list[Any]) -> Meaning:
    """Return the meaning of a cell with these values."""
    if values == [None]:
        return Missing()
    if None in values:
        raise PolicyError(
            f"domain[{name!r}]: at this level missing values share a cell with others. Use a lower level."
        )
    return Value(values[0]) if len(values) == 1 else Values(tuple(values))


def cell_labels(columns: Sequence[PublicColumn]) -> list[str]:
    """The label of every cell of some columns together, the last column varying fastest."""
    joined = pl.Series("cell", [""])
    for index, column in enumerate(columns):
        labels = pl.Series("label", [f"{', ' if index else ''}{column.name} = {label}" for label in column.labels])
        so_far = joined.gather(np.repeat(np.arange(len(joined)), len(labels)))
        next_labels = labels.gather(np.tile(np.arange(len(labels)), len(joined)))
        joined = so_far + next_labels
    return joined.to_list()


def combinations_of(sizes: Sequence[int]) -> NDArray[np.int64]:
    """All combinations of codes below the ``sizes``, one per row, the last column varying fastest."""
    grid = np.indices(tuple(sizes), dtype=np.int64)
    return grid.reshape(len(sizes), -1).T


def _where_null(values: pl.Series, codes: pl.Series, missing: int | None) -> pl.Series:
    """The ``codes``, with the code ``missing`` for missing values; null if there is no cell for them."""
    frame = pl.DataFrame({"code": codes.cast(pl.Int64), "null": values.is_null()})
    return frame.select(pl.when("null").then(pl.lit(missing, pl.Int64)).otherwise("code").alias("code"))["code"]


def _without(values: pl.Series, missing: NDArray[np.bool_]) -> pl.Series:
    """Return values with nulls where ``missing`` is set."""
    if not np.any(missing):
        return values
    frame = pl.DataFrame({"value": values, "null": missing})
    return frame.select(pl.when("null").then(None).otherwise("value").alias("value"))["value"]
