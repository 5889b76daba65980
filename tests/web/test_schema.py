"""schemathesis against the running service: whatever is sent, the replies are those that the description promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import campaign, first

from .conftest import Server

PROGRAM = Path(sys.executable).parent / "schemathesis"


@pytest.mark.skipif(not PROGRAM.exists(), reason="schemathesis is not installed")
@pytest.mark.parametrize("token", first([True, False], 1), ids=["with a token", "without"])
def test_no_request_leads_to_an_undescribed_reply_or_a_server_error(server: Server, token: bool):
    # A random text that fits the schema is hardly ever SQL, so a refusal of valid requests is right; everything else is checked.
    command = [
        PROGRAM, "run", f"{server.url}/openapi.json", "--max-examples", "25" if campaign() else "6", "--seed", "1", "--no-color",
        "--exclude-checks", "positive_data_acceptance", "--request-timeout", "60",
    ]  # fmt: skip
    if not campaign():
        # Every boundary of every field is 156 requests.
        command += ["--phases", "fuzzing"]
    if token:
        command += ["--header", f"Authorization: Bearer {server.tokens['alice']}"]
    done = subprocess.run(command, cwd=server.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "an unexpected failure" not in (server.folder / "server.log").read_text()
