"""Larger than memory: whole `reticent publish` processes on millions of rows, by both engines. Run ``python -m benchmarks big [rows]``.

The rows are those of TARGETS.md (Adult drawn with replacement, age plus 0, 1 or 2) in a Parquet file; k=5, 5 % suppression, loss.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.adult import SHARED
from benchmarks.search import adult

_MOST_IN_MEMORY = 10_000_000
_POLICY = """
[data]
source = "rows.parquet"
[roles]
quasi = {quasi}
sensitive = ["occupation"]
[hierarchies.age]
kind = "intervals"
widths = [5, 10, 20]
domain = [1, 100]
{hierarchies}
[definition]
name = "KAnonymity"
k = 5
[method]
suppression = "0.05"
"""


def write_rows(count: int, folder: Path) -> None:
    """The rows and their policy; written a million at a time, so that this process stays small."""
    from pyarrow.parquet import ParquetWriter

    data, random = adult(), np.random.default_rng(1)
    source = data.frame.select([*data.quasi, "occupation"])
    with ParquetWriter(folder / "rows.parquet", source.to_arrow().schema) as writer:
        for start in range(0, count, 1_000_000):
            rows = source[random.integers(0, source.height, min(1_000_000, count - start))]
            older = pl.Series(random.integers(0, 3, rows.height))
            writer.write_table(rows.with_columns(pl.col("age") + older).to_arrow())
    files = "\n".join(
        f'[hierarchies."{name}"]\nkind = "csv"\nfile = "{SHARED / "adult" / f"adult_hierarchy_{name}.csv"}"'
        for name in data.quasi
        if name != "age"
    )
    (folder / "policy.toml").write_text(_POLICY.format(quasi=list(data.quasi), hierarchies=files))


def run(folder: Path, *arguments: str) -> str:
    """A command's seconds, seconds of CPU and megabytes at its peak."""
    command = [str(Path(sys.executable).with_name("reticent")), *arguments]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    seconds, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    return f"{seconds:.0f} s, {cpu:.0f} s CPU, {usage.ru_maxrss / 1024:.0f} MB"


def main(rows: str = "10000000") -> None:
    count = int(rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(count, folder)
        engines = ["local", "streaming"] if count <= _MOST_IN_MEMORY else ["streaming"]
        for engine in engines:
            told = run(folder, "publish", "policy.toml", "-o", engine, "--engine", engine)
            print(f"publish, {count:,} rows x 8, {engine} (<= 6 GB at 10 million): {told}", flush=True)
        print(f"verify, {count:,} rows x 8: {run(folder, 'verify', engines[-1])}", flush=True)
        tables = [folder / engine / "public" / "data.csv" for engine in engines]
        if len(tables) == 2:
            same = subprocess.run(["cmp", "-s", *map(str, tables)], check=False).returncode == 0
            print(f"both engines wrote the same bytes: {same}")


if __name__ == "__main__":
    main(*sys.argv[1:])
