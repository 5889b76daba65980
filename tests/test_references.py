"""The list of sources: every key that is cited has an entry, and the page and its BibTeX file have the same ones."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = next((ROOT / "docs").rglob("references.md"))
CITED = re.compile(r"\[([A-Z][A-Za-z]+\d{4}[a-z]?)(?=[],;])")
ENTRY = re.compile(r"^### (\S+)\n(.*?)(?=^#|\Z)", re.DOTALL | re.MULTILINE)
RECORD = re.compile(r"^@\w+\{([^,]+),\n(.*?)^\}$", re.DOTALL | re.MULTILINE)


def entries() -> dict[str, str]:
    return {key: " ".join(text.split()) for key, text in ENTRY.findall(PAGE.read_text("utf-8"))}


def records() -> dict[str, dict[str, str]]:
    """The fields of every BibTeX record, without their outer braces."""
    found = RECORD.findall(PAGE.with_suffix(".bib").read_text("utf-8"))
    return {key: dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.MULTILINE)) for key, body in found}


def cited() -> dict[str, str]:
    """Every key that is cited in code, documents and tests, and one file that does."""
    files = [path for room in ("src", "tests") for path in (ROOT / room).rglob("*.py")]
    files.remove(ROOT / "tests" / "test_site.py")  # makes keys up, to see that they are not linked
    files += [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    return {key: path.name for path in files for key in CITED.findall(path.read_text("utf-8"))}


def test_every_cited_key_is_in_the_list_of_sources() -> None:
    keys = cited()
    assert len(keys) > 5
    assert {key: where for key, where in keys.items() if key not in entries()} == {}


def test_the_page_and_the_bibtex_file_have_the_same_entries() -> None:
    assert sorted(entries()) == sorted(records())
    assert len(ENTRY.findall(PAGE.read_text("utf-8"))) == len(entries())


def test_title_year_authors_and_doi_agree() -> None:
    for key, fields in records().items():
        entry = entries()[key]
        assert fields["title"].strip("{}").lower() in entry.lower(), key
        assert fields.get("year", "") in entry, key
        assert fields.get("pages", "").replace("--", "-") in entry, key
        assert re.findall(r"doi:(\S+)\.(?=\s|$)", entry) == [fields[name] for name in ("doi",) if name in fields], key
        for author in fields.get("author", "").split(" and "):
            assert author.split()[-1].strip("{}") in entry if author else True, (key, author)


def test_a_key_is_the_first_author_and_the_year() -> None:
    letters = str.maketrans({"-": None, "'": None, "å": "a", "á": "a"})
    for key, fields in records().items():
        if (parts := re.fullmatch(r"([A-Z][A-Za-z]*[a-z])(\d{4})[a-z]?", key)) and "author" in fields:
            assert fields["author"].split(" and ")[0].translate(letters).split()[-1] == parts[1]
            assert fields["year"] == parts[2]


def test_every_test_that_shows_an_error_of_the_literature_exists() -> None:
    page = next((ROOT / "docs").rglob("literature.md")).read_text("utf-8")
    shown = re.findall(r"((?:`test_\w+`(?: and )?)+) in `(tests/[\w/]+\.py)`", page)
    assert len(shown) > 40
    for names, path in shown:
        text = (ROOT / path).read_text("utf-8")
        for name in re.findall(r"`(test_\w+)`", names):
            assert f"def {name}(" in text, f"{path} has no {name}"
