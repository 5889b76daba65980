"""``reticent apply``: recode new rows with the recoding of an existing release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reticent.base.cards import PlainResult
from reticent.cli.console import Json, answer
from reticent.cli.options import ReadingOptions


def apply(
    release: Annotated[Path, typer.Argument(help="The folder of a release, including its private files.")],
    data: Annotated[
        str, typer.Argument(help="The new rows: any file that `reticent inspect` reads, or the address of a database.")
    ],
    reading: ReadingOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write: .csv, .parquet, .xlsx, .sav, .dta or .xpt.")
    ],
    unseen: Annotated[
        str,
        typer.Option(
            help="What to do with a value that the release does not cover: error, or suppress (drop its row)."
        ),
    ] = "error",
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            help="The policy of the release; its section data says how the new rows are read (types, missing values).",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recode new rows with the recoding of an existing release. The output was not checked against any definition: it
    is not a release.

    Example: reticent apply release new.csv --policy policy.toml -o recoded.csv
    """
    from typing import cast

    from reticent.core import Unseen
    from reticent.io import Source
    from reticent.policy import Policy
    from reticent.release import apply as recode
    from reticent.table import write_frame

    source = replace(Source.fitting(data, {} if policy is None else Policy.read(policy).reading), **reading.said())
    columns_found = source.columns()
    # Later rows may lack columns that the release dropped.
    source = replace(source, types={name: kind for name, kind in source.types.items() if name in columns_found})
    rows = source.read()
    recoded = recode(release, rows, cast(Unseen, unseen))
    write_frame(recoded, output)
    suppressed_rows = rows.height - recoded.height
    notes = source.codebook().notes()
    figures = {"output": output, "rows": recoded.height, "left_out": suppressed_rows, "notes": list(notes)}
    summary = f"{recoded.height:,} rows in {output}, {suppressed_rows:,} suppressed. The rows were not checked: this is not a release."
    answer(PlainResult.saying(summary, figures, notes=[f"Note: {note}" for note in notes]), as_json)
