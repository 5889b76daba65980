"""The examples run and say what their introduction promises."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_quickstart_ends_with_a_release_that_anybody_can_check(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "quickstart.py"))
    printed = capsys.readouterr().out
    assert "Anybody can check it: True" in printed
    assert "have fewer than 5 people" in printed


def test_k_anonymity_alone_gives_bruce_away_and_diversity_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Spec 000b, G2: Bruce has cancer for certain; four rows of one group are affected."""
    runpy.run_path(str(EXAMPLES / "k_is_not_enough.py"))
    first, second = capsys.readouterr().out.split("\n\n")[:2]
    assert "matches 4 published rows, so condition is 'cancer'" in first
    assert "4 of 12 people (33.3%)" in first
    assert "with 3 different values of condition" in second
    assert "0 of 12 people" in second
