"""Releases: publish a draft with a certificate, save it, verify it, run counting queries on it, assess it.

``publication``      publish: method, judgement, ledger, certificate
``release``          the object that publish returns, and saving it atomically
``public``           the public side, in memory or read from its folder
``manifest``         schema of the published files; ``certificate`` the claims about them; ``statements`` the claims in plain words, ``joint_claims`` claims combined
``verification``     verify: recompute every claim from the public side; ``claims`` and ``reference_histogram`` are its parts
``fewer_known_columns``  utility gained by a guarantee for any m known columns
``headline``         the verdict in one word, and what the claims do not cover
``format``           interface of the release formats, with defaults; ``adversary_views`` the adversary's view of a target
``public_tables``    serialisation of public tables
``later_rows``       recode new rows by the recoding of a release
``cheapest_method``  choose the cheapest of several methods; ``method_lookup`` methods by name, and the default
``declared_columns`` uniqueness of records by declared columns
``signature_keys``   Ed25519 keys and signatures; ``origin`` checks of a certificate's origin; ``trust`` trust files, the log of releases, envelopes
``interval_widths``  how precise noisy figures are; ``count_queries`` counting queries; ``analyst_design`` published columns as regressors
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names

if TYPE_CHECKING:
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
    from reticent.release.interval_widths import IntervalWidths
    from reticent.release.joint_claims import beside_each_other
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

_HOMES = {
    "Answer": "format",
    "AnyColumnsOffer": "fewer_known_columns",
    "Cheapest": "cheapest_method",
    "Check": "claims",
    "ComputableColumns": "computable_columns",
    "Count": "count_queries",
    "CountQuery": "count_queries",
    "DeclaredColumns": "declared_columns",
    "EVENLY_SPREAD": "count_queries",
    "EarlierLayout": "manifest",
    "EvidenceRequest": "format",
    "FileKind": "request",
    "Format": "format",
    "GROUPS": "manifest",
    "GroupFormat": "format",
    "Headline": "headline",
    "IntervalWidths": "interval_widths",
    "JudgedDraft": "publication",
    "KeyFiles": "signature_keys",
    "Manifest": "manifest",
    "ManifestColumn": "manifest",
    "MechanismFormat": "format",
    "MethodComparison": "cheapest_method",
    "MethodCost": "cheapest_method",
    "PublicSide": "public",
    "PublishedAs": "manifest",
    "Release": "release",
    "Request": "request",
    "Verification": "verification",
    "Words": "format",
    "adversary_view_of": "adversary_views",
    "analyst_designs": "analyst_design",
    "any_columns_offer": "fewer_known_columns",
    "apply": "later_rows",
    "assess": "assessment",
    "beside_each_other": "joint_claims",
    "certificate_hash": "certificate",
    "check_claims": "claims",
    "cost_of": "cheapest_method",
    "count_labels": "count_queries",
    "countersigned": "certificate",
    "covers": "statements",
    "default_method": "method_lookup",
    "default_models": "analyst_design",
    "domains_of": "count_queries",
    "format_of": "format",
    "generate_keys": "signature_keys",
    "headline_of": "verification",
    "joined_claims": "statements",
    "judged_draft": "publication",
    "method_from": "method_lookup",
    "methods_compared": "method_lookup",
    "methods_table": "cheapest_method",
    "named_method": "method_lookup",
    "natural_closeness": "assessment",
    "open_certificate": "public",
    "open_public": "public",
    "parsed": "canonical_json",
    "private_key": "signature_keys",
    "private_keys": "signature_keys",
    "promised_by": "statements",
    "public_key": "signature_keys",
    "public_side": "adversary_views",
    "publish": "publication",
    "read_claims": "claims",
    "read_details": "format",
    "readable": "canonical_json",
    "reservations_of": "verification",
    "schema_names": "document_schemas",
    "shipped_schema": "document_schemas",
    "signatures_of": "certificate",
    "verify": "verification",
}

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
    "IntervalWidths",
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
    "beside_each_other",
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

__getattr__ = lazy_names(__name__, _HOMES)
