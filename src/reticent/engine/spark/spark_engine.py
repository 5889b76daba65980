"""The Spark engine: distinct rows are counted on the cluster, recodings are joined with the rows there, and executors write the public files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from reticent.base.context import Context
from reticent.core import (
    BUCKET,
    WEIGHT,
    FrequencySet,
    Histograms,
    NodeLevels,
    Order,
    OwnerTallies,
    Recoded,
    Recoding,
    Written,
    listed_columns,
)
from reticent.engine.local import LocalEngine
from reticent.engine.spark import output_files as writing
from reticent.engine.spark import spark_counts as counting
from reticent.engine.spark.maps import coded, shown
from reticent.engine.spark.session import session_from
from reticent.engine.spark.spark_rows import TIMES, SparkRows
from reticent.engine.spark.spark_sources import SparkSource, as_frame
from reticent.errors import PolicyError
from reticent.table import Change, Profile, Rows, Table, TableFile

_NO_ORDER = (
    "The rows of a table that is read by the engine 'spark' have no order and no row numbers, so {} cannot be determined row by row. Pass engine='local' if the table fits "
    "in memory."
)


class SparkEngine:
    """Counts and recodes a table on a cluster. The driver holds only distinct rows of the quasi and sensitive columns."""

    def __init__(self) -> None:
        self._local = LocalEngine()

    def columns(self, source: Any) -> list[str]:
        """The names of all columns of a frame."""
        return list(as_frame(source).columns)

    def open(self, source: Any, columns: Sequence[str]) -> SparkRows:
        """Some columns of a frame, in place."""
        return SparkRows.of(as_frame(source), columns)

    def source(self, location: Any, settings: Any, reading: Mapping[str, Any]) -> SparkSource:
        """The source that Spark reads at a location."""
        return SparkSource(location, session_from(settings), **reading)

    def applied(self, source: Any, recoded: Callable[[pl.DataFrame], pl.DataFrame]) -> DataFrame:
        """A frame with ``recoded`` applied to every partition of the rows."""
        frame = cast(DataFrame, source)
        rows = SparkRows.of(frame, frame.columns)
        schema = recoded(pl.DataFrame(schema=rows.schema)).schema
        return rows.through(schema, recoded).source.toDF(*schema)

    def count(self, table: Table, *, sensitive: bool = True, floor: NodeLevels | None = None) -> FrequencySet:
        """Count the distinct quasi-identifier combinations of the table, at level 0 or at ``floor``."""
        rows, levels = _rows_of(table), floor if floor is not None else (0,) * len(table.hierarchies)
        distinct, times = counting.distinct_rows(table, rows, levels)
        counted = self._local.count(_part(table, distinct), floor=levels, times=times)
        for unit, column in table.owners.items():
            counted = counted + self._owners(table, counted, unit, column)
        if table.weights is not None:
            units = F.rint(rows.column(table.weights.column).cast("double") * F.lit(10.0**table.weights.decimals))
            counted = counted + self._beside(table, counted, WEIGHT, F.sum(units.cast("long")))
        counted = counted if table.population is None else counted + self._local.people(table, counted)
        return counted if sensitive else counted.bare()

    def finest(self, table: Table, floor: NodeLevels) -> NodeLevels:
        """The finest levels, at or above ``floor``, whose distinct rows fit on the driver, estimated by sketches."""
        return counting.finest(table, _rows_of(table), floor)

    def points(self, table: Table, counted: FrequencySet) -> Iterator[NDArray[np.int64]]:
        """Raises: rows have no order."""
        raise PolicyError(_NO_ORDER.format("which group each row is in"))

    def single_rows(self, table: Table, order: NDArray[np.int64]) -> FrequencySet:
        """Raises: rows have no order, and all would have to be in memory."""
        raise PolicyError(_NO_ORDER.format("the group of people with equal quasi values"))

    def recode(self, table: Table, recoding: Recoding, context: Context) -> Recoded:
        """Public and private rows, computed lazily on the cluster. If all rows are published, equal rows are counted before they are recoded."""
        context.step("recoding rows")
        rows = _rows_of(table.watched(context, "recoding, sorting and writing rows"))
        public = _in_buckets(rows, table, recoding, context) if recoding.exact else _in_groups(rows, table, recoding)
        people_columns = listed_columns(table)
        if not people_columns:
            return Recoded(public, {})
        published_frame = shown(rows, coded(rows, rows.source, table, recoding.coded_at), *recoding.published_points())
        return Recoded(public, {"people": _published(rows, published_frame, pl.Schema(), people_columns)})

    def profile(self, rows: Rows, columns: Sequence[str]) -> Profile:
        """The number of rows, and the values and nulls of some columns."""
        return counting.profile(cast(SparkRows, rows), columns)

    def write(self, rows: Rows, target: Path, kind: TableFile, order: Order = "sorted") -> Written:
        """Write rows as files next to ``target``, by the executors."""
        if order != "sorted":
            raise PolicyError("The rows of a table that is read by the engine 'spark' have no order of their own.")
        return writing.write(cast(SparkRows, rows), target, kind)

    def _owners(self, table: Table, counted: FrequencySet, unit: str, column: str) -> FrequencySet:
        """Points without rows, each with the number of its owners and the largest number of rows of one; all rows of an owner are at one point."""
        owner_counts = self._beside(table, counted, unit, F.count_distinct(_rows_of(table).column(column)))
        points, rows = counting.added_up(table, _rows_of(table), counted.levels, F.max(counting.ROWS), column)
        most = np.zeros(len(owner_counts), dtype=np.int64)
        np.maximum.at(most, self._local.point_of_row(_part(table, points), owner_counts), rows)
        # One owner with the most rows; the rows of the others are not needed.
        cells = np.repeat(np.arange(len(owner_counts)), 2), np.stack([most, np.ones_like(most)], axis=1).ravel()
        owners = np.stack([np.ones_like(most), owner_counts.extras[unit] - 1], axis=1).ravel()
        tally = Histograms.from_cells(*cells, owners, len(owner_counts), int(most.max(initial=1)) + 1)
        return replace(owner_counts, extras={}, owners=(OwnerTallies(unit, tally),))

    def _beside(self, table: Table, counted: FrequencySet, name: str, number: Column) -> FrequencySet:
        """Return the points (distinct quasi-identifier combinations) without rows, each with the aggregate ``number``
        as its count ``name``, to be added to those of ``counted``.
        """
        points, numbers = counting.added_up(table, _rows_of(table), counted.levels, number)
        counts = self._local.count(_part(table, points), sensitive=False, floor=counted.levels, times=numbers)
        nobody = Histograms(np.zeros(len(counts) + 1, dtype=np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
        return replace(
            counts,
            sizes=np.zeros(len(counts), dtype=np.int64),
            histograms=nobody,
            domain=counted.domain,
            extras={name: counts.sizes},
        )


@dataclass(frozen=True)
class OnlyOn:
    """A transformation of some columns; all others are unchanged."""

    names: tuple[str, ...]
    change: Change

    def __call__(self, part: pl.DataFrame) -> pl.DataFrame:
        present = [name for name in self.names if name in part.columns]
        return part.with_columns(self.change(part.select(present)).get_columns()) if present else part


def _rows_of(table: Table) -> SparkRows:
    return cast(SparkRows, table.held)


def _part(table: Table, rows: pl.DataFrame) -> Table:
    """Some rows of a table on the driver, without row numbers."""
    return table.part(rows, None, weighted=False)


def _in_groups(rows: SparkRows, table: Table, recoding: Recoding) -> dict[str, Rows]:
    """One table of the published columns of every row."""
    unchanged = [*table.sensitive, *table.declared]
    base = rows if table.declared else _counted_rows(rows, [*table.quasi, *unchanged])
    points, cells = recoding.published_points()
    frame = shown(base, coded(base, base.source, table, recoding.coded_at), points, cells)
    return {"data": _published(base, frame, cells.schema, [*cells.columns, *unchanged])}


def _in_buckets(rows: SparkRows, table: Table, recoding: Recoding, context: Context) -> dict[str, Rows]:
    """Two tables linked only by randomly numbered buckets; each file is sorted by value."""
    points, _ = recoding.published_points()
    names = pl.DataFrame({BUCKET: context.randomness.order(len(points[0])) + 1})

    def placed(columns: Sequence[str], beside: Sequence[str] = ()) -> SparkRows:
        """Return the published rows with these columns and the number of their bucket; ``beside`` are columns that must
        not be merged away.
        """
        base = _counted_rows(rows, [*table.quasi, *beside])
        frame = shown(base, coded(base, base.source, table, recoding.coded_at), points, names)
        return _published(base, frame, names.schema, columns)

    return {
        "quasi": placed([*table.quasi, *table.declared, BUCKET], list(table.declared)),
        "sensitive": placed([BUCKET, *table.sensitive], list(table.sensitive)),
    }


def _counted_rows(rows: SparkRows, columns: Sequence[str]) -> SparkRows:
    """The distinct rows of some columns, each with its multiplicity."""
    names = pl.Schema({name: rows.held[name] for name in columns})
    changed = pl.Schema({name: rows.schema[name] for name in columns})
    return replace(rows, source=rows.grouped(columns), held=names, schema=changed, repeated=True, most=rows.height)


def _published(rows: SparkRows, frame: DataFrame, cells: pl.Schema, columns: Sequence[str]) -> SparkRows:
    """The ``columns`` of a frame: published cells if among the ``cells``, others unchanged."""
    cell_column = {name: f"s{index}" for index, name in enumerate(cells)}
    chosen = [F.col(cell_column[name]) if name in cells else rows.column(name) for name in columns]
    unchanged = tuple(name for name in columns if name not in cells)
    source_schema = pl.Schema({name: cells[name] if name in cells else rows.held[name] for name in columns})
    schema = pl.Schema({name: cells[name] if name in cells else rows.schema[name] for name in columns})
    changes = tuple(OnlyOn(unchanged, change) for change in rows.changes) if unchanged else ()
    selected = [column.alias(f"c{index}") for index, column in enumerate(chosen)]
    most = rows.most if rows.most is not None else rows.height
    source = frame.select(*selected, *([F.col(TIMES)] if rows.repeated else []))
    return replace(rows, source=source, held=source_schema, schema=schema, changes=changes, known=None, most=most)
