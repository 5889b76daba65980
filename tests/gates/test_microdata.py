"""What does not belong in a repository, found in files, by the hook in real commits, and by pre-commit itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.errors import PolicyError
from reticent.gates import scan
from reticent.release import generate_keys

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = pl.DataFrame(
    {
        "age": [18 + (7 * i) % 60 for i in range(200)],
        "sex": ["f" if (i * i // 5) % 3 else "m" for i in range(200)],
        "postcode": [f"{13000 + 37 * i % 900}" for i in range(200)],
        "diagnosis": [("flu", "cold", "asthma")[i % 3] for i in range(200)],
    }
)


def reasons(*paths: Path) -> dict[str, str]:
    return {Path(each.path).name: each.reason for each in scan(paths)}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "xlsx"])
def test_records_of_people_are_found_in_every_kind_of_file(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"visits.{suffix}"
    if suffix == "tsv":
        PEOPLE.write_csv(file, separator="\t")
    else:
        getattr(PEOPLE, {"csv": "write_csv", "parquet": "write_parquet", "xlsx": "write_excel"}[suffix])(file)
    assert reasons(file) == {
        file.name: "records of people: 200 of the first 200 are unique by 'age', 'sex', 'postcode'"
    }


def test_a_column_that_identifies_is_enough_and_no_value_is_shown(tmp_path: Path) -> None:
    frame = pl.DataFrame({"contact": [f"zzmarker{i}@example.org" for i in range(50)], "score": list(range(50))})
    frame.write_csv(tmp_path / "list.csv")
    assert reasons(tmp_path) == {"list.csv": "records of people: 'contact' identifies them"}


def test_what_is_not_about_people_passes(tmp_path: Path) -> None:
    pl.DataFrame({"sepal": [5.1 + i / 10 for i in range(60)], "petal": [1.4 + i / 7 for i in range(60)]}).write_csv(
        tmp_path / "flowers.csv"
    )
    pl.DataFrame({"metric": ["a", "b"], "value": [1, 2]}).write_csv(tmp_path / "figures.csv")
    (tmp_path / "notes.txt").write_text("Some notes.\nNothing else, really.\n")
    (tmp_path / "broken.csv").write_bytes(b'a,"b\n\xff\x00')
    (tmp_path / "empty.csv").write_text("")
    assert reasons(tmp_path) == {}


def test_a_release_passes_until_it_is_changed_and_its_private_side_does_not(tmp_path: Path) -> None:
    table = rt.Table(PEOPLE, quasi=["age", "sex", "postcode"], sensitive="diagnosis")
    rt.publish(table, rt.KAnonymity(2), method=rt.Mondrian(values="sets")).save(tmp_path / "release")
    keys = generate_keys(tmp_path / "keys")
    assert set(reasons(tmp_path / "release" / "public")) == set()
    assert all("private side" in each for each in reasons(tmp_path / "release" / "private").values())
    assert set(reasons(tmp_path / "keys")) == {keys.private.name}
    PEOPLE.write_csv(tmp_path / "release" / "public" / "data.csv")
    assert set(reasons(tmp_path / "release" / "public")) == {"data.csv"}


def test_a_path_that_does_not_exist_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="There is no file"):
        scan([tmp_path / "nothing.csv"])


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    names = {
        f"GIT_{role}_{what}": f"{role}@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    settings = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        **names,
        "PRE_COMMIT_HOME": str(folder.parent / "pre-commit"),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, env=settings)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path / "repository"
    folder.mkdir()
    assert git(folder, "init", "-q").returncode == 0
    return folder


def commit(repository: Path, name: str, frame: pl.DataFrame) -> subprocess.CompletedProcess[str]:
    frame.write_csv(repository / name)
    git(repository, "add", name)
    return git(repository, "commit", "-m", f"Add {name}")


@pytest.mark.slow
def test_the_hook_stops_a_commit_of_personal_data(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.write_text(
        f"#!/bin/sh\ngit diff --cached --name-only --diff-filter=AM -z | xargs -0 '{sys.executable}' -m reticent scan\n"
    )
    hook.chmod(0o755)
    assert commit(repository, "figures.csv", pl.DataFrame({"a": [1, 2], "b": [3, 4]})).returncode == 0
    stopped = commit(repository, "visits.csv", PEOPLE)
    assert stopped.returncode != 0
    assert "visits.csv: records of people" in stopped.stdout + stopped.stderr
    assert "visits.csv" not in git(repository, "log", "--stat").stdout


@pytest.mark.slow
def test_pre_commit_runs_the_hook_of_this_repository(repository: Path) -> None:
    program = os.environ.get("RETICENT_PRE_COMMIT") or shutil.which("pre-commit")
    if program is None:
        pytest.skip("pre-commit is not installed; RETICENT_PRE_COMMIT may name it")
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    local = hook.replace(
        "entry: reticent scan", f"entry: env PYTHONPATH={ROOT / 'src'} {sys.executable} -m reticent scan"
    )
    indented = "\n".join(f"      {line}" for line in local.replace("language: python", "language: system").splitlines())
    (repository / ".pre-commit-config.yaml").write_text(f"repos:\n  - repo: local\n    hooks:\n{indented}\n")
    git(repository, "add", ".pre-commit-config.yaml")
    subprocess.run([program, "install"], cwd=repository, check=True, capture_output=True)
    assert commit(repository, "figures.csv", pl.DataFrame({"a": [1, 2], "b": [3, 4]})).returncode == 0
    stopped = commit(repository, "visits.csv", PEOPLE)
    assert stopped.returncode != 0
    assert "no unreleased personal data" in stopped.stdout + stopped.stderr
    assert "visits.csv: records of people" in stopped.stdout + stopped.stderr
