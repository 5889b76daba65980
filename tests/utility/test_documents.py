"""The examples in the documents say what really happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", ["queries.md", "utility.md", "large-tables.md"])
def test_the_examples_of_a_document_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.chdir(tmp_path)
    text = (DOCUMENTS / name).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, name, 0)
    complaints: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=complaints.append)
    assert result.failed == 0, "".join(complaints)
    assert result.attempted > 5
