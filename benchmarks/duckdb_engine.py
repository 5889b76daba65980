"""Would DuckDB count and recode faster than the streaming engine? Run ``python -m benchmarks.duckdb_engine [rows]``.

Both read the rows of ``benchmarks.big`` from one Parquet file. Counting: the streaming engine's frequency set, and one ``group by`` of DuckDB over the same columns, whose distinct rows
become the same frequency set. Recoding: the streaming engine's sorted CSV file, and the same rows by joins and ``order by`` of DuckDB, written by its ``copy``.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.big import write_rows
from benchmarks.search import adult


def main(rows: str = "10000000") -> None:
    import duckdb

    import reticent as rt
    from reticent.base.context import Context
    from reticent.engine import count_table, engine_of
    from reticent.engine.local import LocalEngine
    from reticent.table import table_file

    data = adult()
    names = [*data.quasi, "occupation"]
    listed = ", ".join(f'"{name}"' for name in names)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_rows(int(rows), folder)
        source = folder / "rows.parquet"
        hierarchies = {**data.quasi, "age": rt.Hierarchy.intervals([5, 10, 20], domain=(1, 100))}
        start = time.perf_counter()
        table = rt.Table(pl.scan_parquet(source), quasi=hierarchies, sensitive="occupation", engine="streaming")
        profiled = time.perf_counter()
        counted = count_table(table)
        ended = time.perf_counter()
        print(f"streaming: profile {profiled - start:.1f} s, count {ended - profiled:.1f} s, {len(counted):,} points")
        start = time.perf_counter()
        connection = duckdb.connect()
        found = connection.sql(f"select {listed}, count(*) as times from read_parquet('{source}') group by all").pl()
        grouped = time.perf_counter()
        part = table.part(found.select(names), None, weighted=False)
        same = LocalEngine().count(part, times=found["times"].to_numpy().astype(np.int64))
        ended = time.perf_counter()
        assert np.array_equal(same.sizes, counted.sizes)
        print(
            f"DuckDB: group by {grouped - start:.1f} s, frequency set {ended - grouped:.1f} s (no other pass is needed)"
        )
        release = rt.Lattice(suppression="0.05").draft(table, rt.KAnonymity(5), Context())
        assert release.recoding is not None
        start = time.perf_counter()
        engine = engine_of(table)
        made = engine.recode(table, release.recoding, Context()).tables["data"]
        engine.write(made, folder / "data.csv", table_file("csv"))
        print(f"streaming: recode, sort and write {time.perf_counter() - start:.1f} s")
        start = time.perf_counter()
        levels = release.recoding.coded_at
        for number, (hierarchy, level) in enumerate(zip(table.hierarchies, levels, strict=True)):
            values = table.values(hierarchy.column).unique()
            parts = hierarchy.levels[level].parts.take(hierarchy.codes(values))
            labels = pl.Series("label", hierarchy.levels[level].labels, dtype=pl.String).gather(parts)
            connection.register(f"map{number}", pl.DataFrame([values.alias("value"), labels]).to_arrow())
        shown = ", ".join(f'map{number}.label as "{name}"' for number, name in enumerate(data.quasi))
        joins = " ".join(
            f'join map{number} on source."{name}" is not distinct from map{number}.value'
            for number, name in enumerate(data.quasi)
        )
        connection.register("kept", release.recoding.stored().to_arrow())
        same_group = " and ".join(f'shown."{name}" = kept."{name}"' for name in data.quasi)
        statement = (
            f"with shown as (select {shown}, source.occupation from read_parquet('{source}') source {joins}) "
            f"select shown.* from shown semi join kept on {same_group} order by all nulls last"
        )
        connection.sql(f"copy ({statement}) to '{folder / 'duck.csv'}' (header)")
        print(f"DuckDB: recode, sort and write {time.perf_counter() - start:.1f} s")
        alike = (folder / "data.csv").stat().st_size == (folder / "duck.csv").stat().st_size
        print(f"files of the same length: {alike}")


if __name__ == "__main__":
    main(*sys.argv[1:])
