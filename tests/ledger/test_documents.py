"""The examples of docs/ledger.md run as they stand."""

import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "ledger.md"


def test_the_python_examples_run_one_after_the_other(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        exec(example, {})
    assert "release 1 given out" in capsys.readouterr().out
