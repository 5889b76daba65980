"""All commands in one place. Command modules are cheap to import; what they do is imported when they run."""

from __future__ import annotations

from typing import Annotated

import typer

from reticent.cli import (
    apply,
    assess,
    attack,
    audit,
    belief,
    demo,
    inspect,
    keys,
    knowledge,
    ledger,
    preview,
    publish,
    query,
    randomize,
    report,
    verify,
    views,
)

app = typer.Typer(
    name="reticent",
    help="Share data about people without giving anybody away.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from reticent import __version__

        typer.echo(f"reticent {__version__}")
        raise typer.Exit


@app.callback()
def reticent(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Share data about people without giving anybody away."""


_COMMANDS = (demo, inspect, assess, preview, publish, verify, attack, query, apply, report)
_GROUPS = (knowledge, belief, randomize, views, audit, ledger, keys)

for command in (*_COMMANDS, *_GROUPS):
    command.register(app)
