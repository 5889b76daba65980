"""The table of all commands. Each module of a command is imported when the command is described; it imports its dependencies when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.options import add_commands

if TYPE_CHECKING:
    app: typer.Typer

_COMMANDS = (
    "demo",
    "workbench",
    "inspect",
    "assess",
    "preview",
    "publish",
    "verify",
    "schema",
    "gate",
    "scan",
    "attack",
    "query",
    "apply",
    "report",
    "dossier",
    "belief",
)
_GROUPS = (
    "republish",
    "knowledge",
    "randomize",
    "noise",
    "grid",
    "index",
    "synthesize",
    "views",
    "audit",
    "ledger",
    "keys",
    "certificate",
    "log",
    "mcp",
    "postgres",
)


def app_for(words: Sequence[str] = ()) -> typer.Typer:
    """Build the command line. If ``words[0]`` names a command, build only that one: describing all commands takes longer than many of them run."""
    app = typer.Typer(
        name="reticent",
        help="Share data about people without giving anybody away.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(reticent)
    names = (*_COMMANDS, *_GROUPS)
    for name in words[:1] if words and words[0] in names else names:
        module = import_module(f"reticent.cli.{name}")
        if name in _GROUPS:
            module.register(app)
        else:
            add_commands(app, {name: getattr(module, name)})
    return app


@cache
def _all_commands() -> typer.Typer:
    return app_for()


def __getattr__(name: str) -> Any:
    """The whole command line as ``app``, for programs that embed it: built on first use, since a single command does without."""
    if name == "app":
        return _all_commands()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _show_version(requested: bool) -> None:
    """Print the version and exit if it is requested."""
    if requested:
        from reticent import __version__

        typer.echo(f"reticent {__version__}")
        raise typer.Exit


def reticent(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Share data about people without giving anybody away."""
