"""What all pages share: the projects, the work in progress, and how a page, a part of a page and a refusal are drawn."""

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
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined, select_autoescape

from reticent import __version__
from reticent.errors import ReticentError
from reticent.workbench import figures
from reticent.workbench.jobs import Job, Jobs, Lane
from reticent.workbench.project import Project, Projects

STATIC = Path(__file__).parent / "static"
STEPS = (
    ("data", "Data", "What was read"),
    ("columns", "Columns", "What each column tells"),
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
    """One part of a page that work stands behind: its template, the task, the sections of the policy that it depends on, and who works on it."""

    name: str
    task: str
    sections: tuple[str, ...]
    lane: Lane = "look"
    title: str = ""
    kept: bool = True
    translated: Callable[[ProjectView, Mapping[str, Any]], dict[str, Any]] | None = None
    """What the task gets instead of what the address says."""


@dataclass(frozen=True)
class ProjectView:
    """A project at one version, for one page."""

    project: Project
    version: int
    page: str

    @property
    def content(self) -> dict[str, Any]:
        """The policy as plain data."""
        return self.project.content(self.version) if self.version else {}

    @property
    def is_head(self) -> bool:
        """Whether this is the current version."""
        return self.version == self.project.head

    def url(self, page: str | None = None, version: int | None = None) -> str:
        """The address of a page at a version, by default of this one."""
        number = self.version if version is None else version
        return f"/p/{self.project.id}/v/{number}/{self.page if page is None else page}"

    def part_url(self, name: str, **asked: Any) -> str:
        """The address of a part of a page."""
        extra = "".join(f"&{key}={value}" for key, value in asked.items())
        return f"/p/{self.project.id}/part/{name}?v={self.version}&page={self.page}{extra}"


class Desk:
    """The workbench behind the pages. Mutable: projects and jobs are."""

    def __init__(self, home: Path, start: Path | None = None) -> None:
        self.projects, self.jobs, self.start = Projects(home), Jobs(), start or Path.cwd()
        self.parts: dict[str, PagePart] = {}
        self._ahead: dict[tuple[str, str], str] = {}
        self._finishers: dict[str, Callable[[ProjectView, Any, Mapping[str, Any]], dict[str, Any]]] = {}
        self.templates = Environment(
            # The report's parts are the pages' own, where both show the same.
            loader=ChoiceLoader(
                [
                    PackageLoader("reticent.workbench", "templates"),
                    PrefixLoader({"report": PackageLoader("reticent.reports", "templates")}),
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
        )

    def view(self, number: str, version: int, page: str) -> ProjectView:
        """A project at a version; one that is not there is an error that says so."""
        from reticent.errors import DataError

        project = self.projects.find(number)
        if version and not project.has(version):
            raise DataError(f"The project has no version {version}; the newest is {len(project.versions)}.")
        return ProjectView(project, version, page)

    def add_part(
        self, part: PagePart, finish: Callable[[ProjectView, Any, Mapping[str, Any]], dict[str, Any]] | None = None
    ) -> None:
        """Let pages show a part; ``finish`` adds what its template needs beside the result of its task."""
        self.parts[part.name] = part
        if finish is not None:
            self._finishers[part.name] = finish

    def settings(self, view: ProjectView, part: PagePart, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the task of a part gets: the folder, the policy without what the part does not depend on, and what was asked."""
        from reticent.workbench.stamps import source_stamp

        content = {name: setting for name, setting in view.content.items() if name in part.sections}
        folder = str(view.project.folder)
        stamp = source_stamp(folder, content)
        given = part.translated(view, asked) if part.translated is not None else asked
        return {"folder": folder, "policy": _text(content), "stamp": stamp, **given}

    def peek(self, view: ProjectView, name: str, asked: Mapping[str, Any] | None = None) -> Job | None:
        """The work behind a part, if it was begun."""
        part = self.parts[name]
        folder = view.project.cache if part.kept else None
        return self.jobs.peek(part.task, self.settings(view, part, asked or {}), folder)

    def job(self, view: ProjectView, name: str, asked: Mapping[str, Any] | None = None) -> Job:
        """The work behind a part."""
        part = self.parts[name]
        folder = view.project.cache if part.kept else None
        job = self.jobs.ask(part.task, self.settings(view, part, asked or {}), lane=part.lane, folder=folder)
        job.ahead = False
        return job

    def ahead(self, view: ProjectView, name: str) -> Job:
        """The work behind a part, begun before a page shows it.

        Such work is stopped when the same part of another version is begun ahead, so that changes in quick succession do not queue up; work that a page shows
        (:meth:`job`) is never stopped that way.
        """
        known = self.peek(view, name)
        if known is not None:
            return known
        before = self.jobs.find(self._ahead.get((view.project.id, name), ""))
        if before is not None and before.ahead and not before.over:
            self.jobs.drop(before.key)
        job = self.job(view, name)
        job.ahead = True
        self._ahead[view.project.id, name] = job.key
        return job

    async def settled_parts(self, view: ProjectView, *names: str, **asked: Any) -> None:
        """Begin the work behind parts, and wait a moment for it: a page whose parts take no time arrives whole."""
        for job in [self.job(view, name, asked) for name in names]:
            await settled(job, _PAGE_WAITS)

    def result(self, view: ProjectView, name: str, asked: Mapping[str, Any] | None = None) -> Any:
        """The result behind a part, if it is there; the work is begun otherwise."""
        job = self.job(view, name, asked)
        return job.result if job.state == "done" else None

    def drawn(self, view: ProjectView, name: str, asked: Mapping[str, Any] | None = None) -> str:
        """A part as it stands: its content, how far it has come, or why it failed."""
        job = self.job(view, name, asked)
        return self.drawn_job(view, name, job, asked or {})

    def drawn_job(self, view: ProjectView, name: str, job: Job, asked: Mapping[str, Any]) -> str:
        """The job of a part as HTML."""
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

    def _filled(self, view: ProjectView, name: str, found: Any, asked: Mapping[str, Any], url: str) -> str:
        finish = self._finishers.get(name)
        more = finish(view, found, asked) if finish else {}
        return self.html(f"parts/{name}.html", view=view, found=found, asked=asked, url=url, **more)

    def html(self, file: str, /, **context: Any) -> str:
        """A template filled in."""
        return self.templates.get_template(file).render(**context)

    def page(self, file: str, view: ProjectView | None = None, /, status: int = 200, **context: Any) -> HTMLResponse:
        """A whole page."""
        return HTMLResponse(self.html(file, view=view, desk=self, **context), status)

    def sent_on(self, request: Request, url: str) -> Response:
        """Lead the browser to another address: the page's own parts are exchanged, and the address changes."""
        if request.headers.get("hx-request"):
            where = {"path": url, "target": "#app", "select": "#app", "swap": "outerHTML"}
            return Response(status_code=204, headers={"HX-Location": json.dumps(where)})
        return RedirectResponse(url, 303)

    def refused(self, request: Request, error: ReticentError | str, status: int = 422) -> Response:
        """Why something was not done, as a note on the page or as a page of its own."""
        if request.headers.get("hx-request"):
            html = self.html("parts/_notice.html", message=str(error))
            return HTMLResponse(html, 200, {"HX-Retarget": "#notice", "HX-Reswap": "innerHTML"})
        return self.page("problem.html", status=status, message=str(error))


@cache
def asset_url(name: str) -> str:
    """The address of a style or script, with a hash of its content: a browser keeps it until it changes."""
    return f"/static/{name}?v={sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"


async def settled(job: Job, seconds: float = _AT_ONCE) -> Job:
    """The job, after waiting a moment for it: what takes no time needs no progress bar."""
    waited = 0.0
    while not job.over and waited < seconds:
        await asyncio.sleep(_LOOK_AGAIN)
        waited += _LOOK_AGAIN
    return job


def _text(content: Mapping[str, Any]) -> str:
    from reticent.propose import document_text

    text = document_text(content)
    assert tomllib.loads(text) == content, "a policy is written as it was read"
    return text
