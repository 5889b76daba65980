"""The page about background knowledge says what the code does: its examples are run, and so are those in docstrings."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanations" / "knowledge.md"


@pytest.mark.parametrize(
    "module",
    [
        "knowledge.bucket_monitor",
        *(
            f"worst_case.{name}"
            for name in ("histogram_buckets", "disclosure", "known_facts", "minimize1", "tree", "worst_facts")
        ),
    ],
)
def test_the_examples_of_the_docstrings_are_true(module):
    found = doctest.testmod(importlib.import_module(f"reticent.{module}"))
    assert found.attempted
    assert found.failed == 0
