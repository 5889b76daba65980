"""The command line as Markdown, read from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from docs.tools.docstrings import in_cell
from reticent.cli.app import app

_EXAMPLE = re.compile(r"^Example: (.*)$", re.MULTILINE)


def commands() -> str:
    """Every command with its usage, options and examples."""
    root = typer.main.get_command(app)
    listed = list(_walk("reticent", root))
    rows = [f"| [`{path}`](#{anchor(path)}) | {in_cell(_first(command))} |" for path, command in listed]
    return "\n\n".join(["\n".join(["| command | |", "|---|---|", *rows]), *(_section(*each) for each in listed)])


def _walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", None)
    if not below:
        yield path, command
        return
    for name, each in below.items():
        yield from _walk(f"{path} {name}", each)


def anchor(path: str) -> str:
    """The anchor of a command's section."""
    return path.replace(" ", "-")


def _first(command: Any) -> str:
    return str(command.help or "").partition("\n\n")[0]


def _section(path: str, command: Any) -> str:
    about = _EXAMPLE.sub("", str(command.help or "")).strip()
    parts = [f"## {path}", f"```text\n{path} {_usage(command)}\n```", re.sub(r"\n{3,}", "\n\n", about)]
    examples = [each for text in _EXAMPLE.findall(str(command.help or "")) for each in text.split("; ")]
    if examples:
        parts.append("```bash\n" + "\n".join(examples) + "\n```")
    visible = [each for each in command.params if not getattr(each, "hidden", False) and each.name != "help"]
    context = typer.Context(command)
    rows = [
        f"| {_name(each)} | {_kind(each, context)} | {in_cell(getattr(each, 'help', None) or '')} |" for each in visible
    ]
    if rows:
        parts.append("\n".join(["| argument or option | value | meaning |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _usage(command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = ["[OPTIONS]"] if any(each.param_type_name == "option" for each in command.params) else []
    shown = [each.name.upper() if each.required else f"[{each.name.upper()}]" for each in arguments]
    return " ".join([*options, *shown])


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{each}`" for each in (*parameter.opts, *parameter.secondary_opts))


def _kind(parameter: Any, context: typer.Context) -> str:
    if getattr(parameter, "is_flag", False):
        return "on or off" if parameter.secondary_opts else ""
    kind = str(parameter.display_type(context)).strip("<>")
    parts = [f"`{in_cell(kind)}`"]
    if parameter.multiple or parameter.nargs != 1:
        parts.append("repeatable")
    default = parameter.default
    if parameter.required:
        parts.append("required")
    elif default is not None and not callable(default) and str(default) not in ("", "()", "[]"):
        parts.append(f"default `{in_cell(str(getattr(default, 'value', default)))}`")
    return ", ".join(parts)
