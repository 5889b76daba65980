"""Synthetic data on Rhode Island's commuting flows (TARGETS.md): time of the plan, time and memory of the synthesis.

Run: python -m benchmarks.synthesize (needs ../shared/data/od)
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import polars as pl

import reticent as rt
from benchmarks.adult import SHARED
from benchmarks.measuring import best_of

DATA = SHARED / "od"
TARGET_PLAN, TARGET_SYNTHESIS, TARGET_MEGABYTES = 2.0, 5.0, 1024
_FRESH = """
import sys, time
import reticent as rt
from benchmarks.synthesize import job
table, method, promise = job()
began = time.perf_counter()
release = rt.publish(table, promise, method)
took = time.perf_counter() - began
release.save(sys.argv[1])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(took, int(peak.split()[1]) // 1024)
"""


def flows() -> pl.DataFrame:
    """Jobs by work block and home block, both in Rhode Island."""
    types = {"w_geocode": pl.String, "h_geocode": pl.String}
    read = pl.read_csv(DATA / "ri_od_main_JT00_2019.csv.gz", schema_overrides=types)
    return read.select("w_geocode", "h_geocode", "S000")


def blocks() -> list[str]:
    """All census blocks of the state: the public domain."""
    return pl.read_csv(DATA / "ri_xwalk.csv.gz", infer_schema_length=0)["tabblk2010"].to_list()


def job(epsilon: str = "4.6", tracts: bool = False) -> tuple[rt.Table, rt.Synthetic, rt.ProbabilisticDP]:
    """The table, the method with its public inputs, and the promise; by blocks, or coarsened to tracts."""
    frame, domain = flows(), blocks()
    if tracts:
        frame = frame.with_columns(pl.col("w_geocode", "h_geocode").str.head(11))
        domain = sorted({each[:11] for each in domain})
    sizes = frame.group_by("w_geocode").agg(pl.col("S000").sum().alias("size"))
    table = rt.Table(frame, quasi=["w_geocode"], sensitive="h_geocode", weight="S000")
    return table, rt.Synthetic(groups=sizes, domain=domain), rt.ProbabilisticDP(epsilon, "1e-5")  # type: ignore[arg-type]


def timed(work: Callable[[], Any]) -> tuple[str, Any]:
    """The shortest of three runs by the clock and by the processor (others may keep the machine busy), and what came out."""
    clock, processor, result = [], [], None
    for _ in range(3):
        began, used = time.perf_counter(), time.process_time()
        result = work()
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    return f"{min(clock):.2f} s ({min(processor):.2f} s of processor)", result


def main() -> None:
    """Print one line for each measurement."""
    frame, domain = flows(), blocks()
    sizes = frame.group_by("w_geocode").agg(pl.col("S000").sum())["S000"].to_list()
    print(f"{sum(sizes):,} jobs, {len(sizes):,} work blocks of {len(set(sizes))} sizes, {len(domain):,} home blocks")
    for epsilon in ("1", "4.6", "8.6"):
        for mode in ("tight", "thesis"):
            if mode == "thesis" and epsilon == "1":
                continue
            took, plan = timed(lambda: rt.synthesize.plan(sizes, len(domain), epsilon, "1e-5", mode))  # noqa: B023
            print(f"plan, epsilon {epsilon}, {mode}: {took} (target {TARGET_PLAN}), real share {plan.real_share:.3f}")
        _, tracts, promise = job(epsilon, tracts=True)
        groups = tracts.groups["size"].to_list()  # type: ignore[index,union-attr]
        coarse = rt.synthesize.plan(groups, len(tracts.domain), promise.epsilon, promise.delta)  # type: ignore[arg-type]
        print(f"  tracts ({len(groups)} x {len(tracts.domain)}): real share {coarse.real_share:.3f}")  # type: ignore[arg-type]
    table, method, promise = job()
    took, _ = timed(lambda: method.draft(table, promise))
    print(f"synthesis (plan, count, draw): {took} (target {TARGET_SYNTHESIS})")
    with tempfile.TemporaryDirectory() as place:
        run = [sys.executable, "-c", _FRESH, f"{place}/release"]
        said = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
        print(
            f"publish in a fresh process (plan, draw, write, check, judge twice): {float(said[0]):.2f} s, {said[1]} MB (target {TARGET_MEGABYTES})"
        )
        took, found = best_of(1, lambda: rt.verify(f"{place}/release"))
        print(f"verify: {took:.2f} s, holds {found.holds}")


if __name__ == "__main__":
    main()
