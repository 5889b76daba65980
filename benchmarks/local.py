"""Local recoding against the floor G (TARGETS.md). Run ``python -m benchmarks local``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.measuring import Row, best_of, group_by_floor, report
from benchmarks.search import Data, adult, ihis, ten_million
from reticent.core import Groups
from reticent.definitions import (
    GENERAL,
    Assessment,
    ClaimScope,
    DeltaDisclosure,
    DistinctLDiversity,
    GroupDefinition,
    KAnonymity,
    KMap,
    TCloseness,
    WorstCaseKnowledge,
)
from reticent.engine import count_table
from reticent.methods.mondrian import Mondrian
from reticent.methods.mondrian.allowed_cuts import CutJudge
from reticent.methods.mondrian.partition import Partition
from reticent.table import Hierarchy
from reticent.utility import utility_of


@dataclass(frozen=True)
class LargestDifference(GroupDefinition):
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

    def promise(self, scope: ClaimScope) -> str:
        return ""

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return ""


def partition_only(data: Data) -> int:
    definition = KAnonymity(5)
    frequencies = count_table(data.table(), sensitive=definition.needs_sensitive)
    return int(Partition(frequencies, CutJudge(frequencies, definition), "span", False, "sets").run().max()) + 1


def postcodes() -> Data:
    """A million people with a postcode, a birthday and a sex: columns of more values than groups have rows."""
    chance, rows = np.random.default_rng(1), 1_000_000
    sizes = {"postcode": 40_000, "birthday": 25_000, "sex": 2}
    frame = pl.DataFrame({name: chance.integers(0, size, rows) for name, size in sizes.items()})
    return Data(frame, dict.fromkeys(sizes, Hierarchy.suppression()), ())


def main(*names: str) -> None:
    rows, data = [], adult()
    floor = group_by_floor(data.frame, list(data.quasi))
    jobs: list[tuple[str, GroupDefinition, Mondrian, float | None]] = [
        ("Adult x 8, k=5, draft with exact value sets", KAnonymity(5), Mondrian(values="sets"), 20),
        ("Adult x 8, k=5 + distinct 3", KAnonymity(5) & DistinctLDiversity(3), Mondrian(values="sets"), 40),
        (
            "Adult x 8, k=5 + largest difference 0.2 (the other tool's t)",
            KAnonymity(5) & LargestDifference(0.2),
            Mondrian(values="sets"),
            40,
        ),
        (
            "Adult x 8, k=5 + t=0.2 (earth mover's distance)",
            KAnonymity(5) & TCloseness("0.2"),
            Mondrian(values="sets"),
            40,
        ),
        (
            "Adult x 8, k=5 + any 2 facts below 0.5 (all groups together)",
            KAnonymity(5) & WorstCaseKnowledge("0.5", 2),
            Mondrian(values="sets"),
            None,
        ),
        (
            "Adult x 8, k=5 + delta-disclosure 3 (not monotone)",
            KAnonymity(5) & DeltaDisclosure(3),
            Mondrian(values="sets"),
            None,
        ),
        (
            "Adult x 8, 20-map in Adult twice over (a population)",
            KMap(20, pl.concat([data.frame, data.frame])),
            Mondrian(values="sets"),
            None,
        ),
        ("Adult x 8, k=5, columns by least loss", KAnonymity(5), Mondrian(split="loss"), None),
        ("Adult x 8, k=5, ties divided", KAnonymity(5), Mondrian(ties="divide"), None),
        ("Adult x 8, k=5, ranges", KAnonymity(5), Mondrian(values="ranges"), None),
        ("Adult x 8, k=5, nodes (ARX local: 0.105)", KAnonymity(5), Mondrian(values="hierarchy"), None),
    ]
    for job, definition, method, target in jobs:
        ours, draft = best_of(5, lambda d=definition, m=method: m.draft(data.table(), d))
        note = f"loss {utility_of(draft)['loss']:.4f}, {len(draft.evidence.published)} groups"
        rows.append(Row(job, floor, ours, target, note))
        print(rows[-1].line(), flush=True)
    sizes = {"ihis_synth 1,193,504 x 9": ihis, "10 million x 8": ten_million, "1 million x 3 of many values": postcodes}
    steps = {
        "partition": partition_only,
        "draft": lambda d: len(Mondrian(values="sets").draft(d.table(), KAnonymity(5)).evidence.published),
    }
    per_row = {step: best_of(5, lambda run=run: run(data))[0] / data.frame.height for step, run in steps.items()}
    for job, make in sizes.items():
        if names and not any(name in job for name in names):
            continue
        large = make()
        floor = group_by_floor(large.frame, list(large.quasi))
        for step, run in steps.items():
            # Twice, so that the compiled loops are there the second time.
            ours, groups = best_of(2, lambda d=large, run=run: run(d))
            growth = ours / large.frame.height / per_row[step]
            note = f"{groups} groups; time per row {growth:.2f} x Adult's (target 2)"
            rows.append(Row(f"{job}, k=5, {step}", floor, ours, None, note))
            print(rows[-1].line(), flush=True)
    report("Local recoding", "python -m benchmarks local", rows)


if __name__ == "__main__":
    main()
