"""A public folder looked at with the shipped JSON Schemas."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import Draft202012Validator

from reticent.release import shipped_schema


def document_faults(folder: Path) -> list[str]:
    """What the schemas find wrong in a public folder."""
    return [
        f"{name}: {error.message}"
        for name in ("manifest", "certificate")
        for error in Draft202012Validator(shipped_schema(name)).iter_errors(
            json.loads((folder / f"{name}.json").read_bytes())
        )
    ]
