"""The examples of docs/how-to/local-recoding.md say what really happens."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from reticent.methods.mondrian import Mondrian

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "local-recoding.md").read_text(encoding="utf-8")


def test_every_parameter_is_listed() -> None:
    assert [field.name for field in fields(Mondrian) if f"| `{field.name}` |" not in PAGE] == []
