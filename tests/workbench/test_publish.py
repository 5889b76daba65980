"""The page Publish in a real browser: signing, file formats, a database as target, downloads, and folders that are verified."""

from __future__ import annotations

import re
import shutil
import sqlite3
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.release import generate_keys
from tests.workbench.conftest import Bench, Visitor, folder_of, opened_at, policy_of, versioned
from tests.workbench.test_levels import ROWS

pytestmark = pytest.mark.slow


@pytest.fixture
def page(visitor: Visitor, bench: Bench, tmp_path: Path) -> Any:
    return opened_at("publish", ".promise", ROWS, visitor, bench, tmp_path)


def published(page: Any, number: int = 1) -> None:
    page.click("button:text-is('Publish')")
    page.wait_for_function(f"() => document.querySelectorAll('.release').length === {number}")


def test_a_release_is_signed_downloaded_and_verified_by_dropping_it_in(page: Any, bench: Bench, tmp_path: Path) -> None:
    keys = generate_keys(tmp_path / "keys")
    page.fill("input[name=sign]", str(keys.private))
    page.select_option("select[name=files]", "parquet")
    page.fill("input[name=dataset]", "people of the publish test")
    published(page)
    assert "signed" in page.inner_text(".release")
    assert "not signed" not in page.inner_text(".release")
    folder = folder_of(page, bench) / "releases" / "release-1"
    assert rt.verify(folder).signed
    assert (folder / "public" / "data.parquet").exists()
    kept: dict[str, Path] = {}
    for words in ("Release", "Policy", "Python script"):
        with page.expect_download() as waited:
            page.click(f".release a.button:has-text('{words}')")
        kept[words] = tmp_path / waited.value.suggested_filename
        waited.value.save_as(kept[words])
    with zipfile.ZipFile(kept["Release"]) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert rt.verify(tmp_path / "unpacked").holds
    assert tomllib.loads(kept["Policy"].read_text())["release"]["files"] == "parquet"
    assert kept["Policy"].read_text() == policy_of(page, bench)
    compile(kept["Python script"].read_text(), "publish.py", "exec")
    with page.expect_popup() as waited:
        page.click(".release a:has-text('Report')")
    report = waited.value
    report.wait_for_load_state()
    assert "people of the publish test" in report.inner_text("body")
    report.close()
    page.set_input_files("input[data-verify]", str(tmp_path / "unpacked"))
    page.wait_for_selector("#verified .verdict.good")
    data = next((tmp_path / "unpacked" / "public").glob("data.*"))
    data.write_bytes(data.read_bytes()[:-1])
    page.set_input_files("input[data-verify]", str(tmp_path / "unpacked"))
    page.wait_for_selector("#verified .verdict.bad, #verified .toast")
    assert list(bench.home.glob("dropped-*")) == []
    # The ledger knows of it, and a second release of the same people must be asked for.
    page.reload()
    page.wait_for_selector("text=History of this data set")
    page.goto(versioned(page, "guarantee"))
    page.fill("#value-0-k", "9")
    page.press("#value-0-k", "Enter")
    page.wait_for_url("**/v/3/guarantee")
    page.goto(versioned(page, "publish"))
    page.click("button:text-is('Publish')")
    page.wait_for_selector(".failed")
    assert "Nothing was published" in page.inner_text(".failed")
    page.click("button:has-text('Change something')")
    page.wait_for_function("() => !document.querySelector('.failed')")
    page.check("input[name=again]")
    published(page, 2)


def test_a_release_goes_to_a_database_too(page: Any, tmp_path: Path) -> None:
    target = tmp_path / "out.sqlite"
    sqlite3.connect(target).close()
    page.uncheck("input[name=report]")
    page.click("summary:has-text('Write it to a database')")
    page.fill("input[name=to]", f"sqlite:///{target}")
    page.fill("input[name=to_table]", "people")
    page.click("button:text-is('Publish')")
    page.wait_for_selector(".release, .failed")
    assert page.locator(".release").count() == 1, page.inner_text(".failed")
    with sqlite3.connect(target) as held:
        assert held.execute("SELECT count(*) FROM people").fetchone()[0] > 300


def test_a_policy_restores_the_whole_state(page: Any, visitor: Visitor, bench: Bench, tmp_path: Path) -> None:
    page.goto(versioned(page, "guarantee"))
    page.fill("#value-0-k", "8")
    page.press("#value-0-k", "Enter")
    page.wait_for_url("**/v/2/guarantee")
    page.click("[data-drawer]")
    page.wait_for_selector("#drawer[open] .code")
    assert page.inner_text("#drawer .code >> nth=0").strip() == policy_of(page, bench).strip()
    page.click("[data-close]")
    moved = tmp_path / "elsewhere" / "policy.toml"
    moved.parent.mkdir()
    shutil.copy(tmp_path / "people.csv", moved.parent / "people.csv")
    text = re.sub(r'source = "[^"]*"', 'source = "people.csv"', policy_of(page, bench))
    moved.write_text(text)
    again = visitor.page()
    again.goto(bench.base)
    again.fill("input[name=path]", str(moved))
    again.click("button:has-text('Open') >> nth=0")
    again.wait_for_selector("#rows-part")
    ours, theirs = (tomllib.loads(policy_of(each, bench)) for each in (page, again))
    assert {**ours, "data": None} == {**theirs, "data": None}
    again.goto(versioned(again, "guarantee"))
    again.wait_for_selector("text=at least 8 matching records")
