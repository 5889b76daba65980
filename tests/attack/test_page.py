"""The page on attacks runs."""

from __future__ import annotations

import re
from pathlib import Path

import reticent.attack

PAGE = Path(__file__).resolve().parents[2] / "docs" / "attacks.md"


def test_the_examples_of_the_page_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 3
    together: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), together)


def test_every_adversary_has_a_line() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
    adversaries = {name for name in reticent.attack.__all__ if hasattr(getattr(reticent.attack, name), "attack")}
    assert named == adversaries - {"Adversary"}
