"""``reticent postgres``: the recoding of a release as a view in the database that holds the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.base.cards import PlainResult
from reticent.cli.console import Json, answer
from reticent.cli.options import PolicyArgument, add_group
from reticent.errors import PolicyError


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_group(app, "postgres", "Generalized views over tables of PostgreSQL.", {"views": views})


def views(
    policy: PolicyArgument,
    release: Annotated[Path, typer.Option("--release", help="A release of the policy, made with the method Lattice.")],
    name: Annotated[str, typer.Option("--name", help="The name of the view, such as reporting.visits.")],
    table: Annotated[
        str | None, typer.Option("--table", help="The table with the rows, such as raw.visits (default: the policy's).")
    ] = None,
    grant: Annotated[
        list[str] | None, typer.Option("--grant", help="A role that may select; repeat for several.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the statements to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Print the SQL of a view that recodes a table as a release does, with security_barrier, grants, and the
    certificate's hash as a comment.

    Example: reticent postgres views policy.toml --release release --name reporting.visits --grant analysts -o views.sql
    """
    from reticent.base.files import write_whole
    from reticent.policy import Policy
    from reticent.postgres import generalized_view

    rows = table or Policy.read(policy).sections.data.table
    if rows is None:
        raise PolicyError(f"{policy} names no table of a database. Name the one with the rows: --table raw.visits.")
    view = generalized_view(release, rows, name, grant=grant or ())
    if output is not None:
        write_whole(output, view.sql.encode())
    if output is None and not as_json:
        typer.echo(view.sql, nl=False)
        return
    answer(PlainResult.beside(view, {}, [f"Run it with psql -f {output}."]), as_json)
