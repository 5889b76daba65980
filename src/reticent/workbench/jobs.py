"""Background jobs in worker processes: each runs once, is cached under a hash of its inputs, can be cancelled, and cannot crash the server.

A result depends only on the task, sections of the policy and parameters; it is cached in the project's folder under a hash of these. A page requests the job
for each of its parts and gets the result or the progress. A reload, another tab and a restarted server find the same job or result.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import multiprocessing
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from reticent import __version__
from reticent.base.files import write_whole

State = Literal["waiting", "running", "done", "failed", "stopped"]
Lane = Literal["look", "search", "side"]
LANES: tuple[Lane, ...] = ("look", "search", "side")
"""One process computes what pages show, one searches and publishes, and one evaluates alternatives; the last is started on first use."""

_PATIENCE = 4.0
_MOST_KEPT = 400
_KILLED = (
    "The process that worked on this ended before it was done: it was killed, or there was not enough memory. Nothing was recorded and "
    "nothing was published. Try again; for a large table, give fewer columns a role."
)


@dataclass
class Job:
    """One run of a task. Mutable: state and progress are updated while a worker process runs it."""

    key: str
    task: str
    settings: Mapping[str, Any]
    lane: Lane
    kept: Path | None = None
    state: State = "waiting"
    stage: str = ""
    share: float | None = None
    note: str = ""
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    early: Any = None
    result: Any = None
    problem: str = ""
    kind: str = ""
    ahead: bool = False
    """True if it was started before any page requested it."""

    @property
    def over(self) -> bool:
        """True if the job has ended, whatever the outcome."""
        return self.state in ("done", "failed", "stopped")

    @property
    def seconds(self) -> float:
        """Running time so far, or in total once the job has ended."""
        return (self.ended or time.monotonic()) - self.started


class Jobs:
    """All jobs of one server. Mutable: holds the worker processes and their queues."""

    def __init__(self) -> None:
        """Create the queues and workers of all lanes; no process is started yet."""
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._workers = {lane: _Worker(lane) for lane in LANES}

    def start(self) -> None:
        """Start the processes, which import their modules while the user reads the first page."""
        for lane in ("look", "search"):
            self._workers[lane].start()

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers.values():
            worker.close()

    def ask(self, task: str, settings: Mapping[str, Any], *, lane: Lane = "look", folder: Path | None = None) -> Job:
        """Return the job for these inputs: cached in ``folder``, already running, or newly queued."""
        key = key_of(task, settings)
        cache_file = None if folder is None else folder / f"{task}-{key}.json"
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and not _is_gone(job, cache_file):
                return job
            job = Job(key, task, settings, lane, cache_file)
            if cache_file is not None and cache_file.exists():
                job.state, job.result, job.ended = "done", json.loads(cache_file.read_bytes()), job.started
            self._remember(job)
        if not job.over:
            self._workers[lane].add(job)
        return job

    def peek(self, task: str, settings: Mapping[str, Any], folder: Path | None = None) -> Job | None:
        """Return the job for these inputs if it is running or done, else None; starts nothing."""
        key = key_of(task, settings)
        cache_file = None if folder is None else folder / f"{task}-{key}.json"
        job = self._jobs.get(key)
        if (job is None or _is_gone(job, cache_file)) and (cache_file is None or not cache_file.exists()):
            return None
        return self.ask(task, settings, folder=folder)

    def find(self, key: str) -> Job | None:
        """Return a job of this server by its key, or None."""
        return self._jobs.get(key)

    def again(self, key: str) -> None:
        """Discard a failed or cancelled job, so that the next request runs it again."""
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and job.state in ("failed", "stopped"):
                del self._jobs[key]

    def stop(self, key: str) -> None:
        """Request cancellation of a job; if it does not react, its process is killed."""
        job = self._jobs.get(key)
        if job is not None and not job.over:
            self._workers[job.lane].stop(job)

    def drop(self, key: str) -> None:
        """Cancel and discard a job; the next request starts it again."""
        self.stop(key)
        with self._lock:
            self._jobs.pop(key, None)

    def forget(self, folder: Path) -> None:
        """Cancel and discard all jobs of a project: those with results stored in its ``folder``."""
        with self._lock:
            keys = [key for key, job in self._jobs.items() if job.kept is not None and folder in job.kept.parents]
        for key in keys:
            self.drop(key)

    def processes(self) -> dict[str, int | None]:
        """Return the process ids by lane."""
        return {lane: worker.pid for lane, worker in self._workers.items()}

    def _remember(self, job: Job) -> None:
        """Add a job; above the limit, discard the oldest jobs that have ended."""
        self._jobs[job.key] = job
        ended = [key for key, other in self._jobs.items() if other.over]
        for key in ended[: max(len(self._jobs) - _MOST_KEPT, 0)]:
            del self._jobs[key]


def _is_gone(job: Job, cache_file: Path | None) -> bool:
    """True if the job is done but its result was removed from the cache of its project."""
    return job.state == "done" and cache_file is not None and not cache_file.exists()


def key_of(task: str, settings: Mapping[str, Any]) -> str:
    """Return the cache key of a job: a hash of version, task and settings, equal on every server. Results of another version may have other parts."""
    written = json.dumps([__version__, task, settings], sort_keys=True, default=str).encode()
    return hashlib.sha256(written).hexdigest()[:24]


class _Worker:
    """One worker process and its queue of jobs. Mutable: replaces the process after it was killed."""

    def __init__(self, lane: Lane) -> None:
        """Create the worker of one queue (``lane``); its process starts with :meth:`start`."""
        self._lane = lane
        self._context = multiprocessing.get_context("spawn")
        self._stopped = self._context.RawValue(ctypes.c_bool, False)
        self._ready = threading.Condition()
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None
        self._process: Any = None
        self._ours: Connection | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name=f"workbench-{lane}", daemon=True)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        self._spawn()
        self._thread.start()

    def close(self) -> None:
        """Stop serving the queue and kill the process."""
        with self._ready:
            self._closing = True
            self._ready.notify_all()
        if self._process is not None:
            self._process.kill()
            self._process.join(2)

    def add(self, job: Job) -> None:
        """Queue a job; starts the process if it is not running yet."""
        with self._ready:
            if self._process is None and not self._closing:
                self.start()
            self._waiting.append(job)
            self._ready.notify_all()

    def stop(self, job: Job) -> None:
        """Cancel a job: remove it from the queue, or ask the process to stop it and kill the process if it does not react."""
        with self._ready:
            if job in self._waiting:
                self._waiting.remove(job)
                _finish(job, "stopped")
                return
            if job is self._current:
                self._stopped.value = True
                threading.Thread(target=self._insist, args=(job,), daemon=True).start()

    def _insist(self, job: Job) -> None:
        """Kill the process of a job that did not react to cancellation."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if job.over:
                return
            time.sleep(0.05)
        if job is self._current and self._process is not None:
            self._process.kill()

    def _spawn(self) -> None:
        """Start a process connected by a pipe; replaces the previous one, if any."""
        from reticent.workbench.worker import work

        self._ours, theirs = self._context.Pipe()
        self._process = self._context.Process(target=work, args=(theirs, self._stopped, self._lane), daemon=True)
        self._process.start()
        theirs.close()

    def _serve(self) -> None:
        """Run queued jobs one after another until the worker is closed.

        If the process dies during a job, the job ends as failed (or stopped, if it was cancelled) and a new process is started.
        """
        while True:
            with self._ready:
                while not self._waiting and not self._closing:
                    self._ready.wait()
                if self._closing:
                    return
                job = self._current = self._waiting.popleft()
                self._stopped.value = False
            try:
                self._run(job)
            except (EOFError, OSError):
                was_cancelled = self._stopped.value
                _finish(
                    job,
                    "stopped" if was_cancelled else "failed",
                    problem="" if was_cancelled else _KILLED,
                    kind="Killed",
                )
                if not self._closing:
                    self._spawn()
            except Exception as error:  # one failure never ends the server
                _finish(job, "failed", problem=f"{type(error).__name__}: {error}", kind="Internal")
            self._current = None

    def _run(self, job: Job) -> None:
        """Send a job to the process and copy its progress messages into the job, until it is done, failed or stopped."""
        if not self._process.is_alive():
            self._spawn()
        assert self._ours is not None
        job.state, job.started = "running", time.monotonic()
        self._ours.send((job.task, dict(job.settings)))
        while True:
            kind, content = self._ours.recv()
            if kind == "event":
                job.stage, job.share, job.note = content
            elif kind == "early":
                job.early = content
            elif kind == "done":
                _keep(job, content)
                return
            else:
                _finish(job, "stopped" if kind == "stopped" else "failed", *content)
                return


def _keep(job: Job, result: Any) -> None:
    """Store the result in the job and, if the project's folder still exists, in its cache."""
    if job.kept is not None and job.kept.parent.parent.is_dir():
        job.kept.parent.mkdir(mode=0o700, exist_ok=True)
        write_whole(job.kept, json.dumps(result).encode())
        os.chmod(job.kept, 0o600)
    job.result = result
    _finish(job, "done")


def _finish(job: Job, state: State, problem: str = "", kind: str = "") -> None:
    """Mark a job as ended; its state, which other threads poll, is set last."""
    job.problem, job.kind, job.ended = problem, kind, time.monotonic()
    job.state = state
