"""Small joint computations, played without clocks or run in processes, and what counts as a right answer to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reticent.noise import plan
from reticent.noise.protocol import take_part
from reticent.noise.tasks import JointTask
from tests.noise.lockstep import play


def small_task(
    parties: int,
    faults: int,
    query: str = "count",
    cells: int | None = None,
    *,
    law: str = "binomial",
    level: str = "byzantine",
    bits: int = 1,
    quota: int = 0,
    thresholds: tuple[int, ...] = (),
    precision: int = 0,
) -> JointTask:
    """A task with as few coins as a test needs; the hook for no noise at all exists here alone."""
    planned = plan(
        1, "1e-3", parties, faults, query, law="binomial" if bits == 1 else "exponential", bits=bits, level=level
    )
    task = JointTask.of(planned, "a test", cells)
    return replace(task, law=law, quota=quota, thresholds=thresholds, precision=precision)


def joint(task: JointTask, rows: Sequence[Sequence[int]], behaviours: Mapping[int, str] | None = None) -> list[Any]:
    """What each party ended with; parties are numbered from 0 here."""
    protocols = [lambda network, own=own: take_part(network, task, own) for own in rows]
    return play(protocols, task.parties, task.threshold, behaviours)


def counted(task: JointTask, rows: Sequence[Sequence[int]], included: Sequence[int]) -> list[int]:
    """The exact answer over the rows of some parties."""
    values = [value for party in included for value in rows[party]]
    if task.query == "sum":
        return [sum(values)]
    if task.query == "count":
        return [sum(values)]
    return [values.count(cell) for cell in range(task.cells)]
