"""integrations/dbt, run by dbt itself on DuckDB: its verdicts are those of Reticent, and its failing rows hold no value."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

import reticent as rt
from tests.cli.conftest import PATIENTS

PACKAGE = Path(__file__).resolve().parents[2] / "integrations" / "dbt"
DBT = os.environ.get("RETICENT_DBT") or shutil.which("dbt")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(DBT is None, reason="dbt is not installed; RETICENT_DBT may name it (docs/how-to/checks.md)"),
]


def dbt(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "PYTHONPATH": "", "NO_COLOR": "1"}
    return subprocess.run([str(DBT), *words], cwd=project, capture_output=True, text=True, env=settings)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dbt") / "dbt"
    shutil.copytree(PACKAGE, folder)
    project = folder / "integration_tests"
    (project / "seeds").mkdir(exist_ok=True)
    PATIENTS.drop("name", "note").write_csv(project / "seeds" / "patients.csv")
    assert dbt(project, "deps").returncode == 0
    built = dbt(project, "build")
    assert built.returncode == 0, built.stdout
    return project


def failing(project: Path, **settings: object) -> dict[str, str]:
    """How each test came out, with the project's variables replaced."""
    done = dbt(project, "test", "--store-failures", "--vars", json.dumps(settings))
    results = json.loads((project / "target" / "run_results.json").read_text())["results"]
    assert results, done.stdout
    return {each["unique_id"].split(".")[2]: each["status"] for each in results}


def test_the_verdicts_are_those_of_reticent(project: Path) -> None:
    with duckdb.connect(str(project / "reticent.duckdb"), read_only=True) as database:
        released = database.sql("select * from released").pl()
    roles = {"quasi": ["age", "zip"], "sensitive": "disease"}
    for k, l in ((4, 1), (120, 2), (20, 3), (60, 4)):  # noqa: E741
        found = failing(project, k=k, l=l)
        assert (found["released_is_anonymous"] == "pass") == rt.checks.satisfies(released, rt.KAnonymity(k), **roles)
        expected = rt.checks.satisfies(released, rt.ProbabilisticLDiversity(l), **roles)
        assert (found["released_is_probably_diverse"] == "pass") == expected
        assert found["released_is_diverse"] == "pass"


def test_a_column_that_nobody_decided_about_fails_by_name(project: Path) -> None:
    done = dbt(project, "test", "--select", "released_columns", "--vars", json.dumps({"columns": ["age", "zip"]}))
    assert done.returncode == 1
    assert "has columns that are not allowed: disease" in done.stdout


def test_failing_rows_hold_no_value(project: Path) -> None:
    failing(project, k=120, l=4)
    with duckdb.connect(str(project / "reticent.duckdb"), read_only=True) as database:
        stored = database.sql("select * from main_dbt_test__audit.released_is_anonymous").pl()
    assert stored.columns == ["group_size"]
    assert stored.height
