"""The table of all commands. Command modules are cheap to import; they import their dependencies when they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from reticent.cli import (
    apply,
    assess,
    attack,
    audit,
    belief,
    certificate,
    demo,
    dossier,
    gate,
    grid,
    index,
    inspect,
    keys,
    knowledge,
    ledger,
    log,
    mcp,
    noise,
    postgres,
    preview,
    publish,
    query,
    randomize,
    report,
    republish,
    scan,
    schema,
    synthesize,
    verify,
    views,
    workbench,
)
from reticent.cli.options import add_commands

_COMMANDS = (
    demo,
    workbench,
    inspect,
    assess,
    preview,
    publish,
    verify,
    schema,
    gate,
    scan,
    attack,
    query,
    apply,
    report,
    dossier,
    belief,
)
_GROUPS = (
    republish,
    knowledge,
    randomize,
    noise,
    grid,
    index,
    synthesize,
    views,
    audit,
    ledger,
    keys,
    certificate,
    log,
    mcp,
    postgres,
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
    modules = {command.__name__.rpartition(".")[2]: command for command in (*_COMMANDS, *_GROUPS)}
    for name in words[:1] if words and words[0] in modules else modules:
        if modules[name] in _GROUPS:
            modules[name].register(app)
        else:
            add_commands(app, {name: getattr(modules[name], name)})
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        from reticent import __version__

        typer.echo(f"reticent {__version__}")
        raise typer.Exit


def reticent(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Share data about people without giving anybody away."""


app = app_for()
