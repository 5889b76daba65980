"""Connections that wait: whoever sends half a request, or nothing, or keeps a connection open, must not keep others out.

uvicorn waits for the rest of a request for as long as it takes. Here a request must be complete within some seconds, and of the connections that are
still waiting for one only the newest few of a client, and of all clients, are kept.
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
    """The connections whose request is not complete, oldest first. Mutable: connections come and go."""

    def __init__(self, a_client: int = WAITING_A_CLIENT, altogether: int = WAITING) -> None:
        self._a_client, self._altogether = a_client, altogether
        self._waiting: dict[GuardedProtocol, str] = {}

    def add(self, connection: GuardedProtocol, client: str) -> None:
        """One more connection waits; the oldest of this client, or of all, goes where they are too many."""
        self._waiting[connection] = client
        mine = [each for each, whose in self._waiting.items() if whose == client]
        for old in mine[: max(0, len(mine) - self._a_client)]:
            old.give_up()
        for old in list(self._waiting)[: max(0, len(self._waiting) - self._altogether)]:
            old.give_up()

    def remove(self, connection: GuardedProtocol) -> None:
        """A connection's request is complete, or the connection is gone."""
        self._waiting.pop(connection, None)


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 where a request that is not complete in time ends the connection."""

    waiting = WaitingConnections()
    seconds = SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client connected, and owes a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Some bytes arrived; what they make complete is no longer waited for."""
        super().data_received(data)
        if self._owes_more():
            self._wait()
        else:
            self._done()

    def on_response_complete(self) -> None:
        """A connection that stays open owes the next request: idle ones must not keep others out either."""
        super().on_response_complete()
        if not self.transport.is_closing() and self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._done()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """End the connection without an answer."""
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
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.waiting.remove(self)
