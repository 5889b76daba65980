"""Republishing a table that changes (TARGETS.md): publication and commit of a release, beside the group-by of the same table.

Run: python -m benchmarks republish [people] [months] [m]
"""

from __future__ import annotations

import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import reticent as rt
from benchmarks.measuring import Row, group_by_floor, report

QUASI = ("age", "capital_gain", "fnlwgt")
SIZES = (94, 5, 127)
TARGET = 60


@dataclass
class ChangingTable:
    """People with an age, two more quasi values and one of 50 occupations (Zipf 0.5), who come, go and change (spec 004, section 7)."""

    seed: int
    people: int
    values: int = 50

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        weights = 1 / np.sqrt(np.arange(1, self.values + 1))
        self.weights = weights / weights.sum()
        self.domain = np.array([f"job{number:02d}" for number in range(self.values)])
        self.following = 0
        self.rows = self.new(self.people)
        self.away = self.rows.clear()

    def new(self, many: int) -> pl.DataFrame:
        """People who were never there."""
        ids = np.arange(self.following, self.following + many)
        self.following += many
        drawn = {name: self.rng.integers(0, size, many) for name, size in zip(QUASI, SIZES, strict=True)}
        return pl.DataFrame(
            {"id": ids, **drawn, "job": self.domain[self.rng.choice(self.values, many, p=self.weights)]}
        )

    def change(self, leave: int, arrive: int, update: int, back: int) -> None:
        """A month: some leave, some change (a year older, other values kept or drawn anew), some of those who left come back, some arrive."""
        order = self.rng.permutation(self.rows.height)
        gone, moved = order[:leave], order[leave : leave + update]
        stay = np.ones(self.rows.height, dtype=bool)
        stay[gone] = False
        columns: dict[str, Any] = {name: self.rows[name].to_numpy().copy() for name in (*QUASI, "job")}
        columns["age"][moved] = np.minimum(columns["age"][moved] + 1, SIZES[0] - 1)
        for name, size in zip(QUASI[1:], SIZES[1:], strict=True):
            other = self.rng.random(update) < 0.5
            columns[name][moved[other]] = self.rng.integers(0, size, int(other.sum()))
        columns["job"][moved] = self.domain[self.rng.integers(0, self.values, update)]
        left = self.rows[gone]
        rows = self.rows.with_columns(**{name: pl.Series(name, values) for name, values in columns.items()}).filter(
            pl.Series(stay)
        )
        returns = self.rng.permutation(self.away.height)[:back]
        kept = np.ones(self.away.height, dtype=bool)
        kept[returns] = False
        self.rows = pl.concat([rows, self.away[returns], self.new(arrive)])
        self.away = pl.concat([self.away.filter(pl.Series(kept)), left])


def history_of(table: ChangingTable, folder: str | Path, m: int, **options: Any) -> rt.republish.History:
    """A new history of a changing table."""
    ranges = {name: (0, size - 1) for name, size in zip(QUASI, SIZES, strict=True)}
    return rt.republish.History.open(
        folder,
        m=m,
        key="id",
        sensitive="job",
        quasi=dict.fromkeys(QUASI),
        domain=table.domain.tolist(),
        ranges=ranges,
        ledger=Path(folder) / "ledger.sqlite",
        **options,
    )


def _warm_up(m: int) -> None:
    """Publish three small releases, so that machine code is loaded before anything is measured."""
    table = ChangingTable(2, 2000)
    with tempfile.TemporaryDirectory() as folder:
        history = history_of(table, Path(folder) / "history", m)
        for _ in range(3):
            history.publish(table.rows)
            table.change(60, 60, 60, 20)


def main(people: str = "1000000", months: str = "24", m: str = "4") -> None:
    """Publish every month of a table of which a tenth changes, and report the first, the median and the slowest release, warm."""
    _warm_up(int(m))
    table, size = ChangingTable(1, int(people)), int(people)
    taken, floors, made_up = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        history = history_of(table, Path(folder) / "history", int(m))
        for month in range(int(months)):
            floors.append(group_by_floor(table.rows, QUASI))
            began = time.perf_counter()
            made = history.publish(table.rows)
            taken.append(time.perf_counter() - began)
            made_up.append(made.counterfeits)
            print(f"{month + 1}: {taken[-1]:.2f} s, {taken[-1] / floors[-1]:.1f} G, {made.change}", flush=True)
            table.change(3 * size // 100, 3 * size // 100, 3 * size // 100, size // 100)
        began = time.perf_counter()
        holds = history.check().holds
        checked = time.perf_counter() - began
    later = np.argsort(taken[1:])[len(taken[1:]) // 2] + 1 if len(taken) > 1 else 0
    slow = int(np.argmax(np.array(taken[1:]) / np.array(floors[1:]))) + 1 if len(taken) > 1 else 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    rows = [
        Row(f"first release, {size:,} people, m={m}", floors[0], taken[0], TARGET, f"{made_up[0]} counterfeits"),
        Row("later release, median", floors[later], taken[later], TARGET, f"{made_up[later]} counterfeits"),
        Row("later release, slowest", floors[slow], taken[slow], TARGET, f"peak {peak} MB, {months} releases"),
        Row("rules of the whole series checked", floors[-1], checked, None, f"holds: {holds}"),
    ]
    report("Republishing", f"python -m benchmarks republish {people} {months} {m}", rows)
