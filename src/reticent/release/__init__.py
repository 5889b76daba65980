"""From a draft to a release that others can trust, and back: certified, saved, verified, counted, reported.

``publication``      publish: method, judgement, ledger, certificate
``release``          what publish returns; saving it whole or not at all
``public``           the public side, in memory or read from its folder
``manifest``         what the files hold; ``certificate`` what is claimed about them; ``statements`` the same in plain words, ``joint_claims`` all of them together
``verification``     verify: every claim recomputed from the public side; ``claims`` and ``reference_histogram`` are its parts
``fewer_known_columns``  what a guarantee for any few columns would save
``headline``         the verdict in one word, and what the claims do not cover
``format``           the kinds of release there are, with the usual answers; ``adversary_views`` what an adversary sees
``public_tables``    how public tables are written and read
``later_rows``       rows that come later, recoded alike
``cheapest_method``  the cheapest of several methods; ``method_lookup`` methods by name, and the default
``declared_columns`` how many records declared columns tell apart
``signature_keys``   Ed25519 keys and signatures; ``origin`` where a certificate comes from; ``trust`` trust files, the log of releases, envelopes
``count_queries``    counting queries; ``analyst_design`` published columns as regressors
"""

from reticent.release.adversary_views import adversary_view_of, public_side
from reticent.release.analyst_design import analyst_designs, default_models
from reticent.release.assessment import assess, natural_closeness
from reticent.release.canonical_json import parsed, readable
from reticent.release.certificate import certificate_hash, countersigned, signatures_of
from reticent.release.cheapest_method import Cheapest, MethodComparison, MethodCost, cost_of, methods_table
from reticent.release.claims import Check, check_claims, read_claims
from reticent.release.computable_columns import ComputableColumns
from reticent.release.count_queries import EVENLY_SPREAD, Count, CountQuery, count_labels, domains_of
from reticent.release.declared_columns import DeclaredColumns
from reticent.release.document_schemas import schema_names, shipped_schema
from reticent.release.fewer_known_columns import AnyColumnsOffer, any_columns_offer
from reticent.release.format import (
    Answer,
    EvidenceRequest,
    Format,
    GroupFormat,
    MechanismFormat,
    Words,
    format_of,
    read_details,
)
from reticent.release.headline import Headline
from reticent.release.later_rows import apply
from reticent.release.manifest import GROUPS, EarlierLayout, Manifest, ManifestColumn, PublishedAs
from reticent.release.method_lookup import default_method, method_from, methods_compared, named_method
from reticent.release.public import PublicSide, open_certificate, open_public
from reticent.release.publication import JudgedDraft, judged_draft, publish
from reticent.release.release import Release
from reticent.release.request import FileKind, Request
from reticent.release.signature_keys import KeyFiles, generate_keys, private_key, private_keys, public_key
from reticent.release.statements import covers, joined_claims, promised_by
from reticent.release.verification import Verification, headline_of, reservations_of, verify

__all__ = [
    "EVENLY_SPREAD",
    "GROUPS",
    "Answer",
    "AnyColumnsOffer",
    "Cheapest",
    "Check",
    "ComputableColumns",
    "Count",
    "CountQuery",
    "DeclaredColumns",
    "EarlierLayout",
    "EvidenceRequest",
    "FileKind",
    "Format",
    "GroupFormat",
    "Headline",
    "JudgedDraft",
    "KeyFiles",
    "Manifest",
    "ManifestColumn",
    "MechanismFormat",
    "MethodComparison",
    "MethodCost",
    "PublicSide",
    "PublishedAs",
    "Release",
    "Request",
    "Verification",
    "Words",
    "adversary_view_of",
    "analyst_designs",
    "any_columns_offer",
    "apply",
    "assess",
    "certificate_hash",
    "check_claims",
    "cost_of",
    "count_labels",
    "countersigned",
    "covers",
    "default_method",
    "default_models",
    "domains_of",
    "format_of",
    "generate_keys",
    "headline_of",
    "joined_claims",
    "judged_draft",
    "method_from",
    "methods_compared",
    "methods_table",
    "named_method",
    "natural_closeness",
    "open_certificate",
    "open_public",
    "parsed",
    "private_key",
    "private_keys",
    "promised_by",
    "public_key",
    "public_side",
    "publish",
    "read_claims",
    "read_details",
    "readable",
    "reservations_of",
    "schema_names",
    "shipped_schema",
    "signatures_of",
    "verify",
]
