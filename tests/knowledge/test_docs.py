"""The page about background knowledge says what the code does: its examples are run, and so are those in docstrings."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "knowledge.md"


def test_the_examples_of_the_page_are_true():
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "knowledge.md", str(PAGE), 0)
    assert len(examples.examples) > 25
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(examples)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize(
    "module",
    [
        "knowledge.monitor",
        *(f"worst_case.{name}" for name in ("buckets", "disclosure", "facts", "minimize", "tree", "witness")),
    ],
)
def test_the_examples_of_the_docstrings_are_true(module):
    found = doctest.testmod(importlib.import_module(f"reticent.{module}"))
    assert found.attempted
    assert found.failed == 0
