"""From a draft to a release that others can trust, and back: certified, saved, verified, counted, reported.

``publishing``    publish: method, judgement, ledger, certificate
``release``       what publish returns; saving it whole or not at all
``public``        the public side, in memory or read from its folder
``manifest``      what the files hold; ``certificate`` what is claimed about them; ``wording`` the same in plain words
``verification``  verify: every claim recomputed from the public side; ``claims`` and ``reference`` are its parts
``formats``       how groups are read off the public tables; ``tables`` how these are written and read, ``stored`` those too large for memory
``scheme``        the saved recoding, and apply for new rows
``signing``       Ed25519 keys and signatures
``counting``      counting queries; ``report`` the steward's report
"""

from reticent.release.claims import Check
from reticent.release.formats import groups_from
from reticent.release.manifest import Manifest
from reticent.release.public import PublicSide, open_public
from reticent.release.publishing import publish
from reticent.release.release import Release
from reticent.release.scheme import Scheme, apply
from reticent.release.signing import KeyFiles, generate_keys
from reticent.release.verification import Verification, verify

__all__ = [
    "Check",
    "KeyFiles",
    "Manifest",
    "PublicSide",
    "Release",
    "Scheme",
    "Verification",
    "apply",
    "generate_keys",
    "groups_from",
    "open_public",
    "publish",
    "verify",
]
