"""Tasks of the page Publish: publication, verification, and the history from the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reticent.ledger import Ledger, LedgerLocation
from reticent.policy import publish_policy
from reticent.release import certificate_hash, verify
from reticent.workbench.tasks.opened import policy_of
from reticent.workbench.worker import Reporter


def publish(reporter: Reporter, folder: str, policy: str, moment: str, stamp: str = "") -> dict[str, Any]:
    """Publish the policy exactly as ``reticent publish`` does, and verify the folder as a recipient would."""
    made = publish_policy(policy_of(folder, policy), context=reporter.context())
    certificate = made.release.certificate
    reporter.context().step("verifying as a recipient would")
    return {
        "path": str(made.path.absolute()),
        "report": None if made.report is None else str(made.report.absolute()),
        "hash": certificate_hash(certificate),
        "definition": str(made.definition),
        "made": certificate.get("created") or certificate.get("made") or moment,
        "dataset": certificate.get("dataset"),
        "rows": made.release.public.height if hasattr(made.release, "public") else None,
        "verified": checked(made.path),
    }


def verification(reporter: Reporter, path: str, moment: str = "") -> dict[str, Any]:
    """Verify that the files of a release satisfy the claims of its certificate."""
    return checked(Path(path))


def checked(path: Path) -> dict[str, Any]:
    """Verify a release folder and return the result as JSON-compatible data."""
    found = verify(path)
    return {
        "path": str(path),
        "holds": found.holds,
        "title": found.headline.title,
        "reasons": list(found.headline.reasons),
        "signed": found.signed,
        "checks": [
            {"name": each.name, "status": str(each.status), "detail": each.detail, "claim": bool(each.claim)}
            for each in found.checks
        ],
        "recomputed": list(found.recomputed),
    }


def history(reporter: Reporter, dataset: str, ledger: str | None, moment: str) -> dict[str, Any]:
    """Return the releases of a data set that the ledger records."""
    location = LedgerLocation.of(ledger)
    if not location.path.exists():
        return {"entries": [], "ledger": str(location.path)}
    with Ledger(location) as book:
        known = dataset in book.datasets()
        entries = book.entries(dataset) if known else []
    return {
        "ledger": str(location.path),
        "entries": [
            {
                "number": each.number,
                "kind": each.kind,
                "status": each.status,
                "changed": each.changed,
                "content": each.content[:12],
            }
            for each in entries
        ],
    }
