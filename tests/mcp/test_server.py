"""The server for assistants, with the SDK's own client over stdio: every reply is read, and none holds a value of the data."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.mcp import PublicationRequest, RequestFolder
from tests.gates.test_gate import MARKED_LIMITS, MARKED_POLICY, MARKER, SPOILED, marked

pytest.importorskip("mcp", reason="the server for assistants needs the extra mcp")
pytestmark = pytest.mark.xdist_group("mcp")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with markers in every column, policies that fail in every way, a release and a forged one."""
    folder = tmp_path_factory.mktemp("study")
    marked().write_csv(folder / "marked.csv")
    (folder / "limits.toml").write_text(MARKED_LIMITS)
    for name, (old, new) in SPOILED.items():
        (folder / f"{name.replace(' ', '_')}.toml").write_text(MARKED_POLICY.replace(old, new, 1))
    table = rt.read(policy=folder / "fine.toml")
    definition = rt.KAnonymity(3) & rt.EntropyLDiversity(2, dont_care=[f"{MARKER}disease0"], column="disease")
    rt.publish(table, definition).save(folder / "release")
    rt.publish(table, definition).save(folder / "forged")
    manifest = folder / "forged" / "public" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f"{MARKER}town0", f"{MARKER}other"))
    (folder / "broken.csv").write_bytes(f'a,b\n"{MARKER},1\n{MARKER}'.encode() + b"\xff\x00")
    return folder


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("inspect", {"path": "marked.csv", "output": "proposed.toml"}),
    ("inspect", {"path": "marked.csv"}),
    ("inspect", {"path": "broken.csv"}),
    ("inspect", {"path": "missing.csv"}),
    ("inspect", {"path": "../outside.csv"}),
    ("inspect", {"wrong": "argument"}),
    *((tool, {"policy": f"{name.replace(' ', '_')}.toml"}) for name in SPOILED for tool in ("assess", "preview")),
    ("compare", {"policy": "fine.toml"}),
    ("compare", {"policy": "domain.toml"}),
    ("explain_certificate", {"release": "release"}),
    ("explain_certificate", {"release": "forged"}),
    ("verify", {"release": "release"}),
    ("verify", {"release": "forged"}),
    ("gate", {"target": "release", "limits": "limits.toml"}),
    ("gate", {"target": "fine.toml", "limits": "limits.toml"}),
    ("gate", {"target": "release", "limits": "fine.toml"}),
    ("request_publication", {"policy": "fine.toml", "output": "out"}),
    ("request_publication", {"policy": "unreadable.toml", "output": "out"}),
    ("request_publication", {"policy": "fine.toml", "output": "release"}),
    ("publication_status", {"request": "00000000"}),
    ("publication_status", {"request": "../limits"}),
    ("no such tool", {}),
]


@pytest.fixture(scope="module")
def replies(study: Path) -> dict[str, Any]:
    """What the client got: every reply to every call, the tools, the resources, and every message beside them."""
    import anyio

    from mcp import ClientSession, StdioServerParameters, stdio_client

    ledger = study.parent / "ledger" / "ledger.sqlite"
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "reticent", "mcp", "--root", str(study)],
        env={**os.environ, "RETICENT_LEDGER": str(ledger)},
    )
    got: dict[str, Any] = {"calls": [], "beside": [], "resources": {}, "ledger": ledger}

    async def listen(message: Any) -> None:
        got["beside"].append(str(message))

    async def told(progress: float, total: float | None, message: str | None) -> None:
        got["beside"].append(f"{progress} {total} {message}")

    async def talk() -> None:
        with (study.parent / "stderr").open("w") as errors:
            async with (
                stdio_client(server, errlog=errors) as streams,
                ClientSession(*streams, message_handler=listen, logging_callback=listen) as session,
            ):
                await session.initialize()
                got["tools"] = (await session.list_tools()).model_dump_json()
                for tool, arguments in CALLS:
                    try:
                        reply = await session.call_tool(tool, arguments, progress_callback=told)
                        got["calls"].append((tool, arguments, reply.model_dump_json()))
                    except Exception as error:
                        got["calls"].append((tool, arguments, repr(error)))
                listed = (await session.list_resources()).resources
                for each in listed:
                    got["resources"][str(each.uri)] = (await session.read_resource(each.uri)).model_dump_json()

    anyio.run(talk)
    got["stderr"] = (study.parent / "stderr").read_text()
    return got


def reply_to(replies: dict[str, Any], tool: str, **arguments: Any) -> dict[str, Any]:
    text = next(text for name, given, text in replies["calls"] if name == tool and given == arguments)
    return json.loads(json.loads(text)["content"][0]["text"])


def test_no_row_and_no_cell_is_in_any_reply(replies: dict[str, Any]) -> None:
    texts = [text for _, _, text in replies["calls"]]
    for text in [*texts, *replies["beside"], *replies["resources"].values(), replies["tools"], replies["stderr"]]:
        assert MARKER not in text
        assert "987" not in text
    assert len(texts) == len(CALLS)


def test_the_tools_are_those_that_are_promised(replies: dict[str, Any]) -> None:
    tools = {each["name"] for each in json.loads(replies["tools"])["tools"]}
    assert {"inspect", "assess", "preview", "compare", "explain_certificate", "verify"} <= tools
    assert "publish" not in tools


def test_replies_are_of_use(replies: dict[str, Any], study: Path) -> None:
    columns = {each["name"]: each for each in reply_to(replies, "inspect", path="marked.csv")["columns"]}
    assert columns["name"]["role"] == "identifier"
    assert columns["town"]["distinct"] == 3
    assert (study / "proposed.toml").exists()
    assert reply_to(replies, "assess", policy="fine.toml")["smallest_group"] == 2
    preview = reply_to(replies, "preview", policy="fine.toml")
    assert preview["rows"] + preview["suppressed"] == 60
    assert preview["attacks"]
    methods = reply_to(replies, "compare", policy="fine.toml")["methods"]
    assert len([each for each in methods if each["possible"]]) > 1
    explained = reply_to(replies, "explain_certificate", release="release")
    assert [each["definition"] for each in explained["claims"]] == [
        "KAnonymity(k=3)",
        "EntropyLDiversity(l=2, column=disease, ...)",
    ]
    assert reply_to(replies, "verify", release="release")["holds"] is True
    assert reply_to(replies, "verify", release="forged")["holds"] is False
    assert reply_to(replies, "gate", target="release", limits="limits.toml")["failed"] > 3


def test_errors_say_where_and_not_what(replies: dict[str, Any]) -> None:
    error = reply_to(replies, "preview", policy="missing_column.toml")["error"]
    assert "missing_column.toml:5:" in error["message"]
    assert "is not below the folder" in reply_to(replies, "inspect", path="../outside.csv")["error"]["message"]
    assert reply_to(replies, "preview", policy="infeasible.toml")["error"]["kind"] == "Infeasible"


def test_resources_are_the_schema_of_policies_and_pages(replies: dict[str, Any]) -> None:
    assert {"reticent://schema/policy", "reticent://schema/limits", "reticent://docs/policy"} <= set(
        replies["resources"]
    )
    assert "quasi_sets" in replies["resources"]["reticent://schema/policy"]


@pytest.mark.slow
def test_a_request_publishes_nothing_until_a_person_confirms(replies: dict[str, Any], study: Path) -> None:
    asked = reply_to(replies, "request_publication", policy="fine.toml", output="out")
    assert asked["state"] == "pending"
    assert not (study / "out").exists()
    approve = [sys.executable, "-m", "reticent", "mcp", "approve", asked["request"]]
    settings = {**os.environ, "RETICENT_LEDGER": str(replies["ledger"]), "COLUMNS": "200"}
    piped = subprocess.run(approve, input="yes\n", capture_output=True, text=True, env=settings)
    assert piped.returncode == 2
    assert "run this in a terminal" in piped.stderr
    assert not (study / "out").exists()
    with Terminal(approve, settings) as terminal:
        shown = terminal.until("to publish this")
        assert "marked.csv" in shown
        assert "KAnonymity(k=3)" in shown
        word = re.search(r"Type (\w{4}) to publish", shown)
        assert word is not None
        terminal.write(f"{word.group(1)}\n")
        assert "Published to" in terminal.until("certificate's hash")
    request = RequestFolder(replies["ledger"].with_name("requests")).find(asked["request"])
    assert request.state == "published"
    assert rt.verify(study / "out").holds


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command: list[str], settings: dict[str, str]) -> None:
        self.master, slave = pty.openpty()
        self.program = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=settings, close_fds=True)
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.kill()
        self.program.wait()
        os.close(self.master)

    def _pieces(self) -> Iterator[str]:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if select.select([self.master], [], [], 1)[0]:
                try:
                    yield os.read(self.master, 65536).decode(errors="replace")
                except OSError:
                    return

    def until(self, words: str) -> str:
        shown = ""
        for piece in self._pieces():
            shown += piece
            if words in shown:
                return shown
        raise AssertionError(f"{words!r} was not shown:\n{shown}")

    def write(self, text: str) -> None:
        os.write(self.master, text.encode())


@pytest.fixture
def folder(tmp_path: Path) -> RequestFolder:
    marked().write_csv(tmp_path / "marked.csv")
    (tmp_path / "policy.toml").write_text(MARKED_POLICY)
    return RequestFolder(tmp_path / "requests")


def test_a_policy_or_a_source_that_changed_is_not_published(folder: RequestFolder, tmp_path: Path) -> None:
    request = PublicationRequest.of(tmp_path / "policy.toml", tmp_path / "out", None)
    request.check_unchanged()
    with (tmp_path / "marked.csv").open("a") as file:
        file.write("x,1,y,z,w\n")
    with pytest.raises(DataError, match=r"source of request .* changed"):
        request.check_unchanged()
    (tmp_path / "policy.toml").write_text(MARKED_POLICY.replace("k = 3", "k = 2"))
    with pytest.raises(DataError, match=r"policy of request .* changed"):
        request.check_unchanged()


def test_requests_that_others_could_change_or_nobody_made_are_refused(folder: RequestFolder, tmp_path: Path) -> None:
    request = PublicationRequest.of(tmp_path / "policy.toml", tmp_path / "out", None)
    folder.add(request)
    assert folder.find(request.number) == request
    path = folder.folder / f"{request.number}.json"
    path.chmod(0o666)
    with pytest.raises(DataError, match="is writable by others"):
        folder.find(request.number)
    path.chmod(0o600)
    path.write_text("[]")
    with pytest.raises(DataError, match="cannot be read"):
        folder.find(request.number)
    with pytest.raises(PolicyError, match="no request with this number"):
        folder.find("../policy")
