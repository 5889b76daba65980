"""The ledger's key: 256 random bits in a file beside it, for the chain of its entries and for the hashes of people, values and tokens."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from reticent.base.files import write_whole
from reticent.errors import LedgerError

_BYTES = 32
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))


@dataclass(frozen=True)
class Secret:
    """A key of 256 random bits. Whoever has only the ledger can neither try values or tokens against the hashes in it, nor forge an entry."""

    key: bytes = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Secret:
        """The key in a file."""
        try:
            key = path.read_bytes()
        except FileNotFoundError:
            raise LedgerError(
                f"The key file {str(path)!r} is not there, but the ledger holds hashes made with it. Put it back from a backup: with a "
                "new key every value would look new, and what was given out already would not count."
            ) from None
        if len(key) != _BYTES:
            raise LedgerError(f"The key file {str(path)!r} is damaged. Put it back from a backup.")
        return cls(key)

    @classmethod
    def create(cls, path: Path) -> Secret:
        """The key in a file, made whole or not at all if there is none; one process at a time."""
        if not path.exists():
            write_whole(path, secrets.token_bytes(_BYTES), mode=0o600)
        return cls.read(path)

    @property
    def fingerprint(self) -> str:
        """What tells this key, and what is hashed with it, from another, and nothing more."""
        return self.digest(b"fingerprint of owners and values").hex()[:32]

    def digest(self, message: bytes) -> bytes:
        """HMAC-SHA256 of a message."""
        return hmac.digest(self.key, message, hashlib.sha256)

    def derived(self, purpose: str) -> Secret:
        """A key for one purpose only: what is hashed for another never looks the same."""
        return Secret(self.digest(f"key for {purpose}".encode()))

    @property
    def pads(self) -> tuple[bytes, bytes]:
        """The two blocks of HMAC-SHA256 (inner, outer), for hashing many values inside a database."""
        block = self.key.ljust(64, b"\0")
        return block.translate(_INNER), block.translate(_OUTER)
