"""Every page of docs/ runs as it stands, from top to bottom, in an empty folder; its first Python example runs alone.

Blocks of ``python`` are run (those with ``>>>`` as doctests), blocks whose first line is ``# file: NAME`` or ``-- file: NAME`` are
written, and in blocks of ``console`` every line below a command is in what the command prints.
"""

from __future__ import annotations

import doctest
import re
import shlex
import sys
from pathlib import Path

import pytest

from reticent.cli.app import app
from reticent.cli.console import run

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("[a-z]*/**/*.md"), ROOT / "README.md"])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"(?:#|--) file: (\S+)\n(.*)", re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("COLUMNS", "400")


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def run_python(text: str, page: Path, names: dict[str, object]) -> None:
    if not text.startswith(">>>"):
        exec(compile(text, str(page), "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
    complaints: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=complaints.append, clear_globs=False)
    assert result.attempted
    assert not result.failed, "".join(complaints)
    names.update(example.globs)


def run_console(text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    said = ""
    for line in text.splitlines():
        if line.startswith("$ "):
            monkeypatch.setattr(sys, "argv", shlex.split(line[2:], comments=True))
            assert run(app) in (0, 1), capsys.readouterr().err
            said = "".join(capsys.readouterr())
        else:
            assert line in said, f"{line!r} is not in the output:\n{said}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_runs_from_top_to_bottom(page: Path, monkeypatch, capsys) -> None:
    names: dict[str, object] = {}
    for kind, text in blocks(page):
        if kind == "python":
            run_python(text, page, names)
        elif kind == "console":
            capsys.readouterr()
            run_console(text, monkeypatch, capsys)
        elif found := FILE.fullmatch(text):
            Path(found[1]).write_text(found[2], encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "```python\n" in page.read_text("utf-8")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_first_python_example_of_a_page_runs_alone(page: Path) -> None:
    first = next(text for kind, text in blocks(page) if kind == "python")
    run_python(first, page, {})
