"""A public grid: every published column is split into cells that are declared independently of the data.

Nothing in a grid may be derived from the rows: neither ranges, nor values, nor resolution. So quantiles and boxes
shrunk to the rows are not possible here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import exact, whole
from reticent.core import cover
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import (
    NULL_LABEL,
    SUPPRESSED,
    Anything,
    Interval,
    Meaning,
    Missing,
    OrMissing,
    Table,
    Value,
    Values,
    ValueType,
    unused,
)

Cells = NDArray[np.int64]

MOST_CELLS_OF_A_COLUMN = 10_000
_MOST_CELLS = 2**62
_FORMS = (
    "a list of values, {'from': 0, 'to': 100, 'step': 10}, {'breaks': [0, 18, 65, 120]} or a level of the column's declared hierarchy such as 2; "
    "'open': true adds a cell below and one above, 'missing': true one for missing values"
)
_KEYS = ({"values"}, {"from", "to", "step"}, {"breaks"})


@dataclass(frozen=True)
class GridAxis:
    """A column split into ordered cells: their labels, and the values of type ``kind`` that each covers."""

    name: str
    kind: ValueType
    labels: tuple[str, ...]
    meanings: tuple[Meaning, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.labels) <= MOST_CELLS_OF_A_COLUMN:
            raise PolicyError(
                f"grid: column {self.name!r} has {len(self.labels):,} cells; 1 to {MOST_CELLS_OF_A_COLUMN:,} are allowed. Use coarser ones.",
                setting=("grid", self.name),
                column=self.name,
            )
        if len(set(self.labels)) < len(self.labels) or len(self.labels) != len(self.meanings):
            raise PolicyError(
                f"grid: column {self.name!r} has two cells with the same label. Every cell must be declared once.",
                setting=("grid", self.name),
                column=self.name,
            )

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.labels)

    def encode(self, values: pl.Series) -> Cells:
        """Return the cell of every value; a value outside the grid raises a :class:`DataError`."""
        distinct = values.unique()
        matches = cover(distinct, self.meanings, self.name)
        cell_of = matches.lookup()
        is_unmatched = (cell_of < 0) | ~matches.is_single
        if is_unmatched.any():
            value = distinct[int(np.argmax(is_unmatched))]
            raise DataError(
                f"Column {self.name!r}: the value {value!r} is in no cell of the declared grid, or in several. Declare a grid that covers every value that is publicly "
                "known to be possible ('open': true and 'missing': true add cells for the rest); never fit it to the data.",
                column=self.name,
                value=value,
            )
        cells_of_values = pl.DataFrame({"value": distinct, "cell": cell_of})
        joined = values.to_frame("value").join(
            cells_of_values, on="value", how="left", nulls_equal=True, maintain_order="left"
        )
        return joined["cell"].to_numpy().astype(np.int64)

    @cached_property
    def halves(self) -> dict[str, tuple[int, int]]:
        """For each label that repeated halving of the axis can produce, its half-open range of cells: the first, and the one after the last."""
        ranges: dict[str, tuple[int, int]] = {}
        waiting, labels = [(0, self.size)], set(self.labels)
        while waiting:
            low, high = waiting.pop()
            # Single cells keep their own labels.
            label = unused(self._joined(low, high)[0], labels) if high - low > 1 else self.labels[low]
            labels.add(label)
            ranges[label] = (low, high)
            if high - low > 1:
                waiting += [(low, middle(low, high)), (middle(low, high), high)]
        return ranges

    @cached_property
    def ranges(self) -> dict[tuple[int, int], str]:
        """The label of every range of cells that repeated halving can reach."""
        return {cells: label for label, cells in self.halves.items()}

    def meaning_of(self, low: int, high: int) -> Meaning:
        """Return the joint meaning of the cells from ``low`` up to ``high``."""
        return self.meanings[low] if high - low == 1 else self._joined(low, high)[1]

    def _joined(self, low: int, high: int) -> tuple[str, Meaning]:
        """Return the label and the meaning of the merged cells of the half-open range ``low``..``high``."""
        parts = list(self.meanings[low:high])
        missing = any(isinstance(meaning, Missing) for meaning in parts)
        ranges = [meaning for meaning in parts if not isinstance(meaning, Missing)]
        if all(isinstance(meaning, Interval) for meaning in ranges):
            first, last = ranges[0], ranges[-1]
            assert isinstance(first, Interval)
            assert isinstance(last, Interval)
            if first.low is None and last.high is None:
                return SUPPRESSED, Anything()
            joined: Meaning = Interval(first.low, last.high, last.closed)
            text = Interval(first.low, last.high, last.closed).text
            if missing:
                joined = OrMissing(Interval(first.low, last.high, last.closed))
                text = f"{text} or missing"
            return text, joined
        values = [value for meaning in parts for value in meaning.listed(self.kind) or ()]
        label = SUPPRESSED if high - low == self.size else f"{self.labels[low]} .. {self.labels[high - 1]}"
        return label, Values(tuple(values))

    def as_json(self) -> dict[str, Any]:
        """The axis as plain data."""
        cells = [
            {"label": label, **meaning.as_json()} for label, meaning in zip(self.labels, self.meanings, strict=True)
        ]
        return {"name": self.name, "type": str(self.kind), "cells": cells}

    @classmethod
    def from_json(cls, payload: Mapping[str, Any]) -> GridAxis:
        """The axis that :meth:`as_json` wrote."""
        kind, cells = ValueType(payload["type"]), [dict(cell) for cell in payload["cells"]]
        labels = tuple(str(cell.pop("label")) for cell in cells)
        meanings = tuple(Meaning.read(cell, kind, "A cell of the grid") for cell in cells)
        for cell in meanings:
            if not isinstance(cell, Value | Values | Interval | Missing):
                raise PolicyError(f"A cell of a grid is a value, several values or a range, not {cell.words()!r}.")
        return cls(payload["name"], kind, labels, meanings)


def middle(low: int, high: int) -> int:
    """Return where a range of cells is halved: by number, independent of the rows."""
    return (low + high) // 2


@dataclass(frozen=True)
class Grid:
    """The product of all axes: a *cell* of it is a cell of each axis."""

    axes: tuple[GridAxis, ...]

    def __post_init__(self) -> None:
        if not self.axes:
            raise PolicyError("grid is empty: list every column to publish.", setting=("grid",))
        if self.size > _MOST_CELLS:
            raise PolicyError(
                f"The grid has about {float(self.size):.2g} cells, which is too many. Use fewer columns, or coarser ones.",
                setting=("grid",),
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(axis.name for axis in self.axes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """Total number of cells."""
        return math.prod(self.sizes)

    @property
    def deepest(self) -> int:
        """Number of halvings after which every cell is separate."""
        return sum((size - 1).bit_length() for size in self.sizes)

    def axis(self, name: str) -> GridAxis:
        """The axis of a column."""
        return next(axis for axis in self.axes if axis.name == name)

    def without(self, name: str | None) -> Grid:
        """Return the grid of the other columns."""
        return Grid(tuple(axis for axis in self.axes if axis.name != name))

    def encode(self, frame: pl.DataFrame) -> Cells:
        """Return the cells of all rows: one row per row, one column per axis."""
        for name in self.names:
            if name not in frame.columns:
                raise DataError(
                    f"The data have no column {name!r}, which the grid has.{did_you_mean(name, frame.columns)}"
                )
        return np.column_stack([axis.encode(frame[axis.name]) for axis in self.axes])

    def pack(self, cells: Cells) -> Cells:
        """Return one integer per cell, in row-major order."""
        packed = np.zeros(len(cells), dtype=np.int64)
        for column, axis in enumerate(self.axes):
            packed = packed * axis.size + cells[:, column]
        return packed

    def unpack(self, packed: Cells) -> Cells:
        """Return the cells that :meth:`pack` encoded as integers: one row per cell, one column per axis."""
        columns, remaining = [], packed
        for axis in reversed(self.axes):
            remaining, cell = np.divmod(remaining, axis.size)
            columns.append(cell)
        return np.column_stack(columns[::-1])

    def in_order_of(self, names: Sequence[str]) -> Grid:
        """Return the grid with the columns in another order."""
        return Grid(tuple(self.axis(name) for name in names))

    def as_json(self) -> list[dict[str, Any]]:
        """The grid as plain data."""
        return [axis.as_json() for axis in self.axes]

    @classmethod
    def from_json(cls, written: Sequence[Mapping[str, Any]]) -> Grid:
        """The grid that :meth:`as_json` wrote."""
        grid = cls(tuple(GridAxis.from_json(axis) for axis in written))
        if len(set(grid.names)) < len(grid.names):
            raise PolicyError("The grid has a column twice.")
        return grid


def check_grid(grid: object, owner: str) -> None:
    """Refuse an invalid grid before a table is given: it must map columns to cells, or be absent."""
    if grid is None:
        return
    if not isinstance(grid, Mapping) or not grid or not all(isinstance(name, str) for name in grid):
        raise PolicyError(
            f"{owner}: grid must map every published column to its cells, each {_FORMS}; but it is {grid!r}.",
            setting=(owner, "grid"),
            value=grid,
        )
    for name, declared in grid.items():
        _check_form(name, declared)


def declared_grid(table: Table, declared: Mapping[str, Any]) -> Grid:
    """Return the grid over the columns of a table; a column that the table does not publish is refused."""
    for name in declared:
        if name not in (*table.quasi, *table.sensitive, *table.declared):
            raise PolicyError(
                f"grid: the table does not publish a column {name!r}: only quasi, sensitive and declared columns can be published."
                f"{did_you_mean(name, [*table.quasi, *table.sensitive, *table.declared])}",
                setting=("grid", name),
                column=name,
            )
    return Grid(tuple(_axis(table, name, cells) for name, cells in declared.items()))


def _check_form(name: str, declared: object) -> None:
    """Refuse a declaration of cells that is not a level, a list of values, breaks or steps."""
    if isinstance(declared, int) and not isinstance(declared, bool) and declared >= 0:
        return
    if isinstance(declared, list | tuple | pl.Series | range) and len(declared):
        return
    if isinstance(declared, Mapping) and set(declared) - {"open", "missing"} in _KEYS:
        for flag in ("open", "missing"):
            if not isinstance(declared.get(flag, False), bool):
                raise PolicyError(f"grid: {name}: {flag} must be true or false, but it is {declared[flag]!r}.", setting=("grid", name))  # fmt: skip
        return
    raise PolicyError(f"grid: {name} must be {_FORMS}; but it is {declared!r}.", setting=("grid", name), value=declared)


def _axis(table: Table, name: str, declared: Any) -> GridAxis:
    """Return the axis of a column as it is declared: a level of its hierarchy, steps, breaks or listed values."""
    _check_form(name, declared)
    kind = ValueType.of(table.schema[name], name)
    if isinstance(declared, int):
        return _level(table, name, kind, declared)
    options: dict[str, Any] = dict(declared) if isinstance(declared, Mapping) else {"values": list(declared)}
    missing, is_open = options.pop("missing", False), options.pop("open", False)
    try:
        if "values" in options:
            labels, meanings = _values(name, kind, options["values"], is_open)
        else:
            breaks = _steps(name, options) if "from" in options else options["breaks"]
            labels, meanings = _between(name, kind, breaks, is_open)
    except DataError as problem:
        raise PolicyError(f"grid: {name}: {problem}", setting=("grid", name), column=name) from None
    if missing:
        labels, meanings = (*labels, unused(NULL_LABEL, labels)), (*meanings, Missing())
    return GridAxis(name, kind, labels, meanings)


def _level(table: Table, name: str, kind: ValueType, number: int) -> GridAxis:
    """Return the nodes of a level of a column's hierarchy, which must be declared."""
    hierarchy = next((meaning for meaning in table.hierarchies if meaning.column == name), None)
    if hierarchy is None or hierarchy.data_dependent:
        raise PolicyError(
            f"grid: the values of column {name!r} are known only from the data, so a level of its hierarchy is not public. Declare the hierarchy's domain, "
            "or list the cells in the grid.",
            setting=("grid", name),
            column=name,
        )
    whole(number, f"grid: {name}", low=0, high=hierarchy.height)
    level = hierarchy.levels[number]
    # Whether values are missing depends on the data: a node of missing values is not among the declared ones.
    order = [part for part in range(level.size) if not isinstance(level.meanings[part], Missing)]
    meanings = [level.meanings[part] for part in order]
    has_plain_meanings = all(isinstance(meaning, Interval) for meaning in meanings) or all(
        isinstance(part_values, Value | Values) for part_values in meanings
    )
    if not has_plain_meanings:
        # Prefixes, recurring days and the like are listed by their values, from which halves can be merged.
        leaves = hierarchy.leaves.to_list()
        values_of_parts = [[leaves[leaf] for leaf in np.flatnonzero(level.parts == part).tolist()] for part in order]
        meanings = [
            Values(tuple(value for value in values_of_part if value is not None)) for values_of_part in values_of_parts
        ]
    return GridAxis(name, kind, tuple(level.labels[part] for part in order), tuple(meanings))


def _values(name: str, kind: ValueType, values: Any, is_open: bool) -> tuple[tuple[str, ...], tuple[Meaning, ...]]:
    """Return the labels and meanings of listed values."""
    if is_open or not isinstance(values, list | tuple):
        raise PolicyError(
            f"grid: {name}: listed values must be a list, and cannot be 'open'.",
            setting=("grid", name),
        )
    converted = [None if value is None else kind.converted(value) for value in values]
    meanings = tuple(Missing() if value is None else Value(value) for value in converted)
    texts = kind.texts(converted)
    texts_known = tuple(text for text in texts if text is not None)
    return tuple(unused(NULL_LABEL, texts_known) if text is None else text for text in texts), meanings


def _steps(name: str, chosen: Mapping[str, Any]) -> list[Any]:
    """Return breaks at equal steps, both ends included."""
    low, high, step = (exact(chosen[key], f"grid: {name}: {key}") for key in ("from", "to", "step"))
    if step <= 0 or high <= low:
        raise PolicyError(
            f"grid: {name} goes from {low} to {high} by {step}, which gives no cell.", setting=("grid", name)
        )
    count = math.ceil((high - low) / step)
    if count > MOST_CELLS_OF_A_COLUMN:
        raise PolicyError(
            f"grid: {name} has {count:,} cells; at most {MOST_CELLS_OF_A_COLUMN:,} are possible. Use a longer step.",
            setting=("grid", name),
        )
    ends = [*(low + number * step for number in range(count)), high]
    return [int(end) if end.denominator == 1 else float(end) for end in ends]


def _between(name: str, kind: ValueType, breaks: Any, is_open: bool) -> tuple[tuple[str, ...], tuple[Meaning, ...]]:
    """Return the ranges between breaks: each includes its lower end, the last one both, so that the maximum is covered."""
    if kind in (ValueType.TEXT, ValueType.BOOLEAN):
        raise PolicyError(
            f"grid: column {name!r} does not hold numbers or dates, so it cannot have ranges. List its values.",
            setting=("grid", name),
            column=name,
        )
    if not isinstance(breaks, list | tuple) or len(breaks) < 2:
        raise PolicyError(f"grid: {name}: breaks must be a list of at least two numbers or dates, but it is {breaks!r}.", setting=("grid", name))  # fmt: skip
    converted = [kind.read(end) if isinstance(end, str) else end for end in breaks]
    try:
        coordinates = [kind.place(end) for end in converted]
    except (AttributeError, TypeError, ValueError, PolicyError):
        raise PolicyError(
            f"grid: {name}: breaks must be of type {kind}, such as those of the column, but they are {breaks!r}.",
            setting=("grid", name),
            column=name,
        ) from None
    if any(not low < high for low, high in pairwise(coordinates)):
        raise PolicyError(f"grid: {name}: breaks must be increasing, but they are {breaks!r}.", setting=("grid", name))
    ranges = [Interval(low, high) for low, high in pairwise(converted)]
    if is_open:
        ranges = [Interval(None, converted[0]), *ranges, Interval(converted[-1], None)]
    else:
        ranges[-1] = Interval(converted[-2], converted[-1], "both")
    return tuple(interval.text for interval in ranges), tuple(ranges)
