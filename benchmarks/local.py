"""Local recoding against the floor G (TARGETS.md). Run ``python -m benchmarks local``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.measuring import Row, best_of, group_by_floor, report
from benchmarks.search import Data, adult, ihis, ten_million
from reticent.anonymize import Mondrian
from reticent.anonymize.mondrian.judging import Judge
from reticent.anonymize.mondrian.partition import Partition
from reticent.data import Groups
from reticent.definitions import (
    Assessment,
    Definition,
    DeltaDisclosure,
    DistinctLDiversity,
    KAnonymity,
    KMap,
    TCloseness,
    WorstCaseKnowledge,
)
from reticent.engine import LocalEngine


@dataclass(frozen=True)
class LargestDifference(Definition):
    """No single value's share differs from the table's by more than ``t``: what the tool behind the 0.121 calls t-closeness."""

    t: float

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        shares = groups.reference / groups.reference.sum()
        cells = groups.histograms
        own = cells.counts / groups.sizes[cells.owners]
        worst = np.zeros(len(groups))
        np.maximum.at(worst, cells.owners, np.abs(own - shares[cells.values]))
        return worst > self.t

    def assess(self, groups: Groups) -> Assessment:
        return Assessment(self, self.holds(groups), None)

    def meaning(self) -> str:
        return ""

    def not_covered(self) -> str:
        return ""


def whole(data: Data, definition: Definition):
    return Mondrian().draft(data.table(), definition)


def partition_only(data: Data, definition: Definition) -> int:
    frequencies = LocalEngine().frequencies(data.table(), sensitive=definition.needs_sensitive)
    return int(Partition(frequencies, Judge(frequencies, definition), "span", False, "sets").run().max()) + 1


def main(*names: str) -> None:
    rows, data = [], adult()
    floor = group_by_floor(data.frame, list(data.quasi))
    jobs: list[tuple[str, Definition, float | None]] = [
        ("Adult x 8, k=5, draft with exact value sets", KAnonymity(5), 20),
        ("Adult x 8, k=5 + distinct 3", KAnonymity(5) & DistinctLDiversity(3), 40),
        ("Adult x 8, k=5 + largest difference 0.2 (the other tool's t)", KAnonymity(5) & LargestDifference(0.2), 40),
        ("Adult x 8, k=5 + t=0.2 (earth mover's distance)", KAnonymity(5) & TCloseness("0.2"), 40),
        (
            "Adult x 8, k=5 + any 2 facts below 0.5 (all groups together)",
            KAnonymity(5) & WorstCaseKnowledge("0.5", 2),
            None,
        ),
        ("Adult x 8, k=5 + delta-disclosure 3 (not monotone)", KAnonymity(5) & DeltaDisclosure(3), None),
        ("Adult x 8, 20-map in Adult twice over (a population)", KMap(20, pl.concat([data.frame, data.frame])), None),
    ]
    for job, definition, target in jobs:
        ours, draft = best_of(5, lambda d=definition: whole(data, d))
        note = f"loss {draft.utility['loss']:.4f}, {len(draft.groups)} groups"
        rows.append(Row(job, floor, ours, target, note))
        print(rows[-1].line(), flush=True)
    sizes = {"ihis_synth 1,193,504 x 9": ihis, "10 million x 8": ten_million}
    per_row = best_of(5, lambda: partition_only(data, KAnonymity(5)))[0] / data.frame.height
    for job, make in sizes.items():
        if names and not any(name in job for name in names):
            continue
        large = make()
        # Twice, so that the compiled loops are there the second time.
        ours, groups = best_of(2, lambda d=large: partition_only(d, KAnonymity(5)))
        growth = ours / large.frame.height / per_row
        note = f"{groups} groups; time per row {growth:.2f} x Adult's (target 2)"
        rows.append(Row(f"{job}, k=5, partition", group_by_floor(large.frame, list(large.quasi)), ours, None, note))
        print(rows[-1].line(), flush=True)
    report("Local recoding", "python -m benchmarks local", rows)


if __name__ == "__main__":
    main()
