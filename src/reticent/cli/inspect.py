"""``reticent inspect``: profile a table and propose a first policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.base.cards import PlainResult
from reticent.cli.console import Details, Json, answer, working
from reticent.cli.options import ReadingOptions
from reticent.errors import DataError, PolicyError

if TYPE_CHECKING:
    from reticent.policy import Inspection


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
        typer.Option("--output", "-o", help="The policy file to write (default: policy.toml); - prints it."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing policy.")] = False,
    details: Details = False,
    template: Annotated[
        str | None,
        typer.Option(
            help="A purpose to propose for: hipaa-safe-harbor, public-use, ema-prci, cms-11 or research. The first note says what it does not cover."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Profile a table, propose roles and hierarchies, and write a policy that `publish` accepts.

    Example: reticent inspect patients.csv -o policy.toml
    """
    from reticent.policy import inspect as look

    policy_file, printed = output or Path("policy.toml"), output == Path("-")
    if policy_file.exists() and not force and not printed:
        raise PolicyError(f"{policy_file} exists already. Choose another name with -o, or overwrite it with --force.")
    with working("Profiling every column ...", as_json) as context:
        inspected = look(
            data,
            output=policy_file,
            **reading.said(),
            template=template,
            context=context,
        )
    if printed and not as_json:
        typer.echo(inspected.policy, nl=False)
        return
    unwritten = None if printed else _problem_writing(inspected, policy_file, is_requested=output is not None)
    written_file = None if printed or unwritten else policy_file
    notes = (
        [unwritten]
        if unwritten
        else [
            f"The policy is in {policy_file}. Read it, correct it, then:",
            f"  reticent preview {policy_file}",
            f"  reticent publish {policy_file} -o release",
        ]
    )
    answer(PlainResult.beside(inspected, {"policy": written_file}, notes), as_json, details)


def _problem_writing(inspected: Inspection, path: Path, *, is_requested: bool) -> str | None:
    """Write the policy. If it fails and no file was requested, return the reason as a note, so that the profile is still shown."""
    try:
        inspected.save(path)
    except OSError as error:
        problem = f"The policy could not be written to {path}: {error.strerror or error}. Name a file with -o, or print it with -o -."
        if is_requested:
            raise DataError(problem) from None
        return problem
    return None
