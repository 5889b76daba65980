"""Everybody's patience: whole processes, from start to exit (TARGETS.md). Run ``python -m benchmarks process``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.adult import SHARED
from benchmarks.search import adult

_POLICY = """
[data]
source = "{source}"
[roles]
quasi = {quasi}
sensitive = ["occupation"]
{hierarchies}
[definition]
name = "KAnonymity"
k = 5
[method]
name = "Lattice"
suppression = "0.05"
"""


def measured(command: list[str], cwd: str, *, fresh: bool = False) -> tuple[float, float, float]:
    """Seconds on the clock, seconds of CPU and megabytes of a command; the best of three for the clock.

    ``fresh`` runs it as a fresh install does the first time: nothing is compiled yet, neither modules nor kernels.
    """
    best = (float("inf"), 0.0, 0.0)
    for attempt in range(3):
        arguments = [part.replace("{n}", str(attempt)) for part in command]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        if fresh:
            caches = {"PYTHONPYCACHEPREFIX": f"{cwd}/modules{attempt}", "NUMBA_CACHE_DIR": f"{cwd}/kernels{attempt}"}
            environment |= caches
        start = time.perf_counter()
        process = subprocess.Popen(arguments, cwd=cwd, stdout=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        assert status == 0, arguments
        best = min(best, (seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    return best


def policy(folder: Path, rows: int | None) -> Path:
    data = adult()
    frame = data.frame if rows is None else data.frame.head(rows)
    frame.write_csv(folder / "adult.csv")
    files = "\n".join(
        f'[hierarchies."{name}"]\nkind = "csv"\nfile = "{SHARED / "adult" / f"adult_hierarchy_{name}.csv"}"'
        for name in data.quasi
    )
    path = folder / "policy.toml"
    path.write_text(_POLICY.format(source=folder / "adult.csv", quasi=list(data.quasi), hierarchies=files))
    return path


def main() -> None:
    command = str(Path(sys.executable).with_name("reticent"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = [
            ("reticent --help (<= 0.5 s)", [command, "--help"]),
            ("import reticent (<= 0.3 s CPU)", [sys.executable, "-c", "import reticent"]),
            ("publish, 1,000 rows (<= 3 s)", [command, "publish", str(policy(folder, 1000)), "-o", "small{n}"]),
        ]
        lines = [(job, measured(arguments, name)) for job, arguments in jobs]
        first = [command, "publish", str(policy(folder, 1000)), "-o", "first{n}"]
        lines.append(("fresh install, first publish, 1,000 rows (<= 3 s)", measured(first, name, fresh=True)))
        whole = [command, "publish", str(policy(folder, None)), "-o", "whole{n}"]
        lines.append(("publish, Adult, k=5, 5 % (<= 1.5 s, 300 MB)", measured(whole, name)))
    for job, (seconds, cpu, megabytes) in lines:
        print(f"{job}: {seconds:.2f} s, {cpu:.2f} s CPU, {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
