"""Links between two parties: TLS 1.3 with pinned certificates, and every message bound to its session, round, sender, receiver and item.

*Guarantee*: mutual authentication by the private key of the pinned certificate; encryption and integrity by TLS. A
message carries a label of its session, round, sender, receiver and item, so that a copied, replayed or reordered
message is rejected. *Adversary*: controls the network, or is another party. Not covered: delayed messages, message
lengths, and the owner of the machine. *Cost*: a TLS handshake and two initial messages; 24 bytes per message in
addition to TLS. *Source*: the standard library's ``ssl``; self-signed certificates (Ed25519, from the package
cryptography), and each side trusts exactly those of the run.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import os
import ssl
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import NameOID

from reticent.base.files import check_own, write_new
from reticent.errors import DataError

_HELLO = struct.Struct("<8s32sHH")
_MAGIC = b"RTNOISE2"
_FRAME = struct.Struct("<II")
_PLACE = struct.Struct("<32sIHH")
_LABEL = 16
# Frame number that marks the end of the stream.
_END = (1 << 32) - 1
# Number of maximum-size messages that may be buffered; further ones stay with the sender.
_MOST_AHEAD = 4
_MOST_ROUNDS_AHEAD = 1000
BUFFER = 1 << 22
# Deterministic certificates for runs on one machine: the same key gives the same certificate.
_ALWAYS = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)


class HandshakeFailed(Exception):
    """A peer could not prove to be the party that it claims to be."""


class Identity:
    """A party's long-term key with its certificate, which the others know."""

    def __init__(self, key: Ed25519PrivateKey, certificate: bytes | None = None) -> None:
        self._key, self._certificate = key, certificate

    @staticmethod
    def new() -> Identity:
        """Create a key from the operating system's randomness."""
        return Identity(Ed25519PrivateKey.generate())

    @staticmethod
    def from_bytes(raw: bytes) -> Identity:
        """Restore a key from :meth:`to_bytes`."""
        return Identity(Ed25519PrivateKey.from_private_bytes(raw))

    @staticmethod
    def load(path: str | Path) -> Identity:
        """Read a private key in PEM; refuse one that others can read or that another user owns."""
        path = Path(path)
        wrong = check_own(path)
        if wrong is not None:
            raise DataError(f"The private key {str(path)!r} is not used: {wrong}.", setting=("key",), value=str(path))
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except (OSError, ValueError, TypeError) as error:
            raise DataError(
                f"The private key {str(path)!r} cannot be read: {error}.", setting=("key",), value=str(path)
            ) from None
        if not isinstance(key, Ed25519PrivateKey):
            raise DataError(f"The private key {str(path)!r} is not an Ed25519 key.", setting=("key",), value=str(path))
        return Identity(key)

    def certified(self, certificate: bytes) -> Identity:
        """Return the same key with a certificate handed to the others; one of another key is refused."""
        if public_key_of(certificate) != self._key.public_key().public_bytes_raw():
            raise DataError("The private key does not match the certificate.", setting=("key",))
        return Identity(self._key, certificate)

    def save(self, path: str | Path) -> None:
        """Write the private key in PEM to a new file readable by its owner only."""
        write_new(Path(path), self._pem, mode=0o600)

    @property
    def _pem(self) -> bytes:
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    @property
    def key(self) -> Ed25519PrivateKey:
        """The key itself, for signing certificates."""
        return self._key

    def to_bytes(self) -> bytes:
        """Return the private key, 32 bytes; for a pipe to a child process."""
        return self._key.private_bytes_raw()

    @cached_property
    def public(self) -> bytes:
        """The certificate (DER) known to the others: the given one, or one derived from the key."""
        if self._certificate is not None:
            return self._certificate
        return self_signed(self._key, "party", 1, *_ALWAYS).public_bytes(serialization.Encoding.DER)

    @contextmanager
    def chain(self) -> Iterator[str]:
        """Yield the path of a file with key and certificate while ``ssl`` reads it: in memory if possible, otherwise
        readable by its owner only and removed at once.
        """
        pem = self._pem + x509.load_der_x509_certificate(self.public).public_bytes(serialization.Encoding.PEM)
        if hasattr(os, "memfd_create"):
            with os.fdopen(os.memfd_create("identity"), "wb") as file:
                file.write(pem)
                file.flush()
                yield f"/proc/self/fd/{file.fileno()}"
            return
        with tempfile.NamedTemporaryFile() as file:
            file.write(pem)
            file.flush()
            yield file.name


def self_signed(
    key: Ed25519PrivateKey, name: str, serial: int, begin: datetime.datetime, end: datetime.datetime
) -> x509.Certificate:
    """Return a self-signed certificate of a party."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    return builder.serial_number(serial).not_valid_before(begin).not_valid_after(end).sign(key, None)


def public_key_of(certificate: bytes) -> bytes:
    """The public key of a certificate, 32 bytes."""
    key = x509.load_der_x509_certificate(certificate).public_key()
    if not isinstance(key, Ed25519PublicKey):
        raise DataError("A certificate does not hold an Ed25519 key.", setting=("certificate",))
    return key.public_bytes_raw()


class LinkSession(NamedTuple):
    """What both ends of a link know in advance: the run, the parties' numbers, and all certificates (DER)."""

    name: str
    me: int
    identity: Identity
    keys: tuple[bytes, ...]

    @property
    def mark(self) -> bytes:
        """The identifier of the run, 32 bytes."""
        return hashlib.sha256(self.name.encode()).digest()

    def tls(self, *, calling: bool) -> ssl.SSLContext:
        """Return a TLS 1.3 context with our certificate that accepts only certificates of the run."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if calling else ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Certificates are compared as a whole; a name in them proves nothing more.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        with self.identity.chain() as path:
            context.load_cert_chain(path)
        context.load_verify_locations(cadata=b"".join(self.keys))
        return context


@dataclass
class Link:
    """One end of a link to one party. ``late``: it missed a deadline. ``gone``: the other end closed it or broke the
    framing. ``held_up`` is how long others waited for it.
    """

    peer: int
    me: int
    mark: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    largest: int
    sent: int = 0
    taken: int = 0
    bytes_sent: int = 0
    held_up: float = 0.0
    late: bool = False
    gone: bool = False

    def __post_init__(self) -> None:
        self._waiting: dict[int, bytes] = {}
        self._moved = asyncio.Event()

    def send(self, item: str, payload: bytes) -> None:
        """Send the next message; does nothing if the link is gone."""
        self.write(self.sealed(item, payload))

    def sealed(self, item: str, payload: bytes) -> bytes:
        """Return the next message, framed and labelled for this link, round and item."""
        body = self._label(self.sent, self.me, self.peer, item) + payload
        frame = _FRAME.pack(len(body), self.sent) + body
        self.sent += 1
        return frame

    def write(self, frame: bytes) -> None:
        """Write raw bytes to the link."""
        if not self.gone:
            self.bytes_sent += len(frame)
            self.writer.write(frame)

    @property
    def has_next(self) -> bool:
        """True if the next message has arrived."""
        return self.taken in self._waiting

    def take(self, item: str) -> bytes | None:
        """Return the next message if it is labelled ``item``; None if it has not arrived or has another label."""
        raw = self._waiting.pop(self.taken, None)
        number, self.taken = self.taken, self.taken + 1
        self._moved.set()
        if raw is None or raw[:_LABEL] != self._label(number, self.peer, self.me, item):
            return None
        return raw[_LABEL:]

    def _label(self, number: int, sender: int, receiver: int, item: str) -> bytes:
        """Return the 16-byte label of a message: session, round, sender, receiver and item."""
        return hashlib.sha256(_PLACE.pack(self.mark, number, sender, receiver) + item.encode()).digest()[:_LABEL]

    async def listen(self, arrived: asyncio.Event) -> None:
        """Collect messages until the other end closes or sends an invalid frame."""
        try:
            while True:
                length, number = _FRAME.unpack(await self.reader.readexactly(_FRAME.size))
                if number == _END or not await self._due(number, length):
                    break
                body = await self.reader.readexactly(length)
                if number >= self.taken:
                    self._waiting.setdefault(number, body)
                    arrived.set()
        except (asyncio.IncompleteReadError, OSError):
            pass
        self.gone = True
        arrived.set()

    async def _due(self, number: int, length: int) -> bool:
        """Wait until a message may be read, to bound memory: the next one at once if not too long; a later one if there is room."""
        while number < self.taken + _MOST_ROUNDS_AHEAD:
            if number <= self.taken:
                return length <= self.largest
            waiting_bytes = sum(map(len, self._waiting.values()))
            if length <= self.largest and waiting_bytes + length <= _MOST_AHEAD * self.largest:
                return True
            self._moved.clear()
            await self._moved.wait()
        return False

    def finish(self) -> None:
        """Announce the end of the stream; TLS cannot half-close a connection."""
        with suppress(OSError, RuntimeError):
            self.write(_FRAME.pack(0, _END))

    def close(self) -> None:
        """Close immediately."""
        with suppress(OSError, RuntimeError):
            self.writer.close()


async def connect(session: LinkSession, peer: int, host: str, port: int, largest: int) -> Link:
    """Connect to a party: both sides show their certificate, the run and their number."""
    try:
        reader, writer = await asyncio.open_connection(host, port, limit=BUFFER, ssl=session.tls(calling=True))
    except ssl.SSLError:
        raise HandshakeFailed from None
    try:
        _check_certificate(session, writer, peer)
        writer.write(_HELLO.pack(_MAGIC, session.mark, session.me, peer))
        answer = _HELLO.unpack(await reader.readexactly(_HELLO.size))
        if answer != (_MAGIC, session.mark, peer, session.me):
            raise HandshakeFailed
        return Link(peer, session.me, session.mark, reader, writer, largest)
    except BaseException:
        writer.close()
        raise


async def accept(
    session: LinkSession, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, largest: int
) -> Link:
    """Accept a TLS connection; :class:`HandshakeFailed` if the caller is not the party of this session that it claims to be."""
    magic, mark, sender, receiver = _HELLO.unpack(await reader.readexactly(_HELLO.size))
    if magic != _MAGIC or mark != session.mark or receiver != session.me or not session.me < sender < len(session.keys):
        raise HandshakeFailed
    _check_certificate(session, writer, sender)
    writer.write(_HELLO.pack(_MAGIC, session.mark, session.me, sender))
    return Link(sender, session.me, session.mark, reader, writer, largest)


def _check_certificate(session: LinkSession, writer: asyncio.StreamWriter, peer: int) -> None:
    """Refuse a peer without the pinned certificate of its claimed party: TLS admits any certificate of the run."""
    link = writer.get_extra_info("ssl_object")
    if link is None or link.getpeercert(binary_form=True) != session.keys[peer]:
        raise HandshakeFailed
