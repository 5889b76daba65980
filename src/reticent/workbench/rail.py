"""The sidebar of all pages: the five steps, and a summary of the project's state."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from reticent.workbench import edits
from reticent.workbench.definition_words import guarantees_words
from reticent.workbench.desk import Desk, ProjectView
from reticent.workbench.pages.data import FIRST_ROWS
from reticent.workbench.pages.publish import history_of, record_release, release_words

_QUICK_ROWS = 60_000
"""Up to this number of rows the candidate is computed in the background on any page; for larger tables when the page Explore is opened."""


def rail_of(desk: Desk, view: ProjectView) -> dict[str, Any]:
    """Return the content of the sidebar: rows, columns by role, exposure, guarantee, the current candidate, and earlier releases."""
    record_release(desk, view.project)
    content = view.content
    roles = edits.roles_of(content)
    drawn: dict[str, Any] = {
        "roles": {name: len(columns) for name, columns in roles.items() if columns},
        "guarantee": guarantees_words(edits.definitions_of(content)),
        "method": content.get("method", {}).get("name"),
        "dataset": content.get("dataset"),
        "undo": view.project.can_undo,
        "redo": view.project.can_redo,
        "head": view.project.head,
        "releases": len(view.project.releases),
        "busy": False,
    }
    if view.version:
        first_rows = desk.peek(view, "rows", FIRST_ROWS)
        if first_rows is not None and first_rows.state == "done" and first_rows.result["whole"]:
            drawn["rows"] = first_rows.result["total"]
    if view.version and roles["quasi"]:
        job = desk.job(view, "exposure")
        first = job.result["sets"][0] if job.state == "done" and job.result["sets"] else None
        drawn["exposure"] = first and {name: first[name] for name in ("unique", "rows", "success", "k")}
        drawn["rows"] = job.result["rows"] if job.state == "done" else drawn.get("rows")
        drawn["busy"] = not job.over
    if view.version and roles["quasi"] and drawn["guarantee"]:
        quick = view.is_head and (drawn["rows"] or _QUICK_ROWS + 1) <= _QUICK_ROWS
        own = desk.ahead(view, "candidate") if quick else desk.peek(view, "candidate")
        if own is not None and own.state == "done":
            drawn["candidate"] = {name: own.result[name] for name in ("name", "loss", "suppressed")}
            drawn["candidate"]["words"] = own.result.get("error", "")
        elif own is not None and not own.over:
            drawn["busy"] = True
    known = history_of(desk, view) if view.version else None
    if known is not None:
        drawn["ledger"] = release_words(known)
    drawn["seen"] = hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()[:16]
    return drawn
