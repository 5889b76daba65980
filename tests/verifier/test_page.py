"""The verifier's page in a browser, from disk: a good, a tampered, an unsigned and a foreign folder, without the network."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.release import generate_keys
from reticent.release.trust import append, create_log
from reticent.verifier import bundled, verifier_page, write_page
from tests.release.trust.conftest import certificate_of, key, trust_of
from tests.test_golden_bytes import table
from tests.verifier.agreement import NODE
from tests.verifier.drawn_releases import releases_of_a_series
from tests.verifier.firefox import running_firefox

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
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


def asked(
    chromium: Any,
    page_file: Path,
    folder: Path,
    key: str = "",
    documents: Sequence[Path] = (),
    population: Path | None = None,
) -> tuple[str, str, list[str]]:
    """The state and the text of the page's answer, and every address it asked for."""
    page = chromium.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_file.as_uri())
    page.eval_on_selector("#key", "(field, key) => { field.value = key; }", key)
    page.set_input_files("#documents", list(map(str, documents)))
    if population is not None:
        page.set_input_files("#population", str(population))
    if (folder / "certificate.json").exists() or not any(folder.glob("**/public")):
        page.set_input_files("#single", [str(path) for path in sorted(folder.iterdir())])
    else:
        page.set_input_files("#folder", str(folder))
    page.wait_for_selector("#answer:not([hidden])", timeout=30_000)
    found = page.get_attribute("#answer", "data-state"), page.inner_text("#answer"), requests
    page.close()
    return found


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    return write_page(tmp_path_factory.mktemp("page") / "reticent-verify.html")


def test_a_good_folder_holds_and_the_key_proves_its_origin(chromium, page_file, folders) -> None:
    state, text, requests = asked(chromium, page_file, folders["good"])
    assert state == "holds"
    assert "finds at least 5 matching records" in text
    assert "give the publisher's key" in text
    assert all(url.startswith(("file:", "blob:")) for url in requests)
    for given in (folders["key"], folders["pem"]):
        _, text, _ = asked(chromium, page_file, folders["good"], given)
        assert "Signed with the key that was given" in text
    state, text, _ = asked(chromium, page_file, folders["good"], "00" * 32)
    assert state == "does not hold"
    assert "signed with another key" in text


def test_a_tampered_folder_does_not_hold(chromium, page_file, folders) -> None:
    state, text, _ = asked(chromium, page_file, folders["tampered"])
    assert state == "does not hold"
    assert "data.csv is not the file that the certificate was made for" in text
    assert "What is guaranteed" not in text


def test_an_unsigned_folder_of_parquet_holds_but_proves_no_origin(chromium, page_file, folders) -> None:
    state, text, _ = asked(chromium, page_file, folders["unsigned"])
    assert state == "holds, but"
    assert "Not signed: who made it cannot be proven" in text
    assert 'Nothing is promised about "disease"' in text
    state, _, _ = asked(chromium, page_file, folders["unsigned"], folders["key"])
    assert state == "does not hold"


def test_a_foreign_folder_is_no_release(chromium, page_file, folders) -> None:
    state, text, _ = asked(chromium, page_file, folders["foreign"])
    assert state == "not shown"
    assert "This is not a release" in text


def test_a_trust_file_a_log_and_a_population_are_taken(chromium, page_file, tmp_path: Path) -> None:
    people = pl.DataFrame({"age": [20, 21, 40, 41], "s": [*"abab"]})
    quasi = {"age": rt.Hierarchy.intervals(widths=[20], domain=(0, 99))}
    given = rt.Table(people, quasi=quasi, sensitive="s")
    population = pl.DataFrame({"age": [20, 25, 30, 40, 45, 50]})
    made = rt.publish(given, rt.KMap(3, population=population), signing_key=[key("alice"), key("bob")])
    folder = made.save(tmp_path / "release") / "public"
    population.write_csv(tmp_path / "people.csv")
    trust_of().save(tmp_path / "trust.json")
    create_log(tmp_path / "log.json", "office", key("notary"))
    append(tmp_path / "log.json", certificate_of(folder.parent), key("notary"))
    documents = [tmp_path / "trust.json", tmp_path / "log.json"]
    state, text, requests = asked(chromium, page_file, folder, documents=documents, population=tmp_path / "people.csv")
    assert state.startswith("holds")
    assert "Signed by alice and bob; 2 of 3 are needed" in text
    assert 'entry 1 of 1 in the log "office"' in text
    assert "finds at least 3 people of it who match each record" in text
    assert all(url.startswith(("file:", "blob:")) for url in requests)
    state, text, _ = asked(chromium, page_file, folder, documents=documents[:1])
    assert state == "not shown"
    assert "none was given" in text
    trust_of(("carol", "dave")).save(tmp_path / "trust.json")
    state, text, _ = asked(chromium, page_file, folder, documents=documents[:1])
    assert state == "does not hold"
    assert "is not in the trust file" in text


@pytest.mark.slow
def test_the_folders_of_a_series_are_judged_together(chromium, page_file, tmp_path: Path) -> None:
    first, second, _ = releases_of_a_series(tmp_path / "history", None)
    for number, place in enumerate((second, first)):
        shutil.copytree(place, tmp_path / "given" / f"release-{number}" / "public")
    _, text, _ = asked(chromium, page_file, tmp_path / "given")
    assert "Releases 1, 2 of" in text
    assert "2, judged in their order" in text
    shutil.copytree(first, tmp_path / "given" / "again" / "public")
    state, text, _ = asked(chromium, page_file, tmp_path / "given")
    assert state == "does not hold"
    assert "chain of certificates is broken" in text


@pytest.mark.slow
def test_firefox_gives_the_same_answers(page_file, folders) -> None:
    if FIREFOX is None:
        pytest.skip("there is no Firefox on this machine")
    with running_firefox(FIREFOX) as firefox:
        states = {}
        for name in ("good", "tampered", "unsigned", "foreign"):
            states[name], text = firefox.verdict(page_file, sorted(folders[name].iterdir()))
            if name == "good":
                assert "finds at least 5 matching records" in text
    assert states == {"good": "holds", "tampered": "does not hold", "unsigned": "holds, but", "foreign": "not shown"}
