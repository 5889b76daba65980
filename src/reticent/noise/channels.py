"""Links between two parties: authenticated by keys that both know, encrypted, and every message bound to its place (R-DN-2).

*Guarantee*: a message is accepted only as what it was sent as: its session, round, sender, receiver and item are authenticated with it, so a message that is
copied from another party, replayed or moved to another round does not decrypt.
*Adversary*: anybody on the wire, and the other parties. Not covered: that messages are held up, how long they are, and the owner of the machine.
*Cost*: three messages to begin; 24 bytes for each message.
*Source*: Diffie-Hellman on X25519 signed with Ed25519, HKDF, AES-256-GCM, all from the package cryptography. Keys of a link live as long as the link.
"""

from __future__ import annotations

import asyncio
import hashlib
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from reticent.base.files import check_own, write_new
from reticent.errors import DataError

_HELLO = struct.Struct("<8s32sHH32s")
_MAGIC = b"RTNOISE1"
_FRAME = struct.Struct("<II")
_PLACE = struct.Struct("<32sIHH")
_SIGNATURE = 64
# How many of the longest messages may wait; further ones stay with their sender.
_MOST_AHEAD = 4
_MOST_ROUNDS_AHEAD = 1000
BUFFER = 1 << 22


class HandshakeFailed(Exception):
    """Somebody connected who cannot show to be the party that it claims to be."""


class Identity:
    """A party's long-term key; others know its public half."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

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

    def save(self, path: str | Path) -> None:
        """Write the private key in PEM to a new file that only its owner can read."""
        pem = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        write_new(Path(path), pem, mode=0o600)

    @property
    def key(self) -> Ed25519PrivateKey:
        """The key itself, for signing certificates."""
        return self._key

    def to_bytes(self) -> bytes:
        """The private key, 32 bytes; for a pipe to one's own process."""
        return self._key.private_bytes_raw()

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


class LinkSession(NamedTuple):
    """What both ends of a link know before they meet: the run, who is who, and everybody's public key."""

    name: str
    me: int
    identity: Identity
    keys: tuple[bytes, ...]

    @property
    def mark(self) -> bytes:
        """The name of the run in 32 bytes."""
        return hashlib.sha256(self.name.encode()).digest()


@dataclass
class Link:
    """One end of a link to one party. ``late`` once it missed a deadline, ``gone`` once the other end closed it or broke the framing."""

    peer: int
    me: int
    mark: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    sending: AESGCM
    receiving: AESGCM
    largest: int
    sent: int = 0
    taken: int = 0
    bytes_sent: int = 0
    late: bool = False
    gone: bool = False

    def __post_init__(self) -> None:
        self._waiting: dict[int, bytes] = {}
        self._moved = asyncio.Event()

    def send(self, item: str, payload: bytes) -> None:
        """Encrypt and send the next message; to a link that is gone nothing is sent."""
        self.write(self.sealed(item, payload))

    def sealed(self, item: str, payload: bytes) -> bytes:
        """The next message, framed and encrypted for this link, this round and this item."""
        place = self._place(self.sent, self.me, self.peer)
        body = self.sending.encrypt(self.sent.to_bytes(12, "big"), payload, place + item.encode())
        frame = _FRAME.pack(len(body), self.sent) + body
        self.sent += 1
        return frame

    def write(self, frame: bytes) -> None:
        """Put bytes on the wire as they are."""
        if not self.gone:
            self.bytes_sent += len(frame)
            self.writer.write(frame)

    @property
    def has_next(self) -> bool:
        """Whether the next message is here."""
        return self.taken in self._waiting

    def take(self, item: str) -> bytes | None:
        """The next message, opened as ``item``; None if it is not here or is not what it should be."""
        raw = self._waiting.pop(self.taken, None)
        number, self.taken = self.taken, self.taken + 1
        self._moved.set()
        if raw is None:
            return None
        try:
            place = self._place(number, self.peer, self.me)
            return self.receiving.decrypt(number.to_bytes(12, "big"), raw, place + item.encode())
        except InvalidTag:
            return None

    def _place(self, number: int, sender: int, receiver: int) -> bytes:
        return _PLACE.pack(self.mark, number, sender, receiver)

    async def listen(self, arrived: asyncio.Event) -> None:
        """Collect messages until the other end closes, or sends something that cannot be one."""
        try:
            while True:
                length, number = _FRAME.unpack(await self.reader.readexactly(_FRAME.size))
                if not await self._due(number, length):
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
        """Say that nothing more will be sent."""
        with suppress(OSError, RuntimeError):
            self.writer.write_eof()

    def close(self) -> None:
        """Close at once."""
        with suppress(OSError, RuntimeError):
            self.writer.close()


async def connect(session: LinkSession, peer: int, host: str, port: int, largest: int) -> Link:
    """Connect to a party and show each other who one is."""
    reader, writer = await asyncio.open_connection(host, port, limit=BUFFER)
    try:
        secret = X25519PrivateKey.generate()
        hello = _HELLO.pack(_MAGIC, session.mark, session.me, peer, secret.public_key().public_bytes_raw())
        writer.write(hello + session.identity.sign(b"call" + hello))
        answer = await reader.readexactly(_HELLO.size)
        _verify(session.keys[peer], await reader.readexactly(_SIGNATURE), b"answer" + hello + answer)
        magic, mark, sender, receiver, share = _HELLO.unpack(answer)
        if (magic, mark, sender, receiver) != (_MAGIC, session.mark, peer, session.me):
            raise HandshakeFailed
        writer.write(session.identity.sign(b"confirm" + hello + answer))
        return _linked(session, peer, reader, writer, secret, share, hello + answer, largest, calling=True)
    except BaseException:
        writer.close()
        raise


async def accept(
    session: LinkSession, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, largest: int
) -> Link:
    """Answer a call; :class:`HandshakeFailed` if the caller cannot show to be a party of this session."""
    hello = await reader.readexactly(_HELLO.size)
    magic, mark, sender, receiver, share = _HELLO.unpack(hello)
    if magic != _MAGIC or mark != session.mark or receiver != session.me or not session.me < sender < len(session.keys):
        raise HandshakeFailed
    _verify(session.keys[sender], await reader.readexactly(_SIGNATURE), b"call" + hello)
    secret = X25519PrivateKey.generate()
    answer = _HELLO.pack(_MAGIC, session.mark, session.me, sender, secret.public_key().public_bytes_raw())
    writer.write(answer + session.identity.sign(b"answer" + hello + answer))
    _verify(session.keys[sender], await reader.readexactly(_SIGNATURE), b"confirm" + hello + answer)
    return _linked(session, sender, reader, writer, secret, share, hello + answer, largest, calling=False)


def _verify(key: bytes, signature: bytes, message: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise HandshakeFailed from None


def _linked(
    session: LinkSession,
    peer: int,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    secret: X25519PrivateKey,
    share: bytes,
    hellos: bytes,
    largest: int,
    *,
    calling: bool,
) -> Link:
    try:
        common = secret.exchange(X25519PublicKey.from_public_bytes(share))
    except ValueError:
        raise HandshakeFailed from None
    keys = HKDF(hashes.SHA256(), 64, salt=session.mark, info=b"reticent noise link" + hellos).derive(common)
    out, back = (keys[:32], keys[32:]) if calling else (keys[32:], keys[:32])
    return Link(peer, session.me, session.mark, reader, writer, AESGCM(out), AESGCM(back), largest)
