"""``reticent grid``: what a sample on a public grid promises, before there is a table."""

from __future__ import annotations

from typing import Annotated

import typer

from reticent.cli.console import Json, answer
from reticent.cli.options import add_group


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "grid",
        "A public grid: samples and noisy counts that hide whether somebody is there.",
        {"plan": plan},
    )


def plan(
    sample: Annotated[str, typer.Option("--sample", help="The chance of every row to be sampled.")] = "0.2",
    epsilon: Annotated[
        str, typer.Option("--epsilon", help="How much one row more may change a chance: by e^epsilon.")
    ] = "1",
    delta: Annotated[str | None, typer.Option("--delta", help="Find the least number of rows for this delta.")] = None,
    least: Annotated[int | None, typer.Option("--least", help="Find delta for cells with so many rows.")] = None,
    as_json: Json = False,
) -> None:
    """How many sampled rows a cell must have to be shown, or what delta a number of rows gives.

    Example: reticent grid plan --sample 0.2 --epsilon 1 --delta 1e-6
    """
    from reticent.methods.grid import plan as make

    answer(make(sample, epsilon, "1e-6" if delta is None and least is None else delta, least), as_json)
