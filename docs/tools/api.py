"""Public names as Markdown: signature, what it does, parameters, example, and the members of classes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from types import ModuleType
from typing import Any

import reticent
from docs.tools.docstrings import Docstring, in_cell, markdown
from reticent.registry import DEFINITIONS, METHODS, PUBLIC, ROOMS

WIDTH = 88
GROUPS: dict[str, tuple[str, ...]] = {
    "publishing": (
        *("inspect", "read", "assess", "search", "preview", "compare", "publish", "Release", "apply", "verify"),
        *("gate", "attack", "report", "dossier", "Context", "register"),
    ),
    "tables": (
        *("Table", "Hierarchy", "Rounding", "Digits", "Bins", "CalendarUnit", "Microaggregation", "Groups"),
        *("Definition", "Assessment", "homogeneity_audit"),
    ),
    "errors": tuple(name for name, module in PUBLIC.items() if module == "reticent.errors"),
}
"""Names of ``rt.`` beside definitions, methods and packages, by page."""


def group(name: str) -> str:
    """A page of names of ``rt.``."""
    things = {f"rt.{each}": getattr(reticent, each) for each in GROUPS[name]}
    return "\n\n".join([_contents(things), *(_entry(each, thing, "##") for each, thing in things.items())])


def package(name: str) -> str:
    """A page of the names of a public package, ``rt.NAME``."""
    module = import_room(name)
    own = [each for each in module.__all__ if each not in DEFINITIONS and each not in METHODS]
    things = {f"rt.{name}.{each}": getattr(module, each) for each in own}
    parts = [Docstring.of(module).summary, _contents(things)]
    parts += [_entry(each, thing, "##") for each, thing in things.items()]
    shared = [each for each in module.__all__ if each in DEFINITIONS or each in METHODS]
    if shared:
        parts.append("Also here: " + ", ".join(reference(each) for each in shared) + ".")
    return "\n\n".join(part for part in parts if part)


def _contents(things: dict[str, Any]) -> str:
    """A table of names, each with what it is in a line."""
    rows = [
        f"| [`{name}`](#{re.sub(r'[^a-z0-9_]', '', name.lower())}) | {in_cell(Docstring.of(thing).summary if callable(thing) or isinstance(thing, ModuleType) else 'constant')} |"
        for name, thing in things.items()
    ]
    return "\n".join(["| name | |", "|---|---|", *rows])


def import_room(name: str) -> ModuleType:
    module = getattr(reticent, name)
    assert isinstance(module, ModuleType), name
    return module


def reference(name: str) -> str:
    """A link from an API page to the page of a definition or method."""
    page = "definition-list" if name in DEFINITIONS else "method-list"
    return f"[`{name}`](../{page}.md#{name.lower()})"


def documented() -> set[str]:
    """Every name of ``rt.`` that a page shows."""
    return {*DEFINITIONS, *METHODS, *ROOMS, *(name for names in GROUPS.values() for name in names)}


def _entry(name: str, thing: Any, level: str) -> str:
    if isinstance(thing, ModuleType):
        about = Docstring.of(thing)
        names = ", ".join(f"`{each}`" for each in getattr(thing, "__all__", ()))
        return "\n\n".join(
            part for part in (f"{level} `{name}`", about.summary, f"Names: {names}." if names else "") if part
        )
    if not callable(thing):
        return f"{level} `{name}`\n\n{_constant(thing)}"
    parts = [f"{level} `{name}`", signature(name, thing), body(Docstring.of(thing), thing)]
    if isinstance(thing, type) and not issubclass(thing, BaseException):
        parts.append(_members(thing))
    return "\n\n".join(part for part in parts if part)


def _constant(thing: Any) -> str:
    shown = repr(thing)
    kind = f"A constant of type `{type(thing).__name__}`"
    return f"{kind}: `{shown}`." if len(shown) <= WIDTH and "`" not in shown and " at 0x" not in shown else f"{kind}."


def body(parts: Docstring, thing: Any) -> str:
    """A docstring below its signature."""
    blocks = [parts.summary]
    blocks += [f"**{label}**: {text}" for label, text in parts.statements.items()]
    blocks.append(parts.prose)
    if parts.parameters:
        blocks.append(parameter_table(parts, thing))
    if parts.returns:
        blocks.append(f"**Returns**: {parts.returns}")
    if parts.raises:
        blocks.append(f"**Raises**: {parts.raises}")
    if parts.example:
        blocks.append(example(parts.example))
    return "\n\n".join(block for block in blocks if block)


def parameter_table(parts: Docstring, thing: Any) -> str:
    """Parameters with their defaults and meanings."""
    try:
        known = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        known = {}
    rows = ["| parameter | default | meaning |", "|---|---|---|"]
    for names, meaning in parts.parameters.items():
        listed = [each.strip().lstrip("*") for each in names.split(",")]
        defaults = [_default(known[each].default) for each in listed if each in known]
        shown = " ".join(f"`{each}`" for each in dict.fromkeys(defaults) if each)
        rows.append(f"| {', '.join(f'`{each}`' for each in listed)} | {in_cell(shown)} | {in_cell(meaning)} |")
    return "\n".join(rows)


def example(text: str) -> str:
    """An example as a block; plain text between its lines stays prose."""
    return f"```pycon\n{re.sub(r'  # doctest: .*', '', text)}\n```"


def signature(name: str, thing: Any) -> str:
    """The call in a block, one parameter a line where it is long."""
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return ""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    shown = list(_parameters(found.parameters.values()))
    result = "" if isinstance(thing, type) else _annotation(found.return_annotation)
    arrow = f" -> {result}" if result else ""
    line = f"{name}({', '.join(shown)}){arrow}"
    if len(line) > WIDTH:
        line = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + f"){arrow}"
    return f"```python\n{line}\n```"


def _parameters(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    seen_star = False
    for each in parameters:
        if each.name == "self" or each.name == "cls" or each.name.startswith("_"):
            continue
        if each.kind is each.KEYWORD_ONLY and not seen_star:
            seen_star = True
            yield "*"
        star = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        seen_star = seen_star or each.kind is each.VAR_POSITIONAL
        kind, default = _annotation(each.annotation), _default(each.default)
        typed = f"{star}{each.name}: {kind}" if kind else f"{star}{each.name}"
        yield f"{typed} = {default}" if default and kind else f"{typed}={default}" if default else typed


def _annotation(kind: Any) -> str:
    if kind is inspect.Parameter.empty:
        return ""
    shown = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", shown.replace("typing.", ""))


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return ""
    shown = repr(value)
    return "..." if " at 0x" in shown or shown.startswith("<") or len(shown) > WIDTH else shown


def _members(thing: type) -> str:
    """Public methods and properties that the class or a public base documents, in a table or as entries."""
    rows = []
    for name, member in inspect.getmembers_static(thing):
        owner = next((each for each in thing.__mro__ if name in vars(each)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("reticent"):
            continue
        target, called = _target(member)
        if target is None or not inspect.getdoc(target):
            continue
        first = markdown((inspect.getdoc(target) or "").partition("\n\n")[0])
        rows.append(f"| `{name}{_call(target) if called else ''}` | {in_cell(first)} |")
    return "\n".join(["| member | |", "|---|---|", *rows]) if rows else ""


def _target(member: Any) -> tuple[Any, bool]:
    """The function behind a member and whether it is called; None for plain values."""
    if isinstance(member, property):
        return member.fget, False
    if isinstance(member, cached_property):
        return member.func, False
    if isinstance(member, classmethod | staticmethod):
        return member.__func__, True
    return (member, True) if inspect.isfunction(member) else (None, False)


def _call(function: Any) -> str:
    names = []
    for each in inspect.signature(function).parameters.values():
        if each.name in ("self", "cls"):
            continue
        default = _default(each.default)
        names.append(f"{each.name}={default}" if default else each.name)
    shown = ", ".join(names)
    return f"({in_cell(shown)})" if "`" not in shown else "(...)"
