"""``reticent verify``: every claim of a release, recomputed from its public side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reticent.base.cards import PlainResult
from reticent.cli.console import Json, answer, working


def verify(
    releases: Annotated[
        list[Path] | None,
        typer.Argument(help="The folder of a release, or its public folder alone; those of a series, first to last."),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="The publisher's public key: a .pub file, or its 64 digits.")
    ] = None,
    trust: Annotated[
        Path | None, typer.Option("--trust", help="A trust file: which keys count, and how many must have signed.")
    ] = None,
    log: Annotated[Path | None, typer.Option("--log", help="A log of releases that must have this one.")] = None,
    remember: Annotated[
        Path | None,
        typer.Option(
            "--remember", help="A file for the last head of --log that was seen; compared with, then renewed."
        ),
    ] = None,
    population: Annotated[
        str | None, typer.Option("--population", help="A file of the population, for claims that compare with one.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Claims that are not judged by then are not re-checked.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page", help="Write the recipient's verifier to this HTML file; without a release nothing else is done."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a release again, from what everybody can see. Exits with 1 when anything does not hold.

    Example: reticent verify release --trust trust.json --log releases.log.json

    Example: reticent verify --page reticent-verify.html
    """
    from reticent import release as rooms

    if page is not None:
        from reticent.verifier import write_page

        page = write_page(page)
    if not releases:
        if page is None:
            raise typer.BadParameter("Name the folder of a release, or --page FILE.html for the recipient's verifier.")
        said = f"The recipient's verifier is {page}: open it in a browser and drop a public folder into it."
        answer(PlainResult.saying(said, {"page": page}), as_json)
        return
    with working("Recomputing every claim ...", as_json) as context:
        chosen = releases[0] if len(releases) == 1 else releases
        found = rooms.verify(
            chosen,
            population=population,
            key=key,
            trust=trust,
            log=log,
            remember=remember,
            context=replace(context, deadline=context.until(seconds)),
        )
    answer(found if page is None else PlainResult.beside(found, {"page": page}), as_json)
