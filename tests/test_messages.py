"""Messages and help texts are plain technical English: turns of phrase that were repaired once do not come back."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.sources import SOURCE, nodes

pytestmark = pytest.mark.xdist_group("house")

REPAIRED = {
    r"\b[Ss]ay \w+ ?=": "Pass, Set or Use a parameter",
    r"(?:^|[.;:] )Say (?!so\b)": "Pass, Set, Name or Declare",
    r"(?<![Tt]here )\b(?:is|are) no (?!longer|more|less|such)\w": "is not a, are not",
    r", so that (?:it|there) (?:is|was|cannot)\b": ", so it is",
    r"\b(?:row|object|histogram|label) a (?:person|line|row|group|column)\b": "per",
    r"\bof one's own\b": "your own",
    r"\bstands? twice\b": "occurs twice",
    r"\([A-Z]+-G\d+\)": "what the example shows",
}


@cache
def texts(path: Path) -> list[tuple[int, str]]:
    """Every text of a module that is not a docstring."""
    docstrings = {
        id(node.value) for node in nodes(path) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        (node.lineno, node.value)
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]


@pytest.mark.parametrize("phrase", REPAIRED)
def test_a_phrase_that_was_repaired_does_not_come_back(phrase: str) -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {text}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, text in texts(path)
        if re.search(phrase, text)
    ]
    assert found == [], f"write instead: {REPAIRED[phrase]}"
