"""Sort more rows than fit into memory, by DuckDB and a folder on disk.

Equal rows are counted per chunk before anything is written. The rows of a release are mostly equal, so little memory or
disk is needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from reticent.base.arrow_streams import frames_of
from reticent.base.files import write_new
from reticent.base.memory import MEMORY, budget, rows_at_once
from reticent.errors import DataError
from reticent.io import quoted
from reticent.table import Chunks, Rows, as_parquet, unused

_SMALLEST_SORT = 192 << 20
_MEMORY_OF_A_THREAD = 192 << 20


def in_order(rows: Rows, folder: Path) -> Chunks:
    """The rows sorted by all columns, nulls last, equal rows adjacent; ``folder`` holds what does not fit into memory."""
    columns = rows.schema.names()
    times = unused("times", columns)
    parts = folder / "parts"
    parts.mkdir()
    rows_read = distinct_read = 0
    for number, chunk in enumerate(rows.chunks()):
        counted = chunk.group_by(columns).agg(pl.len().cast(pl.Int64).alias(times))
        rows_read, distinct_read = rows_read + chunk.height, distinct_read + counted.height
        write_new(parts / f"{number}.parquet", as_parquet(counted), mode=0o600)
    for distinct in _sorted(parts, folder / "spilled", columns, times, alike=2 * distinct_read < rows_read):
        yield from _repeated(distinct.drop(times).cast(rows.schema), distinct[times].to_numpy())


def _sorted(parts: Path, spilled: Path, columns: list[str], times: str, alike: bool) -> Iterator[pl.DataFrame]:
    """Yield the rows of ``parts`` (Parquet files with a column ``times`` of multiplicities) in order; if many are
    ``alike``, equal ones are summed first to reduce the sorting.
    """
    import duckdb

    listed = ", ".join(quoted(name) for name in columns)
    order = ", ".join(f"{quoted(name)} asc nulls last" for name in columns)
    count, grouped = (f"sum({quoted(times)})::bigint", f"group by {listed}") if alike else (quoted(times), "")
    statement = f"select {listed}, {count} as {quoted(times)} from read_parquet('{_text(parts)}/*.parquet') {grouped} order by {order}"
    limit = max(budget() // 3, _SMALLEST_SORT)
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{limit >> 20}MiB",
        "threads": max(1, min(limit // _MEMORY_OF_A_THREAD, os.cpu_count() or 1)),
        "temp_directory": str(spilled),
        "preserve_insertion_order": False,
    }
    try:
        with duckdb.connect(config=settings) as connection:
            yield from frames_of(connection.sql(statement), rows_at_once(len(columns) + 1))
    except (duckdb.Error, pl.exceptions.ComputeError) as error:
        first = str(error).strip().splitlines()[0]
        raise DataError(
            f"The rows could not be sorted in {str(spilled.parent.parent)!r}: {first} Make room there, name another folder with TMPDIR, or allow "
            f"more memory with {MEMORY}. Nothing was published."
        ) from None


def _repeated(rows: pl.DataFrame, times: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Chunks:
    """Every row repeated by its multiplicity."""
    ends = np.cumsum(times)
    step = rows_at_once(rows.width)
    for start in range(0, int(ends[-1]) if len(ends) else 0, step):
        positions = np.arange(start, min(start + step, int(ends[-1])))
        yield rows[np.searchsorted(ends, positions, side="right")]


def _text(path: Path) -> str:
    return str(path).replace("'", "''")
