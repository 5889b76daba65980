"""Running the HTTP service."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from reticent.errors import DataError, PolicyError

if TYPE_CHECKING:
    from reticent.audit.service import AuditService


_IDLE_SECONDS = 5
_AT_ONCE = 512
_LAST_SECONDS = 20


def listen(host: str, port: int) -> socket.socket:
    """Return the listening socket; bound before the service announces its address."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise DataError(
            f"The service cannot listen on {host}, port {port}: {error.strerror}. Choose another --host or --port."
        ) from None


def check_exposure(host: str, insecure: bool) -> str | None:
    """Refuse to listen beyond this machine in plain text; with ``insecure`` return the warning instead."""
    if is_loopback(host):
        return None
    risk = (
        f"The service uses plain HTTP, and {host} can be reached from other machines: tokens and answers could be read and changed in transit. "
        "Put a reverse proxy with TLS in front of it and listen on 127.0.0.1"
    )
    if not insecure:
        raise PolicyError(f"{risk}, or pass --insecure if the network is trusted.", setting=("host",))
    return f"{risk}."


def is_loopback(host: str) -> bool:
    """True if an address can be reached from this machine only."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def serve(
    open_service: Callable[[], AuditService],
    place: socket.socket,
    hosts: Sequence[str] = (),
    log: Path | None = None,
    *,
    metrics: bool = False,
    json_log: bool = False,
) -> None:
    """Serve requests on a socket until interrupted, for the given ``hosts``; one line per request goes to the ``log``.

    On a signal it accepts no new connections, completes running requests, closes the ledger and returns. With
    ``metrics`` counts are served at ``/metrics``; with ``json_log`` the server's own log is JSON lines without error
    messages.
    """
    try:
        import uvicorn

        from reticent.web.connections import GuardedProtocol
        from reticent.web.service_app import create_app
        from reticent.web.service_log import log_as_json
    except ModuleNotFoundError as error:
        raise DataError(
            f"The HTTP service needs the package {error.name}, which is not installed. Install it with: pip install 'reticent[web]'"
        ) from None
    if json_log:
        log_as_json()
    if threading.current_thread() is threading.main_thread():
        # uvicorn shuts down cleanly and then raises the signal again, which would end the process as if killed.
        signal.signal(signal.SIGTERM, lambda *_: None)
    settings = uvicorn.Config(
        create_app(open_service, hosts=hosts, log=log, metrics=metrics),
        log_config=None if json_log else uvicorn.config.LOGGING_CONFIG,
        http=GuardedProtocol,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=_IDLE_SECONDS,
        limit_concurrency=_AT_ONCE,
        timeout_graceful_shutdown=_LAST_SECONDS,
    )
    uvicorn.Server(settings).run([place])
