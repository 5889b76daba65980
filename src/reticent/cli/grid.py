"""``reticent grid``: the guarantee of a sample on a public grid, computed before there is any data."""

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
        "Public grids: samples and noisy counts that hide whether a person is in the data.",
        {"plan": plan},
    )


def plan(
    sample: Annotated[str, typer.Option("--sample", help="The sampling probability of each row.")] = "0.2",
    epsilon: Annotated[
        str, typer.Option("--epsilon", help="One added row may change a probability by a factor of e^epsilon.")
    ] = "1",
    delta: Annotated[
        str | None, typer.Option("--delta", help="Find the minimum number of rows for this delta.")
    ] = None,
    least: Annotated[int | None, typer.Option("--least", help="Find delta for this minimum number of rows.")] = None,
    as_json: Json = False,
) -> None:
    """Compute the minimum number of sampled rows for a cell to be published, or the delta of a given minimum.

    Example: reticent grid plan --sample 0.2 --epsilon 1 --delta 1e-6
    """
    from reticent.methods.grid import plan as make

    answer(make(sample, epsilon, "1e-6" if delta is None and least is None else delta, least), as_json)
