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
    "page",
    [
        *("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/index.md"),
        *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("[a-z]*/**/*.md")),
    ],
)
def test_links_between_pages_lead_somewhere(page):
    path = ROOT / page
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


def test_nothing_points_to_a_requirement_that_is_not_in_the_repository():
    rooms = ("src", "tests", "docs", "benchmarks", "conformance", "examples", "integrations")
    files = [path for room in rooms for path in (ROOT / room).rglob("*") if path.suffix in (".py", ".md", ".toml")]
    pointing = [
        str(path.relative_to(ROOT))
        for path in [*files, *ROOT.glob("*.md")]
        if "history" not in path.parts and re.search(r"\b[RE]-[A-Z]{2,3}-\d", path.read_text("utf-8"))
    ]
    assert pointing == []


CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "thread_time"}
# Fixtures that measure to choose a moment; nothing is asserted of what they measured.
CHOOSES_A_MOMENT = {"usual_seconds"}


def measuring(tree: ast.Module) -> set[str]:
    """The functions of a module that measure a duration (a difference to which a clock was read), and those that use them."""

    def reads_clock(node: ast.AST) -> bool:
        name = getattr(getattr(node, "func", None), "attr", None) or getattr(getattr(node, "func", None), "id", "")
        return isinstance(node, ast.Call) and name.removesuffix("_ns") in CLOCKS

    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = set()
    for each in functions:
        nodes = list(ast.walk(each))
        read = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and reads_clock(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                parts = (node.left, node.right)
                if any(reads_clock(part) for part in parts) or all(getattr(part, "id", None) in read for part in parts):
                    found.add(each.name)
    found -= CHOOSES_A_MOMENT
    while True:
        using = {
            each.name
            for each in functions
            for node in ast.walk(each)
            if (isinstance(node, ast.Name) and node.id in found) or (isinstance(node, ast.arg) and node.arg in found)
        }
        if using <= found:
            return found
        found |= using


def quick_tests_that_measure(text: str) -> list[str]:
    """The tests of a file that measure a duration and are not marked slow."""
    if not any(name in text for name in CLOCKS - {"time"}) and not re.search(r"time(_ns)?\(\)", text):
        return []
    tree = ast.parse(text)
    marked = any("pytest.mark.slow" in ast.unparse(each) for each in tree.body if isinstance(each, ast.Assign))
    timed = measuring(tree)
    return [
        each.name
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef)
        and each.name.startswith("test_")
        and each.name in timed
        and not marked
        and not any("slow" in ast.unparse(mark) for mark in each.decorator_list)
    ]


def test_no_quick_test_measures_time():
    """A busy machine must not fail `make test`: a test that measures a duration is marked slow. Deadlines that end a hang are none."""
    found = {path: quick_tests_that_measure(path.read_text("utf-8")) for path in (ROOT / "tests").rglob("test_*.py")}
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "body",
    [
        "    began = time.monotonic()\n    assert time.monotonic() - began < 1",
        "    began = perf_counter()\n    ended = perf_counter()\n    assert ended - began < 1",
        "    assert seconds() < 1",
        "    assert timed < 1",
    ],
)
def test_a_quick_test_that_measures_time_is_found(body):
    helper = "def seconds():\n    began = time.time_ns()\n    return time.time_ns() - began\n"
    fixture = "@pytest.fixture\ndef timed():\n    return seconds()\n"
    test = f"def test_it({'timed' if 'timed' in body else ''}):\n{body}\n"
    assert quick_tests_that_measure(helper + fixture + test) == ["test_it"]
    assert quick_tests_that_measure(f"{helper}{fixture}@pytest.mark.slow\n{test}") == []


def test_a_deadline_is_no_measurement():
    waits = "def test_it():\n    end = time.monotonic() + 60\n    while time.monotonic() < end:\n        pass\n"
    assert quick_tests_that_measure(waits) == []
