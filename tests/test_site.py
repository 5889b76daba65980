"""The documentation site: every page is reachable, links and anchors lead somewhere, the reference is complete, and the site builds without a warning."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from pydantic import BaseModel

from docs.tools import api, commands
from docs.tools.catalogue import instance
from docs.tools.docstrings import Docstring
from docs.tools.generated import MARK, PARTS, filled, with_citations
from docs.tools.policy import sections
from reticent.definitions import Definition
from reticent.policy.audit_policy import AuditSections
from reticent.policy.sections import Sections
from reticent.registry import DEFINITIONS, METHODS, PUBLIC, ROOMS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([DOCS / "index.md", *DOCS.glob("[a-z]*/**/*.md")])
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
BLOCK = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1$", re.DOTALL | re.MULTILINE)


def listed(page: Path) -> list[Path]:
    """The pages that the toctrees of a page list."""
    entries = [
        line
        for tree in TOCTREE.findall(page.read_text("utf-8"))
        for line in tree.splitlines()
        if line and not line.startswith(":")
    ]
    return [(page.parent / f"{entry}.md").resolve() for entry in entries]


def test_every_page_is_in_one_toctree() -> None:
    everywhere = [target for page in PAGES for target in listed(page)]
    assert sorted(everywhere) == [page for page in PAGES if page != DOCS / "index.md"]


def test_page_names_are_unique_apart_from_indexes() -> None:
    names = [page.name for page in PAGES if page.name != "index.md" and "api" not in page.parts]
    assert len(names) == len(set(names))


@cache
def prose(page: Path) -> str:
    """The text of a page with its generated parts, without blocks of code."""
    return BLOCK.sub("", filled(page.read_text("utf-8")))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of the headings of a page, as GitHub and the site make them."""
    headings = re.findall(r"^#{1,4} (.+)$", prose(page), re.MULTILINE)
    names = [re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading) for heading in headings]
    slugs = [re.sub(r"[^\w\u4e00-\u9fff\- ]", "", name.strip().lower()).replace(" ", "-") for name in names]
    labels = re.findall(r"^\(([\w-]+)\)=$", prose(page), re.MULTILINE)
    return frozenset([*slugs, *labels])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_and_anchors_of_a_page_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(prose(page)):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        if anchor and path.suffix == ".md" and DOCS in path.parents:
            assert anchor in anchors(path), f"{target}#{anchor}"


def test_keys_of_sources_lead_to_the_references() -> None:
    text = "See [Sweeney2002], [Nobody1999] and [Sweeney2002](x.md).\n```text\n[Sweeney2002]\n```\n"
    assert with_citations(text, "reference/api/attacks") == text.replace(
        "[Sweeney2002],", "[Sweeney2002](../../reference/references.md#sweeney2002),"
    )


def test_the_marks_of_pages_name_all_generated_parts_once() -> None:
    marks = [mark for page in PAGES for mark in MARK.findall(page.read_text("utf-8"))]
    assert sorted(marks) == sorted(PARTS)


def test_the_reference_has_every_public_name() -> None:
    assert api.documented() == {*PUBLIC, *ROOMS}
    shown = prose(DOCS / "reference" / "definition-list.md") + prose(DOCS / "reference" / "method-list.md")
    for name in (*DEFINITIONS, *METHODS):
        assert f"\n## {name}\n" in shown


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_shows_the_paper_trail_of_trust(name: str) -> None:
    page = prose(DOCS / "reference" / "definition-list.md")
    section = page[page.index(f"\n## {name}\n") :].split("\n## ")[1]
    for label in ("Guarantee", "Adversary", "Not covered", "Source", "Tests", "Cost"):
        assert re.search(rf"^\| \*\*{label}\*\* \| \S", section, re.MULTILINE), label


def test_every_command_is_in_the_reference_with_its_options() -> None:
    page = commands.commands()
    for path in ("reticent publish", "reticent audit ask", "reticent ledger list"):
        assert f"\n## {path}\n" in page
    assert "`--suppression`" in page
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    assert len(sections) > 80
    assert [section.partition("\n")[0] for section in sections if "```bash\n" not in section] == []


@pytest.mark.parametrize("model", [Sections, AuditSections])
def test_every_key_of_a_policy_has_a_meaning(model: type[BaseModel]) -> None:
    for heading, section in sections(model):
        for name, field in section.model_fields.items():
            assert field.description, f"{heading} {name}"


def test_a_docstring_is_read_in_parts() -> None:
    parts = Docstring.parse(
        "Return x.\n\nGuarantee: at least ``k``. *Adversary*: knows :class:`a.B`.\nSource: [Key2000].\n\nMore.\n\n"
        "Parameters:\n    k: the number,\n        from 1.\n\nExample:\n    >>> 1\n    1"
    )
    assert parts.summary == "Return x."
    assert parts.statements == {"Guarantee": "at least `k`.", "Adversary": "knows `B`.", "Source": "[Key2000]."}
    assert parts.prose == "More."
    assert parts.parameters == {"k": "the number, from 1."}
    assert parts.example == ">>> 1\n1"


def test_the_instance_of_an_example_is_made() -> None:
    made = instance("KAnonymity", ">>> import reticent as rt\n>>> x = rt.assess(table, rt.KAnonymity(k=(2 + 1)))")
    assert isinstance(made, Definition)
    assert str(made) == "KAnonymity(k=3)"


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(tmp_path / "trees"), DOCS, tmp_path],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "searchindex.js").exists()
