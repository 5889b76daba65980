"""The thesis' experiment with a changing table (spec 004, section 7): 60,000 people, -3,000 and +5,000 a release, 4,000 changes and 1,000 returns, 20 releases.

For every m: the hardened publisher (with its kinds of choice, and in batches beside boxes of ten people) and both printed baselines on the same months. Counterfeits, vulnerable people (whose signature changed because
their value did or because they returned), CP (mean share of the columns' ranges that boxes cover) and DCP (sum of squared group sizes).

Run: python -m benchmarks.reproduce_tau [share of the size, 1 by default] [m ...]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import reticent as rt
from benchmarks.republish import QUASI, SIZES, ChangingTable, history_of
from reticent.methods.series import PublishedSeries, SeriesRelease

RELEASES = 20
PUBLISHERS: dict[str, dict[str, Any]] = {
    "hardened": {},
    "hardened, random and blind": {"choice": "random", "balance": "blind"},
    "hardened, random, in blocks": {"choice": "random", "balance": "blocks"},
    "hardened, bang": {"choice": "bang"},
    "hardened, boxes of k = 10": {"k": 10},
    "tau": {"baseline": "tau"},
    "m-invariance": {"baseline": "m-invariance"},
}


def cp(release: SeriesRelease) -> float:
    """The mean over people of the share of each column's range that the own box covers, columns added up, a column."""
    spans = np.array([size - 1 for size in SIZES], dtype=float)
    shares = np.minimum((release.high - release.low) / spans, 1).sum(axis=1)
    return float(shares[release.box_of].mean() / len(QUASI))


def dcp(release: SeriesRelease) -> int:
    """The sum of squared group sizes, counterfeits included."""
    return int((release.sizes.astype(np.int64) ** 2).sum())


def vulnerable(series: PublishedSeries) -> list[int]:
    """How many people changed their signature between the release that they were last in and the next, release by release."""
    last: dict[object, frozenset[int]] = {}
    found = []
    for release in series:
        shown = [release.signature(group) for group in range(len(release))]
        now = {person: shown[group] for person, group in zip(release.people, release.group_of.tolist(), strict=True)}
        found.append(sum(person in last and last[person] != signature for person, signature in now.items()))
        last |= now
    return found


def months(scale: float, seed: int = 1) -> list[pl.DataFrame]:
    """The table of every release."""
    table, found = ChangingTable(seed, round(60_000 * scale)), []
    for _ in range(RELEASES):
        found.append(table.rows)
        table.change(round(3_000 * scale), round(5_000 * scale), round(4_000 * scale), round(1_000 * scale))
    return found


def run(frames: list[pl.DataFrame], m: int, options: dict[str, Any]) -> str:
    """One line of the table: all releases by one publisher."""
    table = ChangingTable(1, 1)
    with tempfile.TemporaryDirectory() as folder:
        history = history_of(table, Path(folder) / "history", m, **options)
        began, made_up, needed, eligible = time.perf_counter(), [], [], []
        try:
            for frame in frames:
                made = history.publish(frame)
                made_up.append(made.counterfeits)
                needed.append(made.change["needed"])
                eligible.append(made.change["eligibility"])
        except rt.Infeasible as stopped:
            return f"stopped at release {len(made_up) + 1}: {str(stopped)[:60]}"
        took = time.perf_counter() - began
        series = history.series
        moved = vulnerable(series)
        safe = rt.republish.check_tau_safety(series).holds
        last = series[-1]
        return (
            f"{sum(made_up):,} (bound {sum(needed):,}, for eligibility {sum(eligible):,}) | {np.mean(moved[1:]):,.0f} | {cp(last):.3f} | {dcp(last) / dcp(series[0]):.3f} | "
            f"{'yes' if safe else 'no'} | {took / len(frames):.2f}"
        )


def main(scale: str = "1", *sizes: str) -> None:
    """Print the table for some m."""
    frames = months(float(scale))
    print(
        "| m | publisher | counterfeits of 20 releases | vulnerable a release | CP of release 20 | DCP (20 / 1) | tau-safe | s a release |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for m in map(int, sizes or ("2", "4", "6", "8", "10")):
        for name, options in PUBLISHERS.items():
            print(f"| {m} | {name} | {run(frames, m, options)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
