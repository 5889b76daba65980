"""``reticent query``: counting queries on a release."""

from __future__ import annotations

from typing import Annotated

import typer

from reticent.cli.console import Json, answer, working
from reticent.cli.options import ReleaseArgument


def query(
    release: ReleaseArgument,
    condition: Annotated[str, typer.Argument(help='A condition as in SQL, such as "age between 30 and 40".')],
    estimator: Annotated[
        str,
        typer.Option(
            help="uniform: the expected number if values are uniform within a group; intersect: all who could meet the condition; people: rows behind distinct records."
        ),
    ] = "uniform",
    as_json: Json = False,
) -> None:
    """Count the rows of a release that meet a condition: certain lower and upper bounds, and an estimate.

    Example: reticent query release "age between 30 and 40 and diagnosis = 'flu'"
    """
    from reticent.release import open_public

    with working("Reading the release ...", as_json) as context:
        side = open_public(release, context=context)
        context.step("counting")
        counted = side.count(condition, estimator)
    answer(counted, as_json)
