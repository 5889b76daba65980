"""``reticent apply``: rows that came later, recoded as a release recoded the first ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.console import Json, answer


def apply(
    release: Annotated[Path, typer.Argument(help="The folder of a release, with its private side.")],
    data: Annotated[str, typer.Argument(help="The new rows: CSV, Parquet, Arrow.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write: .csv, .parquet, .xlsx, .sav, .dta or .xpt.")
    ],
    unseen: Annotated[
        str,
        typer.Option(
            help="How to treat a value that the release does not cover: error, or suppress (leave its row out)."
        ),
    ] = "error",
    as_json: Json = False,
) -> None:
    """Recode rows that came later as a release recoded the first ones. What is written was not judged: it is not a release.

    Example: reticent apply release new.csv -o recoded.csv
    """
    from typing import cast

    from reticent.core import Unseen
    from reticent.io import read_frame
    from reticent.release import apply as recode
    from reticent.table import write_frame

    rows = read_frame(data)
    recoded = recode(release, rows, cast(Unseen, unseen))
    write_frame(recoded, output)
    left_out = rows.height - recoded.height
    payload = {"ok": True, "output": str(output), "rows": recoded.height, "left_out": left_out}
    said = f"{recoded.height:,} rows in {output}, {left_out:,} left out. They were not judged: this is not a release."
    answer(payload, as_json, said)
