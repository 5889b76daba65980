"""``reticent inspect``: what is in a table, and a policy to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.console import Json, answer, table, working

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.propose import Proposal


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("inspect")(inspect)


def inspect(
    data: Annotated[str, typer.Argument(help="A CSV, Parquet, Arrow or DuckDB file, or a postgresql:// address.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the proposed policy is written.")] = Path(
        "policy.toml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing policy.")] = False,
    database_table: Annotated[str | None, typer.Option("--table", help="The table of a database.")] = None,
    query: Annotated[str | None, typer.Option("--query", help="A query to a database instead of a table.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="The delimiter of a CSV file, if the guess is wrong.")] = None,
    encoding: Annotated[str | None, typer.Option(help="The encoding of a CSV file, if the guess is wrong.")] = None,
    as_json: Json = False,
) -> None:
    """Profile a table, propose roles and hierarchies, and write a policy that `publish` accepts.

    Example: reticent inspect patients.csv -o policy.toml
    """
    from reticent.errors import PolicyError
    from reticent.policy import inspect as look

    if output.exists() and not force:
        raise PolicyError(f"{output} exists already. Choose another name with -o, or overwrite it with --force.")
    with working("Profiling every column ...", as_json):
        inspected = look(data, output=output, table=database_table, query=query, delimiter=delimiter, encoding=encoding)
    inspected.save(output)
    found = inspected.proposal
    payload: dict[str, Any] = {
        "ok": True,
        "rows": found.rows,
        "columns": [column.as_dict() for column in found.columns],
        "definition": list(found.definition),
        "notes": list(found.notes),
        "policy": output,
    }
    answer(payload, as_json, lambda console: _render(console, found, output))


def _render(console: Console, found: Proposal, output: Path) -> None:
    looks = [
        (
            column.name,
            column.profile.type,
            f"{column.profile.distinct:,}",
            column.profile.nulls or "",
            f"{float(column.profile.uniqueness):.0%}",
            ", ".join(map(str, column.profile.examples[:3])),
        )
        for column in found.columns
    ]
    console.print(table(f"{found.rows:,} rows", ("column", "type", "values", "missing", "alone", "examples"), looks))
    roles = [(column.name, column.role or "not published", column.reason) for column in found.columns]
    console.print(table("Proposed roles", ("column", "role", "why"), roles))
    for note in found.notes:
        console.print(f"Note: {note}", markup=False)
    console.print(f"\nThe policy is in {output}. Read it, correct it, then:", markup=False)
    console.print(f"  reticent assess {output}\n  reticent publish {output} -o release", markup=False)
