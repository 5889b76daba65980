"""The pages under More by HTTP: what each shows of valid input is what the public calls say, without a browser."""

from __future__ import annotations

import json
import re
import tomllib
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.audit.offline import check_log, read_log
from reticent.audit.service import AuditService
from reticent.base.cards import Card
from reticent.policy import AuditPolicy, Policy
from reticent.workbench.project import Project
from reticent.workbench.tasks.verticals import plain_card
from tests.workbench.conftest import Shop
from tests.workbench.test_more import AUDIT, DOMAIN, ROWS

DECLARED = """
[data]
source = "people.csv"

[roles]
identifiers = ["id"]
quasi = ["age", "town"]
sensitive = ["illness"]

[hierarchies.age]
kind = "intervals"
widths = [10, 20]
domain = [0, 120]

[hierarchies.town]
kind = "taxonomy"
tree = { north = ["Kiel", "Bonn"], south = ["Ulm", "Jena"] }

[hierarchies.illness]
kind = "suppression"
domain = ["flu", "cold", "asthma", "gout", "measles", "mumps"]

[[definition]]
name = "KAnonymity"
k = 5
"""


@pytest.fixture
def project(shop: Shop, tmp_path: Path) -> Project:
    (tmp_path / "people.csv").write_text(ROWS)
    return shop.opened(tmp_path / "people.csv")


def answered(shop: Shop, project: Project, name: str, **fields: object) -> str:
    """The text of what a page under More answers to its form."""
    path = f"/p/{project.id}/v/{project.head}/more/{name}"
    assert shop.client("GET", path).status_code == 200
    html = shop.client.post(path, **{field: str(value) for field, value in fields.items()}).text
    assert "This did not work" not in html, html
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def assert_shown(card: Card, text: str) -> None:
    """Every sentence, fact and cell of a card stands in the answer of a page."""
    plain = plain_card(card)
    parts = [plain["title"], *plain["sentences"], *plain["facts"].values(), *plain["notes"]]
    parts += [cell for table in plain["tables"] for row in table["rows"] for cell in row]
    assert len(parts) > 1
    for part in parts:
        assert " ".join(part.split()) in text, part


def test_public_values_that_a_policy_declares_are_filled_in_and_accepted(shop: Shop, tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    (tmp_path / "people.csv").write_text(ROWS)
    policy = tmp_path / "policy.toml"
    policy.write_text(DECLARED)
    project = shop.opened(policy)
    html = unescape(shop.page(project, "more/choose"))
    (domain,) = re.findall(r'name="domain"[^>]*>([^<]*)</textarea>', html)
    listed = '"illness" = ["flu", "cold", "asthma", "gout", "measles", "mumps"]'
    assert domain.splitlines() == ['"age" = { level = 1 }', '"town" = { level = 0 }', listed]
    assert "must be typed" not in html
    fields = {"epsilons": "1", "delta": "1e-6", "domain": domain, "marginals": ""}
    text = answered(shop, project, "choose", **fields)
    expected = rt.synthesize.compare(
        Policy.read(policy).table(),
        ["1"],
        {each: rt.Marginals(each.lower(), tomllib.loads(domain)) for each in ("AIM", "MST")},
        delta="1e-6",
        measure=False,
    )
    assert_shown(expected.card(), text)
    policy.write_text(DECLARED.replace("domain = [0, 120]", ""))
    html = unescape(shop.page(shop.opened(policy), "more/choose"))
    assert '"age" = []' in html
    assert "The others must be typed from public knowledge" in html


def history_of(folder: Path, rows: pl.DataFrame, ledger: Path) -> rt.republish.History:
    """A history with one release of ``rows``."""
    history = rt.republish.History.open(
        folder, m=2, key="id", sensitive="illness", quasi={"age": None, "town": None}, domain=DOMAIN, ledger=ledger
    )
    history.publish(rows)
    return history


def test_the_next_release_of_a_history_has_the_figures_of_the_history(
    shop: Shop, project: Project, tmp_path: Path
) -> None:
    rows = pl.read_csv(tmp_path / "people.csv")
    history_of(tmp_path / "history", rows, tmp_path / "series.sqlite")
    rows.filter(pl.int_range(pl.len()) % 10 != 3).write_csv(tmp_path / "march.csv")
    asked = {"history": tmp_path / "history", "data": tmp_path / "march.csv"}
    opened = rt.republish.History.open(tmp_path / "history")
    figures = opened.preview(frame=pl.read_csv(tmp_path / "march.csv"))
    text = answered(shop, project, "next", **asked)
    assert "The next release, not published yet" in text
    changes = {name: value for name, value in figures.items() if isinstance(value, int | str)}
    assert changes
    for name, value in changes.items():
        assert f"{name.replace('_', ' ')} {value}" in text
    assert len(rt.republish.History.open(tmp_path / "history")) == 1
    text = answered(shop, project, "next", **asked, really="yes")
    published = rt.republish.History.open(tmp_path / "history")
    assert len(published) == 2
    assert text.startswith("Published number 2 folder ")
    assert rt.verify(re.findall(r"folder (\S+)", text)[0]).holds
    assert "nothing was written" in answered(shop, project, "next", **asked, really="yes")


@pytest.fixture
def audited(tmp_path: Path) -> Path:
    """The policy of an audited table."""
    (tmp_path / "audit.toml").write_text(AUDIT)
    lines = [f"s{n},{('it', 'hr')[n % 2]},{30 + n % 7},{2000 + 10 * n}" for n in range(40)]
    (tmp_path / "staff.csv").write_text("id,department,age,salary\n" + "\n".join(lines))
    return tmp_path / "audit.toml"


def service_of(path: Path) -> Any:
    return AuditService(AuditPolicy.read(path).settings)


def test_audited_sql_is_answered_as_by_the_service(shop: Shop, project: Project, audited: Path) -> None:
    questions = (
        "SELECT department, SUM(salary) FROM staff GROUP BY department",
        "SELECT SUM(salary) FROM staff WHERE department = 'it' AND age > 31",
        "SELECT MAX(salary) FROM staff",
    )
    replies, texts = [], []
    for sql in questions:
        with service_of(audited) as service:
            would = service.would_answer(sql).describe()
        looked = answered(shop, project, "sql", path=audited, sql=sql)
        assert looked.startswith("What would be decided")
        text = answered(shop, project, "sql", path=audited, sql=sql, really="yes")
        texts.append(text)
        told = [each for row in would["rows"] for each in row["answers"]]
        outcome = "Answered" if any(each["answered"] for each in told) else "Refused"
        assert text.startswith(f"{outcome}, and on record")
        replies += [each["answered"] for each in told]
        for each in told:
            assert " ".join(each["reason"].split()) in text
            assert ("refused" in text) or each["answered"]
    assert set(replies) == {True, False}, "some are answered and some refused"
    text = answered(shop, project, "sql", path=audited, sql=questions[0])
    with service_of(audited) as service:
        decisions, history = service.decisions(), service.history(limit=10)
    sums = pl.read_csv(audited.parent / "staff.csv").group_by("department").agg(pl.col("salary").sum())
    for department, total in sums.iter_rows():
        assert f"{department} SUM(salary) {total} " in texts[0]
    assert f"decisions {len(decisions)}" in text
    assert [each.text for each in reversed(history)] == list(questions), "what was only looked at is on no record"
    for each in decisions:
        assert f"{each.number} {each.column} {each.function} {each.size} " in text
    for sql in questions:
        assert sql in text


def test_a_log_of_answers_is_checked_as_by_the_public_call(shop: Shop, project: Project, tmp_path: Path) -> None:
    safe = [([0, 1, 2], 60), ([3, 4, 5], 90)]
    for name, answers in (("safe", safe), ("leaking", [*safe, ([1, 2], 50)])):
        log = tmp_path / f"{name}.jsonl"
        lines = [json.dumps({"function": "sum", "members": members, "answer": value}) for members, value in answers]
        log.write_text("\n".join(lines))
        report = check_log(read_log(log), None, lower="0", upper="100")
        assert_shown(report.card(), answered(shop, project, "log", path=log, lower="0", upper="100"))
    assert re.search(r"\b10\b", answered(shop, project, "log", path=tmp_path / "leaking.jsonl"))


def test_a_release_synthetic_rows_and_a_plain_file_are_attacked_as_by_the_public_call(
    shop: Shop, project: Project, tmp_path: Path
) -> None:
    table = rt.Table(
        {"age": [20 + n * 7 % 40 for n in range(200)], "ill": ["flu", "cold", "gout", "none"] * 50},
        quasi={"age": rt.Hierarchy.intervals([5, 10, 20])},
        sensitive="ill",
    )
    rt.publish(table, rt.KAnonymity(5)).save(tmp_path / "release")
    assert_shown(rt.attack(tmp_path / "release").card(), answered(shop, project, "attack", path=tmp_path / "release"))
    rows = pl.read_csv(tmp_path / "people.csv")
    plain = rt.attack(rt.Table(rows, quasi=["age", "town"], sensitive=["illness"])).card()
    named = {"quasi": "age, town", "sensitive": "illness"}
    assert_shown(plain, answered(shop, project, "attack", path=tmp_path / "people.csv", **named))
    rows.drop("id").write_csv(tmp_path / "original.csv")
    rows.drop("id").head(120).write_csv(tmp_path / "synthetic.csv")
    text = answered(
        shop, project, "attack", path=tmp_path / "synthetic.csv", original=tmp_path / "original.csv", **named
    )
    found = rt.attack(
        str(tmp_path / "synthetic.csv"),
        original=pl.read_csv(tmp_path / "original.csv"),
        quasi=["age", "town"],
        sensitive=["illness"],
    )
    assert_shown(found.card(), text)
