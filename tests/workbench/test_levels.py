"""The editor of levels in a real browser: borders and trees that are dragged, files of levels, orders, weights and limits."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.workbench.conftest import Bench, Visitor, opened, policy_of, versioned

ROWS = "age,town,illness\n" + "".join(
    f"{20 + n * 7 % 40},{('Ulm', 'Bonn', 'Kiel', 'Jena')[n % 4]},{('flu', 'cold', 'asthma', 'gout')[n // 4 % 4]}\n"
    for n in range(400)
)


pytestmark = pytest.mark.slow


@pytest.fixture
def page(visitor: Visitor, bench: Bench, tmp_path: Path) -> Any:
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    return opened(visitor, bench, path)


def edited(page: Any, place: int, kind: str) -> None:
    """Open the editor of a column with levels of a kind."""
    page.goto(versioned(page, f"columns/{place}"))
    page.wait_for_selector(".ladder")
    page.select_option("#levels-kind", kind)
    page.wait_for_timeout(300)


def saved(page: Any, bench: Bench, column: str) -> dict[str, Any]:
    """The levels of a column as the policy says them after they were used."""
    version = int(re.findall(r"/v/(\d+)/", page.url)[0])
    page.click("button:has-text('Use these levels')")
    page.wait_for_url(f"**/v/{version + 1}/columns/*")
    found = tomllib.loads(policy_of(page, bench))
    return {**found["hierarchies"][column], "weight": found.get("method", {}).get("weights", {}).get(column)}


def test_borders_are_added_and_removed(page: Any, bench: Bench) -> None:
    edited(page, 0, "cuts")
    page.click("button:has-text('Add a border')")
    assert page.locator(".cuts .handle").count() == 4
    page.locator(".cuts .handle").first.focus()
    page.keyboard.press("Delete")
    assert page.locator(".cuts .handle").count() == 3
    page.locator(".cuts .handle").last.focus()
    page.keyboard.press("ArrowUp")
    assert len(saved(page, bench, "age")["levels"]) >= 2


def test_a_tree_is_made_by_dragging_merging_and_renaming(page: Any, bench: Bench) -> None:
    edited(page, 1, "taxonomy")
    page.check("input[aria-label='Choose Other']")
    page.click("button:has-text('Dissolve')")
    for group, members in (("north", ("Kiel", "Bonn")), ("south", ("Ulm",))):
        for name in members:
            page.check(f"input[aria-label='Choose {name}']")
        page.click("button:text-is('Group')")
        page.fill("input[aria-label='Name of the group New group']", group)
        page.keyboard.press("Tab")
        page.wait_for_selector(f"input[aria-label='Name of the group {group}']")
    page.drag_and_drop(".tree-line:has-text('Jena')", ".tree-line.group:has(input[value='south'])")
    page.wait_for_selector("li:has(> .tree-line input[value='south']) >> text=Jena")
    assert saved(page, bench, "town")["tree"] == {"north": ["Kiel", "Bonn"], "south": ["Ulm", "Jena"]}
    page.wait_for_selector(".ladder :text('north')")
    page.check("input[aria-label='Choose north']")
    page.check("input[aria-label='Choose south']")
    page.click("button:has-text('Merge groups')")
    page.wait_for_function("() => document.querySelectorAll('.tree-line.group').length === 1")
    tree = saved(page, bench, "town")["tree"]
    assert [sorted(members) for members in tree.values()] == [["Bonn", "Jena", "Kiel", "Ulm"]]


def test_levels_are_exported_and_imported_as_a_file(page: Any, bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "towns.csv"
    path.write_text('Ulm;south;*\nBonn;west;*\nKiel;north;*\nJena;"the; east";*\n')
    edited(page, 1, "taxonomy")
    page.set_input_files("#levels-import", str(path))
    page.wait_for_selector("#levels-effect :text('the; east')")
    assert saved(page, bench, "town")["kind"] == "listed"
    page.wait_for_selector(".ladder :text('south')")
    with page.expect_download() as waited:
        page.click("a:has-text('CSV')")
    lines = Path(waited.value.path()).read_text().splitlines()
    assert sorted(lines) == sorted(path.read_text().splitlines())


def test_a_file_of_levels_that_does_not_fit_says_so_and_changes_nothing(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text("Ulm;south;*\n")
    edited(page, 1, "taxonomy")
    page.set_input_files("#levels-import", str(path))
    page.wait_for_selector("#levels-effect .failed")
    assert "Bonn" in page.inner_text("#levels-effect .failed")
    page.click("button:has-text('Use these levels')")
    page.wait_for_timeout(1_500)
    assert page.url.endswith("/v/1/columns/1")


def test_order_weight_and_limits_go_into_the_policy(page: Any, bench: Bench) -> None:
    edited(page, 1, "order")
    first = page.inner_text(".order-list li:first-child span")
    page.click(f"button[aria-label='Move {first} down']")
    page.fill("label:has-text('Finest level') input", "1")
    page.fill("input[name=weight]", "3")
    found = saved(page, bench, "town")
    assert found["values"][1] == first
    assert found["min_level"] == 1
    assert found["weight"] == 3


@pytest.mark.parametrize("kind", ["masking", "priority"])
def test_a_kind_of_levels_begins_with_levels_that_fit(
    kind: str, visitor: Visitor, bench: Bench, tmp_path: Path
) -> None:
    path = tmp_path / "towns.csv"
    path.write_text(ROWS.replace("Ulm", "Rom2"))
    page = opened(visitor, bench, path)
    edited(page, 1, kind)
    page.wait_for_timeout(600)
    page.wait_for_selector("#levels-effect .ladder, #levels-effect .failed")
    assert page.locator("#levels-effect .failed").count() == 0, page.inner_text("#levels-effect")
