"""Clusters beside Mondrian and Lattice: loss and time on Adult, time and memory of 1.19 million rows. Run ``python -m benchmarks clustering [adult|ihis]``."""

from __future__ import annotations

import resource
from typing import Any

from benchmarks.measuring import Row, best_of, group_by_floor, report
from benchmarks.search import Data, adult, ihis
from reticent.anonymize import Cellular, Gather, Lattice, Mondrian
from reticent.definitions import DistinctLDiversity, GroupDefinition, KAnonymity

_BOTH = KAnonymity(5) & DistinctLDiversity(3)


def _measured(job: str, data: Data, definition: GroupDefinition, method: Any, floor: float, times: int) -> Row:
    ours, draft = best_of(times, lambda: method.draft(data.table(), definition))
    figures = draft.search
    note = f"loss {draft.utility['loss']:.4f}, {len(draft.evidence.published)} groups"
    if figures.get("lower_bound"):
        note += f", radius {figures['radius']:.3f}, lower bound {figures['lower_bound']:.3f}, {figures['parts']} parts"
    row = Row(job, floor, ours, None, note)
    print(row.line(), flush=True)
    return row


def _on_adult() -> list[Row]:
    data = adult()
    floor = group_by_floor(data.frame, list(data.quasi))
    methods: list[tuple[str, GroupDefinition, Any]] = [
        ("Mondrian, sets", KAnonymity(5), Mondrian()),
        ("Mondrian, nodes", KAnonymity(5), Mondrian(values="hierarchy")),
        ("Lattice, 5 %", KAnonymity(5), Lattice(suppression="0.05")),
        ("Gather", KAnonymity(5), Gather(r=5)),
        ("Gather, ages to the year", KAnonymity(5), Gather(r=5, grid={"age": 1})),
        ("Gather, 2 % left out", KAnonymity(5), Gather(r=5, epsilon="0.02")),
        ("Gather, neighbours (MDAV)", KAnonymity(5), Gather(r=5, grouping="neighbours")),
        ("Gather, distinct 3", _BOTH, Gather(r=5)),
        ("Cellular", KAnonymity(5), Cellular(r=5)),
    ]
    return [
        _measured(f"Adult x 8, k=5: {name}", data, definition, method, floor, 1) for name, definition, method in methods
    ]


def _on_ihis() -> list[Row]:
    data = ihis()
    floor = group_by_floor(data.frame, list(data.quasi))
    methods = {"Gather": Gather(r=5), "Gather, neighbours (MDAV)": Gather(r=5, grouping="neighbours")}
    rows = []
    for name, method in methods.items():
        row = _measured(f"ihis_synth 1,193,504 x 9, k=5: {name}", data, KAnonymity(5), method, floor, 1)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append(Row(row.job, row.floor, row.ours, None, f"{row.note}; {most:,.0f} MB at most"))
        print(rows[-1].line(), flush=True)
    return rows


def main(*names: str) -> None:
    rows = [
        *(_on_adult() if not names or "adult" in names else []),
        *(_on_ihis() if not names or "ihis" in names else []),
    ]
    report("Clusters", "python -m benchmarks clustering", rows)


if __name__ == "__main__":
    main()
