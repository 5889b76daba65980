"""Synthetic commuting flows of a whole large state: made-up flows of the size of California, streamed from a file with bounded memory.

No file of that size is at hand, so one is made: a seeded generator with public facts only (about 16 million jobs, half a million blocks in 8,000 tracts, sizes of workplaces with a long
tail, homes near work). What is measured is time and memory, not utility.

Run: python -m benchmarks.synthesize_state [JOBS] [FOLDER]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

JOBS, BLOCKS, TRACTS = 16_000_000, 500_000, 8_000
MEAN_SIZE, MEDIAN_SIZE = 60, 9
_AT_ONCE = 1_000_000
_FRESH = """
import json, sys, time
import reticent as rt
from reticent.base.context import Context
source, domain, groups, place, epsilon = sys.argv[1:6]
stages, began = {}, time.perf_counter()
def listen(event):
    stages.setdefault(event.stage, time.perf_counter() - began)
table = rt.read(source, quasi=["w_geocode"], sensitive="h_geocode", weight="S000", engine="streaming")
method = rt.Synthetic(groups=groups, domain=domain, public="made up")
release = rt.publish(table, rt.ProbabilisticDP(epsilon, "1e-5"), method, context=Context(listen=listen))
took = time.perf_counter() - began
release.save(place)
saved = time.perf_counter() - began
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"publish": took, "saved": saved, "processor": time.process_time(), "megabytes": int(peak.split()[1]) // 1024, "stages": stages}))
"""
_VERIFY = """
import json, sys, time
import reticent as rt
began = time.perf_counter()
found = rt.verify(sys.argv[1])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"verify": time.perf_counter() - began, "processor": time.process_time(), "holds": found.holds, "megabytes": int(peak.split()[1]) // 1024}))
"""


def make_state(folder: Path, jobs: int, blocks: int, tracts: int, seed: int = 2026) -> tuple[Path, Path, Path]:
    """Files of flows, of the domain and of the groups with their sizes. Blocks lie along a curve that passes through the tracts; most homes are near work."""
    chance = np.random.default_rng(seed)
    codes = np.char.add(
        np.char.zfill(np.repeat(np.arange(tracts), -(-blocks // tracts))[:blocks].astype(str), 11),
        np.char.zfill((1000 + np.arange(blocks) % (-(-blocks // tracts))).astype(str), 4),
    )
    names = pl.Series("h_geocode", codes.tolist())
    names.to_frame().write_parquet(folder / "domain.parquet")
    spread = np.sqrt(2 * np.log(MEAN_SIZE / MEDIAN_SIZE))
    sizes = np.ceil(chance.lognormal(np.log(MEDIAN_SIZE), spread, 3 * jobs // MEAN_SIZE)).astype(np.int64)
    sizes = sizes[np.cumsum(sizes) <= jobs][: int(0.8 * blocks)]
    work = np.sort(chance.choice(blocks, len(sizes), replace=False))
    pl.DataFrame([names.gather(work).alias("w_geocode"), pl.Series("size", sizes)]).write_parquet(
        folder / "groups.parquet"
    )
    schema = pa.schema([("w_geocode", pa.large_string()), ("h_geocode", pa.large_string()), ("S000", pa.int64())])
    with pq.ParquetWriter(folder / "flows.parquet", schema) as writer:
        for part in np.array_split(np.arange(len(sizes)), max(1, int(sizes.sum()) // _AT_ONCE)):
            place = np.repeat(work[part], sizes[part])
            far = np.exp(chance.normal(np.log(blocks / 80), 1.5, len(place))) * chance.choice([-1, 1], len(place))
            home = (place + np.rint(far).astype(np.int64)) % blocks
            flows = (
                pl.DataFrame({"w": place, "h": home})
                .group_by("w", "h", maintain_order=True)
                .agg(pl.len().cast(pl.Int64).alias("S000"))
            )
            shown = flows.select(
                names.gather(flows["w"]).alias("w_geocode"), names.gather(flows["h"]).alias("h_geocode"), "S000"
            )
            writer.write_table(shown.to_arrow().cast(schema))
    return folder / "flows.parquet", folder / "domain.parquet", folder / "groups.parquet"


def _said(code: str, *arguments: object, memory: str = "") -> dict[str, object]:
    """What a fresh process says; ``memory`` is what it may use, else as much as is free."""
    run = [sys.executable, "-c", code, *map(str, arguments)]
    allowed = {**os.environ, **({"RETICENT_MEMORY": memory} if memory else {})}
    done = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True, env=allowed)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main(jobs: int = JOBS, place: Path | None = None) -> None:
    """Make the state, publish it in a fresh process, verify it in another, and print what each took."""
    share = jobs / JOBS
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder, began = Path(name), time.perf_counter()
        flows, domain, groups = make_state(folder, jobs, max(1000, int(BLOCKS * share)), max(16, int(TRACTS * share)))
        sizes = pl.read_parquet(groups)["size"]
        rows, values = pl.scan_parquet(flows).select(pl.len()).collect().item(), pl.read_parquet(domain).height
        print(
            f"{sizes.sum():,} jobs in {rows:,} rows, {len(sizes):,} work blocks of {sizes.n_unique():,} sizes (largest {sizes.max():,}), {values:,} home blocks; "
            f"{flows.stat().st_size / 2**20:.0f} MB; made in {time.perf_counter() - began:.0f} s",
            flush=True,
        )
        print(_said(_FRESH, flows, domain, groups, folder / "release", "8.6"), flush=True)
        for memory in ("", "1500MB"):
            print(memory or "all memory", _said(_VERIFY, folder / "release", memory=memory), flush=True)


if __name__ == "__main__":
    main(*(int(each) for each in sys.argv[1:2]), *(Path(each) for each in sys.argv[2:3]))
