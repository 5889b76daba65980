"""The verifier's page in a browser, from disk: a good, a tampered, an unsigned and a foreign folder, without the network."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.release import generate_keys
from reticent.verifier import bundled, verifier_page, write_page
from tests.test_golden_bytes import table
from tests.verifier.agreement import NODE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CLAIMS = rt.KAnonymity(5) & rt.DistinctLDiversity(3) & rt.TCloseness("0.4")


def test_the_page_is_one_file_that_asks_nobody(tmp_path: Path) -> None:
    page = write_page(tmp_path / "reticent-verify.html").read_text()
    assert page == verifier_page()
    outside = re.findall(r"""(?:src|href)=["'](?!data:)[^"']+|url\((?!data:)|https?://[^\s"'<>)]+""", page)
    # Links in comments of the vendored readers are read by nobody but people.
    assert all(each.startswith("http") for each in outside)
    assert "connect-src 'none'" in page
    assert "unsafe" not in re.findall(r'content="(default-src[^"]*)"', page)[0]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_bundle_is_a_script(tmp_path: Path) -> None:
    (tmp_path / "judge.js").write_text(bundled("page/judge.js"))
    subprocess.run([str(NODE), "--check", str(tmp_path / "judge.js")], check=True)


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    target = tmp_path / "verify.html"
    ran = CliRunner().invoke(app, ["verify", "--page", str(target), "--json"])
    assert ran.exit_code == 0, ran.output
    assert target.read_text() == verifier_page()
    release = rt.publish(table(), rt.KAnonymity(5)).save(tmp_path / "release")
    ran = CliRunner().invoke(app, ["verify", str(release), "--page", str(target), "--json"])
    assert '"holds": true' in ran.output
    assert '"page"' in ran.output


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield found
        found.close()


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("folders")
    keys = generate_keys(place / "keys")
    signed = rt.publish(table(), CLAIMS, rt.Lattice(suppression="0.05"), signing_key=keys.private)
    good = signed.save(place / "good")
    tampered = Path(shutil.copytree(good, place / "tampered"))
    data = tampered / "public" / "data.csv"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:-1]))
    unsigned = rt.publish(table(), rt.KAnonymity(5), rt.Lattice(suppression="0.05"), files="parquet")
    foreign = place / "foreign"
    foreign.mkdir()
    (foreign / "photo.jpg").write_bytes(b"no picture")
    return {
        "key": keys.fingerprint,
        "pem": keys.public.read_text(),
        "good": good / "public",
        "tampered": tampered / "public",
        "unsigned": unsigned.save(place / "unsigned") / "public",
        "foreign": foreign,
    }


def asked(browser: Any, page_file: Path, folder: Path, key: str = "") -> tuple[str, str, list[str]]:
    """The state and the text of the page's answer, and every address it asked for."""
    page = browser.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_file.as_uri())
    page.eval_on_selector("#key", "(field, key) => { field.value = key; }", key)
    page.set_input_files("#single", [str(path) for path in sorted(folder.iterdir())])
    page.wait_for_selector("#answer:not([hidden])", timeout=30_000)
    found = page.get_attribute("#answer", "data-state"), page.inner_text("#answer"), requests
    page.close()
    return found


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    return write_page(tmp_path_factory.mktemp("page") / "reticent-verify.html")


def test_a_good_folder_holds_and_the_key_proves_its_origin(browser, page_file, folders) -> None:
    state, text, requests = asked(browser, page_file, folders["good"])
    assert state == "holds"
    assert "finds at least 5 matching records" in text
    assert "give the publisher's key" in text
    assert all(url.startswith(("file:", "blob:")) for url in requests)
    for key in (folders["key"], folders["pem"]):
        _, text, _ = asked(browser, page_file, folders["good"], key)
        assert "Signed with the key that was given" in text
    state, text, _ = asked(browser, page_file, folders["good"], "00" * 32)
    assert state == "does not hold"
    assert "signed with another key" in text


def test_a_tampered_folder_does_not_hold(browser, page_file, folders) -> None:
    state, text, _ = asked(browser, page_file, folders["tampered"])
    assert state == "does not hold"
    assert "data.csv is not the file that the certificate was made for" in text
    assert "What is guaranteed" not in text


def test_an_unsigned_folder_of_parquet_holds_but_proves_no_origin(browser, page_file, folders) -> None:
    state, text, _ = asked(browser, page_file, folders["unsigned"])
    assert state == "holds, but"
    assert "Not signed: who made it cannot be proven" in text
    assert 'Nothing is promised about "disease"' in text
    state, _, _ = asked(browser, page_file, folders["unsigned"], folders["key"])
    assert state == "does not hold"


def test_a_foreign_folder_is_no_release(browser, page_file, folders) -> None:
    state, text, _ = asked(browser, page_file, folders["foreign"])
    assert state == "not shown"
    assert "This is not a release" in text
