"""The whole command on a large file: `reticent publish` and `verify` against W. Run ``python -m benchmarks command [rounds] [checkout ...]``.

W is what polars needs to read the CSV file, shuffle its rows and write them. The rows are the 1.19 million of ihis_synth; k=5, 5 % suppression,
loss. With several checkouts (default: this one) each is measured in turn with W, round after round.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.adult import SHARED
from benchmarks.measuring import Row, report
from benchmarks.search import ihis

_HERE = Path(__file__).resolve().parents[1]
_ROUNDS = 3
_POLICY = """
[data]
source = "rows.csv"
[roles]
quasi = {quasi}
{hierarchies}
[definition]
name = "KAnonymity"
k = 5
[method]
name = "Lattice"
suppression = "0.05"
"""
# Reading and importing polars is no part of W: the command's own start is measured with it.
_FLOOR = """
import sys, time
import polars as pl
start, used = time.perf_counter(), time.process_time()
pl.read_csv(sys.argv[1]).sample(fraction=1.0, shuffle=True).write_csv(sys.argv[2])
print(time.perf_counter() - start, time.process_time() - used)
"""
_RETICENT = "import sys; from reticent.cli import main; sys.argv[0] = 'reticent'; sys.exit(main())"


def write_job(folder: Path) -> None:
    """The rows as a CSV file, and a policy beside them."""
    data = ihis()
    data.frame.write_csv(folder / "rows.csv")
    files = "\n".join(
        f'[hierarchies."{name}"]\nkind = "csv"\nfile = "{SHARED / "ihis_atus_hierarchies" / f"ihis_hierarchy_{name}.csv"}"'
        for name in data.quasi
    )
    (folder / "policy.toml").write_text(_POLICY.format(quasi=list(data.quasi), hierarchies=files))


def floor(folder: Path) -> tuple[float, float]:
    """W in seconds on the clock and of the processor."""
    command = [sys.executable, "-c", _FLOOR, str(folder / "rows.csv"), str(folder / "shuffled.csv")]
    clock, used = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(clock), float(used)


def run(checkout: Path, folder: Path, *arguments: str) -> tuple[float, float, float]:
    """Seconds on the clock, of the processor, and peak megabytes of a command of a checkout."""
    # As installed: modules are compiled once, here by the first run of each checkout.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": f"{checkout / 'src'}:{checkout}", "PYTHONPYCACHEPREFIX": str(folder / "modules")}
    start = time.perf_counter()
    command = [sys.executable, "-c", _RETICENT, *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, (checkout, arguments)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main(*checkouts: str) -> None:
    rounds = int(checkouts[0]) if checkouts and checkouts[0].isdigit() else _ROUNDS
    chosen = [Path(each).resolve() for each in checkouts if not each.isdigit()] or [_HERE]
    found: dict[tuple[Path, str], list[tuple[float, ...]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_job(folder)
        for number in range(rounds):
            for place, checkout in enumerate(chosen):
                target = f"{place} {number}"
                for job in (("publish", "policy.toml", "-o", target), ("verify", target)):
                    runs = found.setdefault((checkout, job[0]), [])
                    runs.append((*floor(folder), *run(checkout, folder, *job)))
    rows = []
    for (checkout, job), runs in found.items():
        least, least_cpu, ours, cpu, peak = (median(each[place] for each in runs) for place in range(5))
        single = ", ".join(f"{each[2] / each[0]:.2f}" for each in runs)
        told = f"peak {peak:,.0f} MB; processor {cpu:.2f} s, W {least_cpu:.2f} s; single runs {single}"
        target = {"publish": 4.5, "verify": 1.0}[job]
        label = "" if checkout == _HERE else f" ({checkout})"
        rows.append(
            Row(f"reticent {job}, ihis_synth 1,193,504 x 9 from CSV, k=5, 5 %{label}", least, ours, target, told)
        )
    report("The whole command beside W", f"python -m benchmarks command {' '.join(checkouts)}".strip(), rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
