"""The web application, and the function that serves it."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles

from reticent.errors import PolicyError, ReticentError
from reticent.workbench.desk import STATIC, Desk, ProjectView, settled
from reticent.workbench.pages import columns, data, explore, guarantee, levels, more, publish, start
from reticent.workbench.project import home_folder
from reticent.workbench.rail import rail_of
from reticent.workbench.security import Doorkeeper, Guard, certificate_names, own_hosts, private_folder

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
PORT = 8731
_PORTS_TRIED = 20


def create_app(desk: Desk, door: Doorkeeper) -> FastAPI:
    """Return the ASGI application with all pages."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        desk.jobs.start()
        threading.Thread(target=_warm, daemon=True).start()
        yield
        desk.jobs.close()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan, title="Reticent workbench")
    app.mount("/static", _Assets(directory=STATIC))
    _handle_errors(app, desk)
    _add_login(app, desk, door)
    _add_shared(app, desk)
    for page in (start, data, columns, levels, guarantee, explore, publish, more):
        page.add(app, desk)
    app.add_middleware(Guard, door=door)
    return app


class _Assets(StaticFiles):
    """Static files. They contain no data and are addressed by a hash of their content, so browsers may cache them."""

    def file_response(self, *arguments: Any, **settings: Any) -> Response:
        """Return a file with headers that let the browser cache it permanently."""
        answer = super().file_response(*arguments, **settings)
        answer.headers["cache-control"] = "public, max-age=31536000, immutable"
        return answer


def _add_login(app: FastAPI, desk: Desk, door: Doorkeeper) -> None:
    """Add the login page and its form, which exchanges the password for a session."""

    @app.get("/login")
    async def login() -> Response:
        return desk.page("login.html", wrong=False)

    @app.post("/login")
    async def entered(request: Request) -> Response:
        """Check the password: a correct one sets a session cookie and leads to the start page, a wrong one shows the form again."""
        import asyncio

        await asyncio.sleep(1)  # limits the rate of password guesses
        session = door.enter(str((await request.form()).get("password", "")))
        if session is None:
            return desk.page("login.html", status=403, wrong=True)
        return Response(status_code=303, headers={"location": "/", "set-cookie": door.cookie(session)})


def _add_shared(app: FastAPI, desk: Desk) -> None:
    """Add the routes shared by all pages: page parts, sidebar, undo and redo, and the policy."""

    @app.get("/p/{number}/part/{name}")
    async def part(request: Request, number: str, name: str, v: int, page: str) -> Response:
        """Return a page part as HTML: its content, its progress or its error."""
        view = desk.view(number, v, page)
        parameters = {key: _value(value) for key, value in request.query_params.items() if key not in ("v", "page")}
        job = await settled(desk.job(view, name, parameters))
        return HTMLResponse(desk.drawn_job(view, name, job, parameters))

    @app.post("/p/{number}/again/{key}")
    async def again(request: Request, number: str, key: str) -> Response:
        """Discard a failed or cancelled job and return to the given URL of the project, which starts it again."""
        desk.jobs.again(key)
        url = str((await request.form()).get("url", ""))
        return Response(status_code=303, headers={"location": url if url.startswith(f"/p/{number}/") else "/"})

    @app.post("/p/{number}/stop/{key}")
    async def stop(number: str, key: str) -> Response:
        """Cancel a job."""
        desk.projects.find(number)
        desk.jobs.stop(key)
        return Response(status_code=204)

    @app.get("/p/{number}")
    async def latest(number: str) -> Response:
        project = desk.projects.find(number)
        return Response(status_code=303, headers={"location": ProjectView(project, project.head, "data").url()})

    @app.get("/p/{number}/rail")
    async def rail(request: Request, number: str, v: int, page: str, seen: str = "") -> Response:
        """Return the sidebar; 204 (no content) if it still has the hash ``seen``, which the browser shows."""
        view = desk.view(number, v, page)
        # If another tab changed the policy, this one follows. A page that shows an earlier version stays unchanged.
        if request.query_params.get("live") and not view.is_head:
            return desk.sent_on(request, ProjectView(view.project, view.project.head, page).url())
        sidebar = rail_of(desk, view)
        if sidebar["seen"] == seen:
            return Response(status_code=204)
        return HTMLResponse(desk.html("parts/rail.html", view=view, rail=sidebar))

    @app.post("/p/{number}/move/{way}")
    async def move(request: Request, number: str, way: str) -> Response:
        """Undo, redo or restore a version of the policy (``way``), and show the page at the version that is now current."""
        project = desk.projects.find(number)
        form = await request.form()
        page = str(form.get("page", "data"))
        if way == "undo":
            project.undo()
        elif way == "redo":
            project.redo()
        else:
            project.restore(int(str(form.get("version", "0")) or 0))
        return desk.sent_on(request, ProjectView(project, project.head, page).url())

    @app.get("/p/{number}/policy")
    async def policy(number: str, v: int, page: str = "data") -> Response:
        """Return the policy of version ``v`` with the command and the script that publish it."""
        view = desk.view(number, v, page)
        from reticent.workbench.scripts import command_for, script_for

        return HTMLResponse(
            desk.html(
                "parts/policy.html",
                view=view,
                text=view.project.text(v),
                command=command_for(view),
                script=script_for(view),
            )
        )


def _handle_errors(app: FastAPI, desk: Desk) -> None:
    """Register error handlers: errors of the library are shown with their message, all others without it."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, ReticentError)
        return desk.refused(request, error)

    async def failed(request: Request, error: Exception) -> Response:
        print(f"The workbench could not answer: {type(error).__name__}.", file=sys.stderr)
        return desk.refused(request, "Something went wrong here. Nothing was published. Reload the page to go on.", 500)

    app.add_exception_handler(ReticentError, refused)
    app.add_exception_handler(Exception, failed)


def _value(text: str) -> Any:
    return int(text) if text.lstrip("-").isdigit() and len(text) < 12 else text


def _warm() -> None:
    """Import the modules needed for policy edits while the user reads the first page."""
    with contextlib.suppress(ImportError):
        import reticent.belief
        import reticent.ledger
        import reticent.policy
        import reticent.propose  # noqa: F401


def serve(
    opened: str | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    home: Path | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
    password: str | None = None,
    say: Any = print,
) -> None:
    """Serve the workbench until it is stopped; ``opened`` is a data file, a policy or a release to open first."""
    import uvicorn

    from reticent.workbench.pages.start import address, open_location

    beyond = host not in ("127.0.0.1", "localhost", "::1")
    if beyond and (certificate is None or key is None or not password):
        raise PolicyError(
            f"--host {host} lets other machines reach the workbench, which shows raw rows. That needs --certificate and --key (a TLS certificate) and a "
            "password in the environment variable RETICENT_WORKBENCH_PASSWORD. Without --host it listens on this machine only."
        )
    folder = home or home_folder()
    private_folder(folder)
    bound = _listening(host, port)
    number = bound.getsockname()[1]
    scheme = "https" if certificate is not None else "http"
    names = (*LOOPBACK, host, *certificate_names(certificate)) if beyond and certificate is not None else LOOPBACK
    door = Doorkeeper(folder / "sessions.json", own_hosts(names, number), scheme, password if beyond else None)
    desk = Desk(folder)
    path = "/" if opened is None else address(open_location(desk, opened))
    shown = host if beyond else "127.0.0.1"
    link = f"{scheme}://{shown}:{number}{path}?token={door.token}"
    say(f"The workbench is at {link}\nThe link works once; the browser that opens it stays in. Stop with Ctrl-C.")
    if browser:
        threading.Timer(0.4, webbrowser.open, [link]).start()
    config = uvicorn.Config(
        create_app(desk, door),
        # A traceback may contain values of the table, so only the exception type is logged unless tracebacks are requested.
        log_level="error" if os.environ.get("RETICENT_WORKBENCH_TRACE") else "critical",
        access_log=False,
        server_header=False,
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[bound])


def _listening(host: str, port: int | None) -> socket.socket:
    """Return a listening socket on ``port``; by default on the standard port or the next free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = [port] if port is not None else range(PORT, PORT + _PORTS_TRIED)
    for candidate in ports:
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, candidate))
            return bound
        except OSError as error:
            bound.close()
            problem = error
    named = f"Port {port}" if port is not None else f"Every port from {PORT} to {PORT + _PORTS_TRIED - 1}"
    raise PolicyError(f"{named} is not free: {problem.strerror}. Choose another one with --port.")
