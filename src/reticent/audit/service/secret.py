"""The secret of an installation: the key of the hashes of values and tokens, in a file beside the ledger."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from reticent.errors import LedgerError
from reticent.files import sync_folder

_BYTES = 32


@dataclass(frozen=True)
class Secret:
    """A key of 256 random bits. Whoever has only the ledger cannot try values or tokens against the hashes in it."""

    key: bytes = field(repr=False)

    @classmethod
    def beside(cls, ledger: Path, *, may_create: bool) -> Secret:
        """The secret of a ledger. A new one is made only while nothing depends on an old one."""
        path = ledger.with_name(f"{ledger.name}-audit-key")
        if not path.exists():
            if not may_create:
                raise LedgerError(
                    f"The key file {str(path)!r} is not there, but the ledger holds hashes made with it. Put it back from a backup: with a "
                    "new key every value would look new, and what was answered already would not count."
                )
            _create(path)
        key = path.read_bytes()
        if len(key) != _BYTES:
            raise LedgerError(f"The key file {str(path)!r} is damaged. Put it back from a backup.")
        return cls(key)

    @property
    def fingerprint(self) -> str:
        """What tells this secret, and what is hashed with it, from another, and nothing more."""
        return self.digest(b"fingerprint of owners and values").hex()[:32]

    def digest(self, message: bytes) -> bytes:
        """HMAC-SHA256 of a message."""
        return hmac.new(self.key, message, hashlib.sha256).digest()

    @property
    def pads(self) -> tuple[bytes, bytes]:
        """The two blocks of HMAC-SHA256 (inner, outer), for hashing many values inside a database."""
        block = self.key.ljust(64, b"\0")
        return bytes(byte ^ 0x36 for byte in block), bytes(byte ^ 0x5C for byte in block)


def _create(path: Path) -> None:
    """Make the file whole or not at all; of two processes that try at once one wins and both use its key."""
    aside = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, secrets.token_bytes(_BYTES))
        os.fsync(handle)
        try:
            os.link(aside, path)
        except FileExistsError:
            return
    finally:
        os.close(handle)
        os.unlink(aside)
    sync_folder(path.parent)
