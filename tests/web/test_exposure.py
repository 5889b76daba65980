"""Where the service may be reached, by which names, and what it writes down about requests."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from reticent.audit.service import AuditService
from reticent.errors import PolicyError
from reticent.policy.audit_policy import AuditPolicy
from reticent.web.server import check_exposure, is_loopback
from tests.audit_service.conftest import PEOPLE, POLICY
from tests.web.conftest import PROGRAM

httpx = pytest.importorskip("httpx")
SALES = "SELECT sum(salary) FROM people WHERE department = 'sales'"


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.7", False),
        ("audit.example.org", False),
    ],
)
def test_other_machines_reach_it_in_plain_text_only_if_that_was_said(host: str, own: bool) -> None:
    assert is_loopback(host) == own
    if own:
        assert check_exposure(host, insecure=False) is None
        return
    with pytest.raises(PolicyError, match=r"tokens and answers could be read.*--insecure"):
        check_exposure(host, insecure=False)
    assert "reverse proxy with TLS" in str(check_exposure(host, insecure=True))


def test_the_command_refuses_before_it_listens(tmp_path: Path) -> None:
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "audit.toml").write_text(POLICY.format(source="people.parquet", table=""), encoding="utf-8")
    command = [PROGRAM, "audit", "serve", "audit.toml", "--host", "0.0.0.0", "--json"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 2
    assert "--insecure" in found.stdout + found.stderr


def asked(place: Path, requests: list[tuple[str, dict[str, str]]], **options) -> list[httpx.Response]:
    """The replies to queries, each with its own user and headers."""
    from reticent.web.service_app import create_app

    PEOPLE.write_parquet(place / "people.parquet")
    (place / "audit.toml").write_text(POLICY.format(source="people.parquet", table=""), encoding="utf-8")
    settings = AuditPolicy.read(place / "audit.toml").settings
    with AuditService(settings) as service:
        token = service.tokens.make("alice")

    async def ask() -> list[httpx.Response]:
        app = create_app(lambda: AuditService(settings), **options)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
        ):
            return [
                await client.post(
                    "/v1/query", json={"sql": sql}, headers={"Authorization": f"Bearer {token}", **headers}
                )
                for sql, headers in requests
            ]

    return asyncio.run(ask())


def test_requests_that_call_it_by_another_name_are_refused(tmp_path: Path) -> None:
    """A page elsewhere whose own name was pointed at this machine is called by that name."""
    names = [
        "localhost:8000",
        "127.0.0.1",
        "[::1]:8000",
        "AUDIT.example.org",
        "evil.example.org",
        "localhost.evil.example.org",
        "",
    ]
    replies = asked(tmp_path, [(SALES, {"Host": name}) for name in names], hosts=["audit.example.org"])
    assert [reply.status_code for reply in replies] == [200, 200, 200, 200, 421, 421, 421]
    assert replies[-1].json()["error"]["kind"] == "Misdirected"


def test_every_request_is_a_line_of_the_log_without_texts_and_values(tmp_path: Path) -> None:
    replies = asked(
        tmp_path,
        [(SALES, {}), (SALES, {"Authorization": "Bearer none"}), ("SELECT salary FROM people", {})],
        log=tmp_path / "requests.log",
    )
    lines = [json.loads(line) for line in (tmp_path / "requests.log").read_text("utf-8").splitlines()]
    assert [(line["user"], line["path"], line["status"]) for line in lines] == [
        ("alice", "/v1/query", 200),
        (None, "/v1/query", 401),
        ("alice", "/v1/query", 400),
    ]
    assert lines[0]["decisions"] == [replies[0].json()["rows"][0]["answers"][0]["decision"]]
    assert set(lines[0]) == {"time", "user", "method", "path", "status", "decisions"}
    assert not any(word in (tmp_path / "requests.log").read_text("utf-8") for word in ("salary", "sales", "15100"))
