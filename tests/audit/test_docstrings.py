"""The examples in the auditors' docstrings run."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("module", ["sums", "maxima", "size_monitor"])
def test_the_examples_are_true(module):
    result = doctest.testmod(import_module(f"reticent.audit.{module}"))
    assert result.attempted > 0
    assert result.failed == 0
