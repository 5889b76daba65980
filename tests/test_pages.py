"""Every page of docs/ runs as it stands, from top to bottom, in an empty folder, and its console blocks show what commands print; its first Python example runs alone.

``docs/tools/console.py`` runs a page, and ``make docs-output`` rewrites the console blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.tools.console import ROOT, PageRun, blocks, empty_folder, equal, pages, run_python, shortened

PAGES = pages()


@pytest.fixture(autouse=True)
def folder() -> Iterator[None]:
    with empty_folder():
        yield


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_runs_from_top_to_bottom_and_shows_what_its_commands_print(page: Path) -> None:
    result = PageRun(page)
    result.text()
    assert not result.stale, "run make docs-output; these commands now print:\n\n" + "\n\n".join(result.stale)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "```python\n" in page.read_text("utf-8")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_first_python_example_of_a_page_runs_alone(page: Path) -> None:
    first = next(text for kind, text in blocks(page) if kind == "python")
    run_python(first, page, {})


def test_a_block_equals_the_output_line_by_line() -> None:
    lines = ["4 rows", "took 1.2 s", "", "Holds."]
    assert equal(["4 rows", "took 0.9 s", "", "Holds."], lines)
    assert equal(["4 rows", "...", "Holds."], lines)
    assert equal(["...", "Holds."], lines)
    assert equal(["4 rows", "..."], lines)
    assert not equal(["4 rows", "Holds."], lines)
    assert not equal(["5 rows", "took 0.9 s", "", "Holds."], lines)
    assert not equal(["took 1 s", "..."], lines), "only a cut leaves lines out"
    assert not equal(["4 rows", "...", "took 1 s"], lines)
    assert equal(["5 rows", "..."], lines, varies=True)


def test_new_output_is_cut_where_the_page_cut_it() -> None:
    lines = [str(number) for number in range(30)]
    assert shortened(lines, ["a", "...", "z"]) == ["0", "...", "29"]
    assert shortened(lines[:5], ["a"]) == lines[:5]
    cut = shortened(lines, ["a"])
    assert cut.count("...") == 1
    assert equal(cut, lines)
