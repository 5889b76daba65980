"""Measures of utility row by row, in plain Python, from the definitions; shares nothing with ``reticent.utility``.

A release is a list of rows. Each row has its original values, its sensitive value, and for every quasi column the set of
leaves that its published cell stands for, or ``None`` when the row is suppressed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

Value = Any


@dataclass
class Row:
    """One original row and what was published for it."""

    values: tuple[Value, ...]
    sensitive: Value
    cells: tuple[frozenset[Value], ...] | None


@dataclass
class ReleasedTable:
    """All rows, the leaves of every quasi column, and which columns are numbers (``None`` is the missing value)."""

    rows: list[Row]
    leaves: list[list[Value]]
    numeric: list[bool]

    def cell(self, row: Row, column: int) -> frozenset[Value]:
        return frozenset(self.leaves[column]) if row.cells is None else row.cells[column]

    def block(self, row: Row) -> Any:
        return None if row.cells is None else row.cells


def loss(table: ReleasedTable, weights: Sequence[float]) -> float:
    return sum(w * x for w, x in zip(weights, column_losses(table), strict=True)) / sum(weights)


def column_losses(table: ReleasedTable) -> list[float]:
    found = []
    for column, leaves in enumerate(table.leaves):
        total = 0.0
        for row in table.rows:
            if row.cells is None:
                total += 1
            elif len(leaves) > 1:
                total += (len(row.cells[column]) - 1) / (len(leaves) - 1)
        found.append(total / len(table.rows))
    return found


def loss_geometric(table: ReleasedTable, weights: Sequence[float]) -> float:
    result = 1.0
    for weight, x in zip(weights, column_losses(table), strict=True):
        result *= (x + 1) ** (weight / sum(weights))
    return result - 1


def discernibility(table: ReleasedTable) -> int:
    total = 0
    for row in table.rows:
        if row.cells is None:
            total += len(table.rows)
        else:
            total += sum(1 for other in table.rows if other.cells == row.cells)
    return total


def average_group_size(table: ReleasedTable) -> float:
    return len(table.rows) / len({table.block(row) for row in table.rows})


def non_uniform_entropy(table: ReleasedTable, weights: Sequence[float]) -> float:
    total = 0.0
    for row in table.rows:
        for column, weight in enumerate(weights):
            original = sum(1 for other in table.rows if other.values[column] == row.values[column])
            cell = table.cell(row, column)
            general = len(table.rows) if row.cells is None else sum(1 for o in table.rows if o.values[column] in cell)
            total += weight * math.log2(general / original)
    return total


def penalty(table: ReleasedTable, row: Row, column: int) -> float:
    if row.cells is None:
        return 1.0
    cell, leaves = row.cells[column], table.leaves[column]
    if len(cell) <= 1:
        return 0.0
    known = [leaf for leaf in leaves if leaf is not None]
    if table.numeric[column] and max(known) > min(known):
        inside = [leaf for leaf in cell if leaf is not None]
        return (max(inside) - min(inside)) / (max(known) - min(known))
    return len(cell) / len(leaves)


def cp(table: ReleasedTable, weights: Sequence[float]) -> float:
    return sum(weight * penalty(table, row, j) for row in table.rows for j, weight in enumerate(weights))


def ncp(table: ReleasedTable, weights: Sequence[float]) -> float:
    return cp(table, weights) / (len(table.rows) * sum(weights))


def kl(table: ReleasedTable, sensitive: bool = True) -> float:
    """Each original row judged by its own block."""
    rows = len(table.rows)

    def key(row: Row) -> Any:
        return (row.values, row.sensitive) if sensitive else row.values

    def block(row: Row) -> Any:
        return (table.block(row), row.sensitive) if sensitive else table.block(row)

    original, published = Counter(map(key, table.rows)), Counter(map(block, table.rows))
    total = 0.0
    for row in table.rows:
        volume = math.prod(len(table.cell(row, column)) for column in range(len(table.leaves)))
        total += math.log((original[key(row)] / rows) / (published[block(row)] / rows / volume))
    return total / rows


def kl_over_domain(table: ReleasedTable, values: Sequence[Value]) -> float:
    """The definition itself: a sum over the whole domain of quasi and sensitive values, for releases without suppression."""
    rows = len(table.rows)
    blocks = {row.cells for row in table.rows if row.cells is not None}
    original = Counter((row.values, row.sensitive) for row in table.rows)
    published = Counter((row.cells, row.sensitive) for row in table.rows)
    total, mass = 0.0, 0.0
    for point in product(*table.leaves):
        mine = [cells for cells in blocks if all(value in cell for value, cell in zip(point, cells, strict=True))]
        for value in values:
            release = sum(published[cells, value] / rows / math.prod(map(len, cells)) for cells in mine)
            mass += release
            share = original[point, value] / rows
            if share:
                total += share * math.log(share / release)
    assert abs(mass - 1) < 1e-9, "what the release says is no distribution"
    return total


def kl_mixture(table: ReleasedTable, sensitive: bool = True) -> float:
    """A row is explained by every block whose region covers it; suppressed rows by the whole domain."""
    rows, whole = len(table.rows), math.prod(map(len, table.leaves))

    def key(row: Row) -> Any:
        return (row.values, row.sensitive) if sensitive else row.values

    original = Counter(map(key, table.rows))
    total = 0.0
    for row in table.rows:
        release = 0.0
        for other in table.rows:
            if sensitive and other.sensitive != row.sensitive:
                continue
            if other.cells is None:
                release += 1 / rows / whole
            elif all(value in cell for value, cell in zip(row.values, other.cells, strict=True)):
                release += 1 / rows / math.prod(map(len, other.cells))
        total += math.log(original[key(row)] / rows / release)
    return total / rows


def kl_of_buckets(buckets: Sequence[Sequence[tuple[Any, Value]]]) -> float:
    """Exact quasi values, the sensitive value independent of them inside a bucket; every point lies in one bucket."""
    rows = sum(map(len, buckets))
    total = 0.0
    for bucket in buckets:
        joint = Counter(bucket)
        points, values = Counter(point for point, _ in bucket), Counter(value for _, value in bucket)
        for (point, value), count in joint.items():
            release = points[point] / rows * values[value] / len(bucket)
            total += count / rows * math.log((count / rows) / release)
    return total


def query_count(table: ReleasedTable, ranges: Mapping[int, frozenset[Value]]) -> int:
    """How many original rows a query has."""
    return sum(1 for row in table.rows if all(row.values[j] in wanted for j, wanted in ranges.items()))


def query_estimate(table: ReleasedTable, ranges: Mapping[int, frozenset[Value]], uniform: bool) -> float:
    """What the release answers: published rows by the share of their cells in the query, or all that meet it."""
    total = 0.0
    for row in table.rows:
        if row.cells is None:
            continue
        share = math.prod(len(row.cells[j] & wanted) / len(row.cells[j]) for j, wanted in ranges.items())
        total += share if uniform else float(share > 0)
    return total
