"""Full-domain search against the floor G (TARGETS.md). Run ``python -m benchmarks search [rows ...]``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.adult import SHARED
from benchmarks.measuring import Row, best_of, group_by_floor, report
from reticent.definitions import (
    Definition,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveLDiversity,
    TCloseness,
)
from reticent.methods.lattice import search
from reticent.table import Hierarchy, Table


@dataclass(frozen=True)
class Data:
    """A frame with hierarchies and the usual sensitive column."""

    frame: pl.DataFrame
    quasi: dict[str, Hierarchy]
    sensitive: str | tuple[str, ...]

    def table(self) -> Table:
        return Table(self.frame, quasi=self.quasi, sensitive=self.sensitive)


def _hierarchies(folder: str, prefix: str, columns: Iterable[str]) -> dict[str, Hierarchy]:
    return {name: Hierarchy.from_csv(SHARED / folder / f"{prefix}_hierarchy_{name}.csv") for name in columns}


def adult() -> Data:
    columns = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]
    frame = pl.read_csv(SHARED / "adult" / "adult.csv.gz", separator=";")
    return Data(frame, _hierarchies("adult", "adult", columns), "occupation")


def cps() -> Data:
    columns = ["age_head", "age_spouse", "fips", "MARS", "XTOT", "nu18", "n21"]
    return Data(pl.read_parquet(SHARED / "cps" / "cps.parquet"), _hierarchies("cps", "cps", columns), "agi_bin")


def ihis() -> Data:
    frame = pl.read_parquet(SHARED / "ihis_synth" / "ihis_synth.parquet")
    return Data(frame, _hierarchies("ihis_atus_hierarchies", "ihis", frame.columns), ())


def mach() -> Data:
    frame = pl.read_csv(SHARED / "mach2019_int" / "mach2019_int.csv.gz", separator=";")
    return Data(frame, _hierarchies("mach2019_int", "mach2019_int", frame.columns), ())


def ten_million() -> Data:
    """Adult rows drawn with replacement, age plus 0, 1 or 2."""
    small, rng = adult(), np.random.default_rng(1)
    rows = small.frame[rng.integers(0, small.frame.height, 10_000_000)]
    older = pl.Series(rng.integers(0, 3, rows.height))
    ages = Hierarchy.intervals([5, 10, 20], origin=0, domain=(1, 100))
    return Data(rows.with_columns(pl.col("age") + older), {**small.quasi, "age": ages}, "occupation")


JOBS: dict[str, list[tuple[str, Callable[[], Data], Definition, str, float, int]]] = {
    "adult": [
        ("Adult, k=5, 0 %", adult, KAnonymity(5), "0", 3, 5),
        ("Adult, k=5, 5 %", adult, KAnonymity(5), "0.05", 10, 5),
        ("Adult, k=5 + distinct 3, 5 %", adult, KAnonymity(5) & DistinctLDiversity(3), "0.05", 20, 5),
        ("Adult, k=5 + entropy 3, 5 %", adult, KAnonymity(5) & EntropyLDiversity(3), "0.05", 20, 5),
        ("Adult, k=5 + recursive (3,3), 5 %", adult, KAnonymity(5) & RecursiveLDiversity(3, 3), "0.05", 20, 5),
        ("Adult, k=5 + t=0.2 equal, 5 %", adult, KAnonymity(5) & TCloseness("0.2"), "0.05", 40, 5),
    ],
    "cps": [
        ("CPS 280,005 x 7, k=5, 0 %", cps, KAnonymity(5), "0", 8, 5),
        ("CPS 280,005 x 7, k=5, 5 %", cps, KAnonymity(5), "0.05", 30, 5),
    ],
    "ihis": [
        ("ihis_synth 1,193,504 x 9, k=5, 0 %", ihis, KAnonymity(5), "0", 25, 3),
        ("ihis_synth 1,193,504 x 9, k=5, 5 %", ihis, KAnonymity(5), "0.05", 120, 2),
    ],
    "ten_million": [("10 million x 8, k=5, 5 %", ten_million, KAnonymity(5), "0.05", 3, 3)],
}


def measure(names: list[str]) -> list[Row]:
    rows = []
    for name in names:
        data, floor = None, 0.0
        for job, make, definition, limit, target, times in JOBS[name]:
            data = data or make()
            floor = floor or group_by_floor(data.frame, list(data.quasi))
            ours, found = best_of(times, lambda d=data, x=definition, s=limit: search(d.table(), x, suppression=s))
            note = f"loss {found.best.objective:.4f}, {found.evaluated} of {found.nodes} nodes, proven {found.proven}"
            rows.append(Row(job, floor, ours, target, note))
            print(rows[-1].line(), flush=True)
    return rows


def anytime() -> None:
    """The lattice of 85 million nodes: loss after 5 and 60 seconds (ARX Lightning: 0.564 and 0.549)."""
    for seconds in (5, 60):
        found = search(mach().table(), KAnonymity(5), suppression="1", seconds=seconds)
        assert found.best is not None
        line = f"mach2019 73,489 x 16, {found.nodes} nodes, {seconds} s: loss {found.best.objective:.4f}, bound {found.bound:.4f}, {found.evaluated} evaluated"
        print(line, flush=True)


def main(*names: str) -> None:
    chosen = [name for name in names if name in JOBS] or list(JOBS)
    report("Full-domain search", f"python -m benchmarks search {' '.join(chosen)}", measure(chosen))
    if not names or "mach" in names:
        anytime()


if __name__ == "__main__":
    main(*sys.argv[1:])
