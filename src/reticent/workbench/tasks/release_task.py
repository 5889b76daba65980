"""Tasks of the page Publish: publication, its report, verification, and the history from the ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reticent.base.context import Context
from reticent.ledger import Ledger, LedgerLocation
from reticent.policy import publish_policy
from reticent.release import Check, certificate_hash, verify
from reticent.reports import write_stewards_report
from reticent.workbench.definition_words import guarantee_words
from reticent.workbench.tasks.opened import policy_of, table_of
from reticent.workbench.worker import Reporter

_made: dict[str, Any] = {}
"""The last release that this process made, by its path: a report on it has more figures than one on its folder."""


def publish(reporter: Reporter, folder: str, policy: str, moment: str, stamp: str = "") -> dict[str, Any]:
    """Publish the policy as ``reticent publish`` does, and verify the folder as a recipient would. The report is a task of its own: nobody waits for it to have the release."""
    published = publish_policy(policy_of(folder, policy), report=False, context=reporter.context())
    _made.clear()
    _made[str(published.path.absolute())] = published.release
    return released(reporter, str(published.path), moment)


def released(reporter: Reporter, path: str, moment: str) -> dict[str, Any]:
    """Describe and verify the folder of a release that was published from this project."""
    # The release is out. To stop its verification would make it look as if it were not.
    context = Context(listen=reporter.context().listen)
    context.step("verifying as a recipient would")
    folder = Path(path).absolute()
    certificate = json.loads((folder / "public" / "certificate.json").read_bytes())
    return {
        "path": str(folder),
        "hash": certificate_hash(certificate),
        "made": certificate.get("created") or moment,
        "dataset": certificate["ledger"]["dataset"],
        "verified": checked(folder, context),
    }


def report(reporter: Reporter, folder: str, policy: str, path: str) -> dict[str, Any]:
    """Write the steward's report into the private folder of a release and return its path; a release published by this process is not read again."""
    parsed = policy_of(folder, policy)
    target = Path(path) / "private" / "report.html"
    context, table = reporter.context(), table_of(folder, policy)
    context.step("writing the steward's report")
    models = parsed.sections.analysis.models
    return {"path": str(write_stewards_report(_made.get(path, path), target, table, models=models, context=context))}


def verification(reporter: Reporter, path: str, moment: str = "") -> dict[str, Any]:
    """Verify that the files of a release satisfy the claims of its certificate."""
    return checked(Path(path))


def checked(path: Path, context: Context | None = None) -> dict[str, Any]:
    """Verify a release folder and return the result as JSON-compatible data."""
    result = verify(path, context=context)
    return {
        "path": str(path),
        "holds": result.holds,
        "title": result.headline.title,
        "reasons": list(result.headline.reasons),
        "signed": result.signed,
        "checks": [
            {
                "name": check_words(check),
                "status": str(check.status),
                "detail": check.detail,
                "claim": bool(check.claim),
                "sentence": check.sentence,
            }
            for check in result.checks
        ],
        "recomputed": list(result.recomputed),
    }


def check_words(check: Check) -> str:
    """Return what was checked: a guarantee by its name in the literature with parameters and what follows it, else the name of the check."""
    if check.promised is None:
        return check.name
    definition = check.promised.definition
    words = guarantee_words({"name": definition.name, **definition.parameters()})
    return words + check.name.removeprefix(f"claim {definition}")


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
                "number": entry.number,
                "kind": entry.kind,
                "status": entry.status,
                "changed": entry.changed,
                "content": entry.content[:12],
            }
            for entry in entries
        ],
    }
