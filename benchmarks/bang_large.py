"""Bang on tables larger than memory: rows written to Parquet files a million at a time, the index built in a process of its own. Run ``python -m benchmarks bang large [ROWS] [adult|distinct]``."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.big import write_rows
from benchmarks.measuring import HISTORY, alone
from reticent.base.context import Context
from reticent.methods.bang import Bang
from reticent.policy import Policy
from reticent.table import Table

ROWS = 50_000_000
_CENTRES, _AT_ONCE = 200, 1_000_000
_COLUMNS = {"income": 12_000, "spending": 9_000, "born": 25_000, "place": 40_000}


def write_distinct(count: int, folder: Path) -> None:
    """People around 200 centres in four columns of thousands of whole numbers, a tenth of them anywhere; nearly all points are different."""
    from pyarrow.parquet import ParquetWriter

    draw = np.random.default_rng(7)
    sizes = np.array(list(_COLUMNS.values()))
    centres = draw.random((_CENTRES, len(sizes))) * sizes
    writer = None
    for start in range(0, count, _AT_ONCE):
        many = min(_AT_ONCE, count - start)
        kind = np.minimum(draw.geometric(0.02, many) - 1, _CENTRES - 1)
        values = np.rint(draw.normal(centres[kind], sizes / 12))
        values = np.where(draw.random((many, 1)) < 0.1, draw.random((many, len(sizes))) * sizes, values)
        whole = np.clip(values, 0, sizes - 1).astype(np.int32)
        columns = {name: whole[:, place] for place, name in enumerate(_COLUMNS)}
        rows = pl.DataFrame({**columns, "illness": draw.integers(0, 6, many).astype(np.int8)}).to_arrow()
        writer = writer or ParquetWriter(folder / "rows.parquet", rows.schema)
        writer.write_table(rows)
    assert writer is not None
    writer.close()


def built(folder: str, source: str, minimum: int, merged: bool) -> str:
    """The index of the rows in a folder, and a cut of it where blocks are ``merged``; what came out in words."""
    place, start = Path(folder), time.perf_counter()
    if source == "adult":
        table = Policy.read(place / "policy.toml").table(engine="streaming")
    else:
        table = Table(
            pl.scan_parquet(place / "rows.parquet"), quasi=list(_COLUMNS), sensitive="illness", engine="streaming"
        )
    index = Bang(minimum=minimum).build(table, Context(scratch=place))
    told = [f"{len(index.directory):,} blocks after {time.perf_counter() - start:,.0f} s"]
    told.append(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB until then")
    if merged:
        cut = index.draft(4 * minimum)
        told.append(f"{cut.count:,} classes of k = {4 * minimum}")
        index.save(place / f"index-{minimum}")
        start = time.perf_counter()
        again = Bang.open(place / f"index-{minimum}").draft(8 * minimum)
        told.append(
            f"opened and cut for k = {8 * minimum} in {time.perf_counter() - start:.1f} s: {again.count:,} classes"
        )
    return "; ".join(told)


JOBS = {"adult": ((5, True),), "distinct": ((5, False), (50, True))}


def main(names: Sequence[str]) -> None:
    rows = next((int(each) for each in names if each.isdigit()), ROWS)
    lines = []
    for source, jobs in JOBS.items():
        if any(each in JOBS for each in names) and source not in names:
            continue
        with tempfile.TemporaryDirectory(dir="/tmp", prefix="bang-large-") as folder:
            (write_rows if source == "adult" else write_distinct)(rows, Path(folder))
            for minimum, merged in jobs:
                seconds, took, told = alone(built, folder, source, minimum, merged)
                lines.append(f"| {source}, {rows:,} rows | {minimum} | {seconds:,.0f} s | {took} | {told} |")
                print(lines[-1], flush=True)
    head = ["| rows | minimum | on the clock | process | what came out |", "|---|---|---|---|---|"]
    title = f"## Bang: tables larger than memory ({date.today().isoformat()})"
    command = f"`python -m benchmarks bang large {' '.join(names)}`"
    with HISTORY.open("a", encoding="utf-8") as out:
        out.write("\n".join(["", title, "", command, "", *head, *lines, ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
