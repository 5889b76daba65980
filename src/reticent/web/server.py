"""Running the HTTP service."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from reticent.errors import DataError

if TYPE_CHECKING:
    from reticent.audit.service import AuditService


def listen(host: str, port: int) -> socket.socket:
    """The place where requests arrive; taken before anything is promised about it."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise DataError(
            f"The service cannot listen on {host}, port {port}: {error.strerror}. Say another --host or --port."
        ) from None


def serve(open_service: Callable[[], AuditService], place: socket.socket) -> None:
    """Serve what arrives at a place until interrupted."""
    try:
        import uvicorn

        from reticent.web.app import create_app
    except ModuleNotFoundError as error:
        raise DataError(
            f"The HTTP service needs the package {error.name}, which is not installed. Install it with: pip install 'reticent[web]'"
        ) from None
    uvicorn.Server(uvicorn.Config(create_app(open_service), log_level="warning", server_header=False)).run([place])
