"""Write what packages install beside the program: a manual page and completions for bash, zsh and fish.

Usage: python packaging/share.py FOLDER   (share/man/man1/reticent.1, share/bash-completion/completions/reticent, ...)

Everything comes from the command line itself, so that it cannot be out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import typer
from typer._completion_shared import get_completion_script

from reticent import __version__
from reticent.cli.app import app

COMPLETIONS = {
    "bash": "share/bash-completion/completions/reticent",
    "zsh": "share/zsh/site-functions/_reticent",
    "fish": "share/fish/vendor_completions.d/reticent.fish",
}


def escaped(text: str) -> str:
    """Text that roff prints as it is."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def manual() -> str:
    """The manual page: every command with its arguments and options."""
    root = typer.main.get_command(app)
    lines = [
        f'.TH RETICENT 1 "" "reticent {__version__}" "User Commands"',
        ".SH NAME",
        "reticent \\- share data about people without giving anybody away",
        ".SH SYNOPSIS",
        ".B reticent",
        "COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
        escaped(
            "Finds the least distorted release of a table that meets a privacy definition, certifies it, and lets anybody check the certificate."
        ),
        ".SH COMMANDS",
        *(line for name, command in sorted(root.commands.items()) for line in described(f"reticent {name}", command)),
        ".SH EXIT STATUS",
        ".TP\n0\nIt holds, it was done.",
        ".TP\n1\nIt does not hold; a guarantee cannot be kept; a limit is not met.",
        ".TP\n2\nBad input.",
        ".TP\n3\nReticent failed on its own account.",
        ".SH ENVIRONMENT",
        ".TP\n.B RETICENT_LEDGER\nThe ledger's file.",
        ".TP\n.B RETICENT_TRACEBACK\nShow where an internal failure happened.",
    ]
    return "\n".join(lines) + "\n"


def described(name: str, command: object) -> Iterator[str]:
    """A command, and those below it."""
    below = getattr(command, "commands", {})
    yield f".SS {escaped(name)}"
    yield escaped(" ".join((getattr(command, "help", None) or "").split()))
    for parameter in getattr(command, "params", ()):
        shown = (
            ", ".join([*parameter.opts, *parameter.secondary_opts])
            if parameter.param_type_name == "option"
            else parameter.name.upper()
        )
        yield f".TP\n.B {escaped(shown)}"
        yield escaped(" ".join((getattr(parameter, "help", None) or "").split())) or "\\&"
    for inner, each in sorted(below.items()):
        yield from described(f"{name} {inner}", each)


def write(folder: Path) -> list[Path]:
    """Write all of it below ``folder``; the files that were written."""
    texts = {"share/man/man1/reticent.1": manual()}
    for shell, place in COMPLETIONS.items():
        texts[place] = (
            get_completion_script(prog_name="reticent", complete_var="_RETICENT_COMPLETE", shell=shell) + "\n"
        )
    for place, text in texts.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [folder / place for place in texts]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python packaging/share.py FOLDER")
    for written in write(Path(sys.argv[1])):
        print(written)
