"""The paths of the HTTP service: answers, refusals, errors of one shape, and never a 500."""

from __future__ import annotations

import json
import subprocess

import pytest

from .conftest import PROGRAM, Server


def error(answer: tuple[int, dict]) -> tuple[int, str]:
    """The status and the kind of an error of the one shape."""
    status, body = answer
    assert set(body) == {"ok", "error"}
    assert set(body["error"]) == {"kind", "message"}
    assert body["ok"] is False
    return status, body["error"]["kind"]


def test_an_answered_question(server: Server):
    status, body = server.ask("SELECT SUM(salary), AVG(salary), COUNT(*) FROM staff WHERE department = 'it'")
    assert status == 200
    assert body["ok"] is True
    answers = body["rows"][0]["answers"]
    assert [answer["value"] for answer in answers] == [13700, "13700/3", 3]
    assert answers[1]["decimal"] == "4566.6666666666666667"
    assert (answers[0]["rule"], answers[2]["rule"]) == ("safe", "public")


def test_a_denied_question_is_an_answer_like_any_other(server: Server):
    status, body = server.ask("SELECT SUM(salary) FROM staff WHERE age = 61")
    assert (status, body["ok"]) == (200, False)
    answer = body["rows"][0]["answers"][0]
    assert (answer["answered"], answer["value"], answer["rule"]) == (False, None, "exposes")


def test_sum_count_and_max_in_one_question(server: Server):
    answers = server.ask("SELECT SUM(salary), COUNT(*), MAX(salary) FROM staff WHERE department = 'it'")[1]["rows"][0][
        "answers"
    ]
    assert [answer["rule"] for answer in answers] == ["safe", "public", "other-family"]


def test_would_you_answer_needs_a_token_and_changes_nothing(server: Server):
    """Which maxima would be denied tells the order of those that somebody else was given."""
    sql = "SELECT SUM(bonus) FROM staff WHERE age < 40"
    assert error(server.call("POST", "/v1/would-you-answer", {"sql": sql}, user=None)) == (401, "Unauthorized")
    before = server.call("GET", "/v1/history")[1]
    for _ in range(2):
        status, body = server.call("POST", "/v1/would-you-answer", {"sql": sql})
        assert (status, body["ok"], body["question"]) == (200, True, None)
        assert body["rows"][0]["answers"][0]["value"] is None
    assert server.call("GET", "/v1/history")[1] == before


def test_everybody_sees_their_own_history_and_explanations_only(server: Server):
    decision = server.ask("SELECT city, SUM(bonus) FROM staff GROUP BY city", "bob")[1]["rows"][0]["answers"][0][
        "decision"
    ]
    status, history = server.call("GET", "/v1/history?limit=1", user="bob")
    assert status == 200
    assert history["questions"][0]["sql"] == "SELECT city, SUM(bonus) FROM staff GROUP BY city"
    assert decision in history["questions"][0]["decisions"]
    status, why = server.call("GET", f"/v1/explain/{decision}", user="bob")
    assert (status, why["decision"], why["column"], why["value"]) == (200, decision, "bonus", 150)
    assert any("denial" in sentence for sentence in why["guarantee"])
    assert error(server.call("GET", f"/v1/explain/{decision}", user="carol")) == (404, "NotFound")
    assert error(server.call("GET", "/v1/explain/4611686018427387904", user="bob")) == (404, "NotFound")


@pytest.mark.parametrize("user", [None, "rt_0_0", "", "rt_é"])
def test_without_a_valid_token_nothing_is_answered(server: Server, user):
    given = None if user is None else {"Authorization": f"Bearer {user}".encode().decode("latin-1")}
    for method, path, body in (
        ("POST", "/v1/query", {"sql": "SELECT COUNT(*) FROM staff"}),
        ("GET", "/v1/history", None),
        ("GET", "/v1/explain/1", None),
    ):
        assert error(server.call(method, path, body, user=None, headers=given)) == (401, "Unauthorized")


def test_roles_and_quotas_have_their_own_status(server: Server):
    assert error(server.ask("SELECT SUM(salary) FROM staff", "carol")) == (403, "Forbidden")
    for _ in range(3):
        assert server.ask("SELECT COUNT(*) FROM staff", "carol")[0] == 200
    assert error(server.ask("SELECT COUNT(*) FROM staff", "carol")) == (429, "QuotaUsed")


@pytest.mark.parametrize(
    "sql",
    ["DROP TABLE staff", "SELECT salary FROM staff", "SELECT SUM(salary) FROM staff; SELECT 1", "'", "\u0000", "\ud800", "(" * 5000, "SELECT SUM(salary) FROM staff WHERE age > 'x'"],
    ids=ascii,
)  # fmt: skip
def test_what_is_no_question_is_refused_with_a_reason(server: Server, sql):
    assert error(server.ask(sql))[0] in (400, 422)
    assert error(server.call("POST", "/v1/would-you-answer", {"sql": sql}))[0] in (400, 422)


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"null", b'{"sql": 1}', b'{"sql": ""}', b'{"sql": "x", "more": 1}', b'{"sql": "x", "allow_noise": "yes"}', b"\xff\xfe",
     b'{"sql": "' + b"x" * 10_001 + b'"}', b"[" * 60_000],
    ids=lambda raw: repr(raw[:20]),
)  # fmt: skip
def test_bodies_that_make_no_sense_are_refused(server: Server, raw):
    assert error(server.call("POST", "/v1/query", raw=raw))[0] in (400, 422)


def test_long_bodies_are_not_read(server: Server):
    assert error(server.call("POST", "/v1/query", raw=b"x" * 300_000)) == (413, "TooLarge")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/history?limit=0",
        "/v1/history?limit=x",
        "/v1/history?before=-1",
        f"/v1/history?before={10**30}",
        "/v1/explain/0",
        "/v1/explain/x",
        f"/v1/explain/{10**30}",
    ],
)
def test_numbers_out_of_range_are_refused(server: Server, path):
    assert error(server.call("GET", path)) == (422, "InvalidRequest")


def test_unknown_paths_and_methods_have_the_same_shape(server: Server):
    assert error(server.call("GET", "/v2/query")) == (404, "NotFound")
    assert error(server.call("GET", "/v1/query")) == (405, "MethodNotAllowed")
    assert error(server.call("DELETE", "/v1/history")) == (405, "MethodNotAllowed")


def test_the_table_says_what_can_be_asked(server: Server):
    status, table = server.call("GET", "/v1/table", user=None)
    assert status == 200
    assert table["table"] == "staff"
    assert {column["name"]: column["kind"] for column in table["public"]} == {
        "department": "text",
        "city": "text",
        "age": "integer",
    }
    assert [column["name"] for column in table["sensitive"]] == ["salary", "bonus"]


def test_the_page_and_the_description_are_served(server: Server):
    status, page = server.call("GET", "/", user=None)
    assert status == 200
    assert "/v1/query" in page
    status, described = server.call("GET", "/openapi.json", user=None)
    assert status == 200
    assert set(described["paths"]) == {
        "/v1/query",
        "/v1/would-you-answer",
        "/v1/history",
        "/v1/explain/{decision}",
        "/v1/table",
        "/v1/health",
    }


def test_the_command_line_asks_a_running_service(server: Server):
    command = [
        PROGRAM,
        "audit",
        "ask",
        "audit.toml",
        "SELECT SUM(salary) FROM staff WHERE department = 'it'",
        "--url",
        server.url,
        "--json",
    ]
    done = subprocess.run(
        [*command, "--token", server.tokens["alice"]], cwd=server.folder, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["rows"][0]["answers"][0]["value"] == 13700
    done = subprocess.run(command, cwd=server.folder, capture_output=True, text=True)
    assert (done.returncode, json.loads(done.stdout)["error"]["message"]) == (1, "A valid token is needed.")


def test_the_command_line_and_the_service_share_one_history(server: Server):
    local = [PROGRAM, "audit", "ask", "audit.toml", "SELECT SUM(bonus) FROM staff WHERE department = 'sales'", "--json"]
    done = subprocess.run(local, cwd=server.folder, capture_output=True, text=True)
    value = json.loads(done.stdout)["rows"][0]["answers"][0]["value"]
    again = server.ask("SELECT SUM(bonus) FROM staff WHERE department = 'sales'")[1]
    assert again["rows"][0]["answers"][0]["value"] == value
    counted = "SELECT SUM(bonus) FROM staff WHERE department = 'sales' AND age > 30"
    assert not server.ask(counted)[1]["ok"]


def test_the_server_says_nothing_of_what_went_wrong_inside(server: Server):
    staff = server.folder / "staff.csv"
    hidden = staff.rename(server.folder / "elsewhere.csv")
    try:
        status, body = server.ask("SELECT SUM(salary) FROM staff WHERE age < 33")
    finally:
        hidden.rename(staff)
    assert (status, body["error"]["kind"]) == (503, "Unavailable")
    assert "staff.csv" not in json.dumps(body)
    assert "staff.csv" in (server.folder / "server.log").read_text()
    assert server.ask("SELECT COUNT(*) FROM staff")[0] == 200


def test_without_a_token_the_table_does_not_tell_what_others_were_answered(server: Server) -> None:
    server.ask("SELECT SUM(salary) FROM staff WHERE department = 'sales'")
    shown = {user: server.call("GET", "/v1/table", user=user) for user in (None, "rt_no_token", "alice")}
    assert [status for status, _ in shown.values()] == [200, 200, 200]
    families = {user: [each["family"] for each in table["sensitive"]] for user, (_, table) in shown.items()}
    assert families[None] == families["rt_no_token"] == [None, None]
    assert families["alice"][0] == "linear"
