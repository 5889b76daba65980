"""The service in operation: metrics, a log without values, and an end that loses nothing."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from reticent.web.metrics import ServiceMetrics
from reticent.web.service_log import JsonLines
from tests.web.conftest import free_port

AUDIT = """\
dataset = "staff"
[database]
source = "staff.csv"
key = "id"
public = ["team"]
[sensitive.salary]
bounds = [0, 100000]
[roles.analyst]
functions = ["sum"]
[users]
alice = "analyst"
"""
MARKER = "4242"


@pytest.fixture
def serving(tmp_path: Path):
    """A service of its own, with metrics and logs; the process and its address."""
    rows = "\n".join(f"p{i},{'ab'[i % 2]},{MARKER}{i % 10}" for i in range(20))
    (tmp_path / "staff.csv").write_text(f"id,team,salary\n{rows}\n")
    (tmp_path / "audit.toml").write_text(AUDIT)
    port = free_port()
    settings = {**os.environ, "RETICENT_LEDGER": str(tmp_path / "ledger" / "ledger.sqlite")}
    program = [sys.executable, "-m", "reticent", "audit"]
    token = subprocess.run(
        [*program, "token", "audit.toml", "alice"],
        cwd=tmp_path,
        env=settings,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    options = ["--port", str(port), "--metrics", "--json-log", "--request-log", "requests.jsonl"]
    process = subprocess.Popen(
        [*program, "serve", "audit.toml", *options],
        cwd=tmp_path,
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}/v1/health", timeout=1)
            break
        except OSError:
            time.sleep(0.1)
    yield process, address, token
    process.kill()
    process.wait()


@pytest.mark.slow
def test_metrics_logs_and_a_graceful_end(serving, tmp_path: Path) -> None:
    process, address, token = serving
    body = json.dumps({"sql": "select sum(salary) from staff"}).encode()
    asked = urllib.request.Request(
        f"{address}/v1/query", body, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    )
    assert urllib.request.urlopen(asked).status == 200
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{address}/{MARKER}")
    reply = urllib.request.urlopen(f"{address}/metrics")
    text = reply.read().decode()
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'reticent_requests_total{path="/v1/query",status="200"} 1' in text
    assert 'reticent_requests_total{path="other",status="404"} 1' in text
    assert MARKER not in text
    assert "alice" not in text
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    lines = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert {"/v1/query", "other"} <= {line["path"] for line in lines}
    assert MARKER not in (tmp_path / "requests.jsonl").read_text() + errors
    assert all(json.loads(line) for line in errors.splitlines())


def test_metrics_are_what_prometheus_reads() -> None:
    metrics = ServiceMetrics()
    metrics.begin()
    metrics.begin()
    metrics.end("/v1/query", 200)
    lines = metrics.text().splitlines()
    assert "reticent_requests_in_progress 1" in lines
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? [0-9.]+')
    assert all(line.startswith("# ") or sample.fullmatch(line) for line in lines)


def test_a_line_of_the_log_has_the_kind_of_an_error_and_not_its_text() -> None:
    log = logging.getLogger("reticent.web")
    record = log.makeRecord(
        "reticent.web", 40, "app.py", 1, "%s: %s", ("DataError", MARKER), None, extra={"kind": "DataError"}
    )
    line = json.loads(JsonLines().format(record))
    assert line["kind"] == "DataError"
    assert MARKER not in json.dumps(line)
    try:
        raise ValueError(MARKER)
    except ValueError:
        failed = log.makeRecord("reticent.web", 40, "app.py", 1, "an unexpected failure", (), sys.exc_info())
    line = json.loads(JsonLines().format(failed))
    assert (line["event"], line["kind"]) == ("an unexpected failure", "ValueError")
    assert MARKER not in json.dumps(line)
    foreign = logging.getLogger("sqlalchemy").makeRecord("sqlalchemy", 40, "x.py", 1, f"row {MARKER}", (), None)
    assert MARKER not in JsonLines().format(foreign)
