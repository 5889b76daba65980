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


def shortest(job: Callable[[], Callable[[], Any]]) -> float:
    """The shortest of all runs."""
    best = float("inf")
    for _ in range(_RUNS):
        run = job()
        start = time.perf_counter()
        # What a run returns is kept until it was measured.
        result = run()
        best = min(best, time.perf_counter() - start)
        del result
    return best


def main() -> None:
    rows: list[Row] = []
    for height in (12, 1_000):
        frame = people(height)
        floor = group_by_floor(frame, ["age", "zip"])
        with tempfile.TemporaryDirectory() as folder:
            for name, job in Jobs(frame, Path(folder)).all().items():
                rows.append(Row(f"{height:,} rows: {name}", floor, shortest(job), None))
    report("Tiny publications", "POLARS_MAX_THREADS=1 TMPDIR=/dev/shm python -m benchmarks tiny", rows)


if __name__ == "__main__":
    main()
