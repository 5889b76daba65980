"""The ledger's key: 256 random bits in a file next to it, for the hash chain of entries and for the hashes of people, values and tokens."""

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
    """A key of 256 random bits. With the ledger alone one can neither test values or tokens against its hashes, nor forge an entry."""

    key: bytes = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Secret:
        """The key in a file."""
        try:
            key = path.read_bytes()
        except FileNotFoundError:
            raise LedgerError(
                f"The key file {str(path)!r} is missing, but the ledger has hashes made with it. Restore it from a backup: with a "
                "new key every value would look new, and prior disclosures would not count."
            ) from None
        if len(key) != _BYTES:
            raise LedgerError(f"The key file {str(path)!r} is damaged. Restore it from a backup.")
        return cls(key)

    @classmethod
    def create(cls, path: Path) -> Secret:
        """The key in a file, created atomically if there is none; one process at a time."""
        if not path.exists():
            write_whole(path, secrets.token_bytes(_BYTES), mode=0o600)
        return cls.read(path)

    @property
    def fingerprint(self) -> str:
        """A public identifier of this key that reveals nothing else."""
        return self.digest(b"fingerprint of owners and values").hex()[:32]

    def digest(self, message: bytes) -> bytes:
        """HMAC-SHA256 of a message."""
        return hmac.digest(self.key, message, hashlib.sha256)

    def derived(self, purpose: str) -> Secret:
        """A key for one purpose only: hashes for different purposes are unrelated."""
        return Secret(self.digest(f"key for {purpose}".encode()))

    @property
    def pads(self) -> tuple[bytes, bytes]:
        """The two blocks of HMAC-SHA256 (inner, outer), for hashing many values inside a database."""
        block = self.key.ljust(64, b"\0")
        return block.translate(_INNER), block.translate(_OUTER)
