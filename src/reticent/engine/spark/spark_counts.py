"""Counting: distinct rows are sent to the driver in one shuffle, and never more than it can hold."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from reticent.base.memory import MEMORY, fits, most_rows
from reticent.core import NodeLevels
from reticent.engine.spark.maps import at_all_levels, coarser, known_of
from reticent.engine.spark.spark_rows import TIMES, SparkProfile, SparkRows
from reticent.errors import DataError, PolicyError
from reticent.table import Counted, Table

_FIRST = 100_000
ROWS = "rows_of_one"
"""How many rows of a point belong to one person."""


def profile(rows: SparkRows, columns: Sequence[str]) -> SparkProfile:
    """The profile of the rows: their number, and the values and nulls of some columns.

    Everything follows from the distinct rows of these columns, if they fit on the driver. If the first rows repeat each
    other, they are counted at once; otherwise a sketch estimates their number first. At most as many as fit are sent to
    the driver: if there are more, the values of each column are collected separately.
    """
    most = most_rows(len(columns) + 1)
    total = None
    if not _repeated(rows, columns):
        total, many = _sketch(rows, rows.source, columns)
        if many > most:
            return _column_by_column(rows, columns, total)
    distinct = rows.run("count the distinct rows", rows.grouped(columns).limit(most + 1).toArrow)
    if distinct.num_rows > most:
        return _column_by_column(rows, columns, rows.height if total is None else total)
    return _from_distinct(rows, columns, total, pl.DataFrame(pl.from_arrow(distinct)))


def _repeated(rows: SparkRows, columns: Sequence[str]) -> bool:
    """True if a tenth of the first rows are duplicates in some columns, so counting distinct rows sends few of them over the network."""
    if not columns:
        return True
    hashes = rows.source.select(F.xxhash64(*map(rows.column, columns))).limit(_FIRST)
    first = [hashed for (hashed,) in rows.run("look at the first rows", hashes.collect)]
    return len(first) < _FIRST or 10 * len(set(first)) <= 9 * len(first)


def _sketch(rows: SparkRows, frame: DataFrame, columns: Sequence[str]) -> tuple[int, int]:
    """The number of rows, and the approximate number of distinct ones in some columns."""
    many = F.approx_count_distinct(F.xxhash64(*map(rows.column, columns)))
    sketch = rows.run("look at the rows", frame.agg(F.count(F.lit(1)), many).toArrow)
    return int(sketch.column(0)[0].as_py()), int(sketch.column(1)[0].as_py())


def _from_distinct(rows: SparkRows, columns: Sequence[str], total: int | None, raw: pl.DataFrame) -> SparkProfile:
    """The profile derived from the distinct rows of some columns; must agree with a ``total`` that was counted before."""
    times = raw[TIMES].cast(pl.Int64).to_numpy()
    counted = int(times.sum())
    if total is not None and counted != total:
        raise _changed(total, counted)
    unchanged = pl.DataFrame([raw[f"c{index}"].alias(name) for index, name in enumerate(columns)])
    changed = rows.changed(unchanged) if columns else unchanged
    missing: dict[str, tuple[int, int | None]] = {
        name: (int(times[changed[name].is_null().to_numpy()].sum()), None)
        for name in columns
        if changed[name].null_count()
    }
    values = {name: changed[name].unique() for name in columns}
    raw_values = {name: unchanged[name].unique() for name in columns}
    return SparkProfile(counted, values, missing, (changed, times) if columns else None, raw=raw_values)


def _column_by_column(rows: SparkRows, columns: Sequence[str], total: int) -> SparkProfile:
    """Return the profile of some columns by one aggregation per column, for rows with too many distinct combinations."""
    sets = [F.collect_set(rows.column(name)).alias(f"v{index}") for index, name in enumerate(columns)]
    nulls = [F.count_if(rows.column(name).isNull()).alias(f"n{index}") for index, name in enumerate(columns)]
    aggregated = rows.source.agg(*sets, *nulls)
    collected = pl.DataFrame(pl.from_arrow(rows.run("collect the values of columns", aggregated.toArrow)))
    raw: dict[str, pl.Series] = {}
    missing: dict[str, tuple[int, int | None]] = {}
    for index, name in enumerate(columns):
        distinct = collected[f"v{index}"].explode(empty_as_null=False).cast(rows.held[name]).alias(name)
        null_count = int(collected[f"n{index}"][0])
        raw[name] = pl.concat([distinct, pl.Series(name, [None], dtype=distinct.dtype)]) if null_count else distinct
    values = {name: rows.changed(raw[name].to_frame())[name].unique() for name in columns}
    for name in columns:
        if values[name].null_count():
            counted = rows.source.agg(F.count_if(rows.present(name).isNull())).toArrow
            missing[name] = int(rows.run("count missing values", counted).column(0)[0].as_py()), None
    return SparkProfile(total, values, missing, None, raw={name: series.unique() for name, series in raw.items()})


def distinct_rows(table: Table, rows: SparkRows, levels: NodeLevels) -> Counted:
    """The distinct judged rows of a table, generalized to ``levels`` if there are too many for the driver."""
    profile = known_of(rows)
    judged = [*table.quasi, *table.sensitive]
    if profile.distinct is not None:
        return profile.distinct
    frame = coarser(rows, table, levels)
    _, distinct_count = _sketch(rows, frame, judged)
    if not fits(distinct_count, len(judged) + 1):
        raise PolicyError(
            f"At these levels the table has about {distinct_count:,} distinct rows of its quasi and sensitive columns, more than fit on the driver. Give it more memory "
            f"({MEMORY}), or use Lattice or Datafly, which start at coarser levels if necessary.",
            setting=("method", "name"),
        )
    distinct, times = rows.collected(rows.grouped(judged, frame), judged)
    if int(times.sum()) != profile.rows:
        raise _changed(profile.rows, int(times.sum()))
    return distinct, times


def finest(table: Table, rows: SparkRows, floor: NodeLevels) -> NodeLevels:
    """The finest levels, at or above ``floor``, whose distinct rows fit on the driver, estimated by sketches.

    Greedy: each step raises the column that leaves the fewest distinct rows. The candidates are estimated in one job.
    """
    if known_of(rows).distinct is not None:
        return floor
    frame, columns = at_all_levels(rows, table)
    sensitive_columns, width = (
        [rows.column(name) for name in table.sensitive],
        len(table.quasi) + len(table.sensitive) + 1,
    )
    candidates = [floor]
    while candidates:
        sketches = [
            F.approx_count_distinct(
                F.xxhash64(*(column[level] for column, level in zip(columns, levels, strict=True)), *sensitive_columns)
            )
            for levels in candidates
        ]
        estimates = rows.run("estimate how many distinct rows there are", frame.agg(*sketches).collect)[0]
        least, levels = min(zip(estimates, candidates, strict=True))
        if fits(least, width):
            return levels
        candidates = [
            (*levels[:index], level + 1, *levels[index + 1 :])
            for index, level in enumerate(levels)
            if level < table.hierarchies[index].height
        ]
    raise PolicyError(
        "Even with every quasi column at its coarsest level the distinct rows of the quasi and sensitive columns do not fit on the driver. Give it more memory "
        f"({MEMORY}), or coarsen the sensitive columns (coarsen=)."
    )


def added_up(table: Table, rows: SparkRows, levels: NodeLevels, number: Column, within: str | None = None) -> Counted:
    """The distinct points of the quasi columns, each with a sum or a count; ``within``: over the row counts of each value of a column."""
    frame, quasi = coarser(rows, table, levels) if known_of(rows).distinct is None else rows.source, list(table.quasi)
    if within is not None:
        frame = frame.groupBy(*map(rows.column, quasi), rows.column(within)).agg(F.count(F.lit(1)).alias(ROWS))
    grouped = frame.groupBy(*map(rows.column, quasi)).agg(number)
    return rows.collected(grouped.toDF(*(f"c{index}" for index in range(len(quasi))), TIMES), quasi)


def _changed(before: int, after: int) -> DataError:
    return DataError(
        f"The source changed while it was read: there were {before} rows, and then {after}. Nothing was published; publish a copy that is not being written."
    )
