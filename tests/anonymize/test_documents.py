"""The examples of docs/local-recoding.md say what really happens."""

from __future__ import annotations

import doctest
import re
from dataclasses import fields
from pathlib import Path

from reticent.anonymize import Mondrian

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "local-recoding.md").read_text(encoding="utf-8")


def test_the_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "local-recoding.md", "local-recoding.md", 0)
    complaints: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=complaints.append)
    assert result.failed == 0, "".join(complaints)
    assert result.attempted > 10


def test_every_parameter_is_listed() -> None:
    assert [field.name for field in fields(Mondrian) if f"| `{field.name}` |" not in PAGE] == []
