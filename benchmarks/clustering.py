"""Clusters beside Mondrian and Lattice: loss and time on Adult, time and memory of 1.19 million rows. Run ``python -m benchmarks clustering [adult|ihis]``."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measuring import Row, alone, best_of, group_by_floor, report
from benchmarks.search import Data, adult, ihis
from reticent.definitions import DistinctLDiversity, GroupDefinition, KAnonymity
from reticent.methods.clusters import Cellular, Gather
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.release import publish, verify
from reticent.utility import utility_of

_BOTH = KAnonymity(5) & DistinctLDiversity(3)


def _measured(job: str, data: Data, definition: GroupDefinition, method: Any, floor: float, times: int) -> Row:
    ours, draft = best_of(times, lambda: method.draft(data.table(), definition))
    figures = draft.search
    note = f"loss {utility_of(draft)['loss']:.4f}, {len(draft.evidence.published)} groups"
    if figures.get("lower_bound"):
        note += f", radius {figures['radius']:.3f}, lower bound {figures['lower_bound']:.3f}, {figures['parts']} parts"
    row = Row(job, floor, ours, None, note)
    print(row.line(), flush=True)
    return row


def _on_adult() -> list[Row]:
    data = adult()
    floor = group_by_floor(data.frame, list(data.quasi))
    methods: list[tuple[str, GroupDefinition, Any]] = [
        ("Mondrian, sets", KAnonymity(5), Mondrian(values="sets")),
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


_LARGE = {
    "Gather": Gather(r=5),
    "Gather, neighbours (MDAV)": Gather(r=5, grouping="neighbours"),
    "Cellular": Cellular(r=5),
}


def _on_ihis() -> list[Row]:
    data = ihis()
    floor = group_by_floor(data.frame, list(data.quasi))
    rows = []
    for name in _LARGE:
        seconds, used, note = alone(_published, name)
        rows.append(Row(f"ihis_synth 1,193,504 x 9, k=5: {name}", floor, seconds, None, f"{note}; {used}"))
        print(rows[-1].line(), flush=True)
    return rows


def _published(name: str) -> str:
    """Publish, save and verify in this process."""
    release = publish(ihis().table(), KAnonymity(5), _LARGE[name])
    processor = time.process_time()
    with TemporaryDirectory() as folder:
        saved = release.save(Path(folder) / "release")
        before = time.process_time()
        assert verify(saved).holds
    told = release.private.search
    return (
        f"loss {release.private.utility['loss']:.4f}, {told['clusters']:,} clusters, {told['groups']:,} on the grid, largest radius {told['radius']:.3f}, {told['parts']:,} parts; "
        f"publish {processor:,.0f} s, save {before - processor:.1f} s, verify {time.process_time() - before:.1f} s of the processor"
    )


def main(*names: str) -> None:
    rows = [
        *(_on_adult() if not names or "adult" in names else []),
        *(_on_ihis() if not names or "ihis" in names else []),
    ]
    report("Clusters", " ".join(["python -m benchmarks clustering", *names]), rows)


if __name__ == "__main__":
    main()
