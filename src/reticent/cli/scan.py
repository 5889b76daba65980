"""``reticent scan``: find files that should not be in a repository."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from reticent.base.cards import Card, PlainResult
from reticent.cli.console import Json, answer


def scan(
    paths: Annotated[list[Path], typer.Argument(help="Files, or folders to search.")],
    as_json: Json = False,
) -> None:
    """Find files that should not be committed: person records that are not part of a release, private folders of
    releases, ledgers and signing keys. Exits with 1 if there are any.

    Example: reticent scan data/ exports/visits.csv
    """
    from reticent.gates import scan as look

    findings = look(paths)
    way_out = "Publish it with `reticent publish` and commit release/public, or exclude the file from this hook."
    card = (
        Card(
            f"{findings[0].path}: {findings[0].reason}",
            sentences=[f"{finding.path}: {finding.reason}" for finding in findings[1:]],
            notes=[way_out],
        )
        if findings
        else Card("Found no unreleased records of people.")
    )
    answer(PlainResult({"found": [asdict(finding) for finding in findings]}, card, not findings), as_json)
