"""``reticent verify``: recompute every claim of a release from its public side."""

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
        typer.Argument(
            help="The folder of a release, or its public folder alone; for a series, all folders from first to last."
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="The publisher's public key: a .pub file, or its 64 hexadecimal digits.")
    ] = None,
    trust: Annotated[
        Path | None,
        typer.Option("--trust", help="A trust file: which keys are accepted, and how many must have signed."),
    ] = None,
    log: Annotated[Path | None, typer.Option("--log", help="A log that must contain this release.")] = None,
    remember: Annotated[
        Path | None,
        typer.Option("--remember", help="A file with the last known head of --log; checked, then updated."),
    ] = None,
    population: Annotated[
        str | None, typer.Option("--population", help="A population file, for claims about a population.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="Time limit; claims not checked by then are reported as unchecked."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page", help="Write the browser verifier for recipients to this HTML file; no release is needed."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Verify a release from its public files alone. Exits with 1 if any claim fails.

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
        sentence = f"Wrote the verifier to {page}: open it in a browser and drop a public folder onto it."
        answer(PlainResult.saying(sentence, {"page": page}), as_json)
        return
    with working("Recomputing every claim ...", as_json) as context:
        chosen = releases[0] if len(releases) == 1 else releases
        verification = rooms.verify(
            chosen,
            population=population,
            key=key,
            trust=trust,
            log=log,
            remember=remember,
            context=replace(context, deadline=context.until(seconds)),
        )
    answer(verification if page is None else PlainResult.beside(verification, {"page": page}), as_json)
