"""Who vouches for a certificate: keys with periods, thresholds and revocations, and a log that shows when it existed.

``trust_file``       the keys that may sign, vouched for by root keys; versions, expiry, rotation, revocation
``release_log``      certificates in an append-only tree with signed heads, and proofs about it
``head_signers``     whose word the head of a log is
``merkle_tree``      the tree: roots and proofs
``signed_document``  how both are written, read and signed
``envelope``         a certificate as an in-toto statement in a DSSE envelope
"""

from reticent.release.trust.envelope import envelope_of
from reticent.release.trust.head_signers import head_signers
from reticent.release.trust.release_log import (
    LogHead,
    LogProof,
    ReleaseLog,
    append,
    check_writer,
    create_log,
    is_log,
    read_proof,
)
from reticent.release.trust.signed_document import time_of
from reticent.release.trust.trust_file import TrustFile

__all__ = [
    "LogHead",
    "LogProof",
    "ReleaseLog",
    "TrustFile",
    "append",
    "check_writer",
    "create_log",
    "envelope_of",
    "head_signers",
    "is_log",
    "read_proof",
    "time_of",
]
