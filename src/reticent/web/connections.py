"""Limits for idle connections: incomplete requests or open connections must not block other clients.

uvicorn waits indefinitely for the rest of a request. Here a request must be complete within some seconds, and of the
waiting connections only the newest few per client, and in total, are kept.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0
WAITING_A_CLIENT = 64
WAITING = 256


class WaitingConnections:
    """The connections with an incomplete request, oldest first. Mutable: connections come and go."""

    def __init__(self, a_client: int = WAITING_A_CLIENT, altogether: int = WAITING) -> None:
        self._a_client, self._altogether = a_client, altogether
        self._waiting: dict[GuardedProtocol, str] = {}

    def add(self, connection: GuardedProtocol, client: str) -> None:
        """Add a waiting connection; if there are too many, close the oldest of this client, or of all."""
        self._waiting[connection] = client
        of_client = [
            waiting_connection for waiting_connection, its_client in self._waiting.items() if its_client == client
        ]
        for surplus in of_client[: max(0, len(of_client) - self._a_client)]:
            surplus.give_up()
        for surplus in list(self._waiting)[: max(0, len(self._waiting) - self._altogether)]:
            surplus.give_up()

    def remove(self, connection: GuardedProtocol) -> None:
        """Remove a connection whose request is complete, or that is closed."""
        self._waiting.pop(connection, None)


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 in which a request that is not complete in time ends the connection."""

    waiting = WaitingConnections()
    seconds = SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start waiting for a request of a new client."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Process received bytes; a complete request is no longer waited for."""
        super().data_received(data)
        if self._owes_more():
            self._wait()
        else:
            self._done()

    def on_response_complete(self) -> None:
        """Wait for the next request on an open connection: idle ones must not block others either."""
        super().on_response_complete()
        if not self.transport.is_closing() and self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting for a closed connection."""
        self._done()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close the connection without a response."""
        self._done()
        self.transport.abort()

    def _owes_more(self) -> bool:
        if self.conn.their_state is h11.SEND_BODY:
            return True
        return self.conn.their_state is h11.IDLE and (self.cycle is None or bool(self.conn.trailing_data[0]))

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.give_up)
            self.waiting.add(self, self.client[0] if self.client else "")

    def _done(self) -> None:
        """Stop waiting: cancel the timer, and take the connection off the list."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.waiting.remove(self)
