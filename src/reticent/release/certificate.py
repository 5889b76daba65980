"""The certificate: the claims about a release, the adversary they hold against, and the hashes of the published files.

It states only what follows from the published files and, for claims that compare with it, from the whole table's
histogram.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import reticent
from reticent.definitions import ClaimScope, Definition
from reticent.ledger import Entry
from reticent.release import statements as wording
from reticent.release.canonical_json import canonical, former_json, parsed
from reticent.release.declared_columns import DeclaredColumns
from reticent.release.document_schemas import check_structure
from reticent.release.format import Words
from reticent.release.headline import Headline
from reticent.release.joint_claims import beside_each_other
from reticent.release.manifest import Manifest, check_layout
from reticent.release.reference_histogram import ReferenceColumn
from reticent.release.signature_keys import sign
from reticent.table import to_plain

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

CERTIFICATE, MANIFEST, STATEMENT = "certificate.json", "manifest.json", "STATEMENT.txt"
LAYOUT = 4


def content_of(
    definition: Definition,
    manifest: Manifest,
    words: Words,
    reference: Mapping[str, ReferenceColumn] | None,
    insecure: bool,
    declared: DeclaredColumns,
    headline: Headline,
) -> dict[str, Any]:
    """Return the certificate's content without files, ledger entry, time and signature."""
    compared = {name: column.as_json() for name, column in reference.items()} if reference else None
    return {
        "layout": LAYOUT,
        "reticent": reticent.__version__,
        "format": manifest.format,
        "headline": headline.as_json(),
        "claims": claims_of(definition, wording.scope_of(manifest), compared),
        "quasi": list(manifest.named("quasi")),
        "sensitive": list(manifest.named("sensitive")),
        "declared": declared.listed(),
        "declared_together": declared.summed(),
        "unit": manifest.unit,
        "reference": compared,
        "randomness": {
            "releasable": not insecure,
            "statement": wording.INSECURE if insecure else wording.SECURE,
        },
        "residual_risks": wording.risks(definition, manifest, words, compared, insecure, declared),
    }


def read_certificate(content: bytes) -> dict[str, Any]:
    """Parse a certificate of the current layout; missing or unknown entries raise a :class:`DataError`."""
    certificate = parsed(content, CERTIFICATE)
    check_layout(certificate.get("layout"), LAYOUT, CERTIFICATE)
    # The origin check validates the signature.
    check_structure(unsigned(certificate), "certificate")
    Headline.from_json(certificate["headline"])
    return certificate


def claims_of(definition: Definition, scope: ClaimScope, reference: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return one claim for each definition: its name, its parameters, and in plain words what it covers and does not cover."""
    together = beside_each_other(definition.parts(), scope)
    return [
        {
            "definition": part.name,
            "parameters": to_plain(part.parameters()),
            "covers": wording.covers(part, scope, reference),
            "does_not_cover": part.not_covered(together),
        }
        for part in definition.parts()
    ]


def fingerprint(content: bytes) -> dict[str, Any]:
    """Return the size and hash of a file, as a certificate lists them."""
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def content_hash(
    content: Mapping[str, Any],
    manifest: Manifest,
    rows: Mapping[str, str],
    written: Callable[[Any], bytes] = canonical,
) -> str:
    """Hash the disclosed content of a release: equal for releases that disclose the same.

    ``rows`` are the hashes of the tables' rows. Plain-language text, software version, layout and file type are
    excluded, because they disclose nothing about the data.
    """
    described_manifest = manifest.as_json()
    # The reason for a declaration, and the columns it can be computed from, disclose nothing about the rows.
    described_manifest["columns"] = [
        {name: entry for name, entry in column.items() if name not in ("reason", "computable_from")}
        for column in described_manifest["columns"]
    ]
    disclosed = {
        "claims": [(claim["definition"], claim["parameters"]) for claim in content["claims"]],
        "reference": content["reference"],
        "rows": dict(rows),
        **{name: described_manifest[name] for name in ("format", "method", "unit", "columns", "quasi_sets", "details")},
    }
    return hashlib.sha256(written(disclosed)).hexdigest()


def former_hashes(
    content: Mapping[str, Any],
    manifest: Manifest,
    rows: Mapping[str, str],
    files: Mapping[str, Mapping[str, Any]],
) -> tuple[str, ...]:
    """Return the hashes that earlier versions computed for the same content, so that their releases are recognised as the same.

    Up to layout 3, numbers and keys were written by Python's json module, and a histogram held its column's hierarchy
    instead of levels. Such a hash cannot be recomputed if there is a hierarchy. Version 0.3 hashed files.
    """
    former = {**content, "reference": _former_reference(content["reference"])}
    oldest = _hash_of_files(former, manifest, files)
    return content_hash(former, manifest, rows, former_json), *(() if oldest is None else (oldest,))


def _former_reference(reference: Mapping[str, Mapping[str, Any]] | None) -> dict[str, dict[str, Any]] | None:
    """Return the histograms in layout 3, for columns without a hierarchy."""
    if reference is None:
        return None
    return {
        name: {"hierarchy" if key == "levels" and value is None else key: value for key, value in column.items()}
        for name, column in reference.items()
    }


def _hash_of_files(
    content: Mapping[str, Any], manifest: Manifest, files: Mapping[str, Mapping[str, Any]]
) -> str | None:
    """Return the hash of version 0.3, over the tables' files and a manifest of the first layout; None if that version had none."""
    if (
        manifest.format not in ("generalize", "bucketize")
        or manifest.named("declared")
        or any(len(table.files) > 1 for table in manifest.tables.values())
    ):
        return None
    files_of = {name: table.files[0] for name, table in manifest.tables.items()}
    described_manifest = {name: value for name, value in manifest.as_json().items() if name != "details"}
    former_manifest = {
        **described_manifest,
        "layout": 1,
        "columns": [column for column in described_manifest["columns"] if column["role"] not in ("bucket", "count")],
        "unprotected": [],
        "tables": {
            name: {"file": files_of[name], "columns": list(table.columns)} for name, table in manifest.tables.items()
        },
        **{role: manifest.only(role) for role in ("bucket", "count")},
    }
    reference = content["reference"]
    disclosed = {
        "claims": [(claim["definition"], claim["parameters"]) for claim in content["claims"]],
        "reference": reference
        and {name: {key: value for key, value in column.items() if key != "of"} for name, column in reference.items()},
        "files": {
            MANIFEST: fingerprint(former_json(former_manifest, indent=2)),
            **{name: dict(files[name]) for name in files_of.values()},
        },
    }
    return hashlib.sha256(former_json(disclosed)).hexdigest()


def completed(
    content: Mapping[str, Any],
    files: Mapping[str, Mapping[str, Any]],
    entry: Entry | None,
    created: str,
    keys: Sequence[Ed25519PrivateKey],
) -> dict[str, Any]:
    """Return the certificate to publish, signed with each key; ``entry`` is the ledger entry if the data set has a name."""
    body = {
        **content,
        "files": dict(files),
        "ledger": ledger_part(entry),
        "created": created,
    }
    return countersigned(body, keys)


def ledger_part(entry: Entry | None) -> dict[str, Any]:
    """Return the ledger section of a certificate: data set, number, and how the release was judged together with prior disclosures."""
    if entry is None:
        return {"dataset": None, "release": None, "statement": wording.UNNAMED}
    beside = {"beside": entry.note} if entry.note else {}
    statement = wording.ledger_statement(entry.dataset, entry.number, entry.note)
    return {"dataset": entry.dataset, "release": entry.number, **beside, "statement": statement}


def unsigned(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the signed part of a certificate: everything except the signature."""
    return {name: value for name, value in certificate.items() if name != "signature"}


def signatures_of(certificate: Mapping[str, Any]) -> list[Any]:
    """Return the signatures of a certificate, unchecked: the file holds a single object or a list."""
    signature = certificate.get("signature")
    if signature is None:
        return []
    return signature if isinstance(signature, list) else [signature]


def countersigned(certificate: Mapping[str, Any], keys: Sequence[Ed25519PrivateKey]) -> dict[str, Any]:
    """Return the certificate with signatures of ``keys`` added, sorted by public key."""
    body = unsigned(certificate)
    signature_of_key = {
        signature["public_key"]: signature
        for signature in (*signatures_of(certificate), *(sign(body, key) for key in keys))
    }
    ordered = [signature_of_key[key] for key in sorted(signature_of_key)]
    if not ordered:
        return body
    return {**body, "signature": ordered[0] if len(ordered) == 1 else ordered}


def certificate_hash(certificate: Mapping[str, Any]) -> str:
    """Return the hash of a certificate as the ledger records it; signatures do not affect it."""
    return hashlib.sha256(canonical(unsigned(certificate))).hexdigest()
