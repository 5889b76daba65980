"""``reticent query``: counting queries on a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.console import Json, answer

if TYPE_CHECKING:
    from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("query")(query)


def query(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    condition: Annotated[str, typer.Argument(help='A condition as in SQL, such as "age between 30 and 40".')],
    estimator: Annotated[
        str, typer.Option(help="uniform: the expected number; intersect: everybody who could meet it.")
    ] = "uniform",
    as_json: Json = False,
) -> None:
    """Count the rows of a release that meet a condition, with the error that comes from its coarseness.

    Example: reticent query release "age between 30 and 40 and diagnosis = 'flu'"
    """
    from reticent.randomize import is_view, open_published

    if is_view(release):
        from reticent.cli.randomized import show_estimate

        made = open_published(release).count(condition, estimator)
        answer({"ok": True, **made.describe()}, as_json, lambda console: show_estimate(console, made))
        return
    from reticent.release import open_public

    found = open_public(release).count(condition, estimator)
    payload: dict[str, Any] = {"ok": True, **found.describe()}
    answer(payload, as_json, lambda console: _render(console, found))


def _render(console: Console, found: Any) -> None:
    low, high = found.bounds
    error = f" (standard error {found.standard_error:,.1f})" if found.standard_error is not None else ""
    value = f"{found.value:,.1f}".removesuffix(".0")
    console.print(f"{value} of {found.rows:,} published rows{error}", markup=False)
    console.print(f"For certain between {low:,} and {high:,}.", markup=False)
