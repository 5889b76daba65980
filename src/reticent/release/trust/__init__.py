"""Trust in certificates: keys with validity periods, thresholds and revocations, and a log that proves when a certificate existed.

``trust_file``       the keys that may sign, vouched for by root keys; versions, expiry, rotation, revocation
``release_log``      certificates in an append-only tree with signed heads, and proofs about it
``head_signers``     who signed the head of a log
``merkle_tree``      the tree: roots and proofs
``signed_document``  serialisation and signatures of both
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
