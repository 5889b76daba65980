"""How every benchmark measures: a floor and our figure in one process, the ratio, and a line in the history of runs."""

from __future__ import annotations

import platform
import resource
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

HISTORY = Path(__file__).with_name("history") / f"{date.today():%Y-%m}.md"


@dataclass(frozen=True)
class Row:
    """One line of a table of results; ``floor`` and ``ours`` in seconds."""

    job: str
    floor: float
    ours: float
    target: float | None
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.ours / self.floor

    def line(self) -> str:
        target = "-" if self.target is None else f"<= {self.target:g}"
        verdict = "" if self.target is None else ("yes" if self.ratio <= self.target else "**no**")
        return f"| {self.job} | {1e3 * self.floor:.1f} | {1e3 * self.ours:.1f} | {self.ratio:.2f} | {target} | {verdict} | {self.note} |"


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of several runs, and what the last one returned."""
    best, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def group_by_floor(frame: pl.DataFrame, columns: Sequence[str]) -> float:
    """The floor G: polars grouping the same frame by all quasi columns, best of 5."""
    return best_of(5, lambda: frame.group_by(list(columns)).len())[0]


def in_turn(times: int, floor: Callable[[], float], work: Callable[[], Any]) -> tuple[float, float]:
    """The medians of the floor and of single runs of ours, taken in turn: a machine that others slow down slows both alike."""
    pairs = [(floor(), best_of(1, work)[0]) for _ in range(times)]
    return median(each[0] for each in pairs), median(each[1] for each in pairs)


def alone(work: Callable[..., Any], *given: Any) -> tuple[float, str, Any]:
    """Work in a process of its own: seconds on the clock, what it took in words (processor, memory at most), and what it returned."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        seconds, processor, memory, result = pool.submit(_measured, work, given).result()
    return seconds, f"{processor:,.0f} s of the processor, {memory:,.0f} MB at most", result


def _measured(work: Callable[..., Any], given: Sequence[Any]) -> tuple[float, float, float, Any]:
    start = time.perf_counter()
    result = work(*given)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, result


def report(title: str, command: str, rows: Sequence[Row]) -> None:
    """Print the rows and append them to this month's history; RESULTS.md has the current figures."""
    lines = [
        "| job | floor ms | ours ms | ratio | target | met | what came out |",
        "|---|---|---|---|---|---|---|",
        *(row.line() for row in rows),
    ]
    heading = f"## {title} ({date.today().isoformat()}, Python {platform.python_version()}, polars {pl.__version__})"
    text = "\n".join([heading, "", f"`{command}`", "", *lines, ""])
    print(text)
    with HISTORY.open("a", encoding="utf-8") as out:
        out.write("\n" + text)
