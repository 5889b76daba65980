"""The canonical types of judged columns: those in which a release publishes them.

A value that is looked up, labelled, counted and published must have one representation everywhere. So quasi and
sensitive columns are converted when a table is made: timestamps have microseconds and no zone, numbers have 64 bits,
and there is one zero.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from reticent.errors import DataError
from reticent.table.hierarchies.calendars import Dates
from reticent.table.hierarchies.hierarchy import Hierarchy
from reticent.table.rows import Rows

Kinds = Mapping[str, object]
"""Columns with what was declared about each: a hierarchy, or something else."""


def plain(series: pl.Series, declared: object = None) -> pl.Series:
    """Convert a column to its canonical type; ``declared`` is its hierarchy, if it has one.

    A timestamp with a zone becomes local time in the hierarchy's zone. Without such a hierarchy it becomes text, and so
    does a time of day under a hierarchy, whose order is not used. Raises :class:`DataError` for integers and decimals
    that do not fit into 64 bits.
    """
    dtype = series.dtype
    target = plain_type(dtype, declared)
    if dtype.is_float():
        return real(series)
    if target == dtype:
        return series
    if dtype == pl.Time:
        return clock_text(series)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None and target != pl.String:
        dates = _dates(declared)
        zone = None if dates is None else dates.timezone
        local = series.dt.convert_time_zone(zone) if zone is not None else series
        return local.dt.replace_time_zone(None).cast(target)
    cast = series.cast(target, strict=False)
    if target != pl.String:
        _check_same(series, cast)
    return cast


def plain_type(dtype: pl.DataType, declared: object = None) -> pl.DataType:
    """The type that :func:`plain` returns for a column of ``dtype``."""
    if dtype.is_float() or isinstance(dtype, pl.Decimal):
        return pl.Float64()
    if dtype in (pl.Int128, pl.UInt128):
        return pl.Int64()
    if isinstance(dtype, pl.Datetime):
        return pl.Datetime("us") if dtype.time_zone is None or _dates(declared) is not None else pl.String()
    if dtype == pl.Time and isinstance(declared, Hierarchy):
        return pl.String()
    return dtype


def _dates(declared: object) -> Dates | None:
    recipe = declared.unlimited if isinstance(declared, Hierarchy) else None
    return recipe if isinstance(recipe, Dates) else None


def real(series: pl.Series) -> pl.Series:
    """Floats in 64 bits, with NaN as null and one zero: -0.0 equals 0.0 but is written differently."""
    # Via text, so a single-precision 0.1 stays 0.1.
    wide = series if series.dtype == pl.Float64 else series.cast(pl.String).cast(pl.Float64)
    without_nan = wide.fill_nan(None)
    return without_nan.set(without_nan == 0, 0.0)


def clock_text(series: pl.Series) -> pl.Series:
    """Times of day as text, with fractions of a second (which a cast would drop)."""
    return series.dt.to_string("%H:%M:%S%.f")


def plain_rows(rows: Rows, kinds: Kinds) -> Rows:
    """The same rows with some columns in canonical types."""
    changed = {name: declared for name, declared in kinds.items() if _changes(rows.schema[name], declared)}
    if not changed:
        return rows
    schema = pl.Schema(
        {name: plain_type(dtype, kinds[name]) if name in changed else dtype for name, dtype in rows.schema.items()}
    )

    def change(part: pl.DataFrame) -> pl.DataFrame:
        """Return a chunk of the rows with its columns in canonical types."""
        return part.with_columns(plain(part[name], changed[name]) for name in part.columns if name in changed)

    return rows.mapped(schema, change)


def _changes(dtype: pl.DataType, declared: object) -> bool:
    return dtype.is_float() or plain_type(dtype, declared) != dtype


def _check_same(series: pl.Series, cast: pl.Series) -> None:
    """Raise if a cast changes a number. Fractions below a microsecond are dropped."""
    if isinstance(series.dtype, pl.Datetime):
        return
    changed = series.filter(cast.cast(series.dtype, strict=False).ne_missing(series))
    if len(changed):
        raise DataError(
            f"Column {series.name!r} has the value {changed[0]} of type {series.dtype}, which has more digits than a 64-bit number holds. "
            "Read the column as text, or round it."
        )
