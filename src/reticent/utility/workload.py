"""The error of counting queries on a release.

A query counts the rows in a range of each of some quasi columns; ranges are runs of leaves in hierarchy order.
Workloads are sampled with a seed, can be stored, and are evaluated on the original table and on the release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.conditions import Column, Condition, Text
from reticent.core import FrequencySet
from reticent.errors import DataError, PolicyError
from reticent.table import BoundHierarchy
from reticent.utility.summary import ReleaseSummary

Estimator = Literal["uniform", "intersect"]


@dataclass(frozen=True)
class Workload:
    """Queries over columns with ``leaves``: query ``i`` selects the leaves ``lows[i, j]`` to ``highs[i, j]`` of column
    ``j``, inclusive.

    ``asked[i, j]`` is True if the query constrains the column. ``dimensions`` and ``selectivity`` are the generator's
    parameters.
    """

    columns: tuple[str, ...]
    leaves: tuple[int, ...]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    asked: NDArray[np.bool_]
    seed: int
    dimensions: int
    selectivity: str

    def __post_init__(self) -> None:
        """Raise an error if the arrays do not match the columns, or a range is empty or outside its column."""
        if not self.lows.shape == self.highs.shape == self.asked.shape == (len(self.lows), len(self.columns)):
            raise DataError(
                f"A workload over {len(self.columns)} columns needs bounds of that shape, not {self.lows.shape}."
            )
        if (self.lows < 0).any() or (self.highs >= np.array(self.leaves)).any() or (self.lows > self.highs).any():
            raise DataError("A workload has a range that is empty or outside the leaves of its column.")

    def __len__(self) -> int:
        return len(self.lows)

    @classmethod
    def drawn(
        cls,
        hierarchies: Sequence[BoundHierarchy],
        queries: int = 1000,
        dimensions: int = 2,
        selectivity: Number = "0.05",
        seed: int = 0,
    ) -> Workload:
        """Sample queries that constrain ``dimensions`` columns each and aim at a share ``selectivity`` of the rows.

        Every range covers about ``selectivity ^ (1 / dimensions)`` of its column's leaves and starts uniformly at
        random. The actual selectivity depends on the data and is measured at evaluation.
        """
        sizes = np.array([hierarchy.size for hierarchy in hierarchies], dtype=np.int64)
        aim = exact(selectivity, "selectivity", above=0, high=1)
        whole(queries, "queries", low=1)
        if whole(dimensions, "dimensions", low=1) > len(sizes):
            raise PolicyError(f"dimensions is {dimensions}, but there are only {len(sizes)} quasi columns.")
        random = np.random.default_rng(seed)
        shape = (queries, len(sizes))
        ranks = np.argsort(random.random(shape), axis=1).argsort(axis=1)
        constrained = ranks < dimensions
        lengths = np.clip(np.rint(sizes * float(aim) ** (1 / dimensions)), 1, sizes).astype(np.int64)
        starts = (random.random(shape) * (sizes - lengths + 1)).astype(np.int64)
        lows = np.where(constrained, starts, 0)
        highs = np.where(constrained, starts + lengths - 1, sizes - 1)
        columns = tuple(hierarchy.column for hierarchy in hierarchies)
        return cls(columns, tuple(sizes.tolist()), lows, highs, constrained, seed, dimensions, str(aim))

    def describe(self) -> dict[str, Any]:
        """The workload as plain data, to be stored with its results."""
        return {
            "columns": list(self.columns),
            "leaves": list(self.leaves),
            "queries": [
                {self.columns[j]: [int(self.lows[i, j]), int(self.highs[i, j])] for j in np.flatnonzero(self.asked[i])}
                for i in range(len(self))
            ],
            "seed": self.seed,
            "dimensions": self.dimensions,
            "selectivity": self.selectivity,
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Workload:
        """Restore a workload from :meth:`describe`."""
        try:
            columns, leaves = tuple(stored["columns"]), tuple(stored["leaves"])
            queries = stored["queries"]
            shape = (len(queries), len(columns))
            lows = np.zeros(shape, dtype=np.int64)
            highs = np.tile(np.array(leaves, dtype=np.int64) - 1, (len(queries), 1))
            constrained = np.zeros(shape, dtype=bool)
            for i, query in enumerate(queries):
                for name, (low, high) in query.items():
                    j = columns.index(name)
                    lows[i, j], highs[i, j], constrained[i, j] = low, high, True
            return cls(
                columns, leaves, lows, highs, constrained, stored["seed"], stored["dimensions"], stored["selectivity"]
            )
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise DataError(f"A stored workload cannot be read: {error}.") from None

    def condition(self, query: int, hierarchies: Sequence[BoundHierarchy]) -> Condition:
        """Query number ``query`` in the condition language, to run on a release or a database."""
        conditions = []
        for j in np.flatnonzero(self.asked[query]).tolist():
            leaves = hierarchies[j].leaves[int(self.lows[query, j]) : int(self.highs[query, j]) + 1]
            conditions.append(_in_words(Column(self.columns[j]), leaves))
        return Condition.parse(" and ".join(f"({text})" for text in conditions))


@dataclass(frozen=True)
class WorkloadError:
    """The answers of a release to a workload, with the true ones.

    ``errors`` are ``|estimate - actual| / max(actual, floor)``: a query with fewer than ``floor`` rows is judged as if
    it had that many (a sanity bound). ``selectivity`` is the mean actual share of rows of the queries.
    """

    estimator: Estimator
    floor: float
    rows: int
    actual: NDArray[np.int64]
    estimates: NDArray[np.float64]

    @property
    def errors(self) -> NDArray[np.float64]:
        """The error of every query."""
        errors: NDArray[np.float64] = np.abs(self.estimates - self.actual) / np.maximum(self.actual, self.floor)
        return errors

    @property
    def mean(self) -> float:
        """The mean error."""
        return float(self.errors.mean())

    @property
    def median(self) -> float:
        """The median error."""
        return float(np.median(self.errors))

    def at_least(self, share: Number) -> WorkloadError | None:
        """The result for the queries that select at least a ``share`` of the rows; None if there is none."""
        frequent = self.actual >= float(exact(share, "share", low=0, high=1)) * self.rows
        if not frequent.any():
            return None
        return replace(self, actual=self.actual[frequent], estimates=self.estimates[frequent])

    @property
    def selectivity(self) -> float:
        """The mean share of the rows that a query selects, measured on the data."""
        return float(self.actual.mean()) / self.rows

    def describe(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "estimator": self.estimator,
            "floor": self.floor,
            "queries": len(self.actual),
            "mean": self.mean,
            "median": self.median,
            "selectivity": self.selectivity,
        }


def workload_error(
    frequencies: FrequencySet,
    summary: ReleaseSummary,
    workload: Workload,
    estimator: Estimator = "uniform",
    floor: Number = 1,
) -> WorkloadError:
    """Evaluate a workload on the table and on a release.

    ``uniform`` counts a row by the share of its region inside the query; ``intersect`` counts every row whose region
    meets the query, which never under-counts unless rows are suppressed.
    """
    if estimator not in ("uniform", "intersect"):
        raise PolicyError(f"estimator must be 'uniform' or 'intersect', but it is {estimator!r}.")
    limit = float(exact(floor, "floor", above=0))
    actual = actual_counts(frequencies, workload)
    estimates = np.array([_estimate(summary, query, estimator) for query in _queries(summary, workload)])
    return WorkloadError(estimator, limit, frequencies.rows, actual, estimates)


def actual_counts(frequencies: FrequencySet, workload: Workload) -> NDArray[np.int64]:
    """The number of rows of the table that each query selects."""
    if any(frequencies.levels):
        raise PolicyError("A workload needs the original values, but the frequency set begins at a coarser level.")
    _check_fit(tuple((h.column, h.size) for h in frequencies.hierarchies), workload)
    counts = np.empty(len(workload), dtype=np.int64)
    for i in range(len(workload)):
        inside: NDArray[np.bool_] | None = None
        for j in np.flatnonzero(workload.asked[i]):
            codes = frequencies.codes[j]
            matches = (codes >= workload.lows[i, j]) & (codes <= workload.highs[i, j])
            inside = matches if inside is None else inside & matches
        counts[i] = frequencies.rows if inside is None else frequencies.sizes[inside].sum()
    return counts


def log_ratio(value: float, baseline: float) -> float:
    """``ln(value / baseline)``, the scale on which releases are plotted against a baseline."""
    if not (value > 0 and baseline > 0):
        raise PolicyError(f"A logarithmic ratio needs positive figures, not {value} and {baseline}.")
    return math.log(value / baseline)


Query = list[tuple[int, int, int]]


def _queries(summary: ReleaseSummary, workload: Workload) -> Iterator[Query]:
    """Yield each query of a workload as (column index, first leaf, last leaf) for every column that it constrains."""
    _check_fit(tuple((cells.column, cells.leaves) for cells in summary.cells), workload)
    for i in range(len(workload)):
        yield [(int(j), int(workload.lows[i, j]), int(workload.highs[i, j])) for j in np.flatnonzero(workload.asked[i])]


def _estimate(summary: ReleaseSummary, query: Query, estimator: Estimator) -> float:
    """Return the estimated number of rows that a query selects. A block of rows counts with the product, over the constrained columns, of the share of its cell in the
    range (``intersect``: 1 if the cell meets the range).
    """
    overlap: NDArray[np.float64] | None = None
    for j, low, high in query:
        cells = summary.cells[j]
        inside = cells.inside(low, high)
        share = inside / np.maximum(cells.covered, 1) if estimator == "uniform" else (inside > 0).astype(np.float64)
        block_shares = share[cells.of_block]
        overlap = block_shares if overlap is None else overlap * block_shares
    return float(summary.blocks.sum()) if overlap is None else float(summary.blocks @ overlap)


def _check_fit(columns: tuple[tuple[str, int], ...], workload: Workload) -> None:
    """Raise an error unless the workload is over exactly these columns, given as (name, number of leaves)."""
    if columns != tuple(zip(workload.columns, workload.leaves, strict=True)):
        raise PolicyError("The workload was made for other columns, or for other leaves of them, than these.")


def _in_words(column: Column, leaves: pl.Series) -> str:
    """A run of leaves as a condition: its ends if the leaves are sorted numbers or dates, otherwise the list of them."""
    known = leaves.drop_nulls()
    conditions = []
    if len(known) and (known.dtype.is_numeric() or known.dtype == pl.Date) and known.is_sorted():
        low, high = (_constant(value) for value in (known[0], known[-1]))
        conditions.append(f"{column} between {low} and {high}")
    elif len(known):
        conditions.append(f"{column} in ({', '.join(_constant(value) for value in known.to_list())})")
    if leaves.null_count():
        conditions.append(f"{column} is null")
    return " or ".join(conditions)


def _constant(value: Any) -> str:
    """A value as a constant of the condition language."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else str(Text(str(value)))
