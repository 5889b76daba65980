"""Links between two parties: TLS 1.3 with certificates that both know beforehand, and every message bound to its place.

*Guarantee*: a link is made only with the party that holds the private key of the pinned certificate, on both sides; what is sent on it is encrypted and authenticated by TLS. A message
is accepted only as what it was sent as: it carries a label of its session, round, sender, receiver and item, so that a message that is copied from another party,
replayed or moved to another round is not taken for one.
*Adversary*: anybody on the wire, and the other parties. Not covered: that messages are held up, how long they are, and the owner of the machine.
*Cost*: a TLS handshake and two messages to begin; 24 bytes for each message beside those of TLS.
*Source*: the standard library's ``ssl``; certificates sign themselves (Ed25519, from the package cryptography), and each side trusts exactly those of the run.
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
# The number of a frame that says that nothing more will be sent.
_END = (1 << 32) - 1
# How many of the longest messages may wait; further ones stay with their sender.
_MOST_AHEAD = 4
_MOST_ROUNDS_AHEAD = 1000
BUFFER = 1 << 22
# Certificates that live as long as one run on this machine are the same whenever they are made from one key.
_ALWAYS = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)


class HandshakeFailed(Exception):
    """Somebody connected who cannot show to be the party that it claims to be."""


class Identity:
    """A party's long-term key with its certificate, which the others know."""

    def __init__(self, key: Ed25519PrivateKey, certificate: bytes | None = None) -> None:
        self._key, self._certificate = key, certificate

    @staticmethod
    def new() -> Identity:
        """A fresh key from the operating system's randomness."""
        return Identity(Ed25519PrivateKey.generate())

    @staticmethod
    def from_bytes(raw: bytes) -> Identity:
        """The key that :meth:`to_bytes` gave."""
        return Identity(Ed25519PrivateKey.from_private_bytes(raw))

    @staticmethod
    def load(path: str | Path) -> Identity:
        """Read a private key in PEM; one that others may read or that is not ours is refused."""
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
        """The same key with the certificate that the others were given; one of another key is refused."""
        if public_key_of(certificate) != self._key.public_key().public_bytes_raw():
            raise DataError("The private key is not that of the certificate.", setting=("key",))
        return Identity(self._key, certificate)

    def save(self, path: str | Path) -> None:
        """Write the private key in PEM to a new file that only its owner can read."""
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
        """The private key, 32 bytes; for a pipe to one's own process."""
        return self._key.private_bytes_raw()

    @cached_property
    def public(self) -> bytes:
        """The certificate (DER) by which the others know the party: the one it was given, or one that follows from the key."""
        if self._certificate is not None:
            return self._certificate
        return self_signed(self._key, "party", 1, *_ALWAYS).public_bytes(serialization.Encoding.DER)

    @contextmanager
    def chain(self) -> Iterator[str]:
        """The path of a file with key and certificate, for as long as ``ssl`` reads it: in memory where the system can, else readable by its owner alone and removed at once."""
        pem = self._pem + x509.load_der_x509_certificate(self.public).public_bytes(serialization.Encoding.PEM)
        if hasattr(os, "memfd_create"):
            with os.fdopen(os.memfd_create("identity"), "wb") as held:
                held.write(pem)
                held.flush()
                yield f"/proc/self/fd/{held.fileno()}"
            return
        with tempfile.NamedTemporaryFile() as held:
            held.write(pem)
            held.flush()
            yield held.name


def self_signed(
    key: Ed25519PrivateKey, name: str, serial: int, begin: datetime.datetime, end: datetime.datetime
) -> x509.Certificate:
    """A certificate of a party by its own key."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    return made.serial_number(serial).not_valid_before(begin).not_valid_after(end).sign(key, None)


def public_key_of(certificate: bytes) -> bytes:
    """The public key of a certificate, 32 bytes."""
    key = x509.load_der_x509_certificate(certificate).public_key()
    if not isinstance(key, Ed25519PublicKey):
        raise DataError("A certificate does not hold an Ed25519 key.", setting=("certificate",))
    return key.public_bytes_raw()


class LinkSession(NamedTuple):
    """What both ends of a link know before they meet: the run, who is who, and everybody's certificate (DER)."""

    name: str
    me: int
    identity: Identity
    keys: tuple[bytes, ...]

    @property
    def mark(self) -> bytes:
        """The name of the run in 32 bytes."""
        return hashlib.sha256(self.name.encode()).digest()

    def tls(self, *, calling: bool) -> ssl.SSLContext:
        """TLS 1.3 and nothing older, with our certificate, and for peers with one of the run's certificates only."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if calling else ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Certificates are compared themselves; a name in them proves nothing more.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        with self.identity.chain() as path:
            context.load_cert_chain(path)
        context.load_verify_locations(cadata=b"".join(self.keys))
        return context


@dataclass
class Link:
    """One end of a link to one party. ``late`` once it missed a deadline, ``gone`` once the other end closed it or broke the framing; ``held_up`` is for how long others waited for it."""

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
        """Send the next message; to a link that is gone nothing is sent."""
        self.write(self.sealed(item, payload))

    def sealed(self, item: str, payload: bytes) -> bytes:
        """The next message, framed and labelled for this link, this round and this item."""
        body = self._label(self.sent, self.me, self.peer, item) + payload
        frame = _FRAME.pack(len(body), self.sent) + body
        self.sent += 1
        return frame

    def write(self, frame: bytes) -> None:
        """Put bytes on the link as they are."""
        if not self.gone:
            self.bytes_sent += len(frame)
            self.writer.write(frame)

    @property
    def has_next(self) -> bool:
        """Whether the next message is here."""
        return self.taken in self._waiting

    def take(self, item: str) -> bytes | None:
        """The next message, if it is labelled as ``item``; None if it is not here or is not what it should be."""
        raw = self._waiting.pop(self.taken, None)
        number, self.taken = self.taken, self.taken + 1
        self._moved.set()
        if raw is None or raw[:_LABEL] != self._label(number, self.peer, self.me, item):
            return None
        return raw[_LABEL:]

    def _label(self, number: int, sender: int, receiver: int, item: str) -> bytes:
        """What a message is: session, round, sender, receiver and item, in 16 bytes."""
        return hashlib.sha256(_PLACE.pack(self.mark, number, sender, receiver) + item.encode()).digest()[:_LABEL]

    async def listen(self, arrived: asyncio.Event) -> None:
        """Collect messages until the other end closes, or sends something that cannot be one."""
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
        """Wait until a message may be read, so that nobody fills our memory: the next one now, if it is not too long; a later one if there is room for it."""
        while number < self.taken + _MOST_ROUNDS_AHEAD:
            if number <= self.taken:
                return length <= self.largest
            held = sum(map(len, self._waiting.values()))
            if length <= self.largest and held + length <= _MOST_AHEAD * self.largest:
                return True
            self._moved.clear()
            await self._moved.wait()
        return False

    def finish(self) -> None:
        """Say that nothing more will be sent; TLS has no half of a connection to close."""
        with suppress(OSError, RuntimeError):
            self.write(_FRAME.pack(0, _END))

    def close(self) -> None:
        """Close at once."""
        with suppress(OSError, RuntimeError):
            self.writer.close()


async def connect(session: LinkSession, peer: int, host: str, port: int, largest: int) -> Link:
    """Connect to a party: each shows its certificate, and for which run and as whom it is here."""
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
    """Answer a call over TLS; :class:`HandshakeFailed` if the caller is not the party of this session that it claims to be."""
    magic, mark, sender, receiver = _HELLO.unpack(await reader.readexactly(_HELLO.size))
    if magic != _MAGIC or mark != session.mark or receiver != session.me or not session.me < sender < len(session.keys):
        raise HandshakeFailed
    _check_certificate(session, writer, sender)
    writer.write(_HELLO.pack(_MAGIC, session.mark, session.me, sender))
    return Link(sender, session.me, session.mark, reader, writer, largest)


def _check_certificate(session: LinkSession, writer: asyncio.StreamWriter, peer: int) -> None:
    """Refuse a peer whose certificate is not the pinned one of the party that it should be: TLS let in whoever has any of the run's."""
    link = writer.get_extra_info("ssl_object")
    if link is None or link.getpeercert(binary_form=True) != session.keys[peer]:
        raise HandshakeFailed
