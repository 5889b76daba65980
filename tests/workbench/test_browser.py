"""The way through the workbench by clicks, in a real browser."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.workbench.conftest import TOWN_POLICY, Bench, Visitor, folder_of, opened, policy_of, versioned
from tests.workbench.test_levels import ROWS as TOWNS
from tests.workbench.test_levels import edited, saved

ROWS = "age,sex,town,illness\n" + "".join(
    f"{20 + n % 40},{'fm'[n % 2]},{1000 + n % 5},{('flu', 'cold', 'asthma', 'gout')[n % 4]}\n" for n in range(400)
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture(scope="module")
def demo(visitor: Visitor, bench: Bench) -> Any:
    """The page of the demo project after it was read."""
    page = visitor.page()
    page.goto(bench.base)
    page.click("text=Open the demo data")
    page.wait_for_selector("#rows-part")
    return page


def test_a_killed_server_goes_on_where_it_was(bench: Bench, visitor: Visitor, small: Path) -> None:
    """First of all, while its workers still import: another start would cost as much as the rest of this file."""
    policy = small.parent / "policy.toml"
    policy.write_text(TOWN_POLICY.replace('identifiers = ["name"]\n', ""))
    page, reading = visitor.page(), visitor.page()
    page.goto(bench.base)
    page.fill("input[name=path]", str(policy))
    page.click("button:has-text('Open') >> nth=0")
    page.wait_for_url("**/v/1/data")
    page.goto(versioned(page, "guarantee"))
    page.fill("#value-0-k", "7")
    page.press("#value-0-k", "Enter")
    page.wait_for_url("**/v/2/guarantee")
    reading.goto(bench.base)
    reading.fill("input[name=path]", str(small))
    reading.click("button:has-text('Open') >> nth=0")
    reading.wait_for_url("**/v/0/data")
    told = bench.stop(signal.SIGKILL)
    assert "flu" not in told
    bench.start()
    page.reload()
    page.wait_for_selector("text=at least 7 matching records")
    assert page.url.endswith("/v/2/guarantee")
    page.click("[data-key=undo]:not([disabled])")
    page.wait_for_url("**/v/1/guarantee")
    # What was being read is read once more, and a reload does not begin it again.
    reading.reload()
    reading.reload()
    reading.wait_for_selector("#rows-part")
    assert reading.url.endswith("/v/1/data")
    page.goto(bench.link)
    page.close()
    reading.close()
    # Nobody answered meanwhile.
    visitor.complaints.clear()


def test_from_the_demo_data_to_a_verified_release_by_clicks(
    demo: Any, visitor: Visitor, bench: Bench, tmp_path: Path
) -> None:
    page = demo
    assert "4,000" in page.inner_text(".tiles")
    page.click("text=Next: what each column reveals")
    page.wait_for_selector(".column-card")
    page.wait_for_selector("#exposure .big")
    assert page.locator(".column-card").count() == 9
    page.click("text=Next: what must never be learned")
    page.wait_for_selector(".definition .promise")
    assert "finds at least 5 matching records" in page.inner_text(".definition >> nth=0")
    page.click("text=Next: what it costs")
    page.wait_for_selector(".candidate .verdict.good")
    page.wait_for_selector(".solutions .node.chosen")
    assert page.locator(".twin td.changed").count() > 20
    page.click("text=Next: the certified release")
    page.uncheck("input[name=report]")
    page.fill("input[name=dataset]", "hospital register")
    page.click("button:has-text('Publish')")
    page.wait_for_selector(".release .chip.good")
    assert page.inner_text(".release .chip") == "verified"
    assert_same_bytes_as_the_command(page, bench, tmp_path)
    assert all(url.startswith((bench.base, "data:")) for url in visitor.asked)
    assert [each for each in visitor.complaints if "favicon" not in each] == []


@pytest.mark.slow
def test_from_adults_upload_to_a_verified_release(
    visitor: Visitor, bench: Bench, shared_data: Path, tmp_path: Path
) -> None:
    page = visitor.page()
    page.goto(bench.base)
    page.set_input_files("input[data-upload]", str(shared_data / "adult" / "adult.csv.gz"))
    page.wait_for_selector("#rows-part")
    assert "30,162" in page.inner_text(".tiles")
    page.goto(versioned(page, "columns"))
    page.wait_for_selector(".column-card.role-sensitive:has-text('salary-class')")
    page.goto(versioned(page, "explore"))
    page.wait_for_selector("#candidate .verdict.good")
    page.goto(versioned(page, "publish"))
    page.uncheck("input[name=report]")
    page.fill("input[name=dataset]", "Adult in the browser")
    page.click("button:text-is('Publish')")
    page.wait_for_selector(".release .chip.good", timeout=180_000)
    assert_same_bytes_as_the_command(page, bench, tmp_path)


@pytest.mark.slow
def test_a_wrong_role_is_told_and_can_be_taken_back(visitor: Visitor, bench: Bench, small: Path) -> None:
    page = opened(visitor, bench, small)
    page.goto(versioned(page, "columns"))
    page.wait_for_selector(".column-card")
    for number, place in enumerate((0, 1, 2), 2):
        page.check(f"#column-{place} input[value='']", force=True)
        page.wait_for_url(f"**/v/{number}/columns")
    page.wait_for_selector("text=No column is known to others yet")
    page.goto(versioned(page, "explore"))
    page.wait_for_selector("text=give one that role on the page Columns")
    page.click("[data-key=undo]:not([disabled])")
    page.wait_for_url("**/v/3/explore")
    page.wait_for_selector("#candidate .verdict")


def assert_same_bytes_as_the_command(page: Any, bench: Bench, folder: Path) -> None:
    """The public folder is what ``reticent publish`` makes of the policy that the workbench wrote, but for the time in the certificate."""
    project = folder_of(page, bench)
    command = [sys.executable, "-m", "reticent", "publish", str(project / "policy.toml"), "-o", str(folder / "again")]
    environment = {**os.environ, "RETICENT_LEDGER": str(folder / "ledger.sqlite")}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    ours, theirs = project / "releases" / "release-1" / "public", folder / "again" / "public"
    names = sorted(each.name for each in ours.iterdir())
    assert names == sorted(each.name for each in theirs.iterdir())
    for name in names:
        if name not in ("certificate.json", "STATEMENT.txt"):
            assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
    certificates = [json.loads((each / "certificate.json").read_text()) for each in (ours, theirs)]
    told = [
        {key for key in ours_or_theirs if certificates[0][key] != certificates[1].get(key)}
        for ours_or_theirs in certificates
    ]
    assert told[0] == told[1] <= {"created", "ledger", "issued", "time", "made"}, told


def test_a_role_is_changed_undone_and_redone_and_every_state_has_an_address(
    visitor: Visitor, bench: Bench, small: Path
) -> None:
    page = opened(visitor, bench, small)
    page.goto(versioned(page, "columns"))
    page.wait_for_selector(".column-card")
    assert page.url.endswith("/v/1/columns")
    page.check("#column-2 input[value='sensitive']", force=True)
    page.wait_for_url("**/v/2/columns")
    page.wait_for_selector("#column-2.role-sensitive")
    page.click("[data-key=undo]:not([disabled])")
    page.wait_for_url("**/v/1/columns")
    page.wait_for_selector("#column-2.role-quasi")
    page.click("[data-key=redo]:not([disabled])")
    page.wait_for_url("**/v/2/columns")
    page.go_back()
    page.wait_for_selector(".banner:has-text('earlier state')")
    assert page.url.endswith("/v/1/columns")
    page.go_forward()
    page.wait_for_url("**/v/2/columns")
    page.wait_for_selector("#column-2.role-sensitive")
    assert page.locator(".banner").count() == 0


def test_two_tabs_show_the_same_state(visitor: Visitor, bench: Bench, small: Path) -> None:
    first = opened(visitor, bench, small)
    second = visitor.page()
    second.goto(versioned(first, "columns"))
    second.wait_for_selector(".column-card")
    first.goto(versioned(first, "columns"))
    first.wait_for_selector(".column-card")
    first.check("#column-1 input[value='']", force=True)
    first.wait_for_url("**/v/2/columns")
    second.wait_for_url("**/v/2/columns")
    second.wait_for_selector("#column-1.role-none")


@pytest.mark.slow
def test_a_key_changes_the_role_of_the_card_in_focus(visitor: Visitor, bench: Bench, small: Path) -> None:
    page = opened(visitor, bench, small)
    page.goto(versioned(page, "columns"))
    page.wait_for_selector(".column-card")
    page.focus("#column-0 input:checked")
    page.keyboard.press("x")
    page.wait_for_url("**/v/2/columns")
    page.wait_for_selector("#column-0.role-none")


def test_an_infeasible_guarantee_says_so_and_can_be_weakened(visitor: Visitor, bench: Bench, small: Path) -> None:
    page = opened(visitor, bench, small)
    page.goto(versioned(page, "guarantee"))
    page.fill("#value-0-k", "399")
    page.press("#value-0-k", "Enter")
    page.wait_for_url("**/v/2/guarantee")
    page.wait_for_selector("text=at least 399 matching records")
    page.fill("#value-1-l", "40")
    page.press("#value-1-l", "Enter")
    page.wait_for_url("**/v/3/guarantee")
    page.goto(versioned(page, "explore"))
    page.wait_for_selector("#candidate .failed")
    assert "This did not work" in page.inner_text("#candidate")
    page.click("[data-key=undo]:not([disabled])")
    page.wait_for_url("**/v/2/explore")
    page.wait_for_selector("#candidate .verdict")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("broken.csv", b"a,b\n1,2\n\x00\xff\xfe,,,,\n", "broken.csv"),
        pytest.param("empty.csv", b"", "empty", marks=pytest.mark.slow),
        ("few.csv", b"age,sex\n1,f\n2,m\n", "too few people"),
    ],
)
def test_a_broken_file_says_what_is_wrong(
    visitor: Visitor, bench: Bench, tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    page = visitor.page()
    page.goto(bench.base)
    page.set_input_files("input[data-upload]", str(path))
    page.wait_for_selector(".failed .message")
    assert told in page.inner_text(".failed .message")
    assert page.locator("button:has-text('Read again')").count() == 1


def test_names_and_cells_are_text_and_nothing_else(visitor: Visitor, bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "<img src=x onerror=alert(1)>.csv"
    lines = [f"{20 + n % 30},<b>{n % 3}</b>,=HYPERLINK({n % 4})" for n in range(200)]
    path.write_text("age,<script>alert(1)</script>,note\n" + "\n".join(lines))
    page = visitor.page()
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    page.goto(bench.base)
    page.set_input_files("input[data-upload]", str(path))
    page.wait_for_selector("#rows-part")
    assert "<script>alert(1)</script>" in page.inner_text("#rows-part")
    assert "=HYPERLINK(" in page.inner_text("#rows-part")
    page.goto(versioned(page, "columns"))
    page.wait_for_selector(".column-card")
    assert "<script>alert(1)</script>" in page.inner_text("#column-1")
    assert page.locator("main img, main script").count() == 0


def test_a_border_is_dragged_on_the_histogram_and_its_effect_is_counted(
    visitor: Visitor, bench: Bench, tmp_path: Path
) -> None:
    path = tmp_path / "towns.csv"
    path.write_text(TOWNS)
    page = opened(visitor, bench, path)
    edited(page, 0, "cuts")
    before = page.inner_text("#levels-effect")
    grip = page.locator(".cuts .handle").nth(1).locator(".grip")
    box, chart = grip.bounding_box(), page.locator("svg.cuts").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + chart["width"] / 8, y, steps=5)
    page.mouse.up()
    page.wait_for_function("before => document.getElementById('levels-effect').innerText !== before", arg=before)
    levels = saved(page, bench, "age")["levels"]
    frame = [20 + n * 7 % 40 for n in range(400)]
    # The middle border stands on two levels, and was moved by an eighth of the range of 40 years.
    assert levels[1] == [45]
    assert 45 in levels[0]
    assert min(frame) < levels[0][0] < 45 < levels[0][2] < max(frame)
    towns = {(n % 4, sum(20 + n * 7 % 40 >= border for border in levels[0])) for n in range(400)}
    assert f"{len(towns)}" in page.inner_text(".ladder li:has-text('Level 1') .num >> nth=1")


@pytest.mark.slow
def test_levels_are_edited_with_their_effect_beside_them(visitor: Visitor, bench: Bench, small: Path) -> None:
    page = opened(visitor, bench, small)
    page.goto(versioned(page, "columns/0"))
    page.wait_for_selector(".ladder")
    page.select_option("#levels-kind", "cuts")
    page.wait_for_selector("#levels-effect :text('[')")
    before = page.inner_text("#levels-effect")
    handle = page.locator(".cuts .handle").first
    handle.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("before => document.getElementById('levels-effect').innerText !== before", arg=before)
    page.click("button:has-text('Use these levels')")
    page.wait_for_url("**/v/2/columns/0")
    assert 'kind = "cuts"' in policy_of(page, bench)


def test_a_killed_worker_ends_neither_the_server_nor_the_page(visitor: Visitor, bench: Bench, small: Path) -> None:
    page = opened(visitor, bench, small)
    for worker in bench.workers():
        if "spawn_main" in Path(f"/proc/{worker}/cmdline").read_text():
            os.kill(worker, signal.SIGKILL)
    page.goto(versioned(page, "explore"))
    page.wait_for_selector("#candidate .verdict, #candidate .failed")
    if page.locator("#candidate .failed").count():
        page.click("#candidate button:has-text('Try again')")
    page.wait_for_selector("#candidate .verdict")


def test_someone_without_the_token_sees_nothing(chromium: Any, bench: Bench, demo: Any) -> None:
    stranger = chromium.new_context()
    page = stranger.new_page()
    for address in (bench.base, demo.url, bench.link):
        answered = page.goto(address)
        assert answered.status == 403
        assert "belongs to another user" in page.inner_text("body")
    stranger.close()


@pytest.mark.slow
def test_forgetting_a_project_removes_everything(visitor: Visitor, bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "once.csv"
    path.write_text(ROWS)
    page = visitor.page()
    page.goto(bench.base)
    page.set_input_files("input[data-upload]", str(path))
    page.wait_for_selector("#rows-part")
    number = re.findall(r"/p/([0-9a-f]+)/", page.url)[0]
    assert (bench.home / number / "uploads" / "once.csv").exists()
    page.goto(bench.base)
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("li:has-text('once.csv') button:has-text('Forget')")
    page.wait_for_function("() => !document.body.innerText.includes('once.csv')")
    assert not (bench.home / number).exists()


def test_nothing_of_the_data_is_kept_in_the_browser(demo: Any) -> None:
    kept = json.loads(demo.evaluate("JSON.stringify([Object.keys(localStorage), Object.entries(sessionStorage)])"))
    assert kept[0] in ([], ["reticent-theme"])
    # Where the browser is, which is an address: project, version and page.
    assert all(name == "htmx-current-path-for-history" and re.fullmatch(r"/[\w/-]*", value) for name, value in kept[1])


def test_a_poll_that_began_before_a_change_does_not_load_the_page_again(
    visitor: Visitor, bench: Bench, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,town,illness\n" + "".join(f"{20 + n % 40},{n % 5},{'ab'[n % 2]}\n" for n in range(200)))
    page = opened(visitor, bench, path)
    page.goto(versioned(page, "columns"))
    page.wait_for_selector(".column-card")
    held: list[Any] = []

    def hold(route: Any) -> None:
        # Only a poll of the page as it is now: those of the changed page go on.
        if "live=1" in route.request.url and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/rail?*", hold)
    while not held:
        page.wait_for_timeout(100)
    before = page.url
    page.locator(".column-card input[type=radio]:not(:checked)").first.check(force=True)
    page.wait_for_url(lambda url: url != before)
    page.fill("[data-filter]", "age")
    with contextlib.suppress(Exception):  # the page gave this request up
        held[0].continue_()
    page.wait_for_timeout(1500)
    assert page.input_value("[data-filter]") == "age"
    assert page.locator(".column-card:visible").count() == 1
