"""The pages under More: a form for each further function of the library, and the card with its result."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from reticent.errors import DataError, PolicyError
from reticent.workbench import edits
from reticent.workbench.desk import Desk, PagePart, ProjectView, settled
from reticent.workbench.jobs import Job
from reticent.workbench.pages.data import FIRST_ROWS
from reticent.workbench.pages.explore import MADE


@dataclass(frozen=True)
class FormField:
    """One field of a form: its kind is ``text``, ``long``, ``whole``, ``slider``, ``choice`` or ``column``."""

    name: str
    label: str
    kind: str = "text"
    value: Any = ""
    options: tuple[str, ...] = ()
    low: float = 0
    high: float = 1
    step: float = 1
    needed: bool = True
    example: str = ""
    """Shown in the empty field."""


@dataclass(frozen=True)
class Vertical:
    """One page under More: its task, its purpose, and its form."""

    name: str
    title: str
    words: str
    task: str
    fields: tuple[FormField, ...]
    about_table: bool = False
    first: str = "Answer"
    """Label of the button that records nothing."""
    acts: str = ""
    """Label of the button that executes the action: it records something, or looks at more than the first does; empty if there is none."""

    @property
    def live(self) -> bool:
        """True if the result updates while a slider moves: it needs public parameters only, no table and no file."""
        return not self.about_table and any(field.kind == "slider" for field in self.fields)


_WHY_TYPED = (
    "Columns whose levels declare all possible values are filled in. The others must be typed from public knowledge: "
    "a list taken from the rows would itself reveal who is in the table."
)
_SECRET = "SELECT name, phone FROM employee"
_SHOWN = "SELECT name, department FROM employee"
_SCHEMA = "CREATE TABLE employee (name text, department text, phone text);"
VERTICALS: tuple[Vertical, ...] = (
    Vertical(
        "series",
        "A series of releases",
        "The table changes and is published again and again. What will protecting people through all releases cost?",
        "series_plan",
        (
            FormField("m", "Chance of guessing a person's value, at most 1 in", "slider", 2, low=2, high=10),
            FormField("releases", "Releases to rehearse", "slider", 6, low=2, high=24),
            FormField("leave", "Share of people who leave each time", "slider", 0.05, high=0.5, step=0.01),
            FormField("arrive", "Share of people who arrive", "slider", 0.05, high=0.5, step=0.01),
            FormField("change", "Share of people whose value changes", "slider", 0.05, high=0.5, step=0.01),
            FormField("column", "Sensitive column", "column"),
            FormField(
                "domain",
                "Every sensitive value that can ever occur, from public knowledge, with commas (empty: for this rehearsal, those that occur now)",
                "long",
                needed=False,
            ),
        ),
        about_table=True,
    ),
    Vertical(
        "next",
        "The next release of a history",
        "Compare a new snapshot with the last release, person by person, before it is published.",
        "series_next",
        (
            FormField("history", "Folder of the history", example="/path/of/a/history"),
            FormField("data", "File of the new snapshot", example="/path/of/february.csv"),
        ),
        first="Look first",
        acts="Publish the next release",
    ),
    Vertical(
        "synthetic",
        "Synthetic rows",
        "What a guarantee for synthetic rows costs, from public facts alone: noise, and the share of real data.",
        "synthetic_plan",
        (
            FormField("sizes", "Public sizes of the groups", value="1200, 800, 450"),
            FormField("values", "How many values are possible", "whole", 50),
            FormField(
                "epsilon",
                "epsilon: by what factor a row may change the odds (e^epsilon)",
                "slider",
                2,
                low=0.1,
                high=8,
                step=0.1,
            ),
            FormField("delta", "delta", "choice", "1e-5", ("1e-4", "1e-5", "1e-6", "1e-8")),
        ),
    ),
    Vertical(
        "randomized",
        "Randomized views",
        "A view in which no record proves anything, and counts can be estimated. What error is to be expected?",
        "randomized_plan",
        (
            FormField("n", "Public number of records", "whole", 30000),
            FormField(
                "domain", "Columns with their numbers of values", value="age=100, sex=2, postcode=900, diagnosis=25"
            ),
            FormField("k", "Prior belief, in multiples of the average density", "slider", 10, low=2, high=100),
            FormField("gamma", "Largest belief afterwards", "slider", 0.2, low=0.05, high=0.9, step=0.05),
        ),
    ),
    Vertical(
        "counts",
        "Noisy counts",
        "Counts with noise that a curator, or parties who do not trust each other, add. What does it cost?",
        "noise_plan",
        (
            FormField("epsilon", "epsilon", "slider", 1, low=0.1, high=6, step=0.1),
            FormField("delta", "delta", "choice", "1e-6", ("1e-4", "1e-6", "1e-8")),
            FormField("parties", "Parties", "slider", 4, low=1, high=16),
            FormField("faults", "How many of them may lie", "slider", 1, high=5),
            FormField("query", "What is counted", "choice", "count", ("count", "sum", "histogram")),
        ),
    ),
    Vertical(
        "choose",
        "Choose among methods with differential privacy",
        "Synthetic rows from noisy marginals: which error is to be expected, by method, epsilon and column? Nothing is spent and nothing is published.",
        "dp_comparison",
        (
            FormField("epsilons", "Values of epsilon, with commas", value="0.5, 1, 3"),
            FormField("delta", "delta", "choice", "1e-6", ("1e-4", "1e-5", "1e-6", "1e-8")),
            FormField(
                "domain",
                "Values of every column from public knowledge, never from the rows: a list, { low = 0, high = 100, bins = 10 }, or { level = 1 } of the levels on the page Columns",
                "long",
                needed=False,
            ),
            FormField("marginals", "Also these sets of columns, such as age x sex, one a line", "long", needed=False),
        ),
        about_table=True,
        first="What is to be expected",
        acts="Measure on the rows too, for you alone",
    ),
    Vertical(
        "knowledge",
        "What background facts would reveal",
        "How sure does an attacker become who knows facts about people, such as “if Hannah has flu, so has Charlie”?",
        "knowledge_curve",
        (
            FormField("column", "Sensitive column", "column"),
            FormField("most", "Facts, up to", "slider", 8, low=1, high=30),
        ),
        about_table=True,
    ),
    Vertical(
        "what-if",
        "What if an attacker knows this",
        "An attacker sees the candidate release, knows the columns that are known to others, and also these facts about people. How sure are they of another one?",
        "what_if",
        (
            FormField("know", "Facts, such as P0001=flu or P0001=flu -> P0002=flu", "long", needed=False),
            FormField("ask", "Asked, such as P0002=flu", example="P0002=flu"),
            FormField("column", "Sensitive column", "column"),
        ),
        about_table=True,
    ),
    Vertical(
        "views",
        "Views of a database",
        "Does granting this view disclose anything about that secret? Decided from the texts alone.",
        "views_check",
        (
            FormField("secret", "The secret query", "long", _SECRET),
            FormField("view", "The view that would be granted", "long", _SHOWN),
            FormField("schema", "The tables (CREATE TABLE …)", "long", _SCHEMA),
        ),
    ),
    Vertical(
        "sql",
        "Audited SQL",
        "Ask an audited table. Refusals are the same whatever the protected values are.",
        "audited_question",
        (
            FormField("path", "Policy of the audited table (audit.toml)", example="/path/of/audit.toml"),
            FormField("sql", "Question", "long", example="SELECT AVG(salary) FROM staff WHERE department = 'sales'"),
        ),
        first="Look first",
        acts="Ask, and put it on record",
    ),
    Vertical(
        "log",
        "Check a log of answers",
        "Whose values do all answered questions together disclose?",
        "log_check",
        (
            FormField("path", "The log, one JSON object per line", example="/path/of/answers.jsonl"),
            FormField("lower", "Public lower bound of all values", needed=False),
            FormField("upper", "Public upper bound", needed=False),
        ),
    ),
    Vertical(
        "attack",
        "Attack a file",
        "Run the adversaries against a release folder, against an unprotected file, or against synthetic rows from any tool.",
        "file_attack",
        (
            FormField("path", "A release folder, a policy, or a file", example="/path/of/a/release"),
            FormField("original", "For synthetic rows: the file of the original rows", needed=False),
            FormField("quasi", "Columns that an attacker knows (empty: as proposed)", needed=False),
            FormField("sensitive", "Columns to guess", needed=False),
        ),
    ),
)


def add(app: FastAPI, desk: Desk) -> None:
    """Add the routes of the pages."""
    desk.add_part(PagePart("table", "exposure", MADE))

    @app.get("/p/{number}/v/{version}/more")
    async def more(number: str, version: int) -> Response:
        return desk.page("more.html", desk.view(number, version, "more"), verticals=VERTICALS)

    @app.get("/p/{number}/v/{version}/more/{name}")
    async def vertical(number: str, version: int, name: str) -> Response:
        """Show the page of one function: its form, filled in as far as the project allows."""
        view = desk.view(number, version, f"more/{name}")
        return desk.page(
            "vertical.html",
            view,
            vertical=_named(name),
            sensitive=edits.roles_of(view.content)["sensitive"],
            filled=(filled := _filled(desk, view, name)),
            why_typed=_WHY_TYPED if "[]" in filled.get("domain", "") else "",
        )

    @app.post("/p/{number}/v/{version}/more/{name}")
    async def run(request: Request, number: str, version: int, name: str) -> Response:
        """Start the task of a submitted form and return its result or progress."""
        view, chosen = desk.view(number, version, f"more/{name}"), _named(name)
        form = await request.form()
        settings = {field.name: _value(field, str(form.get(field.name, ""))) for field in chosen.fields}
        if chosen.about_table:
            settings |= desk.settings(view, desk.parts["table"], {})
        if chosen.acts:
            # A recorded action changes later results, so its result is never cached.
            settings |= {"really": "yes" if form.get("really") else "", "moment": secrets.token_hex(4)}
        return await _shown(desk, view, desk.jobs.ask(chosen.task, settings, lane="side"))

    @app.get("/p/{number}/more-result/{key}")
    async def result(number: str, key: str) -> Response:
        """Return the result of a job that was started by a form, or its progress."""
        project = desk.projects.find(number)
        job = desk.jobs.find(key)
        if job is None:
            raise DataError("This result belongs to an earlier run of the workbench. Submit the form again.")
        return await _shown(desk, ProjectView(project, project.head, "more"), job)


def _filled(desk: Desk, view: ProjectView, name: str) -> dict[str, str]:
    """Return what the fields of a page contain at first, about this project: facts about two people, or what it published last."""
    if name == "choose":
        return {"domain": public_values(view.content)}
    if name == "attack":
        released = [str(release["path"]) for release in view.project.releases]
        source = view.project.source
        return {"path": released[-1] if released else source if source.startswith("/") else ""}
    first_rows = desk.peek(view, "rows", FIRST_ROWS) if name == "what-if" and view.version else None
    return {} if first_rows is None or first_rows.state != "done" else _first_facts(view.content, first_rows.result)


def _first_facts(content: Mapping[str, Any], page: Mapping[str, Any]) -> dict[str, str]:
    """Return initial contents of the form fields about facts, from the first rows: the first person's sensitive value as known, the second's as the question.

    Empty if the rows have no key or no sensitive column.
    """
    names = [column["name"] for column in page["columns"]]
    key, sensitive = content.get("roles", {}).get("key"), edits.roles_of(content)["sensitive"]
    if key not in names or not sensitive or sensitive[0] not in names:
        return {}
    value_by_person: dict[str, str] = {}
    for row in page["rows"]:
        person, value = row[names.index(key)], row[names.index(sensitive[0])]
        if person is not None and value is not None:
            value_by_person.setdefault(person, value)
    facts = [f"{person}={value}" for person, value in value_by_person.items()]
    return {"know": facts[0], "ask": facts[1]} if len(facts) > 1 else {}


def public_values(content: Mapping[str, Any]) -> str:
    """Return a line for each published column that declares its public values: a level of a hierarchy that the data do not decide, else a list to fill in.

    Empty if the policy's method declares them.
    """
    if "domain" in content.get("method", {}):
        return ""
    roles, hierarchies = edits.roles_of(content), content.get("hierarchies", {})
    lines = []
    for name in (*roles["quasi"], *roles["sensitive"], *roles["declared"]):
        hierarchy = hierarchies.get(name, {})
        declared = _public_level(hierarchy) if name in roles["quasi"] else _public_list(hierarchy)
        lines.append(f"{json.dumps(name, ensure_ascii=False)} = {declared or '[]'}")
    return "\n".join(lines)


_LISTED = {"listed": "rows", "suppression": "domain", "taxonomy": "tree", "order": "values", "priority": "values"}
"""Where hierarchies list their values one by one, by kind."""


def _public_level(hierarchy: Mapping[str, Any]) -> str:
    """Return the finest level of a hierarchy that is practical as public values: that of the values where they are listed, else the one above; empty if the rows decide the values."""
    kind = hierarchy.get("kind")
    if kind in ("csv", "public") or (kind in ("intervals", "cuts", "masking", "dates") and "domain" in hierarchy):
        return "{ level = 1 }"
    is_listed = _LISTED.get(str(kind)) in hierarchy and not hierarchy.get("from_data")
    return "{ level = 0 }" if is_listed else ""


def _public_list(hierarchy: Mapping[str, Any]) -> str:
    """Return the values that a hierarchy declares in a plain list, for a column that is not generalized; empty if it has none."""
    listed = hierarchy.get(_LISTED.get(str(hierarchy.get("kind")), ""))
    is_plain = isinstance(listed, list) and all(isinstance(value, str | int) for value in listed)
    return json.dumps(listed, ensure_ascii=False) if is_plain and not hierarchy.get("from_data") else ""


async def _shown(desk: Desk, view: ProjectView, job: Job) -> Response:
    """Return the cards of a job's result as HTML, or its progress."""
    await settled(job)
    return HTMLResponse(desk.html("parts/cards.html", view=view, job=job))


def _named(name: str) -> Vertical:
    """Return the page under More with this name."""
    for vertical in VERTICALS:
        if vertical.name == name:
            return vertical
    raise DataError("There is no such page.")


def _value(field: FormField, text: str) -> Any:
    """Convert the text of a form field to the type that the task expects."""
    entered = text.strip()
    if field.needed and not entered and field.kind != "column":
        raise PolicyError(f"Fill in: {field.label}.")
    if field.kind == "whole" or (field.kind == "slider" and field.step == 1):
        if not entered.lstrip("-").isdigit():
            raise PolicyError(f"{field.label}: a whole number is needed, but it is {entered!r}.")
        return int(entered)
    return entered
