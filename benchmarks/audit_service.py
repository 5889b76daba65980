"""The audited SQL front (TARGETS "Audited SQL"): an answered question end to end beside raw DuckDB, and durable writes.

Run ``python -m benchmarks audit_service``. The floor is the same SQL on the same rows in DuckDB, asked in turn with ours in one process, so
that both see the same noise of the machine. Everything of ours counts: parsing, row set, decision, ledger, computation.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
import polars as pl

from benchmarks.measuring import Row, report
from reticent.audit.service import AuditService
from reticent.ledger import AuditVerdict, Ledger
from reticent.policy.audit_policy import AuditPolicy

PEOPLE, ANSWERED, MEASURED = 100_000, 2_000, 200
ADDED = 0.010
POLICY = """\
dataset = "staff"
ledger = "ledger.sqlite"
[database]
source = "staff.parquet"
key = "id"
public = ["age", "zip", "department", "grade"]
[sensitive.salary]
bounds = "ignored"
"""


def staff(seed: int = 1) -> pl.DataFrame:
    """Made-up people; nearly everybody differs in the public columns."""
    chance = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(PEOPLE),
            "age": chance.integers(18, 90, PEOPLE),
            "zip": chance.integers(0, 1000, PEOPLE),
            "department": chance.choice(["sales", "it", "hr", "law", "lab", "shop"], PEOPLE),
            "grade": chance.integers(0, 40, PEOPLE),
            "salary": chance.integers(1_000, 9_999, PEOPLE),
        }
    )


def question(chance: np.random.Generator) -> str:
    """A random range of ages, zip codes and grades."""
    parts = []
    for column, low, high in (("age", 18, 90), ("zip", 0, 1000), ("grade", 0, 40)):
        first, last = sorted(chance.integers(low, high, 2))
        parts.append(f"{column} BETWEEN {first} AND {last + 2}")
    return f"SELECT SUM(salary) FROM staff WHERE {' AND '.join(parts)}"


@dataclass(frozen=True)
class Spent:
    """Seconds on the clock, and of the processor alone: others on the machine slow the clock, not the processor's count."""

    clock: float
    processor: float


def timed(work: Callable[[], Any]) -> tuple[Spent, Any]:
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return Spent(time.perf_counter() - clock, time.process_time() - processor), result


def end_to_end(folder: Path) -> list[Row]:
    """Answered questions after 2,000 answers, each beside the same SQL in DuckDB."""
    frame = staff()
    frame.write_parquet(folder / "staff.parquet")
    raw = duckdb.connect()
    raw.execute("CREATE TABLE staff AS SELECT * FROM frame")
    chance = np.random.default_rng(2)
    floors: list[Spent] = []
    ours: list[Spent] = []
    with AuditService(AuditPolicy.parse(POLICY, "audit.toml", folder).settings) as service:
        answered = 0
        while len(ours) < MEASURED:
            text = question(chance)
            seconds, reply = timed(lambda: service.ask(text))  # noqa: B023  # called at once
            value = reply.rows[0].answers[0].value
            if value is None:
                continue
            answered += 1
            if answered > ANSWERED:
                floor, found = timed(lambda: raw.execute(text).fetchall())  # noqa: B023  # called at once
                assert found[0][0] == value
                floors.append(floor)
                ours.append(seconds)
    added = sorted(mine.clock - floor.clock for mine, floor in zip(ours, floors, strict=True))
    floor, mine = median(each.clock for each in floors), median(each.clock for each in ours)
    processor = median(each.processor for each in ours) - median(each.processor for each in floors)
    note = (
        f"added: median {1e3 * median(added):.1f} ms, p90 {1e3 * added[int(0.9 * len(added))]:.1f} ms on the clock, "
        f"{1e3 * processor:.1f} ms of the processor (target 10 ms)"
    )
    job = f"answered question, {PEOPLE:,} people, {ANSWERED:,} answers before"
    return [Row(job, floor, mine, 1 + ADDED / floor, note)]


def durable_writes(folder: Path) -> Row:
    """A decision in the ledger beside a bare synced write of as many bytes on the same disk."""
    members = os.urandom(4_000)
    handle = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT)

    def bare() -> None:
        os.pwrite(handle, members, 0)
        os.fsync(handle)

    with Ledger(folder / "writes.sqlite") as ledger:
        asked = ledger.audits.ask("staff", "somebody", "SELECT ...")
        verdicts = iter(
            AuditVerdict("salary", "sum", str(number), 3, True, "safe", "Safe.", members) for number in range(10**9)
        )
        floors, ours = [], []
        for _ in range(300):
            floors.append(timed(bare)[0].clock)
            ours.append(timed(lambda: ledger.audits.decide("staff", asked, next(verdicts)))[0].clock)
    os.close(handle)
    note = f"{1 / median(ours):,.0f} durable decisions a second"
    return Row("a decision made durable, beside a bare fsync", median(floors), median(ours), None, note)


def main() -> None:
    """Print every figure, and append it to the results."""
    with tempfile.TemporaryDirectory() as name:
        rows = [*end_to_end(Path(name)), durable_writes(Path(name))]
    report("The audited SQL front", "python -m benchmarks audit_service", rows)


if __name__ == "__main__":
    main()
