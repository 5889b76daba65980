"""The page Publish: the guarantee in plain language, publication, downloads, verification and history."""

from __future__ import annotations

import io
import os
import re
import secrets
import shutil
import zipfile
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from reticent.errors import DataError, PolicyError
from reticent.workbench import edits
from reticent.workbench.desk import Desk, PagePart, ProjectView, settled
from reticent.workbench.jobs import Job
from reticent.workbench.pages.explore import MADE
from reticent.workbench.project import Project
from reticent.workbench.scripts import command_for, script_for

FILES = ("csv", "parquet", "xlsx", "sav", "dta", "xpt")
_DOWNLOADS = {"policy.toml": "text/plain", "publish.py": "text/x-python", "release.zip": "application/zip"}
_LARGEST_DROPPED = 2_000
_STATUS_WORDS = {"reserved": "being written", "given out": "released"}
"""What the ledger calls the states of a release, in words of the page."""


def add(app: FastAPI, desk: Desk) -> None:
    """Add the routes of the page."""
    desk.add_part(PagePart("words", "candidate", MADE, "search", "Judging the candidate"))

    @app.get("/p/{number}/v/{version}/publish")
    async def publish(number: str, version: int) -> Response:
        view = desk.view(number, version, "publish")
        return desk.page("publish.html", view, **_context(desk, view))

    @app.post("/p/{number}/publish")
    async def published(request: Request, number: str) -> Response:
        """Write the release settings into the policy and start the job that publishes it."""
        project = desk.projects.find(number)
        form = await request.form()
        output = str(form.get("output", "")).strip() or _new_name(project.releases)
        target = project.folder / output
        if (target / "public").exists():
            raise PolicyError(
                f"There is a release in {output!r} already. Choose another folder: a release is never overwritten."
            )
        settings = {
            "output": output,
            "files": _one_of(str(form.get("files", "csv")), FILES),
            "report": True if form.get("report") else None,
            "again": True if form.get("again") else None,
            "sign": [entry.strip() for entry in str(form.get("sign", "")).split(",") if entry.strip()],
            "to": str(form.get("to", "")).strip(),
            "to_table": str(form.get("to_table", "")).strip(),
        }
        name = str(form.get("dataset", "")).strip()

        def change(content: dict[str, Any]) -> None:
            """Write the release settings and the name of the data set into the policy; an empty name removes it."""
            edits.set_release(content, settings)
            if name:
                content["dataset"] = name
            else:
                content.pop("dataset", None)

        version = project.change(change, f"published to {output}")
        timestamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        task_settings = {"folder": str(project.folder), "policy": project.text(version), "moment": timestamp}
        project.remember(publishing={"settings": task_settings, "version": version, "path": str(target.absolute())})
        desk.jobs.ask("publish", task_settings, lane="search", folder=project.cache)
        return desk.sent_on(request, ProjectView(project, version, "publish").url())

    @app.get("/p/{number}/publishing")
    async def publishing(request: Request, number: str, v: int) -> Response:
        """Show the progress of the publication; once it is recorded as a release, show the page anew."""
        view = desk.view(number, v, "publish")
        job = _publishing(desk, view.project)
        if job is not None:
            await settled(job)
        # Another page may have recorded it meanwhile.
        if record_release(desk, view.project) or view.project.fact("publishing") is None:
            return desk.sent_on(request, view.url(version=view.project.head))
        return HTMLResponse(desk.html("parts/publishing.html", view=view, job=job, lost=job is None))

    @app.post("/p/{number}/publishing/dismiss")
    async def dismiss(request: Request, number: str) -> Response:
        """Remove a failed or lost publication from the page."""
        project = desk.projects.find(number)
        project.remember(publishing=None)
        return desk.sent_on(request, ProjectView(project, project.head, "publish").url())

    @app.post("/p/{number}/release/{place}/report")
    async def ask_report(request: Request, number: str, place: int) -> Response:
        """Write the report of a release that has none, or whose report was stopped."""
        project = desk.projects.find(number)
        release = _released(project, place)
        known = _report_job(desk, project, release)
        if known is not None:
            desk.jobs.again(known.key)
        _ask_report(desk, project, release)
        return desk.sent_on(request, ProjectView(project, project.head, "publish").url())

    @app.get("/p/{number}/release/{place}/writing")
    async def writing(request: Request, number: str, place: int, v: int) -> Response:
        """Return the progress of a release's report, or the link to the report once it is written."""
        view = desk.view(number, v, "publish")
        release = _released(view.project, place)
        job = _report_job(desk, view.project, release)
        if job is not None:
            await settled(job)
        return HTMLResponse(desk.html("parts/report.html", view=view, each=release, place=place, job=job))

    @app.get("/p/{number}/release/{place}/{name}")
    async def download(number: str, place: int, name: str) -> Response:
        """Download a file of a release: its folder as ZIP, report, policy or script."""
        project = desk.projects.find(number)
        release = _released(project, place)
        view = ProjectView(project, release["version"], "publish")
        if name == "report.html":
            if not report_path(release).exists():
                raise DataError("This release has no report yet. Its page offers to write one.")
            return _report(report_path(release))
        if name not in _DOWNLOADS:
            raise DataError("There is no such file.")
        content: bytes
        if name == "release.zip":
            content = _zipped(Path(release["path"]) / "public")
        elif name == "policy.toml":
            content = project.text(release["version"]).encode()
        else:
            content = script_for(view).encode()
        return Response(content, 200, {"content-disposition": f'attachment; filename="{name}"'}, _DOWNLOADS[name])

    @app.post("/verify")
    async def verify(request: Request) -> Response:
        """Verify a release folder given by its path."""
        path = Path(str((await request.form()).get("path", "")).strip()).expanduser()
        return await _verified(desk, desk.start / path)

    @app.post("/verify/file/{token}")
    async def dropped(request: Request, token: str) -> Response:
        """Receive one file of a folder dropped into the page; a header holds its relative path."""
        folder = _dropped_folder(desk, token)
        parts = [
            part for part in unquote(request.headers.get("x-file-name", "")).split("/") if part not in ("", ".", "..")
        ]
        if not parts or len(parts) > 8 or sum(1 for _ in folder.rglob("*")) > _LARGEST_DROPPED:
            raise PolicyError("This does not look like the folder of a release.")
        target = folder.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            async for block in request.stream():
                file.write(block)
        return JSONResponse({"ok": True})

    @app.post("/verify/dropped/{token}")
    async def verify_dropped(token: str) -> Response:
        """Verify the release in a dropped folder, whose files were uploaded one by one before, and delete the uploaded files."""
        folder = _dropped_folder(desk, token)
        try:
            certified = next((file.parent for file in sorted(folder.rglob("certificate.json"))), None)
            if certified is None:
                raise DataError(
                    "There is no certificate.json in what you dropped. Drop the folder of a release, or its folder public."
                )
            release_folder = certified.parent if certified.name == "public" else certified
            return await _verified(desk, release_folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


async def _verified(desk: Desk, path: Path) -> Response:
    """Verify a release folder and return the result as HTML."""
    job = desk.jobs.ask("verification", {"path": str(path), "moment": secrets.token_hex(4)})
    while not job.over:
        await settled(job, 5)
    if job.state != "done":
        return HTMLResponse(desk.html("parts/_notice.html", message=job.problem))
    return HTMLResponse(desk.html("parts/verification.html", found=job.result))


def _dropped_folder(desk: Desk, token: str) -> Path:
    """Return the folder for the files of one dropped folder, named by a random token of the page; creates it if necessary."""
    if not re.fullmatch(r"[0-9a-f]{16}", token):
        raise PolicyError("This folder was not uploaded. Drop it again.")
    folder = desk.projects.home / f"dropped-{token}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _context(desk: Desk, view: ProjectView) -> dict[str, Any]:
    """Return the template variables of the page: release settings, earlier releases, command, script and ledger history."""
    content = view.content
    release = content.get("release", {})
    record_release(desk, view.project)
    sign = release.get("sign", [])
    return {
        "release": release,
        "dataset": content.get("dataset", ""),
        "sign": ", ".join([sign] if isinstance(sign, str) else sign),
        "output": _new_name(view.project.releases),
        "files": FILES,
        "status_words": _STATUS_WORDS,
        "publishing": view.project.fact("publishing"),
        "releases": [_shown(desk, view.project, index) for index in reversed(range(len(view.project.releases)))],
        "command": command_for(view),
        "script": script_for(view),
        "verify": view.project.fact("verify"),
        "history": history_of(desk, view),
    }


def history_of(desk: Desk, view: ProjectView) -> Any:
    """Return the ledger's history of the data set, or None if it is not loaded yet."""
    name = view.content.get("dataset")
    if not name:
        return None
    from reticent.ledger import ledger_path

    configured = view.content.get("release", {}).get("ledger")
    path = ledger_path(view.project.folder / configured if configured else None)
    modified = path.stat().st_mtime_ns if path.exists() else 0
    settings = {"dataset": name, "ledger": str(path), "moment": f"{modified}"}
    job = desk.jobs.ask("history", settings)
    return job.result if job.state == "done" else None


def _released(project: Project, index: int) -> dict[str, Any]:
    """Return the release with this index, counted from the oldest."""
    released: list[dict[str, Any]] = project.releases[::-1]
    if not 0 <= index < len(released):
        raise DataError("There is no such release.")
    return released[index]


def _shown(desk: Desk, project: Project, index: int) -> dict[str, Any]:
    """Return a release for the page, with whether its report exists and the job that writes it."""
    release = _released(project, index)
    return {
        **release,
        "place": index,
        "has_report": report_path(release).exists(),
        "writing": _report_job(desk, project, release),
    }


def report_path(release: Mapping[str, Any]) -> Path:
    """Return the path of the report of a release, whether it was written or not."""
    return Path(str(release["path"])) / "private" / "report.html"


def _report_settings(project: Project, release: Mapping[str, Any]) -> dict[str, Any]:
    return {"folder": str(project.folder), "policy": project.text(release["version"]), "path": release["path"]}


def _report_job(desk: Desk, project: Project, release: Mapping[str, Any]) -> Job | None:
    """Return the job that writes the report of a release, or None if there is none."""
    job = desk.jobs.peek("report", _report_settings(project, release), project.cache)
    if job is not None and job.state == "done" and not report_path(release).exists():
        # The report was removed.
        desk.jobs.drop(job.key)
        (project.cache / f"report-{job.key}.json").unlink(missing_ok=True)
        return None
    return job


def _ask_report(desk: Desk, project: Project, release: Mapping[str, Any]) -> None:
    if not report_path(release).exists():
        desk.jobs.ask("report", _report_settings(project, release), lane="search", folder=project.cache)


def _publishing(desk: Desk, project: Project) -> Job | None:
    """Return the running or completed publication; None if there is none, or if the server was stopped before the release was there.

    Once the folder of the release exists, it is out, whatever became of the process: then this is the job that describes it.
    """
    publication = project.fact("publishing")
    if publication is None:
        return None
    job = desk.jobs.peek("publish", publication["settings"], project.cache)
    ended = job is None or job.state in ("failed", "stopped")
    if ended and "path" in publication and (Path(publication["path"]) / "public" / "certificate.json").exists():
        settings = {"path": publication["path"], "moment": publication["settings"]["moment"]}
        return desk.jobs.ask("released", settings, folder=project.cache)
    return job


def record_release(desk: Desk, project: Project) -> bool:
    """Record a completed publication in the project and begin its report, if the policy wants one; return True if there was one to record."""
    publication, job = project.fact("publishing"), _publishing(desk, project)
    if publication is None or job is None or job.state != "done":
        return False
    release = {**job.result, "version": publication["version"]}
    project.remember(releases=[*reversed(project.releases), release], publishing=None)
    if project.content(publication["version"]).get("release", {}).get("report"):
        _ask_report(desk, project, release)
    return True


def _new_name(releases: list[dict[str, Any]]) -> str:
    return f"releases/release-{len(releases) + 1}"


def _one_of(choice: str, choices: tuple[str, ...]) -> str:
    """Return ``choice``; raise :class:`PolicyError` if it is none of ``choices``."""
    if choice not in choices:
        raise PolicyError(f"There is no file format {choice!r}. Choose one of {', '.join(choices)}.")
    return choice


def _zipped(folder: Path) -> bytes:
    """Return a folder's files as a ZIP archive, under ``public/``."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, f"public/{path.relative_to(folder)}")
    return packed.getvalue()


def _report(path: Path) -> Response:
    """Return the report with a content security policy that allows only its own inline styles, by hash."""
    text = path.read_text("utf-8")
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    hashes = " ".join(f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" for style in styles)
    policy = (
        f"default-src 'none'; style-src {hashes or chr(39) + 'none' + chr(39)}; img-src data:; frame-ancestors 'none'"
    )
    return HTMLResponse(text, 200, {"content-security-policy": policy})


def release_words(found: Mapping[str, Any]) -> str:
    """Return a phrase for the number of releases in the ledger."""
    entries = [entry for entry in found["entries"] if entry["status"] != "withdrawn"]
    return "never" if not entries else f"{len(entries)} times" if len(entries) > 1 else "once"
