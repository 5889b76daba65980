"""Half-sent requests do not keep others out."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator

import pytest

from .conftest import Server

HALF = [
    b"POST /v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
    b"POST /v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\nConte",
    b"",
    b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /v1/he",
]


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_thousand_half_sent_requests_do_not_block_the_service(server: Server, many_files: None) -> None:
    port = int(server.url.rsplit(":", 1)[1])
    waiting = []
    try:
        for number in range(1_100):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            connection.sendall(HALF[number % len(HALF)])
            waiting.append(connection)
        for _ in range(3):
            assert server.ask("SELECT COUNT(*) FROM staff")[0] == 200
    finally:
        for connection in waiting:
            connection.close()


def _reply(connection: socket.socket) -> bytes:
    """One whole reply: its head, and as much body as the head says."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(4096)
    head, body = received.split(b"\r\n\r\n", 1)
    (length,) = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    while len(body) < length:
        body += connection.recv(4096)
    return head


def test_hundreds_of_connections_that_are_kept_open_do_not_block_the_service(server: Server, many_files: None) -> None:
    """Each has sent a whole request and got its reply; the next request may come at any time."""
    port = int(server.url.rsplit(":", 1)[1])
    kept = []
    try:
        for _ in range(600):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b" 200 " in _reply(connection)
            kept.append(connection)
        assert server.ask("SELECT COUNT(*) FROM staff")[0] == 200
        # The newest is still good for another request.
        kept[-1].sendall(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b" 200 " in _reply(kept[-1])
    finally:
        for connection in kept:
            connection.close()


def test_a_request_without_a_token_is_refused_before_its_body_is_read(server: Server) -> None:
    port = int(server.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"POST /v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
        assert b"401" in connection.recv(4096).split(b"\r\n", 1)[0]
