"""Worker process of the server: waits for tasks, runs them, and reports progress."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from reticent.errors import Cancelled, ReticentError

_BETWEEN_EVENTS = 0.1
TASKS = {
    "look": "reticent.workbench.tasks.data",
    "rows": "reticent.workbench.tasks.data",
    "afford": "reticent.workbench.tasks.data",
    "profiles": "reticent.workbench.tasks.columns",
    "exposure": "reticent.workbench.tasks.columns",
    "exposed": "reticent.workbench.tasks.columns",
    "hierarchy": "reticent.workbench.tasks.columns",
    "solutions": "reticent.workbench.tasks.explore",
    "candidate": "reticent.workbench.tasks.explore",
    "attacks": "reticent.workbench.tasks.explore",
    "methods": "reticent.workbench.tasks.explore",
    "prices": "reticent.workbench.tasks.explore",
    "publish": "reticent.workbench.tasks.release_task",
    "released": "reticent.workbench.tasks.release_task",
    "report": "reticent.workbench.tasks.release_task",
    "verification": "reticent.workbench.tasks.release_task",
    "history": "reticent.workbench.tasks.release_task",
    "series_plan": "reticent.workbench.tasks.verticals",
    "series_next": "reticent.workbench.tasks.verticals",
    "synthetic_plan": "reticent.workbench.tasks.verticals",
    "randomized_plan": "reticent.workbench.tasks.verticals",
    "noise_plan": "reticent.workbench.tasks.verticals",
    "dp_comparison": "reticent.workbench.tasks.verticals",
    "knowledge_curve": "reticent.workbench.tasks.verticals",
    "what_if": "reticent.workbench.tasks.verticals",
    "views_check": "reticent.workbench.tasks.verticals",
    "audited_question": "reticent.workbench.tasks.verticals",
    "log_check": "reticent.workbench.tasks.verticals",
    "file_attack": "reticent.workbench.tasks.verticals",
}
"""The module of every task; its function has the name of the task."""


class Reporter:
    """Sends progress events of a task to the server. Mutable: throttles events of one stage by the time of the last one; the first event of a stage is always sent."""

    def __init__(self, server: Connection, stopped: Any) -> None:
        self._server, self._stopped = server, stopped
        self._told, self._stage = 0.0, ""

    def context(self) -> Any:
        """Context of a run that forwards events to the server and lets the server cancel it."""
        from reticent.base.context import Context

        return Context(listen=self._listen, stop=lambda: bool(self._stopped.value))

    def early(self, result: Any) -> None:
        """Send a preliminary result, which a later one may replace."""
        self._server.send(("early", result))

    def _listen(self, event: Any) -> None:
        """Send a progress event, unless one of the same stage was sent a moment ago."""
        now = time.monotonic()
        if event.stage != self._stage or now - self._told >= _BETWEEN_EVENTS:
            self._told, self._stage = now, event.stage
            self._server.send(("event", (event.stage, event.share, event.note)))


def work(server: Connection, stopped: Any, lane: str) -> None:
    """Run tasks from the server one after another until the connection closes; a request is the name of a task and its settings."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _warm(lane, server.poll)
    while True:
        try:
            name, settings = server.recv()
        except (EOFError, OSError):
            return
        try:
            server.send(_answer(name, settings, Reporter(server, stopped)))
        except (BrokenPipeError, OSError):
            return


def _answer(name: str, settings: dict[str, Any], reporter: Reporter) -> tuple[str, Any]:
    """Run a task; return ``done`` with its result, or ``stopped`` or ``failed`` with a message and the kind of error."""
    try:
        task = getattr(import_module(TASKS[name]), name)
        return "done", task(reporter, **settings)
    except Cancelled as error:
        return "stopped", (str(error), "Cancelled")
    except ReticentError as error:
        return "failed", (str(error), type(error).__name__)
    except MemoryError:
        return "failed", (
            "There is not enough memory for this. Give fewer columns a role, or use fewer rows.",
            "Memory",
        )
    except Exception as error:  # any failure is reported to the server, which keeps running
        return "failed", (f"{type(error).__name__}: {error}", "Internal")


def _warm(lane: str, has_request: Callable[[], bool]) -> None:
    """Import and compile what the first tasks need; return early once ``has_request()`` is true, because a request is more urgent."""
    for module in sorted(set(TASKS.values())):
        if has_request():
            return
        import_module(module)
    from reticent.workbench.tasks.warmth import warm

    warm(lane, has_request)
