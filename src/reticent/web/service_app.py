"""The audited table over HTTP. Responses depend on queries, past answers and public columns, never on protected values."""

# No postponed annotations: FastAPI evaluates those of the routes, which refer to local names of a function.

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path as FilePath
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from reticent import __version__
from reticent.audit.service import AuditService, Forbidden, QuotaUsed, exact_text
from reticent.errors import Denied, PolicyError, ReticentError
from reticent.web.metrics import add_metrics
from reticent.web.shapes import (
    Asked,
    AskedForAnswer,
    ExplanationShape,
    FaultShape,
    HealthShape,
    HistoryShape,
    Number,
    ReplyShape,
    TableShape,
)

# The longest query in the longest JSON encoding, twelve bytes per character, and some room.
_LARGEST_BODY = 262_144
_SAFELY = "The service could not process this query. Nothing was disclosed; try again later, or contact the steward."
_log = logging.getLogger("reticent.web")
Result = TypeVar("Result")
Opened = Callable[[], AuditService]
Run = Callable[[Callable[[AuditService], Any]], Awaitable[Any]]
_PUBLIC_PATHS = frozenset({"/v1/table", "/v1/health"})
_LOGGED_PATHS = frozenset({"/", "/openapi.json", "/v1/query", "/v1/would-you-answer", "/v1/history", *_PUBLIC_PATHS})
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")


def create_app(
    open_service: Opened, *, hosts: Sequence[str] = (), log: FilePath | None = None, metrics: bool = False
) -> FastAPI:
    """Create the app of one audited table. The service is opened, used and closed on one dedicated thread, one query at
    a time.

    Requests must use one of the ``hosts`` (or this machine's name), which prevents DNS rebinding by other pages.
    ``log`` gets one line per request: time, user, path, status and the numbers of decisions, and nothing of queries and
    answers. With ``metrics`` request counts are served at ``/metrics``.
    """
    worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="audit")
    opened: list[AuditService] = []

    async def run(work: Callable[[AuditService], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(worker, lambda: work(opened[0]))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        """Open the service on its thread before the first request, and close it after the last."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(worker, lambda: opened.append(open_service()))
        yield
        await loop.run_in_executor(worker, lambda: opened.pop().close())
        worker.shutdown()

    app = FastAPI(
        title="Reticent audited SQL",
        version=__version__,
        description="Exact answers, or denials that reveal nothing.",
        lifespan=lifespan,
        redirect_slashes=False,
        # The default documentation pages load external scripts; /openapi.json and our own page remain.
        docs_url=None,
        redoc_url=None,
    )
    _handle_errors(app)
    _guard(app, run, frozenset(map(_host_name, (*_OWN_HOSTS, *hosts))))
    _log_requests(app, log)
    if metrics:
        add_metrics(app, _LOGGED_PATHS)
    _add_paths(app, run)
    return app


def _add_paths(app: FastAPI, run: Run) -> None:
    """Add the paths of the API and the page for trying queries; ``run`` works with the service on its thread."""
    bearer = HTTPBearer(auto_error=False, description="A token made by the steward: reticent audit token")

    async def user(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> str:
        return str(request.state.user)

    User = Annotated[str, Depends(user)]

    @app.post("/v1/query", response_model=ReplyShape, responses=_faults(400, 401, 403, 413, 422, 429, 503))
    async def query(asked: AskedForAnswer, user: User, request: Request) -> Any:
        """Run a query. Denied aggregates have no value; the reason does not depend on the protected values."""
        reply = await run(lambda service: service.ask(asked.sql, user, allow_noise=asked.allow_noise))
        request.state.decisions = [
            answer.decision for row in reply.rows for answer in row.answers if answer.decision is not None
        ]
        return reply.describe()

    @app.post("/v1/would-you-answer", response_model=ReplyShape, responses=_faults(400, 401, 403, 413, 422, 429, 503))
    async def would_you_answer(asked: Asked, user: User) -> Any:
        """Return what would be decided if this query were sent next. Nothing is answered; it counts toward the daily quota."""
        return (await run(lambda service: service.would_answer(asked.sql, user))).describe()

    @app.get("/v1/history", response_model=HistoryShape, responses=_faults(401, 422, 503))
    async def history(
        user: User,
        before: Annotated[Number | None, Query(description="Only queries before this one.")] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Any:
        """Return your own queries, last first. Decisions take all users' queries into account, because users may share answers."""
        questions = await run(lambda service: service.history(user, before=before, limit=limit))
        listed = [
            {
                "question": question.number,
                "sql": question.text,
                "asked": question.made,
                "decisions": list(question.decisions),
            }
            for question in questions
        ]
        return {"ok": True, "questions": listed}

    @app.get("/v1/explain/{decision}", response_model=ExplanationShape, responses=_faults(401, 404, 422, 503))
    async def explain(decision: Annotated[Number, Path()], user: User) -> Any:
        """Explain a decision on one of your own queries."""
        return await run(lambda service: _explanation(service, decision, user))

    @app.get("/v1/table", response_model=TableShape, responses=_faults(503))
    async def table(request: Request) -> Any:
        """Return what can be queried; with a token also the functions that a column is locked to by earlier answers."""
        known = getattr(request.state, "user", None) is not None
        return await run(lambda service: {"ok": True, **service.describe(history=known)})

    @app.get("/v1/health", response_model=HealthShape)
    async def health() -> Any:
        """Return whether the service is up."""
        return {"ok": True, "version": __version__}

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def page() -> str:
        """Return a page for trying queries."""
        return files("reticent.web").joinpath("page.html").read_text(encoding="utf-8")


def _explanation(service: AuditService, number: int, user: str) -> dict[str, Any]:
    """Return a decision on a query of this user, with the guarantee of its column. Raises 404 if there is none."""
    entry = service.decision(number, user)
    if entry is None:
        raise HTTPException(404, f"There is no decision {number} on a query of yours.")
    return {
        "ok": True,
        "decision": entry.number,
        "column": entry.column,
        "function": entry.function,
        "size": entry.size,
        "answered": entry.answered,
        "rule": entry.rule,
        "reason": entry.reason,
        "value": exact_text(entry.answer),
        "decided": entry.made,
        "guarantee": service.guarantee(entry.column),
    }


def _faults(*codes: int) -> dict[int | str, dict[str, Any]]:
    return {code: {"model": FaultShape} for code in codes}


def _fault(code: int, kind: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"ok": False, "error": {"kind": kind, "message": message}}, code, headers)


def _handle_errors(app: FastAPI) -> None:
    """Use one format for every error; messages of the database or the ledger stay in the server's log."""

    async def refused(_: Request, error: Exception) -> Response:
        """Return the status of an error of this library; for other kinds than refusals, without its message."""
        if isinstance(error, QuotaUsed):
            return _fault(429, "QuotaUsed", str(error))
        if isinstance(error, Forbidden | Denied):
            return _fault(403, type(error).__name__, str(error))
        if isinstance(error, PolicyError):
            return _fault(400, type(error).__name__, str(error))
        _log.error("%s: %s", type(error).__name__, error, extra={"kind": type(error).__name__})
        return _fault(503, "Unavailable", _SAFELY)

    async def failed(_: Request, error: Exception) -> Response:
        """Log an unexpected error, and return 503 without its message."""
        _log.error("an unexpected failure", exc_info=error)
        return _fault(503, "Unavailable", _SAFELY)

    async def http(_: Request, error: Exception) -> Response:
        """Return an HTTP error in the format of all errors."""
        assert isinstance(error, HTTPException)
        kinds = {401: "Unauthorized", 404: "NotFound", 405: "MethodNotAllowed", 413: "TooLarge"}
        headers = dict(error.headers) if error.headers else None
        return _fault(error.status_code, kinds.get(error.status_code, "BadRequest"), str(error.detail), headers)

    async def invalid(_: Request, error: Exception) -> Response:
        """Return 422 with the first field that does not fit the schema."""
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return _fault(422, "InvalidRequest", f"{where}: {first['msg']}.")

    app.add_exception_handler(ReticentError, refused)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, failed)


def _host_name(host: str) -> str:
    """Return the name in a Host header, without the port."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    is_bare_ipv6 = name.count(":") > 1
    return name if is_bare_ipv6 else name.partition(":")[0]


def _log_requests(app: FastAPI, path: FilePath | None) -> None:
    """Write one line per request, with the user and the decisions of that request; no query text or values."""

    @app.middleware("http")
    async def log(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        """Pass a request on, and log one line about it."""
        response = await go_on(request)
        decisions = getattr(request.state, "decisions", ())
        line = json.dumps(
            {
                "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "user": getattr(request.state, "user", None),
                "method": request.method,
                "path": request.scope["path"] if request.scope["path"] in _LOGGED_PATHS else "other",
                "status": response.status_code,
                "decisions": list(decisions),
            }
        )
        _log.info(line)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        return response


def _guard(app: FastAPI, run: Run, hosts: frozenset[str]) -> None:
    """Check before any byte of a body is read: the host, its length, and, except on public paths, the token."""

    @app.middleware("http")
    async def guard(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        """Pass a request on if its host, length and token are valid, else return an error; an admitted user is noted in
        its state.
        """
        if _host_name(request.headers.get("host", "")) not in hosts:
            return _fault(
                421, "Misdirected", "This host name is not allowed. The steward can add it: --allow-host NAME."
            )
        length = request.headers.get("content-length", "0")
        chunked = "transfer-encoding" in request.headers
        if chunked or not length.isdigit() or len(length) > 9 or int(length) > _LARGEST_BODY:
            return _fault(
                413, "TooLarge", f"A request may have at most {_LARGEST_BODY} bytes, and must state its length."
            )
        public = request.url.path in _PUBLIC_PATHS
        if request.url.path.startswith("/v1/") and not (public and "authorization" not in request.headers):
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            known = scheme.lower() == "bearer" and await run(lambda service: service.tokens.user_of(token.strip()))
            if not known and not public:
                return _fault(401, "Unauthorized", "A valid token is needed.", {"WWW-Authenticate": "Bearer"})
            request.state.user = known or None
        return await go_on(request)
