"""The page Columns: one card per column, the exposure of the unprotected table, and the levels of each column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from reticent.errors import PolicyError
from reticent.workbench import edits
from reticent.workbench.desk import Desk, PagePart, ProjectView
from reticent.workbench.pages.data import proposal_of

TABLE = ("data", "spark", "roles", "declared", "hierarchies", "coarsen")
"""Policy sections that define the table."""
CHOICES = (
    ("identifiers", "Identifier", "names a person; it is dropped", "i"),
    ("quasi", "Known to others", "others may know it of a person; it is generalized", "k"),
    ("sensitive", "Sensitive", "must not be learned about a person; it stays uncertain", "s"),
    ("", "Leave out", "it is not published", "x"),
)


def add(app: FastAPI, desk: Desk) -> None:
    """Add the routes of the page."""
    desk.add_part(
        PagePart("columns", "profiles", ("data", "spark"), title="Profiling every column"),
        lambda view, result, query: _cards(desk, view, result),
    )
    desk.add_part(PagePart("exposure", "exposure", TABLE, title="Measuring how exposed people are"), _exposure)
    desk.add_part(PagePart("exposed", "exposed", TABLE, title="Looking for the most exposed", kept=False))

    desk.add_part(
        PagePart(
            "afford",
            "afford",
            (),
            "side",
            "Trying which columns and guarantees suit the table",
            translated=_looked_at,
        ),
        lambda view, result, query: {"fewer": sorted(_published(view.content) - _proposed(result))},
    )

    @app.post("/p/{number}/afford")
    async def use_proposal(request: Request, number: str) -> Response:
        """Apply the proposal that is based on measured information loss."""
        project = desk.projects.find(number)
        view = ProjectView(project, project.head, "columns")
        job = desk.peek(view, "afford")
        if job is None or job.state != "done":
            raise PolicyError("This proposal is no longer available. Request it again.")
        version = project.write(
            str(job.result["text"]).replace('\ndataset = "uploads/', '\ndataset = "', 1), "took over the proposal"
        )
        return desk.sent_on(request, view.url(version=version))

    @app.get("/p/{number}/v/{version}/columns")
    async def columns(number: str, version: int) -> Response:
        """Show one card per column, and whether the slower proposal by information loss can be or was requested."""
        view = desk.view(number, version, "columns")
        was_tried = view.project.fact("look") is not None and desk.peek(view, "afford") is not None
        if view.version:
            await desk.settled_parts(view, "columns")
        return desk.page("columns.html", view, tried=was_tried, can_try=view.project.fact("look") is not None)

    @app.post("/p/{number}/role")
    async def role(request: Request, number: str) -> Response:
        """Change the role of a column."""
        project = desk.projects.find(number)
        form = await request.form()
        column, wanted = str(form.get("column", "")), str(form.get("role", ""))
        reason = str(form.get("reason", "")).strip()
        if wanted == "declared" and not reason:
            raise PolicyError(
                "A column that is declared unknown is published unprotected. Give the reason why no attacker can know it."
            )
        view = ProjectView(project, project.head, "columns")
        proposal = proposal_of(desk, view) or {"columns": {}}
        proposed = proposal["columns"].get(column)
        words = {key: name for key, name, _, _ in CHOICES} | {"declared": "Declared unknown", "private": "Private"}
        version = project.change(
            lambda content: edits.set_role(content, column, wanted or None, proposed, reason),
            f"{column}: {words.get(wanted, wanted)}",
        )
        return desk.sent_on(request, view.url(version=version))

    @app.post("/p/{number}/special")
    async def special(request: Request, number: str) -> Response:
        """Set the key, household or weight column."""
        project = desk.projects.find(number)
        form = await request.form()
        setting, column = str(form.get("setting", "")), str(form.get("column", "")) or None
        version = project.change(
            lambda content: edits.set_special(content, setting, column), f"{setting}: {column or 'none'}"
        )
        return desk.sent_on(request, ProjectView(project, version, "columns").url())


def _looked_at(view: ProjectView, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return source and reading options of the file, as used for the proposal."""
    look = view.project.fact("look")
    if look is None:
        raise PolicyError("This project was made from a policy; open the data file itself to have it proposed for.")
    return {**look, "policy": None}


def _published(content: Mapping[str, Any]) -> set[str]:
    """Return the quasi-identifiers and sensitive columns of a policy."""
    roles = edits.roles_of(content)
    return {*roles["quasi"], *roles["sensitive"]}


def _proposed(proposal: Mapping[str, Any]) -> set[str]:
    """Return the columns that a proposal makes quasi-identifiers or sensitive."""
    return {name for name, column in proposal["columns"].items() if column["role"] in ("quasi", "sensitive")}


def _cards(desk: Desk, view: ProjectView, profiles: Any) -> dict[str, Any]:
    """Return the cards of the columns (profile, role, and the reason for the proposed role) and the words for their settings."""
    content = view.content
    proposal = proposal_of(desk, view)
    exposure = desk.result(view, "exposure") if content.get("roles", {}).get("quasi") else None
    added_shares = _adds(exposure)
    cards = []
    for index, column in enumerate(profiles["columns"]):
        name = column["name"]
        proposed = None if proposal is None else proposal["columns"].get(name)
        role = edits.role_of(content, name)
        cards.append(
            {
                **column,
                "place": index,
                "role": role,
                "proposed": proposed,
                "changed": proposed is not None and _role_name(proposed["role"]) != role,
                "hierarchy": content.get("hierarchies", {}).get(name),
                "coarsen": content.get("coarsen", {}).get(name),
                "declared": content.get("declared", {}).get(name),
                "adds": added_shares.get(name),
            }
        )
    roles = content.get("roles", {})
    special = {roles[setting]: setting for setting in ("key", "weight", "household") if roles.get(setting)}
    return {
        "cards": cards,
        "choices": CHOICES,
        "special": special,
        "levels_words": levels_words,
        "coarsen_words": coarsen_words,
    }


def _role_name(proposed: str | None) -> str | None:
    """Return a proposed role as it is named in policies."""
    return "identifiers" if proposed == "identifier" else proposed


def _adds(exposure: Any) -> dict[str, float]:
    """Return, per column, its share of the unique people: by how many the column on average raises their number once it is known."""
    if not exposure or not exposure["sets"]:
        return {}
    drivers = exposure["sets"][0]["drivers"]
    total = sum(driver["adds"] for driver in drivers)
    return {driver["column"]: driver["adds"] / total for driver in drivers} if total else {}


def levels_words(description: Mapping[str, Any] | None) -> str:
    """Return a short description of a hierarchy."""
    if description is None:
        return "the value itself, or nothing"
    kind = description.get("kind")
    words: dict[str, Callable[[], str]] = {
        "intervals": lambda: f"intervals of {_listed(description.get('widths'))}",
        "cuts": lambda: f"{len(description.get('levels', []))} levels of intervals with their own borders",
        "masking": lambda: (
            f"codes cut from the right, keeping {_listed(description.get('keep')) or 'one character less each time'}"
        ),
        "dates": lambda: f"dates by {_listed(description.get('levels'))}",
        "order": lambda: f"neighbours in an order, {_listed(description.get('sizes'))} together",
        "priority": lambda: f"the most frequent {_listed(description.get('keep'))}, others together",
        "taxonomy": lambda: "a tree of categories",
        "public": lambda: f"the public list {description.get('name')}",
        "csv": lambda: "the levels of a hierarchy file",
        "listed": lambda: "levels listed value by value",
        "suppression": lambda: "the value itself, or nothing",
    }
    return words.get(str(kind), lambda: str(kind))()


def coarsen_words(description: Mapping[str, Any]) -> str:
    """Return a short description of how the values of a sensitive column are rounded or binned."""
    kind = description.get("kind")
    words: dict[str, Callable[[], str]] = {
        "round": lambda: f"Published rounded to multiples of {description.get('to')}",
        "digits": lambda: f"Published with {description.get('digits')} significant digits",
        "calendar": lambda: f"Published as the {description.get('unit')} of the date",
    }
    ends = [f"{word} {description[end]}" for end, word in (("bottom", "from"), ("top", "up to")) if end in description]
    return words.get(str(kind), lambda: "Published in ranges")() + (f", {', '.join(ends)}" if ends else "")


def _listed(values: Any) -> str:
    return ", ".join(str(value) for value in values or ())


def _exposure(view: ProjectView, exposure: Any, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the exposure by the first set of known columns, and whether there are several sets."""
    return {"first": exposure["sets"][0] if exposure["sets"] else None, "several": len(exposure["sets"]) > 1}
