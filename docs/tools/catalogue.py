"""Definitions and methods as Markdown: a table, and a section each with what is guaranteed, to whom, and how it is tested."""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import reticent
from docs.tools.api import body, example, parameter_table, signature
from docs.tools.docstrings import Docstring, in_cell
from reticent.definitions import Definition, GroupDefinition
from reticent.registry import DEFINITIONS, METHODS, Home

ROOT = Path(__file__).resolve().parents[2]
COSTS = {
    "groups": "Judged from the counts of groups, in one pass over groups and their values.",
    "plan": "Judged from the parameters of the mechanism; the rows are not read.",
    "history": "Judged from all releases of the series together.",
}
MOST_TESTS = 4


def definitions() -> str:
    """Every definition of the registry."""
    return "\n\n".join([_table(DEFINITIONS), *(_definition(name) for name in DEFINITIONS)])


def methods() -> str:
    """Every method of the registry."""
    return "\n\n".join([_table(METHODS), *(_method(name) for name in METHODS)])


def _table(names: dict[str, Home]) -> str:
    rows = [f"| [`{name}`](#{name.lower()}) | {in_cell(home.help)} |" for name, home in names.items()]
    return "\n".join(["| name | in one line |", "|---|---|", *rows])


def _definition(name: str) -> str:
    kind = getattr(reticent, name)
    parts = Docstring.of(kind)
    said = parts.statements
    trust = {
        "Guarantee": said.get("Guarantee", ""),
        "Adversary": said.get("Adversary", ""),
        "Not covered": said.get("Not covered") or _not_covered(name, parts),
        "Source": said.get("Source", "none: defined here"),
        "Tests": _tests(name),
        "Cost": said.get("Cost") or COSTS.get(kind.kind, ""),
        "Kept by": _kept_by(kind),
        "More": _discussion(name),
    }
    return "\n\n".join(
        part
        for part in (
            f"## {name}",
            signature(f"rt.{name}", kind),
            parts.summary,
            _trust(trust),
            parts.prose,
            parameter_table(parts, kind) if parts.parameters else "",
            example(parts.example) if parts.example else "",
        )
        if part
    )


def _method(name: str) -> str:
    kind = getattr(reticent, name)
    parts = Docstring.of(kind)
    trust = {"Tests": _tests(name), "More": _discussion(name)}
    return "\n\n".join([f"## {name}", signature(f"rt.{name}", kind), body(parts, kind), _trust(trust)])


def _trust(rows: dict[str, str]) -> str:
    shown = [f"| **{label}** | {in_cell(text)} |" for label, text in rows.items() if text]
    return "\n".join(["| | |", "|---|---|", *shown])


def _kept_by(kind: type[Definition]) -> str:
    if issubclass(kind, GroupDefinition):
        order = "monotone: a coarser release is at least as safe" if kind.monotone is True else ""
        return f"{kind.kept_by}{f'; {order}' if order else ''}"
    return kind.kept_by


def _not_covered(name: str, parts: Docstring) -> str:
    """What the definition itself says that it does not cover, for the parameters of its example."""
    made = instance(name, parts.example)
    return made.not_covered() if isinstance(made, Definition) else ""


def instance(name: str, text: str) -> Any:
    """The first instance that the example of a docstring makes; None if there is none."""
    call = re.search(rf"\b{name}\(", text)
    if call is None:
        return None
    source = "\n".join(re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", text, re.MULTILINE))
    start = re.search(rf"(?:\w+\.)?\b{name}\(", source)
    assert start is not None
    depth, end = 1, start.end()
    while depth:
        depth += {"(": 1, ")": -1}.get(source[end], 0)
        end += 1
    names: dict[str, Any] = {"rt": reticent}
    written = source[start.start() : end]
    try:
        return eval(written, names)
    except NameError:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
            for line in source.splitlines():
                exec(line, names)
        return eval(written, names)


@cache
def _test_texts() -> dict[Path, str]:
    return {path: path.read_text("utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))}


@cache
def _calls() -> dict[Path, Counter[str]]:
    """How often each test file calls each name."""
    return {path: Counter(re.findall(r"\b([A-Z]\w*)\(", text)) for path, text in _test_texts().items()}


def _tests(name: str) -> str:
    """The test files that name it most often, with the oracles that they compare with."""
    counts = _calls()
    often = sorted((path for path in counts if counts[path][name]), key=lambda path: -counts[path][name])
    compared = [path for path in often if "oracles" in _test_texts()[path]]
    chosen = list(dict.fromkeys([*compared[: MOST_TESTS // 2], *often[:MOST_TESTS]]))[:MOST_TESTS]
    oracles = {
        oracle
        for path in chosen
        for line in re.findall(
            r"^from tests\.oracles(?:\.(\w+) import|\ import (\w+))", _test_texts()[path], re.MULTILINE
        )
        for oracle in line
        if oracle
    }
    shown = ", ".join(f"`{path.relative_to(ROOT)}`" for path in chosen)
    against = ", ".join(f"`tests/oracles/{oracle}.py`" for oracle in sorted(oracles))
    return f"{shown}{f'; oracles: {against}' if against else ''}"


@cache
def _pages() -> dict[str, str]:
    folders = ("reference", "how-to", "explanations")
    return {
        f"../{path.parent.name}/{path.name}": path.read_text("utf-8")
        for folder in folders
        for path in sorted((ROOT / "docs" / folder).glob("*.md"))
    }


@cache
def _mentions() -> dict[str, Counter[str]]:
    """How often each page writes each word."""
    return {page: Counter(re.findall(r"\w+", text)) for page, text in _pages().items()}


def _discussion(name: str) -> str:
    """The section about it on the page about definitions, or the pages that write its name most often."""
    if re.search(rf"^## {name}$", _pages()["../reference/definitions.md"], re.MULTILINE):
        return f"[What private means: {name}](definitions.md#{name.lower()})"
    counts = _mentions()
    often = [page for page in sorted(counts, key=lambda page: -counts[page][name]) if counts[page][name]][:2]
    return ", ".join(f"[{_title(page)}]({page})" for page in often)


def _title(page: str) -> str:
    return _pages()[page].partition("\n")[0].lstrip("# ").strip()
