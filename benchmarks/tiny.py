"""Tiny publications: what a release costs apart from its data. Run ``POLARS_MAX_THREADS=1 TMPDIR=/dev/shm python -m benchmarks tiny``.

Ages, postcodes and diseases of 12 and of 1,000 people; Lattice, 2-anonymity, CSV. Named tables are recorded in a ledger that exists and is empty. Each row is the
shortest of 60 runs, with everything that a run needs made beforehand. Nothing here is newer than f1dc096, so that ``turns`` can compare with it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import reticent as rt
from benchmarks.measuring import Row, group_by_floor, report
from reticent.ledger import Ledger
from reticent.release.public import open_public

_RUNS = 60
_DISEASES = ["flu", "asthma", "gastritis", "diabetes", "none"]


def people(rows: int) -> pl.DataFrame:
    """Some people, always the same."""
    drawn = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "age": drawn.integers(18, 90, rows),
            "zip": [str(code) for code in drawn.integers(47000, 47100, rows)],
            "disease": [_DISEASES[place] for place in drawn.integers(0, len(_DISEASES), rows)],
        }
    )


class Jobs:
    """The jobs on one table; each returns a run that is ready to start. It has state because every run takes new paths."""

    def __init__(self, frame: pl.DataFrame, folder: Path) -> None:
        self.frame, self.folder, self._numbers = frame, folder, count()

    def all(self) -> dict[str, Callable[[], Callable[[], Any]]]:
        """Every job by its name."""
        plain: dict[str, Callable[[], Callable[[], Any]]] = {}
        for word, named in (("", False), (", named", True)):
            plain |= {
                f"publish{word}": partial(self.publish, named),
                f"save{word}": partial(self.save, named),
                f"publish and save{word}": partial(self.publish_and_save, named),
            }
        saved = self.publish(False)().save(self._new())
        return plain | {
            "verify": lambda: partial(rt.verify, saved),
            "count": lambda: partial(open_public(saved).count, "age >= 40"),
        }

    def publish(self, named: bool) -> Callable[[], Any]:
        table = rt.Table(self.frame, quasi=["age", "zip"], sensitive="disease", dataset="people" if named else None)
        ledger = self._new()
        Ledger(ledger).close()
        return lambda: rt.publish(table, rt.KAnonymity(2), rt.Lattice(), ledger=ledger)

    def save(self, named: bool) -> Callable[[], Any]:
        return partial(self.publish(named)().save, self._new())

    def publish_and_save(self, named: bool) -> Callable[[], Any]:
        publish, target = self.publish(named), self._new()
        return lambda: publish().save(target)

    def _new(self) -> Path:
        return self.folder / str(next(self._numbers))


def seconds(run: Callable[[], Any]) -> float:
    """How long a run takes; what it returns goes after that."""
    start = time.perf_counter()
    result = run()
    took = time.perf_counter() - start
    del result
    return took


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        floors: dict[str, float] = {}
        jobs: dict[str, Callable[[], Callable[[], Any]]] = {}
        for height in (12, 1_000):
            frame, place = people(height), Path(folder) / str(height)
            place.mkdir()
            floor = group_by_floor(frame, ["age", "zip"])
            for name, job in Jobs(frame, place).all().items():
                row = f"{height:,} rows: {name}"
                floors[row], jobs[row] = floor, job
        # One run of each job after the other: others who work on the machine for a while slow all jobs.
        rounds = [{row: seconds(job()) for row, job in jobs.items()} for _ in range(_RUNS)]
    rows = [Row(row, floor, min(each[row] for each in rounds), None) for row, floor in floors.items()]
    report("Tiny publications", "POLARS_MAX_THREADS=1 TMPDIR=/dev/shm python -m benchmarks tiny", rows)


if __name__ == "__main__":
    main()
