"""From a draft to a release that others can trust, and back: certified, saved, verified, counted, reported.

``publishing``    publish: method, judgement, ledger, certificate
``release``       what publish returns; saving it whole or not at all
``public``        the public side, in memory or read from its folder
``manifest``      what the files hold; ``certificate`` what is claimed about them; ``wording`` the same in plain words
``verification``  verify: every claim recomputed from the public side; ``claims`` and ``reference`` are its parts
``format``        the kinds of release there are, with the usual answers; ``formats`` those of grouped rows; ``seen`` what an adversary sees
``tables``        how public tables are written and read; ``stored`` those too large for memory
``applying``      rows that come later, recoded alike
``choosing``      the cheapest of several methods; ``methods`` methods by name, and the default
``signing``       Ed25519 keys and signatures
``counting``      counting queries
"""

from reticent.release.applying import apply
from reticent.release.assessing import natural_closeness
from reticent.release.certificate import certificate_hash
from reticent.release.choosing import Cheapest, MethodComparison, MethodCost, cost_of
from reticent.release.claims import Check, read_claims
from reticent.release.counting import Count, count_batches, count_labels
from reticent.release.format import Answer, Format, GroupFormat, Judged, MechanismFormat, Words, format_of, read_details
from reticent.release.manifest import EarlierLayout, Manifest, ManifestColumn
from reticent.release.methods import default_method, method_from, methods_compared
from reticent.release.public import PublicSide, open_public
from reticent.release.publishing import FileKind, JudgedDraft, judged_draft, publish
from reticent.release.release import Release
from reticent.release.seen import public_side, seen_of
from reticent.release.signing import KeyFiles, generate_keys
from reticent.release.verification import Verification, verify

__all__ = [
    "Answer",
    "Cheapest",
    "Check",
    "Count",
    "EarlierLayout",
    "FileKind",
    "Format",
    "GroupFormat",
    "Judged",
    "JudgedDraft",
    "KeyFiles",
    "Manifest",
    "ManifestColumn",
    "MechanismFormat",
    "MethodComparison",
    "MethodCost",
    "PublicSide",
    "Release",
    "Verification",
    "Words",
    "apply",
    "certificate_hash",
    "cost_of",
    "count_batches",
    "count_labels",
    "default_method",
    "format_of",
    "generate_keys",
    "judged_draft",
    "method_from",
    "methods_compared",
    "natural_closeness",
    "open_public",
    "public_side",
    "publish",
    "read_claims",
    "read_details",
    "seen_of",
    "verify",
]
