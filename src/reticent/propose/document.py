"""A proposal as the text of a policy: complete, commented, and accepted by ``reticent publish`` as it is."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reticent.propose.proposal import ColumnProposal, Proposal


def policy_text(proposal: Proposal, data: Mapping[str, Any], dataset: str, folder: Path) -> str:
    """The policy file; ``data`` are the settings of its ``[data]`` section, ``folder`` is where it is going to lie."""
    lines = [
        "# Proposed by `reticent inspect`. Read it, correct it, then: reticent publish policy.toml -o release",
        *(f"# Note: {_one_line(note)}" for note in proposal.notes),
        f"dataset = {value(dataset)}",
        "",
        "[data]",
        *(f"{name} = {value(setting)}" for name, setting in data.items() if setting not in (None, (), [], {})),
        "",
        "[roles]",
        *_role(proposal, "identifiers", "identifier"),
        *_role(proposal, "quasi", "quasi"),
        *_role(proposal, "sensitive", "sensitive"),
        "other = []  # published unchanged and unprotected: only what can harm nobody",
        *([f"key = {value(proposal.key)}"] if proposal.key is not None else []),
        *([f"weight = {value(proposal.weight)}"] if proposal.weight is not None else []),
        f"nulls = {value(proposal.nulls)}",
        *_without_role(proposal),
    ]
    for column in proposal.columns:
        if column.role == "quasi" and column.hierarchy is not None:
            lines += ["", f"[hierarchies.{key(column.name)}]", *_settings(_seen_from(folder, column.hierarchy))]
    for definition in proposal.definition:
        lines += ["", "[[definition]]", *_settings(definition)]
    method = {"name": "Lattice", "objective": "loss", "suppression": "0.05", "format": "generalize"}
    lines += ["", "[method]", *_settings(method), "", "[release]", 'files = "csv"', "report = false"]
    return "\n".join(lines) + "\n"


def value(setting: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(setting, bool):
        return "true" if setting else "false"
    if isinstance(setting, str):
        return _text(setting)
    if isinstance(setting, int | float):
        return repr(setting)
    if isinstance(setting, datetime.date):
        return setting.isoformat()
    if isinstance(setting, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {value(item)}" for name, item in setting.items()) + " }"
    if isinstance(setting, Sequence):
        return "[" + ", ".join(value(item) for item in setting) + "]"
    raise TypeError(f"TOML has no way to write {setting!r}")


def key(name: str) -> str:
    """A key as TOML writes it, in quotes unless it is plain."""
    plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if plain else _text(name)


def _text(text: str) -> str:
    """JSON's escapes are TOML's, but for the one control character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _role(proposal: Proposal, setting: str, role: str) -> list[str]:
    columns = [column for column in proposal.columns if column.role == role]
    if not columns:
        return [f"{setting} = []"]
    return [f"{setting} = [", *(f"  {value(column.name)},  # {_one_line(column.reason)}" for column in columns), "]"]


def _without_role(proposal: Proposal) -> list[str]:
    left: list[ColumnProposal] = [
        column for column in proposal.columns if column.role is None and column.name != proposal.weight
    ]
    if not left:
        return []
    return [
        "# Not published, because they have no role:",
        *(f"#   {_text(column.name)}: {_one_line(column.reason)}" for column in left),
    ]


def _seen_from(folder: Path, description: Mapping[str, Any]) -> dict[str, Any]:
    """The description with its file as it is reached from the folder of the policy."""
    if "file" not in description:
        return dict(description)
    return {**description, "file": os.path.relpath(description["file"], folder)}


def _settings(settings: Mapping[str, Any]) -> list[str]:
    return [f"{key(name)} = {value(setting)}" for name, setting in settings.items()]


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
