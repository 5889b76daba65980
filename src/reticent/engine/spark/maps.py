"""Lookup tables that are joined with the rows: Spark broadcasts small ones and shuffles large ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructField, StructType

from reticent.base.packing import Codes
from reticent.core import NodeLevels
from reticent.engine.spark.spark_rows import SparkProfile, SparkRows, spark_types
from reticent.errors import PolicyError
from reticent.table import BoundHierarchy, Table

_BROADCAST = 1_000_000
_VALUE = "value"


def parts_of(rows: SparkRows, hierarchy: BoundHierarchy, level: int) -> tuple[pl.Series, NDArray[np.int64]]:
    """The distinct values of a column in the source, and the part of each at a level."""
    raw = known_of(rows).raw[hierarchy.column]
    values = rows.changed(raw.to_frame(hierarchy.column))[hierarchy.column]
    leaves = hierarchy.codes(values, None, None)
    return raw, (leaves if level == 0 else hierarchy.levels[level].parts.take(leaves)).astype(np.int64)


def known_of(rows: SparkRows) -> SparkProfile:
    """The profile of the rows of a table."""
    if rows.known is None:
        raise PolicyError("The rows of a Spark table are known once they are in a Table: pass the table.")
    return rows.known


def coded(rows: SparkRows, frame: DataFrame, table: Table, levels: NodeLevels) -> DataFrame:
    """Return a frame of rows with the code of each quasi column's label at some levels added, as ``k0``, ``k1`` and so
    on.
    """
    for index, (hierarchy, level) in enumerate(zip(table.hierarchies, levels, strict=True)):
        raw, codes = parts_of(rows, hierarchy, level)
        column = f"c{list(rows.held).index(hierarchy.column)}"
        frame = _joined(rows, frame, column, raw, codes, f"k{index}")
    return frame


def coarser(rows: SparkRows, table: Table, levels: NodeLevels) -> DataFrame:
    """Return the rows with each value replaced by one value that has the same label at the column's level: as many
    distinct combinations as the table has at these levels.
    """
    frame, names = rows.source, list(rows.held)
    for hierarchy, level in zip(table.hierarchies, levels, strict=True):
        if level == 0:
            continue
        raw, codes = parts_of(rows, hierarchy, level)
        firsts = np.full(hierarchy.levels[level].size, -1)
        firsts[codes[::-1]] = np.arange(len(codes))[::-1]
        column = f"c{names.index(hierarchy.column)}"
        chosen = raw.gather(firsts[codes])
        frame = _joined(rows, frame, column, raw, chosen, "chosen").drop(column).withColumnRenamed("chosen", column)
    return frame


def at_all_levels(rows: SparkRows, table: Table) -> tuple[DataFrame, list[list[Column]]]:
    """Return the rows, and for every quasi column a list of expressions: its value, and the code of its label at each
    level above 0.
    """
    frame, expressions = rows.source, []
    for index, hierarchy in enumerate(table.hierarchies):
        column = f"c{list(rows.held).index(hierarchy.column)}"
        raw, leaves = parts_of(rows, hierarchy, 0)
        parts = np.stack([level.parts.take(leaves) for level in hierarchy.levels], axis=1)
        frame = _joined(rows, frame, column, raw, pl.Series(parts.tolist(), dtype=pl.List(pl.Int64)), f"l{index}")
        expressions.append(
            [F.col(column), *(F.element_at(f"l{index}", level + 1) for level in range(1, hierarchy.height + 1))]
        )
    return frame, expressions


def _joined(rows: SparkRows, frame: DataFrame, column: str, raw: pl.Series, codes: Any, name: str) -> DataFrame:
    """A frame joined with a lookup table on the value of a column; rows without a match are dropped."""
    listed = pl.DataFrame([raw.alias(_VALUE), pl.Series(name, codes)]).to_arrow()
    # The value has exactly the type of the column, so it is compared without a cast.
    types = StructType([StructField(_VALUE, frame.schema[column].dataType), spark_types(listed.schema)[name]])
    looked_up = rows.session.createDataFrame(listed, types)
    hinted = F.broadcast(looked_up) if listed.num_rows <= _BROADCAST else looked_up
    return frame.join(hinted, F.col(column).eqNullSafe(F.col(_VALUE)), "inner").drop(_VALUE)


def shown(rows: SparkRows, frame: DataFrame, points: Sequence[Codes], cells: pl.DataFrame) -> DataFrame:
    """A coded frame with the ``cells`` of every row's point, as ``s0``, ``s1`` and so on; rows of other points are dropped."""
    keys = [f"k{index}" for index in range(len(points))]
    columns = [pl.Series(key, codes.astype(np.int64)) for key, codes in zip(keys, points, strict=True)]
    cells_of_points = pl.DataFrame(
        [*columns, *(cells[name].alias(f"s{index}") for index, name in enumerate(cells.columns))]
    )
    cell_frame = rows.session.createDataFrame(
        cells_of_points.to_arrow(), spark_types(cells_of_points.to_arrow().schema)
    )
    joinable = F.broadcast(cell_frame) if cells_of_points.height <= _BROADCAST else cell_frame
    return frame.join(joinable, keys, "inner")
