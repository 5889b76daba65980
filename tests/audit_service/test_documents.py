"""docs/how-to/audit.md is run as it stands: policies are read, examples run, and commands say what the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pydantic import BaseModel

from reticent.policy.audit_policy import AuditPolicy, AuditSections

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "audit.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_parts_of_policies_are_parts_of_policies():
    whole = next(text for kind, text in BLOCKS if kind == "toml" and text.startswith("# file: "))
    parts = [text for kind, text in BLOCKS if kind == "toml" and text.startswith("# part of a policy")]
    assert len(parts) == 2
    for part in parts:
        assert AuditPolicy.parse(f"{whole}\n{part}").settings.sensitive


def test_every_setting_is_on_the_page():
    def settings(model: type[BaseModel]) -> list[str]:
        found = []
        for name, field in model.model_fields.items():
            found.append(field.alias or name)
            for kind in re.findall(r"\w+Section", str(field.annotation)):
                found += settings(getattr(sys.modules["reticent.policy.audit_policy"], kind))
        return found

    shown = re.findall(r"`\[?(?:\w+\.)*([\w.]+)(?:\.NAME)?\]?`", PAGE.replace(".NAME", ""))
    missing = [name for name in settings(AuditSections) if name not in shown]
    assert missing == []
