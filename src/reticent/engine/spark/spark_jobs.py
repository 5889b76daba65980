"""Spark jobs with progress and cancellation, and with errors reported as one sentence."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunning
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from reticent.base.context import Context
from reticent.errors import DataError

Result = TypeVar("Result")
_MOMENT = 0.2
_DEEPEST_CAUSE = 20
_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception|Exit|Interrupt|MissingPackage)): ?(.*)$", re.MULTILINE)
_OURS = re.compile(r"^reticent\.errors\.\w+: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class JobWatch:
    """The listener of a job's progress, and the name of the stage."""

    context: Context
    stage: str


def performed(session: SparkSession, watch: JobWatch | None, what: str, work: Callable[[], Result]) -> Result:
    """The result of a job; ``what`` describes it in error messages: ``"count the rows"``."""
    with told(what):
        return work() if watch is None else _watched(session, watch, work)


def _watched(session: SparkSession, watch: JobWatch, work: Callable[[], Result]) -> Result:
    """Run a job in a thread, report its completed tasks, and cancel it when the run should stop."""
    group, outcome = f"reticent-{uuid.uuid4().hex}", Future[Result]()
    cluster = session.sparkContext

    def run() -> None:
        """Do the work as a job group that can be cancelled, and store its outcome."""
        cluster.setJobGroup(group, watch.stage, interruptOnCancel=True)
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    thread = InheritableThread(target=run, daemon=True)
    thread.start()
    try:
        while True:
            try:
                return outcome.result(timeout=_MOMENT)
            except StillRunning:
                watch.context.step(watch.stage, *_progress(cluster, group))
    except BaseException:
        if not outcome.done():
            cluster.cancelJobGroup(group)
        raise


def _progress(cluster: Any, group: str) -> tuple[int | None, int | None]:
    """The number of completed tasks of the started stages, and their total."""
    tracker = cluster.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    begun = [stage for stage in stages if stage is not None]
    completed, total = (sum(counts) for counts in ([s.numCompletedTasks for s in begun], [s.numTasks for s in begun]))
    return (completed, total) if total else (None, None)


@contextmanager
def told(what: str) -> Iterator[None]:
    """Convert Spark errors to a :class:`DataError` of one sentence with the cause, chained to the original."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        our_message = _OURS.search(str(error))
        if our_message is not None:
            raise DataError(our_message[1]) from error
        raise DataError(f"Spark could not {what}: {_cause(error)}{_advice(str(error))}") from error
    except (ConnectionError, EOFError) as error:
        raise DataError(
            f"Spark could not {what}: the connection to its driver process broke off. Was it killed, or out of memory? Nothing was published."
        ) from error


def _cause(error: Exception) -> str:
    """The innermost cause of an error, as a sentence."""
    text = str(error)
    if "Traceback (most recent call last)" in text:
        raised = _RAISED.findall(text.partition("JVM stacktrace")[0])
        if raised:
            return _sentence(f"{raised[-1][0]}: {raised[-1][1]}")
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(_DEEPEST_CAUSE):
        deeper = java.getCause() if java is not None else None
        if deeper is None:
            break
        java = deeper
    told_by_java = java.getMessage() if java is not None else None
    return _sentence(told_by_java or text or type(error).__name__)


def _sentence(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    first = re.sub(r"\s*SQLSTATE: \w+\s*$", "", lines[0] if lines else text)
    return first.rstrip(".:") + "."


def _advice(text: str) -> str:
    """Return a sentence, after a blank, on what to do about a known cause in the text of a Spark error; empty if there is none."""
    if "No module named" in text:
        return (
            " The Python of the executors lacks a package that this one has: install reticent[spark] there, and set PYSPARK_PYTHON to that Python before the "
            "session starts."
        )
    if "No space left on device" in text:
        return " Make room there, or give Spark another folder with spark.local.dir. Nothing was published."
    if "FILE_NOT_EXIST" in text or "FileNotFoundException" in text:
        return " A source must not change while it is read; publish a copy that is not being written."
    return ""
