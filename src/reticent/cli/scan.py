"""``reticent scan``: files that do not belong in a repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.console import Json, answer


def scan(
    paths: Annotated[list[Path], typer.Argument(help="Files, or folders to search.")],
    as_json: Json = False,
) -> None:
    """Find files that look like records of people and are not part of a release, private sides, ledgers and signing keys. Exits with 1 if there are any.

    Example: reticent scan data/ exports/visits.csv
    """
    from reticent.gates import scan as look

    found = look(paths)
    lines = [f"{each.path}: {each.reason}" for each in found]
    lines += (
        ["Publish it with `reticent publish` and commit release/public, or exclude the file from this hook."]
        if found
        else []
    )
    payload = {"ok": not found, "found": [each.as_dict() for each in found]}
    answer(payload, as_json, "\n".join(lines) if found else "Nothing that looks like unreleased records of people.")
