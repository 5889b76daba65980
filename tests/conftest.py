"""What several rooms' tests share: the data sets beside the repository, and a real PostgreSQL server."""

from __future__ import annotations

import gc
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import settings

# The machine may be busy: how long an example takes says nothing about whether it is right. `make test` tries the same examples
# every time, so that it judges the change and not the hour, and a quarter of them (sampling.py); `make test-all` draws new ones, and all
# (--hypothesis-profile=random).
settings.register_profile("reticent", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("random", deadline=None)
settings.load_profile("reticent")

# Imported modules and collected tests are hundreds of thousands of objects that live as long as the process: looking through them again and
# again for what can be removed took a twentieth of all time.
gc.set_threshold(50_000, 20, 20)

# Typer describes all commands anew for each of a thousand calls, which takes longer than most of them run. The runner of `typer.testing` binds
# this name when it is imported.
typer.main.get_command = cache(typer.main.get_command)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    # DuckDB complains on exit about objects of its own that cannot be removed.
    gc.unfreeze()


# What takes long in one piece begins first, so that no worker waits for another at the end.
BEGUN_FIRST = ("spark", "deploying", "postgres", "tests/web/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def turn(item: pytest.Item) -> int:
        named = {str(mark.args[0]) for mark in item.iter_markers("xdist_group")}
        begun = (place for place, name in enumerate(BEGUN_FIRST) if name in named or item.nodeid.startswith(name))
        return next(begun, len(BEGUN_FIRST))

    items.sort(key=turn)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a file stay in one worker, as those of a group do: what a file's tests share is made once, and its loops are compiled once."""
    from xdist.scheduler import LoadGroupScheduling

    class FilesTogether(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group = super()._split_scope(nodeid)
            return nodeid.split("::", 1)[0] if group == nodeid else group

    return FilesTogether(config, log) if config.getvalue("dist") == "loadgroup" else None


REPOSITORY = Path(__file__).resolve().parents[1]
SHARED_DATA = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="session")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    # One numbered folder for all: to make another, pytest reads the names of those that are there.
    folder = tmp_path_factory.mktemp("ledgers")
    return (folder / str(number) / "ledger.sqlite" for number in count())


@pytest.fixture(scope="module", autouse=True)
def ledger_of_module(ledgers: Iterator[Path]) -> Iterator[None]:
    """A ledger of its own for what a module shares: noisy releases are charged there whether or not they have a name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RETICENT_LEDGER", str(next(ledgers)))
        yield


@pytest.fixture(autouse=True)
def ledger_of_test(ledgers: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger of its own for every test that names none."""
    monkeypatch.setenv("RETICENT_LEDGER", str(next(ledgers)))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public test data beside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the test data are not there: {SHARED_DATA}")
    return SHARED_DATA


@dataclass(frozen=True)
class PostgresServer:
    """A PostgreSQL server of our own: its programs, its folder, and the user it runs as."""

    tools: Path
    home: Path
    port: int
    run_as: tuple[int, int] | None

    @classmethod
    def new(cls, tools: Path) -> PostgresServer:
        """A folder for a server that has no data yet. Not under tmp_path: a socket's path must stay short, and an unprivileged server must be able to enter it."""
        server = cls(tools, Path(tempfile.mkdtemp(prefix="reticent-pg-", dir="/tmp")), _free_port(), _unprivileged())
        if server.run_as:
            os.chown(server.home, *server.run_as)
        return server

    @property
    def url(self) -> str:
        return f"postgresql://steward@/postgres?host={self.home}&port={self.port}"

    @property
    def data(self) -> Path:
        return self.home / "db"

    def run(self, program: str, *arguments: object) -> None:
        """Run one of the server's programs as the server's user."""
        _run([self.tools / program, *arguments], self.run_as)

    def start(self) -> PostgresServer:
        """Start it, with durability switched off for speed; with data of its own if it has none."""
        if not self.data.exists():
            self.run("initdb", "-D", self.data, "-U", "steward", "--auth=trust", "-E", "UTF8", "--no-sync")
        options = f"-p {self.port} -k {self.home} -c listen_addresses='' -c fsync=off"
        self.run("pg_ctl", "-D", self.data, "-w", "-l", self.home / "log", "-o", options, "start")
        return self

    def stop(self) -> None:
        """Stop it at once, if it runs."""
        if (self.data / "postmaster.pid").exists():
            self.run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One Chromium for the tests of a file. No longer: while it runs, nothing else can run an event loop in this process."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no Chromium on this machine; on Debian: apt install chromium")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield started
        started.close()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a PostgreSQL server of our own, empty."""
    tools = _postgres_tools()
    if tools is None:
        yield from _packaged_server()
        return
    server = PostgresServer.new(tools)
    try:
        yield server.start().url
    finally:
        server.remove()


@pytest.fixture
def make_server() -> Iterator[Callable[[], PostgresServer]]:
    """Servers that a test starts, stops, copies and restores by itself."""
    tools = _postgres_tools()
    if tools is None:
        pytest.skip("no PostgreSQL server programs")
    made: list[PostgresServer] = []

    def make() -> PostgresServer:
        made.append(PostgresServer.new(tools))
        return made[-1]

    yield make
    for server in made:
        server.remove()


def _postgres_tools() -> Path | None:
    """The folder of initdb and pg_ctl: the newest Debian one, or that on the path."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name, reverse=True)
    on_path = shutil.which("pg_ctl")
    found = [*versions, *([Path(on_path).parent] if on_path else [])]
    return next((folder for folder in found if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


def _packaged_server() -> Iterator[str]:
    pgserver = pytest.importorskip("pgserver", reason="no PostgreSQL server programs, and no pgserver package")
    with tempfile.TemporaryDirectory(prefix="reticent-pg-", dir="/tmp") as folder:
        server = pgserver.get_server(folder)
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def _unprivileged() -> tuple[int, int] | None:
    """PostgreSQL refuses to run as root; then it runs as somebody harmless."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    pytest.skip("running as root, and there is no unprivileged user to run PostgreSQL as")


def _run(command: list[object], run_as: tuple[int, int] | None) -> None:
    extra = {"user": run_as[0], "group": run_as[1], "extra_groups": []} if run_as else {}
    # The server inherits these files, so they must not be pipes that somebody waits on.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            [str(part) for part in command], stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd="/tmp", **extra
        )
        output.seek(0)
        assert done.returncode == 0, output.read().decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
