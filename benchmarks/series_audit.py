"""The audit of a series: a million people followed through many releases, in units of G an earlier release.

``python -m benchmarks series_audit [people] [releases]``. Series are made here, without the publisher: ``kept`` keeps signatures (groups are drawn anew each month, so nothing
can be ruled out, but everything must be looked at), ``separate`` draws groups of any four different values each month, so that nearly everybody's value follows.
"""

from __future__ import annotations

import resource
import time

import numpy as np
import polars as pl

import reticent as rt
from benchmarks.measuring import Row, group_by_floor, report
from reticent.methods.series import EventKind, PublishedSeries, SeriesRelease

M, BLOCKS = 4, 12
QUASI = ("age", "place", "sex")


def made_series(
    people: int, releases: int, changes: float = 0.1, *, kept: bool = True, seed: int = 1
) -> PublishedSeries:
    """A series in which a tenth of the people changes every month: 4 % the value, 3 % leave, 3 % come."""
    draw = np.random.default_rng(seed)
    domain = M * BLOCKS
    everybody = int(people * (1 + 0.3 * changes * releases))
    keys = pl.Series("id", np.char.add("person-", np.char.zfill(np.arange(everybody).astype(str), 8)))
    value = draw.integers(0, domain, everybody)
    quasi = pl.DataFrame(
        {
            "age": draw.integers(0, 100, everybody),
            "place": draw.integers(0, 500, everybody),
            "sex": draw.integers(0, 2, everybody),
        }
    )
    here = np.arange(people)
    made = []
    for number in range(1, releases + 1):
        events = np.full(everybody, EventKind.UNCHANGED, dtype=np.uint8)
        if number == 1:
            events[:] = EventKind.INSERTED
        else:
            draw.shuffle(here)
            leave, come = int(0.3 * changes * people), int(0.3 * changes * people)
            left, here = here[:leave], np.concatenate([here[leave:], np.arange(here.max() + 1, here.max() + 1 + come)])
            changed = here[: int(0.4 * changes * people)]
            block = (value[changed] // M + draw.integers(1, BLOCKS, len(changed))) % BLOCKS
            value[changed] = block * M + draw.integers(0, M, len(changed))
            events[changed] = EventKind.SENSITIVE_UPDATED
            events[here[-come:]] = EventKind.INSERTED
        gone = keys.gather(left) if number > 1 else keys.clear()
        made.append(_release(number, here, value, events, keys, quasi, gone, draw, kept))
    return PublishedSeries(tuple(f"v{code}" for code in range(domain)), M, "illness", dict.fromkeys(QUASI), made)


def _release(number, here, value, events, keys, quasi, gone, draw, kept):  # type: ignore[no-untyped-def]
    mine = value[here]
    names = np.arange(M * BLOCKS) if kept else draw.permutation(M * BLOCKS)
    place = names[mine]
    order = draw.permutation(len(here))
    order = order[np.argsort(place[order], kind="stable")]
    counts = np.bincount(place, minlength=M * BLOCKS)
    rank = np.empty(len(here), dtype=np.int64)
    rank[order] = np.arange(len(here)) - np.repeat(np.cumsum(counts) - counts, counts)
    fullest = counts.reshape(BLOCKS, M).max(axis=1)
    group = (np.cumsum(fullest) - fullest)[place // M] + rank
    shown = np.sort(np.argsort(names).reshape(BLOCKS, M), axis=1)
    values = shown[np.repeat(np.arange(BLOCKS), fullest)].ravel()
    groups = int(fullest.sum())
    boxes = np.zeros((groups, len(QUASI)))
    return SeriesRelease(
        number,
        keys.gather(here),
        group,
        mine,
        quasi[here],
        events[here],
        gone,
        np.arange(groups + 1) * M,
        values,
        M - np.bincount(group, minlength=groups),
        boxes,
        boxes,
    )


def main(people: str = "1000000", releases: str = "24") -> None:
    rows = []
    for kept in (True, False):
        series = made_series(int(people), int(releases), kept=kept)
        rt.attacks.series(series[:1], mode="fixpoint")
        before = group_by_floor(series[0].quasi, QUASI)
        start = time.perf_counter()
        learned = rt.attacks.series(series, mode="fixpoint")
        found = f"greatest chance {learned.highest}, {len(learned.disclosed):,} disclosed"
        seconds = (time.perf_counter() - start) / (len(series) - 1)
        # A machine that others slow down slows the floor too: it is taken before and after.
        floor = (before + group_by_floor(series[0].quasi, QUASI)) / 2
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        name = "signatures kept" if kept else "groups separate"
        job = f"audit of {int(people):,} people, {len(series)} releases, {name}"
        rows.append(Row(job, floor, seconds, 30.0, f"an earlier release; {found}; {peak:.1f} GB"))
    report("The audit of a series", f"python -m benchmarks series_audit {people} {releases}", rows)
