"""The pages under More in a real browser: each is filled in and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from tests.workbench.conftest import Bench, Visitor, opened, versioned

ROWS = "id,age,town,illness\n" + "".join(
    f"p{n:03d},{20 + n * 7 % 40},{('Ulm', 'Bonn', 'Kiel', 'Jena')[n % 4]},{('flu', 'cold', 'asthma', 'gout')[n // 4 % 4]}\n"
    for n in range(200)
)
DOMAIN = ["flu", "cold", "asthma", "gout", "measles", "mumps"]
AUDIT = """
dataset = "staff"
ledger = "ledger.sqlite"

[database]
source = "staff.csv"
key = "id"
public = ["department", "age"]

[sensitive.salary]
bounds = "ignored"
duplicates = "allowed"
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("more")
    (place / "people.csv").write_text(ROWS)
    return place


@pytest.fixture(scope="module")
def page(visitor: Visitor, bench: Bench, folder: Path) -> Any:
    return opened(visitor, bench, folder / "people.csv")


def answered(page: Any, name: str, button: str | None = "Answer", **fields: Any) -> str:
    """What a page under More answers."""
    page.goto(versioned(page, f"more/{name}"))
    for field, value in fields.items():
        target = page.locator(f"[name={field}]")
        if target.get_attribute("type") == "range":
            target.evaluate(
                "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', { bubbles: true })); }",
                value,
            )
        else:
            target.fill(str(value))
    return asked(page, button) if button else shown(page)


def asked(page: Any, button: str) -> str:
    page.evaluate("() => document.getElementById('result').replaceChildren()")
    page.click(f"main form button:has-text('{button}')")
    return shown(page)


def shown(page: Any) -> str:
    page.wait_for_selector("#result .result-card, #result .failed", timeout=120_000)
    assert page.locator("#result .failed").count() == 0, page.inner_text("#result")
    return str(page.inner_text("#result"))


def test_a_series_is_rehearsed(page: Any) -> None:
    page.goto(versioned(page, "columns"))
    page.wait_for_selector(".column-card")
    page.click("#column-0 summary")
    page.click("#column-0 button:has-text('Number of the person')")
    page.wait_for_url("**/v/2/columns")
    assert "counterfeit" in answered(page, "series", releases=3, domain=", ".join(DOMAIN)).lower()


def test_the_next_release_of_a_history_is_looked_at_and_published(page: Any, folder: Path) -> None:
    import polars as pl

    rows = pl.read_csv(folder / "people.csv")
    history = rt.republish.History.open(
        folder / "history",
        m=2,
        key="id",
        sensitive="illness",
        quasi={"age": None, "town": None},
        domain=DOMAIN,
        ledger=folder / "series.sqlite",
    )
    history.publish(rows)
    rows.filter(pl.int_range(pl.len()) % 10 != 3).write_csv(folder / "march.csv")
    told = answered(page, "next", "Look first", history=folder / "history", data=folder / "march.csv")
    assert "not published yet" in told
    assert len(rt.republish.History.open(folder / "history")) == 1
    assert "Published" in asked(page, "Publish the next release")
    assert len(rt.republish.History.open(folder / "history")) == 2


@pytest.mark.parametrize(
    ("name", "slider", "value"), [("synthetic", "epsilon", 4), ("randomized", "gamma", 0.5), ("counts", "epsilon", 3)]
)
def test_a_plan_answers_while_its_slider_moves(page: Any, name: str, slider: str, value: float) -> None:
    before = answered(page, name, None)
    page.locator(f"[name={slider}]").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', { bubbles: true })); }",
        value,
    )
    page.wait_for_function("before => document.getElementById('result').innerText !== before", arg=before)
    page.wait_for_selector("#result .result-card")
    assert shown(page) != before


def test_methods_with_differential_privacy_are_compared_before_and_after_looking_at_the_rows(page: Any) -> None:
    pytest.importorskip("opendp")
    page.goto(versioned(page, "more/choose"))
    named = [line.partition(" = ")[0].strip('"') for line in page.input_value("[name=domain]").splitlines()]
    assert {"age", "illness"} <= set(named)
    public = {
        "age": "{ low = 0, high = 100, bins = 5 }",
        "town": "['Ulm', 'Bonn', 'Kiel', 'Jena']",
        "illness": str(DOMAIN),
    }
    domain = "\n".join(f"{name} = {public[name]}" for name in named if name in public)
    settings = {"epsilons": "1, 3", "domain": domain, "marginals": "age x illness"}
    told = answered(page, "choose", "What is to be expected", **settings)
    assert "AIM, 1" in told
    assert "the listed marginals, 3" in told
    assert "steward alone" not in told
    told = asked(page, "Measure on the rows too")
    assert "steward alone" in told
    assert "two way error" in told
    page.fill("[name=domain]", "age = ?")
    page.click("main form button:has-text('What is to be expected')")
    page.wait_for_selector("#result .failed:has-text('Write one column on a line')")


def test_facts_are_weighed_and_asked_about(page: Any) -> None:
    assert "certain after" in answered(page, "knowledge", most=4)
    assert page.locator("#result svg.curve circle").count() == 5
    assert "p016=flu has probability" in answered(page, "what-if", know="p000=flu", ask="p016=flu")


def test_views_are_judged_with_the_databases_that_show_it(page: Any) -> None:
    assert "DISCLOSES" in answered(page, "views")
    assert page.locator("#result .result-card").count() == 3
    assert page.locator("#result table").count() >= 2
    assert page.inner_text("#result .result-card >> nth=1 >> thead >> nth=0").split() == ["name", "department", "phone"]


def test_an_audited_table_is_asked_and_its_log_is_shown_and_checked(page: Any, folder: Path) -> None:
    (folder / "audit.toml").write_text(AUDIT)
    lines = [f"s{n},{('it', 'hr')[n % 2]},{30 + n % 7},{2000 + 10 * n}" for n in range(40)]
    (folder / "staff.csv").write_text("id,department,age,salary\n" + "\n".join(lines))
    sql = "SELECT department, SUM(salary) FROM staff GROUP BY department"
    told = answered(page, "sql", "Look first", path=folder / "audit.toml", sql=sql)
    assert "What would be decided" in told
    told = asked(page, "Ask, and put it on record")
    assert str(sum(2000 + 10 * n for n in range(0, 40, 2))) in told
    assert "Questions on record" in told
    told = answered(page, "sql", "Look first", path=folder / "audit.toml", sql="SELECT MAX(salary) FROM staff")
    assert "refused" in told
    (folder / "log.jsonl").write_text(
        "\n".join(
            json.dumps({"function": "sum", "members": members, "answer": value})
            for members, value in (([0, 1, 2], 60), ([1, 2], 50))
        )
    )
    told = answered(page, "log", path=folder / "log.jsonl")
    assert "No one is exposed" not in told
    assert "10" in told


def test_anybodys_file_and_any_release_are_attacked(page: Any, folder: Path) -> None:
    table = rt.Table(
        {"age": [20 + n * 7 % 40 for n in range(200)], "ill": ["flu", "cold", "gout", "none"] * 50},
        quasi={"age": rt.Hierarchy.intervals([5, 10, 20])},
        sensitive="ill",
    )
    rt.publish(table, rt.KAnonymity(5)).save(folder / "release")
    assert "%" in answered(page, "attack", path=folder / "release")
    assert "%" in answered(page, "attack", path=folder / "people.csv", quasi="age, town", sensitive="illness")
    kept = [line.partition(",")[2] for line in ROWS.splitlines()]
    (folder / "original.csv").write_text("\n".join(kept))
    (folder / "synthetic.csv").write_text("\n".join(kept[:120]))
    told = answered(page, "attack", path=folder / "synthetic.csv", original=folder / "original.csv")
    assert "%" in told
