"""Docstrings as Markdown."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Any

_SECTION = re.compile(r"^(Parameters|Returns|Raises|Attributes|Yields|Example|Examples):$", re.MULTILINE)
_LABEL = re.compile(
    r"(?:(?<=[.;:)] )|^)\*?(Guarantee|Adversary|Not covered|Source|Cost|Utility)\*?((?: \([^)]*\))?):\s", re.MULTILINE
)
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`([^`]+)`")
_LISTED = re.compile(r"^(``[^`]+``(?:, ``[^`]+``)*)  +(?=\S)")


@dataclass(frozen=True)
class Docstring:
    """A docstring in parts: first paragraph, labelled statements such as ``Guarantee``, other prose, sections."""

    summary: str = ""
    statements: dict[str, str] = field(default_factory=dict)
    prose: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    raises: str = ""
    example: str = ""

    @classmethod
    def of(cls, thing: Any) -> Docstring:
        """Parse the docstring that ``thing`` itself has; empty if there is none."""
        text = thing.__doc__ if isinstance(thing, type) else getattr(thing, "__doc__", None)
        return cls.parse(inspect.cleandoc(text)) if text and not _written_by_dataclass(thing, text) else cls()

    @classmethod
    def parse(cls, text: str) -> Docstring:
        pieces = _SECTION.split(text)
        sections = {name: inspect.cleandoc("\n" + body) for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}
        summary, _, rest = pieces[0].partition("\n\n")
        statements: dict[str, str] = {}
        kept = []
        for paragraph in f"{summary}\n\n{rest}".split("\n\n"):
            split = _LABEL.split(paragraph)
            kept.append(split[0].strip("\n"))
            for label, remark, body in zip(split[1::3], split[2::3], split[3::3], strict=True):
                said = f"{remark.strip()} {body.strip()}".strip()
                statements[label] = f"{statements[label]} {said}" if label in statements else said
        return cls(
            markdown(kept[0]),
            {label: markdown(body) for label, body in statements.items()},
            markdown("\n\n".join(paragraph for paragraph in kept[1:] if paragraph.strip())),
            _entries(sections.get("Parameters", "") or sections.get("Attributes", "")),
            markdown(sections.get("Returns", "") or sections.get("Yields", "")),
            markdown(sections.get("Raises", "")),
            (sections.get("Example", "") or sections.get("Examples", "")).strip(),
        )


def _written_by_dataclass(thing: Any, text: str) -> bool:
    return isinstance(thing, type) and text.startswith(f"{thing.__name__}(")


def _entries(text: str) -> dict[str, str]:
    """``name: meaning`` by line, where indented lines continue an entry."""
    entries: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        start = re.match(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*): (.*)", line)
        if start:
            name = start[1]
            entries[name] = start[2]
        elif name:
            entries[name] += f" {line.strip()}"
    return {each: markdown(meaning) for each, meaning in entries.items()}


def markdown(text: str) -> str:
    """Docstring prose as Markdown: literals, roles, lists of names and indented blocks."""
    lines = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        rows = paragraph.splitlines()
        if sum(bool(_LISTED.match(row)) for row in rows) >= 2:
            lines.append("\n".join(_list_row(row) for row in rows))
        elif rows and all(row.startswith("    ") or not row for row in rows):
            lines.append("```text\n" + inspect.cleandoc("\n" + paragraph) + "\n```")
        else:
            lines.append("\n".join(row.strip() if not row.lstrip().startswith(("*", "-")) else row for row in rows))
    joined = "\n\n".join(lines)
    joined = _ROLE.sub(lambda role: "`" + role[1].lstrip("~.").rpartition(".")[2] + "`", joined)
    return re.sub(r"``([^`]+)``", r"`\1`", joined)


def _list_row(row: str) -> str:
    start = _LISTED.match(row)
    return f"- {start[1]}: {row[start.end() :]}" if start else f"  {row.strip()}"


def in_cell(text: str) -> str:
    """Text that fits a cell of a Markdown table."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))
