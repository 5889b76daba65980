"""Metrics of the running service in the Prometheus text format: requests by path and status.

They depend on requests and statuses, which users see anyway. They contain no user names and no durations: the time of a
decision must not be observable by others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from reticent import __version__

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

PATH = "/metrics"
_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ServiceMetrics:
    """Counts of requests since the start. Mutable: a counter."""

    def __init__(self) -> None:
        self._began = time.time()
        self._ended: Counter[tuple[str, int]] = Counter()
        self._under_way = 0

    def begin(self) -> None:
        """Count an incoming request."""
        self._under_way += 1

    def end(self, path: str, status: int) -> None:
        """Count a completed request."""
        self._under_way -= 1
        self._ended[path, status] += 1

    def text(self) -> str:
        """Return the metrics in Prometheus format."""
        lines = [
            "# HELP reticent_info The version that runs.",
            "# TYPE reticent_info gauge",
            f'reticent_info{{version="{__version__}"}} 1',
            "# HELP reticent_start_time_seconds When the service started, since 1970.",
            "# TYPE reticent_start_time_seconds gauge",
            f"reticent_start_time_seconds {self._began:.0f}",
            "# HELP reticent_requests_in_progress Requests that are not answered yet.",
            "# TYPE reticent_requests_in_progress gauge",
            f"reticent_requests_in_progress {self._under_way}",
            "# HELP reticent_requests_total Answered requests by path and status.",
            "# TYPE reticent_requests_total counter",
            *(
                f'reticent_requests_total{{path="{path}",status="{status}"}} {times}'
                for (path, status), times in sorted(self._ended.items())
            ),
        ]
        return "\n".join(lines) + "\n"


def add_metrics(app: FastAPI, known_paths: frozenset[str]) -> None:
    """Count every request, and serve the counts at ``/metrics``; unknown paths count as ``other``."""
    from fastapi.responses import PlainTextResponse

    metrics = ServiceMetrics()

    async def show() -> PlainTextResponse:
        return PlainTextResponse(metrics.text(), media_type=_TYPE)

    async def count(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        """Pass a request on, and count it by path and status; an exception counts as 500."""
        status, path = 500, request.scope["path"]
        metrics.begin()
        try:
            response = await go_on(request)
            status = response.status_code
            return response
        finally:
            metrics.end(path if path in known_paths or path == PATH else "other", status)

    app.add_api_route(PATH, show, methods=["GET"], include_in_schema=False)
    app.middleware("http")(count)
