"""examples/pipeline: from a raw file to a gated, signed, verified release by one make target."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pipeline"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    folder = tmp_path_factory.mktemp("pipeline") / "pipeline"
    shutil.copytree(EXAMPLE, folder)
    done = make(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def make(folder: Path) -> subprocess.CompletedProcess[str]:
    command = f"RETICENT={sys.executable} -m reticent"
    settings = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(["make", command], cwd=folder, capture_output=True, text=True, env=settings)


def test_one_target_ends_in_a_gated_signed_verified_release(made: Path) -> None:
    verified = json.loads((made / "verified.json").read_text())
    assert verified["holds"]
    assert verified["signed"]
    assert ("origin", "holds") in [(check["name"], check["status"]) for check in verified["checks"]]
    assert (made / "released.xml").exists()


def test_a_new_column_stops_it_by_name_before_anything_is_published(made: Path) -> None:
    raw = made / "visits.csv"
    lines = raw.read_text().splitlines()
    raw.write_text("\n".join([f"{lines[0]},shoe size", *(f"{line},42" for line in lines[1:])]) + "\n")
    shutil.rmtree(made / "release")
    stopped = make(made)
    assert stopped.returncode != 0
    assert "columns.unnamed" in stopped.stdout
    assert "'shoe size'" in stopped.stdout
    assert "'shoe size'" in (made / "planned.md").read_text()
    assert not (made / "release").exists()
