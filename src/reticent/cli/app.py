"""All commands in one place. Command modules are cheap to import; what they do is imported when they run."""

from __future__ import annotations

import typer

from reticent.cli import assess, inspect, keys, publish, query, verify

app = typer.Typer(
    name="reticent",
    help="Share data about people without giving anybody away.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def reticent() -> None:
    """Share data about people without giving anybody away."""


for command in (inspect, assess, publish, verify, query, keys):
    command.register(app)
