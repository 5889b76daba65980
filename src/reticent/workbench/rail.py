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
    sidebar: dict[str, Any] = {
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
            sidebar["rows"] = first_rows.result["total"]
    if view.version and roles["quasi"]:
        exposure_job = desk.job(view, "exposure")
        first_set = (
            exposure_job.result["sets"][0] if exposure_job.state == "done" and exposure_job.result["sets"] else None
        )
        sidebar["exposure"] = first_set and {name: first_set[name] for name in ("unique", "rows", "success", "k")}
        sidebar["rows"] = exposure_job.result["rows"] if exposure_job.state == "done" else sidebar.get("rows")
        sidebar["busy"] = not exposure_job.over
    if view.version and roles["quasi"] and sidebar["guarantee"]:
        is_quick = view.is_head and (sidebar["rows"] or _QUICK_ROWS + 1) <= _QUICK_ROWS
        candidate_job = desk.ahead(view, "candidate") if is_quick else desk.peek(view, "candidate")
        if candidate_job is not None and candidate_job.state == "done":
            sidebar["candidate"] = {name: candidate_job.result[name] for name in ("name", "loss", "suppressed")}
            sidebar["candidate"]["words"] = candidate_job.result.get("error", "")
        elif candidate_job is not None and not candidate_job.over:
            sidebar["busy"] = True
    history = history_of(desk, view) if view.version else None
    if history is not None:
        sidebar["ledger"] = release_words(history)
    sidebar["seen"] = hashlib.sha256(json.dumps(sidebar, sort_keys=True).encode()).hexdigest()[:16]
    return sidebar
