"""A proposal as the text of a policy: complete, commented, and valid input of ``reticent publish``."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reticent.propose.proposal import ColumnProposal, Proposal
from reticent.propose.tradeoff import Tradeoff


def policy_text(priced: Tradeoff, data: Mapping[str, Any], dataset: str, folder: Path) -> str:
    """Return the policy file. ``data`` are the settings of its ``[data]`` section; ``folder`` is the folder it will be written to."""
    proposal = priced.proposal
    lines = [
        "# Proposed by `reticent inspect`. Read it, correct it, then: reticent publish policy.toml -o release",
        *(f"# Read first: {_one_line(note)}" for note in proposal.headline),
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
        *([f"key = {value(proposal.key)}"] if proposal.key is not None else []),
        *([f"unit = {value(proposal.unit)}"] if proposal.unit is not None else []),
        *([f"weight = {value(proposal.weight)}"] if proposal.weight is not None else []),
        f"nulls = {value(proposal.nulls)}",
        *_without_role(proposal),
    ]
    for column in proposal.columns:
        if column.role == "quasi" and column.hierarchy is not None:
            lines += _hierarchy(f"hierarchies.{key(column.name)}", _seen_from(folder, column.hierarchy))
    for column in proposal.columns:
        if column.role == "sensitive" and column.coarsen is not None:
            lines += ["", f"[coarsen.{key(column.name)}]", *_settings(column.coarsen)]
    for definition in proposal.definition:
        lines += ["", "[[definition]]", *_settings(definition)]
    lines += ["", *_method(priced)]
    lines += ["", "[release]", 'files = "csv"', "report = false"]
    return "\n".join(lines) + "\n"


def document_text(content: Mapping[str, Any], heading: str = "") -> str:
    """Return the text of a policy with this content, section by section; parsing it gives the same content. ``heading``
    becomes comments at the top.
    """
    top_settings = {name: setting for name, setting in content.items() if not _is_section(setting)}
    lines = [*(f"# {line}" for line in heading.splitlines()), *_settings(top_settings)]
    for name in sorted(set(content) - set(top_settings), key=_section_rank):
        section = content[name]
        if isinstance(section, Sequence):
            for table in section:
                lines += ["", f"[[{key(name)}]]", *_settings(table)]
        elif name in ("hierarchies", "coarsen") and section:
            for column, description in section.items():
                lines += _hierarchy(f"{name}.{key(column)}", description)
        else:
            lines += ["", f"[{key(name)}]", *_settings(section)]
    return "\n".join(lines).lstrip("\n") + "\n"


_SECTIONS = (
    "data",
    "spark",
    "roles",
    "declared",
    "hierarchies",
    "coarsen",
    "definition",
    "method",
    "analysis",
    "dossier",
    "release",
)


def _section_rank(name: str) -> int:
    return _SECTIONS.index(name) if name in _SECTIONS else len(_SECTIONS)


def _is_section(setting: Any) -> bool:
    """True if a setting is written as a section of its own: a table, or a list of tables."""
    is_list_of_tables = (
        isinstance(setting, Sequence)
        and not isinstance(setting, str)
        and all(isinstance(item, Mapping) for item in setting)
    )
    return isinstance(setting, Mapping) or (is_list_of_tables and len(setting) > 0)


def _method(priced: Tradeoff) -> list[str]:
    """Return the section of the cheapest method, with the losses of the others as comments."""
    compared = priced.compared
    if compared is None and priced.method:
        remark = (
            "A first guess: nothing was compared yet."
            if "name" in priced.method
            else "The one that costs least: no name is written."
        )
        return [f"# {remark}", "[method]", *_settings(priced.method)]
    if compared is None:
        return ["[method]  # the one that costs least, if no name is written"]
    costs = [
        f"#   {cost.name} ({cost.settings}): {'loss ' + format(cost.loss, '.3f') if cost.loss is not None else _one_line(cost.problem or '')}"
        for cost in compared.costs
    ]
    sample_note = f", on a sample of {compared.rows:,} rows" if compared.sampled else ""
    parameters = {name: setting for name, setting in priced.method.items() if name in _METHOD_SETTINGS}
    return [f"# The method that costs least{sample_note}:", *costs, "[method]", *_settings(parameters)]


_METHOD_SETTINGS = ("name", "objective", "suppression", "split", "values", "effort", "weights")


def value(setting: Any) -> str:
    """Return a value in TOML syntax."""
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
    """Return a key in TOML syntax, quoted unless it is a bare key."""
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else _text(name)


def _text(text: str) -> str:
    """Return a TOML string. JSON escapes are valid TOML except for one control character that JSON does not escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _role(proposal: Proposal, setting: str, role: str) -> list[str]:
    """Return the lines of a policy that list the columns of a role, each with the reason."""
    columns = [column for column in proposal.columns if column.role == role]
    if not columns:
        return [f"{setting} = []"]
    return [f"{setting} = [", *(f"  {value(column.name)},  # {_one_line(column.reason)}" for column in columns), "]"]


def _without_role(proposal: Proposal) -> list[str]:
    """Return comment lines on the columns that are not published, with the reasons; empty if there are none."""
    unpublished: list[ColumnProposal] = [
        column for column in proposal.columns if column.role is None and column.name != proposal.weight
    ]
    if not unpublished:
        return []
    return [
        "# Not published, because they have no role:",
        *(f"#   {_text(column.name)}: {_one_line(column.reason)}" for column in unpublished),
    ]


def _hierarchy(section: str, description: Mapping[str, Any]) -> list[str]:
    """Return a hierarchy as a section; the branches of a tree as subsections, so that they can be edited."""
    tree = description.get("tree")
    settings = {name: setting for name, setting in description.items() if name != "tree"}
    lines = ["", f"[{section}]", *_settings(settings)]
    if not isinstance(tree, Mapping):
        return lines
    leaf_branches = {name: branch for name, branch in tree.items() if not isinstance(branch, Mapping)}
    if leaf_branches:
        lines += ["", f"[{section}.tree]", *_settings(leaf_branches)]
    for name, branch in tree.items():
        if isinstance(branch, Mapping):
            lines += ["", f"[{section}.tree.{key(name)}]", *_settings(branch)]
    return lines


def _seen_from(folder: Path, description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description with its file path relative to the folder of the policy."""
    if "file" not in description:
        return dict(description)
    return {**description, "file": os.path.relpath(description["file"], folder)}


def _settings(settings: Mapping[str, Any]) -> list[str]:
    return [f"{key(name)} = {value(setting)}" for name, setting in settings.items()]


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
