"""Speed of worst-case knowledge (spec 001 E5, TARGETS "Assessing"): a million groups, and all 72 nodes of Adult.

Run ``python benchmarks/knowledge.py``; the rows are appended to the history of runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.adult import SHARED
from benchmarks.measuring import Row, best_of, report
from benchmarks.reproduce_knowledge import adult
from reticent.core import Groups, Histograms, SensitiveDomain
from reticent.knowledge.bucketization_search import Rollup
from reticent.table import SensitiveColumn
from reticent.worst_case import Buckets, curve

GROUPS, VALUES, FACTS = 1_000_000, 14, 12
ADULT_SECONDS = 0.5


def distinct_histograms(groups: int) -> NDArray[np.int64]:
    """Counts of 14 values in each of many groups, no two groups alike."""
    generator = np.random.default_rng(1)
    counts = generator.geometric(0.2, size=(8 * groups // 5, VALUES)).astype(np.int64)
    ordered = np.sort(counts, axis=1)
    keys = ordered @ generator.integers(1, 2**62, size=VALUES).astype(np.int64)
    _, first = np.unique(keys, return_index=True)
    if len(first) < groups:
        raise SystemExit(f"Only {len(first)} different histograms were drawn.")
    return counts[np.sort(first)[:groups]]


def million_groups() -> Row:
    """The floor is the group-by that makes the groups: the rows, sorted by group as the most favourable case."""
    counts = distinct_histograms(GROUPS)
    rows = pl.DataFrame(
        {
            "group": np.repeat(np.arange(GROUPS, dtype=np.int32), counts.sum(axis=1)),
            "value": np.repeat(np.tile(np.arange(VALUES, dtype=np.int8), GROUPS), counts.ravel()),
        }
    )
    floor, _ = best_of(5, lambda: rows.group_by("group").len())
    column = SensitiveColumn("value", pl.Series("value", [str(value) for value in range(VALUES)]))
    histograms = Histograms(
        np.arange(0, GROUPS * VALUES + 1, VALUES), np.tile(np.arange(VALUES, dtype=np.int32), GROUPS), counts.ravel()
    )
    sizes = counts.sum(axis=1)

    def audit() -> list[object]:
        groups = Groups(sizes, histograms, counts.sum(axis=0), SensitiveDomain.single(column))
        return list(curve(Buckets.of(groups), FACTS))

    ours, found = best_of(5, audit)
    return Row(
        f"{GROUPS:,} distinct groups of {VALUES} values ({len(rows):,} rows), exact curve k <= {FACTS}",
        floor,
        ours,
        5,
        f"D(12) = {float(found[-1]):.6f}",  # type: ignore[arg-type]
    )


def adult_nodes() -> Row:
    """All 72 nodes: the curves of groups that are there; the target is in seconds, so the floor is one second."""
    rollup = Rollup(adult())
    every = [rollup(node) for node in rollup.lattice.nodes()]

    def audit() -> int:
        return sum(curve(groups, FACTS)[-1] < 1 for groups in every)

    ours, found = best_of(5, audit)
    return Row(f"all 72 Adult nodes, exact curves k <= {FACTS} (seconds)", 1.0, ours, ADULT_SECONDS, f"{found} below 1")


def adult_with_rollup() -> Row:
    """The same with the roll-up of all nodes."""
    floor, frequencies = best_of(3, adult)

    def audit() -> None:
        rollup = Rollup(frequencies)
        for node in rollup.lattice.nodes():
            curve(rollup(node), FACTS)

    ours, _ = best_of(3, audit)
    return Row(
        "all 72 Adult nodes rolled up from the finest, and audited (floor: reading and counting)", floor, ours, None
    )


def main() -> int:
    rows = [million_groups()]
    if SHARED.is_dir():
        rows += [adult_nodes(), adult_with_rollup()]
    report("Worst-case knowledge", "python benchmarks/knowledge.py", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
