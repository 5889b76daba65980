"""Signers of a log head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.errors import DataError
from reticent.release.trust.release_log import LogHead
from reticent.release.trust.trust_file import TrustFile

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def head_signers(head: LogHead, key: Ed25519PublicKey | None, trust: TrustFile | None) -> tuple[str, bool]:
    """Describe in a sentence who signed a head, and whether a key or trust file confirms it; a head that these reject raises a :class:`DataError`."""
    signers = head.signers
    if trust is not None and trust.body.log.keys:
        trust.check()
        body = head.signed
        judged = trust.judge("log", body.model_dump(mode="json"), head.signatures, body.time, None)
        if judged is None or len(judged.holders) < trust.body.log.threshold:
            why = "; ".join(judged.refusals) if judged else "a signature is not over this head"
            raise DataError(f"The head of the log is not signed with keys that the trust file names for it: {why}.")
        return f"Its head is signed by {' and '.join(judged.holders)}.", True
    if key is not None:
        if key.public_bytes_raw().hex() not in signers:
            raise DataError("The head of the log was signed with another key than the one given.")
        return "Its head is signed with the key that was given.", True
    return (
        f"Its head is signed with the key {signers[0][:16]}...; a trust file with keys for the log proves whose it is.",
        False,
    )
