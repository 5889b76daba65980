"""The page on attacks runs."""

from __future__ import annotations

import re
from pathlib import Path

import reticent.attacks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanations" / "attacks.md"


def test_every_adversary_has_a_line() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
    adversaries = {name for name in reticent.attacks.__all__ if hasattr(getattr(reticent.attacks, name), "attack")}
    assert named == adversaries - {"Adversary"}
