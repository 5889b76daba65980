"""Who may speak to the server, and what its answers may load; without a browser."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reticent.workbench
from reticent.errors import PolicyError
from reticent.workbench.desk import Desk
from reticent.workbench.security import COOKIE, Doorkeeper, certificate_names
from reticent.workbench.server import serve
from tests.workbench.conftest import HOST, new_bench

PACKAGE = Path(reticent.workbench.__file__).parent


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
        assert headers["cache-control"].startswith("public" if "/static/" in path else "no-store")
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


@pytest.fixture
def certified(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for two names, and its key."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "workbench")])
    names = [x509.DNSName("data.example"), x509.IPAddress(ipaddress.ip_address("127.0.0.2"))]
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    (tmp_path / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    return tmp_path / "cert.pem", tmp_path / "key.pem"


def test_a_server_for_others_answers_to_the_names_of_its_certificate(certified: tuple[Path, Path]) -> None:
    assert certificate_names(certified[0]) == ("data.example", "127.0.0.2")
    with pytest.raises(PolicyError, match="not a TLS certificate"):
        certificate_names(certified[1])


@pytest.mark.slow
def test_others_are_let_in_by_tls_and_the_password_alone(tmp_path: Path, certified: tuple[Path, Path]) -> None:
    httpx = pytest.importorskip("httpx")
    bench = new_bench(tmp_path, "--host", "127.0.0.2", "--certificate", str(certified[0]), "--key", str(certified[1]))
    bench.address, bench.environment = "127.0.0.2", {"RETICENT_WORKBENCH_PASSWORD": "correct horse"}
    bench.start()
    try:
        base = f"https://127.0.0.2:{bench.port}"
        with httpx.Client(verify=False, base_url=base, timeout=30) as stranger:
            assert stranger.get("/").headers["location"] == "/login"
            assert stranger.get("/p/0123456789ab/v/1/data").headers["location"] == "/login"
            assert stranger.get("/", headers={"host": "evil.example"}).status_code == 421
            assert stranger.get("/", headers={"host": f"data.example:{bench.port}"}).status_code == 303
            wrong = stranger.post("/login", data={"password": "cow"}, headers={"origin": base})
            assert wrong.status_code == 403
            assert stranger.get("/").status_code == 303
            assert stranger.post("/login", data={"password": "correct horse"}).status_code == 403
            right = stranger.post("/login", data={"password": "correct horse"}, headers={"origin": base})
            assert right.status_code == 303
            assert "Secure" in right.headers["set-cookie"]
            assert "Drop a file here" in stranger.get("/").text
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://127.0.0.2:{bench.port}/")
    finally:
        assert "correct horse" not in bench.stop()


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


def test_a_project_without_a_table_says_so_on_every_page(client: Any, tmp_path: Path) -> None:
    client.enter()
    project = Desk(tmp_path / "home").projects.new("nothing.csv", "uploaded")
    for name in ("columns", "columns/0", "guarantee", "explore"):
        answered = client("GET", f"/p/{project.id}/v/0/{name}")
        assert answered.status_code == 200
        assert "Nothing was read yet" in answered.text
    for name in ("data", "publish", "more"):
        assert "Nothing was read yet" not in client("GET", f"/p/{project.id}/v/0/{name}").text


def test_the_first_page_is_shown_without_the_libraries_that_read_tables(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from reticent.workbench.desk import Desk; from reticent.workbench.server import create_app; "
        "from reticent.workbench.security import Doorkeeper; home = Path(sys.argv[1]); desk = Desk(home); "
        "create_app(desk, Doorkeeper(home / 'sessions.json', frozenset(), 'http', None)); "
        "assert desk.page('start.html', projects=[], folder='').status_code == 200; "
        "sys.exit(', '.join({'numba', 'numpy', 'polars', 'reticent.reports'} & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
