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
    r"\bleft the house\b": "was published",
    r"\b(?:a|the) whole (?:gzip|zip|Arrow|Parquet) file\b|\b[Ii]s (?:it|the file) whole\b": "a complete file",
    r"\bPut (?:it|the [\w ]+) back\b": "Restore",
    r"\bgives? (?:people|somebody|anybody) away\b": "disclose people's values",
    r"\bkinds of rows\b": "patterns of rows",
    r"\bhave rights on\b": "have permissions on",
    r"\bis taken for a person\b": "counts as a person",
    r"\b(?:tells none|cannot be put together)\b": "does not bound, cannot be combined",
}

ROOMS = (
    "attacks",
    "audit",
    "base",
    "belief",
    "checks",
    "cli",
    "conditions",
    "core",
    "definitions",
    "demo",
    "engine",
    "gates",
    "io",
    "knowledge",
    "ledger",
    "mcp",
    "methods/grouping",
    "methods/marginals",
    "methods/mondrian",
    "methods/noisy_columns",
    "methods/statistics",
    "policy",
    "postgres",
    "propose",
    "table",
    "utility",
    "verifier",
    "views",
    "web",
    "worst_case",
)
"""The rooms whose docstrings were read one by one; a room joins the list when that was done."""

DIALECT = (
    r"\b(?:[Ss]omebody|[Ww]hoever|starred|made coarser|has state because|told by where|gives? (?:it|people) away)\b"
)


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


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_use_the_words_of_the_field(room: str) -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {node.value.value}"
        for path in sorted((SOURCE / room).rglob("*.py"))
        for node in nodes(path)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and re.search(DIALECT, node.value.value)
    ]
    assert found == [], "name the adversary, the user or the caller; suppressed cells; generalized columns"
