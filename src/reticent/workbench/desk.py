"""State and rendering shared by all pages: projects, background jobs, and HTML for pages, page parts and errors."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined, select_autoescape

from reticent import __version__
from reticent.errors import ReticentError
from reticent.workbench import figures
from reticent.workbench.jobs import Job, Jobs, Lane
from reticent.workbench.problem_words import policy_words
from reticent.workbench.project import Project, Projects

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
STEPS = (
    ("data", "Data", "What was read"),
    ("columns", "Columns", "What each column reveals"),
    ("guarantee", "Guarantee", "What must never be learned"),
    ("explore", "Explore", "What it costs"),
    ("publish", "Publish", "The certified release"),
)
ROLE_WORDS = {
    "identifiers": "Identifiers",
    "quasi": "Known to others",
    "sensitive": "Sensitive",
    "declared": "Declared unknown",
    "private": "Private",
    None: "Not published",
}
_LOOK_AGAIN = 0.02
_AT_ONCE = 0.6
_PAGE_WAITS = 0.3


@dataclass(frozen=True)
class PagePart:
    """A part of a page filled by a background job: its template, the task, the sections of the policy that it depends on, and the worker process."""

    name: str
    task: str
    sections: tuple[str, ...]
    lane: Lane = "look"
    title: str = ""
    kept: bool = True
    translated: Callable[[ProjectView, Mapping[str, Any]], dict[str, Any]] | None = None
    """Computes the task's parameters, instead of taking them from the query string."""


@dataclass(frozen=True)
class ProjectView:
    """A project at one version, as one page shows it."""

    project: Project
    version: int
    page: str

    @property
    def content(self) -> dict[str, Any]:
        """The policy as parsed TOML."""
        return self.project.content(self.version) if self.version else {}

    @property
    def is_head(self) -> bool:
        """True if this is the current version."""
        return self.version == self.project.head

    def url(self, page: str | None = None, version: int | None = None) -> str:
        """Return the URL of a page at a version, by default this page and version."""
        number = self.version if version is None else version
        return f"/p/{self.project.id}/v/{number}/{self.page if page is None else page}"

    def part_url(self, name: str, **parameters: Any) -> str:
        """Return the URL of a page part; ``parameters`` are added to its query string."""
        query = "".join(f"&{key}={value}" for key, value in parameters.items())
        return f"/p/{self.project.id}/part/{name}?v={self.version}&page={self.page}{query}"


class Desk:
    """Shared state of the workbench. Mutable: holds the projects and the jobs."""

    def __init__(self, home: Path, start: Path | None = None) -> None:
        """Create a workbench with its projects in ``home``; relative paths that users type start from ``start`` (default: the current folder)."""
        self.projects, self.jobs, self.start = Projects(home), Jobs(), start or Path.cwd()
        self.parts: dict[str, PagePart] = {}
        self._ahead: dict[tuple[str, str], str] = {}
        self._finishers: dict[str, Callable[[ProjectView, Any, Mapping[str, Any]], dict[str, Any]]] = {}
        self.templates = Environment(
            # Pages reuse the report's template macros. They are found by their path: to import the report takes longer than the rest of the start.
            loader=ChoiceLoader(
                [
                    FileSystemLoader(_HERE / "templates"),
                    PrefixLoader({"report": FileSystemLoader(_HERE.parent / "reports" / "templates")}),
                ]
            ),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.globals.update(
            version=__version__,
            steps=STEPS,
            role_words=ROLE_WORDS,
            figures=figures,
            number=figures.number,
            percent=figures.percent_text,
            many=figures.many,
            asset=asset_url,
            policy_words=policy_words,
        )

    def view(self, number: str, version: int, page: str) -> ProjectView:
        """Return a project at a version; an unknown project or version is an error."""
        from reticent.errors import DataError

        project = self.projects.find(number)
        if version and not project.has(version):
            raise DataError(f"The project has no version {version}; the newest is {len(project.versions)}.")
        return ProjectView(project, version, page)

    def add_part(
        self, part: PagePart, finish: Callable[[ProjectView, Any, Mapping[str, Any]], dict[str, Any]] | None = None
    ) -> None:
        """Register a page part; ``finish`` adds template variables to the result of its task."""
        self.parts[part.name] = part
        if finish is not None:
            self._finishers[part.name] = finish

    def settings(self, view: ProjectView, part: PagePart, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs of a part's task: the folder, the policy sections that it depends on, and the request parameters."""
        from reticent.workbench.stamps import source_stamp

        content = {name: setting for name, setting in view.content.items() if name in part.sections}
        folder = str(view.project.folder)
        stamp = source_stamp(folder, content)
        parameters = part.translated(view, asked) if part.translated is not None else asked
        return {"folder": folder, "policy": _text(content), "stamp": stamp, **parameters}

    def peek(self, view: ProjectView, name: str, asked: Mapping[str, Any] | None = None) -> Job | None:
        """Return the job of a part if it was started, else None."""
        part = self.parts[name]
        folder = view.project.cache if part.kept else None
        return self.jobs.peek(part.task, self.settings(view, part, asked or {}), folder)

    def job(self, view: ProjectView, name: str, asked: Mapping[str, Any] | None = None) -> Job:
        """Return the job of a part; starts it if necessary."""
        part = self.parts[name]
        folder = view.project.cache if part.kept else None
        job = self.jobs.ask(part.task, self.settings(view, part, asked or {}), lane=part.lane, folder=folder)
        job.ahead = False
        return job

    def ahead(self, view: ProjectView, name: str) -> Job:
        """Return the job of a part, started before any page requests it.

        Such a job is cancelled when the same part is prefetched for another version, so that quick successive edits do not queue up; jobs requested by a page
        (:meth:`job`) are never cancelled that way.
        """
        existing = self.peek(view, name)
        if existing is not None:
            return existing
        previous = self.jobs.find(self._ahead.get((view.project.id, name), ""))
        if previous is not None and previous.ahead and not previous.over:
            self.jobs.drop(previous.key)
        job = self.job(view, name)
        job.ahead = True
        self._ahead[view.project.id, name] = job.key
        return job

    async def settled_parts(self, view: ProjectView, *names: str, **asked: Any) -> None:
        """Start the jobs of parts and wait briefly for them, so that a page with fast parts is delivered complete."""
        for job in [self.job(view, name, asked) for name in names]:
            await settled(job, _PAGE_WAITS)

    def result(self, view: ProjectView, name: str, asked: Mapping[str, Any] | None = None) -> Any:
        """Return the result of a part's job if it is done, else start the job and return None."""
        job = self.job(view, name, asked)
        return job.result if job.state == "done" else None

    def drawn(self, view: ProjectView, name: str, asked: Mapping[str, Any] | None = None) -> str:
        """Render a part: its content, its progress, or the error."""
        job = self.job(view, name, asked)
        return self.drawn_job(view, name, job, asked or {})

    def drawn_job(self, view: ProjectView, name: str, job: Job, asked: Mapping[str, Any]) -> str:
        """Render the job of a part as HTML."""
        url = view.part_url(name, **asked)
        if job.state == "done":
            return self._filled(view, name, job.result, asked, url)
        if job.early is not None and job.state in ("running", "stopped"):
            inner = self._filled(view, name, job.early, asked, url)
            return self.html(
                "parts/_early.html", view=view, job=job, url=url, title=self.parts[name].title, inner=inner
            )
        if job.over:
            return self.html("parts/_failed.html", view=view, job=job, url=url, title=self.parts[name].title)
        return self.html("parts/_progress.html", view=view, job=job, url=url, title=self.parts[name].title)

    def _filled(self, view: ProjectView, name: str, result: Any, asked: Mapping[str, Any], url: str) -> str:
        """Render the template of a part with the result of its task and the variables that the part's ``finish`` function adds."""
        finish = self._finishers.get(name)
        extra = finish(view, result, asked) if finish else {}
        return self.html(f"parts/{name}.html", view=view, found=result, asked=asked, url=url, **extra)

    def html(self, file: str, /, **context: Any) -> str:
        """Render a template."""
        return self.templates.get_template(file).render(**context)

    def page(self, file: str, view: ProjectView | None = None, /, status: int = 200, **context: Any) -> HTMLResponse:
        """Return a complete page as a response."""
        return HTMLResponse(self.html(file, view=view, desk=self, **context), status)

    def sent_on(self, request: Request, url: str) -> Response:
        """Redirect the browser; for htmx requests the page content is swapped and the URL updated without a reload."""
        if request.headers.get("hx-request"):
            where = {"path": url, "target": "#app", "select": "#app", "swap": "outerHTML"}
            return Response(status_code=204, headers={"HX-Location": json.dumps(where)})
        return RedirectResponse(url, 303)

    def refused(self, request: Request, error: ReticentError | str, status: int = 422) -> Response:
        """Return an error response: a notice within the page for htmx requests, otherwise a page of its own."""
        if request.headers.get("hx-request"):
            html = self.html("parts/_notice.html", message=str(error))
            return HTMLResponse(html, 200, {"HX-Retarget": "#notice", "HX-Reswap": "innerHTML"})
        return self.page("problem.html", status=status, message=str(error))


@cache
def asset_url(name: str) -> str:
    """Return the URL of a static file with a hash of its content, so that browsers can cache it until it changes."""
    return f"/static/{name}?v={sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"


async def settled(job: Job, seconds: float = _AT_ONCE) -> Job:
    """Return the job after waiting briefly for it, so that fast jobs need no progress bar."""
    waited = 0.0
    while not job.over and waited < seconds:
        await asyncio.sleep(_LOOK_AGAIN)
        waited += _LOOK_AGAIN
    return job


def _text(content: Mapping[str, Any]) -> str:
    """Return a policy as TOML text; asserts that parsing the text gives the same content."""
    from reticent.propose import document_text

    text = document_text(content)
    assert tomllib.loads(text) == content, "a policy is written as it was read"
    return text
