"""The page Data: how the file was read, its rows, and corrections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from reticent.errors import PolicyError
from reticent.workbench import edits
from reticent.workbench.desk import Desk, PagePart, ProjectView, settled
from reticent.workbench.jobs import Job
from reticent.workbench.pages.start import begin_look
from reticent.workbench.problem_words import names_repeat, reading_words

TYPES = ("text", "integer", "number", "date", "timestamp", "boolean")
ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16")
_ROWS_SHOWN = 12
FIRST_ROWS = {"start": 0, "count": _ROWS_SHOWN}
_DATA = ("data", "spark")


def add(app: FastAPI, desk: Desk) -> None:
    """Add the routes of the page."""
    desk.add_part(PagePart("rows", "rows", _DATA, title="Reading the first rows"), _rows)

    @app.get("/p/{number}/v/{version}/data")
    async def data(number: str, version: int) -> Response:
        """Show the page: the first rows of the table, or the progress of a file that is still to be read."""
        view = desk.view(number, version, "data")
        pending = view.project.fact("pending")
        if pending:
            look_job(desk, view, pending)
        elif view.version:
            await desk.settled_parts(view, "rows", **FIRST_ROWS)
        return desk.page("data.html", view, pending=pending, first=FIRST_ROWS)

    @app.get("/p/{number}/pending")
    async def pending(request: Request, number: str, page: str = "data") -> Response:
        """Show the progress of reading a file; once it is read without a refusal, store the proposed policy and show the table."""
        project = desk.projects.find(number)
        view = ProjectView(project, project.head, page)
        reading = project.fact("pending")
        if reading is None:
            return desk.sent_on(request, view.url())
        job = await settled(look_job(desk, view, reading), 1.0)
        if job.state == "done" and job.result["refusal"] is None:
            _adopt(view, reading, job.result)
            adopted = ProjectView(project, project.head, page)
            await desk.settled_parts(adopted, "rows", **FIRST_ROWS)
            desk.job(adopted, "columns")
            return desk.sent_on(request, adopted.url())
        problem = job.problem or (job.result or {}).get("refusal") or ""
        message = reading_words(problem, project.folder)
        repeated = names_repeat(problem)
        return HTMLResponse(
            desk.html("parts/pending.html", view=view, job=job, problem=message, encodings=ENCODINGS, repeated=repeated)
        )

    @app.post("/p/{number}/read")
    async def read(request: Request, number: str) -> Response:
        """Read the file with other options and make a new proposal."""
        project = desk.projects.find(number)
        form = await request.form()
        previous = project.fact("pending") or project.fact("look")
        if previous is None:
            raise PolicyError("This project was made from a policy: change [data] there, and open it again.")
        begin_look(
            project, previous["location"], _options(form), "read the file with other options", previous["template"]
        )
        return desk.sent_on(request, ProjectView(project, project.head, "data").url())

    @app.post("/p/{number}/read/numbered")
    async def read_numbered(request: Request, number: str) -> Response:
        """Read a file that was refused for its repeated column names again, with these names numbered."""
        project = desk.projects.find(number)
        refused = project.fact("pending")
        if refused is None:
            raise PolicyError("The file has been read; nothing has to be numbered.")
        options = {**refused["options"], "number_names": True}
        begin_look(project, refused["location"], options, refused["what"], refused["template"])
        return desk.sent_on(request, ProjectView(project, project.head, "data").url())

    @app.post("/p/{number}/types")
    async def types(request: Request, number: str) -> Response:
        """Set the type of a column, or the words that mean a missing value; roles are kept."""
        project = desk.projects.find(number)
        form = await request.form()

        def change(content: dict[str, Any]) -> None:
            """Write the words for missing values or the type of a column from the form into the policy."""
            if "missing" in form:
                words = [word.strip() for word in str(form["missing"]).split(",") if word.strip()]
                edits.set_reading(content, {"null_values": words})
            if "column" in form:
                type_by_column = dict(content.get("data", {}).get("types", {}))
                column, kind = str(form["column"]), str(form["type"])
                if kind in TYPES:
                    type_by_column[column] = kind
                else:
                    type_by_column.pop(column, None)
                edits.set_reading(content, {"types": type_by_column})

        what = "set the words for missing values" if "missing" in form else "set the type of a column"
        number_now = project.change(change, what)
        return desk.sent_on(request, ProjectView(project, number_now, "data").url())


def look_job(desk: Desk, view: ProjectView, asked: Mapping[str, Any]) -> Job:
    """Return the job of the first proposal that a project waits for."""
    from reticent.workbench.stamps import source_stamp

    folder = view.project.folder
    settings = {
        "folder": str(folder),
        "location": asked["location"],
        "options": asked["options"],
        "template": asked["template"],
        "stamp": source_stamp(folder, {"data": {"source": asked["location"]}}),
    }
    return desk.jobs.ask("look", settings, folder=view.project.cache)


def proposal_of(desk: Desk, view: ProjectView) -> dict[str, Any] | None:
    """Return the proposed role and reason of every column, or None if not available yet; computed on demand for a project opened from a policy."""
    look = view.project.fact("look")
    if look is None and view.version:
        data = view.content.get("data", {})
        if not isinstance(data.get("source"), str):
            return None
        reading = ("table", "query", "delimiter", "encoding", "sheet", "labels", "header", "skip_rows", "number_names")
        look = {
            "location": data["source"],
            "options": {name: data[name] for name in reading if name in data},
            "template": None,
        }
    if look is None:
        return None
    job = look_job(desk, view, look)
    return job.result if job.state == "done" else None


def _adopt(view: ProjectView, look: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    """Store a proposed policy as a new version and record how its file was read."""
    # The uploads folder is not part of the data set's name.
    text = str(result["text"]).replace('\ndataset = "uploads/', '\ndataset = "', 1)
    view.project.write(text, str(look["what"]))
    view.project.remember(pending=None, look={name: look[name] for name in ("location", "options", "template")})


def _options(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reading options from a form; empty fields are detected from the file."""
    texts = {name: str(form.get(name, "")).strip() for name in ("encoding", "sheet", "labels", "table", "query")}
    options: dict[str, Any] = {name: value for name, value in texts.items() if value}
    delimiter = str(form.get("delimiter", ""))
    if delimiter:
        options["delimiter"] = {"tab": "\t", "space": " "}.get(delimiter, delimiter)
    if form.get("header") in ("yes", "no"):
        options["header"] = form["header"] == "yes"
    if form.get("number_names") == "yes":
        options["number_names"] = True
    skipped = str(form.get("skip_rows", "")).strip()
    if skipped:
        if not skipped.isdigit():
            raise PolicyError("The number of lines above the table must be a whole number.")
        options["skip_rows"] = int(skipped)
    return options


def _rows(view: ProjectView, preview: Any, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template variables of the row preview: choices of types and encodings, and how the policy reads the file."""
    data = view.content.get("data", {})
    return {
        "types": TYPES,
        "encodings": ENCODINGS,
        "said": data.get("types", {}),
        "missing": data.get("null_values", []),
        "data": data,
        "step": _ROWS_SHOWN,
    }
