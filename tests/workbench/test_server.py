"""Who may speak to the server, and what its answers may load; without a browser."""

from __future__ import annotations

import asyncio
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

import reticent.workbench
from reticent.errors import PolicyError
from reticent.workbench.desk import Desk
from reticent.workbench.security import COOKIE, Doorkeeper, own_hosts
from reticent.workbench.server import LOOPBACK, create_app, serve

PACKAGE = Path(reticent.workbench.__file__).parent
HOST = "127.0.0.1:8731"


@pytest.fixture
def door(tmp_path: Path) -> Doorkeeper:
    return Doorkeeper(tmp_path / "sessions.json", own_hosts(LOOPBACK, 8731))


@pytest.fixture
def client(tmp_path: Path, door: Doorkeeper) -> Any:
    httpx = pytest.importorskip("httpx")
    app = create_app(Desk(tmp_path / "home"), door)

    class Client:
        """Requests to the application, without its processes and without a socket."""

        cookies: dict[str, str]

        def __init__(self) -> None:
            self.cookies = {}

        def __call__(self, method: str, path: str, host: str = HOST, **options: Any) -> Any:
            async def sent() -> Any:
                carried = httpx.ASGITransport(app=app)
                async with httpx.AsyncClient(
                    transport=carried, base_url=f"http://{host}", cookies=self.cookies
                ) as open_client:
                    return await open_client.request(method, path, **options)

            return asyncio.run(sent())

        def enter(self) -> None:
            answered = self("GET", f"/?token={door.token}")
            assert answered.status_code == 303
            self.cookies = {COOKIE: answered.cookies[COOKIE]}

    return Client()


def test_a_token_works_once_and_becomes_a_cookie_that_scripts_cannot_read(client: Any, door: Doorkeeper) -> None:
    token = door.token
    answered = client("GET", f"/?token={token}")
    assert answered.status_code == 303
    assert answered.headers["location"] == "/"
    assert "HttpOnly" in answered.headers["set-cookie"]
    assert "SameSite=Strict" in answered.headers["set-cookie"]
    assert client("GET", f"/?token={token}").status_code == 403
    client.cookies = {COOKIE: answered.cookies[COOKIE]}
    assert client("GET", "/").status_code == 200


def test_without_a_session_nothing_is_answered(client: Any) -> None:
    for path in ("/", "/p/0123456789ab/v/1/data", "/p/0123456789ab/policy?v=1"):
        assert client("GET", path).status_code == 403
    client.cookies = {COOKIE: "guessed"}
    assert client("GET", "/").status_code == 403


def test_a_session_outlives_the_server(client: Any, door: Doorkeeper) -> None:
    client.enter()
    again = Doorkeeper(door.file, door.hosts)
    assert again.knows(client.cookies[COOKIE])
    assert client.cookies[COOKIE] not in door.file.read_text()
    assert door.file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("host", ["evil.example:8731", "127.0.0.1:80", "127.0.0.1", "localhost.evil.example:8731"])
def test_other_names_are_refused(client: Any, host: str) -> None:
    client.enter()
    assert client("GET", "/", host=host).status_code == 421


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": f"https://{HOST}"}]
)
def test_changes_come_from_our_own_pages_only(client: Any, headers: dict[str, str]) -> None:
    client.enter()
    assert client("POST", "/demo", headers=headers).status_code == 403


def test_pages_elsewhere_may_not_fetch(client: Any) -> None:
    client.enter()
    assert client("GET", "/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}).status_code == 403
    assert client("GET", "/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 200


def test_every_answer_has_the_strict_policy(client: Any) -> None:
    client.enter()
    for path in ("/", "/static/workbench.css", "/p/0123456789ab", "/nothing"):
        headers = client("GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "style-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("number", ["..", "%2e%2e", "0123456789AB", "home", "dropped-0123456789abcdef"])
def test_no_folder_but_a_project_is_opened(client: Any, number: str) -> None:
    client.enter()
    answered = client("GET", f"/p/{number}/v/1/data")
    assert answered.status_code in (404, 422)
    assert "There is no such project" in answered.text or answered.status_code == 404


def test_other_machines_need_a_certificate_and_a_password(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="--certificate and --key"):
        serve(host="0.0.0.0", home=tmp_path, browser=False)
    with pytest.raises(PolicyError, match="RETICENT_WORKBENCH_PASSWORD"):
        serve(host="0.0.0.0", home=tmp_path, browser=False, certificate=tmp_path / "a.pem", key=tmp_path / "b.pem")


def test_a_password_lets_in_where_there_is_one(tmp_path: Path) -> None:
    door = Doorkeeper(tmp_path / "sessions.json", frozenset(), "https", "correct horse")
    assert door.enter("wrong") is None
    session = door.enter("correct horse")
    assert session is not None
    assert door.knows(session)
    assert "Secure" in door.cookie(session)
    assert Doorkeeper(tmp_path / "none.json", frozenset()).enter("") is None


def test_vendored_scripts_are_as_published() -> None:
    vendor = PACKAGE / "static" / "vendor"
    listed = dict(reversed(line.split("  ")) for line in (vendor / "HASHES").read_text().splitlines())
    held = {each.name for each in vendor.iterdir()} - {"HASHES", "README.md"}
    assert set(listed) == held
    for name, digest in listed.items():
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest


def test_templates_have_no_inline_script_and_no_style() -> None:
    for template in sorted((PACKAGE / "templates").rglob("*.html")):
        text = template.read_text("utf-8")
        assert not re.findall(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:|hx-on", text), template.name
        assert not re.findall(r"https?://", text), template.name


def test_our_scripts_make_no_markup_and_evaluate_nothing() -> None:
    for script in (PACKAGE / "static").glob("*.js"):
        text = script.read_text("utf-8")
        assert not re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://(?!www\.w3\.org)",
            text.replace('swap: "innerHTML"', ""),
        ), script.name
