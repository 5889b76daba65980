"""docs/definitions.md: its examples run, and it leaves no definition out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from reticent.definitions.catalogue import entries

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "definitions.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
OF_OTHER_PAGES = {"BoundedBelief", "WorstCaseKnowledge", "NegatedKnowledge"}


def test_the_examples_run_from_top_to_bottom() -> None:
    assert len(EXAMPLES) > 15
    assert sum("assert" in example for example in EXAMPLES) == len(EXAMPLES) - 1
    names: dict[str, Any] = {}
    for number, example in enumerate(EXAMPLES, start=1):
        exec(compile(example, f"docs/definitions.md, example {number}", "exec"), names)


def test_every_definition_of_the_catalogue_has_a_section() -> None:
    sections = set(re.findall(r"^## (\w+)$", PAGE, flags=re.MULTILINE))
    assert {entry.name for entry in entries()} - OF_OTHER_PAGES <= sections
