"""Rows that come to a Bang index and leave it, beside building it anew. Run ``python -m benchmarks bang changes``."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from typing import TypeVar

import numpy as np
import polars as pl

from benchmarks.measuring import HISTORY
from reticent.methods.bang import Bang
from reticent.table import Table

Found = TypeVar("Found")
_ROWS = 1_000_000


def table(n: int, seed: int) -> Table:
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": draw.integers(0, 100, n),
            "income": draw.lognormal(10, 0.5, n).astype(np.int64) // 100,
            "zip": draw.integers(10_000, 20_000, n),
            "illness": draw.choice(["flu", "cold", "gout", "ulcer"], n),
        }
    )
    return Table(frame, quasi=["age", "income", "zip"], sensitive="illness")


def timed(work: Callable[[], Found]) -> tuple[float, Found]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def main() -> None:
    small = Bang().build(table(150_000, 9))
    small.insert(table(120_000, 8)).delete(table(120_000, 8))  # loops are compiled and kept
    one = table(_ROWS, 1)
    whole = Table(pl.concat([one.frame, table(100_000, 2).frame]), quasi=["age", "income", "zip"], sensitive="illness")
    built, index = timed(lambda: Bang().build(one))
    rebuilt, _ = timed(lambda: Bang().build(whole))
    lines = [
        f"| build of {_ROWS:,} rows | {built:.2f} | {len(index.directory):,} |",
        f"| build of {_ROWS + 100_000:,} rows | {rebuilt:.2f} | |",
    ]
    for n in (10, 1_000, 10_000, 100_000):
        batch = table(n, 2)
        came, grown = timed(lambda batch=batch: index.insert(batch))
        left, _ = timed(lambda grown=grown, batch=batch: grown.delete(batch))
        lines.append(f"| {n:,} rows come | {came:.2f} | {len(grown.directory):,} |")
        lines.append(f"| and leave again | {left:.2f} | |")
    head = ["| work | seconds of the processor, counting the rows included | blocks |", "|---|---|---|"]
    title = f"## Bang: rows come to an index of a million and leave it ({date.today().isoformat()}, under load)"
    print("\n".join([*head, *lines]))
    with HISTORY.open("a", encoding="utf-8") as out:
        out.write("\n".join(["", title, "", "`python -m benchmarks bang changes`", "", *head, *lines, ""]))
