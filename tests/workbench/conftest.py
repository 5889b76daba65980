"""The workbench as it really runs: the command in a process of its own, and a real Chromium that speaks to it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import polars as pl
import pytest

from reticent.workbench.desk import Desk
from reticent.workbench.jobs import _KILLED, Job, _finish, _Worker
from reticent.workbench.project import Project
from reticent.workbench.security import COOKIE, Doorkeeper, own_hosts
from reticent.workbench.server import LOOPBACK, create_app
from reticent.workbench.worker import Reporter, _answer

TOWN_POLICY = """
dataset = "people of the town"

[data]
source = "people.csv"

[roles]
identifiers = ["name"]
quasi = ["age", "sex", "town"]
sensitive = ["illness"]

[hierarchies.age]
kind = "intervals"
widths = [5, 10, 20]

[hierarchies.town]
kind = "masking"
digits = 4

[[definition]]
name = "KAnonymity"
k = 5

[[definition]]
name = "DistinctLDiversity"
l = 2

[method]
name = "Lattice"
suppression = "0.05"
"""

START = 60.0
HOST = "127.0.0.1:8731"


@dataclass
class Bench:
    """A running workbench: its folder, its port, and the link that it printed."""

    home: Path
    ledger: Path
    port: int
    arguments: tuple[str, ...] = ()
    process: subprocess.Popen[str] | None = None
    link: str = ""
    printed: list[str] = field(default_factory=list)
    address: str = "127.0.0.1"
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Bench:
        command = [
            sys.executable,
            "-m",
            "reticent",
            "workbench",
            *self.arguments,
            "--no-browser",
            "--port",
            str(self.port),
        ]
        environment = {**os.environ, "RETICENT_WORKBENCH": str(self.home), "RETICENT_LEDGER": str(self.ledger)}
        environment |= self.environment
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.home.parent
        )
        assert self.process.stdout is not None
        text = ""
        while "token=" not in text:
            line = self.process.stdout.readline()
            assert line, f"the workbench did not start: {text}"
            text += line
        self.printed.append(text)
        self.link = re.findall(r"https?://\S+", text)[0]
        until = time.monotonic() + START
        while time.monotonic() < until:
            with socket.socket() as tried:
                if tried.connect_ex((self.address, self.port)) == 0:
                    return self
            time.sleep(0.05)
        raise AssertionError("the workbench does not listen")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> str:
        """Stop it; what it printed after the link."""
        assert self.process is not None
        self.process.send_signal(how)
        rest, _ = self.process.communicate(timeout=30)
        return rest

    def workers(self) -> list[int]:
        """The processes that work for it."""
        assert self.process is not None
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    stat = (entry / "stat").read_text()
                except OSError:
                    continue
                if int(stat.rpartition(")")[2].split()[1]) == self.process.pid:
                    found.append(int(entry.name))
        return sorted(found)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def new_bench(folder: Path, *arguments: str) -> Bench:
    return Bench(folder / "home", folder / "ledger" / "ledger.sqlite", free_port(), arguments)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One workbench for the tests of a file."""
    made = new_bench(tmp_path_factory.mktemp("bench")).start()
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop()


@dataclass
class Visitor:
    """A browser that was let in, and everything that it asked for and complained about."""

    context: Any
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def page(self) -> Any:
        made = self.context.new_page()
        made.set_default_timeout(60_000)
        made.on("request", lambda request: self.asked.append(request.url))
        made.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        made.on("pageerror", lambda error: self.complaints.append(str(error)))
        return made


@pytest.fixture(scope="module")
def visitor(bench: Bench, chromium: Any) -> Iterator[Visitor]:
    """The browser that used the link."""
    made = Visitor(chromium.new_context(viewport={"width": 1440, "height": 900}))
    first = made.page()
    first.goto(bench.link)
    first.close()
    yield made
    made.context.close()


def opened(visitor: Visitor, bench: Bench, path: Path) -> Any:
    """A page that has read a file by its path."""
    page = visitor.page()
    page.goto(bench.base)
    page.fill("input[name=path]", str(path))
    page.click("button:has-text('Open') >> nth=0")
    page.wait_for_selector("#rows-part")
    return page


def opened_at(name: str, shown: str, rows: str, visitor: Visitor, bench: Bench, folder: Path) -> Any:
    """The page of that name of a project with some rows, once what is ``shown`` there is there."""
    path = folder / "people.csv"
    path.write_text(rows)
    page = opened(visitor, bench, path)
    page.goto(versioned(page, name))
    page.wait_for_selector(shown)
    return page


def versioned(page: Any, name: str) -> str:
    """The address of another page at the same version."""
    return re.sub(r"(/v/\d+)/.*", rf"\1/{name}", page.url)


def folder_of(page: Any, bench: Bench) -> Path:
    """The folder of the project that a page is about."""
    return bench.home / re.findall(r"/p/([0-9a-f]+)/", page.url)[0]


def policy_of(page: Any, bench: Bench) -> str:
    """The current policy of the project that a page is about."""
    return (folder_of(page, bench) / "policy.toml").read_text()


@pytest.fixture
def door(tmp_path: Path) -> Doorkeeper:
    return Doorkeeper(tmp_path / "sessions.json", own_hosts(LOOPBACK, 8731))


class Client:
    """Requests to the application as a browser of its own pages sends them, without a socket."""

    def __init__(self, desk: Desk, door: Doorkeeper) -> None:
        self.desk, self.door, self.app = desk, door, create_app(desk, door)
        self.cookies: dict[str, str] = {}

    def __call__(self, method: str, path: str, host: str = HOST, **options: Any) -> Any:
        httpx = pytest.importorskip("httpx")

        async def sent() -> Any:
            carried = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(
                transport=carried, base_url=f"http://{host}", cookies=self.cookies
            ) as open_client:
                return await open_client.request(method, path, **options)

        return asyncio.run(sent())

    def enter(self) -> None:
        answered = self("GET", f"/?token={self.door.token}")
        assert answered.status_code == 303
        self.cookies = {COOKIE: answered.cookies[COOKIE]}

    def post(self, path: str, /, **fields: str) -> Any:
        """The answer to a form of one of our own pages."""
        return self("POST", path, data=fields, headers={"origin": f"http://{HOST}"})


@pytest.fixture
def client(tmp_path: Path, door: Doorkeeper) -> Any:
    return Client(Desk(tmp_path / "home"), door)


class _Wire:
    """A worker at hand: what is sent to it is done at once, by the code of the worker processes."""

    def __init__(self, stopped: Any) -> None:
        self._stopped = stopped
        self._answers: deque[Any] = deque()

    def send(self, asked: tuple[str, dict[str, Any]]) -> None:
        self._answers.append(_answer(*asked, Reporter(SimpleNamespace(send=self._answers.append), self._stopped)))  # type: ignore[arg-type]

    def recv(self) -> Any:
        return self._answers.popleft()


class Shop:
    """A workbench without processes: pages answer as ever, and every task is done where it is asked for, unless it is held."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.held: set[str] = set()
        self.waiting: list[tuple[_Worker, Job]] = []
        patch.setattr(_Worker, "add", lambda worker, job: self._add(worker, job))
        self.client = Client(Desk(home), Doorkeeper(home.parent / "sessions.json", own_hosts(LOOPBACK, 8731)))
        self.client.enter()

    def _add(self, worker: _Worker, job: Job) -> None:
        self.waiting.append((worker, job))
        if job.task not in self.held:
            self.work(job.task)

    def work(self, task: str) -> None:
        """Do what waits of a task."""
        for worker, job in [each for each in self.waiting if each[1].task == task]:
            self.waiting.remove((worker, job))
            worker._process, worker._ours = SimpleNamespace(is_alive=lambda: True), _Wire(worker._stopped)  # type: ignore[assignment]
            if not job.over:
                worker._run(job)

    def end(self, task: str, state: Literal["stopped", "failed"]) -> None:
        """End what waits of a task as a click on Stop does, or as if its process were killed."""
        for worker, job in [each for each in self.waiting if each[1].task == task]:
            self.waiting.remove((worker, job))
            _finish(job, state, *(() if state == "stopped" else (_KILLED, "Killed")))

    def opened(self, path: Path) -> Project:
        """The project of a file or a policy that was opened, once it was read."""
        answered = self.client.post("/open", path=str(path))
        assert answered.status_code == 303, answered.text
        where = answered.headers["location"]
        project = self.client.desk.projects.find(re.findall(r"/p/([0-9a-f]+)/", where)[0])
        self.client("GET", f"/p/{project.id}/pending")
        return project

    def page(self, project: Project, name: str) -> str:
        """The HTML of a page at the current version."""
        answered = self.client("GET", f"/p/{project.id}/v/{project.head}/{name}")
        assert answered.status_code == 200, answered.text
        return str(answered.text)

    def part(self, project: Project, name: str, page: str = "data", **asked: Any) -> str:
        """The HTML of a part of a page at the current version."""
        more = "".join(f"&{key}={value}" for key, value in asked.items())
        return str(self.client("GET", f"/p/{project.id}/part/{name}?v={project.head}&page={page}{more}").text)

    def rail(self, project: Project) -> dict[str, str]:
        """What the rail says, by term; a first look starts what it shows."""
        for _ in range(2):
            html = self.client("GET", f"/p/{project.id}/rail?v={project.head}&page=data").text
        told = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html, re.DOTALL)
        return {term: " ".join(unescape(re.sub(r"<[^>]+>", " ", words)).split()) for term, words in told}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    return Shop(tmp_path / "home", monkeypatch)


@pytest.fixture
def people() -> pl.DataFrame:
    """Rows of which many are alone with what others know of them."""
    rows = range(300)
    return pl.DataFrame(
        {
            "name": [f"person {n}" for n in rows],
            "age": [20 + n * n % 43 for n in rows],
            "sex": ["fm"[n % 2] for n in rows],
            "town": [str(1000 + n * 7 % 13) for n in rows],
            "illness": [("flu", "cold", "asthma", "gout")[n // 3 % 4] for n in rows],
        }
    )


@pytest.fixture
def policy(tmp_path: Path, people: pl.DataFrame) -> Path:
    """A policy for these rows, beside their file."""
    people.write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(TOWN_POLICY)
    return tmp_path / "policy.toml"
