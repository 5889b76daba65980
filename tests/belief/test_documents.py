"""docs/belief.md: its examples run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "belief.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def test_the_examples_run_from_top_to_bottom() -> None:
    assert len(EXAMPLES) >= 8
    assert sum("assert" in example for example in EXAMPLES) == len(EXAMPLES) - 1
    names: dict[str, Any] = {}
    for number, example in enumerate(EXAMPLES, start=1):
        exec(compile(example, f"docs/belief.md, example {number}", "exec"), names)
