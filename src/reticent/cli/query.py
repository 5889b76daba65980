"""``reticent query``: counting queries on a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.console import Json, answer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("query")(query)


def query(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    condition: Annotated[str, typer.Argument(help='A condition as in SQL, such as "age between 30 and 40".')],
    estimator: Annotated[
        str,
        typer.Option(
            help="uniform: the expected number; intersect: everybody who could meet it; people: rows behind distinct records."
        ),
    ] = "uniform",
    as_json: Json = False,
) -> None:
    """Count the rows of a release that meet a condition, with the error that comes from its coarseness.

    Example: reticent query release "age between 30 and 40 and diagnosis = 'flu'"
    """
    from reticent.release import open_public

    found = open_public(release).count(condition, estimator)
    answer(
        {"ok": True, **found.describe()}, as_json, lambda console: console.print(*found.lines(), sep="\n", markup=False)
    )
