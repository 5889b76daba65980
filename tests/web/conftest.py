"""The HTTP service as it really runs: uvicorn in a process of its own, on the loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reticent.audit.service import AuditService
from reticent.policy.audit_policy import AuditPolicy
from tests.audit_service.conftest import PEOPLE, POLICY

PROGRAM = Path(sys.executable).parent / "reticent"


@dataclass(frozen=True)
class Server:
    """A running service, the folder of its policy, and tokens of its users."""

    url: str
    folder: Path
    tokens: dict[str, str]

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str | None = "alice",
        raw: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        """The status and the JSON of a request."""
        data = raw if raw is not None else (None if body is None else json.dumps(body).encode())
        given = {"Content-Type": "application/json", **(headers or {})}
        if user is not None:
            given["Authorization"] = f"Bearer {self.tokens.get(user, user)}"
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=given)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, _content(response.read())
        except urllib.error.HTTPError as error:
            return error.code, _content(error.read())

    def ask(self, sql: str, user: str | None = "alice", **options: Any) -> tuple[int, Any]:
        return self.call("POST", "/v1/query", {"sql": sql, **options}, user=user)


def _content(found: bytes) -> Any:
    try:
        return json.loads(found)
    except ValueError:
        return found.decode()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(folder: Path, users: tuple[str, ...] = ("alice", "bob", "carol")) -> tuple[subprocess.Popen[bytes], Server]:
    """Make tokens and start ``reticent audit serve``."""
    with AuditService(AuditPolicy.read(folder / "audit.toml").settings) as service:
        tokens = {user: service.tokens.make(user) for user in users}
    port = free_port()
    process = subprocess.Popen(
        [PROGRAM, "audit", "serve", "audit.toml", "--port", str(port)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "server.log").open("wb"),
        env={**os.environ, "RETICENT_LEDGER": str(folder / "ledger.sqlite")},
    )
    server = Server(f"http://127.0.0.1:{port}", folder, tokens)
    end = time.monotonic() + 90
    while True:
        assert process.poll() is None, (folder / "server.log").read_text()
        assert time.monotonic() < end
        try:
            assert server.call("GET", "/v1/health", user=None)[0] == 200
            return process, server
        except OSError:
            time.sleep(0.05)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One service for the tests of a module."""
    folder = tmp_path_factory.mktemp("web")
    PEOPLE.write_csv(folder / "staff.csv")
    (folder / "audit.toml").write_text(POLICY.replace("{source}", "staff.csv").replace("{table}", ""))
    process, running = start(folder)
    yield running
    process.terminate()
    process.wait(timeout=30)
