"""The start page: open a file by path or upload, open the demo data, or continue with a project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from reticent.errors import DataError, PolicyError
from reticent.workbench.desk import Desk
from reticent.workbench.project import Project, safe_file_name

_ENDINGS = frozenset(
    [
        ".csv",
        ".tsv",
        ".txt",
        ".tab",
        ".psv",
        ".dat",
        ".data",
        ".gz",
        ".parquet",
        ".pq",
        ".arrow",
        ".ipc",
        ".feather",
        ".duckdb",
        ".ddb",
        ".sqlite",
        ".sqlite3",
        ".db",
        ".xlsx",
        ".xlsm",
        ".xlsb",
        ".xls",
        ".ods",
        ".sav",
        ".zsav",
        ".por",
        ".dta",
        ".sas7bdat",
        ".xpt",
        ".toml",
    ]
)
_MOST_LISTED = 400
_BLOCK = 1 << 20


def add(app: FastAPI, desk: Desk) -> None:
    """Add the routes of the start page."""

    @app.get("/")
    async def start() -> Response:
        return desk.page("start.html", projects=desk.projects.all()[:24], folder=str(desk.start))

    @app.post("/open")
    async def opened(request: Request) -> Response:
        """Create a project for the path or database address in the form."""
        form = await request.form()
        project = open_location(desk, str(form.get("path", "")).strip())
        return desk.sent_on(request, address(project))

    @app.post("/demo")
    async def demo(request: Request) -> Response:
        """Create a project with the demo data."""
        project = desk.projects.new("Demo: a hospital register", "built-in data; nobody in it exists")
        await _in_thread(_write_demo, project)
        begin_look(project, "uploads/hospital.csv", {}, "opened the demo data")
        return desk.sent_on(request, address(project))

    @app.post("/upload")
    async def upload(request: Request) -> Response:
        """Create a project from an uploaded data file; the project is deleted again if the upload fails."""
        name = safe_file_name(unquote(request.headers.get("x-file-name", "")))
        project = desk.projects.new(name, "uploaded")
        target = project.folder / "uploads" / name
        try:
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                async for block in request.stream():
                    file.write(block)
            if name.lower().endswith(".toml"):
                raise PolicyError("A policy names files by their paths. Open it by its path instead.")
            begin_look(project, f"uploads/{name}", {}, f"uploaded {name}")
        except BaseException:
            desk.projects.forget(project.id)
            raise
        return JSONResponse({"address": address(project)})

    @app.post("/browse")
    async def browse(request: Request) -> Response:
        """Show the subfolders and supported files of a folder."""
        form = await request.form()
        folder = Path(str(form.get("folder", "")) or desk.start).expanduser()
        return desk.page("parts/browse.html", **_listed(folder))

    @app.post("/p/{number}/forget")
    async def forget(request: Request, number: str) -> Response:
        """Delete a project and cancel its jobs."""
        project = desk.projects.find(number)
        desk.jobs.forget(project.folder)
        desk.projects.forget(number)
        return desk.sent_on(request, "/")

    @app.post("/p/{number}/name")
    async def rename(request: Request, number: str) -> Response:
        """Rename a project; names are cut to 120 characters."""
        project = desk.projects.find(number)
        name = str((await request.form()).get("name", "")).strip()[:120]
        if not name:
            raise PolicyError("A project needs a name.")
        project.remember(name=name)
        return desk.sent_on(request, address(project))


def address(project: Project) -> str:
    """Return the first URL of a project: its data page, or the page of the release that it was opened for."""
    page = "publish" if project.fact("verify") and not project.head else "data"
    return f"/p/{project.id}/v/{project.head}/{page}"


def open_location(desk: Desk, given: str) -> Project:
    """Create a project for a data file, a policy, a release or a database address."""
    if not given:
        raise PolicyError("Name a file, or the address of a database.")
    if "://" in given or given.startswith("env:"):
        project = desk.projects.new(given.partition("://")[0] + " database", "a database")
        begin_look(project, given, {}, "opened a database")
        return project
    path = Path(os.path.abspath(desk.start / Path(given).expanduser()))
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}. Check the path, or look for it with Browse.")
    if path.is_dir() and (path / "public").is_dir():
        project = desk.projects.new(f"Release {path.name}", str(path))
        project.remember(verify=str(path))
        return project
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder. Choose a file in it, or the folder of a release.")
    if path.suffix == ".toml":
        return open_policy(desk, path)
    project = desk.projects.new(path.name, str(path))
    begin_look(project, os.path.relpath(path, project.folder), {}, f"opened {path.name}")
    return project


def open_policy(desk: Desk, path: Path) -> Project:
    """Create a project from a policy, with relative paths rewritten to start from the project's folder."""
    from reticent.policy import Policy

    checked = Policy.read(path)
    project = desk.projects.new(checked.sections.dataset or path.stem, str(path))
    try:
        project.write(moved_policy(path, project.folder), f"opened {path.name}")
    except BaseException:
        desk.projects.forget(project.id)
        raise
    return project


def moved_policy(path: Path, folder: Path) -> str:
    """Return the policy text with relative paths rewritten for another folder; unchanged if it has none."""
    import tomllib

    from reticent.propose import document_text

    content = tomllib.loads(path.read_text("utf-8-sig"))

    def moved(location: str) -> str:
        """Return a path relative to the other folder; database addresses stay as they are."""
        return (
            location
            if "://" in location or location.startswith("env:")
            else os.path.relpath(path.parent / location, folder)
        )

    data = content.get("data", {})
    if isinstance(data.get("source"), str):
        data["source"] = moved(data["source"])
    for hierarchy in content.get("hierarchies", {}).values():
        if isinstance(hierarchy.get("file"), str):
            hierarchy["file"] = moved(hierarchy["file"])
    for definition in content.get("definition", []):
        if isinstance(definition, dict) and isinstance(definition.get("population"), str):
            definition["population"] = moved(definition["population"])
    release = content.get("release", {})
    for name in ("output", "sign", "log", "log_key", "ledger", "newest"):
        if isinstance(release.get(name), str):
            release[name] = moved(release[name])
        elif isinstance(release.get(name), list):
            release[name] = [moved(location) for location in release[name]]
    return document_text(content)


def begin_look(
    project: Project, location: str, options: dict[str, Any], what: str, template: str | None = None
) -> None:
    """Mark a file as waiting to be read; the page Data reads it and writes the first policy."""
    pending = {"location": location, "options": options, "template": template, "what": what}
    project.remember(pending=pending)


def _listed(folder: Path) -> dict[str, Any]:
    """List the subfolders and supported files of a folder."""
    try:
        paths = sorted(folder.resolve().iterdir(), key=lambda path: (not path.is_dir(), path.name.lower()))
    except OSError as error:
        raise DataError(f"{str(folder)!r} cannot be listed: {error.strerror}.") from None
    entries = []
    for path in paths:
        if path.name.startswith("."):
            continue
        is_folder = path.is_dir()
        if is_folder or path.suffix.lower() in _ENDINGS:
            size = None if is_folder else path.stat().st_size
            entries.append({"name": path.name, "path": str(path), "folder": is_folder, "size": size})
    parent = folder.resolve().parent
    return {"here": str(folder.resolve()), "parent": str(parent), "entries": entries[:_MOST_LISTED]}


def _write_demo(project: Project) -> None:
    """Write the demo data into the uploads of a project."""
    from reticent.demo import hospital

    hospital().write_csv(project.folder / "uploads" / "hospital.csv")


async def _in_thread(work: Any, *arguments: Any) -> Any:
    """Call a function in a thread, so that the server keeps answering, and return its result."""
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)
