"""The hierarchy editor for one column: intervals, codes, dates, trees and orders, with a live preview of what remains at each level."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from reticent.errors import DataError, PolicyError
from reticent.workbench import edits
from reticent.workbench.desk import Desk, PagePart, ProjectView, settled
from reticent.workbench.jobs import Job
from reticent.workbench.pages.columns import TABLE

KINDS = {
    "intervals": "Intervals of equal width",
    "cuts": "Intervals with borders of your own",
    "dates": "Calendar units",
    "masking": "Codes, masked from the right",
    "taxonomy": "A tree of categories",
    "order": "Neighbours in an order",
    "priority": "The most frequent, others together",
    "suppression": "The value itself, or nothing",
}
UNITS = ("day", "week", "month", "quarter", "half", "year", "decade", "weekday")
_LARGEST = 400_000


def add(app: FastAPI, desk: Desk) -> None:
    """Add the routes of the page."""
    desk.add_part(
        PagePart(
            "levels",
            "hierarchy",
            TABLE,
            title="Binding the levels",
            translated=lambda view, query: _column(desk, view, query),
        ),
        lambda view, result, query: _editor(desk, view, result, query),
    )

    @app.get("/p/{number}/v/{version}/columns/{place}")
    async def levels(number: str, version: int, place: int) -> Response:
        """Show the editor for the levels of the column with this index."""
        view = desk.view(number, version, f"columns/{place}")
        return desk.page(
            "levels.html", view, place=place, name=column_name(desk, view, place), known=_known(desk, view, place)
        )

    @app.post("/p/{number}/levels/try")
    async def tried(request: Request, number: str) -> Response:
        """Preview the effect of unsaved levels."""
        view, name, described = await _given(desk, request, number)
        return await _effect(desk, view, _trial(desk, view, name, described))

    @app.get("/p/{number}/levels/tried/{key}")
    async def result(number: str, key: str) -> Response:
        """Return the effect of unsaved levels, computed by the job with this key, or its progress."""
        project = desk.projects.find(number)
        job = desk.jobs.find(key)
        if job is None:
            raise DataError(
                "This result belongs to an earlier run of the workbench. Change a level to compute it again."
            )
        return await _effect(desk, ProjectView(project, project.head, "columns"), job)

    @app.post("/p/{number}/levels")
    async def save(request: Request, number: str) -> Response:
        """Save the levels to the policy if they fit the values of the column."""
        view, name, description = await _given(desk, request, number)
        job = _trial(desk, view, name, description)
        while not job.over:
            await settled(job, 5)
        if job.state != "done":
            raise PolicyError(job.problem or "These levels could not be checked completely. Try again.")
        weight = _weight(str((await request.form()).get("weight", "")))

        def change(content: dict[str, Any]) -> None:
            """Set the hierarchy of the column and, if the method uses weights, its weight."""
            edits.set_hierarchy(content, name, description)
            if content.get("method", {}).get("name", "Lattice") in ("Lattice", "Mondrian"):
                edits.set_weight(content, name, weight)

        version = view.project.change(change, f"levels of {name}")
        return desk.sent_on(request, view.url(version=version))

    @app.get("/p/{number}/v/{version}/columns/{place}/levels.csv")
    async def export(number: str, version: int, place: int) -> Response:
        """Download the levels in the CSV format of ARX hierarchies: one line per value, level 0 first."""
        view = desk.view(number, version, f"columns/{place}")
        job = desk.job(view, "levels", {"place": place})
        while not job.over:
            await settled(job, 5)
        if job.state != "done" or not job.result["paths"]:
            raise DataError("The levels cannot be written as a file: the column has too many values.")
        written = io.StringIO()
        csv.writer(written, delimiter=";", lineterminator="\n").writerows([*row, "*"] for row in job.result["paths"])
        headers = {"content-disposition": 'attachment; filename="levels.csv"'}
        return Response(written.getvalue(), 200, headers, "text/csv; charset=utf-8")


def column_name(desk: Desk, view: ProjectView, place: int) -> str | None:
    """Return the name of a column by its index in the file; None while the columns are being profiled."""
    profiles = desk.result(view, "columns")
    if profiles is None:
        return None
    if not 0 <= place < len(profiles["columns"]):
        raise DataError("There is no such column.")
    return str(profiles["columns"][place]["name"])


def _known(desk: Desk, view: ProjectView, index: int) -> bool:
    """True if the column with this index is a quasi-identifier."""
    name = column_name(desk, view, index)
    return name is not None and name in edits.roles_of(view.content)["quasi"]


def _column(desk: Desk, view: ProjectView, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the task parameter ``column``: the name of the column with the index in the query string."""
    return {"column": column_name(desk, view, int(str(query["place"])))}


def _trial(desk: Desk, view: ProjectView, name: str, description: Mapping[str, Any]) -> Job:
    """Return the job that evaluates unsaved levels."""
    settings = desk.settings(view, desk.parts["levels"], {"place": view.page.rpartition("/")[2]})
    return desk.jobs.ask("hierarchy", {**settings, "description": description, "column": name})


async def _given(desk: Desk, request: Request, number: str) -> tuple[ProjectView, str, dict[str, Any]]:
    """Return the project view, the column and the levels submitted by a form."""
    project = desk.projects.find(number)
    form = await request.form()
    index, text = int(str(form.get("place", "-1"))), str(form.get("description", ""))
    view = ProjectView(project, project.head, f"columns/{index}")
    name = column_name(desk, view, index)
    if name is None or len(text) > _LARGEST:
        raise PolicyError("These levels cannot be read. Reload the page and try again.")
    try:
        description = json.loads(text)
    except ValueError:
        raise PolicyError("These levels cannot be read. Reload the page and try again.") from None
    if not isinstance(description, dict):
        raise PolicyError("These levels cannot be read. Reload the page and try again.")
    return view, name, description


async def _effect(desk: Desk, view: ProjectView, job: Job) -> Response:
    """Return the effect of unsaved levels as HTML, or the progress if it takes longer than a second."""
    await settled(job, 1.0)
    return HTMLResponse(desk.html("parts/levels_effect.html", view=view, job=job, found=job.result))


def _weight(text: str) -> float | None:
    """Return a column's weight from the form; None for an empty field or the default 1."""
    entered = text.strip()
    if not entered or entered == "1":
        return None
    try:
        weight = float(entered)
    except ValueError:
        raise PolicyError(f"The weight must be a number, but it is {entered!r}.") from None
    if weight <= 0:
        raise PolicyError("The weight must be above 0.")
    return weight


def _editor(desk: Desk, view: ProjectView, hierarchy: Any, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the initial state of a column's editor."""
    index = int(str(query["place"]))
    profile = desk.result(view, "columns")["columns"][index]
    description = view.content.get("hierarchies", {}).get(hierarchy["column"])
    kinds: tuple[str, ...]
    if profile["type"] in ("integer", "number"):
        kinds = ("intervals", "cuts", "order", "suppression")
    elif profile["type"] in ("date", "timestamp"):
        kinds = ("dates", "suppression")
    else:
        kinds = ("taxonomy", "masking", "order", "priority", "suppression")
    start = {
        "place": index,
        "type": profile["type"],
        "chart": profile["chart"],
        "kinds": {key: KINDS[key] for key in kinds},
        "units": UNITS,
        "description": _shown(description),
        "values": hierarchy["values"],
        "paths": hierarchy["paths"],
        "limits": {"lowest": hierarchy["lowest"], "highest": hierarchy["highest"]},
    }
    weights = view.content.get("method", {}).get("weights", {})
    weighted = view.content.get("method", {}).get("name", "Lattice") in ("Lattice", "Mondrian")
    return {"start": start, "weight": weights.get(hierarchy["column"], 1), "weighted": weighted, "place": index}


def _shown(description: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the hierarchy description with dates converted to text."""
    return json.loads(json.dumps(description or {"kind": "suppression"}, default=str))  # type: ignore[no-any-return]  # an object stays one
