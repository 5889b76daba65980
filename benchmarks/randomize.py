"""Randomized views against their floors (TARGETS.md): publishing, all 304,364 queries, and memory of a streamed view.

Run: python -m benchmarks.randomize
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.measuring import Row, best_of, report
from benchmarks.reproduce_alpha_beta import COLUMNS, adult, adult_domain
from reticent.methods.randomize import View, marginals, plan, publish

_STREAMED = """
import sys
import numpy as np, polars as pl
from reticent.methods.randomize import plan, publish_to
generator = np.random.default_rng(0)
frame = pl.DataFrame({f"c{i}": generator.integers(0, 100, 1_000_000) for i in range(6)}).unique()
made = plan(n=1_000_000, domain={f"c{i}": range(100) for i in range(6)}, k=25, gamma="1/5")
rows = publish_to(frame, made, sys.argv[1], dataset="people", ledger=sys.argv[1] + ".sqlite", files="parquet")
# ru_maxrss would begin with the memory of the process that started this one; the high-water mark is this one's own.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(rows, int(peak.split()[1]) // 1024)
"""


def rows() -> list[Row]:
    frame = adult()
    domain = adult_domain(frame)
    made = plan(n=frame.height, domain=domain, k=10, gamma="1/5")

    def published() -> View:
        view = publish(frame, made, duplicates="dedupe")
        _ = view.frame
        return view

    ours, view = best_of(5, published)
    floor, _ = best_of(5, lambda: view.frame.unique())
    found = [
        Row(
            f"publish the {len(view):,}-row view of Adult, secure randomness",
            floor,
            ours,
            5,
            "floor: unique() on the view",
        )
    ]
    asked = [list(columns) for width in (1, 2, 3) for columns in combinations(COLUMNS, width)]

    def grouped() -> int:
        return sum(view.frame.group_by(columns).len().height for columns in asked)

    floor, _ = best_of(5, grouped)
    ours, answered = best_of(5, lambda: sum(each.values.size for each in marginals(view)))
    found.append(
        Row(f"{answered:,} counting queries with standard errors", floor, ours, 1.5, f"floor: {len(asked)} group-bys")
    )
    ours, answered = best_of(3, lambda: sum(view.group_by(columns, intervals=False).height for columns in asked))
    found.append(
        Row(f"{answered:,} with bounds, as {len(asked)} tables with their values", floor, ours, 1.5, "floor: the same")
    )
    pair = ["age", "education"]
    floor, _ = best_of(5, lambda: view.frame.group_by(pair).len())
    ours, cells = best_of(3, lambda: view.group_by(pair).height)
    found.append(
        Row(f"{cells:,} groups by age and education with exact intervals", floor, ours, None, "floor: group-by")
    )
    return found


def streamed() -> tuple[int, int]:
    """Rows of a view written in chunks by a process of its own, and the most memory it had, in megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        done: Any = subprocess.run(
            [sys.executable, "-c", _STREAMED, str(Path(folder) / "view")], capture_output=True, text=True, check=True
        )
    written, megabytes = map(int, done.stdout.split())
    return written, megabytes


def main(with_stream: bool = True) -> None:
    report("Randomized views", "python -m benchmarks.randomize", rows())
    if with_stream:
        written, megabytes = streamed()
        print(
            f"Streamed {written:,} rows with at most {megabytes:,} MB (target 1,024 MB): {'yes' if megabytes <= 1024 else 'no'}"
        )


if __name__ == "__main__":
    main("--no-stream" not in sys.argv)
