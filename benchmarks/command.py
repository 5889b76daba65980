"""The whole command on a large file: `reticent publish` and `verify` against W. Run ``python -m benchmarks command [checkout ...]``.

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

from benchmarks.measuring import Row, report
from benchmarks.search import SHARED, ihis

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
start = time.perf_counter()
pl.read_csv(sys.argv[1]).sample(fraction=1.0, shuffle=True).write_csv(sys.argv[2])
print(time.perf_counter() - start)
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


def floor(folder: Path) -> float:
    """W in seconds."""
    command = [sys.executable, "-c", _FLOOR, str(folder / "rows.csv"), str(folder / "shuffled.csv")]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run(checkout: Path, folder: Path, *arguments: str) -> tuple[float, float]:
    """Seconds and peak megabytes of a command of a checkout."""
    environment = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}:{checkout}"}
    start = time.perf_counter()
    command = [sys.executable, "-c", _RETICENT, *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, (checkout, arguments)
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main(*checkouts: str) -> None:
    chosen = [Path(each).resolve() for each in checkouts] or [_HERE]
    found: dict[tuple[Path, str], list[tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_job(folder)
        for number in range(_ROUNDS):
            for place, checkout in enumerate(chosen):
                target = f"{place} {number}"
                for job in (("publish", "policy.toml", "-o", target), ("verify", target)):
                    least = floor(folder)
                    found.setdefault((checkout, job[0]), []).append((least, *run(checkout, folder, *job)))
    rows = []
    for (checkout, job), runs in found.items():
        least, ours, peak = (median(each[place] for each in runs) for place in range(3))
        told = f"peak {peak:,.0f} MB; single runs {', '.join(f'{each[1] / each[0]:.2f}' for each in runs)}"
        target = {"publish": 4.5, "verify": 1.0}[job]
        label = "" if checkout == _HERE else f" ({checkout})"
        rows.append(
            Row(f"reticent {job}, ihis_synth 1,193,504 x 9 from CSV, k=5, 5 %{label}", least, ours, target, told)
        )
    report("The whole command beside W", f"python -m benchmarks command {' '.join(checkouts)}".strip(), rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
