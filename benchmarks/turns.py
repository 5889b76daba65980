"""Two checkouts measured in turn, so that a machine that others slow down slows both alike.

Run ``python -m benchmarks turns OLD NEW [benchmark[:argument] ...]``, for instance ``turns ../base . search:adult search:cps local:none assessing``.
Prints for every row the shortest of three runs of both and the ratio new / old; more than 1.10 is marked. Others who start work during the rounds of one
checkout still distort it: repeat marked rows. ``turns cpu OLD NEW ...`` counts seconds of the processor instead of those on the clock, for a machine that
is shared with others: threads that run side by side then add up.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

_ROUNDS = 3
_DEFAULT = ("search:adult", "search:cps", "local:none", "assessing")
_WORSE = 1.10
# A benchmark that makes no rows prints its figures beside their targets.
_PRINTED = re.compile(r"^(.+?): ([\d.]+) (s|ms) \(target", re.MULTILINE)
_SECONDS = {"s": 1.0, "ms": 1e-3}
_RUN = """
import json, sys, time
if sys.argv[1] == "cpu":
    time.perf_counter = time.process_time
from importlib import import_module
import benchmarks
# A benchmark that the old checkout does not have is the new one's.
benchmarks.__path__.append(sys.argv[2])
module = import_module("benchmarks." + sys.argv[3])
def keep(title, command, rows):
    print("ROWS " + json.dumps([(row.job, row.ours) for row in rows]))
module.report = keep
module.main(*sys.argv[4:])
"""


def measured(checkout: Path, benchmark: str, clock: str) -> dict[str, float]:
    """The seconds of every row of a benchmark, as a checkout has it."""
    name, _, argument = benchmark.partition(":")
    environment = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}:{checkout}"}
    command = [sys.executable, "-c", _RUN, clock, str(Path(__file__).parent), name, *([argument] if argument else [])]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=True)
    rows = [line.removeprefix("ROWS ") for line in done.stdout.splitlines() if line.startswith("ROWS ")]
    if rows:
        return {job: seconds for each in rows for job, seconds in json.loads(each)}
    return {job: float(figure) * _SECONDS[unit] for job, figure, unit in _PRINTED.findall(done.stdout)}


def main(old: str, new: str, *benchmarks: str) -> None:
    clock = "wall"
    if old == "cpu":
        clock, old, new, benchmarks = old, new, benchmarks[0], benchmarks[1:]
    checkouts = [Path(old).resolve(), Path(new).resolve()]
    print("| row | old ms | new ms | new / old | |\n|---|---|---|---|---|")
    for benchmark in benchmarks or _DEFAULT:
        runs: list[list[dict[str, float]]] = [[], []]
        for _ in range(_ROUNDS):
            for place, checkout in enumerate(checkouts):
                runs[place].append(measured(checkout, benchmark, clock))
        for job in runs[1][0]:
            if job not in runs[0][0]:
                continue
            before, after = (min(each[job] for each in side) for side in runs)
            mark = "**worse**" if after > _WORSE * before else ""
            print(f"| {job} | {1e3 * before:.1f} | {1e3 * after:.1f} | {after / before:.2f} | {mark} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
