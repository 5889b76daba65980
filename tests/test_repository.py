"""The files of the repository agree with each other."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import reticent

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LOCK = (ROOT / "requirements-dev.lock").read_text("utf-8")
CI = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")


def test_every_dependency_is_locked_with_hashes():
    locked = {name.lower().replace("_", "-") for name in re.findall(r"^([\w.-]+)==", LOCK, re.MULTILINE)}
    extras = PROJECT["optional-dependencies"]
    asked = [
        *PROJECT["dependencies"],
        *extras["dev"],
        *(each for name in ("postgres", "formats", "databases", "web", "charts") for each in extras[name]),
    ]
    names = {re.split(r"[\[<>=;! ]", each)[0].lower().replace("_", "-") for each in asked} - {"reticent"}
    assert names <= locked
    entries = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in entry for entry in entries)


def test_the_lock_names_no_host():
    assert "://" not in LOCK


def test_the_versions_of_python_are_the_same_everywhere():
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    tested = re.search(r"python-version: \[(.*?)\]", CI)
    assert tested is not None
    assert re.findall(r"3\.\d+", tested.group(1)) == classified
    assert PROJECT["requires-python"] == f">={classified[0]}"


def test_the_citation_is_of_this_version():
    assert f"version: {reticent.__version__}" in (ROOT / "CITATION.cff").read_text("utf-8")


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_between_pages_lead_somewhere(page):
    path = ROOT / page if (ROOT / page).exists() else ROOT / "docs" / page
    for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", path.read_text("utf-8")):
        assert (path.parent / target).exists(), target


def test_the_recipes_name_files_and_lists_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for place in re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", text):
        assert (ROOT / place).exists(), place
    names = (ROOT / "src" / "reticent" / "registry.py").read_text("utf-8")
    for listed in ("DEFINITIONS", "METHODS", "FORMATS", "ENGINES"):
        assert f"`{listed}`" in text
        assert f"{listed}: dict" in names


def test_no_quick_test_measures_time():
    """A busy machine must not fail `make test`: a test that asserts a duration is marked slow. Deadlines that end a hang are none."""
    clock = re.compile(r"time\.(?:monotonic|perf_counter|process_time)(?:_ns)?\(\) - ")
    timed = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for each in ast.walk(tree):
            if isinstance(each, ast.FunctionDef) and each.name.startswith("test_") and clock.search(ast.unparse(each)):
                marks = [ast.unparse(mark) for mark in each.decorator_list]
                timed += [] if "pytest.mark.slow" in marks else [f"{path.relative_to(ROOT)}::{each.name}"]
    assert timed == []
