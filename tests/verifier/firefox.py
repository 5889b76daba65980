"""A Firefox without a driver: its own remote protocol (Marionette), as far as a page needs that takes files and shows an answer."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Firefox:
    """A running browser."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._number = 0
        self._read()
        self._ask("WebDriver:NewSession", capabilities={"alwaysMatch": {"acceptInsecureCerts": False}})

    def verdict(self, page: Path, files: Sequence[Path], patience: float = 60.0) -> tuple[str, str]:
        """The state and the text of the page's answer about some files."""
        self._ask("WebDriver:Navigate", url=page.as_uri())
        field = self._ask("WebDriver:FindElement", using="css selector", value="#single")["value"][_ELEMENT]
        self._ask("WebDriver:ElementSendKeys", id=field, text="\n".join(map(str, files)))
        until = time.monotonic() + patience
        while time.monotonic() < until:
            state, text = self._run("const a = document.getElementById('answer'); return [a.hidden ? null : a.dataset.state, a.innerText];")  # fmt: skip
            if state is not None:
                return state, text
            time.sleep(0.1)
        raise AssertionError("the page gave no answer")

    def _run(self, script: str) -> Any:
        return self._ask("WebDriver:ExecuteScript", script=script, args=[])["value"]

    def _ask(self, command: str, **parameters: Any) -> Any:
        self._number += 1
        sent = json.dumps([0, self._number, command, parameters]).encode()
        self._connection.sendall(b"%d:%s" % (len(sent), sent))
        _, number, error, result = self._read()
        assert number == self._number
        assert error is None, error
        return result

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._connection.recv(1)
        content = b""
        while len(content) < int(length[:-1]):
            content += self._connection.recv(int(length[:-1]) - len(content))
        return json.loads(content)


@contextmanager
def running_firefox(program: str) -> Iterator[Firefox]:
    """A Firefox with a profile of its own, and without a window, while the block runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as profile:
        settings = {"marionette.port": port, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False}  # fmt: skip
        Path(profile, "user.js").write_text(
            "".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items())
        )
        command = [program, "--headless", "--marionette", "--no-remote", "--profile", profile, "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with _connected(port, process) as connection:
                yield Firefox(connection)
        finally:
            process.terminate()
            process.wait(30)


def _connected(port: int, process: subprocess.Popen[bytes], patience: float = 120.0) -> socket.socket:
    until = time.monotonic() + patience
    while time.monotonic() < until and process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=120)
        except OSError:
            time.sleep(0.2)
    raise AssertionError("Firefox did not start")
