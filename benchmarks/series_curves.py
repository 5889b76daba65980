"""The thesis' curves over update rate, release number and m (spec 004, section 7): vulnerable people, errors of queries, counterfeits and seconds, of tau-safe series and m-invariance.
Beside them, on a table that only grows, the publishers after Sweeney and Byun: whose value is certain, and who waits.

Run: python -m benchmarks.series_curves [share of the size, 1/60 by default] [releases, 6 by default]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import reticent as rt
from benchmarks.reproduce_tau import vulnerable
from benchmarks.republish import QUASI, ChangingTable, history_of

PUBLISHERS: dict[str, dict[str, Any]] = {"tau-safe": {}, "m-invariance": {"baseline": "m-invariance"}}
RATES = (1_000, 5_000, 10_000, 20_000)
SIZES = (2, 6, 10)
QUERIES = 100
ARRIVALS = (1_000, 5_000, 20_000)
GROWING: dict[str, Any] = {
    "tau-safe": {},
    "m-invariance": {"baseline": "m-invariance"},
    "Sweeney, never finer": rt.baselines.SweeneyGroups(6),
    "Sweeney, all quasi": rt.baselines.SweeneyGroups(6, "all quasi"),
    "Byun": rt.baselines.ByunGroups(6),
}


def measured(options: dict[str, Any], scale: float, releases: int, rate: int, m: int) -> list[tuple[float, ...]]:
    """Of each release: vulnerable people, mean error of range queries, counterfeits, the least number of them, and seconds; fewer where a publisher stops."""
    table = ChangingTable(1, round(60_000 * scale))
    with tempfile.TemporaryDirectory() as folder:
        history = history_of(table, Path(folder) / "history", m, **options)
        taken = []
        for _ in range(releases):
            began = time.process_time()
            try:
                history.publish(table.rows, insecure_seed=1)
            except rt.Infeasible:
                break
            taken.append(time.process_time() - began)
            back = rate // 5
            table.change(*(round(each * scale) for each in (3_000, 5_000, rate - back, back)))
        series = history.series
        found = rt.reports.measure_series(series, rt.attacks.series(series, mode="fixpoint"), queries=QUERIES)
        moved = vulnerable(series)
        return [
            (moved[place], each.error, each.counterfeits, each.least_counterfeits, taken[place])
            for place, each in enumerate(found)
        ]


def main(scale: str = str(1 / 60), releases: str = "6") -> None:
    """Print the curves: over releases at the usual rate, over rates, and over m."""
    share, count = float(scale), int(releases)
    print("| curve | publisher | at | vulnerable | query error | counterfeits (least) | processor seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, options in PUBLISHERS.items():
        for place, found in enumerate(measured(options, share, count, 5_000, 6), start=1):
            print(_line("release", name, place, found), flush=True)
        for rate in RATES:
            print(_line("update rate", name, rate, _mean(measured(options, share, count, rate, 6))), flush=True)
        for m in SIZES:
            print(_line("m", name, m, _mean(measured(options, share, count, 5_000, m))), flush=True)
    print(
        "\n| a table that only grows: publisher | arrivals a release | certain | query error | waiting | processor seconds |"
    )
    print("|---|---|---|---|---|---|")
    for name, publisher in GROWING.items():
        for arrive in ARRIVALS:
            certain, error, waiting, seconds = grown(publisher, share, count, arrive)
            print(f"| {name} | {arrive:,} | {certain:,} | {error:.3f} | {waiting:,} | {seconds:.2f} |", flush=True)


def grown(publisher: Any, scale: float, releases: int, arrive: int, m: int = 6) -> tuple[float, ...]:
    """A table that only grows, after its last release: people whose value is certain, mean error of range queries, people who wait, and mean seconds a release."""
    table = ChangingTable(1, round(60_000 * scale))
    frames = [table.rows]
    for _ in range(releases - 1):
        table.change(0, round(arrive * scale), 0, 0)
        frames.append(table.rows)
    with tempfile.TemporaryDirectory() as folder:
        plain = isinstance(publisher, dict)
        history = history_of(table, Path(folder) / "history", m, **(publisher if plain else {}))
        began = time.process_time()
        waiting = 0
        if plain:
            for frame in frames:
                waiting = history.publish(frame, insecure_seed=1).waiting
        else:
            made = rt.baselines.publish_incrementally(publisher, frames, "id", QUASI, "job")
        taken = (time.process_time() - began) / releases
        if not plain:
            waiting = made[-1].waiting.height
            for each in made:
                history.import_release(each.rows, each.group.tolist())
        series = history.series
        attacked = rt.attacks.series(series, mode="fixpoint")
        found = rt.reports.measure_series(series, attacked, queries=QUERIES)
        return len(attacked.disclosed), found[-1].error, waiting, taken


def _mean(found: list[tuple[float, ...]]) -> tuple[float, ...]:
    """The mean over all releases but the first."""
    return tuple(np.mean(found[1:] or found, axis=0).tolist())


def _line(curve: str, name: str, at: int, found: tuple[float, ...]) -> str:
    moved, error, made_up, least, seconds = found
    return f"| {curve} | {name} | {at:,} | {moved:,.0f} | {error:.3f} | {made_up:,.1f} ({least:,.1f}) | {seconds:.2f} |"


if __name__ == "__main__":
    main(*sys.argv[1:])
