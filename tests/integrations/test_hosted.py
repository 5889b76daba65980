"""The composite action and the GitLab template: their files have the shape that the hosts ask for, and their shell steps run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
yaml = pytest.importorskip("yaml", reason="reading YAML needs pyyaml")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
TEMPLATE = yaml.safe_load((ROOT / "integrations" / "gitlab" / "gate.yml").read_text("utf-8"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hosted") / "study with spaces"
    shutil.copytree(ROOT / "examples" / "pipeline", folder)
    limits = (folder / "limits.toml").read_text()
    # Without attacks, which are not what is tried here.
    (folder / "limits.toml").write_text(limits[: limits.index("[attacks]")] + limits[limits.index("[loss]") :])
    programs = folder.parent / "bin"
    programs.mkdir()
    program = programs / "reticent"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reticent "$@"\n')
    program.chmod(0o755)
    return folder


def shell(script: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path, **settings}, capture_output=True, text=True
    )


def step(name: str) -> dict[str, Any]:
    return next(each for each in ACTION["runs"]["steps"] if each["name"] == name)


@pytest.mark.slow
@pytest.mark.parametrize(("spoiled", "code"), [(False, 0), (True, 1)])
def test_the_step_of_the_action_gates_and_leaves_summary_and_outputs(study: Path, spoiled: bool, code: int) -> None:
    limits = "strict limits.toml" if spoiled else "limits.toml"
    if spoiled:
        (study / limits).write_text("[loss]\ntotal = 0\n")
    output, summary = study.parent / f"output{code}", study.parent / f"summary{code}"
    done = shell(
        step("Gate")["run"],
        study,
        TARGET="policy.toml",
        LIMITS=limits,
        GITHUB_OUTPUT=str(output),
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.returncode == code, done.stdout + done.stderr
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    assert outputs["ok"] == ("false" if spoiled else "true")
    assert Path(outputs["sarif"]).exists()
    assert summary.read_text().startswith("## ❌" if spoiled else "## ✅")
    assert set(ACTION["outputs"]) == set(outputs)


def test_the_inputs_of_the_action_reach_the_shell_through_the_environment() -> None:
    """A title or a branch name that ends up inside a script would be run."""
    for each in ACTION["runs"]["steps"]:
        assert "${{" not in each["run"]
    used = {value for each in ACTION["runs"]["steps"] for value in each.get("env", {}).values()}
    assert used == {"${{ inputs.version }}", "${{ inputs.target }}", "${{ inputs.limits }}"}


@pytest.mark.slow
def test_the_job_of_the_template_runs_and_leaves_its_artifacts(study: Path) -> None:
    job = TEMPLATE[".reticent-gate"]
    settings = {**job["variables"], "RETICENT_VERSION": ""}
    done = shell("\n".join([*job["before_script"], *job["script"]]), study, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all((study / name).exists() for name in job["artifacts"]["paths"])


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("github-actions", "action.yml"),
        ("github-workflows", ".github/workflows/ci.yml"),
        ("gitlab-ci", "integrations/gitlab/gate.yml"),
    ],
)
def test_the_files_have_the_shape_that_their_hosts_publish(schema: str, file: str) -> None:
    pytest.importorskip("check_jsonschema", reason="the hosts' schemas are in check-jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(ROOT / file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
