"""``reticent inspect``: what is in a table, and a policy to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.console import Details, Json, answer, table, working
from reticent.cli.options import ReadingOptions
from reticent.errors import DataError, PolicyError

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.policy import Inspection
    from reticent.propose import Proposal, Tradeoff

_NOTES_SHOWN = 4
_ROLES = {
    "identifier": "dropped: names people",
    "quasi": "generalized: others may know it",
    "sensitive": "published, kept uncertain: nobody may learn it",
    "weight": "survey weight, not published",
    None: "not published",
}


def inspect(
    data: Annotated[
        str,
        typer.Argument(
            help="A file (CSV, Parquet, Excel, SPSS, Stata, SAS, SQLite, DuckDB ...) or the address of a database."
        ),
    ],
    reading: ReadingOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where the proposed policy is written (default: policy.toml); - prints it."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing policy.")] = False,
    details: Details = False,
    template: Annotated[
        str | None,
        typer.Option(
            help="A purpose to propose for: hipaa-safe-harbor, public-use, ema-prci, cms-11 or research. Its first note says what it does not settle."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Profile a table, propose roles and hierarchies, and write a policy that `publish` accepts.

    Example: reticent inspect patients.csv -o policy.toml
    """
    from reticent.policy import inspect as look

    place, printed = output or Path("policy.toml"), output == Path("-")
    if place.exists() and not force and not printed:
        raise PolicyError(f"{place} exists already. Choose another name with -o, or overwrite it with --force.")
    with working("Profiling every column ...", as_json) as context:
        inspected = look(
            data,
            output=place,
            **reading.said(),
            template=template,
            context=context,
        )
    if printed and not as_json:
        typer.echo(inspected.policy, nl=False)
        return
    unwritten = None if printed else _unwritten(inspected, place, asked=output is not None)
    found = inspected.proposal
    payload: dict[str, Any] = {
        "ok": True,
        "rows": found.rows,
        "columns": [column.as_dict() for column in found.columns],
        "definition": list(found.definition),
        "headline": list(found.headline),
        "notes": list(found.notes),
        "left_out": [{"column": each.column, "price": each.price} for each in inspected.priced.left_out],
        "prices": [price.as_dict() for price in inspected.priced.prices],
        "methods": None if inspected.priced.compared is None else inspected.priced.compared.as_dict(),
        "policy": None if printed or unwritten else place,
        "text": inspected.text,
    }
    answer(payload, as_json, lambda console: _render(console, inspected.priced, place, unwritten, details))


def _unwritten(inspected: Inspection, place: Path, *, asked: bool) -> str | None:
    """Write the policy. Why it cannot be written where nobody asked for it is told, and what was found is shown all the same."""
    try:
        inspected.save(place)
    except OSError as error:
        why = f"The policy could not be written to {place}: {error.strerror or error}. Name a file with -o, or print it with -o -."
        if asked:
            raise DataError(why) from None
        return why
    return None


def _render(console: Console, priced: Tradeoff, output: Path, unwritten: str | None, details: bool) -> None:
    from reticent.cli.screens import show_methods

    found = priced.proposal
    if details:
        _render_details(console, found)
    else:
        _render_roles(console, found)
    if details and priced.prices:
        costs = [(price.definition + (" (proposed)" if price.chosen else ""), price.words) for price in priced.prices]
        console.print(table("What promises cost", ("definition", "price"), costs))
    show_methods(console, None if priced.compared is None else priced.compared.as_dict())
    for warning in found.headline:
        console.print(f"Read first: {warning}", style="yellow")
    kept = found.notes if details else found.notes[:_NOTES_SHOWN]
    for note in kept:
        console.print(f"Note: {note}")
    more = len(found.notes) - len(kept)
    if more:
        what = "1 more note is" if more == 1 else f"{more} more notes are"
        console.print(f"{what} in the policy, and shown by --details.")
    if unwritten is not None:
        console.print(f"\n{unwritten}")
        return
    console.print(f"\nThe policy is in {output}. Read it, correct it, then:")
    console.print(f"  reticent preview {output}\n  reticent publish {output} -o release")


def _render_roles(console: Console, found: Proposal) -> None:
    """The columns of each role in a line, with what becomes of them."""
    console.print(f"{found.rows:,} rows, {len(found.columns)} columns")
    rows = [
        (words, ", ".join(column.name for column in found.columns if column.role == role))
        for role, words in _ROLES.items()
        if any(column.role == role for column in found.columns)
    ]
    console.print(table("Proposed roles", ("what happens", "columns"), rows))
    console.print()


def _render_details(console: Console, found: Proposal) -> None:
    """Every column: what is in it, its role, and why."""
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
    console.print()
