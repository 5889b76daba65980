"""``reticent audit``: arguments in; exit code, text and files out."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable

import polars as pl
import pytest

from reticent.cli.app import app
from reticent.cli.console import run

from .conftest import PEOPLE, POLICY

CSV_POLICY = POLICY.replace("{source}", "staff.csv").replace("{table}", "")
SALES = "SELECT SUM(salary) FROM staff WHERE department = 'sales'"


@pytest.fixture
def audit(tmp_path, monkeypatch, capsys) -> Callable[..., tuple[int, str]]:
    """Run a command in a folder with a table and a policy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    PEOPLE.write_csv("staff.csv")
    (tmp_path / "audit.toml").write_text(CSV_POLICY)

    def command(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["reticent", "audit", *map(str, words)])
        capsys.readouterr()
        code = run(app)
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return command


def test_answers_and_denials_have_their_exit_codes(audit):
    code, said = audit("ask", "audit.toml", SALES)
    assert (code, "15100" in said) == (0, True)
    code, said = audit("ask", "audit.toml", "SELECT SUM(salary) FROM staff WHERE age = 61")
    assert (code, "Denied: Together with" in said) == (1, True)
    code, said = audit("would-answer", "audit.toml", "SELECT SUM(salary), COUNT(*) FROM staff WHERE age > 300")
    assert (code, said.count("-") > 0) == (0, True)
    code, said = audit("ask", "audit.toml", "SELECT city, COUNT(*) FROM staff WHERE age > 300 GROUP BY city")
    assert (code, said.strip()) == (0, "No row meets the condition.")


def test_json_has_everything(audit):
    code, said = audit("ask", "audit.toml", SALES, "--user", "alice", "--json")
    assert code == 0
    (told,) = json.loads(said)["rows"][0]["answers"]
    assert told.pop("decision") > 0
    assert told == {
        "label": "SUM(salary)", "answered": True, "value": 15100, "decimal": "15100", "noisy": False,
            "interval": None, "size": 4, "rule": "safe",
        "reason": "Together with the answers given before, it determines no value.",
    }  # fmt: skip
    code, said = audit("log", "audit.toml", "--json")
    assert code == 0
    logged = json.loads(said)["questions"]
    assert [(each["user"], each["sql"], each["decisions"][0]["value"]) for each in logged] == [
        ("alice", SALES, "15100")
    ]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("ask", "audit.toml", "SELECT salary FROM staff"), 2, "'salary' is sensitive"),
        (("ask", "audti.toml", SALES), 2, "Did you mean 'audit.toml'?"),
        (("ask", "audit.toml", SALES, "--user", "dave"), 2, "There is no user 'dave'"),
        (("ask", "audit.toml", SALES, "--user", "carol"), 1, "may not query column 'salary'"),
        (("ask", "audit.toml", SALES, "--url", "ftp://x"), 2, "begin with http:// or https://"),
        (("ask", "audit.toml", SALES, "--url", "http://127.0.0.1:9"), 2, "cannot be reached"),
        (("ask", "audit.toml", SALES, "--url", "http://[bad"), 2, "cannot be reached"),
        (("ask", "audit.toml", SALES, "--url", "http://exa mple"), 2, "cannot be reached"),
        (
            ("ask", "audit.toml", SALES, "--url", "http://127.0.0.1:9", "--token", "rt_a\nb"),
            2,
            "an invalid character",
        ),
        (("serve", "audit.toml", "--host", "203.0.113.7", "--insecure"), 2, "cannot listen on 203.0.113.7, port 8000"),
        (("log", "audit.toml", "--limit", "99999999999999999999"), 2, "--limit"),
        (("token", "audit.toml", "dave"), 2, "There is no user 'dave' in the policy"),
        (("check", "none.jsonl"), 2, "none.jsonl"),
        (("serve", "audit.toml", "--port", "70000"), 2, "--port"),
        (("log", "audit.toml", "--limit", "0"), 2, "--limit"),
    ],
)
def test_bad_input_is_told_in_words(audit, words, code, message):
    assert audit(*words)[0] == code
    assert message in audit(*words)[1]
    found = audit(*words, "--json")
    assert found[0] == code
    assert message in json.loads(found[1])["error"]["message"]


def test_a_port_that_is_taken_is_told_before_anything_is_served(audit):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = audit("serve", "audit.toml", "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "cannot listen on 127.0.0.1" in said
    assert "Serving" not in said


@pytest.mark.parametrize(
    "line", ['{"people": 99999999999}\n{"members": [0, 1],', '{"members": [0, 99999999999],'], ids=["people", "members"]
)
def test_a_log_of_more_people_than_there_are_is_refused(audit, tmp_path, line):
    (tmp_path / "log.jsonl").write_text(line + ' "function": "sum", "answer": 1}\n')
    code, said = audit("check", "log.jsonl")
    assert code == 2
    assert "at most 100,000,000 people" in " ".join(said.split())


def test_what_the_table_lacks_points_into_the_policy(audit, tmp_path):
    (tmp_path / "audit.toml").write_text(CSV_POLICY.replace('"department", ', '"departement", '))
    code, said = audit("sync", "audit.toml")
    assert code == 2
    assert said.startswith("audit.toml:8:11:")
    assert "Did you mean 'department'?" in said
    (tmp_path / "audit.toml").write_text(CSV_POLICY.replace("staff.csv", "stuff.csv"))
    assert audit("sync", "audit.toml")[0] == 2


def test_a_server_that_is_not_there_is_told_without_its_password(audit, tmp_path, monkeypatch):
    monkeypatch.setenv("STAFF", "postgresql://u:hunter2@127.0.0.1:9/x")
    text = CSV_POLICY.replace('source = "staff.csv"', 'source = "env:STAFF"\nname = "staff"')
    (tmp_path / "audit.toml").write_text(text)
    code, said = audit("sync", "audit.toml")
    assert code == 2
    assert "PostgreSQL cannot be reached" in said
    assert "hunter2" not in said


def test_sync_tells_what_is_new(audit):
    assert json.loads(audit("sync", "audit.toml", "--json")[1])["new"] == {"salary": 8, "bonus": 8}
    PEOPLE.with_columns(salary=pl.col("salary").replace(3000, 3001)).write_csv("staff.csv")
    assert audit("sync", "audit.toml") == (0, "New values: salary: 1, bonus: 0.\n")


def test_a_token_is_printed_once_and_can_be_revoked(audit):
    code, said = audit("token", "audit.toml", "alice")
    assert code == 0
    assert said.startswith("rt_")
    assert "\n" not in said.strip()
    assert audit("token", "audit.toml", "alice", "--revoke") == (0, "1 tokens of alice were revoked.\n")


def test_an_exported_log_is_checked_offline(audit, tmp_path):
    audit("ask", "audit.toml", "SELECT SUM(salary), MAX(bonus) FROM staff")
    assert audit("log", "audit.toml", "--export", "log.jsonl")[0] == 0
    assert (tmp_path / "log.jsonl").stat().st_mode & 0o777 == 0o600
    assert audit("check", "log.jsonl", "--column", "salary")[0] == 0
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"members": [0, 1, 2, 3, 4, 5, 6], "function": "sum", "answer": 28800, "column": "salary"}\n')
    code, said = audit("check", "log.jsonl", "--column", "salary", "--json")
    assert code == 1
    assert json.loads(said)["exposed"] == {"7": "3600"}


def test_a_log_is_checked_with_what_everybody_knows(audit, tmp_path):
    (tmp_path / "log.jsonl").write_text('{"members": [0, 1], "function": "sum", "answer": 2}\n')
    assert audit("check", "log.jsonl")[0] == 0
    assert audit("check", "log.jsonl", "--upper", "5/2")[0] == 0
    for known in (["--upper", "1"], ["--boolean"], ["--boolean", "--people", "3"]):
        code, said = audit("check", "log.jsonl", *known, "--json")
        assert code == 1
        assert json.loads(said)["exposed"] == {"0": "1", "1": "1"}
    code, said = audit("check", "log.jsonl", "--lower", "low")
    assert code == 2
    assert "lower must be a number" in said


def test_the_stories_are_told_and_nobody_is_exposed_by_ours(audit):
    code, said = audit("stories", "--people", "200", "--json")
    assert code == 0
    told = json.loads(said)["stories"]
    assert [story["ours"]["exposed"] for story in told] == [0, 0, 0]
    assert all(story["leaky"]["exposed"] for story in told)
