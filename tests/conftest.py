"""What several rooms' tests share: the data sets beside the repository, and a real PostgreSQL server."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The machine may be busy: how long an example takes says nothing about whether it is right.
settings.register_profile("reticent", deadline=None)
settings.load_profile("reticent")

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED_DATA = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public test data beside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the test data are not there: {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a PostgreSQL server of our own, empty, with durability switched off for speed."""
    tools = _postgres_tools()
    if tools is None:
        yield from _packaged_server()
        return
    # Not under tmp_path: a socket's path must stay short, and an unprivileged server must be able to enter the folder.
    home = Path(tempfile.mkdtemp(prefix="reticent-pg-", dir="/tmp"))
    run_as = _unprivileged()
    if run_as:
        os.chown(home, *run_as)
    port = _free_port()
    try:
        _run([tools / "initdb", "-D", home / "db", "-U", "steward", "--auth=trust", "-E", "UTF8", "--no-sync"], run_as)
        options = f"-p {port} -k {home} -c listen_addresses='' -c fsync=off"
        _run([tools / "pg_ctl", "-D", home / "db", "-w", "-l", home / "log", "-o", options, "start"], run_as)
        yield f"postgresql://steward@/postgres?host={home}&port={port}"
    finally:
        if (home / "db" / "postmaster.pid").exists():
            _run([tools / "pg_ctl", "-D", home / "db", "-m", "immediate", "-w", "stop"], run_as)
        shutil.rmtree(home, ignore_errors=True)


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
