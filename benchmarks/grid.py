"""Releases on a public grid beside the floor G: a million rows sampled, and halved with noise. Run ``python -m benchmarks grid``."""

from __future__ import annotations

import time

import numpy as np
import polars as pl

import reticent as rt
from benchmarks.measuring import Row, group_by_floor, report

ROWS = 1_000_000
_DEEP = {"age": {"from": 0, "to": 128, "step": 1}, "zip": {"from": 0, "to": 2048, "step": 1}, "job": list(range(50))}
_WIDE = {"age": {"from": 0, "to": 128, "step": 8}, "zip": {"from": 0, "to": 2048, "step": 256}, "job": list(range(50))}


def _table() -> rt.Table:
    draw = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": np.clip(draw.normal(45, 18, ROWS), 0, 127).astype(np.int64),
            "zip": np.minimum(draw.pareto(1.0, ROWS) * 40, 2047).astype(np.int64),
            "job": draw.integers(0, 50, ROWS),
        }
    )
    return rt.Table(frame, quasi=["age", "zip"], sensitive="job")


def main() -> None:
    """Draft, judge and check each kind; the seconds are those of the processor."""
    table = _table()
    floor = group_by_floor(table.frame, ["age", "zip", "job"])
    jobs = (
        ("GridSample 1/5, epsilon 1, delta 1e-9", rt.UnboundedDP(1, "1e-9"), rt.GridSample(_WIDE, sample="1/5")),
        (
            "GridCounts, depth 14, histogram of 50 values",
            rt.UnboundedDP(1),
            rt.GridCounts(_DEEP, depth=14, histogram="job"),
        ),
        ("CrowdBlending(20), all rows", rt.CrowdBlending(20), rt.GridSample(_WIDE)),
    )
    rows = []
    for name, promise, method in jobs:
        began = time.process_time()
        release = rt.publish(table, promise, method)
        took = time.process_time() - began
        answer = release.count("age between 30 and 49 and job = 7")
        true = table.frame.filter(pl.col("age").is_between(30, 49) & (pl.col("job") == 7)).height
        note = f"{release.frame.height:,} counts; ages 30 to 49 with job 7: {answer.value:,.0f} in {answer.interval}, truly {true:,}"
        rows.append(Row(f"{name}, {ROWS:,} rows", floor, took, None, note))
        print(rows[-1].line(), flush=True)
    report("Public grids", "python -m benchmarks grid", rows)
