"""The recipes for Airflow, Dagster and Prefect, run by the tools themselves on the study of examples/pipeline."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import reticent as rt
from reticent.release import generate_keys

ROOT = Path(__file__).resolve().parents[2]
RECIPES = {
    "airflow": "reticent_dag.py",
    "dagster": "reticent_assets.py",
    "prefect": "reticent_flow.py",
}
pytestmark = pytest.mark.slow


def python_with(tool: str) -> str:
    """The interpreter that has the tool: the one that is named, or this one."""
    named = os.environ.get(f"RETICENT_{tool.upper()}")
    if named is None and importlib.util.find_spec(tool) is None:
        pytest.skip(
            f"{tool} is not installed; RETICENT_{tool.upper()} may name a python that has it (docs/how-to/checks.md)"
        )
    return named or sys.executable


@pytest.mark.parametrize("tool", RECIPES)
def test_a_recipe_publishes_and_verifies_and_stops_at_a_new_column(tool: str, tmp_path: Path) -> None:
    python = python_with(tool)
    study = tmp_path / "study"
    shutil.copytree(ROOT / "examples" / "pipeline", study)
    generate_keys(study / "keys", "publisher")
    settings = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "RETICENT": f"env PYTHONPATH={ROOT / 'src'} {sys.executable} -m reticent",
        "RETICENT_STUDY": str(study),
        "RETICENT_LEDGER": str(tmp_path / "ledger.sqlite"),
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "integrations" / "airflow"),
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "150",
        "DO_NOT_TRACK": "1",
    }

    def run() -> subprocess.CompletedProcess[str]:
        recipe = ROOT / "integrations" / tool / RECIPES[tool]
        return subprocess.run([python, str(recipe)], cwd=tmp_path, env=settings, capture_output=True, text=True)

    if tool == "airflow":
        program = Path(python).with_name("airflow")
        subprocess.run([str(program), "db", "migrate"], env=settings, capture_output=True, check=True)
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    (release,) = study.glob("release-*")
    assert rt.verify(release, key=study / "keys" / "publisher.pub").holds
    raw = study / "visits.csv"
    lines = raw.read_text().splitlines()
    raw.write_text("\n".join([f"{lines[0]},phone", *(f"{line},0611" for line in lines[1:])]) + "\n")
    stopped = run()
    assert "'phone'" in stopped.stdout + stopped.stderr
    assert "0611" not in stopped.stdout + stopped.stderr
    assert list(study.glob("release-*")) == [release]
