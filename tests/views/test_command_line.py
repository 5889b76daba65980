"""``reticent views`` as a user runs it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from reticent.cli import views as command
from reticent.cli.console import run

DDL = """
CREATE TABLE P (pid INT NOT NULL, name TEXT NOT NULL);
CREATE TABLE D (pid INT NOT NULL, diagnosis TEXT NOT NULL, ward INT NOT NULL);
"""
CANCER = "SELECT DISTINCT name FROM P JOIN D ON P.pid = D.pid WHERE diagnosis = 'cancer'"
ACCESS = f"""
schema = "schema.sql"
[secrets]
cancer = "{CANCER}"
[views]
ward = "SELECT pid, diagnosis FROM D WHERE ward = 7"
[[forbid]]
user = "clerk"
secret = "cancer"
[[allow]]
user = "doctor"
view = "ward"
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def reticent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``reticent views ...`` in a folder with a schema and some queries."""
    files = {
        "schema.sql": DDL,
        "secret.sql": CANCER,
        "flu.sql": "SELECT pid FROM D WHERE diagnosis = 'flu'",
        "ward.sql": "SELECT pid, diagnosis FROM D WHERE ward = 7",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "views").mkdir()
    for name in ("flu.sql", "ward.sql"):
        (tmp_path / "views" / name).write_text(files[name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def go(*words: str) -> tuple[int, str, str]:
        app = typer.Typer()
        command.register(app)
        monkeypatch.setattr("sys.argv", ["reticent", "views", *words])
        app.callback()(lambda: None)
        code = run(app)
        said = capsys.readouterr()
        return code, said.out, said.err

    return go


OPTIONS = ("--schema", "schema.sql", "--secret", "secret.sql")


def test_check_says_what_it_found_and_leaves_with_the_right_code(reticent: Run) -> None:
    code, out, _ = reticent("check", *OPTIONS, "--view", "flu.sql", "--json")
    assert (code, json.loads(out)["status"], json.loads(out)["ok"]) == (0, "PRIVATE", True)
    code, out, _ = reticent("check", *OPTIONS, "--view", "ward.sql", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["relation"]) == (1, "DISCLOSES", "D")
    assert found["witness"]["row"][1:] == ["cancer", 7]
    code, out, _ = reticent("check", *OPTIONS, "--view", "SELECT COUNT(*) FROM D", "--json")
    assert (code, json.loads(out)["status"]) == (1, "DISCLOSES")
    code, out, _ = reticent("check", *OPTIONS, "--view", "ward.sql")
    assert code == 1
    assert "DISCLOSES: Both queries depend on rows of D where diagnosis = 'cancer' and ward = 7." in out
    assert "Bound: O(n r)" in out


def test_several_views_are_judged_together(reticent: Run) -> None:
    code, out, _ = reticent("check", *OPTIONS, "--view", "flu.sql", "--view", "ward.sql", "--json")
    assert code == 1
    assert [each["status"] for each in json.loads(out)["each"]] == ["PRIVATE", "DISCLOSES"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("check", "--secret", "secret.sql", "--view", "flu.sql"), "needs a schema"),
        (("check", *OPTIONS, "--view", "nofile.sql"), "no file or directory nofile.sql"),
        (("check", *OPTIONS, "--view", "SELECT nme FROM P"), "Did you mean 'name'"),
        (("check", "--schema", "missing.sql", "--secret", "secret.sql", "--view", "flu.sql"), "missing.sql"),
        (("check", *OPTIONS, "--view", "flu.sql", "--semantics", "list"), "semantics must be one of"),
        (("check", *OPTIONS, "--view", "flu.sql", "--duckdb", "x.db"), "Pass only one of"),
        (("check", *OPTIONS, "--view", "flu.sql", "--keys", "loose"), "key_mode"),
    ],
)
def test_bad_input_is_told_without_a_traceback(reticent: Run, words: tuple[str, ...], message: str) -> None:
    code, out, err = reticent(*words)
    assert code == 2
    assert message in err
    code, out, _ = reticent(*words, "--json")
    assert code == 2
    assert message in json.loads(out)["error"]["message"]
    assert "Traceback" not in out + err


def test_matrix_is_a_gate_with_a_report(reticent: Run, tmp_path: Path) -> None:
    matrix = ("matrix", "--schema", "schema.sql", "--secrets", "secret.sql", "--views")
    code, out, _ = reticent(*matrix, "views", "--json", "--report", "report.md")
    found = json.loads(out)
    assert code == 1
    assert found["matrix"] == {"secret": {"flu": "PRIVATE", "ward": "DISCLOSES"}}
    assert found["counts"] == {"PRIVATE": 1, "DISCLOSES": 1}
    assert "| secret | PRIVATE | DISCLOSES |" in (tmp_path / "report.md").read_text()
    code, _, _ = reticent(*matrix, "views/flu.sql", "--report", "report.json", "--replay")
    assert code == 0
    assert json.loads((tmp_path / "report.json").read_text())["ok"]
    code, out, _ = reticent(*matrix, "views")
    assert "DISCLOSES" in out
    assert "ward = 7" in out


def test_explain_shows_tables_and_repairs(reticent: Run) -> None:
    code, out, _ = reticent("explain", *OPTIONS, "--view", "ward.sql")
    assert code == 1
    assert "secret's database: D" in out
    assert "exclude the rows with diagnosis = 'cancer'" in out
    code, out, _ = reticent("explain", *OPTIONS, "--view", "ward.sql", "--json")
    assert json.loads(out)["repairs"][0]["text"].endswith("D.diagnosis <> 'cancer'")
    assert reticent("explain", *OPTIONS, "--view", "flu.sql")[0] == 0


def test_classify_and_critical_rows(reticent: Run) -> None:
    code, out, _ = reticent("classify", "--schema", "schema.sql", "secret.sql", "views", "--json")
    assert code == 0
    assert set(json.loads(out)["queries"]) == {"query 1", "flu", "ward"}
    assert "no self-joins" in reticent("classify", "--schema", "schema.sql", "secret.sql")[1]
    code, out, _ = reticent("critical-rows", "--schema", "schema.sql", "secret.sql", "--json")
    assert {(item["relation"], *item["conditions"]) for item in json.loads(out)["patterns"]} == {
        ("D", "diagnosis = 'cancer'"),
        ("P",),
    }
    row = ("critical-rows", "--schema", "schema.sql", "secret.sql", "--json", "--row")
    assert json.loads(reticent(*row, "D(1,'flu',7)")[1])["critical"] is False
    assert json.loads(reticent(*row, "D(1,'cancer',7)")[1])["critical"] is True


def test_witness_writes_databases_that_can_be_queried(reticent: Run, tmp_path: Path) -> None:
    code, _, _ = reticent("witness", *OPTIONS, "--view", "ward.sql", "--sqlite", "out.db")
    assert code == 1
    with sqlite3.connect(tmp_path / "out.db") as connection:
        (row,) = connection.execute('SELECT * FROM "view_after__D"').fetchall()
        assert row[1:] == ("cancer", 7)
        assert connection.execute('SELECT COUNT(*) FROM "view_before__D"').fetchone() == (0,)
    connection.close()
    code, _, err = reticent("witness", *OPTIONS, "--view", "ward.sql", "--sqlite", "out.db")
    assert code == 2
    assert "exists already" in err
    assert reticent("witness", *OPTIONS, "--view", "flu.sql", "--sqlite", "none.db")[0] == 0
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(("view", "code"), [("flu.sql", 0), ("ward.sql", 1)])
def test_certificates_are_written_and_verified(reticent: Run, tmp_path: Path, view: str, code: int) -> None:
    assert reticent("check", *OPTIONS, "--view", view, "--certificate", "c.json")[0] == code
    assert reticent("verify", "c.json")[0] == 0
    found: dict[str, Any] = json.loads((tmp_path / "c.json").read_text())
    found["secret"]["text"] = "SELECT name FROM P"
    (tmp_path / "c.json").write_text(json.dumps(found))
    assert reticent("verify", "c.json", "--json")[0] == 1


def test_decide_and_collusion_by_policy_file(reticent: Run, tmp_path: Path) -> None:
    (tmp_path / "access.toml").write_text(ACCESS)
    policy = ("--policy", "access.toml", "--ledger", "ledger.db")
    assert reticent("decide", "--user", "doctor", "--view", "ward", *policy)[0] == 0
    code, out, _ = reticent("decide", "--user", "clerk", "--view", "ward", *policy, "--json")
    assert (code, json.loads(out)["allowed"]) == (1, False)
    assert reticent("collusion", "clerk", *policy)[0] == 0
    code, out, _ = reticent("collusion", "clerk", "doctor", *policy, "--json")
    assert code == 1
    assert json.loads(out)["leaks"][0]["secret"] == "cancer"
    code, out, _ = reticent("log", *policy, "--json")
    assert code == 0
    assert [event["action"] for event in json.loads(out)["events"]] == [
        "define secret",
        "define view",
        "allow",
        "forbid",
    ]
    assert [item["allowed"] for item in json.loads(out)["decisions"]] == [True, False]
    assert "denied" in reticent("log", *policy)[1]


def test_a_schema_without_sql(reticent: Run, tmp_path: Path) -> None:
    columns = {"pid": "whole", "diagnosis": {"type": "text", "values": ["flu", "cancer"]}, "ward": "whole"}
    tables = {"P": {"columns": {"pid": "whole", "name": "text"}}, "D": {"columns": columns, "keys": [["pid", "ward"]]}}
    (tmp_path / "schema.json").write_text(json.dumps({"tables": tables}))
    pair = ("--secret", "secret.sql", "--view", "SELECT pid FROM D WHERE diagnosis <> 'cancer'", "--json")
    code, out, _ = reticent("check", "--schema", "schema.json", *pair)
    assert (code, json.loads(out)["status"]) == (1, "DISCLOSES")
    tables["D"]["keys"] = []
    (tmp_path / "schema.json").write_text(json.dumps({"tables": tables}))
    assert reticent("check", "--schema", "schema.json", *pair)[0] == 0
    (tmp_path / "schema.toml").write_text('[tables.P.columns]\npid = "integer"\n')
    code, _, err = reticent("check", "--schema", "schema.toml", *pair[:-1])
    assert code == 2
    assert "P.pid has the type 'integer'" in err


def test_a_duckdb_file_is_a_schema(reticent: Run, tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "store.duckdb")) as connection:
        connection.execute(DDL + "CREATE VIEW sick AS SELECT pid FROM D WHERE diagnosis = 'flu'")
    view = ("--secret", "secret.sql", "--view", "SELECT * FROM sick")
    assert reticent("check", "--duckdb", "store.duckdb", "--dialect", "duckdb", *view)[0] == 0


def test_a_long_query_is_a_query_and_no_file_name(reticent: Run) -> None:
    long = "SELECT pid FROM D WHERE diagnosis IN (" + ", ".join(f"'flu{number}'" for number in range(60)) + ")"
    code, out, _ = reticent("check", *OPTIONS, "--view", long, "--json")
    assert (code, json.loads(out)["status"]) == (0, "PRIVATE")


def test_files_that_are_no_text_and_folders_that_are_not_there_are_named(reticent: Run, tmp_path: Path) -> None:
    (tmp_path / "binary.sql").write_bytes(b"\x00\xff\xfe")
    pair = ("--secret", "secret.sql", "--view", "ward.sql")
    for words, message in [
        (("check", "--schema", "binary.sql", *pair), "binary.sql is not valid UTF-8 (byte 2)"),
        (("check", *OPTIONS, "--view", "binary.sql"), "binary.sql is not valid UTF-8"),
        (("verify", "binary.sql"), "binary.sql is not valid UTF-8"),
        (("witness", "--schema", "schema.sql", *pair, "--sqlite", "no/x.db"), "The folder no for x.db does not exist"),
    ]:
        code, _, said = reticent(*words)
        assert code == 2
        assert message in said
