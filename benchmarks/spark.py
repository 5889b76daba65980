"""Spark beside the streaming engine and beside bare Spark jobs. Run ``python -m benchmarks.spark [rows] [folder] [rows | spark | streaming]``.

The rows are those of ``benchmarks.big`` (Adult drawn with replacement, age plus 0, 1 or 2) as a folder of Parquet files; k=5, 5 % suppression, loss. A cluster of
two executors of one core each runs on this machine (``local-cluster``), so that the driver is a process of its own whose memory can be told: that of
this Python process and of its JVM. All jobs run in one session, one after the other.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.adult import SHARED
from benchmarks.big import run, write_rows
from benchmarks.search import adult

_ROWS_IN_PART = 1_000_000
_CONF = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": 8,
}


def write_parts(count: int, folder: Path) -> Path:
    """The rows, a million in each file; a folder that has them already stays as it is."""
    data, random = adult(), np.random.default_rng(1)
    source = data.frame.select([*data.quasi, "occupation"])
    parts = folder / f"rows-{count}"
    if parts.exists():
        return parts
    parts.mkdir(parents=True)
    for number, start in enumerate(range(0, count, _ROWS_IN_PART)):
        rows = source[random.integers(0, source.height, min(_ROWS_IN_PART, count - start))]
        older = pl.Series(random.integers(0, 3, rows.height))
        rows.with_columns(pl.col("age") + older).write_parquet(parts / f"part-{number:04d}.parquet")
    return parts


class DriverMemory:
    """The most memory that the driver (this process and its JVM) had while a block ran; looked at ten times a second."""

    def __init__(self) -> None:
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> DriverMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            self.peak = max(self.peak, sum(map(_resident, [os.getpid(), *_driver_jvm()])))


def _driver_jvm() -> list[int]:
    listed = subprocess.run(["pgrep", "-P", str(os.getpid()), "java"], capture_output=True, text=True, check=False)
    return [int(pid) for pid in listed.stdout.split()]


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _shuffled(session: Any) -> int:
    """The bytes that all executors wrote for shuffles so far."""
    executors = session.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(executors.apply(place).totalShuffleWrite() for place in range(executors.size()))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main(rows: str = "50000000", place: str | None = None, *parts_of_it: str) -> None:
    """All of it, or parts: ``rows`` (written only), ``spark``, ``streaming``. The rows stay in ``place`` if one is named."""
    wanted = parts_of_it or ("rows", "spark", "streaming")
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        parts = write_parts(int(rows), Path(place or scratch))
        if "spark" in wanted:
            measured(int(rows), parts, Path(scratch))
        if "streaming" in wanted:
            write_rows(int(rows), Path(scratch))
            told = run(Path(scratch), "publish", "policy.toml", "-o", "streamed", "--engine", "streaming")
            print(f"publish, {int(rows):,} rows x 8, streaming: {told}", flush=True)


def measured(count: int, parts: Path, folder: Path) -> None:
    """Bare jobs and ours in one session; every figure is printed under its name as soon as it is there."""
    import reticent as rt
    from reticent.engine import count_table
    from reticent.engine.spark.session import session_from

    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(rt.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    os.environ.setdefault("RETICENT_MEMORY", "800MB")
    figures: dict[str, Any] = {}

    def note(name: str, value: Any) -> None:
        figures[name] = value
        print(f"{name}: {value}", flush=True)

    note("rows", count)
    note("source MB", round(sum(each.stat().st_size for each in parts.iterdir()) / 1e6))
    session = session_from({"master": "local-cluster[2,1,1536]", "conf": _CONF})
    data = adult()
    quasi, columns = list(data.quasi), [*data.quasi, "occupation"]
    source = session.read.parquet(str(parts)).select(*columns)
    source.limit(10).toArrow()

    def bare_write() -> None:
        source.write.mode("overwrite").parquet(str(folder / "bare"))

    note("bare group by s", round(timed(lambda: source.groupBy(*quasi).count().toArrow())[0], 1))
    note("shuffled by the bare group by, MB", round(_shuffled(session) / 1e6, 1))
    note("bare read and write s", round(timed(bare_write)[0], 1))
    hierarchies = {
        **{
            name: rt.Hierarchy.from_csv(SHARED / "adult" / f"adult_hierarchy_{name}.csv")
            for name in quasi
            if name != "age"
        },
        "age": rt.Hierarchy.intervals([5, 10, 20], domain=(1, 100)),
    }
    ordered = {name: hierarchies[name] for name in quasi}
    with DriverMemory() as memory:
        made, table = timed(lambda: rt.Table(source, quasi=ordered, sensitive="occupation"))
        counted, points = timed(lambda: count_table(table))
        note("table (distinct rows) s", round(made, 1))
        note("count s", round(counted, 1))
        note("points", len(points))
        published, release = timed(
            lambda: rt.publish(table, rt.KAnonymity(5), rt.Lattice(suppression="0.05"), files="parquet", scratch=folder)
        )
        note("publish s", round(published, 1))
        saved, _ = timed(lambda: release.save(folder / "release"))
        note("save s", round(saved, 1))
    note("shuffled MB", round(_shuffled(session) / 1e6))
    note("driver MB", round(memory.peak / 1e6))
    note("files", len(release.manifest.tables["data"].files))
    note("published rows", release.public.height)
    session.stop()
    note("counting / bare group by", round((made + counted) / figures["bare group by s"], 2))
    whole = made + counted + published + saved
    note("publishing / bare read and write", round(whole / figures["bare read and write s"], 2))
    seconds, verified = timed(lambda: rt.verify(folder / "release").holds)
    note("verify s", round(seconds, 1))
    assert verified
    note("file MB", round(sum(each.stat().st_size for each in (folder / "release" / "public").iterdir()) / 1e6))


if __name__ == "__main__":
    main(*sys.argv[1:])
