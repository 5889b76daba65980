"""What editors and type checkers see of ``import reticent as rt``: real signatures, not ``Any``."""

from __future__ import annotations

import doctest
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import reticent as rt
from reticent.registry import PUBLIC
from tests.public_face import STUB, stub

PROGRAM = """
import reticent as rt

table = rt.Table({"age": [31, 32, 58, 59], "ill": ["flu", "flu", "gout", "gout"]}, quasi=["age"], sensitive="ill")
release = rt.publish(table, rt.KAnonymity(2) & rt.DistinctLDiversity(2), method="Mondrian")
reveal_type(table)
reveal_type(release)
reveal_type(release.save("release"))
reveal_type(rt.verify("release").holds)
reveal_type(rt.attack(release, raw=table))
reveal_type(rt.assess(table, rt.KAnonymity(5)).holds)
rt.publish(table, rt.KAnonymity(2), metod="Mondrian")
rt.KAnonymity("five")
"""
REVEALED = ("Table", "Release", "Path", "bool", "AttackResults", "bool")


def test_the_stub_lists_what_the_registry_lists() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run: python -m tests.public_face"


def _checked(*command: str, tmp_path: Path) -> list[str]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([*command, str(program)], capture_output=True, text=True, cwd=tmp_path)
    return [line for line in done.stdout.splitlines() if "program.py" in line]


def _assert_types_are_seen(told: list[str]) -> None:
    revealed = [line for line in told if "evealed type" in line or 'Type of "' in line]
    assert len(revealed) == len(REVEALED), told
    for line, name in zip(revealed, REVEALED, strict=True):
        assert name in line.rpartition(" is ")[2], line
    errors = [line for line in told if "error" in line]
    assert len(errors) == 2, told
    assert "metod" in errors[0]


def test_mypy_sees_real_signatures(tmp_path: Path) -> None:
    root = Path(rt.__file__).parents[2]
    # The options and the cache of `make lint`, which has looked at everything that the program imports.
    shared = ["--config-file", str(root / "pyproject.toml"), "--cache-dir", str(root / ".mypy_cache")]
    _assert_types_are_seen(_checked(sys.executable, "-m", "mypy", *shared, tmp_path=tmp_path))


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed (npm install -g pyright)")
def test_pyright_sees_real_signatures(tmp_path: Path) -> None:
    _assert_types_are_seen(_checked("pyright", "--pythonpath", sys.executable, tmp_path=tmp_path))


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring(name: str) -> None:
    assert len(inspect.getdoc(getattr(rt, name)) or "") > 20


ERRORS = {name for name in PUBLIC if isinstance(getattr(rt, name), type) and issubclass(getattr(rt, name), Exception)}


def test_the_docstring_of_a_public_name_says_what_its_parameters_are() -> None:
    unnamed = {}
    for name in sorted(set(PUBLIC) - ERRORS):
        if callable(value := getattr(rt, name)):
            words = set(re.findall(r"\w+", inspect.getdoc(value) or ""))
            parameters = [each for each in inspect.signature(value).parameters if not each.startswith("_")]
            unnamed[name] = [each for each in parameters if each not in words]
    assert {name: missing for name, missing in unnamed.items() if missing} == {}


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - ERRORS))
def test_the_example_of_a_public_name_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``help(rt.publish)`` shows can be pasted."""
    monkeypatch.chdir(tmp_path)
    examples = [each for each in doctest.DocTestFinder(recurse=False).find(getattr(rt, name), name) if each.examples]
    assert examples
    for each in examples:
        complaints: list[str] = []
        result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(each, out=complaints.append)
        assert result.failed == 0, "".join(complaints)
