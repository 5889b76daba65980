"""Access control: accepts only requests with a valid session, an allowed Host header, and an origin of the workbench itself.

A content security policy allows scripts and styles from this server only, none inline. Responses are not cached, cannot be framed, and send no referrer.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from reticent.base.files import write_whole
from reticent.errors import PolicyError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

COOKIE = "reticent_workbench"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), clipboard-read=()",
    "cache-control": "no-store",
}
_OPEN = ("/static/", "/login", "/favicon.ico")
_LASTS = 7 * 24 * 3600
_SAFE = ("GET", "HEAD")


@dataclass
class Doorkeeper:
    """Holds the one-time token, the sessions created from it, and the allowed host names. Mutable: a token is valid once.

    Sessions are stored as hashes in ``file``, so that they survive a restart of the server.
    """

    file: Path
    hosts: frozenset[str]
    scheme: str = "http"
    password: str | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _sessions: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Load the stored sessions that have not expired; an unreadable file counts as empty."""
        if self.file.exists():
            try:
                stored = json.loads(self.file.read_bytes())
            except ValueError:
                stored = {}
            now = time.time()
            self._sessions = {key: float(until) for key, until in stored.items() if float(until) > now}

    def redeem(self, token: str) -> str | None:
        """Exchange the one-time token for a session; None if it is wrong or already used."""
        with self._lock:
            if not self.token or not hmac.compare_digest(token.encode(), self.token.encode()):
                return None
            self.token = ""
            return self._new_session()

    def enter(self, password: str) -> str | None:
        """Return a session for the correct password; None if it is wrong or no password is set."""
        with self._lock:
            is_correct = self.password is not None and hmac.compare_digest(password.encode(), self.password.encode())
            return self._new_session() if is_correct else None

    def knows(self, session: str) -> bool:
        """True if the session was issued by this workbench."""
        return self._sessions.get(_hashed(session), 0.0) > time.time()

    def _new_session(self) -> str:
        """Return a new session and store its hash with the time at which it expires."""
        session = secrets.token_urlsafe(32)
        self._sessions[_hashed(session)] = time.time() + _LASTS
        write_whole(self.file, json.dumps(self._sessions).encode(), 0o600)
        return session

    def cookie(self, session: str) -> str:
        """Return the Set-Cookie header value for a session."""
        secure = "; Secure" if self.scheme == "https" else ""
        return f"{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={_LASTS}{secure}"


class Guard:
    """ASGI middleware that authenticates every request and sets the security headers."""

    def __init__(self, app: Any, door: Doorkeeper) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: reject it, pass it on to the application, or exchange the token in its URL for a session cookie."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        send_guarded = _with_headers(send)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _plain(send_guarded, *refusal)
            return
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if scope["method"] == "GET" and "token" in query:
            session = self._door.redeem(query["token"][0])
            if session is not None:
                await _redirect(send_guarded, scope["path"], self._door.cookie(session))
                return
        if scope["path"].startswith(_OPEN) or self._door.knows(_session_in(headers)):
            await self._app(scope, receive, send_guarded)
        elif self._door.password is not None:
            await _redirect(send_guarded, "/login")
        else:
            await _plain(
                send_guarded,
                403,
                "This workbench belongs to another user of this machine, or your link was used already.\n\n"
                "Start it again with `reticent workbench`: it prints a new link, which works once.\n",
            )

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Return status and reason if a request is rejected regardless of its session (wrong host or foreign origin), else None."""
        host = headers.get("host", "").lower()
        if host not in self._door.hosts:
            return 421, "The workbench does not accept this host name.\n"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and (
            scope["method"] not in _SAFE or headers.get("sec-fetch-mode") != "navigate"
        ):
            return 403, "A page from elsewhere may not use the workbench.\n"
        if scope["method"] not in _SAFE and headers.get("origin") != f"{self._door.scheme}://{host}":
            return 403, "Changes are made from the workbench's own pages only.\n"
        return None


def own_hosts(names: tuple[str, ...], port: int) -> frozenset[str]:
    """Return the allowed values of the Host header: each name with the port, or also without it for a standard port."""
    return frozenset(f"{name.lower()}:{port}" for name in names) | (
        frozenset(name.lower() for name in names) if port in (80, 443) else frozenset()
    )


def certificate_names(path: Path) -> tuple[str, ...]:
    """Return the host names and IP addresses of a TLS certificate, which are the only ones that remote browsers may use."""
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise PolicyError(f"{str(path)!r} is not a TLS certificate in PEM format: {error}.") from None
    try:
        alternative_names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    addresses = [str(ip_address) for ip_address in alternative_names.get_values_for_type(x509.IPAddress)]
    return (
        *alternative_names.get_values_for_type(x509.DNSName),
        *(f"[{ip_address}]" if ":" in ip_address else ip_address for ip_address in addresses),
    )


def private_folder(path: Path) -> None:
    """Create a folder that only its owner can access."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chmod(path, 0o700)


def _hashed(session: str) -> str:
    return hashlib.sha256(session.encode()).hexdigest()


def _session_in(headers: dict[str, str]) -> str:
    """Return the session from the Cookie header, or an empty string."""
    for cookie in headers.get("cookie", "").split(";"):
        name, _, value = cookie.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def _with_headers(send: Send) -> Send:
    """Wrap ``send`` to add the security headers to every response, without overriding existing ones."""

    async def sent(message: MutableMapping[str, Any]) -> None:
        """Send an ASGI message; the start of a response gets the security headers that it does not have."""
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in present]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sent


async def _plain(send: Send, status: int, text: str) -> None:
    """Answer with a text."""
    body = text.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _redirect(send: Send, path: str, cookie: str = "") -> None:
    """Answer with a redirect (303) to ``path`` and, if given, a Set-Cookie header."""
    headers = [(b"location", path.encode("latin-1")), (b"content-length", b"0")]
    if cookie:
        headers.append((b"set-cookie", cookie.encode()))
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
