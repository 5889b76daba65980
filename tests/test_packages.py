"""What packages install: wheel, source distribution, manual page, completions, the conda recipe, the container's file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def tool(name: str) -> str:
    """A program of the packaging environment: RETICENT_TOOLS names its folder, or it is on the path."""
    named = Path(os.environ.get("RETICENT_TOOLS", "/nowhere")) / name
    found = str(named) if named.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; RETICENT_TOOLS may name the folder that has it (docs/start/install.md)")
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the source distribution, the wheel built from the latter."""
    folder = tmp_path_factory.mktemp("dist")
    python = str(Path(tool("pyproject-build")).with_name("python"))
    done = subprocess.run([python, "-m", "build", "--outdir", str(folder), str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_wheel_and_source_distribution_are_checked(built: Path) -> None:
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    checks = [
        [tool("twine"), "check", "--strict", str(wheel), str(source)],
        [tool("check-wheel-contents"), str(wheel)],
    ]
    for command in checks:
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    names = zipfile.ZipFile(wheel).namelist()
    assert "reticent/py.typed" in names
    assert "reticent/mcp/pages/policy.md" in names
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "integrations"))]
    with tarfile.open(source) as archive:
        listed = archive.getnames()
    assert any(name.endswith("/packaging/share.py") for name in listed)
    assert not [name for name in listed if "/.venv" in name or name.endswith((".sqlite", ".key"))]


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    script = ROOT / "packaging" / "share.py"
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_the_manual_page_has_every_command(share: Path) -> None:
    from reticent.cli.app import _COMMANDS, _GROUPS

    text = (share / "share" / "man" / "man1" / "reticent.1").read_text()
    names = {*_COMMANDS, *_GROUPS}
    assert names <= set(re.findall(r"^\.SS reticent ([\w\\-]+)", text, re.MULTILINE))
    if shutil.which("man"):
        shown = subprocess.run(
            ["man", "--warnings", "-l", str(share / "share" / "man" / "man1" / "reticent.1")],
            capture_output=True,
            text=True,
            env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "100"},
        )
        assert "reticent gate" in shown.stdout
        assert not shown.stderr


@pytest.mark.slow
def test_completions_are_scripts_of_their_shells(share: Path) -> None:
    places = {"bash": "bash-completion/completions/reticent", "zsh": "zsh/site-functions/_reticent"}
    for shell, place in places.items():
        script = share / "share" / place
        assert "_RETICENT_COMPLETE" in script.read_text()
        if shutil.which(shell):
            subprocess.run([shell, "-n", str(script)], check=True)
    assert "_RETICENT_COMPLETE" in (share / "share" / "fish" / "vendor_completions.d" / "reticent.fish").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("words", "completed"), [("reticent ga", ["gate"]), ("reticent gate --li", ["--limits"])])
def test_bash_completes_commands_and_options(tmp_path: Path, words: str, completed: list[str]) -> None:
    program = tmp_path / "reticent"
    program.write_text("from reticent.cli import main\nmain()\n")
    asked = {"_RETICENT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, str(program)]
    done = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True)
    assert done.stdout.split() == completed, done.stderr


def test_the_conda_recipe_asks_for_what_the_project_asks_for() -> None:
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text("utf-8")
    asked = {re.sub(r"[\s\"']", "", each) for each in PROJECT["project"]["dependencies"]}
    run = recipe.partition("  run:\n")[2].partition("\ntest:")[0]
    listed = {re.sub(r"^\s*- |\s", "", line) for line in run.splitlines() if line.strip()}
    listed = {each.replace("python-duckdb", "duckdb") for each in listed} - {"python>=3.11"}
    assert listed == asked
    import reticent

    assert f'version = "{reticent.__version__}"' in recipe


def test_the_container_file_passes_its_linter() -> None:
    done = subprocess.run([tool("hadolint"), str(ROOT / "Dockerfile")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_containers_run_as_nobody_special_with_a_read_only_root() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    stages = {each.partition("\n")[0].rpartition(" ")[2]: each for each in text.split("FROM ")[1:]}
    for name in ("core", "full"):
        assert "USER 10001:10001" in stages[name]
        assert "pip install" not in stages[name]
    yaml = pytest.importorskip("yaml", reason="reading YAML needs pyyaml")
    compose = yaml.safe_load((ROOT / "integrations" / "compose" / "compose.yaml").read_text("utf-8"))
    assert all(service["read_only"] for service in compose["services"].values())
    assert compose["networks"]["inside"]["internal"]
    assert not re.search(r"PASSWORD: (?!\$\{)", (ROOT / "integrations" / "compose" / "compose.yaml").read_text())


def test_the_policy_of_the_compose_file_is_one() -> None:
    from reticent.policy.audit_policy import AuditPolicy

    assert AuditPolicy.read(ROOT / "integrations" / "compose" / "audit.toml").sections.dataset == "staff"


@pytest.mark.slow
def test_the_steps_of_the_container_work_in_a_clean_folder(tmp_path: Path, built: Path) -> None:
    """No container engine is needed: the wheel in an environment of its own, without the checkout, as an ordinary command, with no network."""
    (wheel,) = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    programs = tmp_path / "venv" / "bin"
    pip = [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    work = tmp_path / "data"
    shutil.copytree(ROOT / "examples" / "pipeline", work)
    settings = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
    }
    done = subprocess.run(["make"], cwd=work, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gated, signed and verified" in done.stdout
    missing = subprocess.run(["reticent", "mcp"], cwd=work, env=settings, capture_output=True, text=True)
    assert "pip install 'reticent[mcp]'" in missing.stderr
