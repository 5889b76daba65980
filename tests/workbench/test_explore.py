"""The page Explore in a real browser: pins, other methods, adversaries, prices, grids that scroll together, and the stop button."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from reticent.registry import METHODS
from tests.workbench.conftest import Bench, Visitor, opened, opened_at, policy_of, versioned
from tests.workbench.test_levels import ROWS

pytestmark = pytest.mark.slow


@pytest.fixture
def page(visitor: Visitor, bench: Bench, tmp_path: Path) -> Any:
    return opened_at("explore", ".solutions .tabs", ROWS, visitor, bench, tmp_path)


def test_candidates_are_pinned_compared_and_used(page: Any, bench: Bench) -> None:
    page.click("#candidate button:has-text('Pin')")
    page.wait_for_selector(".pin >> nth=0")
    page.click("#tab-list")
    page.click("#view-list a:has-text('Look') >> nth=1")
    page.wait_for_selector("text=Another candidate than the policy’s")
    page.wait_for_selector("#candidate .verdict")
    page.click("#candidate button:has-text('Pin')")
    page.wait_for_selector(".pin >> nth=1")
    page.wait_for_function("() => document.querySelectorAll('.pin .compare').length === 2")
    assert page.locator(".pin >> text=Detail lost").count() == 2
    page.click(".pin >> nth=1 >> button:has-text('Use this')")
    page.wait_for_url("**/v/2/explore")
    page.wait_for_selector("#candidate .verdict")
    method = tomllib.loads(policy_of(page, bench))["method"]
    assert method["name"] == "Lattice"
    assert set(method["node"]) == {"age", "town"}
    page.click(".pin >> nth=0 >> button[aria-label^='Unpin']")
    page.wait_for_function("() => document.querySelectorAll('.pin').length === 1")
    page.click("button:has-text('Let the search choose')")
    page.wait_for_url("**/v/3/explore")
    assert "node" not in tomllib.loads(policy_of(page, bench))["method"]


def test_every_registered_method_is_tried_and_can_be_looked_at(page: Any) -> None:
    page.click("button:has-text('Compare all methods')")
    page.wait_for_selector(".methods")
    page.wait_for_function("() => !document.querySelector('#methods-title ~ .part .progress')", timeout=120_000)
    named = page.locator(".methods tbody th").all_inner_texts()
    assert {"Lattice", "Mondrian", "Suppress"} <= {each.split()[0] for each in named} <= set(METHODS) | {"Cheapest"}
    page.click(".methods tr:has-text('Mondrian') a:has-text('Look')")
    page.wait_for_selector("#candidate h2:has-text('Mondrian')")
    page.wait_for_selector("#candidate .verdict")


def test_adversaries_run_before_and_after(page: Any) -> None:
    page.click("button:has-text('Run the attacks')")
    page.wait_for_selector(".attacks tbody tr", timeout=120_000)
    told = page.inner_text(".attacks")
    assert "%" in told
    assert page.locator(".attacks .chip").count() > 0


def test_what_other_parameters_and_limits_cost(page: Any) -> None:
    page.click("button:has-text('Price the changes')")
    page.wait_for_selector("text=Suppressed at most", timeout=120_000)
    told = page.inner_text("section:has(#change-title)")
    assert "K-anonymity, k\u00a0=\u00a07" in told
    assert "(now)" in told


def test_both_grids_scroll_together_and_changed_cells_are_marked(page: Any) -> None:
    grids = page.locator("[data-twin] .scroll")
    grids.nth(0).evaluate("grid => { grid.scrollTop = 200; }")
    page.wait_for_function("() => document.querySelectorAll('[data-twin] .scroll')[1].scrollTop === 200")
    rows = page.evaluate(
        "() => [0, 1].map(side => [...document.querySelectorAll('[data-twin] table')[side].querySelectorAll('tbody tr')]"
        ".map(row => [...row.cells].map(cell => [cell.innerText, cell.classList.contains('changed')])))"
    )
    for before, after in zip(*rows, strict=True):
        for old, new in zip(before, after, strict=False):
            if len(after) == len(before):
                assert new[1] == (old[0] != new[0])
    page.click("summary:has-text('Distributions before and after')")
    assert page.locator(".pair").count() == 3


def test_a_search_is_stopped_and_goes_on(visitor: Visitor, bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    lines = [",".join(str((n * (7 + 2 * c) + n // 3) % (11 + 5 * c)) for c in range(9)) for n in range(3000)]
    path.write_text(",".join(f"age{c}" for c in range(9)) + "\n" + "\n".join(lines))
    page = opened(visitor, bench, path)
    page.goto(versioned(page, "columns"))
    page.wait_for_selector(".column-card")
    page.click("button:has-text('Try what suits the table')")
    page.click(".part:has(progress) button:has-text('Stop')")
    page.wait_for_selector(".failed:has-text('Stopped')")
    page.click(".failed button:has-text('Try again')")
    page.wait_for_selector(".part progress")
    page.click(".part:has(progress) button:has-text('Stop')")
    page.wait_for_selector(".failed:has-text('Stopped')")
