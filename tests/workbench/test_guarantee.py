"""The pages Data, Columns and Guarantee in a real browser: what was guessed is corrected, and a guarantee is chosen from threats or from a template."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.workbench.conftest import Bench, Visitor, opened, opened_at, policy_of, versioned
from tests.workbench.test_levels import ROWS

pytestmark = pytest.mark.slow
COLOGNE = "K\u00f6ln"


@pytest.fixture
def page(visitor: Visitor, bench: Bench, tmp_path: Path) -> Any:
    return opened_at("guarantee", ".definition .promise", ROWS, visitor, bench, tmp_path)


def changed(page: Any, number: int, name: str = "guarantee") -> None:
    page.wait_for_url(f"**/v/{number}/{name}")


def test_a_guarantee_is_added_from_the_threat_that_it_covers_and_priced(page: Any, bench: Bench) -> None:
    page.check("input[name=concern][value=attribute]")
    page.click("text=Show what covers this")
    page.click("summary:has-text('More that covers this')")
    page.click("button[aria-label='Add t-closeness']")
    changed(page, 2)
    page.wait_for_selector(".definition:has-text('T-closeness')")
    added = tomllib.loads(policy_of(page, bench))["definition"][-1]
    assert added["name"] == "TCloseness"
    page.wait_for_selector("#price-0:has-text('The next stricter one, k = 7')", timeout=120_000)
    page.wait_for_selector("text=Suppressed at most", timeout=120_000)
    page.click("button[aria-label='Remove t-closeness']")
    changed(page, 3)
    assert "TCloseness" not in policy_of(page, bench)


def test_worst_case_knowledge_says_what_it_means_at_its_value(page: Any) -> None:
    page.click("summary:has-text('More that covers this')")
    page.click("button[aria-label='Add (c,k)-safety']")
    changed(page, 2)
    page.fill("#value-2-k", "2")
    page.press("#value-2-k", "Enter")
    changed(page, 3)
    page.wait_for_selector(".definition:nth-of-type(3):has-text('Facts that an attacker knows')")
    assert "2" in page.inner_text(".definition:nth-of-type(3) .promise")


def test_several_attackers_know_different_columns(page: Any, bench: Bench) -> None:
    quasi = tomllib.loads(policy_of(page, bench))["roles"]["quasi"]
    page.click("summary:has-text('Several attackers')")
    page.fill("textarea[name=sets]", f"{quasi[0]}\n{quasi[1]}")
    page.click("button:has-text('Use these')")
    changed(page, 2)
    assert tomllib.loads(policy_of(page, bench))["roles"]["quasi_sets"] == [[quasi[0]], [quasi[1]]]


def test_a_template_proposes_anew(page: Any, bench: Bench) -> None:
    page.check("input[name=template][value=ema-prci]")
    page.click("text=Propose for this purpose")
    changed(page, 2, "data")
    definitions = tomllib.loads(policy_of(page, bench))["definition"]
    assert next(each["k"] for each in definitions if each["name"] == "KAnonymity") == 12


def test_what_was_guessed_is_corrected(visitor: Visitor, bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    lines = (f"{20 + n % 40};{'fm'[n % 2]};{COLOGNE if n % 3 else 'Ulm'};{n % 7 or -9}" for n in range(300))
    path.write_bytes("\n".join(["Export of 2026", "age;sex;town;score", *lines]).encode("cp1252"))
    page = opened(visitor, bench, path)
    page.fill("input[name=skip_rows]", "1")
    page.select_option("select[name=delimiter]", ";")
    page.select_option("select[name=encoding]", "cp1252")
    page.click("text=Read again")
    page.wait_for_selector("#rows-part td:has-text('" + COLOGNE + "')")
    page.fill("input[name=missing]", "-9")
    page.click("button:has-text('Use these')")
    page.wait_for_selector("#rows-part td:has-text('missing')")
    assert tomllib.loads(policy_of(page, bench))["data"]["null_values"] == ["-9"]


def test_the_most_exposed_are_shown_on_demand_only(page: Any) -> None:
    page.goto(versioned(page, "columns"))
    page.wait_for_selector("#exposure .big")
    assert page.inner_text("#exposed") == ""
    page.click("text=Show the most exposed")
    page.wait_for_selector("#exposed table")


def test_a_file_is_dropped_in(visitor: Visitor, bench: Bench) -> None:
    page = visitor.page()
    page.goto(bench.base)
    page.evaluate(
        """text => {
            const carried = new DataTransfer();
            carried.items.add(new File([text], "dropped.csv"));
            const zone = document.querySelector("[data-drop]");
            zone.dispatchEvent(new DragEvent("drop", {dataTransfer: carried, bubbles: true, cancelable: true}));
        }""",
        ROWS,
    )
    page.wait_for_selector("#rows-part")
    assert "dropped.csv" in page.inner_text(".project-name")
