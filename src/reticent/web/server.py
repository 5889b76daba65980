"""Running the HTTP service."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from reticent.errors import DataError

if TYPE_CHECKING:
    from reticent.audit.service import AuditService


_IDLE_SECONDS = 5
_AT_ONCE = 512


def listen(host: str, port: int) -> socket.socket:
    """The place where requests arrive; taken before anything is promised about it."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise DataError(
            f"The service cannot listen on {host}, port {port}: {error.strerror}. Choose another --host or --port."
        ) from None


def serve(open_service: Callable[[], AuditService], place: socket.socket) -> None:
    """Serve what arrives at a place until interrupted."""
    try:
        import uvicorn

        from reticent.web.app import create_app
        from reticent.web.connections import GuardedProtocol
    except ModuleNotFoundError as error:
        raise DataError(
            f"The HTTP service needs the package {error.name}, which is not installed. Install it with: pip install 'reticent[web]'"
        ) from None
    settings = uvicorn.Config(
        create_app(open_service),
        http=GuardedProtocol,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=_IDLE_SECONDS,
        limit_concurrency=_AT_ONCE,
    )
    uvicorn.Server(settings).run([place])
