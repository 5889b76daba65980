"""``reticent postgres``: a release's recoding as a view in the database that has the rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli.console import Json, answer
from reticent.cli.options import PolicyArgument, add_group
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.postgres import GeneralizedView


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_group(app, "postgres", "Generalized views over tables of PostgreSQL.", {"views": views})


def views(
    policy: PolicyArgument,
    release: Annotated[Path, typer.Option("--release", help="A release of the policy, made by Lattice.")],
    name: Annotated[str, typer.Option("--name", help="The view, such as reporting.visits.")],
    table: Annotated[
        str | None, typer.Option("--table", help="The table with the rows, such as raw.visits (default: the policy's).")
    ] = None,
    grant: Annotated[
        list[str] | None, typer.Option("--grant", help="A role that may select; repeat for several.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the statements to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Print the statements of a view that shows a table's rows as a release recodes them: security_barrier, grants, the certificate's hash as comment.

    Example: reticent postgres views policy.toml --release release --name reporting.visits --grant analysts -o views.sql
    """
    from reticent.base.files import write_whole
    from reticent.policy import Policy
    from reticent.postgres import generalized_view

    rows = table or Policy.read(policy).sections.data.table
    if rows is None:
        raise PolicyError(f"{policy} names no table of a database. Name the one with the rows: --table raw.visits.")
    made = generalized_view(release, rows, name, grant=grant or ())
    if output is not None:
        write_whole(output, made.sql.encode())
    answer({"ok": True, **made.as_dict()}, as_json, lambda console: _render(console, made, output))


def _render(console: Console, made: GeneralizedView, output: Path | None) -> None:
    if output is None:
        typer.echo(made.sql, nl=False)
        return
    console.print(f"{output} makes the view {made.name} of {made.table}; run it with psql -f {output}.")
    console.print(f"Counted whenever it is queried: {'; '.join(made.checked)}.")
    console.print("It does not promise what a release does:")
    for line in made.not_promised:
        console.print(f"- {line}")
